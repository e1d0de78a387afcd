// Calls of functions whose bodies are in other units: which they are, and what they are given.

#include "foreign.h"
#include "memory.h"
#include "summary.h"
#include "ssa.h"

namespace promp {

bool is_foreign (gcall *call)
{
  tree decl = target_of (call);
  if (!decl || gimple_call_internal_p (call) || fndecl_built_in_p (decl) || gimple_call_chain (call)
      || is_save_point (call))
    return false;
  if (gimple_call_flags (call) & (ECF_NORETURN | ECF_RETURNS_TWICE | ECF_PURE | ECF_CONST))
    return false;
  const char *name = DECL_NAME (decl) ? IDENTIFIER_POINTER (DECL_NAME (decl)) : "";
  for (const char *ours : { "omp_", "acc_", "GOMP_", "GOACC_", "promp_", "__promp_" })
    if (!strncmp (name, ours, strlen (ours)))
      return false;
  return *name != 0;
}

Foreign foreign (gcall *call)
{
  Foreign f;
  f.callee = target_of (call);
  f.line = LOCATION_LINE (gimple_location (call));
  f.throws = !gimple_call_nothrow_p (call);
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
