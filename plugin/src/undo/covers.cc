// Blocks that a call or a loop has filled in the same segment: what lies in one need not be saved.

#include "undo/undo.h"
#include "memory/summary.h"
#include "ssa.h"
#include "cfgloop.h"
#include "gimplify.h"
#include "gimplify-me.h"
#include "tree-cfg.h"
#include "tree-into-ssa.h"

namespace promp {

/// First byte and length of what `cover` has written; computed in front of a filling loop.
void Undo::block (gimple *cover, tree *base, tree *length)
{
  if (is_gimple_call (cover))
    {
      *base = gimple_call_arg (cover, 0);
      *length = gimple_call_arg (cover, 2);
      return;
    }
  auto known = blocks_.find (cover);
  if (known == blocks_.end ())
    {
      Plan p = grid (cover, fills_[cover], 1);
      gimple_seq seq = nullptr, more = nullptr;
      tree b = force_gimple_operand (fold_convert (sizetype, unshare_expr (p.start)), &seq, true, NULL_TREE);
      tree n = fold_convert (sizetype, unshare_expr (p.dimensions[0].count));
      n = fold_build2 (MULT_EXPR, sizetype, n, p.size);
      n = force_gimple_operand (n, &more, true, NULL_TREE);
      gimple_seq_add_seq (&seq, more);
      if (seq)
        gsi_insert_seq_on_edge_immediate (loop_preheader_edge (p.around), seq);
      known = blocks_.insert ({ cover, { b, n } }).first;
    }
  *base = known->second.first;
  *length = known->second.second;
}

/// Inserts copies of `seq` wherever a segment starts.
void Undo::when_segments_start (gimple_seq seq)
{
  gsi_insert_seq_on_edge_immediate (single_succ_edge (ENTRY_BLOCK_PTR_FOR_FN (fn_)), gimple_seq_copy (seq));
  basic_block bb;
  std::vector<gimple *> starts;
  FOR_EACH_BB_FN (bb, fn_)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      if (gcall *c = dyn_cast<gcall *> (gsi_stmt (i)))
        {
          const Summary *f = summary_of (c);
          if (is_save_point (c) || (f && f->runtime))
            starts.push_back (c);
        }
  for (gimple *c : starts)
    {
      gimple_stmt_iterator i = gsi_for_stmt (c);
      if (!stmt_ends_bb_p (c))
        gsi_insert_seq_after (&i, gimple_seq_copy (seq), GSI_SAME_STMT);
      else if (edge e = find_fallthru_edge (gimple_bb (c)->succs))
        gsi_insert_seq_on_edge_immediate (e, gimple_seq_copy (seq));
    }
}

/// First byte and length of what `cover` has written last in the segment; the length is 0 if it has not been
/// executed in it.
void Undo::last_block (gimple *cover, tree *base, tree *length)
{
  auto known = last_blocks_.find (cover);
  if (known == last_blocks_.end ())
    {
      tree b, n, base_now = create_tmp_reg (sizetype, "promp_block");
      tree length_now = create_tmp_reg (sizetype, "promp_length");
      block (cover, &b, &n);
      gimple_seq seq = nullptr, start = nullptr;
      auto assign = [] (gimple_seq *to, tree variable, tree value) {
        gimple_seq before = nullptr;
        value = force_gimple_operand (fold_convert (sizetype, value), &before, true, NULL_TREE);
        gimple_seq_add_seq (to, before);
        gimple_seq_add_stmt (to, gimple_build_assign (variable, value));
      };
      assign (&seq, base_now, b);
      assign (&seq, length_now, n);
      assign (&start, length_now, size_zero_node);
      if (is_gimple_call (cover))
        {
          gimple_stmt_iterator i = gsi_for_stmt (cover);
          gsi_insert_seq_after (&i, seq, GSI_SAME_STMT);
        }
      else
        gsi_insert_seq_on_edge_immediate (loop_preheader_edge (gimple_bb (cover)->loop_father), seq);
      when_segments_start (start);
      known = last_blocks_.insert ({ cover, { base_now, length_now } }).first;
    }
  *base = known->second.first;
  *length = known->second.second;
}

/// A place in front of `stmt` that is only reached if what it writes lies outside of the block that `p.cover`
/// has written.
gimple_stmt_iterator Undo::outside (const Plan &p, gimple *stmt)
{
  tree base, length;
  if (p.sure)
    block (p.cover, &base, &length);
  else
    last_block (p.cover, &base, &length);
  gimple_stmt_iterator i = gsi_for_stmt (stmt);
  gimple_seq seq = nullptr, more = nullptr;
  tree start = force_gimple_operand (fold_convert (sizetype, unshare_expr (p.start)), &seq, true, NULL_TREE);
  tree from = fold_build2 (MINUS_EXPR, sizetype, start, fold_convert (sizetype, base));
  from = force_gimple_operand (from, &more, true, NULL_TREE);
  gimple_seq_add_seq (&seq, more);
  gsi_insert_seq_before (&i, seq, GSI_SAME_STMT);
  tree is_outside = fold_build2 (GE_EXPR, boolean_type_node, from, fold_convert (sizetype, length));
  return only_if (in_front_of (stmt), is_outside);
}

} // namespace promp
