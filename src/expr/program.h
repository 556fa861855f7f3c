/* The inside of a cls_program: straight-line code in single assignment form.
 *
 * Registers are numbered constants first, then inputs, then one per instruction in order, so that
 * instruction k writes register n_constants + n_inputs + k. The evaluator (program.c), the emitter
 * (emit_c.c) and nobody else read this. */
#ifndef CLSI_PROGRAM_H
#define CLSI_PROGRAM_H

#include "expr/fields.h"
#include <clausius/graph.h>

/* Program operations: name, C text of the result from a, b (registers), x (exponent register). The
 * text is what the emitter writes and, through a macro, what the evaluator computes: same bits. */
typedef enum clsi_code {
    CLSI_ADD,
    CLSI_SUB,
    CLSI_MUL,
    CLSI_DIV,
    CLSI_NEG,
    CLSI_SQUARE,        /* a*a */
    CLSI_POWI,          /* a^power by repeated multiplication: clsi_powi(a, power) */
    CLSI_POW,           /* clsi_pow(a, b) */
    CLSI_CALL,          /* clsi_function_value: function of a */
    CLSI_QUOTIENT,      /* clsi_quotient_value(function, i, j, a, b, exponent) */
    CLSI_QUOTIENT_FROM, /* the same with v, the function at a (from.c) */
    CLSI_POW_FROM,      /* pow(a, b) from v = a^(b+1), or with i from v = a^-b */
    CLSI_FIELD          /* clsi_run_take: a number out of the state of a field's point */
} clsi_code;

/* Passes that are run before a number is taken: calls first .. first + n. */
typedef struct clsi_field_take {
    const cls_program *p;
    uint32_t first, n;
    size_t at; /* in the states */
} clsi_field_take;

typedef struct clsi_field_call {
    uint32_t field;   /* of the program */
    uint32_t x;       /* VALUE: where the registers of its inputs begin in field_inputs */
    uint8_t pass;     /* clsi_field_pass */
    uint8_t known;    /* may have been copied: see clsi_field_copy */
    size_t own, u, w; /* in the states */
} clsi_field_call;

/* The state of a point that another program, with the same inputs, has run passes on. */
typedef struct clsi_field_copy {
    size_t own, other, n; /* in the states of both; doubles */
} clsi_field_copy;

typedef struct clsi_instruction {
    uint8_t code, function, i, j; /* CALL of sqrt: i tells that it is a norm (clsi_is_norm) */
    int16_t power;                /* POWI */
    uint8_t jump;  /* for the evaluator: code, or the pair of codes that begins here */
    uint32_t a, b; /* registers */
    uint32_t v;    /* a register: QUOTIENT_FROM, POW_FROM */
    uint32_t r;    /* of `slotted`: where the result goes */
    union {
        double exponent;             /* QUOTIENT of CLS_FN_POWER; norm: |b| from here on is it */
        const clsi_field_take *take; /* FIELD */
    };
} clsi_instruction;

/* Instructions stand in the order of these. */
typedef enum clsi_stage {
    CLSI_STAGE_EARLY, /* use only the early inputs */
    CLSI_STAGE_FIRST, /* needed for the first outputs */
    CLSI_STAGE_REST,
    CLSI_STAGES
} clsi_stage;

/* The same program in vectors (vectorise.c), with registers of its own: constants, inputs, results
 * in order of computation. */
typedef enum clsi_vector_kind {
    CLSI_VECTOR_SCALARS, /* instructions first .. first + n, one after the other */
    CLSI_VECTOR_EACH     /* one operation for n neighbours */
} clsi_vector_kind;

typedef struct clsi_vector_op {
    uint8_t kind;           /* clsi_vector_kind */
    uint8_t step_a, step_b; /* EACH: 1, 0 when all take the same operand, 2 for every second */
    uint32_t n, result;
    uint32_t a, b;  /* EACH: first operands */
    uint32_t first; /* SCALARS: of code; EACH: its instruction */
} clsi_vector_op;

enum { CLSI_PLAN_LANES = 8 }; /* whole vectors begin at multiples of it */

/* A long plan in tiles (tiles.c): an operation of a group, whose element i is made at the time
 * i + shift, and where it stands in the scratch at the beginning of a tile; CLSI_IN_REGISTERS: not
 * there. */
