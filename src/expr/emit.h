/* What the two ways of writing programs as C share: statements (emit_c.c), loops (emit_loops.c). */
#ifndef CLSI_EMIT_H
#define CLSI_EMIT_H

#include "base/base.h"
#include "expr/program.h"

/* Is it a name that a C function may have? */
cls_status clsi_check_function_name(const char *name, cls_error *error);
/* A number that reads back to the bit. */
void clsi_emit_literal(clsi_text *out, double value);
/* `NAME(` of a function, and `clsi_k_quotient_value(NAME, i, j, `. */
void clsi_emit_call(clsi_text *out, const clsi_instruction *in);
void clsi_emit_quotient(clsi_text *out, const clsi_instruction *in);

/* Does it read the value of a function that is there (the operand v)? */
int clsi_takes_value(const clsi_instruction *in);

/* ---- functions two at a time (emit_pairs.c) ---- */

typedef struct clsi_twins {
    size_t first, n; /* of the piece of a program */
    uint32_t *
        twin; /* of each: the instruction that is computed with it, or CLSI_NOT_SHARED; NULL: no pairs */
    uint32_t *order; /* in which they are written */
    uint32_t *level;
} clsi_twins;

/* The pairs among instructions first .. last - 1 that are `live`. 0: no memory. */
int clsi_find_twins(const cls_program *p, size_t first, size_t last, const unsigned char *live,
                    clsi_twins *pairs);
void clsi_twins_clear(clsi_twins *pairs);
/* Of one of a pair: what computes both. */
const char *clsi_pair_name(const clsi_instruction *in);

/* ---- pieces of programs (emit_piece.c) ---- */

enum {
    CLSI_USED = 1,
    CLSI_OPAQUE = 2,
    CLSI_ONCE = 4
}; /* what a register is needed for; in one place */

/* One function: instructions first .. last, outputs of a range. */
typedef struct clsi_piece {
    const cls_program *p;
    size_t first, last, first_output, last_output;
    size_t first_call;       /* of the fields that it runs */
    const uint32_t *slot;    /* where registers that cross from piece to piece are kept; or NULL */
    const uint32_t *known;   /* where results are kept that another program has computed; or NULL */
    size_t n_slots;          /* the states of fields stand behind them */
    const char *name;        /* of the function, where tables may stand before it; or NULL */
    const uint32_t *partner; /* of quotients: the one of three ends that comes with it; or NULL */
    int early;               /* the piece ends, or goes through, the early stage */
    unsigned char *need;     /* of all registers in this piece */
    unsigned char *size; /* of results that stand where they are used: operations; 0: declared */
    unsigned char *live; /* of instructions: computed here */
    int two;             /* functions are computed two at a time */
    clsi_twins pairs;
    const struct clsi_places *places; /* of loops: what registers are called; or NULL */
} clsi_piece;

/* Names of registers in loops, for `context`; constants of functions are `opaque`. */
typedef struct clsi_places {
    void (*append)(void *context, clsi_text *out, uint32_t reg, int opaque);
    void (*append_exponent)(void *context, clsi_text *out, double value);
    void *context;
} clsi_places;

/* Room for `need`, `size` and `live`; the caller frees need. 0: no memory. */
int clsi_piece_room(clsi_piece *e);
/* The whole program; without `need` there was no memory. */
clsi_piece clsi_piece_whole(const cls_program *p);
/* One stage, or with CLSI_STAGES all, in the room of another piece. */
clsi_piece clsi_piece_of(const cls_program *p, int stage, const uint32_t *slot,
                         const clsi_piece *room);
/* slot[k] for results that a later stage reads, or `also`; how many. `need` is scratch, for all registers. */
size_t clsi_piece_slots(const cls_program *p, const unsigned char *also, uint32_t *slot,
                        unsigned char *need);
/* Sets `need` and `live`; then, with the pairs known, `size`. */
void clsi_piece_mark(const clsi_piece *e);
void clsi_piece_inline(const clsi_piece *e);
int clsi_is_opaque(const clsi_instruction *in); /* a compiler may not see its constants */
int clsi_is_kept(const uint32_t *slot, size_t k);
int clsi_is_stored(const clsi_piece *e, size_t k); /* does result k go to keep from here? */
int clsi_has_twin(const clsi_piece *e, size_t k);

/* The text of instruction k, with what stands where it is used. */
void clsi_emit_expression(clsi_text *out, const clsi_piece *e, size_t k);

/* A stage that computes nothing is not written. */
int clsi_stage_is_empty(const cls_program *p, int stage);

#endif
