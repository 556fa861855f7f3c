/* The reader of .clausius files, shared by the files that read statements:
 *   source.c    text, positions, error sentences, words, expressions
 *   arrays.c    arrays, sums and loops are written out; indices.c: numbers in brackets
 *   names.c     one table of names; which of them a formula may use
 *   declare.c   coordinate, position, momentum, entropy, temperature, parameter, let, part
 *   brackets.c  poisson
 *   algebra.c   algebra
 *   body.c      rigid body, vertical, attitude
 *   statements.c  formulas, friction, heat, external, invariant, output, start, step, until
 *   boundary.c  input, reservoir, heat source
 *   matter.c    diffusion, reaction, matter source
 *   anchor.c    anchor
 *   parse.c     the table of statements and the order of reading */
#ifndef CLSI_LANGUAGE_H
#define CLSI_LANGUAGE_H

#include "base/base.h"
#include "expr/replace.h"
#include "system/system.h"

/* What a name stands for; or-ed where several are allowed. */
typedef enum clsi_kind {
    CLSI_COORDINATE = 1,
    CLSI_VELOCITY = 2,
    CLSI_MOMENTUM = 4,
    CLSI_ENTROPY = 8,
    CLSI_TEMPERATURE = 16,
    CLSI_TIME = 32,
    CLSI_PARAMETER = 64,
    CLSI_LET = 128,
    CLSI_INPUT = 512,
    CLSI_LABEL = 256 /* names a part, an invariant or an output; not usable in formulas */
} clsi_kind;

typedef struct clsi_name {
    char *name;
    clsi_kind kind;
    size_t index;  /* which coordinate, entropy, parameter, ... */
    cls_node node; /* CLS_NO_NODE for labels */
    size_t where;  /* offset of its declaration */
} clsi_name;

/* What the elements of an array are, whose symbols are a block of the graph (expr/graph.h): of each stem its kind,
 * and the index of its first element. */
typedef struct clsi_array_names {
    clsi_kind kind[3];
    size_t first[3];
} clsi_array_names;

/* A domain that waits until the parameters are known. */
typedef struct clsi_domain {
    clsi_kind kind;
    size_t index, begin, end; /* between the parentheses */
    int turning;              /* of the text with arrays */
} clsi_domain;

/* A place in the text: the rest of a statement. */
typedef struct clsi_cursor {
    size_t at, end;
} clsi_cursor;

/* A rate of an ode that waits until all names are known. */
typedef struct clsi_rate {
    size_t state, where;
    clsi_cursor formula;
} clsi_rate;

struct clsi_ports;
struct clsi_loops;