#define CLSI_IN_REGISTERS UINT32_MAX
enum { CLSI_TILE = 256 };
typedef struct clsi_tile {
    int64_t shift;
    uint32_t op, result, a, b;
    uint32_t before; /* results of former tiles that stand before `result` */
    uint32_t piece;  /* of a group: even: arithmetic, odd: functions */
    uint32_t deliveries, n_deliveries;
} clsi_tile;

/* Results of an operation that are outputs: from `element` on n of them, `stride` apart (deliver.c);
 * CLSI_IN_REGISTERS: one that is wanted in its register. */
typedef struct clsi_delivery {
    uint32_t op, element, n, output;
    int64_t stride;
    int fused; /* machine code makes it */
} clsi_delivery;

/* n outputs that are read from neighbouring registers. */
typedef struct clsi_left {
    uint32_t output, n;
    int fused; /* machine code copies them */
} clsi_left;

/* Operations of a phase: a group, from tile to tile of the times [begin, end), or each as a whole. */
typedef struct clsi_phase {
    uint32_t first, n; /* of tiles */
    uint32_t tiled;
    int64_t begin, end;
    uint32_t pieces, n_pieces; /* of machine code */
    int listed;   /* whose tiles are listed tile by tile of the time: most are long over, ... */
    size_t times; /* ... from this one on of clsi_plan.active_from */
} clsi_phase;

typedef struct clsi_fused clsi_fused; /* tile_code.h */

typedef struct clsi_plan {
    size_t n_constants, n_registers, n_ops, n_code;
    size_t end[CLSI_STAGES]; /* of ops */
    double *constants;
    clsi_vector_op *ops;
    clsi_instruction *code;
    uint32_t *outputs; /* (n_outputs) registers */
    size_t n_phases, n_scratch;
    size_t phases_end[CLSI_STAGES];
    clsi_phase *phases;  /* without any the operations are run as they stand */
    clsi_tile *tiles;    /* (n_ops) in the order of phases */
    uint32_t *active;    /* tiles that have elements at a time, ... */
    size_t *active_from; /* ... which begin here: clsi_phase.times */
    clsi_delivery *deliveries;
    clsi_left *left; /* with phases: outputs that are read from registers, the first ones first */
    size_t n_deliveries, n_left, n_left_first;
    clsi_fused *fused; /* machine code of the groups, or NULL */
} clsi_plan;

typedef struct clsi_native clsi_native; /* native.h */

typedef struct clsi_row_pair {
    uint32_t to, from;
} clsi_row_pair;

struct cls_program {
    size_t n_constants, n_inputs, n_outputs, n_instructions;
    size_t n_early_inputs, n_first_outputs;
    size_t first_parameter, n_parameters; /* among the inputs */
    size_t end[CLSI_STAGES];              /* of instructions */
    double *constants;
    clsi_instruction *code;
    size_t n_direct;
    uint32_t *direct;  /* (n_direct) parameters that stand in formulas */
    cls_node *node;    /* (n_instructions) where each came from */
    uint32_t *outputs; /* (n_outputs) registers */
    clsi_plan *plan;   /* how it is run for one sample, or NULL: as it stands */
    /* Without a plan, for lanes: the code with registers used again when nobody reads them any more
     * (slots.c); NULL for very long programs. */
    size_t n_slots;
    clsi_instruction *slotted;
    uint32_t *slot_outputs;
    clsi_native *native, *native_lanes; /* machine code for one sample and for lanes, or NULL */
    int wide;                           /* rows of lanes are CLSI_WIDE_LANES long */
    unsigned char *kept;                /* of each register: lanes lend its row; NULL: none */
    size_t n_borrowed;                  /* rows of another program that later stages need */
    clsi_row_pair *borrowed;            /* NULL: not all of them are there */
    size_t n_fields, n_calls, n_takes, n_field_inputs; /* field_calls.c; then there is no plan */
    clsi_graph_field **fields;
    clsi_field_call *calls;
    clsi_field_take *takes;
    uint32_t *field_inputs;
    size_t early_calls, n_early_calls; /* at the end of the early stage */
    size_t
        n_state; /* doubles of states, behind the registers; the last: whether copies were made */
    size_t n_copies; /* clsi_program_link_fields */
    clsi_field_copy *copies;
    size_t n_weights; /* of fields that are being learned, behind the states */
    size_t *weights;  /* (n_fields) where they begin */
    /* Of a reverse program (reverse.c): outputs are slopes in parameters, then those in field nodes. */
    struct clsi_reverse *reverse;   /* else NULL */
    size_t field_cost[CLSI_STAGES]; /* in instructions */
};

