/* The inside of a cls_program: straight-line code in single assignment form.
 *
 * Registers are numbered constants first, then inputs, then one per instruction in order, so that
 * instruction k writes register n_constants + n_inputs + k. The evaluator (program.c), the emitter
 * (emit_c.c) and nobody else read this. */
#ifndef CLSI_PROGRAM_H
#define CLSI_PROGRAM_H

#include <clausius/graph.h>

/* Program operations: name, C text of the result from a, b (registers), x (exponent register). The
 * text is what the emitter writes and, through a macro, what the evaluator computes: same bits. */
typedef enum clsi_code {
    CLSI_ADD,
    CLSI_SUB,
    CLSI_MUL,
    CLSI_DIV,
    CLSI_NEG,
    CLSI_SQUARE,  /* a*a */
    CLSI_POWI,    /* a^power by repeated multiplication: clsi_powi(a, power) */
    CLSI_POW,     /* pow(a, b) */
    CLSI_CALL,    /* clsi_function_value: function of a */
    CLSI_QUOTIENT /* clsi_quotient_value(function, i, j, a, b, exponent) */
} clsi_code;

typedef struct clsi_instruction {
    uint8_t code, function, i, j;
    int16_t power;   /* POWI */
    uint8_t jump;    /* for the evaluator: code, or the pair of codes that begins here */
    uint32_t a, b;   /* registers */
    double exponent; /* QUOTIENT of CLS_FN_POWER */
} clsi_instruction;

struct cls_program {
    size_t n_constants, n_inputs, n_outputs, n_instructions;
    size_t n_early_inputs, n_early; /* instructions before n_early use only the early inputs */
    double *constants;
    clsi_instruction *code;
    cls_node *node;    /* (n_instructions) where each came from */
    uint32_t *outputs; /* (n_outputs) registers */
};

/* Like cls_program_create, for a program that is run again and again with the first n_early_inputs
 * inputs unchanged: what depends on those alone is computed by clsi_program_early, the rest by
 * clsi_program_late. cls_program_run does both. */
cls_status clsi_program_create_split(const cls_graph *g, size_t n_early_inputs, size_t n_inputs,
                                     const cls_node *inputs, size_t n_outputs,
                                     const cls_node *outputs, cls_program **out, cls_error *error);
void clsi_program_early(const cls_program *p, double *work, const double *in);
void clsi_program_late(const cls_program *p, double *work, const double *in, double *out);

/* A few samples side by side in memory that the caller keeps: inputs are written in place (what
 * does not change from call to call stays), outputs are read in place. A row has CLSI_LANES
 * numbers; rows of inputs are to be filled whole, so that no lane computes on garbage. n lanes are
 * run, early instructions before late ones; same bits as cls_program_run. */
enum { CLSI_LANES = 16 };
size_t clsi_lanes_size(const cls_program *p); /* doubles */
void clsi_lanes_prepare(const cls_program *p, double *work);
double *clsi_lanes_input(const cls_program *p, double *work, size_t k);
const double *clsi_lanes_output(const cls_program *p, const double *work, size_t k);
void clsi_lanes_early(const cls_program *p, size_t n, double *work);
void clsi_lanes_late(const cls_program *p, size_t n, double *work);

#endif
