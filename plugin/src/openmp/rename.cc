// After OpenMP expansion: the calls of marked loops (visible.cc) become calls of the static schedule.

#include "promp-plugin.h"
#include "segments/tables.h"
#include "ssa.h"
#include "fold-const.h"
#include "diagnostic-core.h"
#include <map>

namespace promp {
namespace {

/// The chunk behind a marked chunk argument, or NULL_TREE if the argument is not marked.
tree marked_chunk (tree arg)
{
  if (TREE_CODE (arg) == INTEGER_CST)
    {
      unsigned HOST_WIDE_INT v = TREE_INT_CST_LOW (arg);
      return (v & MARK_MASK) == MARK ? build_int_cst (TREE_TYPE (arg), v & ~MARK_MASK) : NULL_TREE;
    }
  while (TREE_CODE (arg) == SSA_NAME)
    {
      gassign *def = dyn_cast<gassign *> (SSA_NAME_DEF_STMT (arg));
      if (!def)
        return NULL_TREE;
      if (gimple_assign_rhs_code (def) == BIT_IOR_EXPR)
        {
          tree mark = gimple_assign_rhs2 (def);
          return TREE_CODE (mark) == INTEGER_CST && (TREE_INT_CST_LOW (mark) & MARK_MASK) == MARK
                   ? gimple_assign_rhs1 (def)
                   : NULL_TREE;
        }
      if (!CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (def)) && !gimple_assign_single_p (def))
        return NULL_TREE;
      arg = gimple_assign_rhs1 (def);
      if (TREE_CODE (arg) == INTEGER_CST)
        return marked_chunk (arg);
    }
  return NULL_TREE;
}

/// Calls of promp.h's functions for directives go through functions that do nothing without the runtime (directives.cc).
void through_ours (gimple_stmt_iterator *at, gcall *call)
{
  tree decl = gimple_call_fndecl (call);
  if (!decl || !DECL_EXTERNAL (decl) || !TREE_PUBLIC (decl))
    return;
  const char *name = IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (decl));
  for (const char *known : { "promp_frags", "promp_recompute", "promp_potential_ckpt", "promp_sdc_checkpoint",
                             "promp_sdc_detect" })
    {
      size_t n = strlen (known);
      if (strncmp (name, known, n) || (name[n] && strcmp (name + n, "_")))
        continue;
      if (name[n] && gimple_call_num_args (call) > 0)
        {
          // From Fortran, without an interface: the argument is a reference.
          tree type = integer_type_node;
          tree from = build2 (MEM_REF, type, gimple_call_arg (call, 0), build_int_cst (build_pointer_type (type), 0));
          gassign *load = gimple_build_assign (make_ssa_name (type), from);
          gimple_set_vuse (load, gimple_vuse (call));
          gsi_insert_before (at, load, GSI_SAME_STMT);
          gimple_call_set_arg (call, 0, gimple_assign_lhs (load));
        }
      tree ours = runtime_function (known, gimple_call_num_args (call) > 0);
      gimple_call_set_fndecl (call, ours);
      gimple_call_set_fntype (call, TREE_TYPE (ours));
      update_stmt (call);
    }
}

const pass_data DATA = { GIMPLE_PASS, "promp_rename", OPTGROUP_OMP, TV_NONE, PROP_ssa, 0, 0, 0, TODO_update_ssa };

struct Rename : gimple_opt_pass
{
  Rename () : gimple_opt_pass (DATA, g) {}
  bool gate (function *) final override { return flag_openmp; }

  unsigned execute (function *fn) final override
  {
    // The variable that takes the lower bound stands for the loop: `next` is called with the same one.
    std::map<tree, bool> ours;
    basic_block bb;
    FOR_EACH_BB_FN (bb, fn)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        {
          gcall *call = dyn_cast<gcall *> (gsi_stmt (i));
          if (call)
            through_ours (&i, call);
          bool wide = call && gimple_call_builtin_p (call, BUILT_IN_GOMP_LOOP_ULL_DYNAMIC_START);
          if (!wide && !(call && gimple_call_builtin_p (call, BUILT_IN_GOMP_LOOP_DYNAMIC_START)))
            {
              // A mark anywhere else would be taken for a chunk size.
              for (unsigned a = 0; call && a < gimple_call_num_args (call); a++)
                if (TREE_CODE (gimple_call_arg (call, a)) == INTEGER_CST && marked_chunk (gimple_call_arg (call, a)))
                  fatal_error (gimple_location (call), "promp: a static loop was started by %qD, which is not known",
                               gimple_call_fndecl (call));
              continue;
            }
          unsigned at = wide ? 4 : 3;
          tree chunk = marked_chunk (gimple_call_arg (call, at));
          if (!chunk)
            continue;
          tree type = TREE_TYPE (gimple_call_arg (call, at));
          if (!useless_type_conversion_p (type, TREE_TYPE (chunk)))
            {
              gassign *c = gimple_build_assign (make_ssa_name (type), NOP_EXPR, chunk);
              gsi_insert_before (&i, c, GSI_SAME_STMT);
              chunk = gimple_assign_lhs (c);
            }
          gimple_call_set_arg (call, at, chunk);
          gimple_call_set_fndecl (call, builtin_decl_explicit (wide ? BUILT_IN_GOMP_LOOP_ULL_STATIC_START
                                                                    : BUILT_IN_GOMP_LOOP_STATIC_START));
          update_stmt (call);
          ours[TREE_OPERAND (gimple_call_arg (call, at + 1), 0)] = true;
        }
    if (ours.empty ())
      return 0;
    FOR_EACH_BB_FN (bb, fn)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        {
          gcall *call = dyn_cast<gcall *> (gsi_stmt (i));
          bool wide = call && gimple_call_builtin_p (call, BUILT_IN_GOMP_LOOP_ULL_DYNAMIC_NEXT);
          if (!wide && !(call && gimple_call_builtin_p (call, BUILT_IN_GOMP_LOOP_DYNAMIC_NEXT)))
            continue;
          if (!ours.count (TREE_OPERAND (gimple_call_arg (call, 0), 0)))
            continue;
          gimple_call_set_fndecl (
            call, builtin_decl_explicit (wide ? BUILT_IN_GOMP_LOOP_ULL_STATIC_NEXT : BUILT_IN_GOMP_LOOP_STATIC_NEXT));
          update_stmt (call);
        }
    return 0;
  }
};

} // namespace

opt_pass *make_rename_pass () { return new Rename; }
} // namespace promp
