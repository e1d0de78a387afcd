// A template and an inline function that several units instantiate, and functions of another unit.
#include <vector>

template <typename T> struct Row
{
  std::vector<T> values;
  T sum () const
  {
    T s = 0;
    for (const T &v : values)
      s += v;
    return s;
  }
};
template <typename T> __attribute__ ((noinline)) T smooth (T x, int times)
{
  for (int i = 0; i < times; i++)
    x = T (0.5) * (x + T (2) / x);
  return x;
}
inline __attribute__ ((noinline)) void store (double &to, double x) { to = x + 1; }
struct Shape
{
  virtual ~Shape () = default;
  virtual double area () const = 0;
};
double scaled (const Row<double> &row, double x);
void put (std::vector<double> &to, std::size_t i, double x);
double checked (double x);
Shape *square (double side);
