/* OpenACC routines and directives used wrongly, as the argument says: each ends the program. */
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair { char a; float b; };

static void present(void) {
    int a[8];
#pragma acc declare present(a)
}
int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    enum { N = 256 };
    char *h = malloc(N);
    void *d = acc_malloc(N);
    struct pair s;
    puts("begun"), fflush(stdout);
    if (!strcmp(what, "map_null")) acc_map_data(0, d, N);
    else if (!strcmp(what, "map_nowhere")) acc_map_data(h, 0, N);
    else if (!strcmp(what, "map_nothing")) acc_map_data(h, d, 0);
    else if (!strcmp(what, "map_twice")) acc_map_data(h, d, N), acc_map_data(h, acc_malloc(N), N);
    else if (!strcmp(what, "unmap_other")) acc_map_data(h, d, N), acc_unmap_data(d);
    else if (!strcmp(what, "unmap_middle")) acc_map_data(h, d, N), acc_unmap_data(h + 8);
    else if (!strcmp(what, "unmap_copied")) acc_copyin(h, N), acc_unmap_data(h);
    else if (!strcmp(what, "shutdown")) acc_shutdown(acc_device_host);
    else if (!strcmp(what, "init_twice")) acc_init(acc_get_device_type());
    else if (!strcmp(what, "present")) present();
    else if (!strcmp(what, "update")) acc_update_self(h, N);
    else if (!strcmp(what, "copyin_nothing")) acc_copyin(h, 0);
    else if (!strcmp(what, "member")) {
#pragma acc enter data create(s.a)
#pragma acc enter data create(s.b)
    } else {
        acc_map_data(h, d, N), acc_unmap_data(h), acc_free(d);
        acc_init(acc_device_host), acc_shutdown(acc_device_host);
    }
    puts("done");
    return 0;
}
