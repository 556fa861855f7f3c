/* A program before it is planned: of each instruction which operation it is, and the registers that it reads.
 *
 * A large system has millions of instructions and a few dozen operations, so that an instruction takes 12 bytes
 * here instead of 32. Plans are made of this; instructions are written out for who reads them. */
#ifndef CLSI_OUTLINE_H
#define CLSI_OUTLINE_H

#include "expr/graph.h"
#include "expr/program.h"

typedef struct clsi_operands {
    uint32_t a, b;
} clsi_operands;

typedef struct clsi_operation_key {
    uint64_t word, exponent;
} clsi_operation_key;

enum { CLSI_OUTLINE_RECENT = 256, CLSI_OUTLINE_SUM = 0 }; /* the operation a + b is always there */

typedef struct clsi_outline {
    size_t n_operations, room, keys_room, n_slots;
    clsi_operation_key *key;
    clsi_instruction *operation; /* without registers, and without the ways of the evaluator */
    uint32_t *slots;             /* where operations are looked up: their numbers + 1 */
    uint32_t recent[CLSI_OUTLINE_RECENT]; /* the last one of a kind of node */
    uint32_t *of;                         /* (n) which operation */
    clsi_operands *at;                    /* (n) */
} clsi_outline;

/* 0, here and below: no memory. */
int clsi_outline_open(clsi_outline *o, size_t n);
void clsi_outline_close(clsi_outline *o);
/* Instruction `at` computes node k, of arguments that have registers. */
int clsi_outline_put(clsi_outline *o, size_t at, const cls_graph *g, cls_node k,
                     const uint32_t *reg);
/* n instructions in full. */
clsi_instruction *clsi_outline_write(const clsi_outline *o, size_t n);

#endif
