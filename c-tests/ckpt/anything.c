/* Does whatever programs do between regions, drawn by a seed: anything SEED STEPS FOLDER. What it prints depends on nothing else: neither on addresses, times
   and ids, nor on how often a part of it was done again. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 24, MAPS = 6, FILES = 6, STREAMS = 4, NAMES = 6, PAGE = 4096 };

static uint64_t seed, sum = 1469598103934665603u;
static uint64_t draw(void) { return (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33; }
static uint64_t below(uint64_t n) { return draw() % n; }
static void mix(uint64_t v) { sum = (sum ^ v) * 1099511628211u; }
static void mix_bytes(const void *at, size_t n)
{
    for (size_t i = 0; i < n; i++) mix(((const unsigned char *)at)[i]);
}

/* Memory. */
static struct { unsigned char *at; size_t size; } block[BLOCKS], map[MAPS];

static void heap(void)
{
    int i = below(BLOCKS);
    size_t size = below(4) ? below(3000) + 1 : below(400000) + 1, old = block[i].size;
    switch (below(4)) {
    case 0:
        free(block[i].at), block[i].at = NULL, block[i].size = 0;
        break;
    case 1:
        block[i].at = realloc(block[i].at, size), block[i].size = size;
        if (size > old) memset(block[i].at + old, draw(), size - old);
        break;
    case 2:
        if (old) memset(block[i].at + below(old), draw(), 1);
        break;
    default:
        mix_bytes(block[i].at, old < 5000 ? old : 5000);
    }
}

static void pages(void)
{
    int i = below(MAPS);
    size_t n = (below(40) + 2) * PAGE;
    if (!map[i].at) {
        map[i].at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        map[i].size = n;
    }
    unsigned char *at = map[i].at + below(map[i].size / PAGE) * PAGE;
    switch (below(7)) {
    case 0:
        munmap(map[i].at, map[i].size), map[i].at = NULL, map[i].size = 0;
        break;
    case 1:
        map[i].at = mremap(map[i].at, map[i].size, n, MREMAP_MAYMOVE), map[i].size = n;
        break;
    case 2:
        madvise(at, PAGE, MADV_DONTNEED);
        break;
    case 3:
        mprotect(at, PAGE, PROT_READ);
        mix(at[5]);
        mprotect(at, PAGE, PROT_READ | PROT_WRITE);
        break;
    case 4:
        mprotect(at, PAGE, PROT_NONE), mprotect(at, PAGE, PROT_READ | PROT_WRITE);
        break;
    case 5:
        for (size_t k = 0; k < map[i].size; k += PAGE) mix(map[i].at[k + 7]);
        break;
    default:
        at[7] += draw(), at[5] ^= draw(), at[PAGE - 1] = draw();
    }
}

static int deep(int n)
{
    volatile char frame[3000];
    frame[n % 3000] = n;
    return n ? deep(n - 1) + frame[n % 3000] : 0;
}

/* Files. */
static char name[64];
static const char *pick(void)
{
    snprintf(name, sizeof name, "n%d", (int)below(NAMES));
    return name;
}

static int file[FILES] = { -1, -1, -1, -1, -1, -1 };
static void descriptors(void)
{
    static const int flags[] = { O_RDWR | O_CREAT, O_RDWR | O_CREAT | O_TRUNC, O_WRONLY | O_CREAT | O_APPEND, O_RDONLY, O_RDWR | O_CREAT | O_EXCL };
    int i = below(FILES);
    char text[600];
    ssize_t n;
    if (file[i] < 0) {
        file[i] = open(pick(), flags[below(5)], 0644);
        mix(file[i] < 0 ? errno : 0);
        return;
    }
    memset(text, 'a' + below(26), sizeof text);
    switch (below(9)) {
    case 0: close(file[i]), file[i] = -1; break;
    case 1: mix(write(file[i], text, below(sizeof text))); break;
    case 2: mix(pwrite(file[i], text, below(100), below(2000))); break;
    case 3: mix(lseek(file[i], below(1000), below(3))); break;
    case 4: n = read(file[i], text, below(sizeof text)); mix(n); if (n > 0) mix_bytes(text, n); break;
    case 5: mix(ftruncate(file[i], below(1500))); break;
    case 6: {
        int k = below(FILES);
        if (file[k] < 0) file[k] = dup(file[i]);
        else dup2(file[i], file[k]);
        break;
    }
    case 7: {
        struct iovec v[2] = { { text, below(50) }, { text, below(50) } };
        mix(writev(file[i], v, 2));
        break;
    }
    default: mix(lseek(file[i], 0, SEEK_CUR)), mix(lseek(file[i], 0, SEEK_CUR));
    }
}

