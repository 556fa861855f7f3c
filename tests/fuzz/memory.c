/* Files of a fuzz target that are memory: the calls by which the library opens, reads and writes files are wrapped at
 * link time (cmake/fuzz.cmake) and never reach the system for /dev/fuzz/0.csv to 2.csv. System calls took most of an execution. */
#include "fuzz.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

enum { FIRST = 1 << 20, OPEN = 8 };
#define PREFIX "/dev/fuzz/"

typedef struct place {
    char *bytes; /* the target's, or of open_memstream: then owned */
    size_t size;
    int owned;
} place;
static place places[FUZZ_FILES];
static struct {
    int is, of;
    size_t at;
} opened[OPEN];

static int place_of(const char *path) {
    if (strncmp(path, PREFIX, sizeof PREFIX - 1) != 0) return -1;
    PROMISE(path[sizeof PREFIX - 1] >= '0' && path[sizeof PREFIX - 1] < '0' + FUZZ_FILES);
    return path[sizeof PREFIX - 1] - '0';
}

const char *fuzz_file(int k, const uint8_t *data, size_t size) {
    static const char *const names[FUZZ_FILES] = {PREFIX "0.csv", PREFIX "1.csv", PREFIX "2.csv"};
    if (places[k].owned) free(places[k].bytes);
    places[k] = (place){(char *)data, size, 0};
    return names[k];
}

const char *fuzz_bytes(int k, size_t *size) {
    *size = places[k].size;
    return places[k].bytes;
}

#define WRAP(type, name, arguments)                                                                \
    type __real_##name arguments;                                                                  \
    type __wrap_##name arguments;                                                                  \
    type __wrap_##name arguments

static FILE *reading(int k, size_t at) {
    place *p = &places[k];
    if (at < p->size) return fmemopen(p->bytes + at, p->size - at, "rb");
    return fmemopen(NULL, 1, "rb"); /* one zero byte: empty files are refused before */
}

WRAP(int, open, (const char *path, int flags, ...)) {
    int k = place_of(path);
    if (k < 0) {
        va_list args;
        va_start(args, flags);
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
        va_end(args);
        return __real_open(path, flags, mode);
    }
    for (int i = 0; i < OPEN; i++)
        if (!opened[i].is) {
            opened[i].is = 1, opened[i].of = k, opened[i].at = 0;
            return FIRST + i;
        }
    PROMISE(!"every open file is closed");
    return -1;
}

WRAP(int, close, (int fd)) {
    if (fd < FIRST) return __real_close(fd);
    PROMISE(opened[fd - FIRST].is);
    opened[fd - FIRST].is = 0;
    return 0;
}

WRAP(ssize_t, read, (int fd, void *to, size_t n)) {
    if (fd < FIRST) return __real_read(fd, to, n);
    const place *p = &places[opened[fd - FIRST].of];
    size_t at = opened[fd - FIRST].at, left = at < p->size ? p->size - at : 0;
    if (n > left) n = left;
    if (n) memcpy(to, p->bytes + at, n);
    opened[fd - FIRST].at += n;
    return (ssize_t)n;
}

WRAP(int, fstat, (int fd, struct stat *st)) {
    if (fd < FIRST) return __real_fstat(fd, st);
    *st = (struct stat){.st_mode = S_IFREG | 0600,
                        .st_size = (off_t)places[opened[fd - FIRST].of].size};
    return 0;
}

WRAP(int, lstat, (const char *path, struct stat *st)) {
    if (place_of(path) < 0) return __real_lstat(path, st);
    errno = ENOENT;
    return -1;
}

WRAP(int, access, (const char *path, int how)) {
    return place_of(path) < 0 ? __real_access(path, how) : 0;
}

WRAP(FILE *, fdopen, (int fd, const char *mode)) {
    if (fd < FIRST) return __real_fdopen(fd, mode);
    opened[fd - FIRST].is = 0; /* the stream closes it */
    return reading(opened[fd - FIRST].of, opened[fd - FIRST].at);
}

WRAP(FILE *, fopen, (const char *path, const char *mode)) {
    int k = place_of(path);
    if (k < 0) return __real_fopen(path, mode);
    if (mode[0] == 'r') return reading(k, 0);
    if (places[k].owned) free(places[k].bytes);
    places[k] = (place){.owned = 1};
    return open_memstream(&places[k].bytes, &places[k].size);
}

#ifdef CLSI_HAVE_ZIP
#include <zip.h>

WRAP(zip_t *, zip_open, (const char *path, int flags, int *code)) {
    int k = place_of(path);
    if (k < 0) return __real_zip_open(path, flags, code);
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *s = zip_source_buffer_create(places[k].bytes, places[k].size, 0, &error);
    zip_t *z = s ? zip_open_from_source(s, flags, &error) : NULL;
    if (!z && s) zip_source_free(s);
    *code = zip_error_code_zip(&error);
    zip_error_fini(&error);
    return z;
}
#endif
