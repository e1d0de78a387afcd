// Atomic additions that can be taken back.
//
//     #pragma omp atomic
//     histogram[bin[i]]++;
//
// What such an update has added is subtracted again, atomically, before the work is executed once more: the
// runtime notes it (promp_add, crates/undo/src/addition.rs). Between the failure and the end of the
// repetition others may see too much, or too little. That must not matter, so:
// - The result of the addition is used by nobody, the order is relaxed (as `omp atomic` has it), the number
//   an integer: additions modulo 2^n commute, those of floating-point numbers do not.
// - *All* that the team executes is known: the function of a parallel region that calls nothing, makes no
//   tasks, has no critical sections, no locks and no other atomic access. So whoever sees an intermediate
//   value does so by an addition, too, or by a plain access, which would be a race.
// - Behind the region, and behind a barrier in it, the repetition is over.
// - What else there is in the process is looked at when a thread has failed.
//
// A function with a worksharing loop in it is a region's, not a task's: those must not be nested in tasks.

#include "segments/additions.h"
#include "memory/memory.h"
#include "segments/tables.h"
#include "ssa.h"
#include "cfgloop.h"
#include "fold-const.h"
#include "gimplify.h"
#include "gimplify-me.h"

namespace promp {
namespace {

/// Bytes of the number that is added to; 0: it is no atomic addition, or not such a one. `subtracts`: the
/// argument is subtracted.
unsigned is_addition (gcall *c, bool *subtracts)
{
  if (!gimple_call_builtin_p (c, BUILT_IN_NORMAL) || gimple_call_num_args (c) != 3)
    return 0;
  unsigned size = 0;
  *subtracts = false;
  switch (DECL_FUNCTION_CODE (gimple_call_fndecl (c)))
    {
    case BUILT_IN_ATOMIC_SUB_FETCH_1: case BUILT_IN_ATOMIC_FETCH_SUB_1: *subtracts = true; /* fall through */
    case BUILT_IN_ATOMIC_ADD_FETCH_1: case BUILT_IN_ATOMIC_FETCH_ADD_1: size = 1; break;
    case BUILT_IN_ATOMIC_SUB_FETCH_2: case BUILT_IN_ATOMIC_FETCH_SUB_2: *subtracts = true; /* fall through */
    case BUILT_IN_ATOMIC_ADD_FETCH_2: case BUILT_IN_ATOMIC_FETCH_ADD_2: size = 2; break;
    case BUILT_IN_ATOMIC_SUB_FETCH_4: case BUILT_IN_ATOMIC_FETCH_SUB_4: *subtracts = true; /* fall through */
    case BUILT_IN_ATOMIC_ADD_FETCH_4: case BUILT_IN_ATOMIC_FETCH_ADD_4: size = 4; break;
    case BUILT_IN_ATOMIC_SUB_FETCH_8: case BUILT_IN_ATOMIC_FETCH_SUB_8: *subtracts = true; /* fall through */
    case BUILT_IN_ATOMIC_ADD_FETCH_8: case BUILT_IN_ATOMIC_FETCH_ADD_8: size = 8; break;
    default: return 0;
    }
  tree result = gimple_call_lhs (c);
  bool unused = !result || (TREE_CODE (result) == SSA_NAME && has_zero_uses (result));
  return unused && integer_zerop (gimple_call_arg (c, 2)) ? size : 0;
}

/// A call of the runtime behind which nothing is executed but what is in this function.
bool is_plain (const char *name)
{
  for (const char *other : { "ordered", "doacross", "cancel", "GOMP_loop_start", "GOMP_loop_ull_start" })
    if (strstr (name, other))
      return false; // the latter have task reductions, or scans
  return !strcmp (name, "GOMP_barrier") || starts_with (name, "GOMP_loop_");
}

/// May the statement stand beside additions? `loops`: there is a worksharing loop.
bool is_harmless (gimple *s, bool *loops)
{
  if (is_gimple_debug (s) || gimple_clobber_p (s))
    return true;
  if (gimple_code (s) == GIMPLE_ASM || gimple_has_volatile_ops (s))
    return false;
  gcall *c = dyn_cast<gcall *> (s);
  if (!c)
    return true;
  const char *name = callee_name (c);
  if (starts_with (name, "GOMP_"))
    {
      *loops = *loops || starts_with (name, "GOMP_loop_");
      return is_plain (name);
    }
  if (gimple_call_flags (c) & ECF_NORETURN)
    return gimple_call_builtin_p (c, BUILT_IN_UNREACHABLE);
  return !gimple_vuse (c) || !strcmp (name, "omp_get_thread_num") || !strcmp (name, "omp_get_num_threads")
         || gimple_call_builtin_p (c, BUILT_IN_MEMCPY) || gimple_call_builtin_p (c, BUILT_IN_MEMSET)
         || gimple_call_builtin_p (c, BUILT_IN_MEMMOVE);
}

built_in_function adds (unsigned HOST_WIDE_INT size)
{
  return size == 1 ? BUILT_IN_ATOMIC_FETCH_ADD_1 : size == 2 ? BUILT_IN_ATOMIC_FETCH_ADD_2
         : size == 4 ? BUILT_IN_ATOMIC_FETCH_ADD_4 : BUILT_IN_ATOMIC_FETCH_ADD_8;
}

/// Puts a call of `function` in the place of the one at `i`.
void replace (gimple_stmt_iterator *i, tree function, tree a, tree b, tree c)
{
  gimple_seq seq = nullptr;
  tree args[] = { a, b, c };
  for (tree &t : args)
    {
      gimple_seq more = nullptr;
      t = force_gimple_operand (t, &more, true, NULL_TREE);
      gimple_seq_add_seq (&seq, more);
    }
  gcall *call = gimple_build_call (function, 3, args[0], args[1], args[2]);
  gimple_set_location (call, gimple_location (gsi_stmt (*i)));
  gsi_insert_seq_before (i, seq, GSI_SAME_STMT);
  gimple_move_vops (call, gsi_stmt (*i));
  gsi_replace (i, call, false);
}

} // namespace

std::set<gimple *> additions_of (function *fn)
{
  std::set<gimple *> found;
  bool loops = false;
  if (!is_outlined (fn))
    return found;
  basic_block bb;
  FOR_EACH_BB_FN (bb, fn)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      {
        gcall *c = dyn_cast<gcall *> (gsi_stmt (i));
        bool subtracts;
        if (c && is_addition (c, &subtracts))
          {
            // Elsewhere a reduction is merged by it: the runtime knows how.
            if (loop_outer (bb->loop_father))
              found.insert (c);
          }
        else if (!is_harmless (gsi_stmt (i), &loops))
          return {};
      }
  return loops ? found : std::set<gimple *> ();
}

void note_addition (gimple *addition)
{
  gcall *c = as_a<gcall *> (addition);
  bool subtracts;
  unsigned size = is_addition (c, &subtracts);
  gcc_assert (size);
  tree l = long_integer_type_node, value = fold_convert (l, gimple_call_arg (c, 1));
  if (subtracts)
    value = fold_build1 (NEGATE_EXPR, l, value);
  gimple_stmt_iterator i = gsi_for_stmt (c);
  replace (&i, add_function (), gimple_call_arg (c, 0), build_int_cst (l, size), value);
}

bool is_noted_addition (gimple *stmt) { return !strcmp (callee_name (stmt), "__promp_add"); }

void forget_addition (gimple_stmt_iterator *i)
{
  gcall *c = as_a<gcall *> (gsi_stmt (*i));
  tree decl = builtin_decl_explicit (adds (tree_to_uhwi (gimple_call_arg (c, 1))));
  tree type = TREE_VALUE (TREE_CHAIN (TYPE_ARG_TYPES (TREE_TYPE (decl))));
  replace (i, decl, gimple_call_arg (c, 0), fold_convert (type, gimple_call_arg (c, 2)), integer_zero_node);
}

} // namespace promp
