/* Metriplectic systems: x' = L dE + M dS, with the friction operator M over momenta and entropies.
 *
 *     dissipation M = k/(theta_a*theta_b): s_a <- theta_b, s_b <- -theta_a     kappa w w^T
 *     friction operator M: {s_a, s_a} = ..., {s_a, s_b} = ..., {s_b, s_b} = ...
 *
 * dE = (v, T) over (p, S), dS = (0, 1). M adds to p' and to T S':
 *
 *     force = (M dS)_p,    heat_i = T_i (M dS)_Si
 *
 * Both are kept as expressions in v and T, so that a scheme may put its discrete velocities and
 * temperatures there; the energy then is kept exactly if M dE = 0 holds as an identity in v and T.
 * That is looked for on paper first (cls_simplify), then with random v and T. Where M is degenerate
 * only because v and T are what the energy says (an M written in entropies), it is checked at
 * states, and used as P M P^T with P = 1 - u dE^T/(u.dE), u = 1 for the entropies of M: symmetric,
 * as positive as M, degenerate for any v and T, the same as M at the exact ones, and without any
 * force of its own, so that momentum maps stay. L dS = 0 needs no check: entropies have no
 * brackets. Cost: none after reading; the projection makes the equations longer. */
#include "system/language.h"
#include "base/base.h"
#include <clausius/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 24, FEWEST = 8 };

static const double ROUND_OFF = 1e-11; /* of a sum, relative to the sizes of its terms */

static cls_node effort(const cls_system *s, size_t a) {
    return a < s->n ? s->v[a] : s->T[a - s->n];
}

static const char *member_name(const cls_system *s, size_t a) {
    return a < s->n ? cls_node_name(s->g, s->p[a]) : s->entropy[a - s->n].name;
}

/* ---- is a sum of products zero? ---- */

/* The worst |sum|/sum|terms| over random values of all symbols; NAN when too few are finite. */
static double try_identity(cls_graph *g, size_t n, const cls_node *terms) {
    size_t count = cls_symbols_of(g, n, terms, 0, NULL), good = 0;
    cls_node *symbols = clsi_calloc(count + 1, sizeof *symbols);
    cls_program *program = NULL;
    double worst = 0;
    cls_random random;
    cls_random_seed(&random, 1);
    if (symbols) cls_symbols_of(g, n, terms, count, symbols);
    if (!symbols || cls_program_create(g, count, symbols, n, terms, &program, NULL) != CLS_OK) {
        free(symbols);
        return NAN;
    }
    size_t size = cls_program_work_size(program);
    double *work = clsi_calloc(size + count + n + 1, sizeof *work);
    if (work) cls_program_prepare(program, work);
    for (int i = 0; work && i < POINTS; i++) {
        double *in = work + size, *out = in + count, sum = 0, scale = 0;
        for (size_t k = 0; k < count; k++) in[k] = 0.5 + 1.5 * cls_random_uniform(&random);
        cls_program_run(program, work, in, out);
        for (size_t k = 0; k < n; k++) {
            sum += out[k];
            scale += fabs(out[k]);
        }
        if (!isfinite(scale)) continue;
        good++;
        if (scale > 0) worst = fmax(worst, fabs(sum) / scale);
    }
    free(work);
    cls_program_free(&program);
    free(symbols);
    return good >= FEWEST ? worst : NAN;
}

int clsi_is_identity(cls_graph *g, size_t n, const cls_node *terms) {
    cls_node sum = cls_constant(g, 0);
    for (size_t k = 0; k < n; k++) sum = cls_add(g, sum, terms[k]);
    if (cls_is_constant(g, sum, 0) || cls_is_constant(g, cls_simplify(g, sum), 0)) return 1;
    return try_identity(g, n, terms) <= ROUND_OFF;
}

