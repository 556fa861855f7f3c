/* What the two halves of planning share: vectorise.c finds what can be done together, plan.c writes
 * it down in registers of its own. */
#ifndef CLSI_PLANNER_H
#define CLSI_PLANNER_H

#include "expr/program.h"

#define CLSI_NOWHERE UINT32_MAX
/* While planning, a register of the plan is a place in the constants or else in the values. */
#define CLSI_IN_CONSTANTS 0x80000000u

enum { CLSI_MIN_PRODUCTS = 24 }; /* of a matrix; smaller ones are spelled out */

/* ADD or SUB that adds a product to a sum: value = rest_sign * rest + sign * product. */
typedef struct clsi_link {
    uint32_t product, rest; /* registers; product CLSI_NOWHERE: not a link */
    int8_t sign, rest_sign;
} clsi_link;

/* What is planned as one: an instruction, or the sum of products that ends there. */
typedef struct clsi_item {
    uint64_t key; /* equal for those that may be done together */
    uint32_t k, level;
    uint8_t stage, is_sum;
} clsi_item;

typedef struct clsi_sum {
    size_t n;
    uint32_t *x;      /* registers */
    double *c;        /* coefficients, or the signs of those that are parameters */
    uint32_t *source; /* 1 + the parameter that is the coefficient, or 0 */
    uint32_t start;
    double start_value;    /* when it is a constant, or the sign of a parameter */
    uint32_t start_source; /* as source */
    clsi_vector_start kind;
    uint32_t flip; /* the sum so far changes its sign before this term; 0: never */
} clsi_sum;

typedef struct clsi_planner {
    const cls_program *p;
    clsi_plan *plan;
    size_t base; /* the first instruction's register */
    size_t n_values, vectorised, n_items, longest;
    size_t stage_begin; /* of ops */
    size_t block_room, constants_room, ops_room, code_room, operands_room, coefficients_room;
    size_t source_room;
    uint32_t *source;        /* (n_coefficients) as in a sum */
    clsi_link *links;        /* (n_instructions) */
    uint32_t *uses, *length; /* (n_instructions); length: terms of the sum so far */
    uint32_t *flip;          /* (n_instructions) as in a sum */
    uint32_t *user;          /* (n_instructions) the first to use it, or CLSI_NOWHERE */
    uint32_t *level, *place; /* (registers); place: in the plan */
    uint32_t *block;         /* (values): the operation that makes them */
    unsigned char *stage, *absorbed, *live; /* (n_instructions) */
    unsigned char *adds; /* (n_instructions) a SUB that adds the negative of a product */
    uint32_t *negative;  /* (n_instructions) of such a product: its constant, in the plan */
    clsi_item *items;
    uint32_t *order, *trial, *scalars; /* (n_instructions) */
    size_t n_scalars;
    clsi_sum one, other; /* scratch */
    int failed;
} clsi_planner;

/* ---- vectorise.c ---- */
/* 1 + the parameter that a register is, or 0. */
uint32_t clsi_plan_parameter(const clsi_planner *s, uint32_t reg);
int clsi_is_sum(const clsi_planner *s, size_t k);
/* The sum that ends in instruction k; out->x and out->c have room for s->longest. */
void clsi_read_sum(const clsi_planner *s, size_t k, clsi_sum *out);

/* ---- plan.c; failures stay in s->failed ---- */
/* Where a new constant stands. */
uint32_t clsi_plan_constant(clsi_planner *s, double value);
/* The first of n more values, made by the last operation. */
uint32_t clsi_plan_values(clsi_planner *s, size_t n);
/* All items, sorted by stage, level, sums last, and key. */
void clsi_plan_write(clsi_planner *s);

#endif
