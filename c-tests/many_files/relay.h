double relay(double *x, int n, int laps);
