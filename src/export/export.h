/* export, inside: what is exported, and the files that come of it. */
#ifndef CLSI_EXPORT_H
#define CLSI_EXPORT_H

#include "base/base.h"
#include "export/needs.h"
#include "model/model.h"
#include "simulate/simulator.h"
#include <clausius/export.h>

/* A name of the system and the identifier that stands for it. */
typedef struct clsi_label {
    const char *name; /* borrowed from the system */
    const char *unit; /* borrowed; NULL for none */
    char *ident;
} clsi_label;

/* Names with a number each (lookup.c). */
typedef struct clsi_lookup {
    size_t slots;      /* a power of two, more than there are names */
    const char **name; /* (slots) borrowed; NULL: empty */
    size_t *number;
} clsi_lookup;
int clsi_lookup_create(size_t room, clsi_lookup *l); /* for so many names; 0: no memory */
void clsi_lookup_clear(clsi_lookup *l);
void clsi_lookup_add(clsi_lookup *l, const char *name, size_t number);
size_t clsi_lookup_find(const clsi_lookup *l, const char *name); /* SIZE_MAX: there is none */

/* One writing of the step: with the parameters' values in it, or with symbols (parameters.c). All
 * programs have the parameters that may change as inputs, those of `base` do not use them. */
typedef struct clsi_variant {
    const cls_system *s;
    clsi_stepper *sp;
    cls_program *rate, *slope, *row, *row_slope;
    cls_program *step_slope; /* NULL: steps of several stages (lawful.c) */
} clsi_variant;

/* Above so many states slopes are lists of what is not zero, and equations in them are solved by tables (slopes.c);
 * matrices of all of them would outgrow a stack. */
enum { CLSI_EXPORT_DENSE = 400 };

/* Entries of a matrix by rows, columns ascending. */
typedef struct clsi_pattern {
    size_t m, n;
    size_t *start;    /* (m + 1) */
    uint32_t *column; /* (n) */
} clsi_pattern;

/* The counts behind the arrays of the exported struct. */
typedef struct clsi_export {
    const cls_system *s; /* the view */
    cls_system *view;
    const cls_model *model;
    cls_export_options options;
    clsi_variant base, open; /* open.sp is NULL where no parameter may change */
    cls_system *open_system;
    clsi_stepper *sp; /* that of base, borrowed */
    size_t n_parameters;
    clsi_label *parameters;  /* (n_parameters) those that may change */
    double *parameter_value; /* (n_parameters) */
    char prefix[64], upper[72];
    const char *source;
    size_t n_state, n_columns;
    clsi_label *states, *columns; /* (n_state), (n_columns) */
    clsi_lookup column_at;        /* by name */
    int *gives;                   /* (n_columns) see clsi_column_gives */
    size_t n_inputs;
    clsi_label *inputs;                    /* (n_inputs) in the order of the system's */
    double *start;                         /* (n_state) */
    int native_start;                      /* it is another one than the system's own */
    int identity;                          /* the state is y = (q, p, S) itself (rates.c) */
    int wants_needs;                       /* it is asked what depends on what: */
    clsi_needs rate_needs, row_needs;      /* rows are rates, columns */
    int sparse;                            /* there are more states than CLSI_EXPORT_DENSE; then: */
    clsi_pattern mass, slopes, row_slopes; /* entries of dy/dz and of the programs of slopes */
    clsi_pattern given;                    /* of the equations of a start, and which of */
    uint32_t *given_from;                  /* (given.n) row_slopes they are, + 1; 0: none */
    struct clsi_sparse_lu *mass_lu, *given_lu; /* NULL: none, a diagonal */
    int runs; /* lists are written in runs: of so many states, not in scripts (progressions.h) */
    int patterns_differ;         /* numbers for parameters have an entry that symbols have not */
    size_t n_kept, n_guard_kept; /* results that cross the stages of residual and guard */
    size_t n_next_room;          /* of networks in the end of a step */
    int shares_now, shares_begin,
        shares_end;       /* what programs take over from each other (programs.c) */
    int two;              /* functions of a step two at a time (pairs.inc): not in scripts */
    uint64_t tried_steps; /* of the system's own motion, for what Newton cost there */
    char refused[200];    /* why it could not go on; empty: it could */
    int worst_iterations, deepest_halving;
    uint64_t worst_step;   /* iterations in one step */
    double single_error;   /* of weights in single precision, over single_steps */
    uint64_t single_steps; /* (single.c) */
    double energy_error, entropy_min_step;
    uint64_t entropy_falls;
} clsi_export;

