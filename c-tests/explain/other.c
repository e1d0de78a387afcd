// A function of another file (work.c).
double other(double x)
{
    for (int i = 0; i < 20; i++)
        x = x * 0.5 + 1;
    return x;
}
