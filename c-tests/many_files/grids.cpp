// Templates and vectors in several units.
#include "grid.hpp"
#include <cstdio>
template <class T> double run ()
{
  Grid<T> a (400, 120), b (400, 120);
  for (int r = 0; r < 20; r++)
    {
      relax (a, b);
      relax (b, a);
    }
  double s = 0;
  for (std::size_t i = 0; i < a.size (); i++)
    for (T x : a.row (i))
      s = s * 0.9999 + x;
  return s;
}
int main () { std::printf ("%.9g %.6g\n", run<double> (), run<float> ()); }