typedef struct clsi_reader {
    const char *file, *text;
    char *clean; /* the text with comments and control characters blanked, same offsets */
    size_t length;
    const cls_assignments *set;
    cls_error *error;
    cls_system *s;
    clsi_name *names;
    size_t n_names, names_capacity;
    uint32_t *name_table;   /* (name_slots) open addressing, name + 1, 0 empty */
    uint32_t *symbol_names; /* (symbol_names_room) by node: 1 + the name whose symbol it is */
    size_t symbol_names_room;
    size_t name_slots;
    const char **scope_names; /* what cls_parse sees: names with nodes */
    cls_node *scope_nodes;
    size_t n_scope, scope_names_capacity, scope_nodes_capacity;
    cls_scope
        scope; /* of the formula that is read: its names move while uses of functions are added */
    cls_node *let_symbol, *let_raw;   /* (n_lets) lets as symbols and as expressions */
    int *let_kinds;                   /* what they are made of; of a lean reader */
    cls_node *parameter_constant;     /* (n_parameters) */
    clsi_replacer *lets, *parameters; /* put in place of their symbols; NULL: none so far */
    clsi_domain *domains;
    size_t n_domains, domains_capacity;
    size_t coordinate_capacity, momentum_capacity, entropy_capacity, temperature_capacity,
        parameter_capacity, value_capacity, unknown_parameter_capacity, learned_capacity,
        symbol_capacity, constant_capacity, lets_capacity, let_symbol_capacity, let_raw_capacity,
        let_kinds_capacity, parts_capacity, unknown_capacity, unknown_field_capacity,
        unknown_of_capacity, unknown_positive_capacity, invariants_capacity,
        raw_invariants_capacity, outputs_capacity, raw_outputs_capacity, anchors_capacity,
        units_capacity, part_inputs_capacity, written_capacity, input_capacity, u_capacity,
        formula_capacity, reservoir_capacity, labels_capacity, functions_capacity, uses_capacity,
        kept_capacity;
    size_t written_where, written_length; /* the name of the friction that is being read */
    clsi_function *defining;   /* whose formula is being read: its arguments are names, */
    const cls_node *arguments; /* for these; NULL: it is being declared */
    size_t n_calls;
    size_t reading;        /* where the expression being read begins */
    size_t n_bodies, body; /* rigid bodies, and the first momentum of the last one */
    clsi_rate *rates;
    size_t n_rates, rates_capacity;
    clsi_replacement *replacements;
    size_t n_replacements;
    clsi_replacement *replaced; /* of the friction statement being read, NULL: none */
    int skeleton;
    cls_node *loose; /* (n + m, n + m) friction operators that are degenerate at states only */
    size_t loose_where, entropy_where;
    int has_formula;
    size_t formula_where; /* offset of the formula statement */
    int has_title;
    const clsi_loader *loader;
    const struct clsi_ports *ports;     /* set: the text was made from components (ports.h) */
    const struct clsi_loops *expanding; /* while they are being written out */
    struct clsi_loops *arrays; /* set: the text had arrays, which are written out (arrays.h) */
    int lean; /* arrays are not written out where that can be avoided; a complaint means: read again, all written out */
    int turning;              /* what is being read is the text with arrays itself (pattern.h) */
    clsi_array_names *blocks; /* (n_blocks) beside those of the graph */
    size_t n_blocks, blocks_room;
} clsi_reader;

/* One expression of the file: lets as symbols, lets expanded, parameters replaced by values. */
typedef struct clsi_expression {
    size_t begin, end;
    cls_node written, raw, bound;
    int kinds; /* of its names as written, with CLSI_ALL_KINDS; 0: not known */
} clsi_expression;
enum { CLSI_ALL_KINDS = 1 << 20 };
/* Known to have no names of these kinds, not inside of its lets either. */
static inline int clsi_lacks(const clsi_expression *e, int kinds) {
    return e->kinds && !(e->kinds & kinds);
}

/* ---- arrays.c ---- */
/* Writes out arrays, sums and loops (a text without them stays as it is). */
cls_status clsi_read_arrays(clsi_reader *r);
/* Where a letter of the flat text comes from, and the values of the indices there (arrays.h). */
const clsi_reader *clsi_array_origin(const struct clsi_loops *a, size_t *where, size_t *turn);
void clsi_turn_text(const struct clsi_loops *a, size_t turn, char *out, size_t room);
void clsi_loops_free(struct clsi_loops **arrays);

/* ---- ports.c ---- */
/* Where a letter of a text made from components or arrays comes from; `note`: the values of the
 * indices there, " (i = 3)" or ""; NULL when nobody asks. */
const clsi_reader *clsi_origin_of(const clsi_reader *r, size_t *where, char note[160]);
/* Turns a text of components into a flat one (a text without them stays as it is). */
cls_status clsi_read_ports(clsi_reader *r, const clsi_loader *loader);

/* ---- functions.c ---- */
/* What cls_parse is given: a const scope, behind which names may be made. */
typedef struct clsi_reader_scope {
    clsi_reader *r;
} clsi_reader_scope;
size_t clsi_scope_arity(const void *scope, const char *name, size_t length);
cls_node clsi_scope_call(const void *scope, const char *name, size_t length, const cls_node *args);
/* `(` and what follows the name of a function, at the cursor behind the `(`. */
cls_status clsi_read_function(clsi_reader *r, clsi_cursor c, size_t where, size_t length,
                              clsi_part_kind kind);
