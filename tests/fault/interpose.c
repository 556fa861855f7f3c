/* An interposer (LD_PRELOAD) that makes one call of a program fail, for every call in turn.
 *
 * It runs main() again and again in children of its own, without loading the program anew: once as it
 * is, which counts the calls and keeps what was written, then once for each N with the N-th call
 * failing. Every child works in an empty folder. Allowed is: exit code 7 (for memory; 5 for files),
 * nothing left in the folder and no memory left allocated by the program itself; or success with the
 * same bytes in the same files and on standard output. Everything else is printed and makes exit 1.
 *
 *   FAULT_KIND   own (allocations by the program), libs (by the libraries), write, short, sync, rename;
 *                order: nothing fails, but a loss of power at any time, with writes in any order between
 *                two syncs, would leave whole files only: a file has the bytes of its last sync when it
 *                gets its name and at the end, and every folder was synced after its last new name
 *   FAULT_STEP   every how many (1); FAULT_FROM, FAULT_TO  the first and the last
 *   FAULT_REST   1: all calls from the N-th on fail, not only that one
 *   FAULT_DIR    an existing folder to work in
 *   FAULT_MAY    exit codes that are allowed besides, separated by commas: of libraries that end the
 *                process themselves
 *   FAULT_FONT   1: files of a successful run may differ: fontconfig takes another font without memory
 *                for its own, and tells nobody
 *   FAULT_SECONDS  standard output tells seconds: it is not compared
 *   FAULT_TRACE  1: where the call was made, as addresses in the program
 *
 * The last line is `N failed of M calls, K findings`. Works with glibc, one thread. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ftw.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void __libc_free(void *p);

enum { OWN = 1, LIBS, WRITE, SHORT, SYNC, RENAME, ORDER };
static const char *const kinds[] = {"",     "own",    "libs",  "write", "short",
                                    "sync", "rename", "order", NULL};

/* What a child tells. */
static struct told {
    long calls; /* of the kind */
    long live;  /* blocks of the program's own that are still allocated, -1: main did not return */
    int failed; /* whether a call was made to fail */
    void *trace[24];
    int depth;
    long findings; /* order */
    char found[600];
} * told;

static int kind, active, rest, tracing;
static long fail_at; /* 0: none */
static uintptr_t text_begin, text_end;

/* ---- which calls ---- */

static int is_own(const void *caller) {
    return (uintptr_t)caller >= text_begin && (uintptr_t)caller < text_end;
}

static int fails(void) {
    if (!active) return 0;
    long n = ++told->calls;
    if (!fail_at || n < fail_at || (n > fail_at && !rest)) return 0;
    if (!told->failed && tracing) {
        active = 0;
        told->depth = backtrace(told->trace, 24);
        active = 1;
    }
    told->failed = 1;
    return 1;
}

static int memory_fails(const void *caller) {
    return active && (kind == OWN || kind == LIBS) && is_own(caller) == (kind == OWN) && fails();
}

/* ---- the program's own blocks, to find those that it does not give back ---- */

enum { SLOTS = 1 << 20 };
static void *blocks[SLOTS];
static pid_t counted; /* children of the program (readers of arrays) end without giving back */
#define GONE ((void *)1)

static size_t slot_of(const void *p) {
    return ((uintptr_t)p >> 4) * 0x9E3779B97F4A7C15u >> 44;
}

static void *keep(void *p, const void *caller) {
    if (!p || !active || !is_own(caller) || getpid() != counted) return p;
    size_t i = slot_of(p);
    while (blocks[i] && blocks[i] != GONE) i = (i + 1) % SLOTS;
    blocks[i] = p;
    told->live++;
    return p;
}

static void forget(const void *p) {
    if (!p || !active || getpid() != counted) return;
    for (size_t i = slot_of(p); blocks[i]; i = (i + 1) % SLOTS)
        if (blocks[i] == p) {
            blocks[i] = GONE;
            told->live--;
            return;
        }
}

