/* A program as machine code (native.c): for one sample a function for each stage; for lanes pieces of
 * arithmetic, each followed by a call of a kernel for rows. */
#ifndef CLSI_NATIVE_H
#define CLSI_NATIVE_H

#include "expr/program.h"

typedef struct clsi_native_piece {
    void (*run)(double *work, int vectors);
    const clsi_instruction *slow; /* then; NULL: none */
    uint32_t result;              /* of it: register, or row */
    uint32_t known;               /* row of another program that is the same (clsi_lanes_link) */
    int any;                      /* there is code, from byte `at` on */
    size_t at;
} clsi_native_piece;

/* Of one sample. `direct`: inputs are read from `in` when they are wanted (by the early stage, too), and each stage gives
 * the outputs that it is asked for; else both are in the work. */
typedef void clsi_native_stage(double *work, const double *in, double *out);

struct clsi_native {
    clsi_native_stage *stage[CLSI_STAGES]; /* NULL: nothing is to do */
    int direct;
    /* the early stage with what another program has computed; NULL: nothing is shared */
    void (*known)(double *work, const double *in, const double *other);
    double *terms; /* coefficients of powers, in its code */
    clsi_native_piece *pieces;
    size_t n_pieces, end[CLSI_STAGES]; /* of pieces */
    int vectors;                       /* of a row */
    int shares;                        /* pieces of the early stage are known to another program */
    void *code;
    size_t size;
};

/* One sample, or lanes in machine registers of four or eight numbers. */
enum { CLSI_NATIVE_ONE = 1, CLSI_NATIVE_FOUR = 4, CLSI_NATIVE_EIGHT = 8 };
int clsi_native_supports(int width);
/* What programs of one sample have in common: registers that stay in the work for another one, and of each
 * early instruction the register of the other that is the same number (or CLSI_NOT_SHARED). */
typedef struct clsi_native_links {
    const unsigned char *keep;
    const uint32_t *same;
} clsi_native_links;
/* NULL where there can be none. links: NULL, or either of both. */
clsi_native *clsi_native_create(const cls_program *p, int width, const clsi_native_links *links);
void clsi_native_free(clsi_native **native);
/* Stages first to last for one sample. */
void clsi_native_run(const clsi_native *n, double *work, const double *in, double *out, int first,
                     int last);

#endif
