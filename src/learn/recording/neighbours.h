/* learn, inside: states of an array that no column says, from those beside them that some column does. */
#ifndef CLSI_NEIGHBOURS_H
#define CLSI_NEIGHBOURS_H

#include "system/system.h"

/* Which elements of arrays stand beside which; const once created. */
typedef struct clsi_neighbours {
    size_t nz, n_names;
    struct clsi_element *element; /* (n_names) everything with indices that a start can name */
    size_t n_filled;
    unsigned char *filled; /* (nz) 1: its neighbours tell where it is */
    size_t *start;         /* (nz + 1) of the entries of a row: second differences in space */
    size_t *column;
    double *entry;
    size_t *root; /* (nz) the first state of the same array */
    double *most; /* (nz) of that array: what second differences are at most */
} clsi_neighbours;

/* A value that is known at some time, and its name. */
typedef struct clsi_known_value {
    const char *name;
    double value;
} clsi_known_value;

/* hidden (nz). *out is NULL where no array has hidden states among three others that `is_said`. */
cls_status clsi_neighbours_create(const cls_system *s, const unsigned char *hidden,
                                  int (*is_said)(void *context, const char *name), void *context,
                                  clsi_neighbours **out, cls_error *error);
void clsi_neighbours_free(clsi_neighbours **neighbours);
/* What the known ones (n) say about the others, into `more` (room for nz); their number, SIZE_MAX: no memory. */
size_t clsi_neighbours_fill(const clsi_neighbours *b, size_t n, const clsi_known_value *known,
                            clsi_known_value *more);
/* Takes the size of second differences from one more state z (nz); that of state e, 0: it has none. */
void clsi_neighbours_weigh(clsi_neighbours *b, const double *z);
double clsi_neighbours_size(const clsi_neighbours *b, size_t e);

#endif
