/* Counts what the program allocates, where that can be done: not under the sanitizers, which
 * bring their own malloc. Include once, in the file with main. */
#ifndef CLAUSIUS_TESTS_ALLOCATIONS_H
#define CLAUSIUS_TESTS_ALLOCATIONS_H

#include <stdlib.h>

static volatile size_t allocations; /* else the compiler believes that malloc leaves it as it was */

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 1
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n) {
    allocations++;
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    allocations++;
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
    allocations++;
    return __libc_realloc(p, n);
}
#else
#define COUNTS_ALLOCATIONS 0
#endif

#endif
