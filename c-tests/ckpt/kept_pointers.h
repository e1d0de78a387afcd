/* Included in front of a program (-include): at its end it says which words of the runtime's data lead into
   the region that rollbacks leave alone, and did not when it began. Such a word goes back with the program's
   memory while what it leads to does not: in another process it leads to something else. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { KEPT_MOST = 64 };
static const uintptr_t kept_base = 0x100000000000, kept_size = (uintptr_t)64 << 30;
static uintptr_t kept_first[KEPT_MOST];
static int kept_count;

static int kept_known(uintptr_t at) {
    for (int i = 0; i < kept_count; i++)
        if (kept_first[i] == at) return 1;
    return 0;
}
static int kept_scan(struct dl_phdr_info *object, size_t size, void *notes) {
    if (!strstr(object->dlpi_name, "libpromp")) return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        const uintptr_t *at = (const uintptr_t *)((object->dlpi_addr + part->p_vaddr + 7) & ~(uintptr_t)7);
        const uintptr_t *end = (const uintptr_t *)(object->dlpi_addr + part->p_vaddr + part->p_memsz);
        for (; at + 1 <= end; at++) {
            uintptr_t to = *(const volatile uintptr_t *)at, offset = (uintptr_t)at - object->dlpi_addr;
            if (to - kept_base >= kept_size || kept_known(offset)) continue;
            if (notes && kept_count < KEPT_MOST) kept_first[kept_count++] = offset;
            else printf("libpromp+%#lx leads to %#lx\n", (long)offset, (long)to);
        }
    }
    return 0;
}
__attribute__((constructor)) static void kept_begin(void) {
    dl_iterate_phdr(kept_scan, (void *)1);
}
__attribute__((destructor)) static void kept_end(void) {
    dl_iterate_phdr(kept_scan, NULL);
}
