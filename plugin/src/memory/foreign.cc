// Calls of functions whose bodies are in other units, or that are one of several: which they are, and what
// they are given.

#include "memory/foreign.h"
#include "segments/containers.h"
#include "memory/memory.h"
#include "memory/summary.h"
#include "ssa.h"

namespace promp {

std::vector<tree> foreign_targets (gcall *call)
{
  if (gimple_call_internal_p (call) || gimple_call_chain (call) || is_save_point (call)
      || gimple_call_flags (call) & (ECF_NORETURN | ECF_RETURNS_TWICE | ECF_PURE | ECF_CONST))
    return {};
  tree decl = target_of (call);
  if (!decl)
    return pointed_targets (call);
  if (fndecl_built_in_p (decl))
    return {};
  const char *name = DECL_NAME (decl) ? IDENTIFIER_POINTER (DECL_NAME (decl)) : "";
  for (const char *ours : { "omp_", "acc_", "GOMP_", "GOACC_", "promp_", "__promp_" })
    if (!strncmp (name, ours, strlen (ours)))
      return {};
  if (!*name)
    return {};
  tree compares = compared_by (call);
  return compares ? std::vector<tree> { decl, compares } : std::vector<tree> { decl };
}

bool has_results (const std::vector<Foreign> &calls)
{
  for (const Foreign &f : calls)
    for (const Argument &a : f.arguments)
      if (f.result || a.kind == Argument::RESULT)
        return true;
  return false;
}

int number_of_parameter (function *fn, tree value)
{
  if (!value || TREE_CODE (value) != SSA_NAME || !SSA_NAME_IS_DEFAULT_DEF (value))
    return -1;
  int k = 0;
  for (tree p = DECL_ARGUMENTS (fn->decl); p; p = DECL_CHAIN (p), k++)
    if (p == SSA_NAME_VAR (value))
      return k;
  return -1;
}

Foreign foreign (function *fn, gcall *call, tree target)
{
  Foreign f;
  f.callee = target;
  f.must = target == target_of (call);
  f.through = target_of (call) ? -1 : number_of_parameter (fn, gimple_call_fn (call));
  f.line = LOCATION_LINE (gimple_location (call));
  f.throws = !gimple_call_nothrow_p (call);
  if (target == compared_by (call))
    {
      // Two elements, somewhere in the array or in a copy.
      Argument x;
      x.kind = Argument::POINTER;
      x.value = gimple_call_arg (call, 0);
      f.arguments = { x, x };
      return f;
    }
  for (unsigned i = 0; i < gimple_call_num_args (call); i++)
    {
      tree a = gimple_call_arg (call, i);
      Argument x;
      // A number may be an address; what a function reads and writes through a number is none of its
      // parameters' in its summary.
      if (POINTER_TYPE_P (TREE_TYPE (a)) && !integer_zerop (a))
        {
          x.kind = Argument::POINTER;
          x.value = a;
          x.fixed = true;
        }
      f.arguments.push_back (x);
    }
  return f;
}

} // namespace promp
