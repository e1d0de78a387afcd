// How sorted.c has its rows sorted, too.
#include <string.h>

int by_name(const void *a, const void *b) {
    return strcmp((const char *)a + sizeof(int), (const char *)b + sizeof(int));
}
