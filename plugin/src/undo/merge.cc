// Savings in front of the same loop, of grids that are alike, are one saving: of the members of a structure,
// which lie side by side, and of rows at equal distances (the parts of an FFT's butterfly).
//
// Distances are found by algebra: an address is a polynomial of values that are known in front of the loop,
// modulo its width. What an SSA name is computed from has, wherever the name is known, the values that it was
// computed from: each of its definitions dominates it.

#include "undo/undo.h"
#include "ssa.h"
#include "cfgloop.h"
#include "fold-const.h"
#include "gimplify.h"
#include "tree-eh.h"
#include <algorithm>
#include <cstdint>
#include <tuple>

namespace promp {
namespace {

/// A sum of products of values, by their numbers, with factors.
typedef std::map<std::vector<unsigned>, uint64_t> Polynomial;

void add (Polynomial &to, const Polynomial &p, uint64_t factor)
{
  for (auto &t : p)
    if ((to[t.first] += factor * t.second) == 0)
      to.erase (t.first);
}

Polynomial difference (const Polynomial &a, const Polynomial &b)
{
  Polynomial r = a;
  add (r, b, -uint64_t (1));
  return r;
}

class Algebra
{
public:
  /// False: it has too many terms.
  bool of (tree expr, Polynomial *out)
  {
    budget_ = 200;
    return find (expr, out);
  }

  /// As an expression of type sizetype.
  tree expression (const Polynomial &p) const
  {
    tree all = size_zero_node;
    for (auto &t : p)
      {
        tree product = build_int_cst (sizetype, t.second);
        for (unsigned v : t.first)
          product = fold_build2 (MULT_EXPR, sizetype, product,
                                 fold_convert (sizetype, unshare_expr (values_[v])));
        all = fold_build2 (PLUS_EXPR, sizetype, all, product);
      }
    return all;
  }

private:
  static bool is_wide (tree type)
  {
    return (INTEGRAL_TYPE_P (type) || POINTER_TYPE_P (type))
           && TYPE_PRECISION (type) == TYPE_PRECISION (sizetype);
  }

  /// Does arithmetic in this type give the same modulo the width of addresses?
  static bool is_exact (tree type)
  {
    return is_wide (type)
           || (INTEGRAL_TYPE_P (type) && !TYPE_UNSIGNED (type) && TYPE_OVERFLOW_UNDEFINED (type));
  }

  bool value (tree v, Polynomial *out)
  {
    if (TREE_CODE (v) == SSA_NAME && SSA_NAME_OCCURS_IN_ABNORMAL_PHI (v))
      return false;
    unsigned n = 0;
    while (n < values_.size () && !operand_equal_p (values_[n], v, 0))
      n++;
    if (n == values_.size ())
      values_.push_back (v);
    *out = { { { n }, 1 } };
    return true;
  }

  bool find (tree t, Polynomial *out)
  {
    const size_t too_many = 24;
    if (!budget_ || !--budget_)
      return false;
    if (TREE_CODE (t) == INTEGER_CST)
      {
        *out = {};
        if (uint64_t n = TREE_INT_CST_LOW (t))
          out->insert ({ {}, n });
        return TREE_INT_CST_NUNITS (t) == 1 || is_wide (TREE_TYPE (t));
      }
    gassign *def = TREE_CODE (t) == SSA_NAME ? dyn_cast<gassign *> (SSA_NAME_DEF_STMT (t)) : nullptr;
    if (TREE_CODE (t) == SSA_NAME ? !def || gimple_assign_load_p (def) : !EXPR_P (t))
      return value (t, out);
    enum tree_code code = def ? gimple_assign_rhs_code (def) : TREE_CODE (t);
    tree a = def ? gimple_assign_rhs1 (def) : TREE_OPERAND (t, 0);
    tree b = def ? gimple_assign_rhs2 (def) : TREE_OPERAND_LENGTH (t) > 1 ? TREE_OPERAND (t, 1) : NULL_TREE;
    Polynomial x, y;
    switch (code)
      {
      case PLUS_EXPR:
      case POINTER_PLUS_EXPR:
      case MINUS_EXPR:
        if (!is_exact (TREE_TYPE (t)))
          return value (t, out);
        if (!find (a, out) || !find (b, &y))
          return false;
        add (*out, y, code == MINUS_EXPR ? -uint64_t (1) : 1);
        return out->size () <= too_many;
      case MULT_EXPR:
        if (!is_exact (TREE_TYPE (t)))
          return value (t, out);
        if (!find (a, &x) || !find (b, &y) || x.size () * y.size () > too_many)
          return false;
        *out = {};
        for (auto &i : x)
          for (auto &j : y)
            {
              std::vector<unsigned> both = i.first;
              both.insert (both.end (), j.first.begin (), j.first.end ());
              std::sort (both.begin (), both.end ());
              add (*out, { { both, j.second } }, i.second);
            }
        return true;
      case LSHIFT_EXPR:
        if (!is_wide (TREE_TYPE (t)) || !tree_fits_uhwi_p (b) || tree_to_uhwi (b) > 31)
          return value (t, out);
        if (!find (a, &x))
          return false;
        *out = {};
        add (*out, x, uint64_t (1) << tree_to_uhwi (b));
        return true;
      case NEGATE_EXPR:
        if (!is_exact (TREE_TYPE (t)))
          return value (t, out);
        if (!find (a, &x))
          return false;
        *out = {};
        add (*out, x, -uint64_t (1));
        return true;
      case SSA_NAME:
        return find (a, out);
      CASE_CONVERT:
        {
          tree from = TREE_TYPE (a), to = TREE_TYPE (t);
          bool wider = INTEGRAL_TYPE_P (from) && TYPE_PRECISION (from) < TYPE_PRECISION (to);
          if (is_wide (to) && (is_wide (from) || wider))
            // Of what may wrap in the narrow type the value as a whole.
            return is_exact (from) || TREE_CODE (a) == INTEGER_CST ? find (a, out) : value (a, out);
          return value (t, out);
        }
      default:
        return value (t, out);
      }
  }

