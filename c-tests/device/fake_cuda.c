/* The driver's library of fake_plugin.c's device: executes PTX text one instruction at a time, on the
 * process's own memory. It knows the instructions that promp's kernels use; another one ends the program.
 * FAKE_CUDA_BAD=name: stores of that kernel are wrong. Tells at the end what was launched. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, REGISTERS = 32, MOST = 128, OPERANDS = 6 };

static const char *const NAMES[] = {
    "ld.param.u64", "ld.param.u32", "ld.global.u64", "ld.global.v2.u64", "st.global.u64", "st.global.v2.u64",
    "mov.u32", "mov.u64", "mov.b64", "cvt.u64.u32", "add.u32", "add.u64", "mad.lo.u32", "mul.wide.u32",
    "mul.lo.u64", "and.b32", "or.b64", "xor.b64", "shl.b32", "shl.b64", "shr.u32", "shr.u64", "setp.ge.u32",
    "setp.ge.u64", "setp.ne.u32", "setp.eq.u64", "bra", "shfl.sync.down.b32", "ret"};
enum op {
    LD_PARAM64, LD_PARAM32, LD, LD2, ST, ST2,
    MOV32, MOV64, MOVB64, CVT, ADD32, ADD64, MAD32, MUL_WIDE,
    MUL64, AND32, OR64, XOR64, SHL32, SHL64, SHR32, SHR64, GE32,
    GE64, NE32, EQ64, BRA, SHFL, RET, OPS};

/* What an operand is: a register of a class, a constant, a parameter, a coordinate. */
struct operand { char kind; uint64_t value, offset; };
struct instruction { enum op op; int guard, n; struct operand o[OPERANDS]; };
struct kernel {
    char name[32];
    char params[4][16];
    int count, n;
    struct instruction code[MOST];
    long launches;
};
struct lane { uint64_t r[3][REGISTERS]; int pc; unsigned tid; };

static struct kernel kernels[8];
static int loaded;

static _Noreturn void stop(const char *what, const char *text) {
    fprintf(stderr, "fake_cuda: %s: %s\n", what, text);
    abort();
}

static int class_of(char c) {
    const char *at = strchr("prd", c);
    if (!c || !at) stop("register", &c);
    return at - "prd";
}

static struct operand parse(struct kernel *k, char *s, char labels[MOST][16], int *places, int n_labels) {
    struct operand o = {0};
    char *plus = strchr(s, '+');
    if (plus) o.offset = strtoull(plus + 1, 0, 0), *plus = 0;
    if (!strncmp(s, "%ctaid", 6)) o.kind = 'c';
    else if (!strncmp(s, "%nctaid", 7)) o.kind = 'g';
    else if (!strncmp(s, "%tid", 4)) o.kind = 't';
    else if (!strncmp(s, "%ntid", 5)) o.kind = 'n';
    else if (*s == '%') o.kind = '0' + class_of(s[1]), o.value = atoi(s + 2);
    else if (*s >= '0' && *s <= '9') o.kind = 'i', o.value = strtoull(s, 0, 0);
    else {
        for (int i = 0; i < k->count; i++)
            if (!strcmp(k->params[i], s)) o.kind = 'a', o.value = i;
        for (int i = 0; i < n_labels; i++)
            if (!strcmp(labels[i], s)) o.kind = 'i', o.value = places[i];
        if (!o.kind) stop("operand", s);
    }
    return o;
}

/* A line at a time; labels stand alone on theirs. */
int cuModuleLoadData(size_t *module, const char *text) {
    struct kernel *k = &kernels[loaded];
    char labels[MOST][16], *lines[MOST];
    int places[MOST], n_labels = 0, n = 0;
    char *copy = strdup(text), *entry = strstr(copy, ".entry ");
    if (!entry || sscanf(entry, ".entry %31[a-z_]", k->name) != 1) stop("no kernel", text);
    for (char *p = entry; (p = strstr(p, ".param ")) && p < strchr(entry, ')'); p++)
        if (sscanf(p, ".param .u%*d %15[a-z]", k->params[k->count]) == 1) k->count++;
    for (char *l = strtok(strchr(entry, '{') + 1, "\n"); l && *l != '}'; l = strtok(0, "\n")) {
        while (*l == ' ') l++;
        char *end = l + strlen(l) - 1;
        if (*l == '.' || !*l) continue;
        if (*end == ':') {
            *end = 0;
            places[n_labels] = n;
            strcpy(labels[n_labels++], l);
        } else if (*end == ';') {
            *end = 0;
            lines[n++] = l;
        } else stop("line", l);
    }
    for (int i = 0; i < n; i++) {
        struct instruction *in = &k->code[i];
        char *l = lines[i];
        in->guard = -1;
        if (*l == '@') in->guard = atoi(l + 3), l = strchr(l, ' ') + 1;
        char *name = strsep(&l, " ");
        for (in->op = 0; in->op < OPS && strcmp(NAMES[in->op], name); in->op++) {}
        if (in->op == OPS) stop("unknown instruction", name);
        for (char *o; l && (o = strsep(&l, ","));) {
            /* Brackets and braces only group. */
            char plain[32], *to = plain;
            for (; *o; o++)
                if (!strchr("[]{} ", *o)) *to++ = *o;
            *to = 0;
            in->o[in->n++] = parse(k, plain, labels, places, n_labels);
        }
    }
    k->n = n;
    *module = ++loaded;
    free(copy);
    return 0;
}

