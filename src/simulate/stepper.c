/* The step of a scheme, compiled: residual with exact Jacobian, next state, guards, monitors. */
#include "simulate/stepper.h"
#include "base/base.h"
#include "expr/fields.h"
#include "expr/graph.h"
#include "expr/program.h"
#include "simulate/measures.h"
#include "system/sparse_lu.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct compiler {
    clsi_stepper *sp;
    clsi_step *st;
    const cls_node *symbols; /* free ones */
    int settable;            /* they may change from run to run */
    cls_node *inputs;        /* base, unknowns */
    cls_node *outputs;       /* room for the largest program but the residual */
    clsi_rows rows;          /* entries of J, where they are few in a row */
    int dense;               /* J is wanted whole */
    int pared; /* the graph has what is left to be compiled: other nodes' numbers mean nothing */
    cls_error *error;
} compiler;

/* A stepper of a large system for motions only: nobody asks for its formulas when it is there. */
enum { MANY_NODES = 1000000 };
static int is_lean(const clsi_stepper *sp, const cls_graph *g) {
    return sp->lean && !sp->n_free && !sp->scheme->noise && !g->n_fields && g->n > MANY_NODES;
}

static cls_status compile(compiler *c, size_t n_inputs, size_t n_first, size_t n_outputs,
                          cls_program **out) {
    /* learned ones are set for many runs, those that may change are read like any input */
    clsi_parameters free = {c->sp->first_free, c->settable ? 0 : c->sp->n_free};
    /* without unknowns nothing is run twice, and what is asked for goes where it is asked for */
    size_t early = c->sp->n_unknowns ? c->sp->n_base : 0;
    cls_graph *g = c->sp->s->g;
    cls_status status = c->sp->lean
                            ? clsi_program_create_lean(g, 0, early, n_inputs, c->inputs, n_first,
                                                       n_outputs, c->outputs, out, c->error)
                            : clsi_program_create_open(g, free, early, n_inputs, c->inputs, n_first,
                                                       n_outputs, c->outputs, out, c->error);
    if (status == CLS_OK) c->sp->work_size += cls_program_work_size(*out);
    return status;
}

/* Of the state alone. */
static cls_status compile_watch(compiler *c, size_t n_early, size_t n_outputs, cls_program **out) {
    clsi_stepper *sp = c->sp;
    size_t n_inputs = sp->nz + 2 + sp->nu + sp->n_free;
    cls_graph *g = sp->s->g;
    cls_status status =
        sp->lean ? clsi_program_create_lean(g, 0, n_early, n_inputs, c->inputs, n_outputs,
                                            n_outputs, c->outputs, out, c->error)
                 : clsi_program_create_staged(g, n_early, n_inputs, c->inputs, n_outputs, n_outputs,
                                              c->outputs, out, c->error);
    if (status == CLS_OK) sp->work_size += cls_program_work_size(*out);
    return status;
}

/* The residual, with which the graph ends. */
static cls_status compile_last(compiler *c, size_t n_first, size_t n_outputs) {
    clsi_stepper *sp = c->sp;
    cls_status status =
        clsi_program_create_lean(c->st->g, 1, sp->n_base, sp->n_base + sp->n_unknowns, c->inputs,
                                 n_first, n_outputs, c->outputs, &sp->residual, c->error);
    if (status == CLS_OK) sp->work_size += cls_program_work_size(sp->residual);
    return status;
}

/* Residual, positive quantities, and n_jacobian entries of J from `entries` (NULL: to be found). */
static cls_status compile_rows(compiler *c, const cls_node *entries) {
    clsi_step *st = c->st;
    size_t k = st->n_unknowns, first = k + st->n_positive, n = c->sp->n_jacobian;
    cls_node *kept = c->outputs, *outputs = clsi_calloc(first + n, sizeof *outputs);
    if (!outputs) return clsi_no_memory(c->error);
    memcpy(outputs, st->residual, k * sizeof(cls_node));
    memcpy(outputs + k, st->positive, st->n_positive * sizeof(cls_node));
    cls_status status = CLS_OK;
    if (entries)
        memcpy(outputs + first, entries, n * sizeof(cls_node));
    else
        status = cls_jacobian(st->g, k, st->residual, k, st->unknown, outputs + first);
    c->outputs = outputs;
    if (status != CLS_OK)
        status = cls_graph_status(st->g, c->error);
    else if (c->sp->lu && (c->pared || is_lean(c->sp, st->g)))
        status = compile_last(c, first, first + n);
    else
        status = compile(c, c->sp->n_base + k, first, first + n, &c->sp->residual);
    c->outputs = kept;
    free(outputs);
    return status;
}

