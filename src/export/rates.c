/* The motion in continuous time, for model exchange and observers: z' over z, its Jacobian, and the
 * Jacobian of the outputs; all exact, from the graph.
 *
 * In y = (q, p, S) the motion is y' = rate(z, t). Where the state is not y itself (velocities,
 * temperatures), M z' = y' with M = dy/dz, and differentiating M(z) z' = y'(z) gives
 * dz'/dz = -M^-1 d(M z' - y')/dz at fixed z'. Accounts (work, heat) have rates and are in no
 * formula. Parameters that may change are the last inputs. */
#include "expr/graph.h"
#include "expr/program.h"
#include "export/export.h"
#include "scheme/scheme.h"
#include <stdlib.h>
#include <string.h>

size_t clsi_needs_width(const clsi_export *e) {
    return e->sp->nz + e->sp->nu + e->n_parameters + 1;
}

/* Of the variant with symbols, where there is one. */
static int wants_needs(const clsi_export *e, const clsi_variant *v) {
    return e->wants_needs && v == (e->open.sp ? &e->open : &e->base);
}

static void build_nothing(clsi_step *st) {
    memcpy(st->next, st->z0, st->nz * sizeof *st->next);
}

/* Where derivatives of one kind go: into a matrix (m, n), or where there are many (sparse) to the entries of a
 * pattern, which is made of the first ones that come. */
typedef struct places {
    size_t m, n;
    clsi_pattern *pattern; /* NULL: a matrix */
} places;

static cls_status slopes_of(clsi_export *e, cls_graph *g, const places *to, const cls_node *f,
                            const cls_node *x, cls_node **out, size_t *count) {
    clsi_rows rows = {0};
    cls_node zero = cls_constant(g, 0);
    cls_status status = CLS_OK;
    size_t m = to->m, n = to->n;
    *count = to->pattern ? 0 : m * n;
    *out = NULL;
    if (!to->pattern && n <= CLSI_MANY_UNKNOWNS) {
        *out = clsi_calloc(m * n, sizeof **out);
        return *out ? cls_jacobian(g, m, f, n, x, *out) : CLS_MEMORY;
    }
    /* by one walk for each row, over what it is made of */
    status = clsi_sparse_jacobian(g, m, f, n, x, &rows);
    if (status != CLS_OK) return status;
    if (to->pattern && !clsi_pattern_take(to->pattern, m, &rows)) status = CLS_MEMORY;
    if (to->pattern) *count = to->pattern->n;
    if (status == CLS_OK) *out = clsi_calloc(*count, sizeof **out);
    if (!*out || zero == CLS_NO_NODE) status = CLS_MEMORY;
    for (size_t k = 0; k < *count && status == CLS_OK; k++) (*out)[k] = zero;
    for (size_t i = 0; i < m && status == CLS_OK; i++)
        for (size_t k = rows.start[i]; k < rows.start[i + 1]; k++) {
            size_t at = to->pattern ? clsi_pattern_at(to->pattern, i, rows.column[k])
                                    : i * n + rows.column[k];
            if (at < *count)
                (*out)[at] = rows.node[k];
            else
                e->patterns_differ = 1;
        }
    clsi_rows_clear(&rows);
    return status;
}

/* An FMU says of each rate and each output on what it depends, as text: so many pairs are some 300 MB of it. */
static const double MOST_NEEDS = 2e7;

/* Not more of them than may be. */
static cls_status check_needs(const clsi_export *e, const clsi_needs *x, cls_error *error) {
    if ((double)x->start[x->m] <= MOST_NEEDS) return CLS_OK;
    return clsi_fail(error, CLS_USAGE,
                     "'%s' has %zu states and %zu columns, and an FMU says of each rate and each "
                     "column on which states it depends: here that are more than %.0f pairs, which "
                     "is too much; export it as c",
                     e->s->name, e->n_state, e->n_columns, MOST_NEEDS);
}

/* A row more, of what any of the nodes is made of. */
static cls_status add_needs(const clsi_export *e, const cls_graph *g, clsi_needs *to,
                            const clsi_known *known, size_t count, const cls_node *nodes,
                            cls_error *error) {
    if (!clsi_needs_add_cone(to, g, known, count, nodes)) return clsi_no_memory(error);
    return check_needs(e, to, error);
}

/* A row more, as row k is. */
static cls_status repeat_needs(const clsi_export *e, clsi_needs *to, const clsi_known *known,
                               size_t k, cls_error *error) {
    size_t n = to->start[k + 1] - to->start[k];
    if (n) memcpy(known->row, to->of + to->start[k], n * sizeof *known->row);
    if (!clsi_needs_add(to, n, known->row)) return clsi_no_memory(error);
    return check_needs(e, to, error);
}

