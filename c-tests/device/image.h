/* Included first: registers the program's functions and variables as an image for fake_plugin.c's device. */
#include <stdint.h>
#include <stdlib.h>

struct fake_pair { uintptr_t start, end; };
struct fake_function { const char *name; unsigned short dims[3]; };
/* As mkoffload writes it for nvptx, without any PTX; the device's addresses behind it. */
static struct fake_image {
    const void *objects; unsigned objects_n;
    const char **names; unsigned variables;
    struct fake_function *kernels; unsigned functions;
    struct fake_pair *pairs;
} fake_image;
/* The device's pointers of `declare target link`, in the order of the image's variables. */
static uintptr_t fake_links[8];
#define TABLE(name) extern uintptr_t name[] __attribute__((visibility("hidden")))
TABLE(__offload_func_table);
TABLE(__offload_funcs_end);
TABLE(__offload_var_table);
TABLE(__offload_vars_end);
#ifdef __cplusplus
extern "C"
#endif
void GOMP_offload_register_ver(unsigned, const void *, int, const void *);

static __attribute__((constructor)) void fake_register(void) {
#ifdef OTHER_DEVICE
    enum { TYPE = 8 };
#else
    enum { TYPE = 5 };
#endif
    static uintptr_t *table[4];
    table[0] = __offload_func_table, table[1] = __offload_funcs_end;
    table[2] = __offload_var_table, table[3] = __offload_vars_end;
    fake_image.functions = table[1] - table[0];
    fake_image.variables = (table[3] - table[2]) / 2;
    const unsigned all = fake_image.functions + fake_image.variables + 1;
    fake_image.names = (const char **)calloc(all, sizeof(char *));
    fake_image.kernels = (struct fake_function *)calloc(all, sizeof(struct fake_function));
    for (unsigned i = 0; i < all; i++) {
        fake_image.names[i] = "variable";
        fake_image.kernels[i].name = "kernel";
    }
    fake_image.objects = fake_image.names;
    struct fake_pair *p = fake_image.pairs = (struct fake_pair *)calloc(all, sizeof *p);
    for (uintptr_t *f = table[0]; f < table[1]; f++) *p++ = (struct fake_pair){*f, *f + 1};
    /* The functions are the host's, so the variables are, too; of a link the device has a pointer. */
    uintptr_t *link = fake_links;
    for (uintptr_t *v = table[2]; v < table[3]; v += 2)
        if (v[1] >> 63)
            *p++ = (struct fake_pair){(uintptr_t)link, (uintptr_t)(link + 1)}, link++;
        else
            *p++ = (struct fake_pair){v[0], v[0] + v[1]};
    GOMP_offload_register_ver(0x10001, table, TYPE, &fake_image);
}
