/* Constructs that call functions of other files which are not what they seem. In front of each stands what
   is true of it, and what it is reported as if that is less; for some also what holds when the linker takes
   the definitions of replaced.c, and when a library with those of preloaded.c is preloaded. */
#include "traps.h"
#include <stdlib.h>

double a[N], b[N], c[N];
static struct acts acts = { bump, half };
static double (*const asks[2])(double) = { half, third };

#define LOOP _Pragma("omp parallel for") for (int i = 0; i < N - 3; i++)
#define ALONE _Pragma("omp parallel for num_threads(1)") for (int i = 0; i < N - 3; i++)

/* --- pointers that are kept --------------------------------------------------------------------------- */
/* undo */
static void is_remembered(void) { ALONE { remember(&a[i]); bump_remembered(); } }
/* idempotent, reported undo */
static void is_written_and_remembered(void) { ALONE { remember(&a[i]); a[i] = b[i]; bump_remembered(); } }
/* undo */
static void is_read_where_it_was_kept(void) { ALONE { remember(&a[i]); c[i] = remembered(); a[i] = 1; } }
/* undo */
static void is_filed(void) { LOOP { file(i, &a[i]); bump_filed(i); } }
/* undo */
static void was_filed_before(void) { LOOP { a[i] = b[i]; bump_filed(i); } }
/* undo */
static void reads_what_was_filed(void) { LOOP c[i] = filed(i); }
/* undo */
static void comes_back(void) { LOOP *same(&a[i]) += 1; }
/* idempotent, reported undo */
static void comes_back_and_is_written(void) { LOOP *same(&a[i]) = b[i]; }
/* undo */
static void comes_back_moved(void) { LOOP { a[i] = 1; *one_behind(&a[i]) *= 2; } }
/* undo */
static void of_the_first_call(void) { ALONE first_wins(&a[i]); }
/* undo */
static void in_a_structure(void) {
    LOOP { struct box box = { NULL, 2 }; put_in(&box, &a[i]); bump_in(&box); }
}
/* idempotent, reported undo */
static void out_of_a_structure(void) { LOOP { struct box box = { &a[i], 2 }; out_in(&box, b[i]); } }
/* undo */
static void as_bytes(void) {
    LOOP { double *x = &a[i]; char t[sizeof x]; copy_pointer(t, &x); bump_copied(t); }
}
/* undo */
static void as_a_number(void) { LOOP { note_number(i, (uintptr_t)&a[i]); bump_noted(i); } }
/* idempotent */
static void is_freed(void) { LOOP { double *x = malloc(8); *x = b[i]; a[i] = *x; give_back(x); } }
/* idempotent */
static void is_forgotten(void) { ALONE forgets(&a[i]); }

/* --- what functions keep for themselves --------------------------------------------------------------- */
/* undo */
static void counts_on(void) { ALONE a[i] = next_number(); }
/* undo */
static void looks_into_its_cache(void) { ALONE a[i] = cached(b[i]); }
/* idempotent, reported undo */
static void sets_and_reads(void) { ALONE { set_level(b[i]); a[i] = level; } }
/* undo */
static void reads_and_sets(void) { ALONE { a[i] = level; set_level(b[i]); } }
/* idempotent, reported undo */
static void sets_and_lets_read(void) { ALONE { set_level(b[i]); a[i] = get_level(); } }
/* undo */
static void lets_read_and_sets(void) { ALONE { a[i] = get_level(); set_level(b[i]); } }
/* undo */
static void lets_read_and_writes(void) { ALONE { a[i] = get_level(); level = b[i]; } }
/* undo */
static void reads_cells_and_has_them_written(void) { LOOP { a[i] = cell[i]; write_cell(i, b[i]); } }
/* undo */
static void has_cells_read_and_writes_them(void) { LOOP { a[i] = read_cell(i); cell[i] = b[i]; } }
/* idempotent */
static void has_cells_written(void) { LOOP write_cell(i, b[i]); }
/* undo */
static void has_cells_moved(void) { ALONE both_cells(i); }
/* undo */
static void toggles(void) { ALONE toggle_twice(&a[i]); }
/* undo */
static void raises(void) { ALONE raise_ceiling(b[i]); }
/* idempotent */
static void looks_into_a_table(void) { LOOP a[i] = from_table(i); }
/* idempotent */
static void writes_for_nobody(void) { ALONE last_written(b[i]); }
/* undo */
static void counts_in_the_depth(void) { ALONE a[i] = deep_count(b[i]); }
/* idempotent */
static void is_pure_in_the_depth(void) { LOOP a[i] = pure_deep(b[i]); }
/* undo */
static void means(void) { ALONE a[i] = running_mean(b[i]); }
/* undo */
static void exchanges_levels(void) { ALONE exchange_levels(); }
/* idempotent */
static void has_a_static_square(void) { ALONE a[i] = own_square(b[i]); }

