// Two versions of a loop.
//
// The version that saves is the loop itself; the other one is a copy that later passes see as they would
// without us. At the end of each iteration the first one looks at its site's word. When the runtime has
// switched saving off, it goes on as the copy:
//
//     if (flag) ── saves: header … latch ─ word is OFF? ── no: header
//        │                                     │ yes: tells the runtime that old values are missing from
// here on
//        └──────── copy: preheader ←───────────┘
//
// The copy's header gets what the next iteration of the first version would have started with. Whatever is
// used behind the loop is defined on each way from the header to an exit, in either version.
//
// Large loops, and those with exceptions in them, have no copy. They have a *flag* instead, a register: what
// saves in them does so if it is set, and it is cleared where the loop above would leave.

#include "undo/versions.h"
#include "segments/additions.h"
#include "segments/sites.h"
#include "undo/undo.h"
#include "ssa.h"
#include "cfganal.h"
#include "cfghooks.h"
#include "cfgloopmanip.h"
#include "tree-cfg.h"
#include "tree-into-ssa.h"
#include "tree-phinodes.h"
#include "gimplify.h"
#include "gimplify-me.h"

namespace promp {

bool can_have_versions (class loop *l, unsigned too_many)
{
  if (!single_pred_p (loop_preheader_edge (l)->src) && !single_succ_p (loop_preheader_edge (l)->src))
    return false;
  unsigned n = 0;
  basic_block *bbs = get_loop_body (l);
  bool plain = true;
  for (unsigned i = 0; i < l->num_nodes && plain; i++)
    {
      edge e;
      edge_iterator ei;
      FOR_EACH_EDGE (e, ei, bbs[i]->succs)
        plain = plain && !(e->flags & EDGE_COMPLEX);
      for (gimple_stmt_iterator s = gsi_start_bb (bbs[i]); !gsi_end_p (s); gsi_next (&s))
        plain = plain && ++n < too_many;
    }
  free (bbs);
  return plain && can_duplicate_loop_p (l) && l->latch && single_succ_p (l->latch);
}

bool can_have_flag (class loop *l)
{
  return l->latch && single_succ_p (l->latch) && !(loop_latch_edge (l)->flags & EDGE_COMPLEX)
         && !(loop_preheader_edge (l)->flags & EDGE_COMPLEX);
}

tree make_flag (class loop *l, tree flag, tree site)
{
  tree now = create_tmp_reg (integer_type_node, "promp_saves"), state = make_ssa_name (unsigned_type_node);
  gsi_insert_on_edge_immediate (loop_preheader_edge (l), gimple_build_assign (now, flag));
  gimple_stmt_iterator i = only_if (loop_latch_edge (l), holds (now));
  gsi_insert_before (&i, gimple_build_assign (state, state_of_site (site)), GSI_SAME_STMT);
  tree is_off = build2 (EQ_EXPR, boolean_type_node, state, build_int_cst (unsigned_type_node, SITE_OFF));
  i = only_if (single_succ_edge (gsi_bb (i)), is_off);
  gsi_insert_before (&i, leave_call (site), GSI_SAME_STMT);
  gsi_insert_before (&i, gimple_build_assign (now, integer_zero_node), GSI_SAME_STMT);
  return now;
}

class loop *make_copy (class loop *l, tree flag)
{
  profile_probability half = profile_probability::even ();
  initialize_original_copy_tables ();
  class loop *copy
    = loop_version (l, holds (flag), nullptr, half, half.invert (), half, half.invert (), false);
  free_original_copy_tables ();
  gcc_assert (copy);
  return copy;
}

/// An empty block on the edge `e`, in the loop of both its ends.
static basic_block on (edge e) { return split_edge (e); }

class loop *make_versions (class loop *l, tree flag, tree site)
{
  class loop *copy = make_copy (l, flag);
  basic_block test = on (loop_latch_edge (l));
  on (single_succ_edge (test)); // the new latch
  edge in = loop_preheader_edge (copy);
  basic_block join = single_pred_p (in->src) && single_succ_p (in->src) ? in->src : on (in);
  basic_block leave = create_empty_bb (test);
  add_bb_to_loop (leave, loop_outer (l));
  edge stay = single_succ_edge (test);
  stay->flags &= ~EDGE_FALLTHRU;
  stay->flags |= EDGE_FALSE_VALUE;
  edge off = make_edge (test, leave, EDGE_TRUE_VALUE);
  off->probability = profile_probability::very_unlikely ();
  stay->probability = off->probability.invert ();
  leave->count = off->count ();
  edge to = make_edge (leave, join, EDGE_FALLTHRU);
  to->probability = profile_probability::always ();
  rescan_loop_exit (off, true, false);