/* M dE row by row. */
static int is_degenerate(const cls_system *s, const cls_node *M, cls_node *terms) {
    size_t N = s->n + s->m;
    for (size_t a = 0; a < N; a++) {
        for (size_t b = 0; b < N; b++) terms[b] = cls_mul(s->g, M[a * N + b], effort(s, b));
        if (!clsi_is_identity(s->g, N, terms)) return 0;
    }
    return 1;
}

/* ---- adding to the physics ---- */

static void add_to(cls_graph *g, cls_node *sum, cls_node term) {
    *sum = cls_add(g, *sum, term);
}

/* dS of member b: 1 for entropies, or the symbol that a total entropy gives. */
static cls_node slope(const cls_system *s, size_t b) {
    return s->has_entropy ? s->dS[b] : cls_constant(s->g, b >= s->n);
}

/* force and heat of M dS. */
static void add_plain(const cls_system *s, const cls_node *M, clsi_physics *ph) {
    cls_graph *g = s->g;
    size_t N = s->n + s->m;
    for (size_t a = 0; a < N; a++) {
        cls_node rate = cls_constant(g, 0);
        for (size_t b = 0; b < N; b++)
            rate = cls_add(g, rate, cls_mul(g, M[a * N + b], slope(s, b)));
        if (a < s->n)
            add_to(g, &ph->operator_force[a], rate);
        else
            add_to(g, &ph->operator_heat[a - s->n], cls_mul(g, s->T[a - s->n], rate));
    }
}

/* Whether u has member a: an entropy of M, or a variable of M that a total entropy depends on. */
static int takes_heat(const cls_system *s, const cls_node *M, size_t a) {
    size_t N = s->n + s->m;
    int there = 0;
    if (a < s->n && !(s->has_entropy && !cls_is_constant(s->g, s->entropy_slope[s->nq + a], 0)))
        return 0;
    for (size_t b = 0; b < N; b++) there |= !cls_is_constant(s->g, M[a * N + b], 0);
    return there;
}

/* The same of P M P^T: x = M (dS - dE (u.dS)/(u.dE)), then x - u (dE.x)/(u.dE). */
static cls_status add_projected(const cls_system *s, const cls_node *M, clsi_physics *ph) {
    cls_graph *g = s->g;
    size_t N = s->n + s->m;
    cls_node *x = clsi_calloc(N + 1, sizeof *x), zero = cls_constant(g, 0);
    if (!x) return CLS_MEMORY;
    cls_node warmth = zero, gain = zero, power = zero;
    for (size_t a = 0; a < N; a++) {
        if (!takes_heat(s, M, a)) continue;
        warmth = cls_add(g, warmth, effort(s, a));
        gain = cls_add(g, gain, slope(s, a));
    }
    cls_node mu = cls_div(g, gain, warmth);
    for (size_t a = 0; a < N; a++) {
        x[a] = zero;
        for (size_t b = 0; b < N; b++) {
            cls_node drive = cls_sub(g, slope(s, b), cls_mul(g, mu, effort(s, b)));
            x[a] = cls_add(g, x[a], cls_mul(g, M[a * N + b], drive));
        }
        power = cls_add(g, power, cls_mul(g, effort(s, a), x[a]));
    }
    for (size_t a = 0; a < N; a++) {
        if (takes_heat(s, M, a)) x[a] = cls_sub(g, x[a], cls_div(g, power, warmth));
        if (a < s->n)
            add_to(g, &ph->operator_force[a], x[a]);
        else
            add_to(g, &ph->operator_heat[a - s->n], cls_mul(g, s->T[a - s->n], x[a]));
    }
    free(x);
    return CLS_OK;
}

/* The matrix is there from the first statement on that gives a piece of it. */
static int need_operator(cls_system *s) {
    size_t N = s->n + s->m;
    clsi_physics *const both[] = {&s->raw, &s->bound};
    for (int i = 0; i < 2 && !s->has_operator; i++) {
        cls_node *M = both[i]->friction_operator = clsi_calloc(N * N, sizeof *M);
        if (!M) return 0;
        for (size_t k = 0; k < N * N; k++) M[k] = cls_constant(s->g, 0);
    }
    s->has_operator = 1;
    return 1;
}