/* M, (nz, nz) or its entries. */
typedef struct masses {
    const clsi_pattern *pattern; /* NULL: a matrix */
    size_t nz, count;
    cls_node *node; /* (count) */
} masses;

static void row_of_mass(const masses *M, size_t i, size_t *begin, size_t *end) {
    *begin = M->pattern ? M->pattern->start[i] : i * M->nz;
    *end = M->pattern ? M->pattern->start[i + 1] : (i + 1) * M->nz;
}

static size_t column_of_mass(const masses *M, size_t k) {
    return M->pattern ? M->pattern->column[k] : k % M->nz;
}

/* Rows behind the positions that M^-1 mixes: those that entries of M connect; of a matrix, all. */
typedef struct blocks {
    uint32_t *root; /* (nz) the first row of each row's block */
    uint32_t *next; /* (nz) the next one in it; 0: none */
    size_t *made;   /* (nz) of roots: the row that has the needs of all, + 1; 0: none yet */
} blocks;

static uint32_t root_of(uint32_t *root, uint32_t k) {
    while (root[k] != k) k = root[k] = root[root[k]];
    return k;
}

static void connect(uint32_t *root, size_t a, size_t b) {
    uint32_t x = root_of(root, (uint32_t)a), y = root_of(root, (uint32_t)b);
    root[x > y ? x : y] = x > y ? y : x;
}

static void blocks_clear(blocks *b) {
    free(b->root);
    free(b->made);
}

static int blocks_create(const masses *M, size_t nq, cls_node zero, blocks *b) {
    size_t nz = M->nz, begin, end;
    *b = (blocks){.root = clsi_calloc(3 * nz, sizeof *b->root),
                  .made = clsi_calloc(nz, sizeof *b->made)};
    if (!b->root || !b->made) return 0;
    b->next = b->root + nz;
    uint32_t *last = b->next + nz;
    for (size_t r = 0; r < nz; r++) b->root[r] = (uint32_t)r;
    for (size_t r = nq; r < nz; r++) {
        if (!M->pattern && r > nq) connect(b->root, nq, r);
        row_of_mass(M, r, &begin, &end);
        for (size_t k = begin; k < end && M->pattern; k++)
            if (column_of_mass(M, k) >= nq && M->node[k] != zero)
                connect(b->root, r, column_of_mass(M, k));
    }
    for (size_t r = nq; r < nz; r++) {
        uint32_t root = b->root[r] = root_of(b->root, (uint32_t)r);
        if (root != r) b->next[last[root]] = (uint32_t)r;
        last[root] = (uint32_t)r;
    }
    return 1;
}

/* What the rows of a block are made of. */
static size_t mix(const masses *M, const blocks *b, uint32_t root, size_t nq, cls_node zero,
                  const cls_node *rate, cls_node *out) {
    size_t n = 0, begin, end;
    for (uint32_t r = root;; r = b->next[r]) {
        out[n++] = rate[r];
        row_of_mass(M, r, &begin, &end);
        for (size_t k = begin; k < end; k++) {
            size_t j = column_of_mass(M, k);
            if (M->node[k] == zero) continue;
            out[n++] = M->node[k];
            if (j < nq) out[n++] = rate[j];
        }
        if (!b->next[r]) break;
    }
    return n;
}

/* Which rates depend on which states. M^-1 mixes the rows of a block: these need what any of them needs, and what q'
 * needs where y depends on q. */
static cls_status find_needs(clsi_export *e, const clsi_step *st, const cls_node *rate,
                             const masses *M, const cls_node *by, cls_error *error) {
    size_t nz = st->nz, nq = st->nq;
    cls_node zero = cls_constant(st->g, 0), *mixed = clsi_calloc(nz + 2 * M->count, sizeof *mixed);
    clsi_known known = {0};
    blocks b = {0};
    clsi_needs *to = &e->rate_needs;
    int good = mixed && clsi_known_create(clsi_needs_width(e), by, &known) &&
               (e->identity || blocks_create(M, nq, zero, &b));
    cls_status status = good ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < e->n_state && status == CLS_OK; i++) {
        if (e->identity || i < nq || i >= nz) {
            status = add_needs(e, st->g, to, &known, 1, rate + i, error);
        } else if (b.made[b.root[i]]) {
            status = repeat_needs(e, to, &known, b.made[b.root[i]] - 1, error);
        } else {
            size_t n = mix(M, &b, b.root[i], nq, zero, rate, mixed);
            status = add_needs(e, st->g, to, &known, n, mixed, error);
            b.made[b.root[i]] = i + 1;
        }
    }
    clsi_known_clear(&known);
    blocks_clear(&b);
    free(mixed);
    return status;
}