/* Unknown functions must be used somewhere. */
cls_status clsi_check_functions(clsi_reader *r);

/* ---- source.c ---- */
/* Fills the error with file:line:column, the sentence, the source line and a caret. */
cls_status clsi_at(clsi_reader *r, size_t where, const char *format, ...) CLS_PRINTF(3, 4);
cls_status clsi_clean_text(clsi_reader *r);
void clsi_skip_space(const clsi_reader *r, clsi_cursor *c);
int clsi_at_end(const clsi_reader *r, clsi_cursor *c);
/* Letters of an index `[3]` at t, 0 when there is none. */
size_t clsi_index_length(const char *t, size_t n);
/* Length of the word at the cursor, 0 if there is none; with dots when `dotted` (v.x). */
size_t clsi_word_length(const clsi_reader *r, clsi_cursor *c, int dotted);
int clsi_accept(const clsi_reader *r, clsi_cursor *c, const char *symbol);
int clsi_accept_word(const clsi_reader *r, clsi_cursor *c, const char *word);
cls_status clsi_expect(clsi_reader *r, clsi_cursor *c, const char *symbol, const char *after);
cls_status clsi_expect_end(clsi_reader *r, clsi_cursor *c);
/* "`word`" or "the end of the statement", for messages. */
const char *clsi_found(const clsi_reader *r, clsi_cursor *c, char out[48]);
/* Offset of the next comma outside brackets, or the end. */
size_t clsi_item_end(const clsi_reader *r, const clsi_cursor *c);
cls_status clsi_read_expression(clsi_reader *r, size_t begin, size_t end, clsi_expression *out);
/* `raw` and `bound` from `written`. */
cls_status clsi_expand(clsi_reader *r, clsi_expression *e);
/* What an expression is made of, also inside of its lets; all kinds where something has no name. */
int clsi_kinds_of(clsi_reader *r, cls_node written);
/* An expression of numbers and parameters only, as a finite number. */
cls_status clsi_read_number(clsi_reader *r, size_t begin, size_t end, const char *what,
                            double *out);
/* Offset of the word `name` inside [begin, end), or `begin`. */
size_t clsi_find_word(const clsi_reader *r, size_t begin, size_t end, const char *name);

/* ---- names.c ---- */
/* Refuses a name that is taken. */
cls_status clsi_check_free(clsi_reader *r, const char *name, size_t length, clsi_kind kind,
                           size_t where);
/* A name means one thing: refuses u where there is u[1], and u[1] where there is u. */
cls_status clsi_array_is_free(clsi_reader *r, const char *name, size_t length, size_t where);
/* Any name, which nobody has. */
cls_status clsi_insert_name(clsi_reader *r, const char *name, size_t length, clsi_kind kind,
                            size_t index, cls_node node, size_t where);
cls_status clsi_declare(clsi_reader *r, const char *name, size_t length, clsi_kind kind,
                        size_t index, cls_node node, size_t where);
/* For cls_scope, of a clsi_reader_scope: the node of a name, CLS_NO_NODE when there is none. */
cls_node clsi_scope_find(const void *scope, const char *name, size_t length);
const clsi_name *clsi_lookup(const clsi_reader *r, const char *name, size_t length, int kinds);
/* The same by the symbol of a name. */
const clsi_name *clsi_name_of_symbol(const clsi_reader *r, cls_node a, int kinds);
int clsi_names_function(const char *word);
/* The nearest name of these kinds as " (did you mean `x`?)", or "". */
/* What --set gives to a name, by itself or as one of w[*]: its place there, or SIZE_MAX. */
size_t clsi_set_at(const clsi_reader *r, const char *name);
/* Whether a name that --set gives, w or w[*], means something of these kinds. */
int clsi_set_means(const clsi_reader *r, const char *given, int kinds);
const char *clsi_suggest(const clsi_reader *r, const char *name, size_t length, int kinds,
                         char out[96]);
