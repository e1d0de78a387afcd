// #pragma promp frags(m) | recompute(static|dynamic) | checkpoint |
// sdc checkpoint | sdc error-detect, in C and C++; the Fortran driver turns !$promp lines into calls.
//
// A directive becomes a call of the runtime's function of promp.h. Such calls, whoever wrote them, go through a small function of
// our own (tables.cc) that does nothing when the runtime is not there: the program then needs no other library to link.

#include "openmp/directives.h"
#include "segments/tables.h"
#include "c-family/c-common.h"
#include "c-family/c-pragma.h"
#include "diagnostic-core.h"
#include "stringpool.h"
#include "gimple-walk.h"

// Only there in the C and C++ compilers.
#pragma weak c_register_pragma
#pragma weak add_stmt
#pragma weak pragma_lex

namespace promp {
namespace {

/// Reads "( word-or-number )"; NULL_TREE if it is something else.
tree parenthesised ()
{
  tree t, value, rest;
  if (pragma_lex (&t) != CPP_OPEN_PAREN)
    return NULL_TREE;
  cpp_ttype kind = pragma_lex (&value);
  // `static` is a keyword: some compilers hand it over as one.
  if (kind != CPP_NUMBER && kind != CPP_NAME && kind != CPP_KEYWORD)
    return NULL_TREE;
  return pragma_lex (&rest) == CPP_CLOSE_PAREN && pragma_lex (&rest) == CPP_EOF ? value : NULL_TREE;
}

void call (const char *function, tree argument)
{
  if (!current_function_decl)
    {
      error_at (input_location, "%<#pragma promp%> belongs inside a function, in front of the construct it is for");
      return;
    }
  tree decl = runtime_function (function, argument != NULL_TREE);
  add_stmt (argument ? build_call_expr_loc (input_location, decl, 1, argument) : build_call_expr_loc (input_location, decl, 0));
}

void frags (cpp_reader *)
{
  tree m = parenthesised ();
  if (!m || TREE_CODE (m) != INTEGER_CST || tree_int_cst_sgn (m) <= 0 || wi::gtu_p (wi::to_wide (m), INT_MAX))
    error_at (input_location, "%<#pragma promp frags%> expects the number of fragments in parentheses, 1 or more");
  else
    call ("promp_frags", fold_convert (integer_type_node, m));
}

void recompute (cpp_reader *)
{
  tree w = parenthesised ();
  const char *s = w && TREE_CODE (w) == IDENTIFIER_NODE ? IDENTIFIER_POINTER (w) : "";
  int kind = !strcmp (s, "static") ? 1 : !strcmp (s, "dynamic") ? 2 : 0;
  if (!kind)
    error_at (input_location, "%<#pragma promp recompute%> expects (static) or (dynamic)");
  else
    call ("promp_recompute", build_int_cst (integer_type_node, kind));
}

void checkpoint (cpp_reader *)
{
  tree t;
  if (pragma_lex (&t) != CPP_EOF)
    error_at (input_location, "%<#pragma promp checkpoint%> takes no argument");
  else
    call ("promp_potential_ckpt", NULL_TREE);
}

/// `checkpoint` or `error-detect`: a section of kernels begins or ends.
void sdc (cpp_reader *)
{
  tree word, rest;
  cpp_ttype kind = pragma_lex (&word);
  std::string text = kind == CPP_NAME ? IDENTIFIER_POINTER (word) : "";
  kind = pragma_lex (&rest);
  if (text == "error" && kind == CPP_MINUS && pragma_lex (&word) == CPP_NAME)
    {
      text += std::string ("-") + IDENTIFIER_POINTER (word);
      kind = pragma_lex (&rest);
    }
  if (kind != CPP_EOF || (text != "checkpoint" && text != "error-detect"))
    error_at (input_location, "%<#pragma promp sdc%> expects checkpoint or error-detect");
  else
    call (text == "checkpoint" ? "promp_sdc_checkpoint" : "promp_sdc_detect", NULL_TREE);
}

/// A checkpoint where not every thread of the team comes along.
tree misplaced (gimple_stmt_iterator *gsi, bool *, walk_stmt_info *info)
{
  gimple *s = gsi_stmt (*gsi);
  tree decl = is_gimple_call (s) ? gimple_call_fndecl (s) : NULL_TREE;
  const char *name = decl && DECL_NAME (decl) ? IDENTIFIER_POINTER (DECL_NAME (decl)) : "";
  if (strstr (name, "promp_potential_ckpt"))
    error_at (gimple_location (s), "a checkpoint is not allowed inside %<%s%>: not all threads of the team come there",
              (const char *) info->info);
  return NULL_TREE;
}

} // namespace

void register_directives ()
{
  if (!c_register_pragma)
    return;
  c_register_pragma ("promp", "frags", frags);
  c_register_pragma ("promp", "recompute", recompute);
  c_register_pragma ("promp", "checkpoint", checkpoint);
  c_register_pragma ("promp", "sdc", sdc);
}

void check_directives (gimple *construct)
{
  const char *name = gimple_code (construct) == GIMPLE_OMP_SINGLE     ? "single"
                     : gimple_code (construct) == GIMPLE_OMP_SECTIONS ? "sections"
                                                                      : nullptr;
  if (!name)
    return;
  walk_stmt_info info;
  memset (&info, 0, sizeof info);
  info.info = const_cast<char *> (name);
  walk_gimple_seq (gimple_omp_body (construct), misplaced, nullptr, &info);
}

} // namespace promp