  gimple_stmt_iterator i = gsi_last_bb (test);
  tree state = make_ssa_name (unsigned_type_node);
  gsi_insert_after (&i, gimple_build_assign (state, state_of_site (site)), GSI_NEW_STMT);
  tree is_off = build_int_cst (unsigned_type_node, SITE_OFF);
  gsi_insert_after (&i, gimple_build_cond (EQ_EXPR, state, is_off, NULL_TREE, NULL_TREE), GSI_NEW_STMT);
  i = gsi_last_bb (leave);
  gsi_insert_after (&i, leave_call (site), GSI_NEW_STMT);

  // The phis of the two headers stand in the same order.
  edge from = single_succ_edge (join), usual = nullptr, e;
  edge_iterator ei;
  FOR_EACH_EDGE (e, ei, join->preds)
    if (e != to)
      usual = e;
  gphi_iterator a = gsi_start_phis (l->header), b = gsi_start_phis (copy->header);
  for (; !gsi_end_p (a) && !gsi_end_p (b); gsi_next (&a), gsi_next (&b))
    {
      tree next = PHI_ARG_DEF_FROM_EDGE (a.phi (), loop_latch_edge (l));
      tree first = PHI_ARG_DEF_FROM_EDGE (b.phi (), from);
      if (virtual_operand_p (gimple_phi_result (b.phi ())))
        continue; // renamed when all is done
      gphi *both = create_phi_node (copy_ssa_name (gimple_phi_result (b.phi ())), join);
      add_phi_arg (both, first, usual, UNKNOWN_LOCATION);
      add_phi_arg (both, next, to, UNKNOWN_LOCATION);
      SET_USE (PHI_ARG_DEF_PTR_FROM_EDGE (b.phi (), from), gimple_phi_result (both));
    }
  set_immediate_dominator (CDI_DOMINATORS, leave, test);
  return copy;
}

void strip (class loop *l, bool all)
{
  basic_block *bbs = get_loop_body (l);
  for (unsigned k = 0; k < l->num_nodes; k++)
    for (gimple_stmt_iterator i = gsi_start_bb (bbs[k]); !gsi_end_p (i);)
      if (const char *name = callee_name (gsi_stmt (i));
          !strcmp (name, "__promp_undo") || !strcmp (name, "__promp_point")
          || (all && !strcmp (name, "__promp_undo_behind")))
        {
          unlink_stmt_vdef (gsi_stmt (i));
          gsi_remove (&i, true);
        }
      else if (is_noted_addition (gsi_stmt (i)))
        {
          forget_addition (&i);
          gsi_next (&i);
        }
      else
        gsi_next (&i);
  free (bbs);
}

bool saves (class loop *l)
{
  bool any = false;
  basic_block *bbs = get_loop_body (l);
  for (unsigned k = 0; k < l->num_nodes && !any; k++)
    for (gimple_stmt_iterator i = gsi_start_bb (bbs[k]); !gsi_end_p (i) && !any; gsi_next (&i))
      any = !strcmp (callee_name (gsi_stmt (i)), "__promp_undo") || is_noted_addition (gsi_stmt (i));
  free (bbs);
  return any;
}

} // namespace promp