/* All names of a kind, "S1, S2". */
const char *clsi_list_names(const clsi_reader *r, int kinds, char out[256]);
/* Fails when the expression uses a name outside `kinds`; `what` is "a lagrangian", ... */
cls_status clsi_allow(clsi_reader *r, const clsi_expression *e, int kinds, const char *what);
/* Reads an entropy or its temperature by either name. */
cls_status clsi_read_entropy(clsi_reader *r, clsi_cursor *c, const char *after, size_t *index);
/* The same, or a reservoir by the name of its temperature: m + its number. */
cls_status clsi_read_heat_place(clsi_reader *r, clsi_cursor *c, const char *after, size_t *index);
/* What a force acts on, as the place of its momentum: a coordinate, or a momentum without one. */
cls_status clsi_read_coordinate(clsi_reader *r, clsi_cursor *c, size_t *index);
/* `unknown [dissipative|positive] [FIELD] [of FORMULA, ...]` in the place of a formula: 1 when it
 * stands at the cursor. A part of that name is then listed as unknown, unless it is replaced. */
int clsi_is_unknown(const clsi_reader *r, clsi_cursor c);
cls_status clsi_read_unknown(clsi_reader *r, clsi_cursor c, size_t where, size_t length);
/* The replacement for a part of this name, NULL when it stays as written. */
clsi_replacement *clsi_replacement_of(clsi_reader *r, const char *name, size_t length);
cls_status clsi_add_part(clsi_reader *r, const char *name, size_t length);
/* `NAME =` at the cursor: its length, 0 when there is none. */
size_t clsi_optional_name(const clsi_reader *r, clsi_cursor *c, size_t *where);
/* A name for a part: one namespace with everything else; length 0: nothing. */
cls_status clsi_name_part(clsi_reader *r, size_t where, size_t length);

/* The parameters in a formula that something learned stands for are the learned part's. */
void clsi_mark_learned(clsi_reader *r, cls_node formula);
/* Frictions that real things have (forms.c): `[x <-] unknown [sharp] dry[(width)] + viscous +
 * quadratic` at the cursor. Adds -F v to the friction that heats place i. */
int clsi_is_friction_form(const clsi_reader *r, clsi_cursor c);
cls_status clsi_read_friction_form(clsi_reader *r, clsi_cursor c, size_t i, size_t where,
                                   size_t length);
/* The formulas behind `of`, with lets and parameters put in, as "a; b". `learned`: what they
 * contain counts as used by an unknown part. */
cls_status clsi_read_of(clsi_reader *r, clsi_cursor c, int learned, char **out);
/* Lists a part as unknown; takes the texts. */
cls_status clsi_keep_unknown(clsi_reader *r, char *name, char *field, char *of, int positive);
/* A name for something that cannot be unknown; length 0: nothing. */
cls_status clsi_name_label(clsi_reader *r, size_t where, size_t length, const char *what);

/* ---- brackets.c and algebra.c ---- */
/* A position or a momentum by its name. */
cls_status clsi_read_member(clsi_reader *r, clsi_cursor *c, const clsi_name **out);
void clsi_set_bracket(cls_system *s, clsi_physics *ph, const clsi_name *a, const clsi_name *b,
                      cls_node value);
/* The brackets of a named algebra on as many momenta as it has dimensions. */
void clsi_set_algebra(cls_system *s, const char *name, const clsi_name *const *momenta);

/* ---- declare.c and statements.c: one function per statement ---- */
/* A text that the system keeps. */
cls_status clsi_keep_text(clsi_reader *r, const char *text, size_t length, const char **out);
/* The other name of an entropy or temperature: from `with`, or by the first letter. */
cls_status clsi_other_name(clsi_reader *r, clsi_cursor *c, clsi_kind kind, const char *name,
                           char out[80]);
