// How the variables of a function's loops evolve: from where, to where, by how much; of worksharing loops all
// chunks together, of a tile all tiles.

#include "memory/counters.h"
#include "memory/memory.h"
#include "ssa.h"
#include "tree-cfg.h"
#include "tree-ssa-loop.h"
#include "tree-ssa-loop-niter.h"
namespace promp {
namespace {

/// The variable that a call of the runtime writes a bound of a chunk to.
tree bound_of (gimple *start, unsigned from_end)
{
  unsigned n = gimple_call_num_args (start);
  tree a = n >= from_end ? gimple_call_arg (start, n - from_end) : NULL_TREE;
  return a && TREE_CODE (a) == ADDR_EXPR && VAR_P (TREE_OPERAND (a, 0)) ? TREE_OPERAND (a, 0) : NULL_TREE;
}

/// Is `t` what was loaded from `var`, perhaps converted?
bool is_loaded_from (tree t, tree var)
{
  for (int depth = 0; depth < 8 && TREE_CODE (t) == SSA_NAME; depth++)
    {
      gassign *a = dyn_cast<gassign *> (SSA_NAME_DEF_STMT (t));
      if (!a)
        return false;
      if (gimple_assign_load_p (a))
        return gimple_assign_rhs1 (a) == var;
      if (!CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a)) && !gimple_assign_ssa_name_copy_p (a))
        return false;
      t = gimple_assign_rhs1 (a);
    }
  return false;
}

/// Is `t` the value `name`, perhaps in a wider type, or by way of a copy for the loop's end?
bool same (tree t, tree name)
{
  for (int depth = 0; depth < 4 && t != name; depth++)
    {
      gimple *def = TREE_CODE (t) == SSA_NAME ? SSA_NAME_DEF_STMT (t) : nullptr;
      gassign *a = def ? dyn_cast<gassign *> (def) : nullptr;
      if (a && CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a))
          && INTEGRAL_TYPE_P (TREE_TYPE (gimple_assign_rhs1 (a)))
          && TYPE_PRECISION (TREE_TYPE (t)) > TYPE_PRECISION (TREE_TYPE (gimple_assign_rhs1 (a))))
        t = gimple_assign_rhs1 (a);
      else if (def && is_a<gphi *> (def) && gimple_phi_num_args (def) == 1)
        t = gimple_phi_arg_def (def, 0);
      else
        return false;
    }
  return t == name;
}

} // namespace

Counters::Counters (function *fn)
{
  basic_block bb;
  FOR_EACH_BB_FN (bb, fn)
  for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
    {
      const char *name = callee_name (gsi_stmt (i));
      if (!strncmp (name, "GOMP_loop_", 10) && strstr (name, "_start") && !strstr (name, "_ull_")
          && !strstr (name, "doacross"))
        starts_.push_back (gsi_stmt (i));
    }
}

class loop *loop_of (tree name) { return gimple_bb (SSA_NAME_DEF_STMT (name))->loop_father; }

/// Does the loop go on while `name` is less than `high` (or is not more, `*stays`)? `ahead`: the next one.
bool Counters::is_limited (edge exit, tree name, tree next, tree *high, enum tree_code *stays, bool *ahead)
{
  class loop *l = gimple_bb (SSA_NAME_DEF_STMT (name))->loop_father;
  gcond *test = exit ? safe_dyn_cast<gcond *> (last_stmt (exit->src)) : nullptr;
  // A test in every iteration.
  if (!test || !dominated_by_p (CDI_DOMINATORS, l->latch, exit->src) || exit->src->loop_father != l)
    return false;
  tree low = gimple_cond_lhs (test);
  *high = gimple_cond_rhs (test);
  *stays = gimple_cond_code (test);
  if (exit->flags & EDGE_TRUE_VALUE)
    *stays = invert_tree_comparison (*stays, false);
  if (same (*high, name) || same (*high, next))
    {
      std::swap (low, *high);
      *stays = swap_tree_comparison (*stays);
    }
  *ahead = same (low, next);
  if ((!*ahead && !same (low, name)) || (*stays != LT_EXPR && *stays != LE_EXPR && *stays != NE_EXPR)
      || !INTEGRAL_TYPE_P (TREE_TYPE (*high)))
    return false;
  // A comparison of another signedness than the variable's would be about other numbers.
  return TYPE_UNSIGNED (TREE_TYPE (low)) == TYPE_UNSIGNED (TREE_TYPE (name));
}

bool Counters::is_behind (basic_block of) { return dominated_by_p (CDI_DOMINATORS, bb_, of) && bb_ != of; }

