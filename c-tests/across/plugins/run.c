/* One unit of a library that is loaded, used and left again. */
void one_step(double *x, int i, double by);
void run(double *x, int n, double by) {
    #pragma omp parallel for schedule(dynamic, 4)
    for (int i = 0; i < n; i++) one_step(x, i, by);
}
