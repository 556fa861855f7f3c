/* Rows: a state becomes the columns of a trajectory file.
 *
 * Order: time, the native state, then p.*, v.*, S*, T* where they are not in the state, energy,
 * entropy, work (only with external forces that have no potential), heat and entropy.outside (only
 * with heat sources or reservoirs), inputs, invariants, outputs. One
 * program computes all of them; it is made once, when the system is read. A row allocates nothing
 * unless the system is very large. */
#include "base/base.h"
#include "base/misuse.h"
#include "expr/program.h"
#include "system/system.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_WORK = 1024, STACK_INPUTS = 256 };

typedef struct columns {
    const char **names;
    cls_node *nodes;
    size_t n;
    int failed;
} columns;

static void add(columns *c, const char *name, cls_node node) {
    c->names[c->n] = name;
    c->nodes[c->n++] = node;
}

static void add_symbols(columns *c, const cls_system *s, size_t n, const cls_node *symbols,
                        const cls_node *nodes) {
    for (size_t i = 0; i < n; i++)
        if (symbols[i] != nodes[i]) add(c, cls_node_name(s->g, symbols[i]), nodes[i]);
}

static void add_all(columns *c, const cls_system *s, const cls_node *accounts) {
    const clsi_form *f = s->form;
    size_t n_accounts = clsi_account_count(s);
    const clsi_place at = {f->q, f->v, f->p, f->S, f->T, s->t};
    add(c, "time", s->t);
    for (size_t i = 0; i < f->nz; i++) add(c, cls_node_name(s->g, f->z[i]), f->z[i]);
    if (!s->ode) {
        add_symbols(c, s, s->n, s->p, f->p);
        add_symbols(c, s, s->n, s->v, f->v);
        add_symbols(c, s, s->m, s->S, f->S);
        add_symbols(c, s, s->m, s->T, f->T);
        add(c, "energy", f->energy);
        add(c, "entropy",
            s->has_heat ? cls_add(s->g, f->entropy, accounts[n_accounts - 1]) : f->entropy);
    }
    for (size_t k = 0; k < n_accounts; k++)
        add(c, clsi_account_name(clsi_account_at(s, k)), accounts[k]);
    for (size_t k = 0; k < s->nu; k++)
        add(c, s->input[k].name,
            s->input_formula[k] == CLS_NO_NODE ? s->u[k] : s->input_formula[k]);
    for (size_t i = 0; i < s->n_invariants + s->n_outputs; i++) {
        const clsi_named *named =
            i < s->n_invariants ? &s->bound.invariants[i] : &s->bound.outputs[i - s->n_invariants];
        cls_node node = CLS_NO_NODE;
        c->failed |= clsi_place_at(s, &at, 1, &named->node, &node) != CLS_OK;
        add(c, named->name, node);
    }
}

cls_status clsi_system_build_rows(cls_system *s, cls_error *error) {
    const clsi_form *f = s->form;
    size_t n_accounts = clsi_account_count(s), n_inputs = 1 + f->nz + n_accounts + s->nu;
    size_t room =
        3 + 2 * s->n + 2 * s->m + f->nz + n_accounts + s->nu + s->n_invariants + s->n_outputs;
    columns c = {clsi_calloc(room, sizeof(char *)), clsi_calloc(room, sizeof(cls_node)), 0, 0};
    cls_node *inputs = clsi_calloc(n_inputs, sizeof *inputs);
    cls_status status = CLS_MEMORY;
    if (c.names && c.nodes && inputs) {
        cls_node *accounts = inputs + 1 + f->nz;
        inputs[0] = s->t;
        memcpy(inputs + 1, f->z, f->nz * sizeof *inputs);
        for (size_t k = 0; k < n_accounts; k++)
            accounts[k] = cls_fresh_symbol(s->g, clsi_account_name(clsi_account_at(s, k)));
        for (size_t k = 0; k < s->nu; k++) accounts[n_accounts + k] = s->u[k];
        add_all(&c, s, accounts);
        status = cls_graph_status(s->g, error);
        if (status == CLS_OK && c.failed) status = CLS_MEMORY;
        if (status == CLS_OK)
            status = clsi_program_create_lean(s->g, 0, n_inputs, n_inputs, inputs, c.n, c.n,
                                              c.nodes, &s->row_program, error);
    }
    s->columns = c.names;
    s->n_columns = c.n;
    free(c.nodes);
    free(inputs);
    return status == CLS_MEMORY ? clsi_no_memory(error) : status;
}

const cls_program *clsi_system_row_program(const cls_system *s) {
    return s->row_program;
}

/* Declared outputs may be infinite (1/v at rest); what belongs to the state may not. */
static cls_status check_row(const cls_system *s, const double *row, cls_error *error) {
    for (size_t i = 0; i < s->n_columns - s->n_outputs; i++)
        if (!isfinite(row[i]))
            return clsi_fail(error, CLS_NUMERIC, "%s: %s is %g at time %.17g", s->name,
                             s->columns[i], row[i], row[0]);
    return CLS_OK;
}

cls_status cls_system_row(const cls_system *s, double time, const double *state, double *row,
                          cls_error *error) {
    NEED(error, s);
    NEED(error, state);
    NEED(error, row);
    return cls_system_row_driven(s, time, state, NULL, row, error);
}

cls_status cls_system_row_driven(const cls_system *s, double time, const double *state,
                                 const double *inputs, double *row, cls_error *error) {
    NEED(error, s);
    NEED(error, state);
    NEED(error, row);
    double small_work[STACK_WORK], small_in[STACK_INPUTS], *work = small_work, *in = small_in;
    size_t size = cls_program_work_size(s->row_program), n_state = cls_system_state_count(s);
    size_t n_inputs = 1 + n_state + s->nu;
    double *heap = NULL;
    if (size > STACK_WORK || n_inputs > STACK_INPUTS) {
        heap = clsi_calloc(size + n_inputs, sizeof *heap);
        if (!heap) return clsi_no_memory(error);
        work = heap;
        in = heap + size;
    }
    in[0] = time;
    memcpy(in + 1, state, n_state * sizeof *in);
    for (size_t k = 0; k < s->nu; k++) in[1 + n_state + k] = inputs ? inputs[k] : 0;
    cls_program_prepare(s->row_program, work);
    cls_program_run(s->row_program, work, in, row);
    free(heap);
    return check_row(s, row, error);
}