/* needs: with what columns and rates depend on. */
cls_status clsi_export_create(const cls_system *s, const cls_model *model,
                              const cls_export_options *options, int needs, clsi_export **out,
                              cls_error *error);
void clsi_export_free(clsi_export **e);

/* ---- single.c ---- */

/* The model with weights as single precision has them: *own, of which single.c frees what it made. */
cls_status clsi_single_model(const cls_system *s, const cls_model *m, cls_model *own,
                             cls_error *error);
void clsi_single_clear(cls_model *own);
/* How far the export's motion is from that of s. */
cls_status clsi_single_compare(clsi_export *e, const cls_system *s, cls_error *error);

/* ---- rates.c ---- */
cls_status clsi_export_rates(clsi_export *e, clsi_variant *v, cls_error *error);
/* States (nz), inputs (nu), parameters that may change, time: what needs are about. */
size_t clsi_needs_width(const clsi_export *e);

/* ---- slopes.c: slopes of many states ---- */
struct clsi_rows;
/* The pattern of the rows, unless there is one already. 0: no memory. */
int clsi_pattern_take(clsi_pattern *p, size_t m, const struct clsi_rows *rows);
size_t clsi_pattern_at(const clsi_pattern *p, size_t i, uint32_t column); /* p->n: there is none */
/* The equations in them, once there are patterns. */
cls_status clsi_export_equations(clsi_export *e, cls_error *error);
void clsi_equations_clear(clsi_export *e);
void clsi_append_slopes(clsi_text *out, const clsi_export *e); /* their tables */

/* ---- names of what a start may give (names.c) ---- */

/* The other side of variable k of the state: p for v, S for T; NULL for positions. */
const char *clsi_dual_name(const clsi_export *e, size_t k);
/* What the default start gives for it: itself where `native`, else as the file says. */
const char *clsi_start_name(const clsi_export *e, size_t k, int native);
double clsi_start_value(const clsi_export *e, size_t k);
/* The variable of the state that a start may give by column c; -1: none. */
int clsi_column_gives(const clsi_export *e, size_t c);
int clsi_find_gives(clsi_export *e); /* for all columns; 0: no memory */

/* ---- parameters.c ---- */
cls_status clsi_export_parameters(clsi_export *e, cls_error *error);
/* The nodes of the parameters that may change, in a system's graph (n_parameters). */
void clsi_parameter_nodes(const clsi_export *e, const cls_system *s, cls_node *nodes);

/* ---- names.c ---- */

/* `name` as an identifier of C, JavaScript and C++: letters, digits and _, no word that is taken;
 * different from the given ones (or NULL). The caller's; NULL: no memory. */
char *clsi_identifier(const char *name, const clsi_lookup *others);
/* The prefix that a user may give: letters, digits, _, beginning with a letter. */
cls_status clsi_check_prefix(const char *prefix, cls_error *error);
/* Is it a name that exported functions have inside? */
int clsi_is_local(const char *word);

/* ---- files.c: several files that appear together or not at all ---- */

typedef struct clsi_output {
    char *name; /* relative to the directory; no further directories */
    clsi_text text;
} clsi_output;

typedef struct clsi_outputs {
    clsi_output *list;
    size_t n, capacity;
    clsi_text lost; /* taken where there is no memory for another */
    int failed;
} clsi_outputs;

/* Valid until the next is added. */
clsi_text *clsi_output_add(clsi_outputs *o, const char *name);
/* Makes the directory where it is not there; counts files and bytes in *info. */
cls_status clsi_outputs_write(const clsi_outputs *o, const char *directory, cls_export_info *info,
                              cls_error *error);
