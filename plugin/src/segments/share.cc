// May what is lost of a chunk be executed by other threads of the team?
//
// With a static schedule a program can count on who executes an iteration: a thread may leave something in
// its private variables for later, or use its number. With a dynamic one it can count on a thread's chunks
// coming in increasing order, as they do under libgomp, and carry something on from one to the next. A chunk
// is shared only if none of that can be:
// - what comes into the chunks from outside is *uniform*, the same in every thread: constants, addresses of variables, the
//   region's data block, and what is loaded or computed from these;
// - what goes from chunk to chunk, or out of the loop, is an accumulator: only ever updated by an associative operation, and
//   merged into one uniform place by an atomic operation at the end, as reductions are;
// - private variables in memory live within one iteration;
// - nothing is called but mathematical builtins, and no thread-local variable is used.

#include "segments/share.h"
#include "memory/memory.h"
#include "ssa.h"
#include "cfgloop.h"
#include "gimple-walk.h"
#include "tree-dfa.h"
#include "tree-ssa-alias.h"
#include "tree-phinodes.h"
#include "ssa-iterators.h"
#include "tree-cfg.h"
#include <set>

namespace promp {
namespace {

class Chunks
{
public:
  Chunks (function *fn, class loop *l, gimple *next) : fn_ (fn), loop_ (l), next_ (next)
  {
    for (unsigned i = 0; i < 2; i++)
      bounds_.insert (TREE_OPERAND (gimple_call_arg (next, i), 0));
  }

  bool shared ()
  {
    basic_block *body = get_loop_body (loop_);
    bool ok = true;
    for (unsigned i = 0; ok && i < loop_->num_nodes; i++)
      {
        for (gphi_iterator p = gsi_start_phis (body[i]); ok && !gsi_end_p (p); gsi_next (&p))
          ok = virtual_operand_p (gimple_phi_result (p.phi ())) || phi (p.phi (), body[i]);
        for (gimple_stmt_iterator g = gsi_start_bb (body[i]); ok && !gsi_end_p (g); gsi_next (&g))
          ok = is_gimple_debug (gsi_stmt (g)) || statement (gsi_stmt (g));
      }
    free (body);
    return ok;
  }

private:
  bool inside (gimple *s) const { return gimple_bb (s) && flow_bb_inside_loop_p (loop_, gimple_bb (s)); }

  /// The same value in every thread of the team?
  bool uniform (tree t, int depth = 0)
  {
    // To GCC the addresses of thread-local and automatic variables are invariant, too.
    if (TREE_CODE (t) == ADDR_EXPR)
      return uniform_place (TREE_OPERAND (t, 0), depth + 1);
    if (is_gimple_min_invariant (t))
      return true;
    if (TREE_CODE (t) != SSA_NAME || depth > 32)
      return false;
    if (SSA_NAME_IS_DEFAULT_DEF (t))
      return is_outlined (fn_) && SSA_NAME_VAR (t) == DECL_ARGUMENTS (fn_->decl);
    gimple *def = SSA_NAME_DEF_STMT (t);
    if (gassign *a = dyn_cast<gassign *> (def))
      {
        if (gimple_assign_load_p (a))
          return uniform_place (gimple_assign_rhs1 (a), depth);
        for (unsigned i = 1; i < gimple_num_ops (a); i++)
          if (!uniform (gimple_op (a, i), depth + 1))
            return false;
        return true;
      }
    if (gcall *c = dyn_cast<gcall *> (def))
      return !strcmp (callee_name (c), "omp_get_num_threads");
    return false;
  }

  /// Shared memory at a place that is the same in every thread?
  bool uniform_place (tree ref, int depth)
  {
    for (tree r = ref; handled_component_p (r); r = TREE_OPERAND (r, 0))
      if (TREE_CODE (r) == ARRAY_REF && !uniform (TREE_OPERAND (r, 1), depth + 1))
        return false;
    tree base = get_base_address (ref);
    if (!base)
      return false;
    if (TREE_CODE (base) == MEM_REF)
      {
        tree p = TREE_OPERAND (base, 0);
        if (TREE_CODE (p) != ADDR_EXPR)
          return uniform (p, depth + 1);
        base = get_base_address (TREE_OPERAND (p, 0));
      }
    return base && (CONSTANT_CLASS_P (base)
                    || (VAR_P (base) && is_global_var (base) && !DECL_THREAD_LOCAL_P (base)));
  }

