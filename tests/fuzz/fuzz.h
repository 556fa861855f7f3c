/* For the fuzz targets: bytes as text, bytes as a file, and the end when a promise is broken. */
#ifndef CLAUSIUS_TESTS_FUZZ_H
#define CLAUSIUS_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* A copy that ends in NUL (and in what may be read behind it); free() it. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
    char *text = calloc(size + 16, 1);
    PROMISE(text);
    if (size) memcpy(text, data, size);
    return text;
}

/* Every n-th input, chosen by its bytes, for what takes long; with the corpus all of them. */
static inline int fuzz_chosen(const uint8_t *data, size_t size, uint32_t n) {
#ifdef CORPUS
    return (void)data, (void)size, n > 0;
#else
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ data[i]) * 16777619u;
    return (hash ^ hash >> 16) % n == 0;
#endif
}

/* Files of this process without a disk and without a name to clean up; a place has the same name
 * every time. */
enum { FUZZ_FILES = 3 };
typedef struct fuzz_memory {
    int file;
    char path[32];
} fuzz_memory;

static inline const fuzz_memory *fuzz_place(int place) {
    static fuzz_memory all[FUZZ_FILES];
    fuzz_memory *m = &all[place];
    if (!m->path[0]) {
        m->file = memfd_create("fuzz", 0);
        PROMISE(m->file >= 0);
        snprintf(m->path, sizeof m->path, "/proc/self/fd/%d", m->file);
    }
    return m;
}

/* The bytes as a file: its name. */
static inline const char *fuzz_file(int place, const uint8_t *data, size_t size) {
    const fuzz_memory *m = fuzz_place(place);
    PROMISE(ftruncate(m->file, 0) == 0);
    PROMISE(!size || pwrite(m->file, data, size, 0) == (ssize_t)size);
    return m->path;
}

/* What stands in a file now; free() it. */
static inline char *fuzz_bytes(int place, size_t *size) {
    off_t n = lseek(fuzz_place(place)->file, 0, SEEK_END);
    PROMISE(n >= 0);
    char *bytes = malloc((size_t)n + 1);
    PROMISE(bytes && pread(fuzz_place(place)->file, bytes, (size_t)n, 0) == n);
    *size = (size_t)n;
    return bytes;
}

#endif
