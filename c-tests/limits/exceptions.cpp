// Exceptions: caught inside a region they are like any other; at a region's border they end the program (OpenMP 5.1, 2.6).
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <unistd.h>
int main(int argc, char **argv) {
    std::set_terminate([] {
        // Several threads may come here before the first one has ended the program.
        static int first = 0;
        if (__sync_lock_test_and_set(&first, 1)) for (;;) pause();
        const char text[] = "terminated\n";
        if (write(1, text, sizeof text - 1)) {}
        _exit(3);
    });
    int caught = 0;
#pragma omp parallel num_threads(4) reduction(+ : caught)
    {
        for (int i = 0; i < 100; i++) try {
                if (i % 3 == 0) throw std::runtime_error("inside");
            } catch (const std::exception &) { caught++; }
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100; i++) try { throw i; } catch (int k) { caught += k == i; }
#pragma omp critical
        try { throw 1; } catch (...) { caught++; }
#pragma omp single
#pragma omp task
        try { throw 1; } catch (...) {}
    }
    printf("caught %d\n", caught);
    fflush(stdout);
    if (argc > 1) {
#pragma omp parallel num_threads(3)
        throw std::runtime_error("leaves the region");
    }
    return 0;
}
