// Sites: for each loop that saves old values a word in which the runtime decides whether that is worth its
// price, and what it has measured; for each thing that cannot be executed twice what it is.
// crates/layouts/src/save_sites.rs has the layout.

#include "segments/sites.h"
#include "segments/tables.h"
#include "stringpool.h"
#include "cgraph.h"
#include "varasm.h"
#include "ssa.h"
#include "tm_p.h"

namespace promp {

static tree word (unsigned n) { return build_int_cst (ptr_type_node, n); }

std::string place_of (location_t where)
{
  if (LOCATION_LINE (where) <= 0 && current_function_decl)
    where = DECL_SOURCE_LOCATION (current_function_decl);
  expanded_location at = expand_location (where);
  const char *file = at.file ? strrchr (at.file, '/') : nullptr;
  return std::string (file ? file + 1 : at.file ? at.file : "?") + ":" + std::to_string (at.line);
}

tree new_site (unsigned state, location_t where, const std::string &text)
{
  static unsigned number;
  std::string full = place_of (where) + ": " + text;
  tree type = build_array_type_nelts (ptr_type_node, SITE_WORDS);
  std::string name = "promp_site." + std::to_string (number++);
  tree v = build_decl (UNKNOWN_LOCATION, VAR_DECL, get_identifier (name.c_str ()), type);
  TREE_STATIC (v) = 1;
  TREE_USED (v) = 1;
  TREE_ADDRESSABLE (v) = 1;
  DECL_ARTIFICIAL (v) = 1;
  DECL_IGNORED_P (v) = 1;
  DECL_CONTEXT (v) = NULL_TREE;
  vec<constructor_elt, va_gc> *words = nullptr;
  // The state, and half a word in which the runtime counts below what -fpromp-budget says.
  unsigned HOST_WIDE_INT first = state | (unsigned HOST_WIDE_INT) options.budget << 32;
  CONSTRUCTOR_APPEND_ELT (words, size_int (0), build_int_cstu (ptr_type_node, first));
  CONSTRUCTOR_APPEND_ELT (words, size_int (1), word (0));
  CONSTRUCTOR_APPEND_ELT (words, size_int (2), word (0));
  CONSTRUCTOR_APPEND_ELT (words, size_int (3), build_string_literal (full.size () + 1, full.c_str ()));
  DECL_INITIAL (v) = build_constructor (type, words);
  varpool_node::finalize_decl (v);
  return build_fold_addr_expr (v);
}

tree new_saving_site (location_t where, const std::string &text)
{
  return new_site (options.elements && !options.budget ? SITE_ALWAYS : SITE_OPEN, where, text);
}

tree state_of_site (tree site)
{
  tree type = build_qualified_type (unsigned_type_node, TYPE_QUAL_VOLATILE);
  tree ref = build2 (MEM_REF, type, site, build_int_cst (ptr_type_node, 0));
  TREE_THIS_VOLATILE (ref) = 1;
  TREE_SIDE_EFFECTS (ref) = 1;
  return ref;
}

tree is_in_region (gimple_seq *seq)
{
  auto load = [&] (tree type, tree from) {
    tree v = make_ssa_name (type);
    gimple_seq_add_stmt (seq, gimple_build_assign (v, from));
    return v;
  };
  tree there = build_qualified_type (ptr_type_node, ENCODE_QUAL_ADDR_SPACE (ADDR_SPACE_SEG_FS));
  tree pointer = build_pointer_type (there);
  tree at = make_ssa_name (pointer);
  gimple_seq_add_stmt (seq, gimple_build_assign (at, NOP_EXPR, load (sizetype, thread_variable ())));
  tree thread = load (ptr_type_node, build2 (MEM_REF, there, at, build_int_cst (pointer, 0)));
  tree base = load (sizetype, build2 (MEM_REF, sizetype, thread, build_int_cst (ptr_type_node, THREAD_BASE)));
  return build2 (NE_EXPR, boolean_type_node, base, size_zero_node);
}

gcall *ask (tree site, tree result)
{
  gcall *call = gimple_build_call (saves_function (), 1, site);
  if (result)
    gimple_call_set_lhs (call, result);
  return call;
}

gcall *leave_call (tree site) { return gimple_build_call (leaves_function (), 1, site); }

gcall *point_call (tree site) { return gimple_build_call (point_function (), 1, site); }

} // namespace promp
