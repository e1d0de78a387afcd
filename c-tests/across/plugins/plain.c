/* The other unit: may be executed again. */
void one_step(double *x, int i, double by) {
    double s = 0;
    for (int k = 0; k < 20000; k++) s += k * by;
    x[i] = s;
}