/// Is one of the limits the end of the tile that begins with `first`, as long as the loop over the tiles
/// takes steps?
bool Counters::is_tile (tree first, Limit x, Limit y, Counter *counter)
{
  first = without_conversions (first);
  HOST_WIDE_INT step = TREE_CODE (first) == SSA_NAME ? step_of (first) : 0;
  for (int k = 0; k < 2 && step > 0; k++, std::swap (x, y))
    {
      tree end = without_conversions (x.high);
      gassign *a = TREE_CODE (end) == SSA_NAME ? dyn_cast<gassign *> (SSA_NAME_DEF_STMT (end)) : nullptr;
      if (!a || gimple_assign_rhs_code (a) != PLUS_EXPR || !tree_fits_shwi_p (gimple_assign_rhs2 (a))
          || tree_to_shwi (gimple_assign_rhs2 (a)) + (x.stays == LE_EXPR) != step
          || without_conversions (gimple_assign_rhs1 (a)) != first
          || !(TYPE_OVERFLOW_UNDEFINED (TREE_TYPE (end)) || TYPE_PRECISION (TREE_TYPE (end)) == 64))
        continue;
      *counter = { first, y.high, y.stays == LE_EXPR, 1, nullptr, first };
      return true;
    }
  return false;
}

HOST_WIDE_INT Counters::step_of (tree name)
{
  if (const Dimension *d = dimension (name))
    return d->step;
  Counter v;
  bool in_front;
  bool is = is_a<gphi *> (SSA_NAME_DEF_STMT (name)) && evolves (name, &v, &in_front);
  return is && !v.tile ? v.step : 0;
}

const Dimension *Counters::dimension (tree name)
{
  gphi *phi = dyn_cast<gphi *> (SSA_NAME_DEF_STMT (name));
  class loop *l = phi ? gimple_bb (phi)->loop_father : nullptr;
  if (!l || l->header != gimple_bb (phi) || !flow_bb_inside_loop_p (l, bb_) || !loop_latch_edge (l)
      || !single_exit (l) || is_behind (single_exit (l)->src))
    return nullptr;
  Nested &n = nested_[l];
  if (!n.is_known)
    {
      n.is_known = true;
      for (gphi_iterator p = gsi_start_phis (l->header); !gsi_end_p (p) && !n.is_one; gsi_next (&p))
        {
          tree counter = gimple_phi_result (p.phi ());
          Counter v;
          bool in_front;
          if (virtual_operand_p (counter) || !INTEGRAL_TYPE_P (TREE_TYPE (counter))
              || !evolves (counter, &v, &in_front) || !v.start || v.step != 1
              || !integer_zerop (v.first))
            continue;
          n.start = v.start;
          n.is_one = is_collapsed (l, counter, v.end, &n.of);
        }
    }
  for (const Dimension &d : n.of.dimensions)
    if (d.variable == name)
      return &d;
  return nullptr;
}

/// GCC may have made a copy of `t` where an inner loop is left: what that is of, if it is not `name`.
static tree without_copies (tree t, tree name)
{
  while (TREE_CODE (t) == SSA_NAME && t != name)
    {
      gphi *copy = dyn_cast<gphi *> (SSA_NAME_DEF_STMT (t));
      bool all = copy;
      for (unsigned k = 1; all && k < gimple_phi_num_args (copy); k++)
        all = gimple_phi_arg_def (copy, k) == gimple_phi_arg_def (copy, 0);
      if (!all)
        break;
      t = gimple_phi_arg_def (copy, 0);
    }
  return t;
}

/// A counter from a chunk's lower bound to its upper one: all chunks together are the loop's iterations.
/// False: it begins with a chunk, but counts otherwise. `stays`: the test by which the loop goes on.
bool Counters::is_whole (Counter *counter, enum tree_code stays) const
{
  const tree first = counter->first, high = counter->end;
  for (gimple *s : starts_)
    {
      tree from = bound_of (s, 2), to = bound_of (s, 1);
      if (!from || !to || !is_loaded_from (first, from))
        continue;
      if (!is_loaded_from (high, to) || counter->more != 0 || stays != LT_EXPR
          || !tree_fits_shwi_p (gimple_call_arg (s, 2))
          || tree_to_shwi (gimple_call_arg (s, 2)) != counter->step)
        return false;
      counter->first = gimple_call_arg (s, 0), counter->end = gimple_call_arg (s, 1), counter->start = s;
    }
  return true;
}

