// What the runtime joins when the program is loaded (crates/proofs/src/join). Its layout:
// crates/layouts/src/proof_records.rs.

#include "segments/join.h"
#include "segments/assume.h"
#include "memory/heap.h"
#include "segments/inside.h"
#include "memory/summary.h"
#include "segments/split.h"
#include "segments/sites.h"
#include "memory/outside.h"
#include "ssa.h"
#include "output.h"
#include "varasm.h"
#include "cgraph.h"
#include "stringpool.h"
#include "langhooks.h"
#include <map>

namespace promp {

static std::vector<Assumptions> noted;

unsigned note (const Assumptions &a)
{
  noted.push_back (a);
  keep (a.function);
  for (const Actor &x : a.actors)
    {
      keep (x.global);
      keep (x.slot);
    }
  for (const Foreign &f : a.calls)
    {
      keep (f.callee);
      for (const Argument &x : f.arguments)
        if (x.kind == Argument::GLOBAL)
          keep (x.value);
    }
  return noted.size ();
}

std::string label_of (unsigned a) { return ".Lpromp_assumptions" + std::to_string (a); }

namespace {

const char *symbol (tree decl)
{
  const char *name = IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (decl));
  return name + (*name == '*');
}

/// Texts, with the numbers of their labels.
std::map<std::string, unsigned> texts;

void word (HOST_WIDE_INT v) { fprintf (asm_out_file, "\t.long %d\n", (int) v); }

void text (const std::string &t)
{
  unsigned n = texts.insert ({ t, texts.size () }).first->second;
  fprintf (asm_out_file, "\t.long .Lpromp_text%u-.\n", n);
}

/// Does the code of this unit, as it was written, name it?
bool is_named (tree decl) { return TREE_SYMBOL_REFERENCED (DECL_ASSEMBLER_NAME (decl)); }
bool is_written (tree decl) { return TREE_ASM_WRITTEN (decl) != 0; }
bool is_open (tree decl) { return TREE_PUBLIC (decl) || DECL_EXTERNAL (decl); }

void reference (tree decl)
{
  fprintf (asm_out_file, "\t.long %s%s\n", symbol (decl), is_open (decl) ? "@GOTPCREL" : "-.");
}

/// A reference to a variable: its flags, a word.
Touched kind_of (tree variable)
{
  if (DECL_THREAD_LOCAL_P (variable))
    return TOUCHED_THREAD_LOCAL;
  bool there = is_open (variable) ? is_named (variable) : is_written (variable);
  return there ? TOUCHED_VARIABLE : TOUCHED_NOTHING;
}

void variable (tree decl)
{
  if (kind_of (decl) == TOUCHED_VARIABLE)
    reference (decl);
  else
    text (symbol (decl));
}

void call (const Foreign &f)
{
  // Of the C++ library's functions the code calls stand-ins, which name them.
  bool there = is_open (f.callee) ? f.library || is_named (f.callee) : is_written (f.callee);
  if (there)
    reference (f.callee);
  else
    word (0);
  word ((there ? 0 : CALL_GONE) | (is_open (f.callee) ? 0 : CALL_DIRECT) | (f.throws ? CALL_QUIET : 0)
        | (f.must ? CALL_ALWAYS : 0) | (f.library ? CALL_LIBRARY : 0) | (f.result ? CALL_RESULT : 0));
  text (DECL_NAME (f.callee) ? lang_hooks.decl_printable_name (f.callee, 1) : symbol (f.callee));
  tree guard = f.guarded ? word_of (f.callee) : NULL_TREE;
  if (guard && is_written (guard))
    fprintf (asm_out_file, "\t.long %s-.\n", symbol (guard));
  else
    word (0);
  word (f.line);
  word (f.arguments.size ());
  for (const Argument &a : f.arguments)
    {
      bool known = a.kind == Argument::GLOBAL && kind_of (a.value) == TOUCHED_VARIABLE;
      word (a.kind == Argument::GLOBAL && !known ? Argument::ANYTHING : a.kind);
      if (known)
        reference (a.value);
      else
        word (a.parameter);
      word (a.offset);
      word ((a.fixed ? ARGUMENT_FIXED : 0) | (known && is_open (a.value) ? ARGUMENT_BY_TABLE : 0));
    }
}

HOST_WIDE_INT size_of (tree decl)
{
  tree size = DECL_SIZE_UNIT (decl);
  return size && tree_fits_shwi_p (size) && tree_to_shwi (size) <= INT_MAX ? tree_to_shwi (size) : INT_MAX;
}

void section (const char *name, tree fn)
{
  tree group = DECL_COMDAT_GROUP (fn);
  if (group)
    fprintf (asm_out_file, "\t.section %s,\"aoG\",@progbits,%s,%s,comdat\n", name, symbol (fn),
             IDENTIFIER_POINTER (group));
  else
    fprintf (asm_out_file, "\t.section %s,\"ao\",@progbits,%s\n", name, symbol (fn));
  fputs ("\t.balign 4\n", asm_out_file);
}

/// What has a function save what it writes.
struct Needed
{
  int key;
  tree word;
  unsigned bits;
};

/// All of them; false: it does not, or a function that it calls.
bool words_of (const Summary &s, std::vector<Needed> *out)
{
  for (auto &[key, by] : s.saving)
    {
      bool parameter = s.pointers.count (key);
      for (auto &[function, bits] : by)
        {
          if (is_written (function) && !is_saved_inside (function))
            return false;
          tree w = word_inside (function);
          if (w && is_written (w))
            out->push_back ({ parameter ? key : -1, w, bits });
        }
    }
  return true;
}

void touch (const Touch &t)
{
  unsigned flags = (t.write ? TOUCH_WRITES : 0) | (t.fixed ? TOUCH_FIXED : 0)
                   | (t.must ? TOUCH_ALWAYS : 0);
  HOST_WIDE_INT low = t.low, high = t.high;
  if (low < INT_MIN || high > INT_MAX)
    flags &= ~(TOUCH_FIXED | TOUCH_ALWAYS), low = high = 0;
  if (!t.global)
    {
      word (flags | TOUCHED_PARAMETER);
      word (t.parameter);
    }
  else if (kind_of (t.global) == TOUCHED_NOTHING)
    {
      // What the code does not name any more is not touched.
      word (TOUCHED_NOTHING);
      word (0);
    }
  else
    {
      Touched kind = kind_of (t.global);
      if (!t.fixed)
        high = size_of (t.global);
      word (flags | kind | (kind == TOUCHED_VARIABLE && is_open (t.global) ? REFERENCE_BY_TABLE : 0));
      variable (t.global);
    }
  word (low);
  word (high);
}

void summary (tree decl, const Summary &s, unsigned n)
{
  bool more = s.reads_more;
  for (int k : s.reads)
    more = more || !s.pointers.count (k);
  std::vector<Needed> words;
  bool saves = s.saves && words_of (s, &words);
  const std::string &effect = !s.own_effect.empty () || saves ? s.own_effect : s.more_writes;
  section ("promp_summaries", decl);
  fprintf (asm_out_file, "\t.long .Lpromp_function%u-.\n\t.long .Lpromp_summary%u-.\n", n, n);
  fprintf (asm_out_file, "\t.set .Lpromp_function%u,%s\n", n, symbol (decl));
  section (".rodata.promp_summary", decl);
  fprintf (asm_out_file, ".Lpromp_summary%u:\n", n);
  word ((effect.empty () && !s.runtime ? 0 : SUMMARY_OPAQUE) | (s.throws ? SUMMARY_THROWS : 0)
        | (more ? SUMMARY_READS_MORE : 0) | (s.marked.empty () ? 0 : SUMMARY_MARKED)
        | (saves ? SUMMARY_SAVES : 0) | (s.more_writes.empty () ? 0 : SUMMARY_WRITES_MORE)
        | (s.makes ? SUMMARY_MAKES : 0));
  std::string name = lang_hooks.decl_printable_name (decl, 1), prefix = "calls " + name + ", which ";
  std::string does = s.runtime ? "makes calls of the runtime"
                     : !effect.compare (0, prefix.size (), prefix) ? effect.substr (prefix.size ())
                                                                  : effect;
  if (does.empty () && !s.marked.empty ())
    does = !s.marked.compare (0, prefix.size (), prefix) ? s.marked.substr (prefix.size ()) : s.marked;
  text (place_of (DECL_SOURCE_LOCATION (decl)) + ": " + name + ": " + does);
  if (!effect.empty () || s.runtime)
    {
      for (int i = 0; i < 3; i++)
        word (0);
      return;
    }
  word (s.touches.size ());
  word (s.foreign.size ());
  word (words.size ());
  for (const Touch &t : s.touches)
    touch (t);
  for (const Foreign &f : s.foreign)
    call (f);
  for (const Needed &n : words)
    {
      word (n.key);
      fprintf (asm_out_file, "\t.long %s-.\n", symbol (n.word));
      word (n.bits);
    }
}

typedef std::vector<unsigned> Actors;

/// The pairs, with those readers together that have the same writers: there are as many pairs as readers
/// times writers in functions with many calls.
std::vector<std::pair<Actors, Actors>> groups_of (const Assumptions &a)
{
  std::map<unsigned, Actors> writers;
  for (auto &p : a.pairs)
    writers[p.first].push_back (p.second);
  std::map<Actors, size_t> known;
  std::vector<std::pair<Actors, Actors>> all;
  for (auto &[reader, of] : writers)
    {
      auto [at, is_new] = known.insert ({ of, all.size () });
      if (is_new)
        all.push_back ({ {}, of });
      all[at->second].first.push_back (reader);
    }
  return all;
}

void write (const Assumptions &a, unsigned n)
{
  section (".rodata.promp_assumptions", a.function);
  fprintf (asm_out_file, "%s:\n", label_of (n).c_str ());
  word (a.verdict | (a.fenced ? ASSUMPTIONS_FENCED : 0));
  text (a.where);
  const auto groups = groups_of (a);
  word (a.calls.size ());
  word (a.actors.size ());
  word (groups.size ());
  for (const Foreign &f : a.calls)
    call (f);
  for (const Actor &x : a.actors)
    {
      Touched kind = x.global ? kind_of (x.global) : TOUCHED_NOTHING;
      word (x.what.kind | (x.saved ? ACTOR_SAVED : 0) | (kind == TOUCHED_VARIABLE ? ACTOR_VARIABLE : 0)
            | (kind == TOUCHED_THREAD_LOCAL ? ACTOR_THREAD_LOCAL : 0)
            | (kind == TOUCHED_VARIABLE && is_open (x.global) ? REFERENCE_BY_TABLE : 0));
      if (kind != TOUCHED_NOTHING)
        variable (x.global);
      else
        word (x.what.call);
      word (kind != TOUCHED_NOTHING ? size_of (x.global) : x.what.argument);
      word (x.what.bytes > INT_MAX ? INT_MAX : x.what.bytes);
      text (x.name);
      word (x.line);
      if (x.slot && is_written (x.slot))
        fprintf (asm_out_file, "\t.long %s-.\n", symbol (x.slot));
      else
        word (0);
    }
  for (auto &[readers, writers] : groups)
    {
      word (readers.size ());
      word (writers.size ());
      for (unsigned r : readers)
        word (r);
      for (unsigned w : writers)
        word (w);
    }
}

} // namespace

