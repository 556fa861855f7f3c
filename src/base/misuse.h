/* What a caller of the public functions can get wrong without leaving C: NULL where there must be an
 * object, indices beyond the end. Functions with a status say so (CLS_USAGE); the others return what
 * stands for nothing: NULL, 0, nan, CLS_NO_NODE. tests/page/test_misuse.c calls all of them. */
#ifndef CLSI_MISUSE_H
#define CLSI_MISUSE_H

#include "base/base.h"
#include <string.h>

/* In functions with a status: NEED(error, table). */
#define NEED(error, pointer)                                                                       \
    do {                                                                                           \
        if (!(pointer))                                                                            \
            return clsi_fail(error, CLS_USAGE, "%s: `%s` must not be NULL", __func__, #pointer);   \
    } while (0)

/* own: the defaults, over which go the options that the caller's struct has (it may be that of an
 * older header, which ends earlier). */
#define TAKE_OPTIONS(own, options)                                                                 \
    do {                                                                                           \
        if (options)                                                                               \
            memcpy(own, options,                                                                   \
                   (options)->size < sizeof *(own) ? (options)->size : sizeof *(own));             \
    } while (0)

#endif
