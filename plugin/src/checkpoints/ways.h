// What becomes of memory from a place on (ways.cc).
#ifndef PROMP_WAYS_H
#define PROMP_WAYS_H

#include "checkpoints/at_place.h"
#include <string>

namespace promp {

/// A nest that writes as a whole, in terms of the place.
struct Kill
{
  Nest *nest;
  tree start; ///< the first byte
  std::vector<std::pair<tree, tree>> levels;
};

/// Follows all ways from a place, for objects that are looked at as one.
class Ways
{
public:
  Ways (Unit &unit, AtPlace &place, const std::set<unsigned> &objects)
      : unit_ (unit), place_ (place), objects_ (objects)
  {
  }

  /// Why they are live; empty: what all of `kills` write is dead.
  std::string follow (basic_block bb, gimple *from);

  std::vector<Kill> kills;

private:
  /// On a way: not written yet; written, but perhaps not by all threads. Something unknown has been called.
  enum State : unsigned
  {
    UNWRITTEN = 0,
    PENDING = 1,
    FOREIGN = 2
  };
  struct Fate
  {
    std::string why;         ///< it is read before it has been written; empty: it is not
    std::set<unsigned> left; ///< states in which the function can be left
  };
  Fate within (Function &f, basic_block bb, gimple *from, unsigned state);
  Fate call (Function &f, unsigned state);
  bool comes_back (gimple *s, Function &g, unsigned *state, Fate *fate);
  template <class Go>
  void block (Function &f, basic_block bb, gimple_stmt_iterator i, unsigned state, Go &go, Fate *fate);
  bool kill (const std::vector<Nest *> &nests, unsigned state);
  bool reads (gimple *s);
  bool only_writes (const Nest &n);
  Targets of (tree pointer, unsigned depth);
  Targets at (tree ref, unsigned depth);

  Unit &unit_;
  AtPlace &place_;
  std::set<unsigned> objects_;
  Chain chain_;
  bool inside_ = true; ///< the place's function has not been left
  std::map<std::pair<Chain, std::pair<tree, unsigned>>, Fate> fates_;
  std::map<std::pair<Nest *, std::pair<Chain, unsigned>>, bool> tried_;
  unsigned steps_ = 0;
};

} // namespace promp
#endif