static FILE *stream[STREAMS];
static void streams(void)
{
    static const char *modes[] = { "r", "w", "a", "r+", "w+", "a+" };
    int i = below(STREAMS);
    char text[300];
    if (!stream[i]) {
        stream[i] = fopen(pick(), modes[below(6)]);
        mix(stream[i] ? 1 : errno);
        if (stream[i] && below(3) == 0) setvbuf(stream[i], NULL, below(2) ? _IOLBF : _IONBF, 0);
        return;
    }
    switch (below(7)) {
    case 0: fclose(stream[i]), stream[i] = NULL; break;
    case 1: mix(fprintf(stream[i], "%d lines of %s\n", (int)below(1000), "text")); break;
    case 2: mix(fseek(stream[i], below(500), SEEK_SET)); break;
    case 3:
        fseek(stream[i], 0, SEEK_CUR);
        if (fgets(text, sizeof text, stream[i])) mix_bytes(text, strlen(text));
        if (below(3) == 0) ungetc('u', stream[i]), mix(getc(stream[i]));
        clearerr(stream[i]);
        fseek(stream[i], 0, SEEK_CUR);
        break;
    case 4: mix(fflush(stream[i])); break;
    case 5: mix(ftell(stream[i])); break;
    default: if ((stream[i] = freopen(pick(), modes[below(6)], stream[i])) == NULL) mix(errno);
    }
}

static void names(void)
{
    char other[64], from[64];
    struct stat s;
    strcpy(from, pick());
    pick();
    snprintf(other, sizeof other, below(3) ? "%s" : "%s.b", name);
    switch (below(8)) {
    case 0: mix(rename(from, other) ? errno : 0); break;
    case 1: mix(unlink(from) ? errno : 0); break;
    case 2: mix(link(from, other) ? errno : 0); break;
    case 3: mix(symlink(from, other) ? errno : 0); break;
    case 4: mix(truncate(from, below(800)) ? errno : 0); break;
    case 5: mix(stat(from, &s) ? errno : s.st_size); break;
    case 6: mix(mkdir("d", 0755) ? errno : 0); break;
    default: mix(rmdir("d") ? errno : 0);
    }
}

static void temporary(void)
{
    char path[] = "tXXXXXX", text[50] = "";
    int fd = mkstemp(path);
    FILE *f = tmpfile();
    fprintf(f, "%d", (int)below(100));
    rewind(f);
    mix(fread(text, 1, sizeof text, f));
    fclose(f);
    mix(write(fd, text, below(50)));
    unlink(path);
    close(fd);
}

