/* Allocation with overflow checks, growing arrays, growing texts. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* madvise */
#endif
#include "base/base.h"
#include "base/locale.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Called before every allocation, where the program defines it (status.h); its address is NULL where
 * it does not. */
#if defined(__ELF__)
#pragma weak cls_allocation_hook
#define ALLOWED(bytes) (!cls_allocation_hook || cls_allocation_hook(bytes))
#else
#define ALLOWED(bytes) 1
#endif

/* Of this thread, as errno is (decision 205). */
static _Thread_local unsigned long failures;

unsigned long clsi_failures(void) {
    return failures;
}

cls_status clsi_failed_since(unsigned long before, cls_status status, cls_error *error) {
    return failures == before ? status : clsi_no_memory(error);
}

/* Every failure leaves ENOMEM in errno, which clsi_fail looks at. */
static void *refuse(void) {
    failures++;
    errno = ENOMEM;
    return NULL;
}

static void *counted(void *block) {
    if (!block) failures++;
    return block;
}

void *clsi_calloc(size_t n, size_t size) {
    if (!n) n = 1;
    if (!size) size = 1;
    if (n > PTRDIFF_MAX / size || !ALLOWED(n * size)) return refuse();
    return counted(calloc(n, size));
}

void *clsi_malloc(size_t size) {
    if (size > PTRDIFF_MAX || !ALLOWED(size)) return refuse();
    return counted(malloc(size ? size : 1));
}

void *clsi_realloc(void *old, size_t size) {
    if (size > PTRDIFF_MAX || !ALLOWED(size)) return refuse();
    return counted(realloc(old, size ? size : 1));
}

void *clsi_aligned(size_t size) {
    if (size > PTRDIFF_MAX - CLSI_ALIGNMENT || !ALLOWED(size)) return refuse();
    size_t blocks = (size + CLSI_ALIGNMENT - 1) / CLSI_ALIGNMENT;
    return counted(aligned_alloc(CLSI_ALIGNMENT, (blocks ? blocks : 1) * CLSI_ALIGNMENT));
}

/* Pages of 2 MB where the system has them: filled for the first time, ordinary ones cost as much as parsing a third of
 * the text that goes there. A hint: what comes of it is not asked. Rounded outwards, so that blocks side by side stay one range. */
void clsi_expect_use(void *block, size_t size) {
#ifdef MADV_HUGEPAGE
    enum { PAGE = 4096, WORTH = 1 << 20 };
    if (!block || size < WORTH) return;
    uintptr_t begin = (uintptr_t)block & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)block + size + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    int reason = errno;
    (void)!madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    errno = reason;
#else
    (void)block, (void)size;
#endif
}

char *clsi_strndup(const char *s, size_t n) {
    char *copy = clsi_malloc(n + 1);
    if (!copy) return NULL;
    memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}

char *clsi_strdup(const char *s) {
    return clsi_strndup(s, strlen(s));
}

int clsi_grow(void *array_pointer, size_t *capacity, size_t need, size_t element_size) {
    if (need <= *capacity) return 1;
    size_t room = *capacity ? *capacity : 16;
    while (room < need) {
        if (room > SIZE_MAX / 2) return refuse() != NULL;
        room *= 2;
    }
    if (room > SIZE_MAX / element_size) return refuse() != NULL;
    void *old;
    memcpy(&old, array_pointer, sizeof old);
    void *grown = clsi_realloc(old, room * element_size);
    if (!grown) return 0;
    memcpy(array_pointer, &grown, sizeof grown);
    *capacity = room;
    return 1;
}

void clsi_text_append_n(clsi_text *t, const char *s, size_t n) {
    if (t->failed || !clsi_grow(&t->data, &t->capacity, t->length + n + 1, 1)) {
        t->failed = 1;
        return;
    }
    memcpy(t->data + t->length, s, n);
    t->length += n;
    t->data[t->length] = 0;
}

void clsi_text_append(clsi_text *t, const char *s) {
    clsi_text_append_n(t, s, strlen(s));
}

void clsi_text_printf(clsi_text *t, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = clsi_vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || t->failed || !clsi_grow(&t->data, &t->capacity, t->length + (size_t)n + 1, 1)) {
        t->failed = 1;
    } else {
        /* positions of arguments (%1$s) take memory, each time */
        t->failed = clsi_vsnprintf(t->data + t->length, (size_t)n + 1, format, again) != n;
        if (!t->failed) t->length += (size_t)n;
    }
    va_end(again);
}

char *clsi_text_take(clsi_text *t) {
    if (!t->failed && !t->data) clsi_text_append_n(t, "", 0);
    if (t->failed) {
        clsi_text_clear(t);
        return NULL;
    }
    char *data = t->data;
    *t = (clsi_text){0};
    return data;
}

void clsi_text_clear(clsi_text *t) {
    free(t->data);
    *t = (clsi_text){0};
}