/* Takes over a matrix as written and with parameters as numbers. */
static cls_status take_operator(clsi_reader *r, size_t where, const cls_node *raw,
                                const cls_node *bound, cls_node *scratch) {
    cls_system *s = r->s;
    size_t N = s->n + s->m;
    if (!need_operator(s)) return clsi_no_memory(r->error);
    for (size_t k = 0; k < N * N; k++) {
        add_to(s->g, &s->raw.friction_operator[k], raw[k]);
        add_to(s->g, &s->bound.friction_operator[k], bound[k]);
    }
    if (is_degenerate(s, bound, scratch)) {
        add_plain(s, raw, &s->raw);
        add_plain(s, bound, &s->bound);
        return CLS_OK;
    }
    if (!r->loose) {
        r->loose_where = where;
        if (!(r->loose = clsi_calloc(N * N, sizeof *r->loose))) return clsi_no_memory(r->error);
        for (size_t k = 0; k < N * N; k++) r->loose[k] = cls_constant(s->g, 0);
    }
    for (size_t k = 0; k < N * N; k++) add_to(s->g, &r->loose[k], bound[k]);
    cls_status status = add_projected(s, raw, &s->raw);
    if (status == CLS_OK) status = add_projected(s, bound, &s->bound);
    return status == CLS_OK ? CLS_OK : clsi_no_memory(r->error);
}

/* ---- statements ---- */

cls_status clsi_read_energy(clsi_reader *r, clsi_cursor c) {
    cls_status status = clsi_read_hamiltonian(r, c);
    r->s->metriplectic = 1;
    return status;
}

/* A momentum (by its name or its coordinate's) or an entropy: its place in (p, S). */
static cls_status read_place(clsi_reader *r, clsi_cursor *c, size_t *out) {
    char found[48], near[96], list[256];
    const cls_system *s = r->s;
    int kinds = CLSI_COORDINATE | CLSI_MOMENTUM | CLSI_ENTROPY | CLSI_TEMPERATURE;
    size_t length = clsi_word_length(r, c, 1);
    const clsi_name *n = length ? clsi_lookup(r, r->clean + c->at, length, kinds) : NULL;
    if (n && n->kind == CLSI_COORDINATE && n->index >= s->paired) n = NULL;
    if (!n)
        return clsi_at(r, c->at, "expected a momentum or an entropy, found %s%s; there are %s",
                       clsi_found(r, c, found),
                       clsi_suggest(r, r->clean + c->at, length, kinds, near),
                       clsi_list_names(r, CLSI_MOMENTUM | CLSI_ENTROPY, list));
    c->at += length;
    *out = n->kind & (CLSI_COORDINATE | CLSI_MOMENTUM) ? n->index : s->n + n->index;
    return CLS_OK;
}

/* p.x <- formula, S <- formula: w (N), with parameters, with numbers, and with lets as symbols. */
static cls_status read_direction(clsi_reader *r, clsi_cursor c, cls_node *raw, cls_node *bound,
                                 cls_node *written) {
    cls_system *s = r->s;
    do {
        size_t a = 0, where = c.at;
        clsi_expression e;
        cls_status status = read_place(r, &c, &a);
        if (status == CLS_OK && !cls_is_constant(s->g, raw[a], 0))
            status = clsi_at(r, where, "`%s` stands twice in one statement", member_name(s, a));
        if (status == CLS_OK) status = clsi_expect(r, &c, "<-", "the variable");
        size_t end = clsi_item_end(r, &c);
        if (status == CLS_OK) status = clsi_read_expression(r, c.at, end, &e);
        if (status != CLS_OK) return status;
        raw[a] = e.raw;
        bound[a] = e.bound;
        written[a] = e.written;
        c.at = end;
    } while (clsi_accept(r, &c, ","));
    return clsi_expect_end(r, &c);
}