/* What the programs of the motion in continuous time read and compute. */
typedef struct motion {
    cls_node *y;      /* (nz) */
    cls_node *in;     /* z, t, u, parameters, dot (n_in, then nz) */
    cls_node *by;     /* z, u, parameters, t */
    cls_node *defect; /* (n_state) M dot - y', rates of accounts */
    cls_node *rate;   /* (n_state), then M unless it is 1 */
    size_t n_in;
} motion;

static int motion_create(const clsi_export *e, motion *mo) {
    size_t nz = e->sp->nz, known = nz + e->sp->nu + e->n_parameters + 1;
    mo->n_in = known;
    mo->y = clsi_calloc(nz + (known + nz) + known + 2 * e->n_state, sizeof *mo->y);
    if (!mo->y) return 0;
    mo->in = mo->y + nz;
    mo->by = mo->in + known + nz;
    mo->defect = mo->by + known;
    mo->rate = mo->defect + e->n_state;
    return 1;
}

static void motion_fill(const clsi_export *e, const clsi_variant *v, clsi_step *st, motion *mo) {
    size_t nz = st->nz, nu = e->sp->nu, np = e->n_parameters;
    clsi_point *pt = clsi_point_start(st);
    clsi_point_rates(st, pt, mo->y, mo->rate);
    if (st->exhausted) return;
    for (size_t k = 0; k < e->n_state - nz; k++)
        mo->rate[nz + k] = pt->account[clsi_account_at(v->s, k)];
    memcpy(mo->in, st->z0, nz * sizeof *mo->in);
    mo->in[nz] = st->t;
    for (size_t k = 0; k < nu; k++) mo->in[nz + 1 + k] = st->u0[k];
    clsi_parameter_nodes(e, v->s, mo->in + nz + 1 + nu);
    for (size_t k = 0; k < nz; k++) mo->in[mo->n_in + k] = cls_fresh_symbol(st->g, "dot'");
    memcpy(mo->by, st->z0, nz * sizeof *mo->by);
    for (size_t k = 0; k < nu; k++) mo->by[nz + k] = st->u0[k];
    clsi_parameter_nodes(e, v->s, mo->by + nz + nu);
    mo->by[nz + nu + np] = st->t;
}

static void fill_defect(const clsi_export *e, cls_graph *g, const masses *M, motion *mo) {
    const cls_node *dot = mo->in + mo->n_in;
    size_t begin, end;
    for (size_t i = 0; i < M->nz; i++) {
        mo->defect[i] = cls_neg(g, mo->rate[i]);
        if (e->identity) continue;
        row_of_mass(M, i, &begin, &end);
        for (size_t k = begin; k < end; k++)
            mo->defect[i] =
                cls_add(g, mo->defect[i], cls_mul(g, M->node[k], dot[column_of_mass(M, k)]));
    }
    for (size_t k = M->nz; k < e->n_state; k++) mo->defect[k] = mo->rate[k];
}

/* y' (nz), rates of accounts and M unless it is 1: a program. */
static cls_status compile_rate(const clsi_export *e, clsi_variant *v, cls_graph *g,
                               const motion *mo, const masses *M, cls_error *error) {
    size_t more = e->identity ? 0 : M->count, n = e->n_state + more;
    cls_node *all = clsi_calloc(n, sizeof *all);
    if (!all) return clsi_no_memory(error);
    memcpy(all, mo->rate, e->n_state * sizeof *all);
    if (more) memcpy(all + e->n_state, M->node, more * sizeof *all);
    cls_status status = cls_program_create(g, mo->n_in, mo->in, n, all, &v->rate, error);
    free(all);
    return status;
}

/* The rates; then slopes: d(M dot - y')/d(z, u) (nz, nz + nu), d(accounts)/dz (n, nz) over z, t, u, dot. */
static cls_status compile_rates(clsi_export *e, clsi_variant *v, clsi_step *st, motion *mo,
                                cls_error *error) {
    cls_graph *g = st->g;
    size_t nz = st->nz, count = 0;
    cls_node *slope = NULL;
    masses M = {e->sparse ? &e->mass : NULL, nz, 0, NULL};
    motion_fill(e, v, st, mo);
    if (st->exhausted) return clsi_no_memory(error);
    const places mass_to = {nz, nz, e->sparse ? &e->mass : NULL};
    const places slope_to = {e->n_state, nz + e->sp->nu, e->sparse ? &e->slopes : NULL};
    cls_status status = CLS_OK;
    if (!e->identity) status = slopes_of(e, g, &mass_to, mo->y, st->z0, &M.node, &M.count);
    if (status == CLS_OK) fill_defect(e, g, &M, mo);
    if (status == CLS_OK) status = slopes_of(e, g, &slope_to, mo->defect, mo->by, &slope, &count);
    if (status != CLS_OK) {
        status = cls_graph_status(g, error) == CLS_OK ? clsi_no_memory(error)
                                                      : clsi_graph_failed(g, error);
    } else {
        status = compile_rate(e, v, g, mo, &M, error);
        if (status == CLS_OK && wants_needs(e, v))
            status = find_needs(e, st, mo->rate, &M, mo->by, error);
        if (status == CLS_OK)
            status = cls_program_create(g, mo->n_in + nz, mo->in, count, slope, &v->slope, error);
    }
    free(slope);
    free(M.node);
    return status;
}