  std::vector<tree> values_;
  unsigned budget_ = 0;
};

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

void Undo::merge ()
{
  const size_t too_many = 100, at_once = 32;
  struct Candidate
  {
    Plan *plan;
    unsigned bits;
    Polynomial start;
  };
  std::vector<Candidate> all;
  Algebra algebra;
  for (auto &w : wanted_)
    {
      Plan &p = plans_[w.first];
      bool fits = p.possible && !p.refuse && !p.cover && p.around && !p.dimensions.empty ();
      if (!fits || (p.meets && !w.second.bits) || all.size () == too_many)
        continue;
      Candidate c = { &p, w.second.bits, {} };
      if (algebra.of (p.start, &c.start))
        all.push_back (c);
    }
  auto alike = [] (const Candidate &a, const Candidate &b) {
    const Plan &p = *a.plan, &q = *b.plan;
    bool same = p.around == q.around && p.dimensions.size () == q.dimensions.size () && a.bits == b.bits;
    for (size_t i = 0; same && i < p.dimensions.size (); i++)
      same = operand_equal_p (p.dimensions[i].count, q.dimensions[i].count, 0)
             && operand_equal_p (p.dimensions[i].stride, q.dimensions[i].stride, 0);
    return same;
  };
  // Side by side: the second's elements are then the end of the first's. The same elements: saved once.
  for (bool again = true; again;)
    {
      again = false;
      for (Candidate &a : all)
        for (Candidate &b : all)
          {
            Plan &p = *a.plan, &q = *b.plan;
            if (&p == &q || p.merged || q.merged || !alike (a, b))
              continue;
            Polynomial way = difference (b.start, a.start);
            if (way.empty () && operand_equal_p (p.size, q.size, 0))
              q.merged = true;
            else if (way == Polynomial { { {}, tree_to_uhwi (p.size) } })
              {
                p.size = size_binop (PLUS_EXPR, p.size, q.size);
                q.merged = again = true;
              }
          }
    }
  auto gone = [] (const Candidate &c) { return c.plan->merged; };
  all.erase (std::remove_if (all.begin (), all.end (), gone), all.end ());
  // Rows at equal distances; two are always that.
  while (all.size () > 1)
    {
      std::map<Polynomial, Plan *> rows;
      const Candidate first = all.back ();
      auto fits = [&] (const Candidate &c) {
        return rows.size () < at_once && alike (c, first)
               && operand_equal_p (c.plan->size, first.plan->size, 0)
               && rows.insert ({ c.start, c.plan }).second;
      };
      all.erase (std::remove_if (all.begin (), all.end (), fits), all.end ());
      // A grid has two dimensions. One without gaps makes longer elements.
      const Plan f = *first.plan;
      bool whole = f.dimensions.size () == 2;
      if (whole && (!operand_equal_p (f.dimensions[0].stride, f.size, 0)
                    || may_be_without_bound (f.dimensions[0].count)))
        continue;
      while (rows.size () > 1)
        {
          Polynomial head, way;
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
                  head = a.first, way = d, length = n;
              }
          if (length < 2)
            break;
          Plan &p = *rows[head];
          if (whole)
            {
              tree count = fold_convert (sizetype, f.dimensions[0].count);
              p.size = fold_build2 (MULT_EXPR, sizetype, f.size, count);
              p.dimensions.erase (p.dimensions.begin ());
            }
          p.dimensions.push_back ({ size_int (length), algebra.expression (way) });
          for (size_t n = 0; n < length; n++)
            {
              rows[head]->merged = n > 0;
              rows.erase (head);
              add (head, way, 1);
            }
        }
    }
}

/// In front of a write saved by itself those stand, too, that are sure to follow it in its block, if it is
/// known there where they go: one condition will do for them. Members of a structure are then one element.
void Undo::line_up ()
{
  struct Line
  {
    gimple *first;
    int at;
    unsigned bits;
    tree meets;
    bool in_loop;
    std::vector<std::pair<tree, tree>> pieces;
  };
  std::vector<Line> all;
  basic_block bb;
  FOR_EACH_BB_FN (bb, fn_)
    {
      std::map<gimple *, int> order;
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        order.insert ({ gsi_stmt (i), order.size () });
      size_t open = all.size ();
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        {
          gimple *s = gsi_stmt (i);
          auto w = wanted_.find (s);
          Plan *p = w == wanted_.end () ? nullptr : &plans_[s];
          if (p && p->possible && !p->adds && !p->refuse && !p->cover && !p->around)
            {
              tree meets = w->second.bits ? NULL_TREE : p->meets;
              auto line = std::find_if (all.begin () + open, all.end (), [&] (const Line &l) {
                auto known = [&] (tree t) {
                  struct Where
                  {
                    basic_block bb;
                    int at;
                    const std::map<gimple *, int> *order;
                  } where = { bb, l.at, &order };
                  auto later = [] (tree *t, int *, void *data) -> tree {
                    const Where *w = (const Where *) data;
                    gimple *def = TREE_CODE (*t) == SSA_NAME ? SSA_NAME_DEF_STMT (*t) : nullptr;
                    auto known = def && gimple_bb (def) == w->bb ? w->order->find (def) : w->order->end ();
                    return known != w->order->end () && known->second >= w->at ? *t : NULL_TREE;
                  };
                  return !walk_tree_without_duplicates (&t, later, &where);
                };
                return l.bits == w->second.bits && l.meets == meets && known (p->start) && known (p->size);
              });
              if (line != all.end ())
                {
                  line->pieces.push_back ({ p->start, p->size });
                  p->merged = true;
                }
              else
                all.push_back ({ s,
                                 order[start_of_update (s)],
                                 w->second.bits,
                                 meets,
                                 outermost (s) != nullptr,
                                 { { p->start, p->size } } });
            }
          // Whether control comes back, and when, is not known.
          if ((is_gimple_call (s) && gimple_vdef (s)) || gimple_code (s) == GIMPLE_ASM
              || gimple_has_volatile_ops (s) || stmt_could_throw_p (fn_, s))
            open = all.size ();
        }
    }
  Algebra algebra;
  for (Line &l : all)
    {
      if (l.pieces.size () < 2)
        continue;
      struct Piece
      {
        bool apart;
        Polynomial at;
        std::pair<tree, tree> is;
      };
      std::vector<Piece> pieces;
      for (auto &p : l.pieces)
        {
          Polynomial start;
          // In loops single elements have a way of their own.
          bool apart = l.in_loop || !algebra.of (p.first, &start) || !tree_fits_uhwi_p (p.second);
          bool placed = false;
          for (size_t k = 0; k < pieces.size () && !apart && !placed; k++)
            {
              auto &[is_apart, at, q] = pieces[k];
              if (is_apart)
                continue;
              Polynomial way = difference (start, at), back = difference (at, start);
              bool same = way.empty (), behind = way == Polynomial { { {}, tree_to_uhwi (q.second) } };
              bool before = back == Polynomial { { {}, tree_to_uhwi (p.second) } };
              placed = same || behind || before;
              if (before)
                at = start, q.first = p.first;
              if (same)
                q.second = size_binop (MAX_EXPR, q.second, p.second);
              else if (placed)
                q.second = size_binop (PLUS_EXPR, q.second, p.second);
            }
          if (!placed)
            pieces.push_back ({ apart, start, p });
        }
      auto &line = lines_[l.first];
      for (auto &p : pieces)
        line.push_back (p.is);
    }
}

} // namespace promp
