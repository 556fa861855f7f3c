/* Of the texts that exported C carries, what a model calls (trim.c). */
#ifndef CLSI_TRIM_H
#define CLSI_TRIM_H

#include "base/base.h"

/* A piece of the source. What is `whole` is written by the export for this model: it stays as it
 * is, and is only looked at for what it calls. */
typedef struct clsi_source_piece {
    const char *text;
    int whole;
} clsi_source_piece;

/* Appends the pieces without comments and without what nothing reaches. Of `switch` and `if`, what
 * only the names in `dead` (NULL at the end) lead to is left out, too; `sure` (or NULL) is what all that
 * is compared with it is. script: CLSI_SCRIPT is defined, and the names in `also` (NULL at the end)
 * are called from elsewhere. */
cls_status clsi_trim_source(size_t n, const clsi_source_piece *pieces, const char *const *dead,
                            const char *sure, int script, const char *const *also, clsi_text *out,
                            cls_error *error);

/* Exported C as it is read: names of its own without clsi_ where they are clear without it, and tabs. Names of the
 * header begin with `prefix`. */
cls_status clsi_shorten_source(const char *text, const char *prefix, clsi_text *out,
                               cls_error *error);

#endif
