// Verdicts with assumptions.
//
// A segment that calls functions of other units is looked at as if they did everything that they could do
// with what they are given: for each argument that is a pointer they may read what it leads to, and write
// it; and they may read and write anything else. None of this takes part in the verdict. What would be
// wrong if it happened is kept as pairs, a read and a write that may meet, at least one of them a
// function's. The runtime knows which functions are called when the program is loaded, and what they do
// (join.cc): a pair of which both happen needs the written value saved, or the segment is opaque.
//
// A read through an argument is covered if the segment has written the location before: then only what the
// function reads beyond it counts.

#include "segments/assume.h"
#include "segments/join.h"
#include "segments/tables.h"
#include "stringpool.h"
#include "cgraph.h"
#include "ssa.h"
#include "cfghooks.h"

namespace promp {

/// A location that starts where `pointer` points and that a statement which comes before `stmt` on every
/// way writes, with its size.
static bool written_before (Memory &memory, const Segment &s, tree pointer, gimple *stmt, unsigned *place,
                            HOST_WIDE_INT *bytes)
{
  *bytes = 0;
  for (size_t i = 0; i < s.accesses.size (); i++)
    {
      const promp_access &x = s.accesses[i];
      tree ref = x.assumed || !(x.flags & ACCESS_WHOLE) ? NULL_TREE : memory.expression (x.place);
      tree size = ref ? TYPE_SIZE_UNIT (TREE_TYPE (ref)) : NULL_TREE;
      if (!size || !tree_fits_shwi_p (size) || tree_to_shwi (size) <= *bytes
          || !dominated_by_p (CDI_DOMINATORS, gimple_bb (stmt), gimple_bb (s.statements[i]))
          || !memory.starts_at (x.place, pointer))
        continue;
      *bytes = tree_to_shwi (size);
      *place = x.place;
    }
  return *bytes > 0;
}

void assume (Segment &s, uint32_t node, gimple *stmt, const std::vector<Foreign> &calls, Memory &memory)
{
  unsigned line = LOCATION_LINE (gimple_location (stmt));
  auto access = [&] (unsigned place, unsigned flags, Assumed what) {
    s.assumed.push_back (what);
    s.accesses.push_back ({ node, place, flags, line, 0, (uint32_t) s.assumed.size () });
    s.statements.push_back (stmt);
  };
  Argument anything;
  anything.kind = Argument::ANYTHING;
  for (const Foreign &f : calls)
    {
      unsigned call = s.foreign.size (), place;
      s.foreign.push_back (f);
      for (unsigned k = 0; k < f.arguments.size (); k++)
        {
          const Argument &a = f.arguments[k];
          unsigned covered;
          HOST_WIDE_INT bytes = 0;
          if (a.kind == Argument::POINTER && a.fixed && a.offset == 0
              && written_before (memory, s, a.value, stmt, &covered, &bytes))
            access (covered, 0, { Assumed::READS, call, k, 0, NULL_TREE });
          if (memory.behind (a, &place))
            access (place, 0, { Assumed::READS, call, k, bytes, NULL_TREE });
          if (memory.behind (a, &place))
            access (place, ACCESS_WRITES, { Assumed::WRITES, call, k, 0, NULL_TREE });
        }
      if (memory.behind (anything, &place))
        access (place, 0, { Assumed::READS_ELSEWHERE, call, 0, 0, NULL_TREE });
      if (memory.behind (anything, &place))
        access (place, ACCESS_WRITES, { Assumed::WRITES_ELSEWHERE, call, 0, 0, NULL_TREE });
    }
}

/// A variable for what is to be saved in front of `call` behind `pointer`, and the call that does it.
static tree new_slot (gimple *call, tree pointer)
{
  static unsigned number;
  tree type = build_array_type_nelts (long_integer_type_node, 2);
  std::string name = "promp_slot." + std::to_string (number++);
  tree slot = build_decl (gimple_location (call), VAR_DECL, get_identifier (name.c_str ()), type);
  TREE_STATIC (slot) = TREE_USED (slot) = TREE_ADDRESSABLE (slot) = 1;
  DECL_ARTIFICIAL (slot) = DECL_IGNORED_P (slot) = DECL_PRESERVE_P (slot) = 1;
  varpool_node::finalize_decl (slot);
  gimple_stmt_iterator i = gsi_for_stmt (call);
  gcall *save = gimple_build_call (saving_function (), 2, pointer, build_fold_addr_expr (slot));
  gimple_set_location (save, gimple_location (call));
  gsi_insert_before (&i, save, GSI_SAME_STMT);
  return slot;
}

void save_in_front (Segment &s)
{
  // One for each call and argument, in whichever segments they are.
  static std::map<std::pair<gimple *, tree>, tree> slots;
  static tree function;
  if (function != current_function_decl)
    slots.clear ();
  function = current_function_decl;
  for (auto &p : s.pairs)
    {
      const promp_access &x = s.accesses[p.second];
      if (!x.assumed || s.assumed[x.assumed - 1].kind != Assumed::WRITES)
        continue;
      Assumed &what = s.assumed[x.assumed - 1];
      const Foreign &f = s.foreign[what.call];
      const Argument &a = f.arguments[what.argument];
      if (what.slot || a.kind != Argument::POINTER || !a.fixed || a.offset != 0 || !f.must)
        continue;
      auto known = slots.insert ({ { s.statements[p.second], a.value }, NULL_TREE });
      if (known.second)
        known.first->second = new_slot (s.statements[p.second], a.value);
      what.slot = known.first->second;
    }
}

unsigned assumptions (const Segment &s, const Memory &memory, const Undo &undo, function *fn,
                      const std::string &where)
{
  Assumptions a;
  a.function = fn->decl;
  a.where = where;
  a.verdict = s.verdict.verdict;
  a.fenced = s.fenced;
  a.calls = s.foreign;
  std::map<std::pair<tree, bool>, unsigned> variables;
  std::map<uint32_t, unsigned> known;
  std::map<std::string, unsigned> others;
  auto actor = [&] (uint32_t access, bool write) -> unsigned {
    auto k = known.find (access);
    if (k != known.end ())
      return k->second;
    const promp_access &x = s.accesses[access];
    Actor r;
    r.line = x.line;
    if (x.assumed)
      r.what = s.assumed[x.assumed - 1];
    else
      r.what.kind = Assumed::LOCAL;
    r.slot = r.what.slot;
    unsigned object = memory.places ()[x.place].object;
    tree key = memory.key (object);
    r.name = memory.name (object);
    if (!x.assumed && key && VAR_P (key) && is_global_var (key))
      r.global = key;
    r.saved = !x.assumed && write
              && (undo.always_saves (s.statements[access])
                  || memory.saved_by_call ({ s.statements[access], x.place, x.flags }));
    // One for all that are alike.
    std::string alike;
    for (unsigned n : { (unsigned) r.what.kind, r.what.call, r.what.argument, object, (unsigned) r.saved })
      alike += std::to_string (n) + " ";
    alike += std::to_string (r.what.bytes) + (r.slot ? IDENTIFIER_POINTER (DECL_NAME (r.slot)) : "");
    auto o = others.find (alike);
    if (o == others.end ())
      {
        a.actors.push_back (r);
        o = others.insert ({ alike, a.actors.size () - 1 }).first;
      }
    return known[access] = o->second;
  };
  for (auto &p : s.pairs)
    a.pairs.insert ({ actor (p.first, false), actor (p.second, true) });
  return note (a);
}

} // namespace promp
