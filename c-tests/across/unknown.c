/* Built by another compiler, or without the plugin: nothing is known of it. */
void unknown(double *x, double v) { *x = v; }
