// Functions that save what they write by themselves.
//
// A segment sees what is written in it, and saves that in front of the writes. What the functions write
// that it calls it does not see: behind which structures, how much. So every function without runtime calls
// has the saving in it, as a segment would have, in front of its own writes. It is only executed if a
// *word* of the function says so: there is a bit for what each parameter leads to, and one for all other
// memory. Its bits are set where a segment needs the old values: when the unit is compiled (need_inside),
// for segments and functions of one unit, or by the runtime, before the first region (join.cc), for those
// of several.
//
// So a kernel that is given a structure on its caller's stack, and an array, saves the array only. What
// lies on the thread's own stack the runtime leaves out anyway (promp_undo): it is put back with the stack.
//
// What cannot be saved (its extent is not known) has a mark in front of it: executed with the bit set, the
// work is not executed again. So a summary may promise that a function saves what it writes before its code
// is looked at for that.

#include "segments/inside.h"
#include "memory/outside.h"
#include "segments/split.h"
#include "memory/summary.h"
#include "undo/undo.h"
#include "ssa.h"
#include "cfgloop.h"
#include "tree-scalar-evolution.h"
#include "tree-into-ssa.h"
#include "tree-ssa.h"
#include "stringpool.h"
#include "attribs.h"
#include "cgraph.h"
#include "varasm.h"
#include <map>
#include <set>

namespace promp {

/// Parameters with bits of their own.
static const int PARAMETERS = 30;

unsigned bit_of (int parameter) { return parameter >= 0 && parameter < PARAMETERS ? 2u << parameter : 1; }

bool saves_inside (function *fn)
{
  // A vector version of the function, made of it later, would not.
  return gets_marks (fn) && !lookup_attribute ("omp declare simd", DECL_ATTRIBUTES (fn->decl));
}

static std::map<tree, tree> words;
static std::set<tree> done;

static tree word (tree decl)
{
  auto known = words.find (decl);
  if (known != words.end ())
    return known->second;
  keep (decl);
  std::string name = "promp_inside." + std::to_string (words.size ());
  tree v = build_decl (UNKNOWN_LOCATION, VAR_DECL, get_identifier (name.c_str ()), unsigned_type_node);
  TREE_STATIC (v) = TREE_USED (v) = TREE_ADDRESSABLE (v) = 1;
  DECL_ARTIFICIAL (v) = DECL_IGNORED_P (v) = DECL_PRESERVE_P (v) = 1;
  DECL_INITIAL (v) = build_zero_cst (unsigned_type_node);
  varpool_node::finalize_decl (v);
  keep (v);
  return words[decl] = v;
}

tree word_inside (tree decl)
{
  auto known = words.find (decl);
  return known == words.end () ? NULL_TREE : known->second;
}

void need_inside (tree decl, unsigned bits)
{
  // Variables are written when all functions have been.
  tree v = word (decl);
  DECL_INITIAL (v) = build_int_cst (unsigned_type_node, tree_to_uhwi (DECL_INITIAL (v)) | bits);
}

bool is_saved_inside (tree decl) { return done.count (decl); }

void save_inside (function *fn)
{
  basic_block bb;
  std::vector<std::pair<Memory::Item, unsigned>> writes;
  Memory memory (fn);
  FOR_EACH_BB_FN (bb, fn)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      {
        // Functions that are called save what they write themselves.
        for (const Memory::Item &a : memory.look (gsi_stmt (i)).items)
          if ((a.flags & ACCESS_WRITES) && !(a.flags & ACCESS_ATOMIC) && !memory.saved_by_call (a))
            if (unsigned bits = bits_of_write (fn, memory, a))
              writes.push_back ({ a, bits });
      }
  done.insert (fn->decl);
  if (writes.empty ())
    return;
  loop_optimizer_init (LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
  scev_initialize ();
  Undo undo (fn, memory, {}, false, word (fn->decl));
  for (auto &w : writes)
    undo.want_if (w.first, w.second);
  undo.plan ();
  undo.insert ();
  scev_finalize ();
  loop_optimizer_finalize ();
  mark_virtual_operands_for_renaming (fn);
  update_ssa (TODO_update_ssa);
}

} // namespace promp
