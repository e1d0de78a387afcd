// In front of a write that is saved by itself those stand, too, that are sure to follow it in its block, if
// it is known there where they go: one condition will do for them. Members of a structure are then one
// element.

#include "undo/undo.h"
#include "undo/polynomial.h"
#include "ssa.h"
#include "cfgloop.h"
#include "fold-const.h"
#include "tree-eh.h"
#include <algorithm>

namespace promp {

/// The writes of a block that are saved in front of the first of them.
class Undo::Lines
{
public:
  typedef std::pair<tree, tree> Element; ///< start and size
  struct Line
  {
    gimple *first;
    int at;
    unsigned bits;
    tree meets;
    bool in_loop;
    std::vector<Element> pieces;
  };

  /// The statements of another block follow.
  void begin (basic_block bb)
  {
    bb_ = bb;
    order_.clear ();
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      order_.insert ({ gsi_stmt (i), order_.size () });
    close ();
  }

  /// Whether control comes back, and when, is not known: what follows has lines of its own.
  void close () { open_ = all.size (); }

  /// `l`, of which `stmt` is the first, unless what `p` needs is known where another one stands.
  void take (Line l, gimple *stmt, Plan &p)
  {
    auto line = std::find_if (all.begin () + open_, all.end (), [&] (const Line &k) {
      return k.bits == l.bits && k.meets == l.meets && is_known (p.start, k.at) && is_known (p.size, k.at);
    });
    p.merged = line != all.end ();
    if (p.merged)
      {
        line->pieces.push_back ({ p.start, p.size });
        return;
      }
    l.at = order_[start_of_update (stmt)];
    l.pieces = { { p.start, p.size } };
    all.push_back (l);
  }

  /// The elements of a line: those that lie side by side are one.
  std::vector<Element> elements (const Line &l)
  {
    std::vector<Piece> pieces;
    for (const Element &p : l.pieces)
      {
        Polynomial start;
        // In loops single elements have a way of their own.
        bool apart = l.in_loop || !algebra_.of (p.first, &start) || !tree_fits_uhwi_p (p.second);
        auto grows = [&] (Piece &q) { return !q.apart && joins (q, start, p); };
        if (apart || std::none_of (pieces.begin (), pieces.end (), grows))
          pieces.push_back ({ apart, start, p });
      }
    std::vector<Element> out;
    for (const Piece &p : pieces)
      out.push_back (p.is);
    return out;
  }

  std::vector<Line> all;

private:
  struct Piece
  {
    bool apart;
    Polynomial at;
    Element is;
  };

  /// Is `p`, which starts at `start`, the same as `q`, or beside it? It is in it then.
  static bool joins (Piece &q, const Polynomial &start, const Element &p)
  {
    Polynomial way = difference (start, q.at), back = difference (q.at, start);
    bool same = way.empty (), behind = way == Polynomial { { {}, tree_to_uhwi (q.is.second) } };
    bool before = back == Polynomial { { {}, tree_to_uhwi (p.second) } };
    if (before)
      q.at = start, q.is.first = p.first;
    if (same)
      q.is.second = size_binop (MAX_EXPR, q.is.second, p.second);
    else if (behind || before)
      q.is.second = size_binop (PLUS_EXPR, q.is.second, p.second);
    return same || behind || before;
  }

  /// Is the expression known in front of the block's statement number `at`?
  bool is_known (tree t, int at) const
  {
    struct Where
    {
      const Lines *lines;
      int at;
    } where = { this, at };
    auto later = [] (tree *t, int *, void *data) -> tree {
      const Where *w = (const Where *) data;
      const auto &order = w->lines->order_;
      gimple *def = TREE_CODE (*t) == SSA_NAME ? SSA_NAME_DEF_STMT (*t) : nullptr;
      auto known = def && gimple_bb (def) == w->lines->bb_ ? order.find (def) : order.end ();
      return known != order.end () && known->second >= w->at ? *t : NULL_TREE;
    };
    return !walk_tree_without_duplicates (&t, later, &where);
  }

  basic_block bb_ = nullptr;
  std::map<gimple *, int> order_;
  size_t open_ = 0;
  Algebra algebra_;
};

void Undo::line_up ()
{
  Lines lines;
  basic_block bb;
  FOR_EACH_BB_FN (bb, fn_)
    {
      lines.begin (bb);
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        {
          gimple *s = gsi_stmt (i);
          auto w = wanted_.find (s);
          Plan *p = w == wanted_.end () ? nullptr : &plans_[s];
          if (p && p->possible && !p->adds && !p->refuse && !p->cover && !p->around)
            {
              tree meets = w->second.bits ? NULL_TREE : p->meets;
              lines.take ({ s, 0, w->second.bits, meets, outermost (s) != nullptr, {} }, s, *p);
            }
          if ((is_gimple_call (s) && gimple_vdef (s)) || gimple_code (s) == GIMPLE_ASM
              || gimple_has_volatile_ops (s) || stmt_could_throw_p (fn_, s))
            lines.close ();
        }
    }
  for (const Lines::Line &l : lines.all)
    if (l.pieces.size () > 1)
      for (const Lines::Element &e : lines.elements (l))
        lines_[l.first].push_back (e);
}

} // namespace promp