/* Dense below: factorising a few rows is faster than looking up where their entries are
 * (docs/decisions/0050). */
enum { FEW_UNKNOWNS = 24 };

/* Entries of equal cells side by side, so that whole vectors of them are written and read; then how they are
 * eliminated. */
static cls_status place_entries(compiler *c) {
    clsi_rows *rows = &c->rows;
    size_t k = c->st->n_unknowns;
    uint32_t *stands = clsi_calloc(rows->n, sizeof *stands);
    cls_node *node = clsi_calloc(rows->n, sizeof *node);
    cls_status status = CLS_OK;
    if (!stands || !node || !clsi_sparse_lu_by_diagonals(k, rows->start, rows->column, stands))
        status = clsi_no_memory(c->error);
    for (size_t e = 0; e < rows->n && status == CLS_OK; e++) node[stands[e]] = rows->node[e];
    if (status == CLS_OK) {
        memcpy(rows->node, node, rows->n * sizeof *node);
        status = clsi_sparse_lu_create_placed(k, rows->start, rows->column, stands, c->sp->lean,
                                              &c->sp->lu, c->error);
    }
    free(stands);
    free(node);
    return status;
}

/* Before the largest part of the work what is not needed for it leaves the graph. */
static void pare(compiler *c) {
    clsi_step *st = c->st;
    const clsi_node_list lists[] = {{c->sp->n_base + st->n_unknowns, c->inputs},
                                    {st->n_unknowns, st->unknown},
                                    {st->n_unknowns, st->residual},
                                    {st->n_positive, st->positive},
                                    {st->nz, st->next},
                                    {st->nz, st->change},
                                    {CLSI_ACCOUNTS, st->gain},
                                    {st->paper_start ? st->nz : 0, st->paper_start},
                                    {1, &st->h}};
    if (st->n_unknowns <= FEW_UNKNOWNS || c->dense || !is_lean(c->sp, st->g)) return;
    c->pared = clsi_graph_keep(st->g, sizeof lists / sizeof *lists, lists);
}

/* The Jacobian: its pattern, and of one with many entries in a row the residual's program. */
static cls_status find_jacobian(compiler *c) {
    clsi_step *st = c->st;
    clsi_stepper *sp = c->sp;
    size_t k = st->n_unknowns;
    clsi_rows *rows = &c->rows;
    sp->n_jacobian = k * k;
    if (k <= FEW_UNKNOWNS || c->dense) return compile_rows(c, NULL);
    cls_status status = clsi_sparse_jacobian(st->g, k, st->residual, k, st->unknown, rows);
    if (status != CLS_OK) return clsi_graph_failed(st->g, c->error);
    if (2 * rows->n >= k * k) return compile_rows(c, NULL);
    sp->n_jacobian = rows->n;
    if (!sp->n_free) clsi_graph_pack(st->g); /* nothing more is built */
    status = place_entries(c);
    if (status == CLS_OK) sp->work_size += clsi_sparse_lu_size(sp->lu);
    if (status == CLS_OK && !sp->n_lifted) sp->price = clsi_sparse_lu_price(sp->lu);
    if (sp->price > 0) sp->work_size += clsi_krylov_size(sp->lu);
    free(rows->start); /* the largest program is next but two */
    free(rows->column);
    rows->start = NULL;
    rows->column = NULL;
    return status;
}

/* The largest program last: by then nobody else needs the graph. */
static cls_status compile_residual(compiler *c) {
    return c->sp->residual ? CLS_OK : compile_rows(c, c->rows.node);
}