void *malloc(size_t n) {
    const void *caller = __builtin_return_address(0);
    if (memory_fails(caller)) return errno = ENOMEM, NULL;
    return keep(__libc_malloc(n), caller);
}

void *calloc(size_t n, size_t size) {
    const void *caller = __builtin_return_address(0);
    if (memory_fails(caller)) return errno = ENOMEM, NULL;
    return keep(__libc_calloc(n, size), caller);
}

void *realloc(void *p, size_t n) {
    const void *caller = __builtin_return_address(0);
    if (memory_fails(caller)) return errno = ENOMEM, NULL;
    forget(p);
    return keep(__libc_realloc(p, n), caller);
}

void *aligned_alloc(size_t alignment, size_t n) {
    const void *caller = __builtin_return_address(0);
    if (memory_fails(caller)) return errno = ENOMEM, NULL;
    return keep(__libc_memalign(alignment, n), caller);
}

int posix_memalign(void **out, size_t alignment, size_t n) {
    const void *caller = __builtin_return_address(0);
    if (memory_fails(caller)) return ENOMEM;
    *out = keep(__libc_memalign(alignment, n), caller);
    return *out ? 0 : ENOMEM;
}

void free(void *p) {
    forget(p);
    __libc_free(p);
}

/* ---- files ----
 * The C library's streams do not write through the name `write`: a stream of our own stands in for
 * every one that the program makes from a descriptor. */

static int stream_fd[64];
static FILE *stream_of[64];

static ssize_t put(void *cookie, const char *bytes, size_t n) {
    int fd = (int)(intptr_t)cookie;
    if (kind == SHORT && fails()) {
        if (n > 1 && told->failed == 1) {
            told->failed = 2; /* half of it, and the rest finds the disk full */
            rest = 1;
            return write(fd, bytes, n / 2);
        }
        return errno = ENOSPC, 0;
    }
    if (kind == WRITE && fails()) return errno = told->calls % 2 ? ENOSPC : EIO, 0;
    return write(fd, bytes, n);
}

static int go(void *cookie, off64_t *offset, int whence) {
    off64_t to = lseek64((int)(intptr_t)cookie, *offset, whence);
    if (to >= 0) *offset = to;
    return to >= 0 ? 0 : -1;
}

static int shut(void *cookie) {
    int fd = (int)(intptr_t)cookie;
    for (int i = 0; i < 64; i++)
        if (stream_of[i] && stream_fd[i] == fd) stream_of[i] = NULL;
    return close(fd);
}

FILE *fdopen(int fd, const char *mode) {
    FILE *(*real)(int, const char *) = (FILE * (*)(int, const char *)) dlsym(RTLD_NEXT, "fdopen");
    if (!active || (kind != WRITE && kind != SHORT) || *mode != 'w') return real(fd, mode);
    for (int i = 0; i < 64; i++) {
        if (stream_of[i]) continue;
        stream_of[i] =
            fopencookie((void *)(intptr_t)fd, mode,
                        (cookie_io_functions_t){.write = put, .seek = go, .close = shut});
        stream_fd[i] = fd;
        return stream_of[i];
    }
    return NULL;
}

int fileno(FILE *stream) {
    for (int i = 0; i < 64; i++)
        if (stream_of[i] == stream) return stream_fd[i];
    int (*real)(FILE *) = (int (*)(FILE *))dlsym(RTLD_NEXT, "fileno");
    return real(stream);
}

/* ---- order: what is on the disk for certain ---- */

enum { INODES = 256 };
static struct inode {
    dev_t device;
    ino_t number;
    uint64_t
        hash; /* of a file, as it was synced; of a folder: 1, names were added since its last sync */
} inodes[INODES];
static size_t n_inodes;

static struct inode *inode_of(const struct stat *st) {
    for (size_t i = 0; i < n_inodes; i++)
        if (inodes[i].device == st->st_dev && inodes[i].number == st->st_ino) return &inodes[i];
    if (n_inodes == INODES) _exit(98);
    inodes[n_inodes] = (struct inode){st->st_dev, st->st_ino, 0};
    return &inodes[n_inodes++];
}