/* Like cls_program_create, for a program that is run again and again with the first n_early_inputs
 * inputs unchanged (there may be none), and of which often only the first n_first_outputs outputs are wanted: what
 * depends on the early inputs alone is computed by clsi_program_early, the first outputs by
 * clsi_program_first, then, if wanted, the others by clsi_program_rest. clsi_program_late does both
 * of these, cls_program_run all three. */
cls_status clsi_program_create_staged(const cls_graph *g, size_t n_early_inputs, size_t n_inputs,
                                      const cls_node *inputs, size_t n_first_outputs,
                                      size_t n_outputs, const cls_node *outputs, cls_program **out,
                                      cls_error *error);
cls_status clsi_program_create_split(const cls_graph *g, size_t n_early_inputs, size_t n_inputs,
                                     const cls_node *inputs, size_t n_outputs,
                                     const cls_node *outputs, cls_program **out, cls_error *error);
/* Inputs that stay for many runs (parameters that are being learned): they are not read from `in`
 * but set. */
typedef struct clsi_parameters {
    size_t first, n;
} clsi_parameters;
cls_status clsi_program_create_open(const cls_graph *g, clsi_parameters parameters,
                                    size_t n_early_inputs, size_t n_inputs, const cls_node *inputs,
                                    size_t n_first_outputs, size_t n_outputs,
                                    const cls_node *outputs, cls_program **out, cls_error *error);
/* For those who neither write a program out nor look for what is not finite in it: a long one that has a plan keeps
 * only that. Its instructions are five times as large as all that a run reads, and are not even written.
 * last: the graph, which has no fields then, is empty afterwards: there is room for the plan. */
enum { CLSI_MANY_CODE = 100000 };
cls_status clsi_program_create_lean(cls_graph *g, int last, size_t n_early_inputs, size_t n_inputs,
                                    const cls_node *inputs, size_t n_first_outputs,
                                    size_t n_outputs, const cls_node *outputs, cls_program **out,
                                    cls_error *error);
/* The slopes of `a` in all parameters, theta (n), for lanes: a program whose results are read by
 * clsi_lanes_slopes and clsi_lanes_add. Field nodes that are being learned are differentiated by
 * their kernels; CLS_USAGE where there is none (second derivatives of such a field). */
cls_status clsi_program_create_reverse(cls_graph *g, clsi_parameters parameters, size_t n_inputs,
                                       const cls_node *inputs, const cls_node *theta, cls_node a,
                                       cls_program **out, cls_error *error);
void clsi_reverse_free(struct clsi_reverse **r);
/* row[j] += slope j of a lane. */
void clsi_lanes_slopes(const cls_program *p, double *work, size_t lane, double *row);
/* Makes machine code of a program that will be run very often, where that can be; nothing else changes. */
void clsi_program_make_native(cls_program *p, int lanes);
/* Early instructions of p, and passes of its early points, that `other` computes as well are then not computed
 * again where the inputs are the same (clsi_program_early_from); inputs: the register of `other` that each input
 * of p is, or CLSI_NOT_SHARED. Instructions: for machine code of one sample. */
void clsi_program_link(cls_program *p, cls_program *other, const uint32_t *inputs);
/* clsi_program_early, with the work of `other`, of which the first n inputs are those of p; it was given
 * them where it keeps them (clsi_program_inputs). */
void clsi_program_early_from(const cls_program *p, double *work, const double *in,
                             const cls_program *other, const double *of, size_t n);
/* Where the inputs are kept; a run may be given these. */
double *clsi_program_inputs(const cls_program *p, double *work);
/* After cls_program_prepare. */
void clsi_program_set(const cls_program *p, double *work, const double *parameters);
void clsi_program_early(const cls_program *p, double *work, const double *in);
void clsi_program_first(const cls_program *p, double *work, const double *in, double *out);
void clsi_program_rest(const cls_program *p, double *work, const double *in,
                       double *out); /* in, out: as in first */
void clsi_program_late(const cls_program *p, double *work, const double *in, double *out);
size_t clsi_program_rest_length(const cls_program *p); /* instructions of clsi_program_rest */
/* By the instructions as they stand, whether there is a plan or not; `work` for n_constants +
 * n_inputs + n_instructions numbers. For tests, and for looking at every result. */
