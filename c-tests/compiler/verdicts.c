/* Constructs with known verdicts. In front of each function stands what is true of its construct, and, if the compiler cannot see that
   far, what it is reported as. What is true comes from the definition alone: executing a chunk again, after any part of it
   was executed, gives the same memory (idempotent); or does if the old values of what it writes are put back (undo); or not
   even then, because it does more than write memory (opaque). */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 512, M = 16 };
static double a[N], b[N], c[N], g[N][M], h[N][M];
static int idx[N], table[N];
static volatile int signal_word;
static struct { double x, y; int n; } s[N];
static union { double d[N]; long l[N]; } u;
double shared_scalar;
static _Thread_local double own;

#define ORPHANED _Pragma("omp for") for (int i = 0; i < N; i++)
#define LOOP _Pragma("omp parallel for") for (int i = 0; i < N; i++)

/* --- nothing is both read and written ------------------------------------------------------------------------------ */
/* idempotent */ void copies(void) { LOOP a[i] = b[i]; }
/* idempotent */ void fills(void) { LOOP a[i] = 1; }
/* idempotent */ void computes(void) { LOOP a[i] = sin(b[i]) + c[N - 1 - i]; }
/* idempotent */ void gathers(void) { LOOP a[i] = b[idx[i]]; }
/* idempotent */ void scatters(void) { LOOP a[idx[i]] = b[i]; }
/* idempotent */ void stencil(void) {
    _Pragma("omp parallel for") for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < M - 1; j++) h[i][j] = g[i - 1][j] + g[i + 1][j] + g[i][j - 1] + g[i][j + 1];
}
/* idempotent */ void reads_what_it_wrote(void) { LOOP { a[i] = b[i]; c[i] = a[i] * 2; } }
/* idempotent */ void writes_twice(void) { LOOP { a[i] = 0; for (int j = 0; j < M; j++) a[i] += g[i][j]; } }
/* idempotent */ void private_array(void) {
    LOOP {
        double t[M];
        for (int j = 0; j < M; j++) t[j] = g[i][j];
        for (int j = 1; j < M; j++) t[j] += t[j - 1];
        a[i] = t[M - 1];
    }
}
/* idempotent, reported undo */ void different_fields(void) { LOOP s[i].x = s[i].n; }
/* idempotent */ double reduction(void) { double r = 0; _Pragma("omp parallel for reduction(+ : r)") for (int i = 0; i < N; i++) r += a[i]; return r; }
/* idempotent */ int last(void) { int l = 0; _Pragma("omp parallel for lastprivate(l)") for (int i = 0; i < N; i++) { l = idx[i]; a[i] = l; } return l; }
/* idempotent */ void orphaned_restricted(double *restrict p, double *const *q) { ORPHANED p[i] = *q[i]; }
/* undo */ void orphaned_restricted_that_escapes(double *restrict p, double **q) { q[0] = p; ORPHANED p[i] = *q[i] + 1; }
/* undo */ void orphaned_not_restricted(double *p, double *const *q) { ORPHANED p[i] = *q[i]; }
static __attribute__((noinline)) double first_of(double *const *q) { return **q; }
/* idempotent */ void orphaned_restricted_and_a_call(double *restrict p, double *const *q) { ORPHANED p[i] = first_of(q + i); }
/* undo */ void orphaned_restricted_and_a_call_with_it(double *restrict p, int n) { double *at[1] = {p}; ORPHANED p[i] = first_of(at) + n; }
/* idempotent, reported undo */ void restricted(double *restrict p, const double *restrict q) { LOOP p[i] = q[i]; }
static __attribute__((noinline)) void fill_row(double *row, double v) { for (int j = 0; j < M; j++) row[j] = v; }
/* idempotent */ void calls_a_writer(void) { LOOP fill_row(g[i], b[i]); }
static __attribute__((noinline)) double sum_row(const double *row) { double r = 0; for (int j = 0; j < M; j++) r += row[j]; return r; }
/* idempotent */ void calls_a_reader(void) { LOOP a[i] = sum_row(g[i]); }
static __attribute__((noinline)) void scratch(double *t, double v) { for (int j = 0; j < M; j++) t[j] = v + j; }
/* idempotent */ void calls_with_scratch(void) { LOOP { double t[M]; scratch(t, b[i]); a[i] = t[3]; } }
/* idempotent */ void conditional_write(void) { LOOP if (b[i] > 0) a[i] = b[i]; }
/* idempotent */ void copies_rows(void) { LOOP memcpy(g[i], h[i], sizeof g[i]); }
/* idempotent */ void clears_rows(void) { LOOP memset(g[i], 0, sizeof g[i]); }
/* undo */ void reads_behind_its_row(void) { /* what lies behind the row is the next one, which is cleared next */
#pragma omp parallel for
    for (int i = 0; i < N - 1; i++) {
        double *row = &g[0][0] + i * M;
        memset(row, 0, sizeof g[i]);
        double sum = 0;
        for (int j = 0; j < M; j++) sum += row[table[j]];
        a[i] = sum;
    }
}
static double *rows;
void allocate_rows(void) { rows = calloc(N * M, sizeof *rows); }
/* undo */ void updates_a_row_that_is_cleared_or_not(void) {
#pragma omp parallel for
    for (int i = 0; i < N - 1; i++) {
        double *row = rows + i * M;
        int n = idx[i] % M;
        for (int j = 0; j < n; j++) row[j] = 0;
        for (int j = 0; j < M; j++) row[table[j]] += 1;
    }
}
/* undo */ void reads_a_row_that_is_cleared_or_not(void) {
#pragma omp parallel for
    for (int i = 0; i < N - 1; i++) {
        double *row = rows + i * M, sum = 0;
        int n = idx[i] % M;
        for (int j = 0; j < n; j++) row[j] = 0;
        for (int j = 0; j < M; j++) sum += row[table[j]];
        a[i] = sum;
    }
}
/* idempotent */ void works_in_new_blocks(void) {
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        int *v = malloc((M + i % 3) * sizeof *v);
        if (i % 2) v = realloc(v, 2 * M * sizeof *v);
        for (int j = 0; j < M; j++) v[j] = table[j];
        for (int j = 0; j < M; j++) v[j % 3] = v[j % 5] * 2 + 1;
        a[i] = v[0] + v[2];
        free(v);
    }
}
/* undo */ void works_in_a_block_of_before(void) {
#pragma omp parallel
    {
        int *v = calloc(M, sizeof *v);
#pragma omp for
        for (int i = 0; i < N; i++) {
            if (idx[i] > 3) v = realloc(v, 2 * M * sizeof *v);
            for (int j = 0; j < M; j++) v[table[j] % M] += 1;
            a[i] = v[0];
        }
        free(v);
    }
}
/* idempotent */ void allocates(void) { LOOP { double *t = malloc(sizeof(double) * M); for (int j = 0; j < M; j++) t[j] = 1; h[i][0] = 2; free(t); } }
static __attribute__((noinline)) void two_pointers(double *p, double *q) { LOOP p[i] = q[i]; }
/* idempotent */ void with_distinct_arguments(void) { two_pointers(a, b); two_pointers(c, b); }
/* idempotent */ void sections(void) {
#pragma omp parallel sections
    {
#pragma omp section
        a[0] = b[0];
#pragma omp section
        a[1] = b[1];
    }
}

