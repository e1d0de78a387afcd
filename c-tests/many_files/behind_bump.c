// Updates what it is given, each time: saved in front of its calls.
void bump(double *x) { x[0] = x[0] * 0.75 + x[1]; }