/* The same statements of arrays (declare_array.c). */
cls_status clsi_declare_array(clsi_reader *r, clsi_cursor *c, clsi_kind kind, int paired);
cls_status clsi_declare_momenta_arrays(clsi_reader *r, clsi_cursor *c, clsi_role role,
                                       const char *effort, const char *prefix, clsi_cursor *unit);
/* ---- parse.c ---- */
/* Statement number `key` of the table, of which the body is given. */
cls_status clsi_read_keyword(clsi_reader *r, size_t key, clsi_cursor body);
int clsi_is_statement_word(const clsi_reader *r, clsi_cursor word);

cls_status clsi_read_system(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_coordinates(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_positions(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_momenta(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_moles(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_internals(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_entropies(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_temperatures(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_parameters(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_let(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_function_line(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_part(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_coefficient(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_coupling(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_domains(clsi_reader *r); /* the domains that waited */
cls_status clsi_read_lagrangian(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_hamiltonian(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_thermal(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_poisson(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_algebra(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_body(clsi_reader *r, clsi_cursor c); /* the names; brackets with set_body */
cls_status clsi_read_vertical(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_attitude(clsi_reader *r, clsi_cursor c);
cls_status clsi_set_body(clsi_reader *r, clsi_cursor c);
cls_status clsi_set_vertical(clsi_reader *r, clsi_cursor c);
cls_status clsi_set_attitude(clsi_reader *r, clsi_cursor c);
void clsi_default_attitudes(cls_system *s); /* a start without one begins unturned */
cls_status clsi_read_friction(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_energy(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_dissipation(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_operator(clsi_reader *r, clsi_cursor c);
cls_status clsi_check_operator(clsi_reader *r); /* when the form is there */
/* The sum of the products is zero, on paper or for random values of all symbols. */
int clsi_is_identity(cls_graph *g, size_t n, const cls_node *terms);
/* Rows of products (n, width) over the symbols add up to zero at states of the system; `law` is
 * "M dE = 0" or "L dS = 0". */
cls_status clsi_check_rows(clsi_reader *r, size_t where, const char *law, size_t n, size_t width,
                           const cls_node *products);
cls_status clsi_read_total_entropy(clsi_reader *r, clsi_cursor c);
cls_status clsi_check_entropy(clsi_reader *r); /* when the form is there */
cls_status clsi_read_heat(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_external_force(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_external_potential(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_invariant(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_output(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_start(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_step(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_until(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_anchor(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_data(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_picture(clsi_reader *r, clsi_cursor c);
cls_status clsi_add_momentum(clsi_reader *r, const char *momentum, const char *velocity,
                             size_t where);

/* ---- matter.c ---- */
cls_status clsi_read_diffusion(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_reaction(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_matter_source(clsi_reader *r, clsi_cursor c);

/* ---- boundary.c ---- */
cls_status clsi_read_inputs(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_reservoir(clsi_reader *r, clsi_cursor c); /* the name; formula with set_ */
cls_status clsi_set_reservoir(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_source(clsi_reader *r, clsi_cursor c);
/* `[NAME] on` in front of a place: where the name stands and its length, 0: there is none. */
cls_status clsi_read_on(clsi_reader *r, clsi_cursor *c, const char *expected, size_t *where,
                        size_t *length);
cls_status clsi_read_noise(clsi_reader *r, clsi_cursor c);
/* A let of this name and value (declare.c). */
cls_status clsi_add_let(clsi_reader *r, size_t where, size_t length, const clsi_expression *e);
/* The same with a name that no statement can give it: `V(y - x)`. */
cls_status clsi_add_use_let(clsi_reader *r, const char *name, size_t where,
                            const clsi_expression *e);
/* The unit behind a `[`, and the `]`; the text is the caller's. */
cls_status clsi_read_unit(clsi_reader *r, clsi_cursor *c, char **unit);

/* ---- ode.c ---- */
cls_status clsi_read_ode(clsi_reader *r, clsi_cursor c);
cls_status clsi_read_rates(clsi_reader *r); /* the rates that waited */

#endif