static cls_status compile_guard(compiler *c) {
    clsi_stepper *sp = c->sp;
    size_t n = c->st->nq + sp->s->n;
    sp->guarded = clsi_calloc(n, sizeof *sp->guarded);
    sp->domain = clsi_calloc(2 * n, sizeof *sp->domain);
    if (!sp->guarded || !sp->domain) return clsi_no_memory(c->error);
    for (size_t j = 0; j < n; j++) {
        const clsi_variable *x = clsi_state_variable(sp->s, j);
        if (isinf(x->low) && isinf(x->high)) continue;
        c->outputs[sp->n_guarded] = c->st->next[j];
        sp->domain[2 * sp->n_guarded] = x->low;
        sp->domain[2 * sp->n_guarded + 1] = x->high;
        sp->guarded[sp->n_guarded++] = j;
    }
    if (!sp->n_guarded) return CLS_OK;
    return compile(c, sp->n_base + sp->n_unknowns, sp->n_guarded, sp->n_guarded, &sp->guard);
}

/* The next state takes quotients of exp and of powers from values at the beginning of the step where the residual
 * has these: exported C computes them once. A value that serves nothing is left out. */
static cls_status compile_with_values(compiler *c, size_t n) {
    clsi_step *st = c->st;
    clsi_stepper *sp = c->sp;
    cls_node values[CLSI_VALUES_MOST], *kept = c->outputs;
    size_t inputs = sp->n_base + sp->n_unknowns, size = sp->work_size;
    size_t m = clsi_values_in_common(st->g, n, c->outputs, st->n_unknowns, st->residual,
                                     st->n_unknowns, st->unknown, values);
    if (m == SIZE_MAX) return clsi_no_memory(c->error);
    if (!m) return compile(c, inputs, n, n, &sp->next);
    cls_node *outputs = clsi_calloc(n + m, sizeof *outputs);
    if (!outputs) return clsi_no_memory(c->error);
    memcpy(outputs, kept, n * sizeof *outputs);
    c->outputs = outputs;
    cls_status status = CLS_OK;
    for (size_t wanted = SIZE_MAX; status == CLS_OK && m != wanted;) {
        wanted = m;
        memcpy(outputs + n, values, m * sizeof *outputs);
        cls_program_free(&sp->next);
        sp->work_size = size;
        status = compile(c, inputs, n + m, n + m, &sp->next);
        if (status == CLS_OK) m = clsi_program_keep_outputs(sp->next, n, wanted, values);
    }
    c->outputs = kept;
    free(outputs);
    return status;
}

enum { HOT_MOST = 16 };

/* Steps that solve nothing take no longer than a few sums over a field: what these would say of the rounding of its
 * entropy is at least what the sum of all says, and where that is in doubt the scales say all of it. */
static int measures_little(const compiler *c) {
    return c->sp->scheme->tableau && c->sp->s->m > HOT_MOST;
}

/* The monitor's outputs to `to`. */
static cls_status list_monitor(compiler *c, cls_node *to) {
    clsi_stepper *sp = c->sp;
    const cls_system *s = sp->s;
    const clsi_form *f = s->form;
    cls_graph *g = s->g;
    cls_node received = cls_symbol(g, "received'");
    cls_node *sizes = clsi_open_terms(g, s->m), *betas = clsi_open_terms(g, s->m),
             *hot = clsi_open_terms(g, s->m);
    /* temperatures that are states are finite; those of a field are not looked at, for its sums are long */
    int hot_matters = f->kind != CLSI_FORM_THERMAL && s->m <= HOT_MOST;
    int lean = measures_little(c);
    double part = hot_matters ? 1.0 / (double)s->m : 0, cold_part = lean ? 0 : 1.0 / (double)s->m;
    for (size_t i = 0; i < s->m && sizes && betas && hot; i++) {
        sizes[i] = lean ? f->S[i] : clsi_absolute(g, f->S[i]);
        betas[i] = cls_div(g, cls_constant(g, cold_part), f->T[i]);
        hot[i] = cls_mul(g, cls_constant(g, part), f->T[i]);
    }
    cls_node size = clsi_close_terms(g, s->m, sizes), beta = clsi_close_terms(g, s->m, betas);
    if (s->has_entropy) size = clsi_size_of_terms(g, f->entropy);
    if (lean) size = clsi_absolute(g, size);
    size = cls_add(g, size, clsi_terms_in_fields(g, f->entropy));
    to[CLSI_MONITOR_ENERGY] = clsi_account_count(s) ? cls_sub(g, f->energy, received) : f->energy;
    if (s->has_entropy) beta = clsi_coldness(s);
    to[CLSI_MONITOR_BETA] = beta;
    to[CLSI_MONITOR_ENTROPY] = f->entropy;
    to[CLSI_MONITOR_SIZE] = size;
    to[CLSI_MONITOR_HOT] = clsi_close_terms(g, s->m, hot);
    clsi_place at = {f->q, f->v, f->p, f->S, f->T, s->t};
    for (size_t i = 0; i < s->n_invariants; i++) {
        cls_status status = clsi_place_at(s, &at, 1, &s->bound.invariants[i].node,
                                          &to[CLSI_MONITOR_INVARIANTS + i]);
        if (status != CLS_OK) return clsi_graph_failed(g, c->error);
    }
    return CLS_OK;
}

