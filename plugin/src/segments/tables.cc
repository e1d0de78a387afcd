// The tables that the runtime reads: section promp_segments, one entry a segment
// (crates/layouts/src/segment_entries.rs has the layout). Entries belong to the section group of their
// function (flag ?): the linker keeps one of several copies of an inline function or template, with its
// entries. They are position independent and written by assembler statements around the call, so that they
// follow it wherever the compiler moves or copies it. An object file registers its entries when it is loaded,
// if the runtime is there: all names of the runtime are weak, under another runtime nothing happens.

#include "segments/tables.h"
#include "segments/assume.h"
#include "segments/containers.h"
#include "memory/outside.h"
#include "segments/sites.h"
#include "output.h"
#include "varasm.h"
#include "stringpool.h"
#include "cgraph.h"
#include "ssa.h"
#include "memory/outside.h"
#include <map>
#include <set>
#include "tree-cfg.h"

namespace promp {

static bool any_entry;

static gasm *assembler (const std::string &text)
{
  gasm *a = gimple_build_asm_vec (ggc_strdup (text.c_str ()), nullptr, nullptr, nullptr, nullptr);
  gimple_asm_set_volatile (a, true);
  gimple_asm_set_inline (a, true);
  return a;
}

/// `text` as an assembler string within an asm template (where % is special).
static std::string quoted (const std::string &text)
{
  std::string s = "\"";
  for (char c : text)
    if (c == '%')
      s += "%%";
    else if (c == '"' || c == '\\')
      (s += '\\') += c;
    else if ((unsigned char) c >= ' ' && c != '{' && c != '|' && c != '}')
      s += c;
    else
      s += '?';
  return s + "\"";
}

void mark (gimple *site, function *fn, unsigned verdict, const Freedom &free, location_t where,
           const std::string &text, unsigned assumptions)
{
  any_entry = true;
  std::string full = place_of (where) + ": " + text;
  unsigned flags = verdict | (free.shared ? SEGMENT_SHARED : 0) | (site ? 0 : SEGMENT_ENTRY)
                   | (free.dealt ? SEGMENT_DEALT : 0);
  std::string first = "7701b", last = "7702b";
  if (!site)
    first = last = IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (fn->decl)) + (*IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (fn->decl)) == '*');
  std::string entry = "\t.pushsection .rodata.promp,\"aMS\",@progbits,1\n7703:\t.string " + quoted (full)
                      + "\n\t.popsection\n\t.pushsection promp_segments,\"a?\",@progbits\n\t.balign 4\n\t.long " + first
                      + "-.\n\t.long " + last + "-.\n\t.long " + std::to_string (flags)
                      + "\n\t.long 7703b-.\n\t.popsection";
  if (assumptions)
    entry += "\n\t.pushsection promp_assumptions,\"a?\",@progbits\n\t.balign 4\n\t.long " + first
             + "-.\n\t.long " + last + "-.\n\t.long " + label_of (assumptions) + "-.\n\t.popsection";
  if (!site)
    {
      gimple_stmt_iterator i = gsi_after_labels (single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn)));
      gsi_insert_before (&i, assembler (entry), GSI_NEW_STMT);
      return;
    }
  gimple_stmt_iterator i = gsi_for_stmt (site);
  gsi_insert_before (&i, assembler ("7701:"), GSI_SAME_STMT);
  if (stmt_ends_bb_p (site))
    {
      // In front of everything else on the way on.
      edge e = find_fallthru_edge (gimple_bb (site)->succs);
      if (e)
        gsi_insert_on_edge_immediate (e, assembler ("7702:\n" + entry));
      return;
    }
  gsi_insert_after (&i, assembler ("7702:\n" + entry), GSI_SAME_STMT);
}

/// The runtime's functions that are called here: NAME is called as __NAME.
static std::set<std::string> called;

static tree declare (const char *name, tree type)
{
  called.insert (name);
  tree decl = build_fn_decl (("__" + std::string (name)).c_str (), type);
  TREE_NOTHROW (decl) = 1;
  DECL_VISIBILITY (decl) = VISIBILITY_HIDDEN;
  DECL_VISIBILITY_SPECIFIED (decl) = 1;
  return decl;
}

