/* For the fuzz targets: bytes as text, bytes as a file, and the end when a promise is broken. */
#ifndef CLAUSIUS_TESTS_FUZZ_H
#define CLAUSIUS_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* The bytes as a file of this process; its name, the same every time. */
static inline const char *fuzz_file(const uint8_t *data, size_t size, const char *ending) {
    static char path[64];
    snprintf(path, sizeof path, "/dev/shm/clausius-fuzz-%ld%s", (long)getpid(), ending);
    FILE *f = fopen(path, "wb");
    PROMISE(f);
    if (size) fwrite(data, 1, size, f);
    PROMISE(fclose(f) == 0);
    return path;
}

#endif
