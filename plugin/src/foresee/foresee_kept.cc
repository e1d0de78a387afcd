// Variables whose address is taken, and which only their function writes, and constants: what it hands over
// by reference for others to read, as Fortran does with all arguments. GCC keeps them in memory. What they
// hold is known all the same: it is what was stored last, if that is the same on all ways. So a loop's
// counter is one though it is loaded where the loop begins and stored where it ends.

#include "foresee/foresee_writer.h"
#include "ssa.h"
#include "tree-dfa.h"
#include "cfganal.h"
#include "cfgloop.h"

namespace promp::ahead {

/// Blocks that are looked at for the content of a variable at one place.
const unsigned BLOCKS = 400;

/// Is all that writes `d` in sight: stores of a number to it, in this function?
bool Writer::is_kept (tree d)
{
  if (!VAR_P (d) || !TREE_ADDRESSABLE (d) || TREE_THIS_VOLATILE (d) || !INTEGRAL_TYPE_P (TREE_TYPE (d))
      || !is_number (TREE_TYPE (d)) || !auto_var_in_fn_p (d, fn_->decl))
    return false;
  auto known = kept_.find (d);
  if (known != kept_.end ())
    return known->second;
  unsigned o = unit_.pointers.number_of (d);
  bool is = o != UNKNOWN && !unit_.pointers.is_known_to_others (o) && !unit_.pointers.in_memory ().count (o);
  auto all = unit_.writers.find (o);
  if (is && all != unit_.writers.end ())
    for (auto &w : all->second)
      is = is && w.first->fn == fn_ && gimple_store_p (w.second) && is_gimple_assign (w.second)
           && gimple_assign_lhs (w.second) == d;
  return kept_[d] = is;
}

/// What `s` says of the content of `d`: `*value`; NULL_TREE: that it is not known.
static bool says (gimple *s, tree d, tree *value)
{
  if (!is_gimple_assign (s) || gimple_num_ops (s) != 2)
    return false;
  tree to = gimple_assign_lhs (s), from = gimple_assign_rhs1 (s);
  if (to == d)
    *value = gimple_clobber_p (s) || !is_value (from) ? NULL_TREE : from;
  else if (from == d && TREE_CODE (to) == SSA_NAME)
    *value = to;
  else
    return false;
  return true;
}

static bool writes (basic_block bb, tree d)
{
  for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
    if (is_gimple_assign (gsi_stmt (i)) && gimple_assign_lhs (gsi_stmt (i)) == d)
      return true;
  return false;
}

/// What `d` holds in front of `s`, or where `bb` ends: a name or a number, or NULL_TREE. The statement that
/// says so is executed on every way to there, and nothing is stored since.
tree Writer::content (tree d, basic_block bb, gimple *s)
{
  unsigned looked_at = 0;
  for (;;)
    {
      gimple_stmt_iterator i = s ? gsi_for_stmt (s) : gsi_last_bb (bb);
      if (s)
        gsi_prev (&i);
      tree v;
      for (; !gsi_end_p (i); gsi_prev (&i))
        if (says (gsi_stmt (i), d, &v))
          return v;
      basic_block above = get_immediate_dominator (CDI_DOMINATORS, bb);
      if (!above || above == ENTRY_BLOCK_PTR_FOR_FN (fn_))
        return NULL_TREE;
      // Nothing between the two may store, nor, if one comes to this block again, what is in it.
      std::set<basic_block> seen;
      std::vector<basic_block> todo = { bb };
      while (!todo.empty ())
        {
          basic_block at = todo.back ();
          todo.pop_back ();
          edge e;
          edge_iterator ei;
          FOR_EACH_EDGE (e, ei, at->preds)
          if (e->src != above && seen.insert (e->src).second)
            {
              if (++looked_at > BLOCKS || writes (e->src, d))
                return NULL_TREE;
              todo.push_back (e->src);
            }
        }
      bb = above, s = nullptr;
    }
}

/// Notes the loads in headers of loops that stand for PHIs: what they get is known on both ways to there.
void Writer::find_kept ()
{
  for (auto l : loops_list (fn_, 0))
    {
      edge again = loop_latch_edge (l), first = loop_preheader_edge (l);
      if (!again || !first || EDGE_COUNT (l->header->preds) != 2)
        continue;
      for (gimple_stmt_iterator i = gsi_after_labels (l->header); !gsi_end_p (i); gsi_next (&i))
        {
          gimple *s = gsi_stmt (i);
          if (is_gimple_debug (s))
            continue;
          if (gimple_vdef (s))
            break;
          tree d = is_gimple_assign (s) && gimple_assign_load_p (s) ? gimple_assign_rhs1 (s) : NULL_TREE;
          if (!d || !DECL_P (d) || !is_kept (d))
            continue;
          bool once_more = false;
          for (const Loaded &k : loaded_[l->header])
            once_more = once_more || k.variable == d;
          tree a = content (d, first->src, nullptr), b = content (d, again->src, nullptr);
          if (!once_more && a && b)
            {
              loaded_[l->header].push_back ({ gimple_assign_lhs (s), d, a, b });
              stand_for_phis_.insert (s);
            }
        }
    }
}

/// It is read all the same.
void Writer::put_read (tree d)
{
  uint64_t size;
  Operand from = address_of (d, 0);
  if ((from.kind == 1 || from.kind == 2) && size_of (TREE_TYPE (d), &size))
    put (INSTRUCTION_LOAD), put (FORESIGHT_NONE), put (64), put (size), put (from);
}

/// The address of a copy of what `argument` is the address of, if that does for the function that is called.
bool Writer::handed_over (gcall *c, tree argument, Operand *copy)
{
  tree d = TREE_CODE (argument) == ADDR_EXPR ? TREE_OPERAND (argument, 0) : NULL_TREE;
  // It might return the address.
  if (!d || !DECL_P (d) || POINTER_TYPE_P (gimple_call_return_type (c)))
    return false;
  tree holds = TREE_CODE (d) == CONST_DECL ? DECL_INITIAL (d)
               : is_kept (d)               ? content (d, gimple_bb (c), c)
                                           : NULL_TREE;
  uint64_t size;
  if (!holds || !size_of (TREE_TYPE (d), &size))
    return false;
  if (VAR_P (d))
    put_read (d);
  *copy = { OPERAND_LOCAL, (uint64_t)bytes_ };
  bytes_ += (size + 15) / 16 * 16;
  if (is_number (TREE_TYPE (d)) && is_value (holds))
    put (INSTRUCTION_STORE), put (size), put (0), put (*copy), put (value (holds));
  return true;
}

} // namespace promp::ahead
