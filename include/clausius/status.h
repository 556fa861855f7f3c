/* Status codes and error sentences. Every function of the library that can fail returns a
 * cls_status and, where the caller gives one, fills a cls_error with a sentence for a person: what
 * is wrong, where, and what to do. The library never prints, never exits and has no globals. */
#ifndef CLAUSIUS_STATUS_H
#define CLAUSIUS_STATUS_H

#include <stddef.h>

#if defined(__GNUC__)
#define CLS_API          __attribute__((visibility("default")))
#define CLS_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define CLS_API
#define CLS_PRINTF(f, a)
#endif

/* A status that is not looked at is a warning, for every function that returns one: it is the type
 * that is marked, which gcc (10 and later) and clang spell differently. (`-pedantic` before C23 knows
 * no such attribute: __extension__ says that it is meant.) */
#if defined(__clang__)
#define CLS_MUST_USE __attribute__((warn_unused_result))
#elif defined(__GNUC__) && __GNUC__ >= 10 && !defined(__cplusplus)
#define CLS_MUST_USE [[nodiscard]]
#else
#define CLS_MUST_USE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* name, pinned number, meaning. The number is also the exit code of the command-line program. */
#define CLS_STATUS_LIST(X)                                                                         \
    X(OK, 0, "ok")                                                                                 \
    X(CHECK, 1, "a check failed")                                                                  \
    X(USAGE, 2, "usage")                                                                           \
    X(DATA, 3, "bad input data")                                                                   \
    X(SYSTEM, 4, "bad model or system file")                                                       \
    X(IO, 5, "input or output failed")                                                             \
    X(NUMERIC, 6, "numeric failure")                                                               \
    X(MEMORY, 7, "out of memory")                                                                  \
    X(INTERRUPTED, 130, "interrupted")

__extension__ typedef enum CLS_MUST_USE cls_status {
#define CLS_STATUS_ENUM(name, number, text) CLS_##name = number,
    CLS_STATUS_LIST(CLS_STATUS_ENUM)
#undef CLS_STATUS_ENUM
} cls_status;

/* Filled on failure by every function that takes one (a NULL is allowed and means: not wanted).
 * line and column are 1-based, 0 where they mean nothing. */
typedef struct cls_error {
    cls_status status;
    int line, column;
    char message[2048];
} cls_error;

/* "ok", "usage", ... */
CLS_API const char *cls_status_text(cls_status status);

/* For programs that bound or test the memory of the library: define it in the program, and every
 * allocation calls it first, with the number of bytes. Where it returns 0 the allocation fails, and the
 * call that needed it returns CLS_MEMORY. The library does not define it. (ELF systems only.) */
CLS_API int cls_allocation_hook(size_t bytes);

/* The version of the library, "0.1.0". */
CLS_API const char *cls_version(void);

/* The word of the list nearest to `word` (edit distance, at most a third of its letters wrong), or
 * NULL when none is near: for "did you mean". */
CLS_API const char *cls_nearest_word(const char *word, size_t n, const char *const *words);

/* Whether the pattern means this element of an array. 2, as it is written: u[*] of u[3], T[*], T[*,*], T[*][*] and
 * T[1,*] of T[1][2], cell[*]_q of cell[3]_q. 1, by the name that the array has in files of arrays: u of u[3], cell_q
 * and cell_q[*] of cell[3]_q; where names of both kinds are found, the first are meant. 0: neither. The indices in
 * the place of stars go to `index`, *n of them, at most CLS_MOST_STARS; both may be NULL. */
#define CLS_MOST_STARS 6
CLS_API int cls_means_element(const char *pattern, const char *name, long *index, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