/* Variables by name, as clsi_system_column_node looks for them one after the other. */
typedef struct variables {
    clsi_lookup at;
    cls_node *node;
    size_t n;
} variables;

static void add_variables(variables *x, const cls_graph *g, size_t n, const cls_node *symbols,
                          const cls_node *nodes) {
    for (size_t k = 0; k < n; k++) {
        clsi_lookup_add(&x->at, cls_node_name(g, symbols[k]), x->n);
        x->node[x->n++] = nodes[k];
    }
}

static int variables_create(const cls_system *s, variables *x) {
    const clsi_form *f = s->form;
    size_t room = f->nz + 2 * s->n + 2 * s->m;
    *x = (variables){.node = clsi_calloc(room, sizeof *x->node)};
    if (!x->node || !clsi_lookup_create(room, &x->at)) return 0;
    add_variables(x, s->g, f->nz, f->z, f->z);
    if (s->ode) return 1;
    add_variables(x, s->g, s->n, s->p, f->p);
    add_variables(x, s->g, s->n, s->v, f->v);
    add_variables(x, s->g, s->m, s->S, f->S);
    add_variables(x, s->g, s->m, s->T, f->T);
    return 1;
}

/* What a column is, over z, t, u and `accounts`. */
static cls_node column_node(const clsi_export *e, const clsi_variant *v, const variables *x,
                            size_t k, const cls_node *accounts) {
    const cls_system *s = v->s;
    size_t n = clsi_account_count(s);
    const char *name = e->columns[k].name;
    if (k == 0) return s->t;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, clsi_account_name(clsi_account_at(s, i)))) return accounts[i];
    for (size_t i = 0; i < s->nu; i++)
        if (!strcmp(name, s->input[i].name))
            return s->input_formula[i] == CLS_NO_NODE ? s->u[i] : s->input_formula[i];
    size_t at = clsi_lookup_find(&x->at, name);
    cls_node node = at == SIZE_MAX ? clsi_system_column_node(s, name) : x->node[at];
    if (s->has_heat && !strcmp(name, "entropy")) node = cls_add(s->g, node, accounts[n - 1]);
    return node;
}

/* The row over t, z, accounts, u; its slopes (n_columns, nz + nu) over t, z, u. */
static cls_status compile_row(clsi_export *e, clsi_variant *v, cls_error *error) {
    const cls_system *s = v->s;
    cls_graph *g = s->g;
    size_t nz = e->sp->nz, nu = e->sp->nu, known = nz + nu, accounts = e->n_state - nz;
    size_t np = e->n_parameters, n = e->n_columns, failed = 0, count = 0;
    size_t width = clsi_needs_width(e);
    cls_node *nodes = clsi_calloc(n + 1 + e->n_state + width + nu + np, sizeof *nodes);
    if (!nodes) return clsi_no_memory(error);
    cls_node *in = nodes + n, *by = in + 1 + e->n_state + nu + np, *slope = NULL;
    const places to = {n, known, e->sparse ? &e->row_slopes : NULL};
    in[0] = s->t;
    memcpy(in + 1, s->form->z, nz * sizeof *in);
    for (size_t k = 0; k < accounts; k++) in[1 + nz + k] = cls_fresh_symbol(g, "account'");
    variables x;
    failed = !variables_create(s, &x);
    for (size_t k = 0; k < n && !failed; k++) {
        nodes[k] = column_node(e, v, &x, k, in + 1 + nz);
        failed |= nodes[k] == CLS_NO_NODE;
    }
    clsi_lookup_clear(&x.at);
    free(x.node);
    if (nu) memcpy(in + 1 + e->n_state, s->u, nu * sizeof *in);
    clsi_parameter_nodes(e, s, in + 1 + e->n_state + nu);
    memcpy(by, s->form->z, nz * sizeof *by);
    if (nu) memcpy(by + nz, s->u, nu * sizeof *by);
    clsi_parameter_nodes(e, s, by + known);
    by[known + np] = s->t;
    cls_status status = failed ? CLS_MEMORY : slopes_of(e, g, &to, nodes, by, &slope, &count);
    if (status != CLS_OK && cls_graph_status(g, error) == CLS_OK) status = clsi_no_memory(error);
    if (status == CLS_OK)
        status = cls_program_create(g, 1 + e->n_state + nu + np, in, n, nodes, &v->row, error);
    if (status == CLS_OK)
        status =
            cls_program_create(g, 1 + e->n_state + nu + np, in, count, slope, &v->row_slope, error);
    if (status == CLS_OK && wants_needs(e, v)) {
        clsi_known at;
        if (!clsi_known_create(width, by, &at)) status = clsi_no_memory(error);
        for (size_t k = 0; k < n && status == CLS_OK; k++)
            status = add_needs(e, g, &e->row_needs, &at, 1, nodes + k, error);
        clsi_known_clear(&at);
    }
    free(slope);
    free(nodes);
    return status;
}

