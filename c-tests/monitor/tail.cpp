// The same of lambdas, templates and virtual methods.
#include <cstdio>
#define APART __attribute__((noinline, noclone, no_icf))

static volatile double a[400];

template <typename T> APART void add(T x) {
#pragma omp parallel num_threads(2) firstprivate(x) // add
  a[1] = a[1] + x;
}

struct Base {
  virtual void work() = 0;
};
struct Derived : Base {
  APART void work() override {
#pragma omp parallel num_threads(2) // work
    a[2] = a[2] + 1;
  }
};

int main() {
  static Derived d;
  Base *volatile b = &d;
  auto lambda = []() APART {
#pragma omp parallel num_threads(2) // lambda
    a[3] = a[3] + 1;
  };
  add(1.0);
  b->work();
  lambda();
  std::puts("done");
}