/* --- reads and writes the same: undo -------------------------------------------------------------------------------- */
/* undo */ void update(void) { LOOP a[i] = a[i] * 3 + b[i]; }
/* undo */ void update_through_index(void) { LOOP a[idx[i]] += b[i]; }
/* undo */ void update_rows(void) { LOOP for (int j = 0; j < M; j++) g[i][j] += h[i][j]; }
/* undo */ void conditional_update(void) { LOOP if (b[i] > 0) a[i] += 1; }
/* undo */ void increments(void) { LOOP table[i]++; }
/* undo */ void swaps(void) { LOOP { double t = a[i]; a[i] = b[i]; b[i] = t; } }
/* undo */ void reads_the_neighbour_in_an_inner_loop(void) { LOOP for (int j = 1; j < M; j++) g[i][j] = g[i][j - 1] + 1; }
/* undo */ void reads_before_it_writes_far_away(void) { LOOP { double t = a[i]; for (int j = 0; j < M; j++) h[i][j] = t; a[i] = h[i][2] + 1; } }
/* undo */ void updates_a_field(void) { LOOP s[i].x += s[i].y; }
/* undo */ void swaps_structs(void) { LOOP { double t = s[i].x; s[i].x = s[i].y; s[i].y = t; } }
/* undo */ void through_a_union(void) { LOOP u.d[i] = (double)u.l[i]; }
/* undo */ void may_alias(double *p, double *q) { LOOP p[i] = q[i]; }
/* undo */ void shifted(double *p) { double *q = p + 1; LOOP p[2 * i] = q[2 * i] + p[2 * i]; }
static __attribute__((noinline)) void alias_at_one_call(double *p, double *q) { LOOP p[i] = q[i] + 1; }
/* undo */ void with_one_aliased_call(void) { alias_at_one_call(a, b); alias_at_one_call(c, c); }
/* undo */ void index_is_overwritten(void) { LOOP { int k = idx[i]; a[i] = b[k]; idx[i] = 0; } }
/* undo */ void condition_is_overwritten(void) { LOOP if (table[i] == 0) { table[i] = 1; a[i] = b[i]; } }
/* undo */ void bound_is_overwritten(void) { LOOP { for (int j = 0; j < table[i]; j++) h[i][j & 15] = 1; table[i] = 3; } }
/* undo */ void reads_one_branch_writes_the_other(void) { LOOP if (b[i] > 0) c[i] = a[i]; else a[i] = c[i]; }
/* undo */ void write_covers_on_one_way_only(void) { LOOP { if (b[i] > 0) a[i] = 0; a[i] += 1; } }
/* undo */ void covered_at_another_index(void) { LOOP { a[i] = 0; c[i] = a[idx[i] & 1 ? i : i]; a[i] = c[i]; b[i] = b[i] + 1; } }
/* undo */ void different_names(void) { double *p = a, *q = a; LOOP p[i] = q[i] + 1; }
/* undo */ void integer_as_float(void) { LOOP { int v; memcpy(&v, &a[i], sizeof v); a[i] = v + 1; } }
/* undo */ void moves_within_rows(void) { LOOP memmove(g[i], g[i] + 1, sizeof g[i] - sizeof g[i][0]); }
/* undo */ void adds_rows_of_bytes(void) { char *p = (char *)g; LOOP p[i] += 1; }
/* undo */ void strided(void) { _Pragma("omp parallel for") for (int i = 0; i < N; i += 3) a[i] = -a[i]; }
/* undo */ void downwards(void) { _Pragma("omp parallel for") for (int i = N - 1; i >= 0; i--) a[i] += i; }
/* undo */ void collapsed(void) { _Pragma("omp parallel for collapse(2)") for (int i = 0; i < N; i++) for (int j = 0; j < M; j++) g[i][j] *= 2; }
/* undo */ void unsigned_index(void) { _Pragma("omp parallel for") for (unsigned i = 0; i < N; i++) a[i] += i; }
/* undo */ void triangular(void) { LOOP for (int j = 0; j <= (i & 15); j++) g[i][j] += 1; }
/* undo */ void complex_numbers(void) { double _Complex *z = (double _Complex *)a; _Pragma("omp parallel for") for (int i = 0; i < N / 2; i++) z[i] *= 2; }
/* undo */ void while_in_the_body(void) { LOOP { double x = a[i]; while (x > 1) x /= 2; a[i] = x; } }

