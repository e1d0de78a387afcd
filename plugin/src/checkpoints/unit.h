// What the search for dead memory knows of the unit (unit.cc).
#ifndef PROMP_UNIT_H
#define PROMP_UNIT_H

#include "memory/pointers.h"
#include "memory/whole.h"
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace promp {

/// A function of the unit.
struct Function
{
  function *fn;
  std::set<tree> calls;     ///< functions called, and those of regions
  std::set<unsigned> reads; ///< objects; UNKNOWN: a call of something unknown
  bool calls_unknown = false;
  std::vector<Nest> nests;
  std::map<gimple *, std::vector<Nest *>> shared;    ///< worksharing loops by their start
  std::map<basic_block, std::vector<Nest *>> serial; ///< serial ones by the block that they begin with
  std::vector<gimple *> places;                      ///< calls that say that a checkpoint may be taken
  std::vector<basic_block> heads;                    ///< blocks at whose beginning one may be taken
};

class Unit
{
public:
  /// False: nothing can be said.
  bool survey ();

  /// The function of the unit that `s` comes to, by a call or as a region; null: none.
  Function *called (gimple *s);
  /// Does `s` call something of which nothing is known?
  bool is_unknown_call (gimple *s);
  /// Is there nothing left to be done when it returns? Nobody but the system's start-up code calls it.
  bool ends_program (tree decl);
  bool is_exposed (tree decl) const { return exposed_.count (decl); }
  /// The objects that `s` reads.
  const std::set<unsigned> &reads (gimple *s);
  /// Is there a nest that may write it?
  bool is_written (unsigned object) const { return written_.count (object); }
  /// Blocks that may still be looked at, for all places together.
  unsigned steps = 60000;
  /// Why an object cannot be looked at; null: it can.
  const char *why_not (unsigned object);
  /// Does the function, or what it calls, read one of them, write one of them as a whole, or call something
  /// unknown?
  bool touches (Function &f, const std::set<unsigned> &objects);
  bool calls_unknown (Function &f);

  std::map<tree, Function> functions;
  Pointers pointers;
  /// Statements that may write an object: stores, and calls that write more than what is known to others.
  std::map<unsigned, std::vector<std::pair<Function *, gimple *>>> writers;
  /// Calls of each function.
  std::map<tree, std::vector<std::pair<Function *, gimple *>>> callers;

private:
  struct Mentions;
  bool find_functions (std::map<tree, function *> *bodies);
  bool note_mentions (Mentions *all);
  void find_exposed (const Mentions &mentions);
  void note_accesses (Function &f);
  void look_into (Function &f);
  std::set<Function *> closure (Function &f);

  std::set<tree> exposed_;
  std::unordered_map<gimple *, std::set<unsigned>> reads_;
  std::set<unsigned> written_;
  std::set<unsigned> banned_; ///< objects that functions use which others may call
};

bool is_main (tree decl);

} // namespace promp
#endif
