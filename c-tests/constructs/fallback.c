/* Memory that an allocator has no room for, from those that it falls back to: aligned as it has promised. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

static int wrong;

static void check(omp_allocator_handle_t of, uintptr_t align, const char *what) {
    /* Blocks of many sizes, none of which is given back: their addresses have nothing in common. */
    for (size_t n = 100; n < 1000; n += 9) {
        void *p = omp_alloc(n, of);
        if (!p || (uintptr_t)p % align) {
            if (!wrong++) printf("%s: %lu bytes are at %p\n", what, (unsigned long)n, p);
        }
    }
}

int main(void) {
    omp_alloctrait_t plain[] = {{omp_atk_alignment, 16}};
    omp_allocator_handle_t other = omp_init_allocator(omp_default_mem_space, 1, plain);
    omp_alloctrait_t to_other[] = {{omp_atk_alignment, 256},
                                   {omp_atk_pool_size, 32},
                                   {omp_atk_fallback, omp_atv_allocator_fb},
                                   {omp_atk_fb_data, (omp_uintptr_t)other}};
    omp_alloctrait_t to_default[] = {{omp_atk_alignment, 256},
                                     {omp_atk_pool_size, 32},
                                     {omp_atk_fallback, omp_atv_default_mem_fb}};
    check(omp_init_allocator(omp_default_mem_space, 4, to_other), 256, "another allocator");
    check(omp_init_allocator(omp_default_mem_space, 3, to_default), 256, "the default");
    if (!wrong) printf("aligned\n");
    return wrong != 0;
}
