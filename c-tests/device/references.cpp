// Members that are references, to pointers among others, mapped with sections of what they refer to.
#include <cstdio>

struct S { int *p; int *&q; int &r; short (&t)[6]; };

int main() {
    int a[20], b[20], r = 3, wrong = 0;
    short t[6] = {0, 1, 2, 3, 4, 5};
    for (int i = 0; i < 20; i++) a[i] = i, b[i] = 100 + i;
    int *q = b + 4;
    S s = {a, q, r, t};
#pragma omp target map(tofrom : s.p, s.p[3:5], s.q, s.q[2:3], s.r, s.t[1:3]) map(from : wrong)
    {
        wrong = s.p[3] != 3 || s.q[2] != 106 || s.r != 3 || s.t[3] != 3;
        s.p[7] = -7; s.q[4] = -8; s.r = 30; s.t[1] = -1;
    }
    bool right = !wrong && a[7] == -7 && b[8] == -8 && r == 30 && t[1] == -1 && q == b + 4 && s.p == a;
    for (int i = 0; i < 20; i++) right &= (i == 7 || a[i] == i) && (i == 8 || b[i] == 100 + i);
    std::puts(right ? "all right" : "failed");
    return !right;
}
