/* What the two halves of planning share: vectorise.c finds what can be done together, plan.c writes
 * it down in registers of its own. */
#ifndef CLSI_PLANNER_H
#define CLSI_PLANNER_H

#include "expr/program.h"

#define CLSI_NOWHERE UINT32_MAX
/* While planning, a register of the plan is a place in the constants or else in the values. */
#define CLSI_IN_CONSTANTS 0x80000000u

/* An instruction that is planned. */
typedef struct clsi_item {
    uint64_t key; /* equal for those that may be done together */
    uint32_t k, level;
    uint8_t stage;
} clsi_item;

typedef struct clsi_planner {
    const cls_program *p;
    clsi_plan *plan;
    size_t base; /* the first instruction's register */
    size_t n_values, vectorised, n_items;
    size_t stage_begin; /* of ops */
    size_t block_room, constants_room, ops_room, code_room;
    uint32_t *uses;              /* (n_instructions) */
    uint32_t *level, *place;     /* (registers); place: in the plan */
    uint32_t *block;             /* (values): the operation that makes them */
    unsigned char *stage, *live; /* (n_instructions) */
    unsigned char *adds;         /* (n_instructions) a SUB that adds the negative of a product */
    uint32_t *negative;          /* (n_instructions) of such a product: its constant, in the plan */
    clsi_item *items;
    uint32_t *order, *trial, *scalars; /* (n_instructions) */
    size_t n_scalars;
    int failed;
} clsi_planner;

/* ---- plan.c; failures stay in s->failed ---- */
/* Where a new constant stands. */
uint32_t clsi_plan_constant(clsi_planner *s, double value);
/* The first of n more values, made by the last operation. */
uint32_t clsi_plan_values(clsi_planner *s, size_t n);
/* All items, sorted by stage, level and key. */
void clsi_plan_write(clsi_planner *s);

#endif
