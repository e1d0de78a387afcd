#pragma promp frags(4)
void f(void) {
#pragma promp frags(x)
#pragma promp frags(0)
#pragma promp recompute(guided)
#pragma promp checkpoint now
#pragma omp parallel
    {
#pragma omp single
        {
#pragma promp checkpoint
        }
#pragma omp sections
        {
#pragma promp checkpoint
        }
    }
}
