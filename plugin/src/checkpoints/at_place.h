// Expressions of functions that are called later, as they are at a place (at_place.cc).
#ifndef PROMP_AT_PLACE_H
#define PROMP_AT_PLACE_H

#include "checkpoints/unit.h"

namespace promp {

/// The calls by which a function was come to, from the place's on.
typedef std::vector<gimple *> Chain;

class AtPlace
{
public:
  /// The place is at the beginning of `bb`, or at `call` in it.
  AtPlace (Unit &unit, Function &f, basic_block bb, gimple *call);

  /// The value that `e`, an expression of the function at the chain's end, will have: computed at the place.
  /// NULL_TREE: it is not known. `inside`: does the chain begin in the place's function, before that
  /// is left? `foreign`: something unknown may have been called before.
  tree value (tree e, const Chain &chain, bool inside, bool foreign);

  Function &function () { return f_; }

private:
  struct Where
  {
    tree decl;
    HOST_WIDE_INT offset;
  };
  tree of (tree e, unsigned depth);
  tree name (tree n, unsigned depth);
  tree load (tree ref, unsigned depth);
  bool locate (tree ref, unsigned depth, Where *out);
  bool locate_pointer (tree p, unsigned depth, Where *out);
  tree passed (tree decl, HOST_WIDE_INT offset, HOST_WIDE_INT size, gimple *region, unsigned depth);
  bool changes (tree decl, HOST_WIDE_INT offset, tree type, gimple *except);
  tree argument (tree parameter, unsigned depth);
  tree function_at (unsigned depth);
  void reach (basic_block bb, gimple *from);

  Unit &unit_;
  Function &f_;
  basic_block bb_;
  gimple *call_;
  std::set<basic_block> reached_; ///< what may be executed from the place on
  std::set<gimple *> behind_;     ///< ... and statements of blocks that begin before it
  const Chain *chain_ = nullptr;
  bool inside_ = false, foreign_ = false;
  unsigned steps_ = 0;
};

} // namespace promp
#endif
