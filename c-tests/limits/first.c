/* The shortest program: one region. */
int main(void) {
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads++;
    return threads == 0;
}
