/* Expression graphs: hash-consed DAGs of formulas that can be parsed, printed, differentiated,
 * discretely differentiated, simplified, evaluated over blocks of samples and written as C99.
 *
 * Building never returns a status at each call: a node is an index, failure gives CLS_NO_NODE, any
 * operation on CLS_NO_NODE gives CLS_NO_NODE, and the graph keeps the first error
 * (cls_graph_status). Nodes are never removed; equal subexpressions are one node. */
#ifndef CLAUSIUS_GRAPH_H
#define CLAUSIUS_GRAPH_H

#include <clausius/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cls_graph cls_graph;
typedef uint32_t cls_node;
#define CLS_NO_NODE UINT32_MAX

/* Elementary functions of one variable: enum name, name in the language. */
#define CLS_FUNCTION_LIST(X)                                                                       \
    X(EXP, "exp")                                                                                  \
    X(EXPM1, "expm1")                                                                              \
    X(LOG, "log")                                                                                  \
    X(LOG1P, "log1p")                                                                              \
    X(SQRT, "sqrt")                                                                                \
    X(SIN, "sin")                                                                                  \
    X(COS, "cos")                                                                                  \
    X(TAN, "tan")                                                                                  \
    X(ASIN, "asin")                                                                                \
    X(ACOS, "acos")                                                                                \
    X(ATAN, "atan")                                                                                \
    X(SINH, "sinh")                                                                                \
    X(COSH, "cosh")                                                                                \
    X(TANH, "tanh")                                                                                \
    X(ASINH, "asinh")                                                                              \
    X(ACOSH, "acosh")                                                                              \
    X(ATANH, "atanh")                                                                              \
    X(SOFTPLUS, "softplus")                                                                        \
    X(SIGMOID, "sigmoid")                                                                          \
    X(ERF, "erf")

typedef enum cls_function {
#define CLS_FUNCTION_ENUM(name, text) CLS_FN_##name,
    CLS_FUNCTION_LIST(CLS_FUNCTION_ENUM)
#undef CLS_FUNCTION_ENUM
        CLS_FN_POWER, /* x^c, c constant: only inside difference quotients */
    CLS_FN_COUNT
} cls_function;

typedef enum cls_op {
    CLS_OP_CONSTANT, /* value */
    CLS_OP_SYMBOL,   /* name */
    CLS_OP_ADD,
    CLS_OP_SUB,
    CLS_OP_MUL,
    CLS_OP_DIV,
    CLS_OP_NEG,
    CLS_OP_POW,      /* two arguments; a constant exponent is the common case */
    CLS_OP_FUNCTION, /* cls_function of one argument */
    /* The divided difference f[a,..,a,b,..,b] with a taken i times and b taken j times, i,j >= 1:
     * (1,1) is (f(a)-f(b))/(a-b), its derivative in a is (2,1), and so on; equal to
     * f^(i+j-1)(a)/(i+j-1)! at a = b, accurate at any distance. Arguments a, b, and for
     * CLS_FN_POWER the exponent as a third, constant one. */
    CLS_OP_QUOTIENT,
    /* A learned function (or a derivative, or a component of its discrete gradient between two
     * points) applied to its inputs, evaluated by a kernel: models have them. Arguments: the
     * inputs, of a discrete gradient those of both points. */
    CLS_OP_FIELD
} cls_op;

/* Limits that keep hostile text harmless; zero means the default. */
typedef struct cls_graph_limits {
    size_t max_nodes;  /* default 1,000,000 */
    size_t max_length; /* characters of one parsed text, default 65,536 */
    size_t max_depth;  /* nesting of one parsed text, default 200 */
} cls_graph_limits;

CLS_API cls_status cls_graph_create(const cls_graph_limits *limits, cls_graph **out,
                                    cls_error *error);
CLS_API void cls_graph_free(cls_graph **graph);
/* CLS_OK, or the first failure (too many nodes, no memory), described in `error`. */
CLS_API cls_status cls_graph_status(const cls_graph *graph, cls_error *error);

/* ---- building; simplifies locally (constants folded, 0 and 1 removed, x - x = 0, ...) ---- */
CLS_API cls_node cls_constant(cls_graph *g, double value);
CLS_API cls_node cls_symbol(cls_graph *g, const char *name);       /* same name, same node */
CLS_API cls_node cls_fresh_symbol(cls_graph *g, const char *stem); /* a symbol not used before */
CLS_API cls_node cls_add(cls_graph *g, cls_node a, cls_node b);
CLS_API cls_node cls_sub(cls_graph *g, cls_node a, cls_node b);
CLS_API cls_node cls_mul(cls_graph *g, cls_node a, cls_node b);
CLS_API cls_node cls_div(cls_graph *g, cls_node a, cls_node b);
CLS_API cls_node cls_neg(cls_graph *g, cls_node a);
CLS_API cls_node cls_pow(cls_graph *g, cls_node a, cls_node b);
CLS_API cls_node cls_apply(cls_graph *g, cls_function f, cls_node a);
/* f[a x i, b x j]; `exponent` is used by CLS_FN_POWER only. */
CLS_API cls_node cls_quotient(cls_graph *g, cls_function f, int i, int j, cls_node a, cls_node b,
                              double exponent);