int cuModuleGetFunction(size_t *function, size_t module, const char *name) {
    *function = module;
    return strcmp(kernels[module - 1].name, name) ? 500 : 0;
}

struct grid { unsigned block, blocks, threads; void **params; };

static uint64_t get(struct lane *l, const struct operand *o, const struct grid *g) {
    switch (o->kind) {
    case 'c': return g->block;
    case 'g': return g->blocks;
    case 'n': return g->threads;
    case 't': return l->tid;
    case 'i': return o->value;
    default: return l->r[o->kind - '0'][o->value] + o->offset;
    }
}

static uint64_t *register_of(struct lane *l, const struct operand *o) {
    return o->kind >= '0' && o->kind <= '2' ? &l->r[o->kind - '0'][o->value] : 0;
}

/* Runs a lane to its end, or to where it waits for the others of its warp: then true. */
static int advance(struct kernel *k, struct lane *l, const struct grid *g, int bad) {
    for (;; l->pc++) {
        const struct instruction *in = &k->code[l->pc];
        if (in->guard >= 0 && !l->r[0][in->guard]) continue;
        const struct operand *o = in->o;
#define V(i) get(l, &o[i], g)
        uint64_t *to = register_of(l, &o[0]), *second = register_of(l, &o[1]);
        switch (in->op) {
        case LD_PARAM64: *to = *(uint64_t *)g->params[o[1].value]; break;
        case LD_PARAM32: *to = *(uint32_t *)g->params[o[1].value]; break;
        case LD: *to = *(uint64_t *)V(1); break;
        case LD2: {
            uint64_t *from = (uint64_t *)V(2);
            if ((uintptr_t)from % 16) stop("misaligned", k->name);
            *to = from[0], *second = from[1];
            break;
        }
        case ST: *(uint64_t *)V(0) = V(1) ^ bad; break;
        case ST2: {
            uint64_t *at = (uint64_t *)V(0);
            at[0] = V(1), at[1] = V(2) ^ bad;
            break;
        }
        case MOV32: case CVT: *to = (uint32_t)V(1); break;
        case MOV64: *to = V(1); break;
        case MOVB64:
            if (o->kind == '2') *to = (uint32_t)V(1) | V(2) << 32;
            else {
                uint64_t v = V(2);
                *to = (uint32_t)v, *second = v >> 32;
            }
            break;
        case ADD32: *to = (uint32_t)(V(1) + V(2)); break;
        case ADD64: *to = V(1) + V(2); break;
        case MAD32: *to = (uint32_t)(V(1) * V(2) + V(3)); break;
        case MUL_WIDE: *to = (uint64_t)(uint32_t)V(1) * (uint32_t)V(2); break;
        case MUL64: *to = V(1) * V(2); break;
        case AND32: *to = (uint32_t)(V(1) & V(2)); break;
        case OR64: *to = V(1) | V(2); break;
        case XOR64: *to = V(1) ^ V(2); break;
        case SHL32: *to = (uint32_t)(V(1) << V(2)); break;
        case SHL64: *to = V(1) << V(2); break;
        case SHR32: *to = (uint32_t)V(1) >> V(2); break;
        case SHR64: *to = V(1) >> V(2); break;
        case GE32: *to = (uint32_t)V(1) >= (uint32_t)V(2); break;
        case GE64: *to = V(1) >= V(2); break;
        case NE32: *to = (uint32_t)V(1) != (uint32_t)V(2); break;
        case EQ64: *to = V(1) == V(2); break;
        case BRA: l->pc = V(0) - 1; break;
        case SHFL: return 1;
        case RET: return 0;
        default: stop("instruction", k->name);
        }
    }
}

static void warp(struct kernel *k, const struct grid *g, unsigned first, int bad) {
    static _Thread_local struct lane lanes[LANES];
    for (int i = 0; i < LANES; i++) lanes[i].pc = 0, lanes[i].tid = first + i;
    for (;;) {
        int waiting = 0;
        for (int i = 0; i < LANES; i++) waiting += advance(k, &lanes[i], g, bad);
        if (!waiting) return;
        uint64_t value[LANES];
        const struct instruction *in = &k->code[lanes[0].pc];
        for (int i = 0; i < LANES; i++) {
            const unsigned from = i + get(&lanes[i], &in->o[2], g);
            if (waiting != LANES || lanes[i].pc != lanes[0].pc) stop("lanes have diverged", k->name);
            value[i] = get(&lanes[from < LANES ? from : i], &in->o[1], g);
        }
        for (int i = 0; i < LANES; i++) lanes[i].r[1][in->o[0].value] = value[i], lanes[i].pc++;
    }
}

int cuLaunchKernel(size_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra) {
    struct kernel *k = &kernels[function - 1];
    const char *wrong = getenv("FAKE_CUDA_BAD");
    k->launches++;
    if (gy != 1 || gz != 1 || by != 1 || bz != 1 || bx % LANES) return 1;
    for (unsigned b = 0; b < gx; b++)
        for (unsigned t = 0; t < bx; t += LANES)
            warp(k, &(struct grid){b, gx, bx, params}, t, wrong && !strcmp(wrong, k->name));
    return 0;
}

int cuCtxSynchronize(void) { return 0; }

static __attribute__((destructor)) void tell(void) {
    for (struct kernel *k = kernels; k < kernels + loaded; k++)
        fprintf(stderr, "%s: %ld launches\n", k->name, k->launches);
}
