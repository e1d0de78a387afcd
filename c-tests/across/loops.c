/* Constructs that call functions of other files, with known verdicts: in front of each function stands what
   is true of its construct, and what it is reported as if that is less. */
#include "across.h"
#include <stdlib.h>

double a[N], b[N], c[N], g[N][M];
static double hidden[N], *rows[N];
void (*pointer)(double *) = bump;

#define LOOP _Pragma("omp parallel for") for (int i = 0; i < N - 1; i++)

/* --- what functions of other files do can be repeated ------------------------------------------------ */
/* idempotent */
static void values(void) { LOOP a[i] = twice(b[i]); }
/* idempotent */
static void writes_what_it_gets(void) { LOOP out(&a[i], b[i]); }
/* idempotent */
static void writes_before(void) { LOOP { a[i] = i + 1; relax(&a[i], 3); } }
/* idempotent */
static void reads_a_variable(void) { LOOP a[i] = get_b(i); }
/* idempotent */
static void reads_a_level(void) { LOOP a[i] = get_level() * b[i]; }
/* idempotent */
static void copies(void) { LOOP copy(&a[i], &b[i]); }
/* idempotent */
static void fills_rows(void) { LOOP fill(g[i], b[i], M); }
/* idempotent */
static void sums_rows(void) { LOOP a[i] = sum(g[i], M); }
/* idempotent */
static void copies_rows(void) { LOOP { double t[M]; copy_row(t, g[i]); a[i] = t[0] + t[M - 1]; } }
/* idempotent */
static void scratch(void) { LOOP { double t = b[i]; bump(&t); relax(&t, 2); a[i] = t; } }
/* idempotent */
static void scratch_array(void) { LOOP { double t[M]; fill(t, b[i], M); scale(t, M); a[i] = sum(t, M); } }
/* idempotent */
static void mathematics(void) { LOOP root(&a[i], b[i]); }
/* idempotent */
static void two_files_on(void) { LOOP outer_out(&a[i], b[i]); }
/* idempotent */
static void in_circles(void) { LOOP even(&a[i], i % 5); }
/* idempotent */
static void further_and_further(void) { LOOP walks(g[i], M); }
/* idempotent */
static void calls_back_harmlessly(void) { LOOP a[i] = call_back_harmless(i); }
/* idempotent */
static void may_end_the_program(void) { LOOP complains(&a[i], b[i]); }
/* idempotent */
static void its_own_scratch(void) { LOOP a[i] = with_scratch(b[i]); }
/* idempotent, reported undo */
static void reads_a_result(void) { LOOP { copy(&a[i], &b[i]); pair_sum((double[2]){a[i], b[i]}); } }
static __attribute__((noinline)) void between(double *to, double x) { out(to, x); }
/* idempotent */
static void by_a_function_of_this_file(void) { LOOP between(&a[i], b[i]); }

/* --- it cannot, unless old values are saved ---------------------------------------------------------- */
/* undo */
static void updates(void) { LOOP bump(&a[i]); }
/* undo */
static void updates_two_files_on(void) { LOOP outer_bump(&a[i]); }
/* undo */
static void updates_rows(void) { LOOP scale(g[i], M); }
/* undo */
static void covers_too_little(void) { LOOP { a[i] = b[i]; pair_sum(&a[i]); } }
/* undo */
static void reads_what_lies_behind(void) { LOOP { a[i] = b[i]; shift(&a[i]); } }
/* undo */
static void copies_its_neighbour(void) { LOOP copy(&a[i], &a[i + 1]); }
/* undo */
static void reads_then_calls(void) { LOOP { c[i] = a[i]; out(&a[i], b[i]); } }
/* undo */
static void callee_reads_what_is_written(void) { LOOP a[i] = get_a(i + 1) + 1; }
/* undo */
static void conditionally(void) { LOOP maybe_bump(&a[i], i & 1); }
/* undo */
static void exchanges(void) { LOOP swap(&a[i], &b[i]); }
/* idempotent */
static void two_results(void) { LOOP last_of_two(&a[i], &c[i], b[i]); }
/* undo */
static void reads_afterwards(void) { LOOP { c[i] = a[i]; between(&a[i], b[i]); } }
/* undo */
static void by_a_pointer_it_got(void) { LOOP *slot(i) += 1; }