static cls_status compile_monitor(compiler *c) {
    cls_status status = list_monitor(c, c->outputs);
    size_t n = CLSI_MONITOR_INVARIANTS + c->sp->s->n_invariants;
    return status == CLS_OK ? compile_watch(c, 0, n, &c->sp->monitor) : status;
}

/* Rates of a state that do not read the time: those that a step ends with are those that the next one begins with. */
static int is_onward(const compiler *c, size_t n) {
    const clsi_stepper *sp = c->sp;
    const cls_system *s = sp->s;
    const cls_node others[] = {s->t, c->st->h, c->st->defect};
    clsi_cone cone;
    if (!sp->scheme->tableau || !sp->lean || !sp->monitor || sp->n_free || sp->nu || n != sp->nz ||
        s->g->n_fields || !sp->next->plan || !sp->next->plan->n_phases)
        return 0;
    int found = !clsi_cone_mark(s->g, n, c->outputs, &cone);
    for (size_t k = 0; k < sizeof others / sizeof *others && !found; k++)
        found = clsi_cone_has(&cone, others[k]);
    clsi_cone_free(&cone);
    return !found;
}

/* What is measured of a large state, and the rates there, whose elementary functions and differences are mostly the
 * same. */
static cls_status compile_onward(compiler *c, size_t n) {
    size_t all = n + CLSI_MONITOR_INVARIANTS + c->sp->s->n_invariants;
    if (!is_onward(c, n)) return CLS_OK;
    cls_status status = list_monitor(c, c->outputs + n);
    return status == CLS_OK ? compile(c, c->sp->n_base, all, all, &c->sp->onward) : status;
}

static cls_status compile_next(compiler *c) {
    size_t n = c->st->nz;
    const cls_system *s = c->sp->s;
    /* temperatures are products, and the state follows the entropies computed from it */
    c->sp->books &= c->sp->scheme->carries && s->form->kind != CLSI_FORM_THERMAL;
    memcpy(c->outputs, c->sp->books ? c->st->change : c->st->next, n * sizeof(cls_node));
    for (size_t k = 0; k < clsi_account_count(s); k++)
        c->outputs[n++] = c->st->gain[clsi_account_at(s, k)];
    if (c->sp->scheme->tableau) { /* the rates themselves */
        cls_node one = cls_constant(s->g, 1);
        cls_status status = cls_substitute(s->g, n, c->outputs, 1, &c->st->h, &one, c->outputs);
        if (status != CLS_OK) return clsi_graph_failed(s->g, c->error);
    }
    cls_status status = compile_with_values(c, n);
    return status == CLS_OK ? compile_onward(c, n) : status;
}

/* The energy with its gradient, for steps that look for their weights (lawful.c). */
static cls_status compile_ascent(compiler *c) {
    clsi_stepper *sp = c->sp;
    const cls_system *s = sp->s;
    cls_node received = cls_symbol(s->g, "received'"), energy = s->form->energy;
    if (!sp->scheme->tableau) return CLS_OK;
    c->outputs[0] = clsi_account_count(s) ? cls_sub(s->g, energy, received) : energy;
    cls_status status = cls_gradient(s->g, energy, sp->nz, s->form->z, c->outputs + 1);
    if (status != CLS_OK) return clsi_graph_failed(s->g, c->error);
    size_t size = sp->work_size; /* it runs in memory of its own (lawful.c) */
    status = compile_watch(c, 0, sp->nz + 1, &sp->ascent);
    sp->work_size = size;
    return status;
}

