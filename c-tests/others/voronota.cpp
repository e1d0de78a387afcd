// Voronota's triangulation of balls in parts, with a main function of our own: balls from a seed.
#include "auxiliaries/program_options_handler.h"
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <sstream>

void calculate_vertices_in_parallel (const voronota::auxiliaries::ProgramOptionsHandler &);

int main (int argc, char **argv)
{
  std::ostringstream balls;
  unsigned long seed = 12345;
  auto next = [&] { return (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648.0; };
  int count = argc > 1 ? atoi (argv[1]) : 0;
  double side = 3 * cbrt (count);
  for (int i = 0; i < count; i++)
    {
      double x = next () * side, y = next () * side, z = next () * side;
      balls << x << " " << y << " " << z << " " << 1 + next () << "\n";
    }
  std::istringstream in (balls.str ());
  std::cin.rdbuf (in.rdbuf ());
  const char *options[] = { "voronota", "triangulate", "--method", "openmp", "--parts", "32" };
  calculate_vertices_in_parallel (voronota::auxiliaries::ProgramOptionsHandler (6, options));
}
