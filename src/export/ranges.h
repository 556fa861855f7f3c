/* Names of a large model by arrays: u[1] .. u[1000] is one range of columns, said once. */
#ifndef CLSI_RANGES_H
#define CLSI_RANGES_H

#include "data/arrays.h"
#include "export/export.h"

/* Elements of an array, the last index running fastest, at every `stride`-th place; or one name alone. */
typedef struct clsi_range {
    clsi_elements of; /* axes is 0: a name alone */
    char *ident;      /* of the name without indices */
    const char *unit; /* borrowed; NULL for none */
    size_t first, stride, count;
    int broken; /* the places or units of its elements are no such range: each stands alone */
} clsi_range;

typedef struct clsi_ranges {
    clsi_range *list;
    size_t n, room;
} clsi_ranges;

/* In the order of their first names. 0: no memory. */
int clsi_ranges_find(size_t n, const clsi_label *labels, clsi_ranges *out);
void clsi_ranges_clear(clsi_ranges *r);
/* Enumerators of single names and macros of arrays, PREFIX_KIND_u(i). */
void clsi_append_range_names(clsi_text *out, const clsi_export *e, const char *kind,
                             const clsi_ranges *r);
/* `u[1] .. u[1000]` and `PREFIX_KIND_u(i)`, or a name alone. */
void clsi_append_range(clsi_text *out, const clsi_range *r);
void clsi_append_range_use(clsi_text *out, const clsi_export *e, const char *kind,
                           const clsi_range *r);
/* The function of the header that writes the name of a column, and the longest name's length with its end. */
void clsi_append_column_name(clsi_text *out, const clsi_export *e, const clsi_ranges *r);
size_t clsi_name_room(size_t n, const clsi_label *labels);

#endif