void clsi_program_run_plain(const cls_program *p, double *work, const double *in, double *out);

/* ---- as C for a larger file that brings <math.h>, kernels.inc and contraction off ---- */

/* The fields of n programs of one graph (NULL ones are left out), each once: what their kinds compute with and
 * their shapes, their weights, what programs call; in this order before them. */
void clsi_programs_emit_fields(size_t n, const cls_program *const *programs, clsi_text *kernels,
                               clsi_text *weights, clsi_text *calls);
/* What n programs use of kernels.inc and of the texts of fields. */
typedef struct clsi_programs_use {
    unsigned char function[CLS_FN_COUNT], activation[CLS_FN_COUNT], pass[CLSI_PASSES];
    size_t inputs; /* of a field at most */
    int general;   /* quotients that have no closed form */
} clsi_programs_use;
void clsi_programs_used(size_t n, const cls_program *const *programs, clsi_programs_use *use);
/* A long program as loops over formulas of equal shape (loops.c); *out stays NULL where statements are better.
 * staged: it is written in stages. */
typedef struct clsi_rolled clsi_rolled;
cls_status clsi_rolled_create(const cls_program *p, int staged, clsi_rolled **out,
                              cls_error *error);
void clsi_rolled_free(clsi_rolled **l);
size_t clsi_rolled_room(const clsi_rolled *l); /* numbers that it needs, as `room` or `keep` */
/* Tables of indices that the loops of many programs read, each once. */
typedef struct clsi_tables clsi_tables;
clsi_tables *clsi_tables_create(void);
/* runs: progressions by macros (progressions.h). */
void clsi_tables_append(const clsi_tables *t, int runs, clsi_text *out);
void clsi_tables_free(clsi_tables **t);
/* static void name(in, room, out), or its three stages, as the functions below write them. */
cls_status clsi_emit_loops(const clsi_rolled *l, const char *name, clsi_tables *tables,
                           clsi_text *out, cls_error *error);
/* static void name(const double *in, double *room, double *out); `room` has n_state numbers.
 * two, here and below: functions two at a time, by the text of pairs.inc. */
cls_status clsi_program_emit_function(const cls_program *p, const char *name, int two,
                                      clsi_text *out, cls_error *error);
/* static void name_early(in, keep, out), name_first, name_rest: as clsi_program_early and so on;
 * `keep` has n_kept numbers, results of one that another reads, and those of `also` (may be NULL). Inputs
 * are read by all. Where they are kept goes to slots (n_instructions, may be NULL). */
cls_status clsi_program_emit_stages(const cls_program *p, const char *name,
                                    const unsigned char *also, int two, uint32_t *slots,
                                    clsi_text *out, size_t *n_kept, cls_error *error);
/* static void name(in, keep, out): a stage, or the whole program (CLSI_STAGES), of which another program has
 * kept the results `known` already; what `slot` says is kept from here. */
cls_status clsi_program_emit_known(const cls_program *p, int stage, const char *name, int two,
                                   const uint32_t *slot, const uint32_t *known, clsi_text *out,
                                   cls_error *error);
/* What two programs have in common (shared.c): of the first n instructions of b the register of a that has the
 * same value, given the register of a for each input of b. */
#define CLSI_NOT_SHARED UINT32_MAX
int clsi_program_may_share(const cls_program *p);
void clsi_program_match(const cls_program *a, const cls_program *b, size_t n,
                        const uint32_t *inputs, uint32_t *same);
/* The register of a that register r of b is; CLSI_NOT_SHARED for none. */
uint32_t clsi_program_counterpart(const cls_program *a, const cls_program *b, uint32_t r,
                                  const uint32_t *inputs, const uint32_t *same);
int clsi_is_worth_keeping(const clsi_instruction *in);
/* Quotients f[a,b] of the first stage whose f[a,b,b] or f[a,a,b] the last one wants; `also` is set for these. */
void clsi_program_partners(const cls_program *p, unsigned char *also, uint32_t *partner);

/* ---- between the files of the program ---- */

void clsi_program_link_fields(cls_program *p, const cls_program *other, const uint32_t *inputs);
/* Early states of p from those in the work of `other`; other NULL: p will compute all of them. */
void clsi_copy_states(const cls_program *p, double *work, const cls_program *other,
                      const double *of);

