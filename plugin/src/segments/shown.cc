// Calls that show values on standard output or error, and do nothing else with them: C's, C++'s, Fortran's.
//
// Streams are those that C and C++ name, and Fortran's units 6 and 0. What the program writes to a stream in
// its memory it may read again. That standard output is such a stream is seen when the program is linked
// (`promp restart` looks for open_memstream and its like).

#include "segments/shown.h"
#include "memory/memory.h"
#include "ssa.h"
#include "cgraph.h"
#include "fold-const.h"
#include "stringpool.h"

namespace promp {

const char *linked_name (gimple *call)
{
  tree decl = is_gimple_call (call) ? gimple_call_fndecl (call) : NULL_TREE;
  if (!decl || !TREE_PUBLIC (decl) || !DECL_EXTERNAL (decl) || !HAS_DECL_ASSEMBLER_NAME_P (decl))
    return "";
  const char *name = IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (decl));
  return name + (*name == '*');
}

const char *asked_routine (gimple *call)
{
  const char *name = linked_name (call);
  for (const char *n :
       { "omp_get_max_threads", "omp_get_num_procs", "omp_get_num_threads", "omp_get_thread_num" })
    if (!strncmp (name, n, strlen (n)) && (!name[strlen (n)] || !strcmp (name + strlen (n), "_"))
        && !gimple_call_num_args (call))
      return n;
  return nullptr;
}

namespace {

/// A function of C's: which argument is the stream, and which the format; -1: none.
struct Of_c
{
  const char *name;
  int stream, format;
};
const Of_c OF_C[]
  = { { "printf", -1, 0 }, { "__printf_chk", -1, 1 }, { "fprintf", 0, 1 }, { "__fprintf_chk", 0, 2 },
      { "puts", -1, -1 },  { "putchar", -1, -1 },     { "fputs", 1, -1 },  { "fputc", 1, -1 },
      { "putc", 1, -1 },   { "fwrite", 3, -1 },       { "fflush", 0, -1 } };

const Of_c *of_c (gcall *call)
{
  for (const Of_c &f : OF_C)
    if (!strcmp (linked_name (call), f.name))
      return &f;
  return nullptr;
}

/// Where a value comes from, through copies.
gimple *definition (tree t)
{
  gimple *s = TREE_CODE (t) == SSA_NAME ? SSA_NAME_DEF_STMT (t) : nullptr;
  while (s && gimple_assign_ssa_name_copy_p (s))
    s = SSA_NAME_DEF_STMT (gimple_assign_rhs1 (s));
  return s;
}

bool is_external (tree d, std::initializer_list<const char *> names)
{
  if (!d || !VAR_P (d) || !DECL_EXTERNAL (d) || !TREE_PUBLIC (d))
    return false;
  const char *name = IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (d));
  for (const char *n : names)
    if (!strcmp (name + (*name == '*'), n))
      return true;
  return false;
}

/// stdout or stderr, as they are then; or all (of fflush).
bool is_standard (gcall *call, unsigned k)
{
  if (k >= gimple_call_num_args (call))
    return false;
  tree a = gimple_call_arg (call, k);
  gimple *s = definition (a);
  return integer_zerop (a)
         || (s && gimple_assign_load_p (s) && is_external (gimple_assign_rhs1 (s), { "stdout", "stderr" }));
}

/// A constant that says what is shown how, and not where the number of characters is put (%n).
bool is_format (gcall *call, unsigned k)
{
  const char *p = k < gimple_call_num_args (call) ? c_getstr (gimple_call_arg (call, k)) : nullptr;
  if (!p)
    return false;
  while ((p = strchr (p, '%')))
    {
      p += 1 + strspn (p + 1, "-+ #0123456789.*'$hlLqjztI");
      if (*p == 'n' || !*p)
        return false;
      p++;
    }
  return true;
}

const char CXX_CHARACTERS[] = "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_";
const char CXX_STRING[]
  = "_ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKNSt7__cxx1112basic_stringIS4_S5_T1_EE";