static tree of_elements (const char *name)
{
  tree l = long_integer_type_node;
  return declare (name, build_function_type_list (void_type_node, ptr_type_node, l, l, l, l, l, NULL_TREE));
}

tree undo_function () { return of_elements ("promp_undo"); }
tree wrote_function () { return of_elements ("promp_wrote"); }

tree add_function ()
{
  tree l = long_integer_type_node;
  return declare ("promp_add", build_function_type_list (void_type_node, ptr_type_node, l, l, NULL_TREE));
}

static tree of_site (const char *name)
{
  return declare (name, build_function_type_list (integer_type_node, ptr_type_node, NULL_TREE));
}

tree saves_function () { return of_site ("promp_saves"); }

tree saves_across_function () { return of_site ("promp_saves_across"); }

tree saves_all_function (bool tasks)
{
  return declare (tasks ? "promp_saves_taskloop" : "promp_saves_region",
                  build_function_type_list (void_type_node, ptr_type_node, NULL_TREE));
}

static const char *const thread_name = "__promp_thread";
static bool asks_thread;

tree thread_variable ()
{
  static tree v;
  asks_thread = true;
  if (v)
    return v;
  v = build_decl (UNKNOWN_LOCATION, VAR_DECL, get_identifier (thread_name), sizetype);
  DECL_EXTERNAL (v) = TREE_PUBLIC (v) = TREE_STATIC (v) = TREE_USED (v) = 1;
  DECL_ARTIFICIAL (v) = DECL_IGNORED_P (v) = 1;
  DECL_VISIBILITY (v) = VISIBILITY_HIDDEN;
  DECL_VISIBILITY_SPECIFIED (v) = 1;
  varpool_node::get_create (v); // later passes look for it
  keep (v);
  return v;
}

tree leaves_function ()
{
  return declare ("promp_leaves", build_function_type_list (void_type_node, ptr_type_node, NULL_TREE));
}

tree point_function ()
{
  return declare ("promp_point", build_function_type_list (void_type_node, ptr_type_node, NULL_TREE));
}

tree saving_function ()
{
  return declare ("promp_undo_behind",
                  build_function_type_list (void_type_node, ptr_type_node, ptr_type_node, NULL_TREE));
}

tree freeing_function (bool resizes, bool own)
{
  tree type = resizes ? build_function_type_list (ptr_type_node, ptr_type_node, size_type_node, NULL_TREE)
                      : build_function_type_list (void_type_node, ptr_type_node, NULL_TREE);
  return declare (resizes ? own ? "promp_realloc_own" : "promp_realloc" : own ? "promp_free_own" : "promp_free",
                  type);
}

tree operator_function (const char *name, bool own)
{
  bool allocates = !strncmp (name, "promp_new", 9);
  std::string full = name + std::string (own ? "_own" : "");
  if (allocates)
    {
      tree type = build_function_type_list (ptr_type_node, size_type_node, NULL_TREE);
      tree decl = declare (full.c_str (), type);
      TREE_NOTHROW (decl) = 0;
      DECL_IS_MALLOC (decl) = 1;
      return decl;
    }
  tree size = strstr (name, "sized") ? size_type_node : NULL_TREE;
  return declare (full.c_str (),
                  build_function_type_list (void_type_node, ptr_type_node, size, NULL_TREE));
}

tree shown_function (const char *what)
{
  static std::map<std::string, tree> all;
  std::string name = std::string ("promp_shown_") + what;
  tree &decl = all[name];
  if (!decl)
    keep (decl = declare (name.c_str (), build_function_type_list (integer_type_node, NULL_TREE)));
  return decl;
}

void note_shown (gimple *s)
{
  tree decl = is_gimple_call (s) ? gimple_call_fndecl (s) : NULL_TREE;
  const char *name = decl && DECL_NAME (decl) ? IDENTIFIER_POINTER (DECL_NAME (decl)) : "";
  if (!strncmp (name, "__promp_shown_", 14))
    called.insert (name + 2);
}