/* The calls of all field nodes; nothing where there are none. */
cls_status clsi_program_plan_fields(const cls_graph *g, const unsigned char *reach,
                                    const unsigned char *stage, const uint32_t *reg, cls_program *p,
                                    cls_error *error);
void clsi_program_drop_fields(cls_program *p);
double clsi_run_take(const clsi_field_take *take, double *work);
void clsi_run_early_calls(const cls_program *p, double *work);
void clsi_set_weights(const cls_program *p, double *work, const double *parameters);
/* The same in lanes, n of them; work on a cache line. */
void clsi_lanes_take(const clsi_field_take *take, size_t n, double *work, double *r);
void clsi_lanes_calls(const cls_program *p, size_t first, size_t n_calls, size_t n, double *work);
void clsi_lanes_weights(const cls_program *p, double *work, const double *parameters);
double *clsi_lane_state(const cls_program *p, double *work, size_t lane);
const double *clsi_lane_weights(const cls_program *p, double *work);

/* Quotients and powers that can be had from values that are computed before them take those. */
cls_status clsi_program_use_values(cls_program *p, cls_error *error);
/* The values f(a) among what `others` are made of from which quotients f[a,b] of `nodes` can be had, a free of
 * `late` and b not; how many, SIZE_MAX: no memory. Not of long programs. */
enum { CLSI_VALUES_MOST = 32 };
size_t clsi_values_in_common(const cls_graph *g, size_t n, const cls_node *nodes, size_t n_others,
                             const cls_node *others, size_t n_late, const cls_node *late,
                             cls_node out[CLSI_VALUES_MOST]);
/* Of a program with n outputs and `values` behind them: the first n stay; packs the values that quotients
 * take, and says how many they are. */
size_t clsi_program_keep_outputs(cls_program *p, size_t n, size_t n_values, cls_node *values);
enum { CLSI_SLOTS_MOST = 100000 }; /* instructions: rows of more are beyond all caches anyway */
cls_status clsi_program_find_slots(cls_program *p, const unsigned char *keep, cls_error *error);

/* *out stays NULL when the program would not gain by it. */
struct clsi_outline;
cls_status clsi_plan_create(const cls_program *p, const struct clsi_outline *outline,
                            clsi_plan **out, cls_error *error);
void clsi_plan_free(clsi_plan **plan);
/* 0: no memory. */
int clsi_plan_tile(clsi_plan *plan, size_t n_first, size_t n_outputs);
/* One EACH, operands and results given; of `op` only n and the steps are looked at. */
void clsi_run_each(const clsi_instruction *in, const clsi_vector_op *op, const double *a,
                   const double *b, double *r);
/* What is delivered goes to `out`, the other outputs are in registers. */
void clsi_plan_run(const clsi_plan *plan, double *work, int first_stage, int last_stage,
                   double *out);
size_t clsi_plan_size(const clsi_plan *plan);            /* doubles of work, on a cache line */
static inline double *clsi_on_cache_line(double *work) { /* from there on */
    size_t line = CLSI_PLAN_LANES * sizeof *work, over = (uintptr_t)work % line;
    return over ? work + (line - over) / sizeof *work : work;
}
/* Instructions for n samples, n a multiple of 8: registers are rows of `row` numbers, the first
 * n_constants of them constants. Results go to the rows from r on. */
void clsi_run_rows(const clsi_instruction *in, size_t n_code, size_t n_constants, size_t n,
                   size_t row, double *work, double *r);
/* n samples of n_rows inputs, `stride` apart, to rows of `row` numbers; a last vector that is not
 * full repeats the last sample, so that nothing foreign is ever evaluated. And the registers
 * `which` back. */
void clsi_take_rows(size_t n_rows, size_t n, const double *in, size_t stride, double *rows,
                    size_t row);
void clsi_give_rows(size_t n_rows, const uint32_t *which, size_t n, const double *work, size_t row,
                    double *out, size_t stride);
/* Instructions whose results go to r, r + 1, ...; find_pairs prepares them. */
void clsi_run_scalars(double *work, double *r, const clsi_instruction *in,
                      const clsi_instruction *end);
