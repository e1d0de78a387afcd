// A template's instances, and what is said when something cannot be.
#include "grid.hpp"
#include <cstdlib>
#include <iostream>
void no_such_row (const char *what, std::size_t i)
{
  std::cerr << what << " has no row " << i << std::endl;
  std::exit (3);
}
template <class T> void relax (Grid<T> &from, Grid<T> &to)
{
#pragma omp parallel for
  for (std::size_t i = 0; i < from.size (); i++)
    {
      std::vector<T> &x = from.row (i), &y = to.row (i), &up = from.row (i ? i - 1 : i);
      for (std::size_t j = 1; j + 1 < x.size (); j++)
        {
          T v = (x[j - 1] + x[j + 1] + up[j]) / 3;
          for (int k = 0; k < 12; k++)
            v = v * T (0.5) + x[j] * T (0.25);
          y[j] = v + 1;
        }
      if (y[1] != y[1])
        std::cerr << "not a number in row " << i << '\n';
    }
}
template void relax (Grid<double> &, Grid<double> &);
template void relax (Grid<float> &, Grid<float> &);