static uint64_t hash_of(const char *path) {
    FILE *f = fopen(path, "rb");
    uint64_t h = 1469598103934665603u;
    for (int c = 0; f && (c = getc(f)) != EOF;) h = (h ^ (uint64_t)c) * 1099511628211u;
    if (f) fclose(f);
    return f ? h : 0;
}

static void find(const char *what, const char *name) {
    if (!told->findings++) snprintf(told->found, sizeof told->found, "%s: %s", name, what);
}

static void note_sync(int fd) {
    struct stat st;
    char path[40];
    if (kind != ORDER || !active || fstat(fd, &st) != 0) return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    inode_of(&st)->hash = S_ISREG(st.st_mode) ? hash_of(path) : 0;
}

static void note_name(const char *path) {
    char folder[4200];
    struct stat st;
    if (kind != ORDER || !active) return;
    told->calls++;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && inode_of(&st)->hash != hash_of(path))
        find("has its name before its bytes are synced", path);
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    snprintf(slash ? slash + 1 : folder, 2, ".");
    if (stat(folder, &st) == 0) inode_of(&st)->hash = 1;
}

static int look_at(const char *path, const struct stat *st, int type, struct FTW *walk) {
    (void)type, (void)walk;
    uint64_t hash = inode_of(st)->hash;
    if (S_ISDIR(st->st_mode) && hash) find("has names that were not synced", path);
    if (S_ISREG(st->st_mode) && hash != hash_of(path)) find("has bytes that were not synced", path);
    return 0;
}

int fsync(int fd) {
    struct stat st;
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    /* that of a directory is a courtesy which not every file system knows */
    if (kind == SYNC && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fails())
        return errno = EIO, -1;
    note_sync(fd);
    return real(fd);
}

