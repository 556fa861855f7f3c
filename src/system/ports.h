/* Components with ports: the front end of the language that becomes a flat system.
 *
 *   components.c  one component: its kind, name and ports
 *   elaborate.c   statements of the file and of what it includes -> components, ports, junctions
 *   connect.c     junctions from `connect`; what does not fit, what stays open
 *   dirac.c       `dirac`: matrices between ports, written as transformers and a junction
 *   wiring.c      which state gives each junction its effort; every mistake of wiring
 *   shared.c      one unknown law in many components
 *   flatten.c     the flat text (coordinates, entropies, brackets, one hamiltonian, frictions,
 *                 heat) with a map from its letters back to the files they come from
 *
 * A component has ports; a junction joins ports: one effort for all, flows that sum to zero
 * (EPHS thesis, section 3.2; docs/physics/ports.md). The effort is that of the one storage or
 * environment at the junction: dE/dx of its state x. */
#ifndef CLSI_PORTS_H
#define CLSI_PORTS_H

#include "system/language.h"

typedef enum clsi_component_kind {
    CLSI_STORAGE,
    CLSI_ENVIRONMENT,
    CLSI_RESISTIVE,
    CLSI_GYRATOR,
    CLSI_TRANSFORMER,
    CLSI_JUNCTION,
    CLSI_EXTERNAL
} clsi_component_kind;

/* A range of one of the texts. */
typedef struct clsi_span {
    size_t source, begin, end;
} clsi_span;

typedef struct clsi_port {
    char *name;        /* as the component calls it */
    char *unit;        /* NULL: none given */
    char *temperature; /* from `with temperature`, NULL: by the rule of names */
    int thermal;
    clsi_span where;
    size_t node; /* its place in the union of connected ports; after wiring: the junction */
    int connected;
} clsi_port;

typedef struct clsi_component {
    clsi_component_kind kind;
    char *name;      /* with the names of the composites around it: left_spring */
    char *local;     /* without them */
    char *used;      /* the file of a learned component, NULL: written in the text */
    clsi_span title; /* its name in the text */
    clsi_span whole; /* the statement */
    clsi_span body;  /* behind the colon */
    size_t scope, n_ports, first_state;
    clsi_port *port;
    char **input; /* (n_inputs) of what is learned, over the component's own ports; resistive */
    char **flat_input; /* the same over the variables of the system */
    size_t n_inputs;
    size_t
        definition; /* of `component NAME(...): KIND unknown`, which its instances share; SIZE_MAX */
    int bath;       /* an environment whose temperature changes: a reservoir, no state */
    int merged;     /* a transformer between dependent storages */
} clsi_component;

/* What a junction is after wiring. */
typedef struct clsi_joint {
    size_t state; /* whose effort it has, SIZE_MAX while that is open */
    int direct;   /* that state's storage stands at this junction */
    char *factor; /* through transformers: effort = factor * that effort; NULL: 1 */
    int thermal;
    char *label; /* for pictures: the state's name, or `name*factor` */
} clsi_joint;

/* A state of a storage or an environment. */
typedef struct clsi_store {
    size_t component, port;
    char *name;        /* flat */
    char *temperature; /* flat, thermal ones */
    int thermal;
    size_t partner; /* canonical pair: the position's momentum and the momentum's position */
    int position;   /* 1: the position of a pair, 0: its momentum or a plain state */
    int pulled;     /* friction, an external port or a formula uses its effort */
    /* Dependent storages (dependent.c): the state that it shares, SIZE_MAX: its own; its effort is
     * ratio (NULL: 1) times that one's; the let that is its part of the state, NULL: all of it. */
    size_t master;
    char *ratio, *share;
} clsi_store;

/* A name that means something else in the flat text: parameters and lets of a composite. */
typedef struct clsi_scope_names {
    char *prefix; /* "" for the file itself */
    size_t outer; /* the scope around it */
    char **names;
    size_t n, capacity;
    clsi_port *port; /* of the composite */
    size_t n_ports;
    clsi_span set; /* values given where it is used */
    clsi_span title;
} clsi_scope_names;

typedef struct clsi_definition {
    char *name;
    clsi_span title, ports, body;
    int single; /* `component NAME(...): KIND ...`: one component of this kind */
    clsi_component_kind kind;
} clsi_definition;

typedef struct clsi_connection {
    size_t scope;
    clsi_span list;
    int free; /* `free`: nothing is joined, the ports stay as they are */
} clsi_connection;