/* ---- queries ---- */
CLS_API size_t cls_graph_size(const cls_graph *g);
CLS_API cls_op cls_node_op(const cls_graph *g, cls_node a);
CLS_API size_t cls_node_arg_count(const cls_graph *g, cls_node a);
CLS_API cls_node cls_node_arg(const cls_graph *g, cls_node a, size_t i);
CLS_API double cls_node_value(const cls_graph *g, cls_node a);          /* CONSTANT */
CLS_API const char *cls_node_name(const cls_graph *g, cls_node a);      /* SYMBOL */
CLS_API cls_function cls_node_function(const cls_graph *g, cls_node a); /* FUNCTION, QUOTIENT */
CLS_API void cls_node_orders(const cls_graph *g, cls_node a, int *i, int *j); /* QUOTIENT */
CLS_API const char *cls_function_name(cls_function f);
CLS_API int cls_is_constant(const cls_graph *g, cls_node a, double value);
/* 1 if `a` contains any of the n symbols. */
CLS_API int cls_depends(const cls_graph *g, cls_node a, size_t n, const cls_node *symbols);
/* The symbols that occur in n nodes, written to out (capacity cap), count returned. */
CLS_API size_t cls_symbols_of(const cls_graph *g, size_t n, const cls_node *nodes, size_t cap,
                              cls_node *out);

/* ---- transformations ---- */
/* Every from[i] (a symbol) replaced by to[i], simultaneously, in count nodes; out may be nodes. */
CLS_API cls_status cls_substitute(cls_graph *g, size_t count, const cls_node *nodes, size_t n,
                                  const cls_node *from, const cls_node *to, cls_node *out);
/* Partial derivative; apply again for higher orders. */
CLS_API cls_node cls_derivative(cls_graph *g, cls_node a, cls_node symbol);
/* All n partial derivatives by one reverse walk. */
CLS_API cls_status cls_gradient(cls_graph *g, cls_node a, size_t n, const cls_node *symbols,
                                cls_node *out);
/* jacobian[i*n + j] = d nodes[i] / d symbols[j], by n forward walks. */
CLS_API cls_status cls_jacobian(cls_graph *g, size_t count, const cls_node *nodes, size_t n,
                                const cls_node *symbols, cls_node *out);
/* The discrete gradient (ADD): expressions out[i] in u and w with
 * a(u) - a(w) = sum out[i] (u[i] - w[i]), symmetric in u and w, the gradient when u = w.
 * u[i], w[i] are any nodes; symbols not listed are the same on both sides. */
CLS_API cls_status cls_discrete_gradient(cls_graph *g, cls_node a, size_t n,
                                         const cls_node *symbols, const cls_node *u,
                                         const cls_node *w, cls_node *out);
/* Collects like terms and factors. For reading and for derivatives: it may change the way a
 * formula is written, and so its discrete gradient (never its value beyond round-off). */
CLS_API cls_node cls_simplify(cls_graph *g, cls_node a);

/* ---- text ---- */
/* Names the parser may use besides numbers, pi, and the functions. */
typedef struct cls_scope {
    size_t n;
    const char *const *names;
    const cls_node *nodes;
    /* Called with `context` instead of a search in the list: the node of a name of so many letters,
     * or CLS_NO_NODE. NULL: the list is searched. */
    cls_node (*find)(const void *context, const char *name, size_t length);
    const void *context;
    /* Functions beside the built-in ones: how many arguments one of this name takes, 0: there is
     * none; and its value at so many. NULL: there are none. */
    size_t (*arity)(const void *context, const char *name, size_t length);
    cls_node (*call)(const void *context, const char *name, size_t length, const cls_node *args);
} cls_scope;

/* Parses one expression. line and column say where the text begins in `file` (1-based), so that an
 * error points into the user's file; both 1 and file NULL for text from the command line. */
CLS_API cls_status cls_parse(cls_graph *g, const char *text, const cls_scope *scope,
                             const char *file, int line, int column, cls_node *out,
                             cls_error *error);
/* Text that parses back to the same node. Free with cls_text_free. NULL when out of memory. */
CLS_API char *cls_print(const cls_graph *g, cls_node a);
CLS_API char *cls_print_latex(const cls_graph *g, cls_node a);
CLS_API void cls_text_free(char **text);

/* ---- evaluating ---- */
typedef struct cls_program cls_program;

/* A flat program computing `outputs` from `inputs` (symbols). A symbol that is used but not listed
 * is an error that names it. The program does not refer to the graph afterwards, except in
 * cls_program_node. */
CLS_API cls_status cls_program_create(const cls_graph *g, size_t n_inputs, const cls_node *inputs,
                                      size_t n_outputs, const cls_node *outputs, cls_program **out,
                                      cls_error *error);
CLS_API void cls_program_free(cls_program **program);
CLS_API size_t cls_program_input_count(const cls_program *p);
CLS_API size_t cls_program_output_count(const cls_program *p);
CLS_API size_t cls_program_length(const cls_program *p); /* instructions */

/* One sample. `work` has cls_program_work_size doubles, prepared once by cls_program_prepare; no
 * allocation, no shared state. */
CLS_API size_t cls_program_work_size(const cls_program *p);
CLS_API void cls_program_prepare(const cls_program *p, double *work);
CLS_API void cls_program_run(const cls_program *p, double *work, const double *in, double *out);

/* n samples, structure of arrays: input i of sample s is in[i*stride + s], same for out. Blocks of
 * samples are evaluated together with the widest vectors the machine has; results are the same to
 * the last bit as cls_program_run. Allocates its block once per call. */
CLS_API cls_status cls_program_run_many(const cls_program *p, size_t n, size_t stride,
                                        const double *in, double *out);

/* After cls_program_run: the first instruction whose result is not finite although its arguments
 * are, as a node of the graph; CLS_NO_NODE when all is finite. */
CLS_API cls_node cls_program_first_nonfinite(const cls_program *p, const double *work,
                                             const double *in);

/* The program as C99: `void name(const double *in, double *out)`, needs only <math.h>, no
 * allocation; computes the same bits when compiled without contraction (-std=c99 does that in gcc).
 * Free with cls_text_free. */
CLS_API cls_status cls_program_emit_c(const cls_program *p, const char *name, char **out,
                                      cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