/* What a file holds that is mapped, and changed in memory only. */
static void mapped(void)
{
    int fd = open(pick(), O_RDONLY);
    struct stat s;
    if (fd < 0) return;
    fstat(fd, &s);
    if (s.st_size > 0) {
        unsigned char *p = mmap(NULL, s.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        p[below(s.st_size)] ^= 1;
        mix_bytes(p, s.st_size);
        munmap(p, s.st_size);
    }
    close(fd);
}

/* The process. */
static volatile int signals;
static void count(int sig) { signals += sig; }
static void process(void)
{
    char text[100];
    sigset_t set, pending;
    struct rlimit l;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    switch (below(9)) {
    case 0: mix(umask(below(2) ? 022 : 027) ); break;
    case 1: snprintf(text, sizeof text, "V%d", (int)below(4)), setenv(text, below(2) ? "one" : "another", 1); break;
    case 2: snprintf(text, sizeof text, "V%d", (int)below(4)); if (getenv(text)) mix_bytes(getenv(text), strlen(getenv(text))); break;
    case 3: signal(SIGUSR1, below(4) ? count : SIG_IGN), raise(SIGUSR1), mix(signals); break;
    case 4: sigprocmask(SIG_BLOCK, &set, NULL); break;
    case 5: signal(SIGUSR2, count), raise(SIGUSR2), mix(signals); break;
    case 6: sigpending(&pending), mix(sigismember(&pending, SIGUSR2)), signal(SIGUSR2, count), sigprocmask(SIG_UNBLOCK, &set, NULL), mix(signals); break;
    case 7: getrlimit(RLIMIT_CORE, &l), mix(l.rlim_cur), l.rlim_cur = below(3), setrlimit(RLIMIT_CORE, &l); break;
    default: prctl(PR_GET_NAME, text), mix_bytes(text, strlen(text)), snprintf(text, sizeof text, "name%d", (int)below(10)), prctl(PR_SET_NAME, text);
    }
}

static int inside;
static void folder(void)
{
    char *at;
    if (inside) inside = chdir("..") != 0;
    else mkdir("e", 0755), inside = chdir("e") == 0;
    at = getcwd(NULL, 0);
    if (inside) mix_bytes(strrchr(at, '/'), 2);
    free(at);
}

static void children(void)
{
    char text[100] = "";
    int status;
    pid_t child;
    FILE *f;
    fflush(NULL);
    switch (below(3)) {
    case 0: mix(system("exit 3")); break;
    case 1:
        if ((f = popen("echo from a child", "r"))) {
            if (fgets(text, sizeof text, f)) mix_bytes(text, strlen(text));
            mix(pclose(f));
        }
        break;
    default:
        if ((child = fork()) == 0) _exit(below(100));
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        mix(WEXITSTATUS(status));
    }
}

/* Libraries' own state. */
static void library(void)
{
    static char text[] = "to be taken apart";
    static char *rest;
    time_t day = below(1000) * 86400;
    void *m;
    switch (below(7)) {
    case 0: mix(rand()); break;
    case 1: srand(below(100)); break;
    case 2: mix(lrand48() ^ random()); break;
    case 3: {
        char copy[sizeof text], *p;
        strcpy(copy, text);
        for (p = strtok_r(copy, " ", &rest); p; p = strtok_r(NULL, " ", &rest)) mix_bytes(p, strlen(p));
        break;
    }
    case 4: mix(gmtime(&day)->tm_yday); break;
    case 5: setlocale(LC_ALL, below(2) ? "C" : "C.UTF-8"), mix(localeconv()->decimal_point[0]); break;
    default:
        if ((m = dlopen("libm.so.6", RTLD_NOW))) {
            mix(((double (*)(double))dlsym(m, "cbrt"))(27.0) * 1000);
            dlclose(m);
        }
    }
}

/* Threads. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static omp_lock_t omp;
static omp_nest_lock_t nest;
static int nested, held, job, done, helper_is_there;
static pthread_t helper;
static pthread_key_t key;
static __thread int own;
static int per_thread;
#pragma omp threadprivate(per_thread)

static void *helps(void *arg)
{
    pthread_mutex_lock(&mutex);
    while (job >= 0) {
        if (job) own += job, done = own, job = 0, pthread_cond_broadcast(&changed);
        pthread_cond_wait(&changed, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *once(void *arg)
{
    pthread_setspecific(key, arg);
    pthread_mutex_lock(&mutex);
    own += *(int *)arg;
    *(int *)pthread_getspecific(key) = own + 1;
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void threads(void)
{
    int v = below(100), value;
    void *end;
    pthread_t t;
    switch (below(8)) {
    case 0:
        pthread_create(&t, NULL, once, &v);
        pthread_join(t, &end);
        mix(*(int *)end);
        break;
    case 1:
        if (!helper_is_there) helper_is_there = pthread_create(&helper, NULL, helps, NULL) == 0;
        pthread_mutex_lock(&mutex);
        job = v + 1;
        pthread_cond_broadcast(&changed);
        while (job) pthread_cond_wait(&changed, &mutex);
        mix(done);
        pthread_mutex_unlock(&mutex);
        break;
    case 2: sem_post(&semaphore); break;
    case 3: mix(sem_trywait(&semaphore)), sem_getvalue(&semaphore, &value), mix(value); break;
    case 4: if (held) omp_unset_lock(&omp); else omp_set_lock(&omp); mix(held = !held); break;
    case 5: if (nested && below(2)) omp_unset_nest_lock(&nest), nested--; else omp_set_nest_lock(&nest), nested++; mix(nested); break;
    case 6: pthread_rwlock_wrlock(&lock), own += v, mix(own), pthread_rwlock_unlock(&lock); break;
    default: own++, mix(own);
    }
}

/* Regions. */
static double array[4096];
static void region(void)
{
    int threads = below(4) + 1, kind = below(7), n = 0;
    double s = 0;
    uint64_t x = draw();
    switch (kind) {
    case 0:
#pragma omp parallel for num_threads(threads)
        for (int i = 0; i < 4096; i++) array[i] = array[i] * 0.5 + (double)(x % 1000 + i);
        break;
    case 1:
#pragma omp parallel for schedule(dynamic, 64) num_threads(threads) reduction(+ : n)
        for (int i = 0; i < 4096; i++) n += (int)array[i] % 7;
        break;
    case 2:
#pragma omp parallel num_threads(threads)
        {
            per_thread += 1;
#pragma omp single
            for (int i = 0; i < 20; i++)
#pragma omp task firstprivate(i)
                array[i * 100] += i;
        }
        break;
    case 3:
#pragma omp parallel sections num_threads(threads)
        {
#pragma omp section
            array[1] += 1;
#pragma omp section
            array[2] += 2;
        }
        break;
    case 4:
#pragma omp parallel for ordered schedule(static, 3) num_threads(threads)
        for (int i = 0; i < 60; i++) {
#pragma omp ordered
            sum = (sum ^ i) * 31;
        }
        break;
    case 5:
#pragma omp parallel num_threads(threads) reduction(+ : n)
        {
            unsigned char *p = malloc(1000 + omp_get_thread_num());
            memset(p, omp_get_thread_num(), 1000);
            n += p[999];
#pragma omp barrier
            free(p);
        }
        break;
    default:
#pragma omp parallel for collapse(2) schedule(guided) num_threads(threads)
        for (int i = 0; i < 64; i++)
            for (int j = 0; j < 64; j++) array[i * 64 + j] += (i ^ j);
    }
    for (int i = 0; i < 4096; i += 37) s += array[i];
    mix((uint64_t)s), mix(n);
    for (volatile int i = 0; i < 100000; i++) continue;
}

static void output(void)
{
    char text[40];
    switch (below(3)) {
    case 0: printf("%d: %016llx\n", (int)below(100), (unsigned long long)sum); break;
    case 1: printf("a part "); break;
    default: fflush(stdout); mix(write(1, text, snprintf(text, sizeof text, "written %d\n", (int)below(100))));
    }
}

/* But temporary ones: a process that is killed in mkstemp may leave it. */
static int by_name(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }
static void all_files(void)
{
    char *all[200], text[4096];
    int n = 0;
    DIR *d = opendir(".");
    for (struct dirent *e; n < 200 && (e = readdir(d));)
        if (!strchr(".t", e->d_name[0])) all[n++] = strdup(e->d_name);
    closedir(d);
    qsort(all, n, sizeof *all, by_name);
    for (int i = 0; i < n; i++) {
        int fd = open(all[i], O_RDONLY);
        ssize_t m = fd < 0 ? -errno : read(fd, text, sizeof text);
        uint64_t before = sum;
        mix(m);
        if (m > 0) mix_bytes(text, m);
        printf("%s %zd %016llx\n", all[i], m, (unsigned long long)(sum ^ before));
        close(fd);
    }
}

int main(int argc, char **argv)
{
    static void (*const does[])(void) = { heap, heap, pages, descriptors, descriptors, streams, streams, names, temporary, mapped, process, folder, children,
                                          library, threads, threads, output };
    enum { KINDS = sizeof does / sizeof *does };
    seed = atoi(argv[1]) * 7919u + 17;
    if (argc < 4 || chdir(argv[3])) return 2;
    sem_init(&semaphore, 0, 0);
    pthread_key_create(&key, NULL);
    omp_init_lock(&omp);
    omp_init_nest_lock(&nest);
    signal(SIGUSR1, count);
    signal(SIGUSR2, count);
    for (int step = 0, n = atoi(argv[2]); step < n; step++) {
        int which = below(KINDS);
        if (getenv("SHOW")) fprintf(stderr, "%d %d %016llx\n", step, which, (unsigned long long)sum);
        does[which]();
        if (below(20) == 0) mix(deep(below(300)));
        region();
    }
    if (helper_is_there) {
        pthread_mutex_lock(&mutex);
        job = -1;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
        pthread_join(helper, NULL);
    }
    for (int i = 0; i < STREAMS; i++)
        if (stream[i]) fclose(stream[i]);
    for (int i = 0; i < BLOCKS; i++) mix_bytes(block[i].at, block[i].size);
    all_files();
    if (inside && chdir("..") == 0) all_files();
    else if (chdir("e") == 0) all_files();
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
