/* A random generator in a file of its own. */
typedef struct { unsigned long long state; } Draw;
double draw(Draw *d);
void out_of_range(const char *what, int i, double x);