void clsi_outputs_clear(clsi_outputs *o);
/* ---- archive.c: the same as one zip archive, whose names may have folders ---- */
cls_status clsi_outputs_archive(const clsi_outputs *files, const char *path, cls_export_info *info,
                                cls_error *error);

/* ---- c.c ---- */

/* The text with $$ replaced by the prefix in capitals and $ by the prefix. */
void clsi_append_template(clsi_text *out, const clsi_export *e, const char *text);
/* The same of a template, of which the parts at marks, lines @NAME, stand in another text. */
void clsi_append_parts(clsi_text *out, const clsi_export *e, const char *text, const char *parts);
void clsi_append_string(clsi_text *out, const char *text);  /* a string of C */
void clsi_append_comment(clsi_text *out, const char *text); /* within one of C: without its end */
/* static const int name[] or double name[] of n entries and a last one, `end`; in runs where the export has them. */
void clsi_append_ints(clsi_text *out, const clsi_export *e, const char *name, size_t n,
                      const int *v, const char *end);
void clsi_append_doubles(clsi_text *out, const clsi_export *e, const char *name, size_t n,
                         const double *v, const char *end);
/* Where a start may lie: of coordinates, and of temperatures where these are states. */
double clsi_state_limit(const clsi_export *e, size_t k, int high);
/* The whole module as text; renames the export. in_page: it starts from states alone. */
cls_status clsi_export_module(clsi_export *e, int in_page, clsi_text *out, cls_error *error);
void clsi_append_number(clsi_text *out, double value); /* a hex float of C */
int clsi_export_history(const clsi_export *e);         /* solutions kept for the predictor */
cls_status clsi_export_header(clsi_export *e, clsi_text *out, cls_error *error);
/* Weights are written once for both variants: do these number their networks alike? */
int clsi_export_fields_agree(const clsi_export *e);
/* Counts what the header needs: to be called first. script: for JavaScript. */
typedef enum clsi_source_kind {
    CLSI_SOURCE_C,
    CLSI_SOURCE_FMU,
    CLSI_SOURCE_SCRIPT
} clsi_source_kind;
cls_status clsi_export_source(clsi_export *e, clsi_source_kind kind, clsi_text *out,
                              cls_error *error);
/* ---- host.c: what newton.inc and step.inc ask for, as macros ---- */
void clsi_append_host(clsi_text *out, const clsi_export *e);
/* ---- lawful.c: explicit steps whose weights keep the energy (simulate/lawful.inc) ---- */
int clsi_export_is_lawful(const clsi_export *e);
void clsi_append_lawful(clsi_text *out, const clsi_export *e); /* what lawful.inc asks for */
void clsi_append_lawful_struct(clsi_text *out, const clsi_export *e);
void clsi_append_lawful_cost(clsi_text *out, const clsi_export *e); /* of a step, in the header */
/* ---- sparse.c: the equations of a step with many unknowns ---- */
struct clsi_sparse_lu;
void clsi_append_sparse(clsi_text *out, const clsi_export *e);
double clsi_sparse_cost(const struct clsi_sparse_lu *lu); /* operations of factors and a solution */
/* ---- card.c: what is in it, for a person ---- */
cls_status clsi_export_readme(const clsi_export *e, int fmu, clsi_text *out, cls_error *error);

/* A target is one const descriptor; export.c has the table. */
typedef struct clsi_target {
    const char *name, *doc;
    cls_status (*write)(clsi_export *e, const char *path, cls_export_info *info, cls_error *error);
    int needs; /* it says what depends on what */
} clsi_target;
extern const clsi_target clsi_target_c, clsi_target_js, clsi_target_fmu;

/* Texts (embedded by CMake). */
extern const char clsi_dense_text[], clsi_sparse_lu_text[], clsi_newton_text[], clsi_step_text[],
    clsi_lawful_text[], clsi_export_model_text[], clsi_export_slopes_text[],
    clsi_export_dense_slopes_text[], clsi_export_main_text[], clsi_export_few_names_text[],
    clsi_export_many_names_text[], clsi_export_prelude_text[], clsi_export_fmu_text[],
    clsi_export_fmi2_text[], clsi_export_fmi3_text[];

#endif