tree stand_in_function (const char *name, tree type) { return declare (name, type); }

tree written_function ()
{
  return declare ("promp_dead_written", build_function_type_list (void_type_node, ptr_type_node, NULL_TREE));
}

tree foreseen_function ()
{
  tree type = build_function_type_list (void_type_node, ptr_type_node, ptr_type_node, NULL_TREE);
  return declare ("promp_dead_foreseen", type);
}

tree runtime_function (const char *name, bool argument)
{
  return declare (name, argument ? build_function_type_list (void_type_node, integer_type_node, NULL_TREE)
                                 : build_function_type_list (void_type_node, NULL_TREE));
}

/// The start of a function's code that the linker keeps one of.
static void begin_function (const char *n)
{
  fprintf (asm_out_file,
           "\t.section .text.__%s,\"axG\",@progbits,__%s,comdat\n"
           "\t.weak __%s\n\t.hidden __%s\n\t.type __%s, @function\n__%s:\n",
           n, n, n, n, n, n);
}

/// A stand-in for an operator: asks the runtime, which has done it, or (0) has not: then it is the operator's
/// turn, as if it had been called. It may throw: nothing of this is on the stack then.
static bool write_stand_in (const std::string &name)
{
  static const struct
  {
    const char *name, *runtime, *function;
  } all[] = { { "promp_new", "promp_new", "_Znwm" },
              { "promp_new_array", "promp_new", "_Znam" },
              { "promp_delete", "promp_delete", "_ZdlPv" },
              { "promp_delete_sized", "promp_delete", "_ZdlPvm" },
              { "promp_delete_array", "promp_delete", "_ZdaPv" },
              { "promp_delete_array_sized", "promp_delete", "_ZdaPvm" } };
  bool own = name.size () > 4 && !name.compare (name.size () - 4, 4, "_own");
  for (auto &s : all)
    if (s.name + std::string (own ? "_own" : "") == name)
      {
        std::string runtime = std::string (s.runtime) + (own ? "_own" : "");
        const char *r = runtime.c_str (), *n = name.c_str ();
        begin_function (n);
        fprintf (asm_out_file,
                 "\t.cfi_startproc\n"
                 "\tcmpq $0, %s@GOTPCREL(%%rip)\n\tje 1f\n"
                 "\tpushq %%rdi\n\t.cfi_adjust_cfa_offset 8\n"
                 "\tpushq %%rsi\n\t.cfi_adjust_cfa_offset 8\n"
                 "\tsubq $8, %%rsp\n\t.cfi_adjust_cfa_offset 8\n"
                 "\tmovq %s@GOTPCREL(%%rip), %%rsi\n\tcall *%s@GOTPCREL(%%rip)\n"
                 "\taddq $8, %%rsp\n\t.cfi_adjust_cfa_offset -8\n"
                 "\tpopq %%rsi\n\t.cfi_adjust_cfa_offset -8\n"
                 "\tpopq %%rdi\n\t.cfi_adjust_cfa_offset -8\n"
                 "\ttestq %%rax, %%rax\n\tje 1f\n\tret\n"
                 "1:\tjmp *%s@GOTPCREL(%%rip)\n\t.cfi_endproc\n"
                 "\t.size __%s, .-__%s\n\t.weak %s\n",
                 r, s.function, r, s.function, n, n, r);
        return true;
      }
  return false;
}