bool Counters::evolves (tree name, Counter *counter, bool *in_front)
{
  gphi *phi = as_a<gphi *> (SSA_NAME_DEF_STMT (name));
  class loop *l = gimple_bb (phi)->loop_father;
  if (l->header != gimple_bb (phi) || gimple_phi_num_args (phi) != 2 || !flow_bb_inside_loop_p (l, bb_)
      || !loop_latch_edge (l))
    return false;
  tree next = PHI_ARG_DEF_FROM_EDGE (phi, loop_latch_edge (l)),
       first = PHI_ARG_DEF_FROM_EDGE (phi, loop_preheader_edge (l));
  next = without_copies (next, name);
  gassign *step = TREE_CODE (next) == SSA_NAME ? dyn_cast<gassign *> (SSA_NAME_DEF_STMT (next)) : nullptr;
  if (!step || gimple_assign_rhs_code (step) != PLUS_EXPR || gimple_assign_rhs1 (step) != name
      || !tree_fits_shwi_p (gimple_assign_rhs2 (step)) || tree_to_shwi (gimple_assign_rhs2 (step)) < 1)
    return false;
  if (!counter)
    return true;
  HOST_WIDE_INT by = tree_to_shwi (gimple_assign_rhs2 (step));
  edge exit = single_exit (l);
  tree high;
  enum tree_code stays;
  bool ahead;
  auto_vec<edge> exits = get_loop_exit_edges (l);
  if (exits.length () == 2 && by == 1)
    {
      // The end of a tile, or of all, whichever comes first.
      Limit both[2];
      for (unsigned k = 0; k < 2; k++)
        if (!is_limited (exits[k], name, next, &both[k].high, &both[k].stays, &ahead) || ahead
            || !is_behind (exits[k]->src))
          return false;
      *in_front = false;
      bool is = is_tile (first, both[0], both[1], counter);
      if (is)
        tiles_.insert (l);
      return is;
    }
  if (!is_limited (exit, name, next, &high, &stays, &ahead) || (by > 1 && stays != LT_EXPR))
    return false;
  *in_front = !is_behind (exit->src);
  gassign *least = TREE_CODE (without_conversions (high)) == SSA_NAME
                     ? dyn_cast<gassign *> (SSA_NAME_DEF_STMT (without_conversions (high)))
                     : nullptr;
  if (least && gimple_assign_rhs_code (least) == MIN_EXPR && by == 1 && !ahead && stays == LT_EXPR
      && !*in_front
      && is_tile (first, { gimple_assign_rhs1 (least), stays }, { gimple_assign_rhs2 (least), stays },
                  counter))
    return true;
  *counter = { first, high, stays == LE_EXPR ? 1 : 0, by, nullptr, NULL_TREE };
  if (ahead)
    counter->more--;
  if (*in_front)
    counter->more++;
  return is_whole (counter, stays);
}

tree Counters::variable_of (class loop *l)
{
  for (gphi_iterator p = gsi_start_phis (l->header); !gsi_end_p (p); gsi_next (&p))
    {
      tree name = gimple_phi_result (p.phi ());
      Counter v;
      bool in_front;
      if (!virtual_operand_p (name) && INTEGRAL_TYPE_P (TREE_TYPE (name))
          && evolves (name, &v, &in_front))
        return name;
    }
  return NULL_TREE;
}

bool is_chunks_loop (class loop *whole, class loop *one, gimple *start)
{
  edge exit = single_exit (whole);
  gcond *test = exit ? safe_dyn_cast<gcond *> (last_stmt (exit->src)) : nullptr;
  tree r = test ? gimple_cond_lhs (test) : NULL_TREE;
  gimple *next = r && TREE_CODE (r) == SSA_NAME ? SSA_NAME_DEF_STMT (r) : nullptr;
  if (!next || !is_gimple_call (next) || !strstr (callee_name (next), "_next")
      || bound_of (next, 2) != bound_of (start, 2) || !integer_zerop (gimple_cond_rhs (test)))
    return false;
  // It goes on as long as there is a chunk.
  bool stays = (gimple_cond_code (test) == NE_EXPR) == !!(exit->flags & EDGE_FALSE_VALUE);
  if (!stays || !dominated_by_p (CDI_DOMINATORS, whole->latch, one->header)
      || gimple_bb (start)->loop_father == whole)
    return false;
  // The way from the start into it is the one with a chunk, and nothing else leads there.
  gcond *first = safe_dyn_cast<gcond *> (last_stmt (gimple_bb (start)));
  if (!first || gimple_cond_lhs (first) != gimple_call_lhs (start) || gimple_cond_code (first) != NE_EXPR
      || !integer_zerop (gimple_cond_rhs (first)))
    return false;
  edge yes, no;
  extract_true_false_edges_from_block (gimple_bb (start), &yes, &no);
  basic_block in = yes->dest;
  while (!flow_bb_inside_loop_p (whole, in) && single_succ_p (in) && gimple_seq_empty_p (bb_seq (in)))
    in = single_succ (in);
  return in == whole->header;
}

} // namespace promp
