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

/* ---- memory.c: files that are memory ---- */
enum { FUZZ_FILES = 3 };
/* The bytes as a file, the caller's as long as it is used: its name, the same every time. */
const char *fuzz_file(int place, const uint8_t *data, size_t size);
/* What stands in a file that was written; the next writing changes it. */
const char *fuzz_bytes(int place, size_t *size);

#endif
