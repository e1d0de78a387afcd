// Rows of vectors, with checks.
#include <cstddef>
#include <vector>
[[noreturn]] void no_such_row(const char *what, std::size_t i);
template <class T> class Grid
{
public:
  Grid (std::size_t n, std::size_t m) : rows_ (n, std::vector<T> (m)) {}
  std::vector<T> &row (std::size_t i)
  {
    if (i >= rows_.size ())
      no_such_row ("a grid", i);
    return rows_[i];
  }
  std::size_t size () const { return rows_.size (); }

private:
  std::vector<std::vector<T>> rows_;
};
template <class T> void relax (Grid<T> &from, Grid<T> &to);
