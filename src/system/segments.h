/* Eight segments of a long matrix, eliminated side by side in the lanes of vectors. */
#ifndef CLSI_SEGMENTS_H
#define CLSI_SEGMENTS_H

#include "system/sparse_lu.h"

enum { CLSI_SEGMENTS = 8 };
enum { CLSI_WIDE_MOST = 24 };    /* rows of a separator */
enum { CLSI_BLOCK = 8 };         /* periods whose numbers are fetched together */
enum { CLSI_STRETCH_WALLS = 4 }; /* rows of a separator that machine code reduces */
enum { CLSI_REPEATED = 64 };     /* entries and rows of a period at most */
#define CLSI_PARTLY 0x80000000u  /* a target, or unknowns, that not all lanes have */

/* n periods of machine code: numbers of the first one (of the way back, of the last). `apart`: of the way back x behind
 * the inside; else pointers to CLSI_STRETCH_WALLS rows of separators, and to their tail. Nonzero where there was no
 * number or no pivot. */
typedef long clsi_stretch_run(double *value, double *x, double *block, const void *apart, long n);

/* Rows of the inside that repeat after `period` rows: entries of the matrix and unknowns of all lanes are neighbours
 * of those of the period before (stretch.c). */
typedef struct clsi_stretch {
    size_t period;           /* 0: there is no such stretch */
    size_t begin, blocks;    /* rows from `begin` on, CLSI_BLOCK periods in each block */
    size_t entries;          /* of a period */
    size_t places, n_places; /* where those of row `begin` begin, and how many a period has */
    signed char step[CLSI_REPEATED]; /* 1 or -1: of each entry, then of the unknown of each row */
    /* rows of the separators before the segments, if machine code reduces them, too: the first entry of the first
     * period, entries of a period, and where those begin that are no numbers yet */
    size_t n_walls, wall_first[CLSI_STRETCH_WALLS], wall_size[CLSI_STRETCH_WALLS],
        wall_ready[CLSI_STRETCH_WALLS];
    clsi_stretch_run *factor, *back; /* NULL: there is no machine code */
    void *code;
    size_t size;
} clsi_stretch;

typedef struct clsi_segments {
    size_t slots;   /* rows of a segment, short ones padded */
    size_t wide;    /* rows of a separator, narrow ones padded */
    size_t full;    /* rows of the border */
    size_t inside;  /* places of all segments together ... */
    size_t apart;   /* ... and of the separators behind them; the border is last */
    uint32_t *slot; /* (inside) slot * CLSI_SEGMENTS + lane of a place */
    uint32_t *
        wall; /* (wide, CLSI_SEGMENTS) place of the separator behind each segment, or CLSI_NOTHING */
    /* Rows of all lanes: `slots` of the inside, then `wide` of the separator behind a segment, then
     * `wide` of the one before it. Columns: slots, separator before, separator behind, border. */
    size_t *first, *diagonal; /* (rows + 1), (rows): as in clsi_sparse_lu; only L of separators */
    uint32_t *column;
    size_t *from;      /* (rows + 1) entries of the matrix: */
    uint32_t *target;  /* which entry of the row, marked where not all lanes have one ... */
    uint32_t *source;  /* (LANES each) ... and which entry; n_entries: zero, n_entries + 1: one */
    uint32_t *unknown; /* (slots, LANES) or CLSI_NOTHING, the first marked where one is */
    uint16_t *places;  /* rows of the inside: for each factor the entries that it changes */
    uint32_t *at;      /* with a border: where an entry of L and U of the inside is, in lanes */
    size_t *split;     /* (apart) in rows of separators the first entry behind the inside */
    clsi_stretch stretch;
} clsi_segments;

#define CLSI_NOTHING UINT32_MAX

/* ---- cuts.c ---- */

typedef struct clsi_neighbours {
    uint32_t *at;
    size_t n, room;
} clsi_neighbours;

/* The order of elimination: segment after segment, the separators, (the border). */
typedef struct clsi_cuts {
    size_t slots, wide, inside, apart; /* as in clsi_segments */
    uint32_t *order;                   /* (n) NULL: there are no cuts */
    uint32_t *slot, *wall;             /* as in clsi_segments */
} clsi_cuts;

/* Neighbours of each of n nodes, those of the border left out. 0: no memory. */
int clsi_cuts_find(size_t n, const clsi_neighbours *near, const unsigned char *border,
                   clsi_cuts *cuts);
void clsi_cuts_clear(clsi_cuts *cuts);

/* ---- segments.c ---- */

/* Tables of lanes from those of a matrix in the order of the cuts, which are taken. 0: no memory. */
int clsi_segments_create(const clsi_sparse_lu *lu, clsi_cuts *cuts, clsi_segments **out);
void clsi_segments_free(clsi_segments **s);

/* stretch.c: the longest one; 0: no memory. */
int clsi_stretch_find(clsi_segments *s);
/* stretch_code.c: machine code where it can be had. */
void clsi_stretch_write(clsi_segments *s);
void clsi_stretch_clear(clsi_stretch *t);

size_t clsi_segments_size(const clsi_sparse_lu *lu); /* doubles of work */
/* L x = b is solved meanwhile, for clsi_segments_finish. Nonzero, too, where an entry is not finite. */
size_t clsi_segments_factor(const clsi_sparse_lu *lu, const double *a, const double *b,
                            double *work);
void clsi_segments_finish(const clsi_sparse_lu *lu, double *work, const double *b, double *x);
void clsi_segments_solve(const clsi_sparse_lu *lu, double *work, double *b);

#endif