  static bool associative (tree_code c)
  {
    switch (c)
      {
      case PLUS_EXPR: case MULT_EXPR: case MIN_EXPR: case MAX_EXPR:
      case BIT_AND_EXPR: case BIT_IOR_EXPR: case BIT_XOR_EXPR:
        return true;
      default:
        return false;
      }
  }

  /// Within GOMP_atomic_start and _end?
  static bool in_atomic (gimple *s)
  {
    for (gimple_stmt_iterator g = gsi_for_stmt (s); !gsi_end_p (g); gsi_prev (&g))
      if (is_save_point (gsi_stmt (g)))
        return !strcmp (callee_name (gsi_stmt (g)), "GOMP_atomic_start");
    return false;
  }

  /// Is `t`, which carries something from chunk to chunk, only ever added to and merged at the end?
  bool accumulates (tree t)
  {
    if (!followed_.insert (t).second)
      return true;
    imm_use_iterator it;
    use_operand_p use;
    FOR_EACH_IMM_USE_FAST (use, it, t)
      {
        gimple *s = USE_STMT (use);
        if (is_gimple_debug (s))
          continue;
        if (gphi *p = dyn_cast<gphi *> (s))
          {
            if (!accumulates (gimple_phi_result (p)))
              return false;
            continue;
          }
        if (gassign *a = dyn_cast<gassign *> (s))
          {
            tree lhs = gimple_assign_lhs (a);
            tree_code c = gimple_assign_rhs_code (a);
            if (TREE_CODE (lhs) == SSA_NAME)
              {
                bool keeps = associative (c) && gimple_assign_rhs1 (a) != gimple_assign_rhs2 (a);
                // Sums are made in unsigned types; on the way into an atomic instruction the representation changes.
                tree from = TREE_TYPE (gimple_assign_rhs1 (a));
                bool converts = (c == VIEW_CONVERT_EXPR || CONVERT_EXPR_CODE_P (c))
                                && (!inside (a)
                                    || (INTEGRAL_TYPE_P (from) && INTEGRAL_TYPE_P (TREE_TYPE (lhs))
                                        && TYPE_PRECISION (from) == TYPE_PRECISION (TREE_TYPE (lhs))));
                if ((keeps || converts) && accumulates (lhs))
                  continue;
              }
            else if (!inside (a) && in_atomic (a) && uniform_place (lhs, 0))
              continue;
            return false;
          }
        gcall *c = dyn_cast<gcall *> (s);
        if (c && !inside (c)
            && ((gimple_call_internal_p (c) && gimple_call_internal_fn (c) == IFN_ATOMIC_COMPARE_EXCHANGE)
                || !strncmp (callee_name (c), "__atomic_", 9) || !strncmp (callee_name (c), "__sync_", 7))
            && uniform (gimple_call_arg (c, 0)))
          continue;
        return false;
      }
    return true;
  }

  bool phi (gphi *p, basic_block bb)
  {
    if (bb == loop_->header)
      return accumulates (gimple_phi_result (p));
    for (unsigned i = 0; i < gimple_phi_num_args (p); i++)
      if (!comes_in (gimple_phi_arg_def (p, i)))
        return false;
    return goes_out (gimple_phi_result (p));
  }

  /// A value used in the chunks.
  bool comes_in (tree t)
  {
    if (TREE_CODE (t) != SSA_NAME || virtual_operand_p (t))
      return true;
    gimple *def = SSA_NAME_DEF_STMT (t);
    if (!SSA_NAME_IS_DEFAULT_DEF (t) && inside (def))
      return true;
    return uniform (t);
  }

  /// A value made in the chunks: if it is used outside, it must be an accumulator's.
  bool goes_out (tree t)
  {
    if (virtual_operand_p (t))
      return true;
    imm_use_iterator it;
    use_operand_p use;
    FOR_EACH_IMM_USE_FAST (use, it, t)
      if (!is_gimple_debug (USE_STMT (use)) && !inside (USE_STMT (use)) && !followed_.count (t) && !accumulates (t))
        return false;
    return true;
  }

