/* What the two halves of planning share: vectorise.c finds what can be done together, plan.c writes
 * it down in registers of its own. */
#ifndef CLSI_PLANNER_H
#define CLSI_PLANNER_H

#include "expr/outline.h"

#define CLSI_NOWHERE UINT32_MAX
/* While planning, a register of the plan is a place in the constants or else in the values. */
#define CLSI_IN_CONSTANTS 0x80000000u

/* Instructions of one stage and level that may be done together. */
typedef struct clsi_kind_of_work {
    uint64_t key; /* equal where operations are; so that kinds have an order of their own */
    uint32_t level, n, number;
    uint32_t work;   /* 4 times the operation, + 2: reads a constant first, + 1: second */
    uint32_t follow; /* 1 + the kind of the next instruction, the last time */
    uint8_t stage;
} clsi_kind_of_work;

/* An instruction in the registers of the plan. */
typedef struct clsi_pair {
    uint64_t blocks; /* the operations that made its operands, the younger first */
    uint32_t a, b, k;
} clsi_pair;

/* An instruction that is in no run, and its work. */
typedef struct clsi_left_over {
    uint32_t k, work;
} clsi_left_over;

typedef struct clsi_planner {
    const cls_program *p;
    const clsi_outline *outline;
    clsi_plan *plan;
    size_t base; /* the first instruction's register */
    size_t n_values, vectorised;
    size_t stage_begin; /* of ops */
    size_t block_room, constants_room, ops_room, code_room;
    uint32_t *block;     /* (values): the operation that makes them */
    unsigned char *mark; /* (n_instructions) */
    uint32_t
        *negative;  /* (n_instructions) of such a product: its constant, in the plan; NULL: none */
    uint32_t *kind; /* (n_instructions) of work */
    clsi_kind_of_work *kinds; /* in the end sorted by stage, level and key */
    uint32_t *slots;          /* (n_slots) where kinds are looked up: their numbers + 1 */
    /* From here on instructions are numbered by kinds, and as in the program within one, so that those that are
     * looked at one after the other stand so, and so does what they read. */
    clsi_operands *at; /* (n_instructions) registers: constants, inputs, instructions by kinds */
    uint32_t *place;   /* (registers) in the plan */
    uint32_t *turned;  /* `negative` */
    uint32_t *outputs; /* (n_outputs) registers */
    clsi_pair *pairs;  /* of one kind, and room to sort them */
    clsi_left_over *scalars; /* of one level */
    size_t n_scalars, scalars_room, pairs_room, n_kinds, kinds_room, n_slots, last_kind;
    uint32_t work; /* of the kind at hand */
    int failed;
} clsi_planner;

/* Marks: results that are read once or more than once; a SUB that adds the negative of a product. */
enum { CLSI_USED_ONCE = 1, CLSI_USED_OFTEN = 2, CLSI_ADDS = 4 };

static inline const clsi_instruction *clsi_operation(const clsi_planner *s, uint32_t work) {
    return &s->outline->operation[work / 4];
}

static inline int clsi_turned(const clsi_planner *s, size_t k) {
    return s->turned && s->turned[k] != CLSI_NOWHERE;
}

/* ---- plan.c; failures stay in s->failed ---- */
/* Where a new constant stands. */
uint32_t clsi_plan_constant(clsi_planner *s, double value);
/* The first of n more values, made by the last operation. */
uint32_t clsi_plan_values(clsi_planner *s, size_t n);
/* All kinds. */
void clsi_plan_write(clsi_planner *s);

#endif