void clsi_find_pairs(clsi_instruction *code, size_t n);
double clsi_slow_instruction(const clsi_instruction *in, double a, double b);
double clsi_from_instruction(const clsi_instruction *in, double a, double b, double v);
/* As clsi_run_each, for what elementary.c has in vectors; else 0. */
int clsi_run_elementary(const clsi_instruction *in, const clsi_vector_op *op, const double *a,
                        const double *b, double *r);
void clsi_run_from(const clsi_instruction *in, size_t n, const double *a, const double *b,
                   const double *v, double *r);
/* 1 when b is not used. */
int clsi_is_unary(const clsi_instruction *in);
/* A root of b^2, or of that and a constant (norms.c): machine code reads b as well. */
int clsi_is_norm(const clsi_instruction *in);
void clsi_program_find_norms(cls_program *p);

/* cls_program_run_many in memory that the caller keeps and that is prepared once, for calls with at
 * most `most` samples. */
size_t clsi_many_size(const cls_program *p, size_t most); /* doubles */
void clsi_many_prepare(const cls_program *p, size_t most, double *work);
void clsi_many_run(const cls_program *p, size_t most, double *work, size_t n, size_t stride,
                   const double *in, double *out);

/* A few samples side by side in memory that the caller keeps: inputs are written in place (what
 * does not change from call to call stays), outputs are read in place. A row has CLSI_LANES
 * numbers; rows of inputs are to be filled whole, so that no lane computes on garbage. n lanes are
 * run, early instructions before late ones; same bits as cls_program_run. */
enum { CLSI_LANES = 16 };
/* Rows that are twice as long, for ensembles: short programs wait for their own results, and the other half is
 * computed meanwhile. All functions here but clsi_lanes_add, and no fields. 0: the program cannot. */
enum { CLSI_WIDE_LANES = 32 };
int clsi_lanes_may_widen(const cls_program *p);
void clsi_lanes_widen(cls_program *p);
size_t clsi_lanes_row(const cls_program *p);
size_t clsi_lanes_size(const cls_program *p); /* doubles */
void clsi_lanes_prepare(const cls_program *p, double *work);
void clsi_lanes_set(const cls_program *p, double *work, const double *parameters);
double *clsi_lanes_input(const cls_program *p, double *work, size_t k);
const double *clsi_lanes_output(const cls_program *p, double *work, size_t k);
/* sums[k] += output k (of a reverse program: slope k) of all lanes of the whole vectors that n lanes
 * fill: idle ones must be zero. */
void clsi_lanes_add(const cls_program *p, size_t n, double *work, double *sums);
void clsi_lanes_early(const cls_program *p, size_t n, double *work);
/* As clsi_program_link and clsi_program_early_from, for whole lanes by machine code; the caller knows that the
 * inputs are the same. Both programs get their machine code here, if they have none. */
void clsi_lanes_link(cls_program *p, cls_program *other, const uint32_t *inputs);
void clsi_lanes_early_from(const cls_program *p, double *work, const cls_program *other,
                           double *of);
/* Programs with the inputs of `lender` take from its work what their later stages read: then clsi_lanes_borrow takes
 * the place of their inputs and of their early stage. inputs: of each, the register of the lender (all are there). Before there is
 * machine code for lanes; programs may be NULL. */
void clsi_lanes_lend(cls_program *lender, size_t n, cls_program *const *programs,
                     const uint32_t *inputs);
int clsi_lanes_borrows(const cls_program *p);
void clsi_lanes_borrow(const cls_program *p, double *work, double *of);
/* Rows of `of` to the work; both on cache lines. */
void clsi_copy_rows(size_t n, const clsi_row_pair *pair, size_t row, double *work,
                    const double *of);
int clsi_program_find_links(const cls_program *p, const cls_program *other, const uint32_t *inputs,
                            uint32_t *same, unsigned char *keep);
void clsi_lanes_late(const cls_program *p, size_t n, double *work);
void clsi_lanes_first(const cls_program *p, size_t n, double *work); /* as clsi_program_first */
void clsi_lanes_rest(const cls_program *p, size_t n, double *work);

/* reverse.c: sums += what the fields of a lane add. */
void clsi_lane_back(const cls_program *p, double *work, size_t lane, double *sums);
/* Which slopes the first outputs are. */
const uint32_t *clsi_reverse_slopes(const cls_program *p, size_t *n);
size_t clsi_reverse_size(const cls_program *p); /* doubles, behind the weights of lanes */

#endif
