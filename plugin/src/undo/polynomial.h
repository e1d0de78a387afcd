// Addresses as polynomials of values that are known in front of a loop.
//
// An address is a polynomial modulo its width. What an SSA name is computed from has, wherever the name is
// known, the values that it was computed from: each of its definitions dominates it.
#ifndef PROMP_POLYNOMIAL_H
#define PROMP_POLYNOMIAL_H

#include "gcc-plugin.h"
#include "tree.h"
#include "gimple.h"
#include <cstdint>
#include <map>
#include <vector>

namespace promp {

/// A sum of products of values, by their numbers, with factors.
typedef std::map<std::vector<unsigned>, uint64_t> Polynomial;

/// Adds `p` times `factor`.
void add (Polynomial &to, const Polynomial &p, uint64_t factor);
Polynomial difference (const Polynomial &a, const Polynomial &b);

/// The values that polynomials are of.
class Algebra
{
public:
  /// False: it has too many terms.
  bool of (tree expr, Polynomial *out);
  /// As an expression of type sizetype.
  tree expression (const Polynomial &p) const;

private:
  bool value (tree v, Polynomial *out);
  bool constant (tree t, Polynomial *out);
  bool sum (tree a, tree b, uint64_t factor, Polynomial *out);
  bool product (tree a, tree b, Polynomial *out);
  bool times (tree a, uint64_t factor, Polynomial *out);
  bool converted (tree a, tree t, Polynomial *out);
  bool computed (tree t, enum tree_code code, tree a, tree b, Polynomial *out);
  bool find (tree t, Polynomial *out);

  std::vector<tree> values_;
  unsigned budget_ = 0;
};

} // namespace promp
#endif