static cls_status compile_scale(compiler *c) {
    const cls_system *s = c->sp->s;
    const clsi_form *f = s->form;
    cls_graph *g = s->g;
    cls_node *to = c->outputs;
    cls_status status = CLS_OK;
    to[CLSI_SCALE_ENERGY] = clsi_largest_of_terms(g, f->energy);
    to[CLSI_SCALE_ENERGY_SLOPES] = clsi_energy_slopes(s);
    /* who counts falls of the entropy, or takes back a step over which it falls */
    int counts = c->sp->options.monitor || c->sp->scheme->estimate || c->sp->scheme->carries;
    to[CLSI_SCALE_ENTROPY_SLOPES] =
        counts ? clsi_sizes_of_slopes(g, f->entropy, f->nz, f->z) : cls_constant(g, 0);
    if (measures_little(c)) /* 9 for CLSI_LAST_PLACES of sum |S_i|, which is the same here */
        to[CLSI_SCALE_ENTROPY_SLOPES] =
            cls_mul(g, cls_constant(g, 1 + 9), to[CLSI_SCALE_ENTROPY_SLOPES]);
    to[CLSI_SCALE_COLD] = clsi_coldness_outside(s);
    to[CLSI_SCALE_POWER] = cls_constant(g, 0);
    if (!s->m) status = clsi_power_of_potential(s, &to[CLSI_SCALE_POWER]);
    if (status != CLS_OK) return clsi_graph_failed(g, c->error);
    return compile_watch(c, f->nz + 2 + c->sp->nu + c->sp->n_free, CLSI_SCALES, &c->sp->scale);
}

/* T and dT/dS of each unknown that is a rate of an entropy (newton_by_heat). */
static cls_status compile_heat(compiler *c) {
    const clsi_step *st = c->st;
    const clsi_form *f = st->f;
    size_t first = st->nz - st->m, n = 0;
    if (f->kind == CLSI_FORM_THERMAL) return CLS_OK;
    for (size_t j = 0; j < st->n_unknowns; j++) {
        size_t of = st->of_state[j];
        if (of < first || of >= st->nz) continue;
        c->outputs[n++] = f->T[of - first];
        c->outputs[n++] = cls_derivative(st->g, f->T[of - first], f->z[of]);
    }
    return n ? compile(c, c->sp->n_base, n, n, &c->sp->heat) : CLS_OK;
}

static cls_status compile_all(compiler *c) {
    clsi_stepper *sp = c->sp;
    clsi_step *st = c->st;
    memcpy(c->inputs, sp->s->form->z, sp->nz * sizeof(cls_node));
    c->inputs[sp->nz] = cls_symbol(sp->s->g, "received'");
    c->inputs[sp->nz + 1] = sp->s->t;
    for (size_t k = 0; k < sp->nu; k++) c->inputs[sp->nz + 2 + k] = sp->s->u[k];
    for (size_t k = 0; k < sp->n_free; k++) c->inputs[sp->nz + 2 + sp->nu + k] = c->symbols[k];
    int measured = !sp->n_free || c->settable, watched = sp->monitor != NULL;
    cls_status status = measured && !watched ? compile_monitor(c) : CLS_OK;
    if (status == CLS_OK && measured && !watched) status = compile_scale(c);
    if (status == CLS_OK && measured && !watched) status = compile_ascent(c);
    if (status != CLS_OK || !st) return status;
    c->inputs[sp->nz + 2] = st->h;
    c->inputs[sp->nz + 3] = st->defect;
    for (size_t k = 0; k < sp->n_owed; k++) c->inputs[sp->nz + 4 + k] = st->owed[k];
    for (size_t k = 0; k < sp->nu; k++) {
        c->inputs[sp->nz + 4 + sp->n_owed + k] = st->u0[k];
        c->inputs[sp->nz + 4 + sp->n_owed + sp->nu + k] = st->u1[k];
    }
    for (size_t i = 0; i < sp->n_free; i++) c->inputs[sp->first_free + i] = c->symbols[i];
    memcpy(c->inputs + sp->n_base, st->unknown, sp->n_unknowns * sizeof(cls_node));
    memcpy(c->outputs, st->guess, sp->n_unknowns * sizeof(cls_node));
    status = compile(c, sp->n_base, sp->n_unknowns, sp->n_unknowns, &sp->guess);
    if (status == CLS_OK && measured) status = compile_heat(c);
    if (status == CLS_OK) pare(c);
    if (status == CLS_OK) status = find_jacobian(c);
    if (status == CLS_OK) status = compile_guard(c);
    if (status == CLS_OK) status = compile_next(c);
    if (status == CLS_OK && st->paper_start) {
        memcpy(c->outputs, st->paper_start, sp->nz * sizeof(cls_node));
        status = compile(c, sp->n_base, sp->nz, sp->nz, &sp->paper);
    }
    if (status == CLS_OK) status = compile_residual(c);
    if (c->pared) clsi_graph_empty(st->g); /* nobody finds anything in it */
    return status;
}