/* --- who is called ------------------------------------------------------------------------------------ */
/* idempotent, reported opaque */
static void of_a_constant_table(void) { LOOP a[i] = asks[i & 1](b[i]); }
/* idempotent, reported opaque */
static void gives_a_harmless_function(void) { LOOP a[i] = apply(half, b[i]); }
/* undo */
static void of_a_structure_of_functions(void) { LOOP act_on(&acts, &a[i]); }
/* undo */
static void acts_as_was_set(void) { ALONE { set_act(bump); act(&a[i]); } }
/* undo */
static void has_two_names(void) { LOOP also_bump(&a[i]); }
/* undo */
static void in_turns(void) { LOOP in_turn(&a[i], i); }
/* idempotent */ /* preloaded: opaque */
static void sorts(void) { LOOP { double t[3] = { b[i], b[i + 1], 7 }; sort_three(t); a[i] = t[1]; } }
/* undo */ /* preloaded: opaque */
static void sorts_and_counts(void) {
    ALONE { double t[3] = { b[i], b[i + 1], 7 }; qsort(t, 3, sizeof *t, compare_and_count); a[i] = t[1]; }
}
/* idempotent, reported opaque */
static void is_not_there(void) { LOOP if (not_there) not_there(&a[i]); else a[i] = b[i]; }
/* idempotent */
static void is_handed_over(void) { LOOP gets_set(&a[i]); }
/* idempotent */
static void is_handed_on(void) { LOOP gets_set_on(&a[i]); }
/* undo */
static void is_handed_what_adds(void) { LOOP gets_more(&a[i]); }
/* opaque */
static void is_handed_what_tells(void) { LOOP gets_told(&a[i]); }
/* opaque */
static void is_handed_both(void) { LOOP gets_both(&a[i]); }
/* opaque */
static void is_handed_another(void) { LOOP gets_another(&a[i]); }
/* idempotent */
static void is_handed_by_its_other_name(void) { LOOP gets_set_too(&a[i]); }
/* opaque */
static void is_handed_any(void) { LOOP gets_any(&a[i], i); }
/* undo, reported opaque */
static void is_handed_from_outside(void) { LOOP gets_from_outside(&a[i]); }
/* idempotent */
static void is_there(void) { LOOP if (there) there(&a[i]); }

/* --- memory behind structures ------------------------------------------------------------------------- */
static struct work one = { b, a, 0, NULL }, same_twice = { a, a + 1, 0, NULL }, listed = { b, c, 0, &one };
static struct work *works[2] = { &one, &listed }, *stack;
static struct plan plan, plans[N];
static struct bits bits[N];
/* undo */
static void adds_members(void) { LOOP add_members(&one, i); }
/* idempotent, reported undo */
static void sets_members(void) { LOOP set_members(&one, i); }
/* undo */
static void sets_members_that_meet(void) { ALONE set_members(&same_twice, i); }
/* idempotent, reported undo */
static void by_value(void) { LOOP set_behind_value(one, i); }
/* undo */
static void by_value_that_meet(void) { ALONE set_behind_value(same_twice, i); }
/* undo */
static void exchanges_members(void) { ALONE { exchange_members(&one); add_members(&one, i); } }
/* undo */
static void goes_through_a_list(void) { LOOP add_in_list(&listed, i); }
/* undo */
static void goes_through_two_pointers(void) { LOOP add_twice_removed(&works[1], i); }
/* undo */
static void counts_in_a_structure(void) { ALONE { count_in(&one); a[i] = one.n; } }
/* undo */
static void scales_a_row(void) { LOOP scale_row_of(&one, i); }
/* undo */
static void makes_plans(void) { ALONE { replan(&plan, i % 7 + 1); a[i] = planned(&plan, i); } }
/* undo */
static void lets_plans_grow(void) {
    ALONE { grow(&plan, i + 1); count_up(&plan); a[i] = planned(&plan, i); }
}
/* undo */
static void has_plans_of_its_own(void) {
    LOOP { replan(&plans[i], 5); count_up(&plans[i]); a[i] = planned(&plans[i], i); }
}
/* undo */
static void frees_its_plans(void) {
    ALONE { free(plan.table); plan.table = NULL; plan.length = 0; replan(&plan, 3); }
}
/* idempotent, reported undo */
static void makes_its_own_plan(void) {
    LOOP { struct plan p = { NULL, 0 }; replan(&p, 9); count_up(&p); a[i] = planned(&p, i); free(p.table); }
}
/* idempotent */
static void has_scratch_in_a_block(void) { LOOP a[i] = of_scratch(&b[i], 3); }
/* undo */
static void pushes(void) { ALONE { push(&stack, c); add_in_list(stack, i); } }
/* undo */
static void pops(void) { ALONE { add_in_list(stack, i); pop(&stack); } }
/* undo */
static void has_one_kernel(void) { LOOP by_the_kernel(&a[i]); }
/* undo */
static void scales_some(void) { ALONE scale_some(&a[i], i % 3); }
/* undo */
static void updates_bits(void) { LOOP bump_bits(&bits[i]); }