typedef struct clsi_statement_copy {
    size_t scope;
    clsi_span span;
} clsi_statement_copy;

/* A statement that stands for another text: `include`, or `use` of a learned component. */
typedef struct clsi_inclusion {
    clsi_span at;
    size_t source;
} clsi_inclusion;

/* Flat letters back to the text they come from. */
typedef struct clsi_origin {
    size_t flat, source, offset;
    int exact; /* letter by letter; 0: made up, all of it belongs to one place */
} clsi_origin;

/* A learned part that is no component (a term of an ode), used from a file. */
typedef struct clsi_used_part {
    char *name, *path;
} clsi_used_part;

typedef struct clsi_ports {
    cls_error *error;
    clsi_reader **sources; /* texts: the file, then what it includes */
    size_t n_sources, sources_capacity;
    clsi_component *components;
    size_t n_components, components_capacity;
    size_t *by_name, by_name_room; /* components and composites in places by their names */
    clsi_definition *definitions;
    size_t n_definitions, definitions_capacity;
    clsi_scope_names *scopes;
    size_t n_scopes, scopes_capacity;
    clsi_connection *connections;
    size_t n_connections, connections_capacity;
    clsi_statement_copy *copies; /* statements that stay as they are */
    size_t n_copies, copies_capacity;
    clsi_used_part *used_parts;
    size_t n_used_parts, used_parts_capacity;
    clsi_inclusion *inclusions;
    size_t n_inclusions, inclusions_capacity;
    size_t *parent; /* union of ports */
    size_t n_nodes, nodes_capacity;
    clsi_joint *joints;
    size_t n_joints;
    clsi_store *stores;
    size_t n_stores;
    clsi_text flat;
    clsi_origin *map;
    size_t n_map, map_capacity;
    char **strings; /* everything above that is a string lives here */
    size_t n_strings, strings_capacity;
    const struct clsi_loader *loader;
    int depth; /* of includes and composites */
} clsi_ports;

/* Does the text have statements of this front end? */
int clsi_has_ports(const clsi_reader *r);
/* Text of a file -> components. */
cls_status clsi_ports_elaborate(clsi_ports *p, const clsi_reader *r);
/* Joins the ports that are connected; none may stay open. */
cls_status clsi_ports_connect(clsi_ports *p);
/* Checks the wiring and finds the state behind every junction. */
cls_status clsi_ports_wire(clsi_ports *p);
/* Writes p->flat and p->map. */
cls_status clsi_ports_flatten(clsi_ports *p);
/* The text with everything it includes in its place. */
cls_status clsi_ports_expand(clsi_ports *p, char **out);
void clsi_ports_free(clsi_ports **p);

/* The text of a composite, and its use, for `dirac NAME(...): ...` (dirac.c). */
cls_status clsi_write_dirac(clsi_ports *p, size_t scope, size_t source, clsi_cursor c,
                            clsi_text *out);
/* The lets of storages that have one state together (dependent.c). */
cls_status clsi_put_dependent(clsi_ports *p);
/* How the flat text calls a state. */
const char *clsi_state_text(const clsi_ports *p, size_t state, char out[128]);

/* ---- shared by these files ---- */
clsi_reader *clsi_source_of(const clsi_ports *p, clsi_span at);
/* A string that lives as long as p; NULL when out of memory. */
char *clsi_keep(clsi_ports *p, const char *text, size_t length);
char *clsi_keep_printf(clsi_ports *p, const char *format, ...) CLS_PRINTF(2, 3);
clsi_span clsi_span_of(size_t source, size_t begin, size_t end);
/* A name at the cursor, behind `after`. */
cls_status clsi_port_word(clsi_ports *p, size_t source, clsi_cursor *c, const char *after,
                          char **out, clsi_span *where);
/* A word that begins a component. */
int clsi_accept_kind(const clsi_reader *r, clsi_cursor *c, clsi_component_kind *kind);
/* `storge pipe(p): ...` is a component with a typo, and no other statement looks like one; told
 * before everything that misses it complains. */
cls_status clsi_check_kind(clsi_reader *r, clsi_cursor c);
/* No other component has it. */
/* The component of this flat name, or NULL. */
clsi_component *clsi_component_find(const clsi_ports *p, const char *name);
clsi_scope_names *clsi_composite_find(const clsi_ports *p, const char *name);
cls_status clsi_open_scope(clsi_ports *p, size_t outer, const char *prefix, clsi_span title);
cls_status clsi_name_is_free(clsi_ports *p, const char *name, clsi_span title);
/* (a, entropy b [J/K], ...) */
cls_status clsi_list_ports(clsi_ports *p, size_t source, clsi_cursor *c, clsi_port **list,
                           size_t *n);
