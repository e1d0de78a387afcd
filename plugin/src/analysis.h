// The interface to the Rust side (plugin/analysis/src/ffi.rs has the same declarations).
#ifndef PROMP_ANALYSIS_H
#define PROMP_ANALYSIS_H

#include <stddef.h>
#include <stdint.h>

extern "C" {

struct promp_place { uint32_t object, fixed; int64_t offset, length; };
enum { ACCESS_WRITES = 1, ACCESS_WHOLE = 2, ACCESS_ATOMIC = 4, ACCESS_ADDS = 8 };
/// `fill`: 1 + the access that has filled a block at the same pointer before, on every way; 0: none.
/// `assumed`: not zero: nothing is known of it yet; it counts in `pair` only.
struct promp_access { uint32_t node, place, flags, line, fill, assumed; };
struct promp_effect { const char *what; uint32_t line, node; };
/// A write whose old value must be saved, `outside`: only outside of the block of its fill; and the reads that it may meet.
struct promp_saved { uint32_t write, outside; const uint32_t *meets; size_t count; };
struct promp_segment {
  size_t nodes;
  const uint32_t (*edges)[2]; size_t edge_count;
  const promp_place *places; size_t place_count;
  const promp_access *accesses; size_t access_count;
  const promp_effect *effects; size_t effect_count;
  const uint32_t *asks; size_t ask_count;
  bool (*may_overlap) (void *, uint32_t, uint32_t);
  void (*save) (void *, const struct promp_saved *);
  void (*pair) (void *, uint32_t read, uint32_t write);
  void *context;
};
enum { VERDICT_IDEMPOTENT, VERDICT_UNDO, VERDICT_OPAQUE };
struct promp_verdict { uint32_t verdict, read, write, line; char why[200]; };

/// Calls the segment's `save` for each write whose old value must be saved, and `pair` for each exposed read
/// and write that may meet, at least one of them assumed.
void promp_analysis_decide (const promp_segment *, promp_verdict *);

enum { KIND_NEITHER, KIND_KERNEL, KIND_BACK, KIND_MIXED, KIND_BEGIN, KIND_END };
/// A function's control flow; `whole`: nobody puts marks around its calls.
struct promp_control {
  size_t nodes;
  const uint32_t (*edges)[2]; size_t edge_count;
  const uint8_t *kinds;
  size_t exit;
  bool whole;
  void (*mark) (void *, bool begins, bool inside, const uint32_t *nodes, size_t count);
  void (*wrong) (void *, uint32_t node, const char *why);
  void *context;
};
/// Finds the sections of kernels, or what is wrong with those marked by hand.
uint8_t promp_analysis_sections (const promp_control *);
}
#endif
