/* Atomic additions with known verdicts; verdicts.c says what stands in front of the functions. An addition
   can be taken back if nothing but additions can see it until it has been made again. */
#include <stdatomic.h>

enum { N = 512, M = 16 };
static double a[N], b[N], c[N];
static int idx[N], table[N];
static unsigned char bytes[N];
static unsigned short shorts[N];
static long longs[N];
static volatile int signal_word;

#define FOR for (int i = 0; i < N; i++)
#define ORPHANED _Pragma("omp for") FOR
#define LOOP _Pragma("omp parallel for") FOR
#define ADD _Pragma("omp atomic")
/* A loop of additions, with something else beside it in the region. */
#define BESIDE(...) \
    _Pragma("omp parallel") \
    { \
        _Pragma("omp for nowait") FOR { ADD table[idx[i]]++; } \
        __VA_ARGS__ \
    }
#define CAPTURE(k) _Pragma("omp atomic capture") k

/* undo */ void counts(void) { LOOP { ADD table[idx[i]]++; } }
/* undo */ void counts_bytes(void) { LOOP { ADD bytes[idx[i]] += i; } }
/* undo */ void counts_down(void) { LOOP { ADD shorts[idx[i]] -= (unsigned short)i; } }
/* undo */ void counts_in_any_order(void)
{
    _Pragma("omp parallel for schedule(dynamic, 4)") FOR { ADD longs[idx[i]] += b[i] > 0; }
}
/* undo */ void counts_beside_writes(void) { LOOP { a[i] = b[i]; ADD table[idx[i]] += i; c[i] = a[i]; } }
/* undo */ void counts_in_rows(int (*rows)[M])
{
    LOOP for (int j = 0; j < M; j++) { ADD rows[idx[i]][j] += j; }
}
/* undo */ int counts_and_sums(void)
{
    int r = 0;
    _Pragma("omp parallel for reduction(+ : r)") FOR { ADD table[idx[i]]++; r += idx[i]; }
    return r;
}
/* undo */ void counts_twice(void) { BESIDE(ORPHANED { ADD table[i]--; }) }
/* undo */ void counts_what_it_has_read(void) { LOOP { b[i] = table[i]; ADD table[i] += 3; } }
/* undo */ void counts_what_it_writes(void) { LOOP { table[i] = i; ADD table[i] += 3; } }

/* --- traps --- */
/* opaque */ void counts_floats(void) { LOOP { ADD a[idx[i]] += 1; b[i] = 1; } }
/* opaque */ void multiplies(void) { LOOP { ADD table[idx[i]] *= 3; } }
/* opaque */ void sets_bits(void) { LOOP { ADD table[idx[i]] |= i; } }
/* opaque */ void counts_in_order(void) { LOOP { _Pragma("omp atomic seq_cst") table[idx[i]]++; } }
/* opaque */ void counts_and_reads(void)
{
    LOOP { int k; ADD table[idx[i]]++; _Pragma("omp atomic read") k = table[0]; a[i] = k; }
}
/* opaque */ void counts_and_captures(void)
{
    LOOP { int k; ADD table[idx[i]]++; CAPTURE(k) = table[0]++; a[i] = k; }
}
/* opaque */ void counts_while_others_capture(void) { BESIDE(int k; CAPTURE(k) = ++table[0]; a[k] = 1;) }
/* opaque */ void counts_while_others_lock(void) { BESIDE(_Pragma("omp critical") a[0] = table[0];) }
/* opaque */ void counts_before_a_flag(void) { LOOP { ADD table[idx[i]]++; signal_word = 1; } }
/* opaque */ void counts_before_a_fence(void) { LOOP { ADD table[idx[i]]++; _Pragma("omp flush") a[i] = 1; } }
/* opaque */ void counts_wherever_it_is_called(void) { ORPHANED { ADD table[idx[i]]++; } }
static __attribute__((noinline)) int ticket(void) { int k; CAPTURE(k) = table[0]++; return k; }
/* opaque */ void counts_beside_a_call(void) { LOOP { ADD table[idx[i]]++; a[i] = ticket(); } }
/* opaque */ void counts_beside_a_pointer(int (*f)(void)) { BESIDE(f();) }
/* opaque */ void counts_beside_tasks(void)
{
    BESIDE(_Pragma("omp master") { _Pragma("omp task") a[0] = ticket(); })
}
static atomic_int tickets;
/* opaque */ void counts_in_standard_order(void) { LOOP atomic_fetch_add(&tickets, idx[i]); }
/* undo */ void counts_by_the_standard(void)
{
    LOOP atomic_fetch_add_explicit(&tickets, idx[i], memory_order_relaxed);
}
/* opaque */ void hands_out_by_the_standard(void)
{
    LOOP table[atomic_fetch_add_explicit(&tickets, 1, memory_order_relaxed)] = i;
}