static void rank_one(cls_graph *g, size_t N, cls_node kappa, const cls_node *w, cls_node *M) {
    for (size_t a = 0; a < N; a++)
        for (size_t b = 0; b < N; b++) M[a * N + b] = cls_mul(g, kappa, cls_mul(g, w[a], w[b]));
}

/* [NAME =] kappa before the colon, which may be unknown; its end in *colon. */
static cls_status read_kappa(clsi_reader *r, clsi_cursor c, size_t *colon, clsi_expression *e) {
    const char *at = memchr(r->clean + c.at, ':', c.end - c.at);
    cls_system *s = r->s;
    size_t where;
    if (!at)
        return clsi_at(r, c.end,
                       "expected `dissipation kappa: S1 <- ..., S2 <- ...`: a colon "
                       "between the coefficient and the direction");
    *colon = (size_t)(at - r->clean);
    c.end = *colon;
    size_t length = clsi_optional_name(r, &c, &where);
    cls_status status = clsi_name_part(r, where, length);
    *e = (clsi_expression){.raw = cls_constant(s->g, 0), .bound = cls_constant(s->g, 0)};
    if (status == CLS_OK)
        status = clsi_is_unknown(r, c) ? clsi_read_unknown(r, c, where, length)
                                       : clsi_read_expression(r, c.at, c.end, e);
    clsi_replacement *other = clsi_replacement_of(r, r->clean + where, length);
    if (status == CLS_OK && other)
        e->raw = e->bound = other->node(other->context, s, CLSI_PART_HEAT, 0);
    return status;
}

/* w.dE = 0 as an identity: in what is written, whatever the lets in it are (learned ones among
 * them), or with the lets put in. */
static int keeps_energy(const cls_system *s, const cls_node *bound, const cls_node *written,
                        cls_node *terms) {
    size_t N = s->n + s->m;
    for (size_t a = 0; a < N; a++) terms[a] = cls_mul(s->g, written[a], effort(s, a));
    if (clsi_is_identity(s->g, N, terms)) return 1;
    for (size_t a = 0; a < N; a++) terms[a] = cls_mul(s->g, bound[a], effort(s, a));
    return clsi_is_identity(s->g, N, terms);
}

cls_status clsi_read_dissipation(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    size_t N = s->n + s->m, colon = 0, where = c.at;
    if (s->m == 0 && !s->has_entropy)
        return clsi_at(r, c.at,
                       "dissipation raises entropy: declare `entropy S`, or a `total entropy`");
    cls_node *w = clsi_calloc(3 * N + 2 * N * N, sizeof *w), *bound = w + N, *M = bound + 2 * N;
    clsi_expression kappa;
    if (!w) return clsi_no_memory(r->error);
    for (size_t a = 0; a < 3 * N; a++) w[a] = cls_constant(s->g, 0);
    cls_status status = read_kappa(r, c, &colon, &kappa);
    c.at = colon + 1;
    if (status == CLS_OK) status = read_direction(r, c, w, bound, bound + N);
    if (status == CLS_OK && keeps_energy(s, bound, bound + N, M)) { /* whatever kappa is */
        rank_one(s->g, N, kappa.raw, w, M);
        rank_one(s->g, N, kappa.bound, bound, M + N * N);
        if (!need_operator(s)) status = clsi_no_memory(r->error);
        for (size_t k = 0; k < N * N && status == CLS_OK; k++) {
            add_to(s->g, &s->raw.friction_operator[k], M[k]);
            add_to(s->g, &s->bound.friction_operator[k], M[N * N + k]);
        }
        add_plain(s, M, &s->raw);
        add_plain(s, M + N * N, &s->bound);
    } else if (status == CLS_OK) {
        rank_one(s->g, N, kappa.raw, w, M);
        rank_one(s->g, N, kappa.bound, bound, M + N * N);
        status = take_operator(r, where, M, M + N * N, w);
    }
    free(w);
    return status;
}