/// Is it std::ostream's operator<< of a number, a character, a string, or endl?
bool is_of_cxx (gcall *call)
{
  tree decl = gimple_call_fndecl (call);
  // Templates have bodies here, too.
  if (!decl || !HAS_DECL_ASSEMBLER_NAME_P (decl) || gimple_call_num_args (call) != 2)
    return false;
  const char *n = IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (decl));
  n += *n == '*';
  if (!strncmp (n, "_ZNSolsE", 8) && n[8] && !n[9])
    return strchr ("bsijtlmxyfde", n[8]);
  if (!strcmp (n, "_ZNSolsEPFRSoS_E"))
    {
      tree f = gimple_call_arg (call, 1);
      f = TREE_CODE (f) == ADDR_EXPR ? TREE_OPERAND (f, 0) : NULL_TREE;
      const char *m = f && TREE_CODE (f) == FUNCTION_DECL ? IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (f)) : "";
      return !strncmp (m, "_ZSt4endlI", 10) || !strncmp (m, "_ZSt5flushI", 11);
    }
  if (!strncmp (n, CXX_CHARACTERS, sizeof CXX_CHARACTERS - 1))
    {
      n += sizeof CXX_CHARACTERS - 1;
      return !strcmp (n, "c") || !strcmp (n, "a") || !strcmp (n, "h") || !strcmp (n, "PKc");
    }
  return !strcmp (n, CXX_STRING);
}

/// Does it go to cout, cerr or clog?
bool is_to_standard (gcall *call)
{
  tree to = gimple_call_arg (call, 0);
  while (gcall *c = safe_dyn_cast<gcall *> (definition (to)))
    {
      if (!is_of_cxx (c))
        return false;
      to = gimple_call_arg (c, 0);
    }
  return TREE_CODE (to) == ADDR_EXPR
         && is_external (TREE_OPERAND (to, 0), { "_ZSt4cout", "_ZSt4cerr", "_ZSt4clog" });
}

bool is_of_fortran (gimple *call)
{
  const char *n = linked_name (call);
  size_t length = strlen (n);
  return !strcmp (n, "_gfortran_st_write") || !strcmp (n, "_gfortran_st_write_done")
         || (!strncmp (n, "_gfortran_transfer_", 19) && length > 6 && !strcmp (n + length - 6, "_write"));
}

/// The name of the field that a reference ends in.
const char *last_field (tree ref)
{
  tree f = TREE_CODE (ref) == COMPONENT_REF ? TREE_OPERAND (ref, 1) : NULL_TREE;
  return f && DECL_NAME (f) ? IDENTIFIER_POINTER (DECL_NAME (f)) : "";
}

/// Does the statement's description say: to unit 6 or 0, by a format or a list, and nothing is told back?
bool is_plain_write (const Uses &uses, gcall *call)
{
  const HOST_WIDE_INT LIST = 1 << 7, FORMAT = 1 << 12, ADVANCE = 1 << 13;
  tree about = gimple_call_num_args (call) ? gimple_call_arg (call, 0) : NULL_TREE;
  about = about && TREE_CODE (about) == ADDR_EXPR ? TREE_OPERAND (about, 0) : NULL_TREE;
  if (!about || !VAR_P (about) || !uses.is_followed (about))
    return false;
  unsigned flags = 0, units = 0;
  for (const Named &u : uses.of (about))
    {
      if (u.kind == Named::ADDRESS && !is_of_fortran (u.stmt))
        return false;
      if (u.kind != Named::STORE || gimple_clobber_p (u.stmt))
        continue;
      if (!gimple_assign_single_p (u.stmt))
        return false;
      tree value = gimple_assign_rhs1 (u.stmt);
      const char *field = last_field (gimple_assign_lhs (u.stmt));
      if (!*field)
        return false; // all of it at once
      bool is_flags = !strcmp (field, "flags"), is_unit = !strcmp (field, "unit");
      if ((is_flags || is_unit) && !tree_fits_shwi_p (value))
        return false;
      if (is_flags && (flags++, tree_to_shwi (value) & ~(LIST | FORMAT | ADVANCE)))
        return false;
      if (is_unit && (units++, tree_to_shwi (value) != 6 && tree_to_shwi (value) != 0))
        return false;
    }
  return flags && units;
}

} // namespace

bool shows (const Uses &uses, gcall *call)
{
  if (const Of_c *f = of_c (call))
    return (f->stream < 0 || is_standard (call, f->stream)) && (f->format < 0 || is_format (call, f->format));
  if (is_of_cxx (call))
    return is_to_standard (call);
  return is_of_fortran (call) && is_plain_write (uses, call);
}

bool returns_stream (gcall *call) { return is_of_cxx (call); }

} // namespace promp