void write_proofs ()
{
  unsigned n = 0;
  for_all_summaries ([&] (tree decl, const Summary &s) {
    if (is_written (decl))
      summary (decl, s, ++n);
  });
  unsigned number = 0;
  for (const Assumptions &a : noted)
    if (++number, is_written (a.function))
      write (a, number);
  if (!texts.empty ())
    fputs ("\t.section .rodata.promp,\"aMS\",@progbits,1\n", asm_out_file);
  for (auto &t : texts)
    {
      fprintf (asm_out_file, ".Lpromp_text%u:\n\t.string \"", t.second);
      for (char c : t.first)
        if (c == '"' || c == '\\')
          fprintf (asm_out_file, "\\%c", c);
        else
          fputc ((unsigned char) c >= ' ' ? c : '?', asm_out_file);
      fputs ("\"\n", asm_out_file);
    }
  if (n == 0 && noted.empty ())
    return;
  for (int leaving = 0; leaving < 2; leaving++)
    {
      const char *name = leaving ? "__promp_leave_proofs" : "__promp_enter_proofs";
      const char *to = leaving ? "promp_unregister_proofs" : "promp_register_proofs";
      const char *array = leaving ? "fini" : "init";
      fprintf (asm_out_file,
               "\t.section .text.%s,\"axG\",@progbits,%s,comdat\n"
               "\t.weak %s\n\t.hidden %s\n\t.type %s, @function\n"
               "%s:\n"
               "\tmovq %s@GOTPCREL(%%rip), %%rax\n\ttestq %%rax, %%rax\n\tje 1f\n"
               "\tmovq __start_promp_summaries@GOTPCREL(%%rip), %%rdi\n"
               "\tmovq __stop_promp_summaries@GOTPCREL(%%rip), %%rsi\n"
               "\tmovq __start_promp_assumptions@GOTPCREL(%%rip), %%rdx\n"
               "\tmovq __stop_promp_assumptions@GOTPCREL(%%rip), %%rcx\n"
               "\tjmp *%%rax\n1:\tret\n\t.size %s, .-%s\n\t.weak %s\n"
               "\t.section .%s_array,\"awG\",@%s_array,%s,comdat\n\t.balign 8\n\t.quad %s\n",
               name, name, name, name, name, name, to, name, name, to, array, array, name, name);
    }
  for (const char *name : { "summaries", "assumptions" })
    for (const char *end : { "start", "stop" })
      fprintf (asm_out_file, "\t.weak __%s_promp_%s\n\t.hidden __%s_promp_%s\n", end, name, end, name);
}

} // namespace promp
