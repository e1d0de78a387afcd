// Where the pointers of a unit lead (pointers.cc).
#ifndef PROMP_POINTERS_H
#define PROMP_POINTERS_H

#include "promp-plugin.h"
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace promp {

/// Memory: a variable, or what an allocation returns, all of its blocks together.
struct Object
{
  tree decl;     ///< or NULL_TREE
  gimple *site;  ///< the allocation
  tree function; ///< ... and where it is
};

/// Somewhere in an object: offset in bytes.
typedef std::pair<unsigned, HOST_WIDE_INT> Target;
/// Where a pointer may lead.
typedef std::set<Target> Targets;
/// The object that stands for all that others may use, too.
const unsigned UNKNOWN = 0;
/// The offset that stands for all.
const HOST_WIDE_INT ANYWHERE = -1;

class Pointers
{
public:
  /// Looks at all of the unit. `exposed`: may others call the function? False: too much, nothing is known.
  bool solve (const std::map<tree, function *> &functions, const std::set<tree> &exposed);

  /// Where the pointer `value` may lead.
  Targets of (tree value);
  /// What the memory that `ref` means may be.
  Targets at (tree ref);
  /// Where a pointer may lead that is so far from `t`; NULL_TREE: anywhere.
  Targets moved (const Targets &t, tree by);
  /// What pointers in memory may lead to.
  Targets contents (const Targets &where, HOST_WIDE_INT size);
  /// Objects that a statement reads and writes. With UNKNOWN: any that are known to others.
  void accesses (gimple *s, std::set<unsigned> *read, std::set<unsigned> *written);
  /// May others use it?
  bool is_known_to_others (unsigned object) const { return object == UNKNOWN || objects_[object].escaped; }
  const Object &object (unsigned o) const { return objects_[o].is; }
  unsigned count () const { return objects_.size (); }
  unsigned number_of (tree decl) const;
  /// Objects that one can come to from `object`, itself among them.
  std::set<unsigned> reached_from (unsigned object);
  /// Objects that pointers in memory may lead to.
  std::set<unsigned> in_memory () const;
  /// Is `decl` a function of the unit that a call surely comes to?
  bool is_known (tree decl) const { return known_.count (decl); }
  /// The name for messages.
  std::string name (unsigned object) const;

private:
  struct State
  {
    Object is;
    bool escaped = false;
    std::map<HOST_WIDE_INT, Targets> slots;
  };
  /// Bytes, or ANYWHERE.
  static HOST_WIDE_INT size_of (tree type);
  /// Puts `what` into `to`; true: something is new.
  static bool merge (Targets &to, const Targets &what);
  unsigned object_of (tree decl);
  void add (Targets &to, const Targets &what);
  void into (tree name, const Targets &what);
  void store (const Targets &where, const Targets &what);
  void copy (const Targets &to, const Targets &from, HOST_WIDE_INT size);
  void escape (const Targets &t);
  void statement (tree fn, gimple *s);
  void assignment (gimple *s);
  void single (tree lhs, tree rhs);
  void call (tree fn, gcall *c);
  void call_known (gcall *c, tree decl);
  void call_unknown (gcall *c, tree decl);
  void result (gcall *c, const Targets &t);
  void parameter (tree callee, unsigned i, const Targets &t);
  unsigned allocated_by (gcall *c, tree fn);
  void move (tree to, tree from);
  bool is_of_pointers (tree value, std::set<tree> &seen);

  std::vector<State> objects_;
  std::map<tree, unsigned> numbers_; ///< of variables
  std::map<gimple *, unsigned> sites_;
  std::map<tree, Targets> names_; ///< of SSA names
  std::map<tree, Targets> returned_;
  std::set<tree> known_, exposed_;
  bool changed_ = false, too_much_ = false;
};

/// The function that a region executes; NULL_TREE: `s` is no such call.
tree region_of (gimple *s);
/// A call that keeps no pointer that it is given, and writes nothing but numbers.
bool keeps_nothing (gimple *s);
/// No memory, but a value (GCC's own test needs a current function).
bool is_value (tree t);
/// A call whose arguments are numbers.
bool is_of_numbers (gimple *s);
/// Does it allocate a new block?
bool is_allocation (gimple *s);

} // namespace promp
#endif