enum { ENVIRONMENTS = 64 }; /* entropies of a system that is looked through for them */

/* Entropies whose temperature is no matter of the state: they take what they get. */
static cls_status find_outside(clsi_stepper *sp, cls_error *error) {
    const cls_system *s = sp->s;
    const clsi_form *f = s->form;
    if (f->kind == CLSI_FORM_THERMAL || s->m > ENVIRONMENTS) return CLS_OK;
    for (size_t i = 0; i < s->m; i++) {
        if (cls_depends(s->g, f->T[i], f->nz, f->z)) continue;
        if (!sp->outside) sp->outside = clsi_calloc(f->nz, 1);
        if (!sp->outside) return clsi_no_memory(error);
        sp->outside[s->nq + s->n + i] = 1;
    }
    return CLS_OK;
}

static cls_status create(clsi_stepper *sp, clsi_step *st, const cls_node *symbols, int settable,
                         int dense, cls_error *error) {
    size_t k = st ? st->n_unknowns : 0;
    sp->n_owed = st ? st->n_owed : 0;
    sp->n_lifted = st ? st->n_lifted : 0;
    sp->nz = sp->s->form->nz;
    sp->nu = sp->s->nu;
    sp->first_free = sp->nz + 4 + sp->n_owed + 2 * sp->nu;
    sp->n_base = sp->first_free + sp->n_free;
    sp->n_unknowns = k;
    sp->n_positive = st ? st->n_positive : 0;
    size_t room = 2 * k + sp->nz + sp->s->m + sp->s->n_invariants + 8;
    compiler c = {sp,
                  st,
                  symbols,
                  settable,
                  clsi_calloc(sp->n_base + k, sizeof(cls_node)),
                  clsi_calloc(room, sizeof(cls_node)),
                  {0},
                  dense,
                  0,
                  error};
    sp->of_state = clsi_calloc(k, sizeof *sp->of_state);
    cls_status status = CLS_MEMORY;
    if (c.inputs && c.outputs && sp->of_state) {
        if (st) memcpy(sp->of_state, st->of_state, k * sizeof *sp->of_state);
        status = find_outside(sp, error);
        if (status == CLS_OK) status = compile_all(&c);
    } else {
        (void)clsi_no_memory(error);
    }
    clsi_rows_clear(&c.rows);
    free(c.inputs);
    free(c.outputs);
    return status;
}

/* Who takes derivatives of the step, and who runs motions only; WATCH: what watches a motion, and no step. */
enum { CLOSED, OPEN, LEAN, WATCH };

static cls_status create_any(const cls_system *s, const cls_simulate_options *options,
                             double length, int kind, int dense, size_t n_free,
                             const cls_node *symbols, clsi_stepper *watch, clsi_stepper **out,
                             clsi_step **step, cls_error *error);

/* Of a large system what watches its motions is compiled on a graph of its own, so that its nodes are gone when
 * those of the step come. */
static cls_status create_watch(const cls_system *s, const cls_simulate_options *options,
                               clsi_stepper **out, cls_error *error) {
    clsi_step *st = NULL;
    cls_system *view;
    cls_status status = clsi_system_view(s, &view, error);
    if (status == CLS_OK)
        status = create_any(view, options, options->h, WATCH, 0, 0, NULL, NULL, out, &st, error);
    clsi_step_free(&st);
    clsi_system_view_free(&view);
    return status;
}

