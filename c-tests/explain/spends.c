// A function of another file (shares.c).
double spends (double x, int times)
{
  for (int k = 0; k < times; k++)
    x = x * 0.5 + 1;
  return x;
}
