// Loops that call functions of another unit; the verdicts are in tests/across.rs, by these lines' marks.
#include "shapes.hpp"
#include <cstdio>

int main ()
{
  const int n = 400;
  std::vector<Row<double>> rows (n);
  std::vector<double> out (n), more (n);
  std::vector<Shape *> shapes;
  for (int i = 0; i < n; i++)
    {
      rows[i].values.assign (50, i + 1.0);
      shapes.push_back (square (i));
    }
  double *o = out.data (), *m = more.data ();
  const Row<double> *r = rows.data ();
  for (int t = 0; t < 60; t++)
    {
#pragma omp parallel for
      for (int i = 0; i < n; i++)
        o[i] = scaled (r[i], 0.5); // reads a vector
#pragma omp parallel for
      for (int i = 0; i < n; i++)
        store (m[i], smooth (o[i] + t, 30)); // templates of several units
#pragma omp parallel for
      for (int i = 0; i < n; i++)
        o[i] = checked (m[i]); // may throw
#pragma omp parallel for
      for (int i = 0; i < n; i++)
        m[i] = shapes[i]->area (); // virtual
    }
  double s = 0;
  for (int i = 0; i < n; i++)
    s = s * 0.9 + out[i] + more[i];
  std::printf ("%.15g\n", s);
}
