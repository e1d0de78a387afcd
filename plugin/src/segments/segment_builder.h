// From a runtime call to the next ones (segment_builder.cc).
#ifndef PROMP_SEGMENT_BUILDER_H
#define PROMP_SEGMENT_BUILDER_H

#include "memory/memory.h"
#include "segments/segment.h"
#include "segments/split.h"
#include <map>
#include <vector>

namespace promp {

inline unsigned line_of (gimple *stmt) { return LOCATION_LINE (gimple_location (stmt)); }

/// A lasting copy of a text.
inline const char *lasting (const std::string &s) { return ggc_strdup (s.c_str ()); }

/// Makes the segments of a function.
class SegmentBuilder
{
public:
  SegmentBuilder (function *fn, const Split &split, Memory &memory)
      : fn_ (fn), split_ (split), memory_ (memory)
  {
  }

  /// That behind the call `site`; null: from the function's entry.
  Segment segment (gimple *site);
  /// Has every segment that frees by `call` allocated the block itself?
  bool frees_own (gcall *call) const
  {
    auto known = freed_.find (call);
    return known != freed_.end () && known->second;
  }

private:
  uint32_t node (Segment &s, basic_block bb, gimple_stmt_iterator first);
  void statements (Segment &s, uint32_t n);
  void statement (Segment &s, uint32_t n, gimple *stmt);
  void go_on (Segment &s, uint32_t n);
  void effect (Segment &s, uint32_t n, gimple *stmt, const std::string &what);
  void note_frees (Segment &s);
  void forget_new_blocks (Segment &s);
  bool calls_foreign (gimple *stmt);

  function *fn_;
  const Split &split_;
  Memory &memory_;
  std::map<gimple *, Memory::Deed> deeds_;
  std::map<basic_block, uint32_t> index_; ///< nodes of the segment that begin a block
  std::vector<uint32_t> todo_;            ///< nodes that are to be looked at
  std::vector<gcall *> frees_;            ///< of the segment
  std::map<gimple *, bool> freed_;        ///< of all, with what `frees_own` says
};

} // namespace promp
#endif
