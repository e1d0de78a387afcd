/* Preloaded: another definition of what a shared library defines. */
void out(double *to, double x) { *to += x; }
