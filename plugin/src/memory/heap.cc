// Functions that allocate and free memory.
//
// A block that work allocates is another one when the work is executed again, and nobody else knows it. What
// work frees is kept until the next save point (crates/undo/src/freed_memory.rs). For C's functions that is
// so by their definition. The operators of C++ are the program's to replace, by functions with counters and
// lists that must not be executed twice, or not in another order. So they are calls of functions of other
// units, whose tables say that nothing of them is assumed but that they are the C++ library's own, which
// call malloc and free (crates/proofs/src/join). What they are bound to is known when the program is
// loaded: if that is anything else, there are marks in front of the calls.
//
// The operators' exceptions: the runtime allocates in their place, and before the operator itself is called
// since there is no memory left, it notes that the work is not executed again. So the ways out of a call of
// `operator new` that an exception takes do not count.

#include "memory/heap.h"
#include "segments/tables.h"
#include "ssa.h"
#include "cgraph.h"

namespace promp {

/// The runtime's stand-in for an operator; null: it has none.
static const char *stand_in (tree f)
{
  static const char *const forms[][2] = { { "_Znwm", "promp_new" },
                                          { "_Znam", "promp_new_array" },
                                          { "_ZdlPv", "promp_delete" },
                                          { "_ZdlPvm", "promp_delete_sized" },
                                          { "_ZdaPv", "promp_delete_array" },
                                          { "_ZdaPvm", "promp_delete_array_sized" } };
  if (!f || TREE_CODE (f) != FUNCTION_DECL || !DECL_NAME (f) || !TREE_PUBLIC (f) || !DECL_EXTERNAL (f))
    return nullptr;
  if (!DECL_IS_OPERATOR_NEW_P (f) && !DECL_IS_OPERATOR_DELETE_P (f))
    return nullptr;
  cgraph_node *node = cgraph_node::get (f);
  if (node && node->ultimate_alias_target ()->definition)
    return nullptr; // the program's own
  const char *name = IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (f));
  for (auto &form : forms)
    if (!strcmp (name + (*name == '*'), form[0]))
      return form[1];
  return nullptr;
}

bool is_operator (tree function) { return stand_in (function) != nullptr; }

bool is_operator (gimple *stmt)
{
  return is_gimple_call (stmt) && !gimple_call_internal_p (stmt) && stand_in (gimple_call_fndecl (stmt));
}

bool is_realloc (gimple *stmt)
{
  gcall *c = dyn_cast<gcall *> (stmt);
  tree f = c ? gimple_call_fndecl (c) : NULL_TREE;
  return f && fndecl_built_in_p (f, BUILT_IN_REALLOC) && gimple_call_num_args (c) == 2;
}

bool allocates (gimple *stmt)
{
  return gimple_call_builtin_p (stmt, BUILT_IN_MALLOC) || gimple_call_builtin_p (stmt, BUILT_IN_CALLOC)
         || (is_operator (stmt) && DECL_IS_OPERATOR_NEW_P (gimple_call_fndecl (stmt)));
}

bool frees (gimple *stmt)
{
  return gimple_call_builtin_p (stmt, BUILT_IN_FREE) || is_realloc (stmt)
         || (is_operator (stmt) && DECL_IS_OPERATOR_DELETE_P (gimple_call_fndecl (stmt)));
}

bool comes_from_allocations (tree t, std::set<tree> &names)
{
  if (integer_zerop (t))
    return true;
  if (TREE_CODE (t) != SSA_NAME || SSA_NAME_IS_DEFAULT_DEF (t))
    return false;
  if (!names.insert (t).second)
    return true;
  gimple *def = SSA_NAME_DEF_STMT (t);
  if (allocates (def) || is_realloc (def))
    return true;
  if (gassign *a = dyn_cast<gassign *> (def))
    return (gimple_assign_ssa_name_copy_p (a) || CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a))
            || gimple_assign_rhs_code (a) == POINTER_PLUS_EXPR)
           && comes_from_allocations (gimple_assign_rhs1 (a), names);
  gphi *phi = dyn_cast<gphi *> (def);
  for (unsigned i = 0; phi && i < gimple_phi_num_args (phi); i++)
    if (!comes_from_allocations (gimple_phi_arg_def (phi, i), names))
      return false;
  return phi != nullptr;
}

bool is_allocated (tree t)
{
  std::set<tree> names;
  return comes_from_allocations (t, names);
}

void free_later (gcall *call, bool own)
{
  const char *operators = stand_in (gimple_call_fndecl (call));
  gimple_call_set_fndecl (call, operators ? operator_function (operators, own)
                                          : freeing_function (is_realloc (call), own));
  update_stmt (call);
}

void allocate_by_runtime (gimple *stmt)
{
  if (!is_operator (stmt) || !DECL_IS_OPERATOR_NEW_P (gimple_call_fndecl (stmt)))
    return;
  tree f = operator_function (stand_in (gimple_call_fndecl (stmt)), false);
  gimple_call_set_fndecl (as_a<gcall *> (stmt), f);
  update_stmt (stmt);
}

} // namespace promp