/* With r(z0, x) = 0 for the unknowns x of a step and z1(z0, x), along a direction v of z0:
 *     w = -(d_x r)^-1 d_z r v,    dz1 = d_z z1 v + d_x z1 w.
 * d_x r is in the residual program, and Newton's method has its factors. The program gives d_z r v (k) and dz1 (nz)
 * over the inputs of the step, v and w: it runs once for w and once with it, and a matrix is made column by column. */
static cls_status compile_step(clsi_export *e, clsi_variant *v, cls_error *error) {
    const clsi_stepper *sp = v->sp;
    size_t nz = sp->nz, k = sp->n_unknowns, at = 0, known = sp->n_base + k;
    clsi_step *st;
    cls_status status = clsi_step_create(v->s, sp->scheme, sp->length, &st, error);
    if (status != CLS_OK) return status;
    cls_graph *g = st->g;
    cls_node *in = clsi_calloc(known + 3 * (nz + k), sizeof *in);
    if (!in) {
        clsi_step_free(&st);
        return clsi_no_memory(error);
    }
    cls_node *direction = in + known, *by = direction + nz + k, *out = by + nz + k;
    memcpy(in, st->z0, nz * sizeof *in);
    in[nz] = cls_symbol(g, "received'");
    in[nz + 1] = st->t;
    in[nz + 2] = st->h;
    in[nz + 3] = st->defect;
    at = nz + 4;
    for (size_t i = 0; i < sp->n_owed; i++) in[at++] = st->owed[i];
    for (size_t i = 0; i < sp->nu; i++) in[at++] = st->u0[i];
    for (size_t i = 0; i < sp->nu; i++) in[at++] = st->u1[i];
    clsi_parameter_nodes(e, v->s, in + at);
    if (k) memcpy(in + sp->n_base, st->unknown, k * sizeof *in);
    for (size_t i = 0; i < nz + k; i++) {
        direction[i] = cls_fresh_symbol(g, "along'");
        by[i] = i < nz ? st->z0[i] : st->unknown[i - nz];
    }
    status = clsi_along(g, k, st->residual, nz, by, direction, NULL, 1, out);
    if (status == CLS_OK)
        status = clsi_along(g, nz, st->next, nz + k, by, direction, NULL, 1, out + k);
    if (status != CLS_OK && cls_graph_status(g, error) == CLS_OK) status = clsi_no_memory(error);
    if (status == CLS_OK)
        status = cls_program_create(g, known + nz + k, in, k + nz, out, &v->step_slope, error);
    free(in);
    clsi_step_free(&st);
    return status;
}

cls_status clsi_export_rates(clsi_export *e, clsi_variant *v, cls_error *error) {
    static const clsi_scheme nothing = {
        .info = {.name = "rates"}, .build = build_nothing, .varies = 1, .drift = 1};
    clsi_step *st = NULL;
    motion mo = {0};
    e->identity = e->s->form->kind == CLSI_FORM_PHASE;
    e->sparse = e->sp->nz > CLSI_EXPORT_DENSE;
    if (!motion_create(e, &mo)) return clsi_no_memory(error);
    cls_status status = clsi_step_create(v->s, &nothing, 0, &st, error);
    if (status == CLS_OK) status = compile_rates(e, v, st, &mo, error);
    if (status == CLS_OK) status = compile_row(e, v, error);
    if (status == CLS_OK && !clsi_export_is_lawful(e)) status = compile_step(e, v, error);
    clsi_step_free(&st);
    free(mo.y);
    return status;
}