/* --- not at all, or nobody can know ------------------------------------------------------------------ */
/* undo */
static void counts(void) { _Pragma("omp parallel for num_threads(1)") for (int i = 0; i < N; i++) tick(); }
/* undo */
static void counts_for_itself(void) {
    _Pragma("omp parallel for num_threads(1)")
    for (int i = 0; i < N; i++) a[i] = own_count();
}
/* undo */
static void turns_of_each_thread(void) { LOOP turn(); }
/* undo */
static void level_is_read_before(void) {
    _Pragma("omp parallel for num_threads(1)")
    for (int i = 0; i < N; i++) { a[i] = level; set_level(i); }
}
/* undo */
static void level_is_read_by_another(void) {
    _Pragma("omp parallel for num_threads(1)")
    for (int i = 0; i < N; i++) { a[i] = get_level(); outer_level(i); }
}
/* idempotent, reported undo */
static void keeps_and_uses(void) { LOOP { a[i] = 1; keep(&a[i], i); through_kept(i); } }
/* opaque */
static void through_a_pointer(void) { LOOP pointer(&a[i]); }
/* undo, reported opaque */
static void gives_a_pointer(void) { LOOP calls_pointer(bump, &a[i]); }
/* idempotent, reported opaque */
static void of_another_compiler(void) { LOOP unknown(&a[i], b[i]); }
/* idempotent, reported opaque */
static void of_another_compiler_two_on(void) { LOOP calls_the_unknown_too(&a[i]); }
/* opaque */
static void prints(void) { LOOP { a[i] = 1; print(b[i]); } }
/* opaque */
static void writes_volatile(void) { LOOP volatile_write(&a[i]); }
/* opaque */
static void adds_atomically(void) { LOOP atomic_add(&a[i]); }
/* undo */
static void by_number(void) { LOOP bump_number((uintptr_t)&a[i]); }
/* undo */
static void reads_by_number(void) { LOOP { b[i] = get_number((uintptr_t)&a[i]); a[i] = b[i] + 1; } }
/* undo */
static void by_structure(void) { LOOP bump_box((struct box){&a[i]}); }
/* undo */
static void behind_a_row(void) { LOOP bump_behind(&rows[i]); }
/* idempotent, reported undo */
static void out_behind_a_row(void) { LOOP out_behind(&rows[i], b[i]); }
/* undo */
static void calls_back(void) { LOOP a[i] = call_back(i); }
/* undo, reported opaque */
static void many_arguments(void) { LOOP bump_all(2, &a[i], &b[i]); }
/* idempotent */
static void is_chosen(void) { LOOP chosen(&a[i], b[i]); }

double back(int i) { return hidden[i] += 1; }
double back_harmless(int i) { return hidden[i] + 1; }

int main(void) {
    for (int i = 0; i < N; i++) {
        a[i] = b[i] = i + 1;
        rows[i] = malloc(sizeof(double));
        *rows[i] = i;
    }
    values(); writes_what_it_gets(); writes_before(); reads_a_variable(); reads_a_level(); copies();
    fills_rows(); sums_rows(); copies_rows(); scratch(); scratch_array(); mathematics(); two_files_on();
    in_circles(); further_and_further(); calls_back_harmlessly(); may_end_the_program();
    its_own_scratch(); reads_a_result(); by_a_function_of_this_file(); updates();
    updates_two_files_on(); updates_rows(); covers_too_little(); reads_what_lies_behind();
    copies_its_neighbour(); reads_then_calls(); callee_reads_what_is_written(); conditionally();
    exchanges(); two_results(); reads_afterwards(); by_a_pointer_it_got(); counts();
    counts_for_itself(); turns_of_each_thread(); level_is_read_before(); level_is_read_by_another();
    keeps_and_uses(); through_a_pointer(); gives_a_pointer(); of_another_compiler();
    of_another_compiler_two_on(); prints(); writes_volatile(); adds_atomically(); by_number();
    reads_by_number();
    by_structure(); behind_a_row(); out_behind_a_row(); calls_back(); many_arguments(); is_chosen();
    double s = 0;
    for (int i = 0; i < N; i++) s += a[i] + b[i] + c[i] + g[i][M - 1] + hidden[i] + *rows[i];
    printf("%.10e %d %g\n", s, count, level);
}
