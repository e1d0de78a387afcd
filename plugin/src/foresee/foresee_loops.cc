// Loops of the code that is handed over, for the runtime to look at them as a whole.

#include "foresee/foresee_writer.h"
#include "ssa.h"
#include "cfgloop.h"
#include "tree-cfg.h"
#include "tree-ssa-loop.h"
#include "fold-const.h"
#include "cfganal.h"
#include <algorithm>

namespace promp::ahead {

std::vector<Variable> Writer::variables_of (class loop *l)
{
  std::vector<Variable> all;
  edge latch = loop_latch_edge (l), first = loop_preheader_edge (l);
  for (gphi_iterator p = gsi_start_phis (l->header); !gsi_end_p (p); gsi_next (&p))
    {
      tree name = gimple_phi_result (p.phi ());
      if (virtual_operand_p (name) || !is_number (TREE_TYPE (name)))
        continue;
      all.push_back ({ name, first ? PHI_ARG_DEF_FROM_EDGE (p.phi (), first) : NULL_TREE,
                       latch ? PHI_ARG_DEF_FROM_EDGE (p.phi (), latch) : NULL_TREE, false, 0 });
    }
  for (const Loaded &k : loaded_[l->header])
    all.push_back ({ k.name, k.first, k.next, false, 0 });
  for (Variable &v : all)
    {
      gassign *a = v.next && TREE_CODE (v.next) == SSA_NAME
                     ? dyn_cast<gassign *> (SSA_NAME_DEF_STMT (v.next)) : nullptr;
      if (a && gimple_num_ops (a) == 3 && gimple_assign_rhs1 (a) == v.name
          && tree_fits_poly_int64_p (fold_convert (ssizetype, gimple_assign_rhs2 (a)))
          && TREE_CODE (gimple_assign_rhs2 (a)) == INTEGER_CST
          && (gimple_assign_rhs_code (a) == PLUS_EXPR || gimple_assign_rhs_code (a) == POINTER_PLUS_EXPR))
        {
          v.is_sum = true;
          v.step = wi::to_wide (gimple_assign_rhs2 (a)).to_shwi ();
        }
    }
  return all;
}

static bool touches_memory (basic_block bb, bool writes_only)
{
  for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
    if (gimple *s = gsi_stmt (i); !is_gimple_debug (s) && (writes_only ? gimple_vdef (s) : gimple_vuse (s)))
      return true;
  return false;
}

/// Is there a cycle in it that is no loop? One pass over its blocks does not see what comes round.
bool Writer::has_other_cycles (class loop *l)
{
  for (basic_block bb : order_)
    if ((bb->flags & BB_IRREDUCIBLE_LOOP)
        && (bb->loop_father == l || flow_loop_nested_p (l, bb->loop_father)))
      return true;
  return false;
}

/// Can the loop be looked at as a whole?
bool Writer::test_of (class loop *l, const std::vector<Variable> &variables, Test *t)
{
  t->exit = single_exit (l);
  edge e;
  edge_iterator ei;
  basic_block at = t->exit ? t->exit->src : nullptr;
  gcond *test = at ? safe_dyn_cast<gcond *> (last_stmt (at)) : nullptr;
  if (!test || !loop_latch_edge (l) || !loop_preheader_edge (l) || at->loop_father != l)
    return false;
  t->at_end = at == l->latch;
  FOR_EACH_EDGE (e, ei, at->succs)
  if (e != t->exit && e->dest == l->latch && !touches_memory (l->latch, false) && single_pred_p (l->latch))
    t->at_end = true;
  if (!t->at_end && (at != l->header || touches_memory (at, true)))
    return false;
  enum tree_code stays = gimple_cond_code (test);
  tree low = gimple_cond_lhs (test), high = gimple_cond_rhs (test);
  if (!is_number (TREE_TYPE (low)))
    return false;
  if (t->exit->flags & EDGE_TRUE_VALUE)
    stays = invert_tree_comparison (stays, false);
  for (unsigned k = 0; k < 2; k++, std::swap (low, high), stays = swap_tree_comparison (stays))
    for (const Variable &v : variables)
      if (v.is_sum && (low == v.name || low == v.next))
        {
          bool fixed = TREE_CODE (high) == INTEGER_CST
                       || (TREE_CODE (high) == SSA_NAME
                           && (SSA_NAME_IS_DEFAULT_DEF (high)
                               || !flow_bb_inside_loop_p (l, gimple_bb (SSA_NAME_DEF_STMT (high)))));
          if (t->at_end && !fixed)
            return false;
          t->stays = op_of (stays), t->type = TREE_TYPE (low), t->other = high, t->counter = v.name;
          t->plus = low == v.next && v.next != v.name ? v.step : 0;
          return t->stays != OP_NONE;
        }
  return false;
}

/// Blocks and loops directly in `l`, in an order in which they are executed.
void Writer::put_items (class loop *l, bool without_header)
{
  size_t count = words_.size ();
  put (0);
  basic_block start = single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn_));
  bool root = l == current_loops->tree_root;
  for (basic_block bb : order_)
    {
      class loop *in = bb->loop_father;
      if (bb == l->header && without_header && !root)
        continue;
      bool is_loop = in != l && in->header == bb && loop_outer (in) == l;
      if (in != l && !is_loop)
        continue;
      bool sure = root ? dominated_by_p (CDI_POST_DOMINATORS, start, bb)
                       : dominated_by_p (CDI_DOMINATORS, l->latch, bb);
      uint64_t flags = (sure ? 2 : 0) | (is_loop ? 1 : 0);
      items_.push_back (words_.size ());
      if (is_loop)
        loop_items_.push_back ({ words_.size (), { in, flags } });
      else
        block_items_.push_back ({ words_.size (), { bb, flags } });
      put (0);
      words_[count]++;
    }
}

