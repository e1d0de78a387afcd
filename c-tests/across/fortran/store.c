/* Called from Fortran. */
void c_store(double *to, double x) { *to = x * 2; }
