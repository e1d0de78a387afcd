// Savings in front of the same loop, of grids that are alike, are one saving: of the members of a structure,
// which lie side by side, and of rows at equal distances (the parts of an FFT's butterfly).

#include "undo/undo.h"
#include "undo/polynomial.h"
#include "ssa.h"
#include "cfgloop.h"
#include "fold-const.h"
#include "gimplify.h"
#include "tree-eh.h"
#include <algorithm>

namespace promp {
namespace {

/// What is added where the number of executions is not known: no log can hold it, nor must a product of it
/// wrap.
bool may_be_without_bound (tree count)
{
  auto look = [] (tree *t, int *, void *) -> tree {
    bool large = TREE_CODE (*t) == INTEGER_CST && wi::gtu_p (wi::to_wide (*t), HOST_WIDE_INT_1U << 40);
    return large ? *t : NULL_TREE;
  };
  return walk_tree_without_duplicates (&count, look, nullptr) != NULL_TREE;
}

} // namespace

/// Grids, and where they start.
class Undo::Merger
{
public:
  static const size_t TOO_MANY = 100, AT_ONCE = 32;
  struct Candidate
  {
    Plan *plan;
    unsigned bits;
    Polynomial start;
  };
  typedef std::map<Polynomial, Plan *> Rows;

  /// A plan that may be merged with others.
  void take (Plan &p, unsigned bits)
  {
    Candidate c = { &p, bits, {} };
    if (all_.size () < TOO_MANY && algebra_.of (p.start, &c.start))
      all_.push_back (c);
  }

  /// Side by side: the second's elements are then the end of the first's. The same elements: saved once.
  void merge_neighbours ()
  {
    for (bool again = true; again;)
      {
        again = false;
        for (Candidate &a : all_)
          for (Candidate &b : all_)
            again = extends (a, b) || again;
      }
    auto gone = [] (const Candidate &c) { return c.plan->merged; };
    all_.erase (std::remove_if (all_.begin (), all_.end (), gone), all_.end ());
  }

  /// Rows at equal distances; two are always that.
  void merge_rows ()
  {
    while (all_.size () > 1)
      {
        Rows rows;
        const Candidate first = all_.back ();
        auto fits = [&] (const Candidate &c) {
          return rows.size () < AT_ONCE && alike (c, first)
                 && operand_equal_p (c.plan->size, first.plan->size, 0)
                 && rows.insert ({ c.start, c.plan }).second;
        };
        all_.erase (std::remove_if (all_.begin (), all_.end (), fits), all_.end ());
        // A grid has two dimensions. One without gaps makes longer elements.
        const Plan f = *first.plan;
        bool whole = f.dimensions.size () == 2;
        if (whole && (!operand_equal_p (f.dimensions[0].stride, f.size, 0)
                      || may_be_without_bound (f.dimensions[0].count)))
          continue;
        while (rows.size () > 1 && merge_longest (rows, f, whole))
          continue;
      }
  }

private:
  static bool alike (const Candidate &a, const Candidate &b)
  {
    const Plan &p = *a.plan, &q = *b.plan;
    bool same = p.around == q.around && p.dimensions.size () == q.dimensions.size () && a.bits == b.bits;
    for (size_t i = 0; same && i < p.dimensions.size (); i++)
      same = operand_equal_p (p.dimensions[i].count, q.dimensions[i].count, 0)
             && operand_equal_p (p.dimensions[i].stride, q.dimensions[i].stride, 0);
    return same;
  }

  /// Does `b`'s grid make `a`'s longer? It is merged then, as one that is the same is.
  static bool extends (Candidate &a, Candidate &b)
  {
    Plan &p = *a.plan, &q = *b.plan;
    if (&p == &q || p.merged || q.merged || !alike (a, b))
      return false;
    Polynomial way = difference (b.start, a.start);
    bool same = way.empty () && operand_equal_p (p.size, q.size, 0);
    bool behind = !same && way == Polynomial { { {}, tree_to_uhwi (p.size) } };
    q.merged = same || behind;
    if (behind)
      p.size = size_binop (PLUS_EXPR, p.size, q.size);
    return behind;
  }

  /// The longest of the rows at one distance: their first, the distance, their number.
  static size_t longest (const Rows &rows, Polynomial *head, Polynomial *way)
  {
    size_t length = 0;
    for (auto &a : rows)
      for (auto &b : rows)
        {
          Polynomial d = difference (b.first, a.first), at = b.first;
          size_t n = 1;
          if (a.second == b.second || rows.count (difference (a.first, d)))
            continue;
          for (; n < rows.size () && rows.count (at); n++)
            add (at, d, 1);
          if (n > length)
            *head = a.first, *way = d, length = n;
        }
    return length;
  }

  /// They become one, of the rows' plan `f`. False: there are none.
  bool merge_longest (Rows &rows, const Plan &f, bool whole)
  {
    Polynomial head, way;
    size_t length = longest (rows, &head, &way);
    if (length < 2)
      return false;
    Plan &p = *rows[head];
    if (whole)
      {
        tree count = fold_convert (sizetype, f.dimensions[0].count);
        p.size = fold_build2 (MULT_EXPR, sizetype, f.size, count);
        p.dimensions.erase (p.dimensions.begin ());
      }
    p.dimensions.push_back ({ size_int (length), algebra_.expression (way) });
    for (size_t n = 0; n < length; n++)
      {
        rows[head]->merged = n > 0;
        rows.erase (head);
        add (head, way, 1);
      }
    return true;
  }

  std::vector<Candidate> all_;
  Algebra algebra_;
};

void Undo::merge ()
{
  Merger merger;
  for (auto &w : wanted_)
    {
      Plan &p = plans_[w.first];
      bool fits = p.possible && !p.refuse && !p.cover && p.around && !p.dimensions.empty ();
      if (fits && (!p.meets || w.second.bits))
        merger.take (p, w.second.bits);
    }
  merger.merge_neighbours ();
  merger.merge_rows ();
}

} // namespace promp
