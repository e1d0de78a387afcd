// What threads do together, as the runtime goes ahead through it. It executes one way only: so what each of
// these calls leads to must be two ways, one for those that have something to do and one for the others, and
// the others come at once to where all of them go on (crates/foresee/src/team_model.rs). A compiler that
// knows what comes behind for each of the two may give each its own copy of it: then the runtime does not
// come to that block, and ends there.

#include "foresee/foresee_writer.h"
#include "ssa.h"
#include "tree-cfg.h"
#include "cfghooks.h"
#include "ssa-iterators.h"
#include <algorithm>

namespace promp::ahead {

/// Blocks with nothing in them left out, the one that `e` leads to.
static basic_block behind (edge e)
{
  auto is_empty = [] (basic_block bb) {
    for (gimple_stmt_iterator i = gsi_start_nondebug_bb (bb); !gsi_end_p (i); gsi_next_nondebug (&i))
      if (gimple_code (gsi_stmt (i)) != GIMPLE_LABEL && gimple_code (gsi_stmt (i)) != GIMPLE_PREDICT)
        return false;
    return gsi_end_p (gsi_start_phis (bb));
  };
  basic_block bb = e->dest;
  for (unsigned k = 0; k < 8 && single_pred_p (bb) && single_succ_p (bb) && is_empty (bb); k++)
    bb = single_succ (bb);
  return bb;
}

/// Where it goes on if the result of `c`, at the end of its block, is not 0, and if it is. False: it is used
/// for something else, too.
static bool fork_of (gcall *c, basic_block *yes, basic_block *no)
{
  tree r = gimple_call_lhs (c);
  gcond *t = safe_dyn_cast<gcond *> (last_stmt (gimple_bb (c)));
  if (!t || !r || TREE_CODE (r) != SSA_NAME || !has_single_use (r) || gimple_cond_lhs (t) != r)
    return false;
  enum tree_code code = gimple_cond_code (t);
  bool zero = integer_zerop (gimple_cond_rhs (t)), one = integer_onep (gimple_cond_rhs (t));
  // All of these return a bool, which Fortran has as a character.
  if ((code != EQ_EXPR && code != NE_EXPR) || !(zero || one))
    return false;
  edge if_so, if_not;
  extract_true_false_edges_from_block (gimple_bb (c), &if_so, &if_not);
  if (zero == (code == EQ_EXPR))
    std::swap (if_so, if_not);
  *yes = behind (if_so), *no = behind (if_not);
  return *no != EXIT_BLOCK_PTR_FOR_FN (cfun) && *yes != EXIT_BLOCK_PTR_FOR_FN (cfun);
}

void Writer::put_block_of (basic_block bb)
{
  headers_.push_back ({ words_.size (), bb });
  put_offset (0);
}

/// A call of the runtime.
bool Writer::construct (gcall *c, const std::string &name)
{
  basic_block yes, no;
  if (name == "GOMP_barrier")
    put (INSTRUCTION_BARRIER);
  else if (name == "GOMP_loop_end" || name == "GOMP_loop_end_nowait")
    put (INSTRUCTION_END), put (name == "GOMP_loop_end");
  else if (name == "GOMP_single_start")
    {
      if (!fork_of (c, &yes, &no))
        return false;
      put (INSTRUCTION_SINGLE), put (result (c)), put_block_of (no);
    }
  else
    {
      bool is_start = false, is_next = false, chunked = false;
      for (const char *k : { "static", "dynamic", "guided", "nonmonotonic_dynamic", "nonmonotonic_guided",
                             "runtime", "nonmonotonic_runtime", "maybe_nonmonotonic_runtime" })
        {
          std::string n = std::string ("GOMP_loop_") + k;
          is_start = is_start || name == n + "_start";
          is_next = is_next || name == n + "_next";
          chunked = chunked || (name == n + "_start" && !strstr (k, "runtime"));
        }
      if ((!is_next && !is_start) || !fork_of (c, &yes, &no))
        return false;
      if (is_next)
        put (INSTRUCTION_NEXT), put (result (c));
      else if (gimple_call_num_args (c) == (chunked ? 6 : 5))
        {
          unsigned n = gimple_call_num_args (c);
          Operand all[5];
          unsigned of[5] = { 0, 1, 2, n - 2, n - 1 };
          for (unsigned k = 0; k < 5; k++)
            all[k] = value (gimple_call_arg (c, of[k]));
          put (INSTRUCTION_START), put (result (c));
          for (Operand o : all)
            put (o);
        }
      else
        return false;
      put_block_of (yes), put_block_of (no);
    }
  return true;
}

} // namespace promp::ahead