/* What stands behind the kind; `used`: the file of a learned component, or NULL. */
cls_status clsi_read_component(clsi_ports *p, size_t scope, size_t source, clsi_cursor c,
                               clsi_component_kind kind, clsi_span whole, char *used);
/* The same for `use NAME as LOCAL` of a definition that is one component. */
cls_status clsi_use_component(clsi_ports *p, size_t scope, size_t definition, char *local,
                              clsi_span title, clsi_span whole);
size_t clsi_node_root(const clsi_ports *p, size_t node);
/* Number of the port with this name, or SIZE_MAX. */
size_t clsi_port_find(const clsi_component *c, const char *name, size_t length);
/* The terms of a resistive component: COEFFICIENT [along DIRECTION] [on PORT]. */
typedef struct clsi_term {
    clsi_span coefficient, direction; /* direction empty: the natural one */
    size_t heat;                      /* port that takes the heat; SIZE_MAX: conduction */
    size_t n;                         /* ports in the direction */
    size_t port[8];
    clsi_span weight[8]; /* empty: 1 */
    int sign[8];
    int unknown;
} clsi_term;
enum { CLSI_MAX_TERMS = 16 };
cls_status clsi_read_terms(clsi_ports *p, const clsi_component *c, clsi_term *terms, size_t *n);
/* {a, b} = FORMULA of a junction, or the one entry of a gyrator. */
typedef struct clsi_bracket {
    size_t component, a, b; /* ports */
    clsi_span formula;
} clsi_bracket;
/* One `{a, b} = FORMULA` at the cursor; b->component stays as it is. */
cls_status clsi_read_entry(clsi_ports *p, const clsi_component *c, clsi_cursor *at,
                           clsi_bracket *b);
cls_status clsi_read_brackets(clsi_ports *p, size_t component, clsi_bracket **list, size_t *n,
                              size_t *capacity);
clsi_span clsi_trimmed(const clsi_ports *p, clsi_span s);
/* Offset of a word outside brackets in [begin, end), or `end`. */
size_t clsi_find_plain_word(const clsi_reader *r, size_t begin, size_t end, const char *word);
cls_status clsi_read_port_name(clsi_ports *p, const clsi_component *c, clsi_cursor *at,
                               const char *after, size_t *out);
/* Made-up text that belongs to a place; a range of a text with its names replaced (c NULL: a
 * statement, not a component's formula); the names of a junction's effort and of what a force acts
 * on. */
void clsi_put(clsi_ports *p, clsi_span at, const char *format, ...) CLS_PRINTF(3, 4);
/* What a name of a composite is in the whole, NULL: it is none of its names. */
const char *clsi_scope_text(const clsi_ports *p, size_t scope, const char *word, size_t length,
                            char out[512]);
void clsi_put_span(clsi_ports *p, const clsi_component *c, size_t scope, clsi_span s);
void clsi_effort_text(const clsi_ports *p, size_t joint, char out[512]);
const char *clsi_force_text(const clsi_ports *p, size_t state);

/* ---- shared.c ---- */
/* Is its law that of a definition whose instances share what is learned? */
int clsi_is_shared(const clsi_ports *p, const clsi_component *c);
/* `NAME(inputs)` in the place of what is unknown, NAME that of the definition (and the number of a
 * term); the function itself is declared where it is used first, behind `word`: its body stands at `law`. */
void clsi_declare_shared(clsi_ports *p, const clsi_component *c, const char *word,
                         const char *number, clsi_span law);
void clsi_put_shared(clsi_ports *p, const clsi_component *c, const char *number);
/* The name of what is learned of it: that of its definition, or its own. */
const char *clsi_law_name(const clsi_ports *p, const clsi_component *c);

/* ---- matrix.c ---- */
/* Does a resistive component relate all its ports by a matrix? */
int clsi_is_matrix(const clsi_ports *p, const clsi_component *c);
/* The flat text of one; its inputs are known. */
cls_status clsi_put_matrix(clsi_ports *p, const clsi_component *c);
/* What is learned of a storage or resistive component: n names of parts, as in the flat text, and
 * the declaration behind the colon without inputs, `unknown along a - b`. *list is one block for
 * free(); *text too. */
cls_status clsi_component_parts(clsi_ports *p, const clsi_component *c, size_t *n,
                                char (**list)[160], char **text);

#endif
