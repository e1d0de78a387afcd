// What a statement does to memory that others can see (memory.cc).
#ifndef PROMP_MEMORY_H
#define PROMP_MEMORY_H

#include "promp-plugin.h"
#include "layouts.h"
#include "memory/foreign.h"
#include "tree-affine.h"
#include <map>
#include <set>
#include <string>
#include <vector>

namespace promp {

struct Summary;

/// Numbers the objects and locations of a function.
class Memory
{
public:
  explicit Memory (function *fn);
  ~Memory ();
  Memory (const Memory &) = delete;

  /// An access of a statement.
  struct Item
  {
    gimple *stmt;
    unsigned place, flags;
  };
  /// What a statement does: accesses, or an effect that cannot be repeated (a text, else empty).
  struct Deed
  {
    std::vector<Item> items;
    std::string effect;
    /// The effect is only that it calls these, of which nothing is known yet; the items are what it does
    /// besides.
    std::vector<Foreign> foreign;
  };
  Deed look (gimple *stmt);

  const std::vector<promp_place> &places () const { return places_; }
  /// The expression of a location, NULL_TREE where there is none (memory that a call touches).
  tree expression (unsigned place) const { return expressions_[place]; }
  /// What the object is: a declaration, an SSA name (what it points to), or NULL_TREE: anything.
  tree key (unsigned object) const { return objects_[object]; }
  bool may_overlap (unsigned a, unsigned b) const;
  /// Of what a function writes that saves it by itself: the words and bits to be set for that; null: of
  /// anything else.
  const std::set<std::pair<tree, unsigned>> *saved_by_call (const Item &i) const;
  /// A new location somewhere behind what `a` says; false: private memory, or none.
  bool behind (const Argument &a, unsigned *place);
  /// Does the location start where `pointer` points?
  bool starts_at (unsigned place, tree pointer);
  /// For messages.
  std::string name (unsigned object) const;

private:
  unsigned object (tree key);
  tree root (tree pointer, bool *loaded = nullptr) const;
  bool roots_apart (tree x, tree y) const;
  bool find_overlap (unsigned a, unsigned b) const;
  bool is_reached_by_itself_only (tree parameter) const;
  /// The location's number; ANY_PLACE for private memory, which need not be looked at.
  unsigned place (tree ref);
  void add (Deed &, gimple *, tree ref, unsigned flags);
  void add_pointed (Deed &, gimple *, tree pointer, unsigned flags, tree ref = NULL_TREE);
  void call (Deed &, gcall *);
  bool call_of_builtin (Deed &, gcall *);
  bool call_of_mathematics (Deed &, gcall *);
  void call_summarised (Deed &, gcall *, const Summary &);
  void call_unknown (Deed &, gcall *);
  void written_by (Deed &, gcall *, tree pointer, int key);
  /// Restrict parameters: do they stay in the function?
  mutable std::map<tree, bool> kept_;
  mutable std::map<std::pair<unsigned, unsigned>, bool> overlaps_; ///< what has been found
  bool is_private (tree decl) const;
  bool is_private_pointer (tree pointer) const;
  bool is_private_behind (tree argument) const;

  function *fn_;
  tree omp_data_; ///< the pointer to the region's data block, if the function is an outlined one
  std::vector<tree> objects_; ///< a declaration, an SSA name (what it points to), or NULL_TREE: anything
  std::vector<promp_place> places_;
  std::vector<tree> expressions_;
  std::map<unsigned, int> keys_; ///< of what functions write that save it by themselves: see Summary::saving
  std::map<unsigned, aff_tree> addresses_;
  hash_map<tree, name_expansion *> *expansions_ = nullptr;
};

/// The name of the function that is called, without a leading __builtin_; empty if it is not known.
const char *callee_name (gimple *stmt);
/// Does a name begin so?
inline bool starts_with (const char *s, const char *prefix) { return !strncmp (s, prefix, strlen (prefix)); }
/// One step towards where the pointer `t` comes from: what it is an offset from, a copy or a conversion
/// of, or the variable whose address it is; NULL_TREE: nothing of these.
tree step_back (tree t);
/// Is it a call of the runtime that is a save point?
bool is_save_point (gimple *stmt);
/// Does it execute a region, of which the calling thread is the first?
bool begins_region (gimple *stmt);
/// Is the function one that GCC made of a construct's body?
bool is_outlined (function *fn);

} // namespace promp
#endif
