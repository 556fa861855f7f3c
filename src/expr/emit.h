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

/* As clsi_program_emit_function and clsi_program_emit_stages, for programs that have a room for it
 * (clsi_program_loops_room). */
void clsi_emit_loops(const cls_program *p, const char *name, clsi_text *out);
void clsi_emit_loops_staged(const cls_program *p, const char *name, clsi_text *out);

#endif