/* --- blocks that functions return --------------------------------------------------------------------- */
/* idempotent */
static void works_in_a_new_row(void) { LOOP a[i] = of_a_new_row(&b[i]); }
/* idempotent */
static void works_in_an_own_row(void) { LOOP a[i] = of_an_own_row(&b[i]); }
/* undo */
static void works_in_a_cached_row(void) { ALONE a[i] = of_a_cached_row(&b[i]); }
/* undo */
static void works_in_a_kept_row(void) { ALONE a[i] = of_a_kept_row(&b[i], i); }
/* undo */
static void works_in_a_row_of_its_own(void) { ALONE a[i] = of_a_row_that_is_given(&b[i], &c[i]); }
/* undo */
static void works_in_another_row(void) { ALONE a[i] = of_a_row_inside(&b[i], &c[i]); }

/* --- definitions that the linker may replace ---------------------------------------------------------- */
/* idempotent */ /* replaced: undo */
static void takes_out(void) { LOOP chosen_out(&a[i], b[i]); }
/* undo */ /* replaced: idempotent */
static void takes_in_place(void) { LOOP chosen_in_place(&a[i], b[i]); }
/* idempotent */ /* replaced: undo */
static void takes_a_value(void) { LOOP a[i] = chosen_value(i); }
/* idempotent */ /* replaced: opaque */
static void takes_a_quiet_one(void) { LOOP chosen_quiet(&a[i]); }
/* idempotent */ /* replaced: undo */
static void takes_a_row(void) { ALONE chosen_row(&a[i], &b[i]); }
/* idempotent */ /* replaced: undo */
static void takes_it_two_files_on(void) { LOOP calls_chosen(&a[i], b[i]); }

/* --- definitions that a preloaded library may replace ------------------------------------------------- */
/* idempotent */ /* preloaded: undo */
static void shares_out(void) { LOOP shared_out(&a[i], b[i]); }
/* idempotent */ /* preloaded: undo */
static void shares_a_value(void) { ALONE a[i] = shared_value(b[i]); }
/* idempotent */ /* preloaded: undo */
static void shares_a_row(void) { ALONE a[i] = of_a_shared_row(&b[i]); }
/* idempotent */ /* preloaded: undo */
static void shares_a_pair(void) { LOOP shared_pair(&a[i], &b[i]); }
/* idempotent */ /* preloaded: undo */
static void shares_two_files_on(void) { LOOP shared_through(&a[i], b[i]); }

int main(void) {
    for (int i = 0; i < N; i++) {
        a[i] = b[i] = i + 1;
        file(i, &c[i]);
        cell[i] = i;
    }
    is_remembered(); is_written_and_remembered(); is_read_where_it_was_kept(); is_filed();
    was_filed_before(); reads_what_was_filed(); comes_back(); comes_back_and_is_written();
    comes_back_moved(); of_the_first_call(); in_a_structure(); out_of_a_structure(); as_bytes();
    as_a_number(); is_freed(); is_forgotten(); counts_on(); looks_into_its_cache(); sets_and_reads();
    reads_and_sets(); sets_and_lets_read(); lets_read_and_sets(); lets_read_and_writes();
    reads_cells_and_has_them_written(); has_cells_read_and_writes_them(); has_cells_written();
    has_cells_moved(); toggles(); raises(); looks_into_a_table(); writes_for_nobody();
    counts_in_the_depth(); is_pure_in_the_depth(); means(); exchanges_levels(); has_a_static_square();
    of_a_constant_table(); gives_a_harmless_function(); of_a_structure_of_functions();
    acts_as_was_set(); has_two_names(); in_turns(); sorts(); sorts_and_counts(); is_not_there();
    is_handed_over(); is_handed_on(); is_handed_what_adds(); is_handed_what_tells(); is_handed_both();
    is_handed_another(); is_handed_by_its_other_name(); is_handed_any(); is_handed_from_outside();
    is_there(); takes_out(); takes_in_place(); takes_a_value(); takes_a_quiet_one(); takes_a_row();
    adds_members(); sets_members(); sets_members_that_meet(); by_value(); by_value_that_meet();
    exchanges_members(); goes_through_a_list(); goes_through_two_pointers(); counts_in_a_structure();
    scales_a_row(); makes_plans(); lets_plans_grow(); has_plans_of_its_own(); frees_its_plans();
    makes_its_own_plan(); has_scratch_in_a_block(); pushes(); pops(); has_one_kernel();
    scales_some(); updates_bits();
    works_in_a_new_row(); works_in_an_own_row(); works_in_a_cached_row(); works_in_a_kept_row();
    works_in_a_row_of_its_own(); works_in_another_row(); shares_a_row();
    takes_it_two_files_on(); shares_out(); shares_a_value(); shares_a_pair(); shares_two_files_on();
    double s = 0;
    for (int i = 0; i < N; i++) s += a[i] + b[i] + c[i] + cell[i];
    printf("%.10e %g %g %d\n", s, level, ceiling, flag);
}