void Writer::put_loop (class loop *l)
{
  std::vector<Variable> variables = variables_of (l);
  Test t = { false, OP_COPY, sizetype, NULL_TREE, NULL_TREE, 0, nullptr };
  bool whole = test_of (l, variables, &t) && !has_other_cycles (l);
  loops_[l] = words_.size ();
  put (whole);
  headers_.push_back ({ words_.size (), l->header });
  put_offset (0);
  put (t.at_end), put (t.stays), put (kind_of (t.type));
  put (whole ? register_of (t.counter) : 0), put (t.plus);
  put (whole ? simple (t.other) : UNKNOWN_VALUE);
  if (whole)
    put_edge (t.exit);
  else
    put (0);
  put (variables.size ());
  for (const Variable &v : variables)
    {
      put (register_of (v.name)), put (v.is_sum && whole);
      put (whole ? argument (v.first) : UNKNOWN_VALUE);
      put (v.step), put (kind_of (TREE_TYPE (v.name)));
    }
  put_items (l, !t.at_end);
}

void Writer::put_edge (edge e)
{
  edges_.push_back ({ words_.size (), e });
  put_offset (0);
}

void Writer::put_edges ()
{
  for (auto &p : edges_)
    {
      edge e = p.second;
      words_[p.first] = words_.size ();
      headers_.push_back ({ words_.size (), e->dest });
      put_offset (0);
      class loop *l = e->dest->loop_father;
      bool enters = l != current_loops->tree_root && l->header == e->dest
                    && !flow_bb_inside_loop_p (l, e->src);
      if (enters)
        put_offset (loops_.at (l));
      else
        put (0);
      size_t count = words_.size ();
      put (0);
      for (gphi_iterator i = gsi_start_phis (e->dest); !gsi_end_p (i); gsi_next (&i))
        {
          tree name = gimple_phi_result (i.phi ());
          if (virtual_operand_p (name) || !is_number (TREE_TYPE (name)))
            continue;
          put (register_of (name)), put (argument (PHI_ARG_DEF_FROM_EDGE (i.phi (), e)));
          words_[count]++;
        }
      for (const Loaded &k : loaded_[e->dest])
        {
          bool again = flow_bb_inside_loop_p (l, e->src);
          put (register_of (k.name)), put (argument (again ? k.next : k.first));
          words_[count]++;
        }
    }
}

} // namespace promp::ahead