int rename(const char *from, const char *to) {
    int (*real)(const char *, const char *) =
        (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    if (kind == RENAME && fails()) return errno = EACCES, -1;
    int bad = real(from, to);
    if (!bad) note_name(to);
    return bad;
}

int link(const char *from, const char *to) {
    int (*real)(const char *, const char *) =
        (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "link");
    if (kind == RENAME && fails()) return errno = EACCES, -1;
    int bad = real(from, to);
    if (!bad) note_name(to);
    return bad;
}

int linkat(int a, const char *from, int b, const char *to, int flags) {
    int (*real)(int, const char *, int, const char *, int) =
        (int (*)(int, const char *, int, const char *, int))dlsym(RTLD_NEXT, "linkat");
    if (kind == RENAME && fails()) return errno = EACCES, -1;
    int bad = real(a, from, b, to, flags);
    if (!bad) note_name(to);
    return bad;
}

int mkdir(const char *path, mode_t mode) {
    int (*real)(const char *, mode_t) = (int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir");
    int bad = real(path, mode);
    if (!bad) note_name(path);
    return bad;
}

/* ---- the children ---- */

typedef int main_function(int, char **, char **);

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk) {
    (void)st, (void)type, (void)walk;
    return remove(path);
}

/* A fresh folder `name` under the one given. */
static void fresh(const char *dir, const char *name, char out[4096]) {
    snprintf(out, 4096, "%s/%s", dir, name);
    nftw(out, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (mkdir(out, 0777) != 0) {
        perror(out);
        _exit(99);
    }
}

static int run(main_function *real, int argc, char **argv, char **envp, const char *dir,
               const char *name, long n, int *status) {
    char folder[4096], path[4200];
    fresh(dir, name, folder);
    *told = (struct told){.live = 0};
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return 0;
    if (child == 0) {
        struct rlimit limit = {120, 120}, none = {0, 0};
        setrlimit(RLIMIT_CPU, &limit);
        setrlimit(RLIMIT_CORE, &none);
        for (int fd = 1; fd <= 2; fd++) {
            snprintf(path, sizeof path, "%s/%s.%s", dir, name, fd == 1 ? "stdout" : "stderr");
            int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
            dup2(to, fd);
            close(to);
        }
        if (chdir(folder) != 0) _exit(99);
        fail_at = n;
        counted = getpid();
        active = 1;
        int code = real(argc, argv, envp);
        active = 0;
        if (kind == ORDER) nftw(".", look_at, 16, FTW_PHYS);
        long live = told->live;
        told->live = -1;
        fflush(NULL); /* as exit would */
        told->live = live;
        _exit(code);
    }
    return waitpid(child, status, 0) == child;
}

/* ---- judging ---- */

static int same_bytes(const char *a, const char *b) {
    FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
    int same = f && g;
    for (int c = 0; same && c != EOF;) {
        c = getc(f);
        same = c == getc(g);
    }
    if (f) fclose(f);
    if (g) fclose(g);
    return same;
}

static int count_files(const char *folder, char *first, size_t size) {
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
            if (!n++) snprintf(first, size, "%s", e->d_name);
        }
    if (d) closedir(d);
    return n;
}

static int same_folders(const char *a, const char *b, char *which, size_t size) {
    DIR *d = opendir(a);
    int same = 1, n = 0;
    for (struct dirent *e; d && same && (e = readdir(d));) {
        char x[4600], y[4600];
        struct stat st;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        snprintf(x, sizeof x, "%s/%s", a, e->d_name);
        snprintf(y, sizeof y, "%s/%s", b, e->d_name);
        n++;
        if (strstr(e->d_name, ".log.csv")) continue; /* has seconds in it */
        if (stat(x, &st) == 0 && S_ISREG(st.st_mode) && !same_bytes(x, y)) {
            same = 0;
            snprintf(which, size, "%s", e->d_name);
        }
    }
    if (d) closedir(d);
    char ignored[300];
    if (same && count_files(b, ignored, sizeof ignored) != n) {
        same = 0;
        snprintf(which, size, "number of files");
    }
    return same;
}

/* Files that are left in b stand in a with the same bytes: memory ran out after they were complete. */
static int are_complete(const char *a, const char *b, char *which, size_t size) {
    DIR *d = opendir(b);
    int good = 1;
    for (struct dirent *e; d && good && (e = readdir(d));) {
        char x[4600], y[4600];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        snprintf(x, sizeof x, "%s/%s", a, e->d_name);
        snprintf(y, sizeof y, "%s/%s", b, e->d_name);
        /* a checkpoint is there to go on from */
        good =
            strstr(e->d_name, ".log.csv") || strstr(e->d_name, ".checkpoint") || same_bytes(x, y);
        if (!good) snprintf(which, size, "%s", e->d_name);
    }
    if (d) closedir(d);
    return good;
}

static int is_allowed(int code) {
    const char *may = getenv("FAULT_MAY");
    for (; may && *may; may++) {
        if (strtol(may, NULL, 10) == code) return 1;
        if (!(may = strchr(may, ','))) break;
    }
    return code == (kind <= LIBS ? 7 : 5);
}

/* NULL when all is well. */
static const char *judge(const char *dir, int status, long baseline, char *text, size_t size) {
    char a[4200], b[4200], name[300] = "";
    if (WIFSIGNALED(status)) {
        int mark = 128 + WTERMSIG(status);
        snprintf(text, size, "killed by signal %d", WTERMSIG(status));
        if (!is_allowed(mark)) return text;
    }
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    snprintf(a, sizeof a, "%s/as-it-is", dir);
    snprintf(b, sizeof b, "%s/failing", dir);
    if (code == 0) {
        if (!getenv("FAULT_FONT") && !same_folders(a, b, name, sizeof name)) {
            snprintf(text, size, "exit 0, but other files: %s", name);
            return text;
        }
        snprintf(a, sizeof a, "%s/as-it-is.stdout", dir);
        snprintf(b, sizeof b, "%s/failing.stdout", dir);
        if (!getenv("FAULT_SECONDS") && !same_bytes(a, b))
            return "exit 0, but other bytes on standard output";
    } else if (!WIFSIGNALED(status) && !is_allowed(code)) {
        snprintf(text, size, "exit %d", code);
        return text;
    } else if (!are_complete(a, b, name, sizeof name)) {
        snprintf(text, size, "left a file behind: %s", name);
        return text;
    }
    if (told->live > baseline && kind == OWN) {
        snprintf(text, size, "%ld blocks not freed (%ld without a failure)", told->live, baseline);
        return text;
    }
    return NULL;
}

static void show(const char *dir, long n, const char *what) {
    char path[4200], line[400] = "";
    snprintf(path, sizeof path, "%s/failing.stderr", dir);
    FILE *f = fopen(path, "r");
    if (f) {
        if (!fgets(line, sizeof line, f)) line[0] = 0;
        fclose(f);
    }
    line[strcspn(line, "\n")] = 0;
    printf("call %ld: %s; it said: %s\n", n, what, line);
    if (told->depth) {
        printf("  at");
        for (int i = 0; i < told->depth; i++)
            if (is_own(told->trace[i]))
                printf(" 0x%lx", (long)((uintptr_t)told->trace[i] - text_begin));
        printf("\n");
    }
}

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtol(text, NULL, 10) : otherwise;
}