/* On a view of the system, which the stepper keeps. */
static cls_status create_viewing(const cls_system *s, const cls_simulate_options *options, int kind,
                                 clsi_stepper **out, cls_error *error) {
    clsi_step *st = NULL;
    clsi_stepper *watch = NULL;
    cls_system *view = NULL;
    *out = NULL;
    cls_status status = CLS_OK;
    if (kind == LEAN && !s->g->n_fields && !s->n_unknown && s->g->n > MANY_NODES)
        status = create_watch(s, options, &watch, error);
    if (status == CLS_OK) status = clsi_system_view(s, &view, error);
    if (status == CLS_OK)
        status = create_any(view, options, options->h, kind, 0, 0, NULL, watch, out, &st, error);
    clsi_step_free(&st);
    clsi_stepper_free(&watch);
    if (status == CLS_OK) clsi_stepper_make_native(*out, 0);
    if (status == CLS_OK)
        (*out)->view = view;
    else
        clsi_system_view_free(&view);
    return status;
}

cls_status clsi_stepper_create(const cls_system *s, const cls_simulate_options *options,
                               clsi_stepper **out, cls_error *error) {
    return create_viewing(s, options, CLOSED, out, error);
}

cls_status clsi_stepper_create_lean(const cls_system *s, const cls_simulate_options *options,
                                    clsi_stepper **out, cls_error *error) {
    cls_status status = create_viewing(s, options, LEAN, out, error);
    if (status != CLS_OK) return status;
    (*out)->origin = s;
    if (!cls_graph_size(
            (*out)->view->g)) { /* names are asked for: they are in the system's graph, too */
        cls_graph_free(&(*out)->view->g);
        (*out)->view->g = s->g;
    }
    return status;
}

cls_status clsi_stepper_create_open(const cls_system *s, const cls_simulate_options *options,
                                    size_t n_free, const cls_node *symbols, clsi_stepper **out,
                                    clsi_step **step, cls_error *error) {
    return create_any(s, options, options->h, OPEN, 1, n_free, symbols, NULL, out, step, error);
}

cls_status clsi_stepper_create_settable(const cls_system *s, const clsi_stepper *like,
                                        size_t n_free, const cls_node *symbols, clsi_stepper **out,
                                        cls_error *error) {
    clsi_step *st;
    cls_status status = create_any(s, &like->options, like->length, CLOSED, 0, n_free, symbols,
                                   NULL, out, &st, error);
    clsi_step_free(&st);
    return status;
}

/* A step begins with functions of the state that the monitor has computed at the end of the one before. */
static void link_monitor(clsi_stepper *sp, int lanes) {
    size_t n = sp->n_base + sp->n_unknowns;
    uint32_t *inputs = sp->residual && sp->monitor ? clsi_malloc(n * sizeof *inputs) : NULL;
    if (!inputs) return;
    for (size_t i = 0; i < n; i++) /* z and what was received */
        inputs[i] = i <= sp->nz ? (uint32_t)(sp->monitor->n_constants + i) : CLSI_NOT_SHARED;
    if (lanes)
        clsi_lanes_link(sp->residual, sp->monitor, inputs);
    else
        clsi_program_link(sp->residual, sp->monitor, inputs);
    free(inputs);
}

/* In lanes the next state and the guard take what the residual has computed of the same inputs. */
static void lend_residual(clsi_stepper *sp) {
    size_t n = sp->n_base + sp->n_unknowns;
    cls_program *programs[] = {sp->next, sp->guard};
    uint32_t *inputs = sp->residual ? clsi_malloc(n * sizeof *inputs) : NULL;
    for (size_t i = 0; inputs && i < n; i++) inputs[i] = (uint32_t)(sp->residual->n_constants + i);
    if (inputs) clsi_lanes_lend(sp->residual, 2, programs, inputs);
    free(inputs);
}