cls_status clsi_read_operator(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    size_t N = s->n + s->m, where = c.at, length = clsi_word_length(r, &c, 0);
    cls_node *M = clsi_calloc(2 * N * N + N + 1, sizeof *M), *bound = M + N * N;
    if (!M) return clsi_no_memory(r->error);
    for (size_t k = 0; k < 2 * N * N; k++) M[k] = cls_constant(s->g, 0);
    size_t name = c.at;
    c.at += length;
    cls_status status = clsi_expect(r, &c, ":", length ? "the name" : "`friction operator`");
    if (status == CLS_OK) status = clsi_name_part(r, name, length);
    while (status == CLS_OK) {
        size_t a = 0, b = 0;
        clsi_expression e;
        status = clsi_expect(r, &c, "{", "the colon or comma");
        if (status == CLS_OK) status = read_place(r, &c, &a);
        if (status == CLS_OK) status = clsi_expect(r, &c, ",", "the first variable");
        if (status == CLS_OK) status = read_place(r, &c, &b);
        if (status == CLS_OK) status = clsi_expect(r, &c, "}", "the second variable");
        if (status == CLS_OK) status = clsi_expect(r, &c, "=", "the entry");
        size_t end = clsi_item_end(r, &c);
        if (status == CLS_OK) status = clsi_read_expression(r, c.at, end, &e);
        if (status != CLS_OK) break;
        M[a * N + b] = M[b * N + a] = e.raw;
        bound[a * N + b] = bound[b * N + a] = e.bound;
        c.at = end;
        if (!clsi_accept(r, &c, ",")) break;
    }
    if (status == CLS_OK) status = clsi_expect_end(r, &c);
    if (status == CLS_OK) status = take_operator(r, where, M, bound, bound + N * N);
    free(M);
    return status;
}

/* ---- M dE = 0 at states ---- */

/* A state inside the domains: between bounds, or near the one there is, or near 0. */
static double draw(const clsi_variable *v, double uniform) {
    if (isfinite(v->low) && isfinite(v->high)) return v->low + (v->high - v->low) * uniform;
    if (isfinite(v->low)) return v->low + 0.2 + 2 * uniform;
    if (isfinite(v->high)) return v->high - 0.2 - 2 * uniform;
    return 3 * uniform - 1.5;
}

static const clsi_variable *variable(const cls_system *s, size_t k) {
    static const clsi_variable any = {NULL, NULL, -INFINITY, INFINITY};
    if (k < s->nq) return &s->coordinate[k];
    if (k < s->nq + s->n) return &any;
    return s->form->kind == CLSI_FORM_THERMAL ? &s->temperature[k - s->nq - s->n]
                                              : &s->entropy[k - s->nq - s->n];
}

typedef struct rows {
    clsi_reader *r;
    size_t where, n, width; /* n rows of `width` products */
    const char *law;
} rows;

/* The name of row a: of (p, S) for M, of (q, p) for L. */
static const char *row_name(const rows *k, size_t a) {
    const cls_system *s = k->r->s;
    if (k->n == s->n + s->m && k->law[0] == 'M') return member_name(s, a);
    return cls_node_name(s->g, a < s->nq ? s->q[a] : s->p[a - s->nq]);
}

static cls_status fails(const rows *k, size_t row, const double *z, double sum, double scale) {
    const cls_system *s = k->r->s;
    clsi_text state = {0};
    for (size_t i = 0; i < s->form->nz; i++)
        clsi_text_printf(&state, "%s%s = %.4g", i ? ", " : "", cls_node_name(s->g, s->form->z[i]),
                         z[i]);
    int M = k->law[0] == 'M';
    cls_status status = clsi_at(
        k->r, k->where, "%s: %s fails in the row of `%s` by %.3g (terms of size %.3g) at %s",
        M ? "the friction operator does not keep the energy" : "the brackets make entropy", k->law,
        row_name(k, row), sum, scale, state.data ? state.data : "?");
    clsi_text_clear(&state);
    return status;
}

