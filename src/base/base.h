/* base: what every room needs. Errors, text buffers, growing arrays, atomic files, random numbers.
 */
#ifndef CLSI_BASE_H
#define CLSI_BASE_H

#include <clausius/status.h>
#include <stdint.h>
#include <stdio.h>

/* Fills *error (may be NULL) and returns status. */
cls_status clsi_fail(cls_error *error, cls_status status, const char *format, ...) CLS_PRINTF(3, 4);
cls_status clsi_no_memory(cls_error *error);

/* Memory, for the whole library (tools/check-symbols knows no other way), so that every allocation
 * can be made to fail. All return NULL on failure; sizes are checked for overflow; free() them. */
enum { CLSI_ALIGNMENT = 64 };
void *clsi_calloc(size_t n, size_t size);
void *clsi_malloc(size_t size);
void *clsi_realloc(void *old, size_t size);
void *clsi_aligned(size_t size);                /* at a multiple of CLSI_ALIGNMENT */
void clsi_expect_use(void *block, size_t size); /* soon, and of all of it: a hint to the system */
char *clsi_strdup(const char *s);
char *clsi_strndup(const char *s, size_t n);
/* How many allocations of this thread have failed so far. Searches take another way where a candidate
 * cannot be had (another form, a smaller step); without memory that way is no answer. A call that searches
 * keeps the number at its beginning and ends with clsi_failed_since: out of memory if one has failed
 * meanwhile, else `status`. Threads that a call starts tell their failures themselves. */
unsigned long clsi_failures(void);
cls_status clsi_failed_since(unsigned long before, cls_status status, cls_error *error);
/* Makes room for `need` elements: 1 on success, 0 when out of memory (array left as it was). */
int clsi_grow(void *array_pointer, size_t *capacity, size_t need, size_t element_size);

/* A text that grows. `failed` is sticky; check it once at the end. Initialise with {0}. */
typedef struct clsi_text {
    char *data;
    size_t length, capacity;
    int failed;
} clsi_text;
void clsi_text_append(clsi_text *t, const char *s);
void clsi_text_append_n(clsi_text *t, const char *s, size_t n);
void clsi_text_printf(clsi_text *t, const char *format, ...) CLS_PRINTF(2, 3);
char *clsi_text_take(clsi_text *t); /* the caller's, free() it; NULL if anything failed */
void clsi_text_clear(clsi_text *t);

/* Text from a file as it may be shown (shown.c): valid UTF-8 (other bytes taken as Latin-1), control characters but tabs
 * written as \x1b, those that turn the order of letters as \u202e. The caller's to free; NULL without memory. */
char *clsi_shown_text(const char *text, size_t length);
char *clsi_shown_lines(const char *text); /* the same, and ends of lines stay */
int clsi_is_shown(const char *text);      /* on one line, as it is */
size_t clsi_shown_length(const char *text,
                         size_t left); /* of its first character; 0: not to be shown */
int clsi_turns_order(const char *text, size_t left);

/* For tables of names (FNV-1a, spread over the whole). */
static inline size_t clsi_hash_text(const char *s, size_t n) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
    return (size_t)(h ^ h >> 32);
}

/* Numbers, independent of the locale (number.c, shortest.c). Shortest decimal that reads back to the same double
 * ("0.1", not "0.10000000000000001"); at most 24 characters. */
enum { CLSI_NUMBER = 32, CLSI_NUMBER_ROOM = 40 };
void clsi_format_double(double value, char out[CLSI_NUMBER]);
/* The same without NUL: its length. Digits are moved as a block: what is behind it, up to CLSI_NUMBER_ROOM, is written over. */
size_t clsi_write_double(double value, char *out);
/* The decimal number at s, correctly rounded: where it ends, or NULL when there is none. `mark` is
 * the decimal mark. Exponents with e, E, d, D; hexadecimal floats; no blanks, inf or nan. Seven
 * bytes behind the end of the text must be readable. */
const char *clsi_scan_double(const char *s, char mark, double *out);
/* n such numbers with `separator` between them (' ': any blanks; ',' excludes a decimal comma) and blanks around them, all finite, number i into
 * columns[i][at] (NULL: not wanted): where the last one ends, or NULL when they are not all there. */
const char *clsi_scan_row(const char *s, char separator, char mark, size_t n,
                          double *const *columns, size_t at);
int clsi_read_double(const char *text, double *out); /* 1 when all of it is one such number */

/* CLS_IO with the reason (an errno), or CLS_MEMORY where that is what was missing. */
cls_status clsi_cannot_open(const char *path, int reason, cls_error *error);
/* For files that another file names: CLS_IO for a fifo or a device, which could be waited for. */
cls_status clsi_check_regular(const char *path, cls_error *error);
/* A whole file as a NUL-terminated string, at most `limit` bytes; "-" is standard input. */
cls_status clsi_read_file(const char *path, size_t limit, char **data, size_t *length,
                          cls_error *error);

/* A file that appears under its name only when committed (temporary name in the same directory,
 * fsync, rename, fsync of the directory). Path "-" is standard output; devices such as /dev/full are written directly. */
typedef struct clsi_file {
    FILE *stream;
    char *path, *temporary; /* temporary NULL for streams and devices */
    int nameless;           /* there is no name to remove yet */
    int placed;             /* it has its own name already */
} clsi_file;
cls_status clsi_file_open(clsi_file *f, const char *path, cls_error *error);
cls_status clsi_file_commit(clsi_file *f, cls_error *error); /* also checks earlier write errors */
void clsi_file_discard(clsi_file *f);

/* ---- zip.c ---- */

/* An archive on its way into a stream. `offset` counts its bytes so far. */
typedef struct clsi_zip {
    FILE *stream;
    uint64_t offset, n;
    clsi_text directory;
    uint32_t table[8][256];
} clsi_zip;
void clsi_zip_begin(clsi_zip *z, FILE *stream);
/* A file: n_head bytes and n bytes behind them. */
void clsi_zip_add(clsi_zip *z, const char *name, size_t n_head, const void *head, size_t n,
                  const void *data);
/* Keeps a place for a file of `size` bytes, which end at z->offset, in a stream that can seek: where it
 * begins. Filled: the header stands there, with the checksum of the bytes. */
uint64_t clsi_zip_keep(clsi_zip *z, const char *name, uint64_t size);
void clsi_zip_fill(clsi_zip *z, const char *name, uint64_t place, uint64_t size, uint32_t crc);
/* CRC-32 of what had `crc` (0: nothing) with n bytes behind it. */
uint32_t clsi_zip_checksum(const clsi_zip *z, uint32_t crc, const void *bytes, size_t n);
int clsi_zip_end(clsi_zip *z); /* zero: no memory. Frees what it holds */

/* ---- random.c ---- */

/* Normal number `index` of the place (stream, at): a function of its arguments (Philox 4x32-10,
 * Salmon et al. 2011, then Box and Muller), so that it does not matter who asks and when. */
double clsi_random_normal_at(uint64_t seed, uint64_t stream, uint64_t at, uint32_t index);
/* Uniform in (0, 1) of the same place. */
double clsi_random_uniform_at(uint64_t seed, uint64_t stream, uint64_t at, uint32_t index);

/* ---- order.c ---- */

void clsi_sort(size_t n, double *list);     /* ascending; NaN last */
double clsi_median(size_t n, double *list); /* in n steps; the list is reordered; 0 of none */
/* At a share 0..1 of a list in order, n > 0. */
double clsi_quantile(size_t n, const double *sorted, double share);

/* ---- clock.c ---- */

double
clsi_now(void); /* seconds of a clock that never goes back; only differences mean something */

#endif
