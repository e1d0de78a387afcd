/* Loop schedules: 1024 iterations a thread, nearly empty, so that the time is the runtime's; and short loops, 32
   iterations a thread, back to back. Times are of a whole loop. */
#include "bench.h"

static long count, few;

#define LOOP(name, type, clause) \
    static void name(long n) { \
        _Pragma("omp parallel") for (long k = 0; k < n; k++) { \
            _Pragma(#clause) for (type i = 0; i < (type)count; i++) NOTHING(); \
        } \
    }
LOOP(fixed, long, omp for schedule(static))
LOOP(fixed_1, long, omp for schedule(static, 1))
LOOP(fixed_16, long, omp for schedule(static, 16))
LOOP(dynamic_1, long, omp for schedule(dynamic, 1))
LOOP(dynamic_4, long, omp for schedule(dynamic, 4))
LOOP(dynamic_16, long, omp for schedule(dynamic, 16))
LOOP(dynamic_64, long, omp for schedule(dynamic, 64))
LOOP(dynamic_256, long, omp for schedule(dynamic, 256))
LOOP(dynamic_monotonic, long, omp for schedule(monotonic : dynamic, 1))
LOOP(dynamic_unsigned, unsigned long long, omp for schedule(dynamic, 1))
LOOP(dynamic_nowait, long, omp for schedule(dynamic, 16) nowait)
LOOP(guided_1, long, omp for schedule(guided, 1))
LOOP(guided_16, long, omp for schedule(guided, 16))
LOOP(guided_64, long, omp for schedule(guided, 64))
LOOP(automatic, long, omp for schedule(auto))
LOOP(runtime, long, omp for schedule(runtime))
#define SHORT(name, clause, body) \
    static void name(long n) { \
        _Pragma("omp parallel") for (long k = 0; k < n; k++) { \
            _Pragma(#clause) for (long i = 0; i < few; i++) body; \
        } \
    }
SHORT(short_dynamic_1, omp for schedule(dynamic, 1), NOTHING())
SHORT(short_dynamic_8, omp for schedule(dynamic, 8), NOTHING())
SHORT(short_dynamic_32, omp for schedule(dynamic, 32), NOTHING())
SHORT(short_monotonic_8, omp for schedule(monotonic : dynamic, 8), NOTHING())
SHORT(short_guided, omp for schedule(guided), NOTHING())
SHORT(short_dynamic_1_work, omp for schedule(dynamic, 1), work(100))
SHORT(short_dynamic_8_work, omp for schedule(dynamic, 8), work(100))
SHORT(short_dynamic_32_work, omp for schedule(dynamic, 32), work(100))
SHORT(short_monotonic_1_work, omp for schedule(monotonic : dynamic, 1), work(100))
SHORT(short_monotonic_8_work, omp for schedule(monotonic : dynamic, 8), work(100))
SHORT(short_monotonic_32_work, omp for schedule(monotonic : dynamic, 32), work(100))
SHORT(short_guided_work, omp for schedule(guided), work(100))
static void dynamic_work(long n) {
#pragma omp parallel
    for (long k = 0; k < n; k++) {
#pragma omp for schedule(dynamic, 1)
        for (long i = 0; i < count; i++) work(50);
    }
}
static void uneven_work(long n) {
#pragma omp parallel
    for (long k = 0; k < n; k++) {
#pragma omp for schedule(dynamic, 4)
        for (long i = 0; i < count; i++) work((int)(i & 127));
    }
}
static void collapsed(long n) {
#pragma omp parallel
    for (long k = 0; k < n; k++) {
#pragma omp for collapse(2) schedule(dynamic, 16)
        for (long i = 0; i < count / 32; i++)
            for (long j = 0; j < 32; j++) NOTHING();
    }
}
static void region_dynamic(long n) {
    for (long k = 0; k < n; k++) {
#pragma omp parallel for schedule(dynamic, 16)
        for (long i = 0; i < count; i++) NOTHING();
    }
}

int main(int argc, char **argv) {
    only = argc > 1 ? argv[1] : 0;
    omp_set_schedule(omp_sched_dynamic, 8);
    count = 1024L * omp_get_max_threads();
    few = 32L * omp_get_max_threads();
    row("static", 1, fixed);
    row("static,1", 1, fixed_1);
    row("static,16", 1, fixed_16);
    row("dynamic,1", 1, dynamic_1);
    row("dynamic,4", 1, dynamic_4);
    row("dynamic,16", 1, dynamic_16);
    row("dynamic,64", 1, dynamic_64);
    row("dynamic,256", 1, dynamic_256);
    row("dynamic,1, monotonic", 1, dynamic_monotonic);
    row("dynamic,1, unsigned", 1, dynamic_unsigned);
    row("dynamic,16, nowait", 1, dynamic_nowait);
    row("guided,1", 1, guided_1);
    row("guided,16", 1, guided_16);
    row("guided,64", 1, guided_64);
    row("auto", 1, automatic);
    row("runtime (dynamic,8)", 1, runtime);
    row("dynamic,1, with work", 1, dynamic_work);
    row("dynamic,4, uneven work", 1, uneven_work);
    row("collapse(2) dynamic,16", 1, collapsed);
    row("parallel for dynamic,16", 1, region_dynamic);
    row("short, dynamic,1", 1, short_dynamic_1);
    row("short, dynamic,8", 1, short_dynamic_8);
    row("short, dynamic,32", 1, short_dynamic_32);
    row("short, dynamic,8, monotonic", 1, short_monotonic_8);
    row("short, guided", 1, short_guided);
    row("short, dynamic,1, with work", 1, short_dynamic_1_work);
    row("short, dynamic,8, with work", 1, short_dynamic_8_work);
    row("short, dynamic,32, with work", 1, short_dynamic_32_work);
    row("short, dynamic,1, monotonic, with work", 1, short_monotonic_1_work);
    row("short, dynamic,8, monotonic, with work", 1, short_monotonic_8_work);
    row("short, dynamic,32, monotonic, with work", 1, short_monotonic_32_work);
    row("short, guided, with work", 1, short_guided_work);
    return 0;
}
