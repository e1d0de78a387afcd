// What nothing is known of: built by gcc. What it does shows if it is done twice.
static double inside[160];
double unknown(int i, double *x, double s) {
    inside[i] = inside[i] * 0.5 + s;
    x[i % 24] = x[i % 24] * 0.5 + inside[i] + 1;
    return inside[i] * 0.125;
}

double outside(double x, void *of) {
    double *d = of;
    d[1] = d[1] * 0.5 + x;
    return d[1] * 0.25 + 1;
}
