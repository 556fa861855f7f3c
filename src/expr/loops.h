/* Programs as loops (loops.c finds them, emit_loops.c writes them). */
#ifndef CLSI_LOOPS_H
#define CLSI_LOOPS_H

#include "base/base.h"
#include "expr/emit.h"
#include "expr/program.h"

enum { CLSI_LOOP_LEAVES = 32 }; /* of one expression at most */

/* Results of equal formulas: one loop. They stand side by side in the room, in this order. */
typedef struct clsi_loop {
    uint32_t first, n; /* of `members` */
    uint32_t place;    /* of the first result in the room */
} clsi_loop;

struct clsi_rolled {
    const cls_program *p;
    int staged;
    unsigned char *size; /* of all registers: operations that stand where they are used; or 0 */
    uint32_t *place;     /* of results that have a name: where in the room */
    uint32_t *members;   /* instructions, loop after loop */
    clsi_loop *loops;
    size_t n_loops, room;
    size_t end[CLSI_STAGES]; /* of loops */
};

/* The registers that the expression of instruction k reads, in the order of its text; how many. */
size_t clsi_loop_leaves(const clsi_rolled *l, size_t k, uint32_t leaves[CLSI_LOOP_LEAVES]);

#endif