/* The program's outputs are the products, then the temperatures. */
static cls_status check_state(const rows *k, const double *z, const double *out, size_t *good) {
    const cls_system *s = k->r->s;
    size_t count = k->n * k->width;
    for (size_t i = 0; i < count + s->m; i++)
        if (!isfinite(out[i]) || (i >= count && !(out[i] > 0))) return CLS_OK;
    ++*good;
    for (size_t a = 0; a < k->n; a++) {
        double sum = 0, scale = 0;
        for (size_t b = 0; b < k->width; b++) {
            sum += out[a * k->width + b];
            scale += fabs(out[a * k->width + b]);
        }
        if (fabs(sum) > 1e-9 * scale) return fails(k, a, z, sum, scale);
    }
    return CLS_OK;
}

static cls_status check_states(const rows *k, cls_program *program, double *work) {
    const cls_system *s = k->r->s;
    size_t nz = s->form->nz, good = 0;
    double *z = work + cls_program_work_size(program), *out = z + nz + 1;
    cls_random random;
    cls_status status = CLS_OK;
    cls_random_seed(&random, 1);
    cls_program_prepare(program, work);
    for (int i = 0; i < 8 * POINTS && good < POINTS && status == CLS_OK; i++) {
        for (size_t l = 0; l < nz; l++) z[l] = draw(variable(s, l), cls_random_uniform(&random));
        z[nz] = 0;
        cls_program_run(program, work, z, out);
        status = check_state(k, z, out, &good);
    }
    if (status == CLS_OK && !good)
        status =
            clsi_at(k->r, k->where,
                    "%s could not be checked: at no state tried is everything finite and every "
                    "temperature positive",
                    k->law);
    return status;
}

cls_status clsi_check_rows(clsi_reader *r, size_t where, const char *law, size_t n, size_t width,
                           const cls_node *products) {
    const cls_system *s = r->s;
    const clsi_form *f = s->form;
    const rows k = {r, where, n, width, law};
    size_t count = n * width + s->m;
    const clsi_place at = {f->q, f->v, f->p, f->S, f->T, s->t};
    cls_node *nodes = clsi_calloc(count + f->nz + 1, sizeof *nodes), *inputs = nodes + count;
    cls_program *program = NULL;
    if (!nodes) return clsi_no_memory(r->error);
    memcpy(nodes, products, n * width * sizeof *nodes);
    for (size_t i = 0; i < s->m; i++) nodes[n * width + i] = s->T[i];
    memcpy(inputs, f->z, f->nz * sizeof *inputs);
    inputs[f->nz] = s->t;
    cls_status status = clsi_place_at(s, &at, count, nodes, nodes);
    if (status == CLS_OK)
        status = cls_program_create(s->g, f->nz + 1, inputs, count, nodes, &program, r->error);
    double *work =
        program ? clsi_calloc(cls_program_work_size(program) + f->nz + 1 + count, sizeof *work)
                : NULL;
    if (status == CLS_OK)
        status = work ? check_states(&k, program, work) : clsi_no_memory(r->error);
    free(work);
    free(nodes);
    cls_program_free(&program);
    return status;
}

cls_status clsi_check_operator(clsi_reader *r) {
    const cls_system *s = r->s;
    size_t N = s->n + s->m;
    if (!r->loose || !s->form) return CLS_OK;
    cls_node *products = clsi_calloc(N * N, sizeof *products);
    if (!products) return clsi_no_memory(r->error);
    for (size_t k = 0; k < N * N; k++) products[k] = cls_mul(s->g, r->loose[k], effort(s, k % N));
    cls_status status = clsi_check_rows(r, r->loose_where, "M dE = 0", N, N, products);
    free(products);
    return status;
}