int clsi_stepper_widen(clsi_stepper *sp) {
    cls_program *programs[] = {sp->residual, sp->next, sp->guard, sp->monitor, sp->guess};
    size_t n = sizeof programs / sizeof *programs;
    for (size_t i = 0; i < n; i++)
        if (programs[i] && !clsi_lanes_may_widen(programs[i])) return 0;
    for (size_t i = 0; i < n; i++)
        if (programs[i]) clsi_lanes_widen(programs[i]);
    return 1;
}

/* What every step runs. */
void clsi_stepper_make_native(clsi_stepper *sp, int lanes) {
    cls_program *programs[] = {sp->residual, sp->next, sp->guard, sp->monitor, sp->ascent};
    if (lanes) lend_residual(sp), link_monitor(sp, 1); /* before their rows are given out */
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (programs[i]) clsi_program_make_native(programs[i], lanes);
    if (!lanes) link_monitor(sp, 0);
}

static void take_watch(clsi_stepper *sp, clsi_stepper *from) {
    sp->monitor = from->monitor;
    sp->scale = from->scale;
    sp->ascent = from->ascent;
    sp->work_size = from->work_size;
    from->monitor = from->scale = from->ascent = NULL;
}

static cls_status create_any(const cls_system *s, const cls_simulate_options *options,
                             double length, int kind, int dense, size_t n_free,
                             const cls_node *symbols, clsi_stepper *watch, clsi_stepper **out,
                             clsi_step **step, cls_error *error) {
    int open = kind == OPEN;
    *out = NULL;
    *step = NULL;
    if (s->n_unknown)
        return clsi_fail(error, CLS_SYSTEM,
                         "the part '%s' of '%s' is unknown: learn it from data first, with "
                         "`clausius learn SYSTEM DATA`",
                         s->unknown[0], s->name);
    const char *name = options->scheme ? options->scheme : cls_scheme_default(s);
    cls_status status = clsi_parameters_known(s, error);
    if (status == CLS_OK) status = cls_scheme_applies(name, s, error);
    if (status == CLS_OK && clsi_scheme_find(name)->noise && (open || n_free))
        status = clsi_fail(error, CLS_USAGE,
                           "steps with thermal noise have no derivatives here; a Boltzmann "
                           "constant of 0 leaves the noise of '%s' out",
                           s->name);
    if (status != CLS_OK) return status;
    clsi_stepper *sp = clsi_calloc(1, sizeof *sp);
    if (!sp) return clsi_no_memory(error);
    sp->s = s;
    sp->scheme = clsi_scheme_find(name);
    sp->options = *options;
    sp->options.scheme = sp->scheme->info.name;
    sp->n_free = n_free;
    sp->books = !open;
    sp->lean = kind == LEAN || kind == WATCH;
    if (watch) take_watch(sp, watch);
    clsi_step *st = NULL;
    if (sp->scheme->build && kind != WATCH)
        status = clsi_step_create(s, sp->scheme, length, &st, error);
    if (status == CLS_OK) status = create(sp, st, symbols, !open, dense, error);
    sp->length = st && st->stiff ? INFINITY : 0;
    if (status == CLS_OK && sp->scheme->noise && !n_free && kind != WATCH)
        status = clsi_bath_create(sp, error);
    if (status == CLS_OK) {
        *out = sp;
        *step = st;
    } else {
        clsi_step_free(&st);
        clsi_stepper_free(&sp);
    }
    return status;
}

void clsi_stepper_free(clsi_stepper **stepper) {
    clsi_stepper *sp = *stepper;
    if (!sp) return;
    cls_program_free(&sp->guess);
    cls_program_free(&sp->residual);
    cls_program_free(&sp->next);
    cls_program_free(&sp->guard);
    cls_program_free(&sp->monitor);
    cls_program_free(&sp->scale);
    cls_program_free(&sp->ascent);
    cls_program_free(&sp->onward);
    cls_program_free(&sp->heat);
    cls_program_free(&sp->paper);
    clsi_sparse_lu_free(&sp->lu);
    clsi_bath_free(&sp->bath);
    free(sp->guarded);
    free(sp->domain);
    free(sp->of_state);
    free(sp->outside);
    if (sp->origin && sp->view->g == sp->origin->g) sp->view->g = NULL; /* lent */
    clsi_system_view_free(&sp->view);
    free(sp);
    *stepper = NULL;
}
