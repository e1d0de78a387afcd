// Static schedules go through the runtime.
//
// GCC expands schedule(static) inline; every other schedule becomes calls. Before OpenMP lowering, this pass gives loops
// with a static schedule the schedule (monotonic:dynamic, MARK | chunk), which GCC expands to GOMP_loop_dynamic_start and
// _next; the mark in the chunk's upper bits tells them from the program's own. rename.cc then calls GOMP_loop_static_start
// and _next instead, which libgomp has too: they hand out what the inline code would have computed.

#include "promp-plugin.h"
#include "openmp/directives.h"
#include "gimple-walk.h"
#include "fold-const.h"
#include "gomp-constants.h"
#include "omp-general.h"

namespace promp {
namespace {

/// Must the loop stay as it is? Scans, task reductions and conditional lastprivates have expansions of their own; so have
/// loops of distribute, and those whose bounds depend on each other.
bool must_stay (gomp_for *loop)
{
  if (gimple_omp_for_kind (loop) != GF_OMP_FOR_KIND_FOR || gimple_omp_for_combined_into_p (loop))
    return true;
  for (tree c = gimple_omp_for_clauses (loop); c; c = OMP_CLAUSE_CHAIN (c))
    switch (OMP_CLAUSE_CODE (c))
      {
      case OMP_CLAUSE_ORDERED:
        return true; // a call already
      case OMP_CLAUSE_ORDER:
      case OMP_CLAUSE_BIND:
        return true; // made of a loop construct
      case OMP_CLAUSE_REDUCTION:
        if (OMP_CLAUSE_REDUCTION_TASK (c) || OMP_CLAUSE_REDUCTION_INSCAN (c))
          return true;
        break;
      case OMP_CLAUSE_LASTPRIVATE:
        if (OMP_CLAUSE_LASTPRIVATE_CONDITIONAL (c))
          return true;
        break;
      default:
        break;
      }
  for (size_t i = 0; i < gimple_omp_for_collapse (loop); i++)
    {
      if (TREE_CODE (gimple_omp_for_initial (loop, i)) == TREE_VEC || TREE_CODE (gimple_omp_for_final (loop, i)) == TREE_VEC)
        return true;
      // GCC 12 passes the step of such a loop as a large positive number where it calls the runtime (it does nothing then, with
      // schedule(dynamic), too).
      tree_code condition = gimple_omp_for_cond (loop, i);
      if (TYPE_UNSIGNED (TREE_TYPE (gimple_omp_for_index (loop, i))) && (condition == GT_EXPR || condition == GE_EXPR))
        return true;
    }
  return false;
}

void make_visible (gomp_for *loop)
{
  tree clause = omp_find_clause (gimple_omp_for_clauses (loop), OMP_CLAUSE_SCHEDULE);
  tree chunk = integer_zero_node;
  if (clause)
    {
      unsigned kind = OMP_CLAUSE_SCHEDULE_KIND (clause) & OMP_CLAUSE_SCHEDULE_MASK;
      if (kind != OMP_CLAUSE_SCHEDULE_STATIC && kind != OMP_CLAUSE_SCHEDULE_AUTO)
        return;
      if (OMP_CLAUSE_SCHEDULE_CHUNK_EXPR (clause))
        chunk = OMP_CLAUSE_SCHEDULE_CHUNK_EXPR (clause);
    }
  else
    {
      clause = build_omp_clause (gimple_location (loop), OMP_CLAUSE_SCHEDULE);
      OMP_CLAUSE_CHAIN (clause) = gimple_omp_for_clauses (loop);
      gimple_omp_for_set_clauses (loop, clause);
    }
  // Not folded: with a constant chunk, GCC would start region and loop with one call, and there would be no call that stands
  // for the loop.
  tree mark = build_int_cst (long_integer_type_node, MARK);
  OMP_CLAUSE_SCHEDULE_KIND (clause)
    = (omp_clause_schedule_kind) (OMP_CLAUSE_SCHEDULE_DYNAMIC | OMP_CLAUSE_SCHEDULE_MONOTONIC);
  OMP_CLAUSE_SCHEDULE_SIMD (clause) = 0;
  OMP_CLAUSE_SCHEDULE_CHUNK_EXPR (clause)
    = build2 (BIT_IOR_EXPR, long_integer_type_node, fold_convert (long_integer_type_node, chunk), mark);
}

tree visit (gimple_stmt_iterator *gsi, bool *handled, walk_stmt_info *)
{
  *handled = false;
  gimple *stmt = gsi_stmt (*gsi);
  check_directives (stmt);
  if (gomp_for *loop = dyn_cast<gomp_for *> (stmt))
    if (!must_stay (loop))
      make_visible (loop);
  return NULL_TREE;
}

const pass_data DATA = { GIMPLE_PASS, "promp_visible", OPTGROUP_OMP, TV_NONE, PROP_gimple_any, 0, 0, 0, 0 };

struct Visible : gimple_opt_pass
{
  Visible () : gimple_opt_pass (DATA, g) {}
  bool gate (function *) final override { return flag_openmp; }
  unsigned execute (function *fn) final override
  {
    walk_stmt_info info;
    memset (&info, 0, sizeof info);
    gimple_seq body = gimple_body (fn->decl);
    walk_gimple_seq (body, visit, nullptr, &info);
    return 0;
  }
};

} // namespace

opt_pass *make_visible_pass () { return new Visible; }
} // namespace promp