static main_function *program;

static int every(int argc, char **argv, char **envp) {
    const char *dir = getenv("FAULT_DIR");
    int status = 0;
    unsetenv("LD_PRELOAD");
    void *warm[2];
    tracing = (int)setting("FAULT_TRACE", 0);
    if (tracing) backtrace(warm, 2);
    rest = 0;
    if (!run(program, argc, argv, envp, dir, "as-it-is", 0, &status) || !WIFEXITED(status) ||
        WEXITSTATUS(status) != setting("FAULT_CODE", 0)) {
        printf("without a failure: status %d\n", status);
        return 1;
    }
    if (kind == ORDER) {
        if (told->findings) printf("%s\n", told->found);
        printf("0 failed of %ld calls, %ld findings\n", told->calls, told->findings);
        fflush(stdout);
        return told->findings != 0;
    }
    long calls = told->calls, baseline = told->live, findings = 0, failed = 0;
    long step = setting("FAULT_STEP", 1), last = setting("FAULT_TO", calls), shown = 0;
    for (long n = setting("FAULT_FROM", 1); n <= last && n <= calls; n += step) {
        char text[600];
        rest = (int)setting("FAULT_REST", 0);
        if (!run(program, argc, argv, envp, dir, "failing", n, &status)) return 1;
        failed += told->failed != 0;
        const char *what = judge(dir, status, baseline, text, sizeof text);
        if (!what) continue;
        findings++;
        if (shown++ < setting("FAULT_SHOWN", 20)) show(dir, n, what);
    }
    printf("%ld failed of %ld calls, %ld findings\n", failed, calls, findings);
    fflush(stdout);
    return findings != 0;
}

static int find_text(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uintptr_t end =
                info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
            if (!text_begin) text_begin = info->dlpi_addr;
            if (end > text_end) text_end = end;
        }
    return 1; /* the program itself is the first */
}

int __libc_start_main(main_function *real, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

int __libc_start_main(main_function *real, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
    typedef int start(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                      void *);
    start *begin = (start *)dlsym(RTLD_NEXT, "__libc_start_main");
    const char *name = getenv("FAULT_KIND");
    for (int i = 1; name && kinds[i]; i++)
        if (strcmp(name, kinds[i]) == 0) kind = i;
    if (!kind) return begin(real, argc, argv, init, fini, rtld_fini, stack_end);
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    dl_iterate_phdr(find_text, NULL);
    program = real;
    return begin(every, argc, argv, init, fini, rtld_fini, stack_end);
}
