// A function of another file (mesh.cpp).
double area(const double *corner)
{
    return corner[0] * corner[3] - corner[1] * corner[2] + 1;
}
