/* The other unit: may not, for it counts. */
static long calls;
void one_step(double *x, int i, double by) {
    double s = 0;
    for (int k = 0; k < 20000; k++) s += k * by;
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    x[i] = s;
}