struct xy { double x, y; };
/* undo */ void one_place_by_two_ways(struct xy *p) {
#pragma omp single
    { double t = p->y; ((struct xy *)((char *)p + 8))->x = t + 1; }
}

/* --- traps: more than memory ---------------------------------------------------------------------------------------- */
/* opaque */ void prints(void) { LOOP { a[i] = b[i]; if (i < 0) printf("%d", i); } }
/* opaque */ void volatile_word(void) { LOOP signal_word = i; }
/* opaque */ void volatile_read(void) { LOOP a[i] = signal_word; }
extern void unknown(int);
/* opaque */ void calls_the_unknown(void) { LOOP unknown(i); }
/* opaque */ void through_a_pointer(void (*f)(int)) { LOOP f(i); }
static __attribute__((noinline)) int counter(void) { static int n; return ++n; }
/* undo */ void static_local(void) { LOOP a[i] = counter(); }
static __attribute__((noinline)) void bump(double *p) { *p += 1; }
/* undo */ void update_in_a_call(void) { LOOP bump(&a[i]); }
static __attribute__((noinline)) void bump_twice(double *p, int n) { if (n) bump_twice(p, n - 1); *p += 1; }
/* undo, reported opaque */ void update_in_a_recursive_call(void) { LOOP bump_twice(&a[i], 2); }
static __attribute__((noinline)) void write_global(int i) { a[i] = a[i] + b[i]; }
/* undo */ void update_of_a_global_in_a_call(void) { LOOP write_global(i); }
/* opaque */ void atomic_update(void) { LOOP { _Pragma("omp atomic") shared_scalar += a[i]; b[i] = 1; } }
/* opaque */ int atomic_capture(void) { int r = 0; LOOP { int k; _Pragma("omp atomic capture") k = r++; table[k] = i; } return r; }
static atomic_int tickets;
/* opaque */ void takes_tickets(void) { LOOP table[atomic_fetch_add(&tickets, 1)] = i; }
/* opaque */ void reads_a_flag(void) { static atomic_int flag; LOOP if (atomic_load(&flag)) a[i] = 1; }
/* opaque */ void random_numbers(void) { LOOP a[i] = rand(); }
/* undo */ void allocates_for_others(void) { static double *p[N]; LOOP { free(p[i]); p[i] = malloc(8); } }
/* opaque */ void assembler(void) { LOOP { int r; __asm__ volatile("movl $1, %0" : "=r"(r)); table[i] = r; } }
/* undo */ void histogram(void) { LOOP for (int j = 0; j < M; j++) table[(int)h[i][j] & 511] += 1; }
/* opaque */ void files(FILE *f) { LOOP fputc(i, f); }
/* opaque */ void warns(void) { LOOP { a[i] = 1; _Pragma("omp error at(execution) severity(warning)") } }
/* opaque */ void fence(void) { LOOP { a[i] = 1; atomic_thread_fence(memory_order_seq_cst); } }
/* undo */ void thread_local_variable(void) { LOOP { own += 1; a[i] = own; } }
/* undo */ double reduction_by_hand(double *partial) { LOOP partial[omp_get_thread_num()] += a[i]; return partial[0]; }
/* undo */ void shared_counter(void) { LOOP if (a[i] > 1) shared_scalar = a[i] + shared_scalar; }
/* undo */ void single(void) {
#pragma omp parallel
    {
#pragma omp single
        shared_scalar += 1;
    }
}
