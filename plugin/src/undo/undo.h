// Saving old values before they are overwritten (undo.cc).
#ifndef PROMP_UNDO_H
#define PROMP_UNDO_H

#include "memory/extent.h"
#include <map>
#include <set>

namespace promp {

class Undo
{
public:
  /// `tells`: the calls say what is written, instead of saving what was there. `word`: a variable; what is
  /// wanted by `want_if` is only saved if it says so.
  Undo (function *fn, Memory &memory, const std::vector<gimple *> &calls, bool tells = false,
        tree word = NULL_TREE);
  /// The old value of what is written must be saved. `cover`: a call, or a write in a filling loop, that
  /// writes a block at the same pointer before, in every segment in which the statement is: what lies in the
  /// block need not be saved. Null: none. `sure`: it has done so on every way from the segment's start.
  /// `meets`: the reads that could see what is written; `once`: the outermost loop around the write is
  /// entered at most once in a segment.
  void want (const Memory::Item &write, gimple *cover, unsigned cover_place, bool sure,
             const std::vector<Memory::Item> &meets, bool once);
  /// The old value is needed if one of these bits of the word is set. What cannot be saved has a mark.
  void want_if (const Memory::Item &write, unsigned bits);
  /// The outermost loop around `stmt` without runtime calls, null: there is none.
  class loop *outermost (gimple *stmt) const;
  /// The loop that writes a block without gaps from its first byte to its last by executing `stmt`; null:
  /// none does.
  class loop *filling_loop (gimple *stmt, unsigned place);
  /// Is saving possible in principle, but too expensive?
  bool is_too_expensive (gimple *stmt) const;
  /// Finds places for the calls, as far outside of loops as the writes are an exact grid of elements.
  void plan ();
  /// Was there a way?
  bool can (gimple *stmt) const;
  /// Is the old value saved whenever the statement is executed?
  bool always_saves (gimple *stmt) const;
  /// Is what is done for the old value done behind `start`, too, whenever the statement is executed there?
  bool saves_behind (gimple *stmt, basic_block start) const;
  /// Inserts the calls.
  void insert ();

private:
  struct Dimension
  {
    tree count, stride;
  };
  struct Plan
  {
    bool possible = false, expensive = false;
    gimple *cover = nullptr;
    bool sure = true;
    bool adds = false; ///< an atomic addition, which is noted
    bool merged = false; ///< these elements are among another one's
    bool refuse = false; ///< cannot be saved: where it meets a read, the segment is not to be executed again
    tree meets = NULL_TREE; ///< may it meet a read of its segment? Null: always
    class loop *around = nullptr; ///< in front of this loop; null: in front of the statement
    tree start = NULL_TREE, size = NULL_TREE;
    std::vector<Dimension> dimensions; ///< innermost first
  };
  Plan plan_for (gimple *stmt, unsigned place) const;
  Plan grid (gimple *stmt, unsigned place, unsigned dimensions) const;
  void block (gimple *cover, tree *base, tree *length);
  void last_block (gimple *cover, tree *base, tree *length);
  void when_segments_start (gimple_seq seq);
  bool own_block (gimple *stmt, unsigned place, Plan &plan) const;
  bool has_call (class loop *) const;
  gimple_stmt_iterator outside (const Plan &p, gimple *stmt);
  gimple_seq saving (gimple *stmt, const Plan &p) const;
  gimple_seq saving_line (gimple *stmt, const Plan &p) const;
  void compute_in_front ();
  void ask_in_front ();
  gimple_stmt_iterator if_wanted (gimple_stmt_iterator i, gimple *stmt);
  void insert (gimple *stmt, const Plan &p, tree condition, tree now = NULL_TREE);
  void save_in_front (class loop *l, const std::vector<gimple *> &stmts, tree condition);
  void put_mark (gimple *stmt, const Plan &p);

  function *fn_;
  Memory &memory_;
  const std::vector<gimple *> calls_;
  bool tells_;
  tree word_;
  tree site_ = NULL_TREE; ///< of what is written outside of loops, if that depends on the word
  struct Wish
  {
    unsigned place;
    gimple *cover;
    bool sure;
    bool once;
    std::vector<Memory::Item> meets;
    unsigned bits = 0; ///< of the word
    bool adds = false; ///< an atomic addition
    bool several = false; ///< it writes other memory, too
  };
  /// Wishes that may meet more reads than this are not looked at for where they do.
  static const unsigned TOO_MANY_READS = 64;
  tree is_set (unsigned bits, class loop *l);
  tree meets (gimple *stmt, const Wish &w);
  void one_by_one (gimple *stmt, const Wish &w, Plan &plan) const;
  class Merger;
  void merge ();
  class Lines;
  void line_up ();

  /// The word in front of a loop, by the loop's number: loaded, and which of its bits are looked at.
  struct Word
  {
    class loop *around;
    tree loaded;
    gimple_seq seq;
    std::map<unsigned, tree> tests;
  };
  std::map<int, Word> words_;
  /// Where accesses can be while a loop is executed, computed in front of it; by the loop's number.
  struct Places
  {
    explicit Places (class loop *l) : around (l), extents (l, &seq) {}
    Places (const Places &) = delete;
    const Extent *of (const Memory::Item &, const Memory &);
    class loop *around;
    gimple_seq seq = nullptr;
    Extents extents;
    std::map<std::pair<unsigned, int>, std::pair<bool, Extent>> all; ///< by place and block
    bool used = false;
  };
  std::map<int, Places> found_;
  /// Elements that are saved together, in front of the first statement that writes some: starts and sizes.
  std::map<gimple *, std::vector<std::pair<tree, tree>>> lines_;
  std::map<gimple *, Wish> wanted_;
  std::map<gimple *, Plan> plans_;
  std::map<std::pair<gimple *, unsigned>, class loop *> filling_; ///< what has been found
  std::map<gimple *, unsigned> fills_; ///< writes in filling loops that cover others, and what they write
  /// A loop that saves. In front of it the runtime is asked, if `any` holds; the answer is in `flag`.
  /// `inside`: some of the calls stand in it, and it has another version without them, or a flag.
  struct Asked
  {
    class loop *around;
    tree site, flag, any;
    bool inside;
    location_t where;
    tree now = NULL_TREE; ///< its flag (versions.h), if it has one instead
  };
  std::vector<Asked> asked_;
  std::map<class loop *, unsigned> bits_; ///< of the word, that loops which save look at
  void refuse (gimple *stmt, const Wish &w, const Plan &p, class loop *l);
  void note_asked (gimple *stmt, const Wish &w, const Plan &p, class loop *l);
  void ask_for (Asked &a);
  tree flag_of (class loop *l) const;
  std::vector<gimple *> save_inside ();
  void make_versions_without ();
  void save_groups (const std::vector<gimple *> &front);
  std::map<gimple *, std::pair<tree, tree>> blocks_; ///< their blocks, once computed
  /// Variables: the block last written in the segment, its length 0 before.
  std::map<gimple *, std::pair<tree, tree>> last_blocks_;
};

/// The load of what `stmt` overwrites, if nothing but arithmetic is between them, else `stmt`: what is
/// inserted in front of an update as a whole leaves it one instruction.
gimple *start_of_update (gimple *stmt);
/// A place on `e` that is only reached if the condition holds, which is seldom.
gimple_stmt_iterator only_if (edge e, tree condition);
/// The condition that a truth value is true.
tree holds (tree t);
/// The edge that leads to `stmt`.
edge in_front_of (gimple *stmt);

} // namespace promp
#endif