  bool statement (gimple *s)
  {
    if (s == next_)
      return true;
    if (gimple_clobber_p (s))
      return true;
    if (is_gimple_call (s) && (gimple_vdef (s) || !gimple_call_builtin_p (s, BUILT_IN_NORMAL))
        && !gimple_call_internal_p (s) && !gimple_call_builtin_p (s, BUILT_IN_NORMAL))
      return false;
    if (is_save_point (s) || !strncmp (callee_name (s), "omp_", 4) || gimple_code (s) == GIMPLE_ASM)
      return false;
    // Associative updates of an accumulator use what comes in; so does everything else.
    ssa_op_iter i;
    tree t;
    FOR_EACH_SSA_TREE_OPERAND (t, s, i, SSA_OP_USE)
      if (!comes_in (t))
        return false;
    FOR_EACH_SSA_TREE_OPERAND (t, s, i, SSA_OP_DEF)
      if (!goes_out (t))
        return false;
    walk_stmt_info info;
    memset (&info, 0, sizeof info);
    info.info = this;
    return !walk_gimple_op (s, variable, &info);
  }

  /// Variables in memory: a private one must end its life within the loop.
  static tree variable (tree *tp, int *, void *data)
  {
    Chunks *self = (Chunks *) ((walk_stmt_info *) data)->info;
    tree t = *tp;
    if (!VAR_P (t) && TREE_CODE (t) != PARM_DECL)
      return NULL_TREE;
    if (VAR_P (t) && is_global_var (t))
      return DECL_THREAD_LOCAL_P (t) ? t : NULL_TREE;
    return self->bounds_.count (t) || self->ends_inside (t) ? NULL_TREE : t;
  }

  bool ends_inside (tree var)
  {
    basic_block *body = get_loop_body (loop_);
    bool found = false;
    for (unsigned i = 0; !found && i < loop_->num_nodes; i++)
      for (gimple_stmt_iterator g = gsi_start_bb (body[i]); !gsi_end_p (g); gsi_next (&g))
        found = found || (gimple_clobber_p (gsi_stmt (g)) && gimple_assign_lhs (gsi_stmt (g)) == var);
    free (body);
    return found;
  }

  function *fn_;
  class loop *loop_;
  gimple *next_;
  std::set<tree> bounds_, followed_;
};

/// `s` asks for a chunk of a loop, the first one or another: GOMP_loop[_ull]_[nonmonotonic_]SCHEDULE_WHICH.
bool asks_for (gimple *s, const char *which)
{
  const char *name = is_a<gcall *> (s) ? callee_name (s) : "";
  if (strncmp (name, "GOMP_loop_", 10) || strstr (name, "ordered") || strstr (name, "doacross"))
    return false;
  size_t n = strlen (name), m = strlen (which);
  bool deals = strstr (name, "static") || strstr (name, "dynamic") || strstr (name, "guided")
               || strstr (name, "runtime");
  return deals && n > m && !strcmp (name + n - m, which);
}

bool asks_for_next (gimple *s)
{
  return asks_for (s, "_next");
}

/// The variable for the first iteration of a chunk that `s` asks for; null if it asks for none.
tree bound_of_chunks (gimple *s)
{
  unsigned at = asks_for_next (s) ? 0 : asks_for (s, "_start") ? gimple_call_num_args (s) - 2 : ~0u;
  tree a = at == ~0u ? NULL_TREE : gimple_call_arg (s, at);
  return a && TREE_CODE (a) == ADDR_EXPR ? TREE_OPERAND (a, 0) : NULL_TREE;
}

} // namespace

bool is_share_of_team (function *fn, gimple *site)
{
  tree bound = bound_of_chunks (site);
  if (!bound)
    return false;
  // The first chunk of a combined construct is asked for in front of the loop, by the same call.
  bool found = false;
  basic_block bb;
  FOR_EACH_BB_FN (bb, fn)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      {
        gimple *s = gsi_stmt (i);
        class loop *l = bb->loop_father;
        if (!asks_for_next (s) || bound_of_chunks (s) != bound || !loop_outer (l))
          continue;
        if (!Chunks (fn, l, s).shared ())
          return false;
        found = true;
      }
  return found;
}

} // namespace promp