/// The variable of `thread_variable`, one an object, and what has the runtime set it. Without the runtime it
/// leads to the thread control block, whose third word is not 0: then all that asks is answered by stand-ins.
static void write_thread ()
{
  const char *n = thread_name, *call = "promp_shows_thread";
  fprintf (asm_out_file,
           "\t.section .bss.%s,\"awG\",@nobits,%s,comdat\n\t.balign 8\n"
           "\t.weak %s\n\t.hidden %s\n\t.type %s, @object\n\t.size %s, 8\n%s:\n\t.zero 8\n",
           n, n, n, n, n, n, n);
  begin_function ("promp_enter_thread");
  fprintf (asm_out_file,
           "\tmovq %s@GOTPCREL(%%rip), %%rax\n\ttestq %%rax, %%rax\n\tje 1f\n"
           "\tleaq %s(%%rip), %%rdi\n\tjmp *%%rax\n1:\tret\n"
           "\t.size __promp_enter_thread, .-__promp_enter_thread\n\t.weak %s\n"
           "\t.section .init_array,\"awG\",@init_array,__promp_enter_thread,comdat\n\t.balign 8\n"
           "\t.quad __promp_enter_thread\n",
           call, n, call);
}

void finish_unit ()
{
  if (!asm_out_file)
    return;
  write_proofs ();
  for (const std::string &name : called)
    {
      const char *n = name.c_str ();
      if (write_stand_in (name))
        continue;
      if (is_of_containers (name))
        {
          begin_function (n);
          write_of_containers (name);
          continue;
        }
      // An empty slot is the rule.
      const char *empty = name == "promp_undo_behind" ? "\tcmpq $0, 8(%rsi)\n\tje 1f\n" : "";
      // What it stands for without the runtime.
      const char *adds = "cmpl $8, %esi\n\tje 8f\n\tcmpl $4, %esi\n\tje 4f\n\tcmpl $2, %esi\n\tje 2f\n"
                         "\tlock addb %dl, (%rdi)\n\tret\n2:\tlock addw %dx, (%rdi)\n\tret\n"
                         "4:\tlock addl %edx, (%rdi)\n\tret\n8:\tlock addq %rdx, (%rdi)\n\tret";
      std::string asked = !name.compare (0, 12, "promp_shown_")
                            ? "jmp *omp_get_" + name.substr (12) + "@GOTPCREL(%rip)" : "";
      const char *else_ = !asked.empty () ? asked.c_str ()
                          : name == "promp_add" ? adds
                          : !name.compare (0, 10, "promp_free") ? "jmp *free@GOTPCREL(%rip)"
                          : !name.compare (0, 13, "promp_realloc") ? "jmp *realloc@GOTPCREL(%rip)"
                                                                    : "ret";
      begin_function (n);
      // The runtime sees where this leads (crates/sys/src/arch/code.rs).
      fprintf (asm_out_file,
               "%s\tcmpq $0, %s@GOTPCREL(%%rip)\n\tje 1f\n\tjmp *%s@GOTPCREL(%%rip)\n1:\t%s\n"
               "\t.size __%s, .-__%s\n\t.weak %s\n",
               empty, n, n, else_, n, n, n);
    }
  if (asks_thread)
    write_thread ();
  if (!any_entry)
    return;
  for (int leaving = 0; leaving < 2; leaving++)
    {
      const char *name = leaving ? "__promp_leave" : "__promp_enter";
      const char *call = leaving ? "promp_unregister_segments" : "promp_register_segments";
      fprintf (asm_out_file,
               "\t.section .text.%s,\"axG\",@progbits,%s,comdat\n"
               "\t.weak %s\n\t.hidden %s\n\t.type %s, @function\n"
               "%s:\n"
               "\tmovq %s@GOTPCREL(%%rip), %%rax\n\ttestq %%rax, %%rax\n\tje 1f\n"
               "\tleaq __start_promp_segments(%%rip), %%rdi\n\tleaq __stop_promp_segments(%%rip), %%rsi\n"
               "\tmovq promp_undo@GOTPCREL(%%rip), %%rdx\n"
               "\tjmp *%%rax\n1:\tret\n\t.size %s, .-%s\n"
               "\t.weak %s\n\t.weak promp_undo\n\t.hidden __start_promp_segments\n\t.hidden __stop_promp_segments\n"
               "\t.section .%s_array,\"awG\",@%s_array,%s,comdat\n\t.balign 8\n\t.quad %s\n",
               name, name, name, name, name, name, call, name, name, call, leaving ? "fini" : "init",
               leaving ? "fini" : "init", name, name);
    }
}

} // namespace promp
