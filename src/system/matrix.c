/* Resistive components whose ports are related by a full matrix.
 *
 *     resistive mix(a, b, entropy s): matrix unknown network(8)
 *     resistive mix(a, b, entropy s): matrix {a, a} = 2, {a, b} = 1, {b, b} = 3
 *
 * Problem: friction of one velocity may push on another, heat may flow because charge does. The
 * most general dissipation that keeps the energy is M = B K B^T with B^T (efforts) = 0 and K
 * symmetric, positive semidefinite (docs/physics/ports.md, generic formulation 2). One entropy,
 * with temperature T, takes the rest of the energy; every other port has a row, and its column of B
 * times sqrt(T) is (at the port | at the rest)
 *
 *     a velocity or voltage e    T            | -e
 *     an entropy at T_i          T/sqrt(T_i)  | -sqrt(T_i)
 *
 * so that a diagonal entry of K is a friction coefficient or a conductance of heat to the rest, and
 * an entry between a velocity and an entropy couples both as thermoelectricity does. K is symmetric
 * by form: Onsager's reciprocity is not learned, it holds.
 *
 * What is unknown is K = L D L^T = sum_k d_k l_k l_k^T, D positive by form, L lower with unit
 * diagonal and free entries: any positive definite K, whatever the parameters. Each k is a
 * `dissipation` of the language with its two laws. A known K is a sum over entries,
 * K_ij ((w_i + w_j)(w_i + w_j)^T - w_i w_i^T - w_j w_j^T); that it is not negative the audit says.
 * In the flat text d is mix_d_a, l is mix_l_b_a, and K is mix_a_b either way. Costs n(n+1)/2 fields
 * for n rows. */
#include "system/ports.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 8 };

typedef struct matrix {
    size_t n, port[MAX_ROWS]; /* rows: the port of each */
    size_t rest;              /* the entropy that takes what is left of the energy */
    int unknown;
    clsi_span field; /* `unknown network(8)` */
    clsi_span entry[MAX_ROWS * MAX_ROWS];
} matrix;

int clsi_is_matrix(const clsi_ports *p, const clsi_component *c) {
    clsi_cursor at = {c->body.begin, c->body.end};
    return clsi_accept_word(clsi_source_of(p, c->body), &at, "matrix");
}

/* ---- reading ---- */

/* The rest is the last entropy unless `on` says another; the other ports are rows. */
static cls_status find_rows(clsi_ports *p, const clsi_component *c, clsi_cursor on, matrix *m) {
    clsi_reader *r = clsi_source_of(p, c->body);
    cls_status status = CLS_OK;
    for (size_t k = 0; k < c->n_ports; k++)
        if (c->port[k].thermal) m->rest = k;
    if (clsi_accept_word(r, &on, "on")) {
        size_t where = on.at;
        status = clsi_read_port_name(p, c, &on, "`on`", &m->rest);
        if (status == CLS_OK) status = clsi_expect_end(r, &on);
        if (status == CLS_OK && !c->port[m->rest].thermal)
            status = clsi_at(r, where, "`%s` is not an entropy: heat cannot go there",
                             c->port[m->rest].name);
    }
    if (status == CLS_OK && c->n_ports - 1 > MAX_ROWS)
        return clsi_at(r, c->title.begin, "a matrix has at most %d rows, `%s` has %zu ports",
                       (int)MAX_ROWS, c->name, c->n_ports);
    for (size_t k = 0; k < c->n_ports; k++)
        if (k != m->rest && status == CLS_OK) m->port[m->n++] = k;
    return status;
}

static size_t row_of(const matrix *m, size_t port) {
    for (size_t i = 0; i < m->n; i++)
        if (m->port[i] == port) return i;
    return SIZE_MAX;
}

static cls_status read_entries(clsi_ports *p, const clsi_component *c, clsi_cursor at, matrix *m) {
    clsi_reader *r = clsi_source_of(p, c->body);
    do {
        clsi_bracket b = {0};
        clsi_skip_space(r, &at);
        size_t where = at.at;
        cls_status status = clsi_read_entry(p, c, &at, &b);
        if (status != CLS_OK) return status;
        size_t i = row_of(m, b.a), k = row_of(m, b.b);
        if (i == SIZE_MAX || k == SIZE_MAX)
            return clsi_at(r, where,
                           "`%s` takes what the other ports leave of the energy and has no row of "
                           "its own; `on` another entropy would give it one",
                           c->port[m->rest].name);
        if (m->entry[i * m->n + k].end)
            return clsi_at(r, where, "a second entry {%s, %s}: the matrix is symmetric",
                           c->port[b.a].name, c->port[b.b].name);
        m->entry[i * m->n + k] = m->entry[k * m->n + i] = b.formula;
    } while (clsi_accept(r, &at, ","));
    return clsi_expect_end(r, &at);
}

static cls_status read_matrix(clsi_ports *p, const clsi_component *c, matrix *m) {
    clsi_reader *r = clsi_source_of(p, c->body);
    clsi_cursor at = {c->body.begin, c->body.end};
    *m = (matrix){.rest = SIZE_MAX};
    clsi_accept_word(r, &at, "matrix");
    clsi_skip_space(r, &at);
    size_t of = clsi_find_plain_word(r, at.at, at.end, "of");
    size_t on = clsi_find_plain_word(r, at.at, of, "on");
    cls_status status = find_rows(p, c, (clsi_cursor){on, of}, m);
    if (status != CLS_OK) return status;
    m->unknown = clsi_is_unknown(r, at);
    if (!m->unknown && of < at.end)
        return clsi_at(r, of, "`of` names the inputs of what is `unknown`");
    m->field = clsi_trimmed(p, (clsi_span){c->body.source, at.at, on});
    if (m->unknown) return CLS_OK;
    char found[48];
    if (m->field.begin == m->field.end || r->clean[at.at] != '{')
        return clsi_at(r, at.at, "expected `unknown` or `{%s, %s} = ...` after `matrix`, found %s",
                       c->port[m->port[0]].name, c->port[m->port[m->n - 1]].name,
                       clsi_found(r, &at, found));
    return read_entries(p, c, (clsi_cursor){at.at, on}, m);
}

/* ---- names ---- */

static void diagonal_name(const clsi_component *c, const matrix *m, size_t i, char out[160]) {
    snprintf(out, 160, "%.70s_d_%.40s", c->name, c->port[m->port[i]].name);
}

static void factor_name(const clsi_component *c, const matrix *m, size_t i, size_t k,
                        char out[160]) {
    snprintf(out, 160, "%.70s_l_%.40s_%.40s", c->name, c->port[m->port[i]].name,
             c->port[m->port[k]].name);
}

static void entry_name(const clsi_component *c, const matrix *m, size_t i, size_t k,
                       char out[160]) {
    snprintf(out, 160, "%.70s_%.40s_%.40s", c->name, c->port[m->port[i]].name,
             c->port[m->port[k]].name);
}

/* ---- writing ---- */

/* A direction in the space of rows: sum of factor i times row i, factors by name, "" for 1. */
typedef struct direction {
    size_t n, row[MAX_ROWS];
    char factor[MAX_ROWS][164];
} direction;

static void add_row(direction *d, size_t row, const char *factor) {
    d->row[d->n] = row;
    snprintf(d->factor[d->n++], 164, "%s%s", factor, factor[0] ? "*" : "");
}

/* What row i of a direction does at its own port, as a term, or at the rest. */
static void put_share(clsi_ports *p, const clsi_component *c, const matrix *m, const direction *d,
                      size_t i, int at_rest) {
    const clsi_port *port = &c->port[m->port[d->row[i]]];
    const clsi_joint *j = &p->joints[port->node];
    char effort[512], T[512];
    clsi_effort_text(p, port->node, effort);
    clsi_effort_text(p, c->port[m->rest].node, T);
    clsi_put(p, c->title, at_rest ? " - %s" : " + %s", d->factor[i]);
    if (port->thermal && at_rest)
        clsi_put(p, c->title, "sqrt(%s)", effort);
    else if (port->thermal)
        clsi_put(p, c->title, "%s/sqrt(%s)", T, effort);
    else if (at_rest)
        clsi_put(p, c->title, "%s", effort);
    else
        clsi_put(p, c->title, "%s%s%s", j->factor ? j->factor : "", j->factor ? "*" : "", T);
}

/* )/T: x <- ..., s <- ... behind `dissipation (KAPPA`; ports that share a state share an entry. */
static void put_direction(clsi_ports *p, const clsi_component *c, const matrix *m,
                          const direction *d) {
    size_t rest = p->joints[c->port[m->rest].node].state;
    size_t state[MAX_ROWS + 1];
    char T[512];
    for (size_t i = 0; i < d->n; i++) state[i] = p->joints[c->port[m->port[d->row[i]]].node].state;
    state[d->n] = rest;
    clsi_effort_text(p, c->port[m->rest].node, T);
    clsi_put(p, c->title, ")/%s:", T);
    for (size_t k = 0, shown = 0; k <= d->n; k++) {
        int repeated = 0;
        for (size_t i = 0; i < k; i++) repeated |= state[i] == state[k];
        if (repeated) continue;
        clsi_put(p, c->title, "%s %s <-", shown++ ? "," : "", clsi_force_text(p, state[k]));
        for (size_t i = 0; i < d->n; i++)
            if (state[i] == state[k]) put_share(p, c, m, d, i, 0);
        for (size_t i = 0; i < d->n && state[k] == rest; i++) put_share(p, c, m, d, i, 1);
    }
    clsi_put(p, c->title, "\n");
}

/* coefficient NAME of INPUTS = unknown FIELD */
static void put_field(clsi_ports *p, const clsi_component *c, const matrix *m, const char *word,
                      const char *name) {
    const clsi_reader *r = clsi_source_of(p, m->field);
    clsi_put(p, c->title, "%s %s", word, name);
    for (size_t i = 0; i < c->n_inputs; i++)
        clsi_put(p, c->title, "%s%s", i ? ", " : " of ", c->flat_input[i]);
    clsi_put(p, c->title, " = ");
    clsi_put(p, m->field, "%.*s", (int)(m->field.end - m->field.begin), r->clean + m->field.begin);
    clsi_put(p, c->title, "\n");
}

/* d_k/l_k.l_k */
static void put_weight(clsi_ports *p, const clsi_component *c, const matrix *m, size_t k) {
    char name[160];
    diagonal_name(c, m, k, name);
    clsi_put(p, c->title, "%s", name);
    for (size_t i = k + 1; i < m->n; i++) {
        factor_name(c, m, i, k, name);
        clsi_put(p, c->title, "%s%s^2", i == k + 1 ? "/(1 + " : " + ", name);
    }
    if (k + 1 < m->n) clsi_put(p, c->title, ")");
}

/* K_ij = sum over k <= i of d_k l_ik l_jk/l_k.l_k, i <= j: for outputs of the user. */
static void put_products(clsi_ports *p, const clsi_component *c, const matrix *m) {
    char name[160];
    for (size_t i = 0; i < m->n; i++)
        for (size_t j = i; j < m->n; j++) {
            entry_name(c, m, i, j, name);
            clsi_put(p, c->title, "let %s =", name);
            for (size_t k = 0; k <= i; k++) {
                clsi_put(p, c->title, k ? " + " : " ");
                put_weight(p, c, m, k);
                const size_t sides[] = {i, j};
                for (int side = 0; side < 2; side++) {
                    if (sides[side] == k) continue;
                    factor_name(c, m, sides[side], k, name);
                    clsi_put(p, c->title, "*%s", name);
                }
            }
            clsi_put(p, c->title, "\n");
        }
}

static void put_unknown(clsi_ports *p, const clsi_component *c, const matrix *m) {
    char name[160];
    for (size_t k = 0; k < m->n; k++) {
        diagonal_name(c, m, k, name);
        put_field(p, c, m, "coefficient", name);
        for (size_t i = k + 1; i < m->n; i++) {
            factor_name(c, m, i, k, name);
            put_field(p, c, m, "coupling", name);
        }
    }
    put_products(p, c, m);
    for (size_t k = 0; k < m->n; k++) {
        direction d = {0};
        add_row(&d, k, "");
        for (size_t i = k + 1; i < m->n; i++) {
            factor_name(c, m, i, k, name);
            add_row(&d, i, name);
        }
        clsi_put(p, c->title, "dissipation (");
        put_weight(p, c, m, k);
        put_direction(p, c, m, &d);
    }
}

/* K_ii less the entries beside it, along row i; K_ij along the sum of rows i and j. */
static void put_known(clsi_ports *p, const clsi_component *c, const matrix *m) {
    char name[160];
    for (size_t i = 0; i < m->n; i++)
        for (size_t j = i; j < m->n; j++) {
            clsi_span f = m->entry[i * m->n + j];
            entry_name(c, m, i, j, name);
            clsi_put(p, c->title, "let %s = ", name);
            if (f.end)
                clsi_put_span(p, c, c->scope, f);
            else
                clsi_put(p, c->title, "0");
            clsi_put(p, c->title, "\n");
        }
    for (size_t i = 0; i < m->n; i++) {
        char sum[MAX_ROWS * 160];
        size_t used = 0;
        for (size_t j = 0; j < m->n; j++) {
            size_t a = (i + j) % m->n; /* the diagonal comes first */
            if (j && !m->entry[i * m->n + a].end) continue;
            entry_name(c, m, i < a ? i : a, i < a ? a : i, name);
            used += (size_t)snprintf(sum + used, sizeof sum - used, "%s%s", j ? " - " : "", name);
        }
        direction own = {0};
        add_row(&own, i, "");
        clsi_put(p, c->title, "dissipation (%s", sum);
        put_direction(p, c, m, &own);
        for (size_t j = i + 1; j < m->n; j++) {
            direction both = {0};
            if (!m->entry[i * m->n + j].end) continue;
            add_row(&both, i, "");
            add_row(&both, j, "");
            entry_name(c, m, i, j, name);
            clsi_put(p, c->title, "dissipation (%s", name);
            put_direction(p, c, m, &both);
        }
    }
}

cls_status clsi_put_matrix(clsi_ports *p, const clsi_component *c) {
    matrix m;
    cls_status status = read_matrix(p, c, &m);
    if (status != CLS_OK) return status;
    if (m.unknown)
        put_unknown(p, c, &m);
    else
        put_known(p, c, &m);
    return CLS_OK;
}

/* ---- what is learned of a component ---- */

static void declare_term(const clsi_ports *p, const clsi_component *c, const clsi_term *t,
                         clsi_text *out) {
    const clsi_reader *r = clsi_source_of(p, c->body);
    clsi_text_append(out, "unknown");
    if (t->direction.end > t->direction.begin)
        clsi_text_printf(out, " along %.*s", (int)(t->direction.end - t->direction.begin),
                         r->clean + t->direction.begin);
    if (t->heat != SIZE_MAX) clsi_text_printf(out, " on %s", c->port[t->heat].name);
}

static cls_status parts_of_terms(clsi_ports *p, const clsi_component *c, size_t *n,
                                 char (*list)[160], clsi_text *out) {
    clsi_term *terms = clsi_calloc(CLSI_MAX_TERMS, sizeof *terms);
    cls_status status = terms ? clsi_read_terms(p, c, terms, n) : clsi_no_memory(p->error);
    for (size_t k = 0; k < *n && status == CLS_OK; k++) {
        const char *name = terms[k].unknown ? clsi_law_name(p, c) : c->name;
        if (*n > 1)
            snprintf(list[k], 160, "%.120s%zu", name, k + 1);
        else
            snprintf(list[k], 160, "%.120s", name);
        if (k) clsi_text_append(out, "; ");
        declare_term(p, c, &terms[k], out);
    }
    free(terms);
    return status;
}

static cls_status parts_of_matrix(clsi_ports *p, const clsi_component *c, size_t *n,
                                  char (*list)[160], clsi_text *out) {
    matrix m;
    cls_status status = read_matrix(p, c, &m);
    for (size_t k = 0; k < m.n && status == CLS_OK; k++) {
        diagonal_name(c, &m, k, list[(*n)++]);
        for (size_t i = k + 1; i < m.n; i++) factor_name(c, &m, i, k, list[(*n)++]);
    }
    if (status == CLS_OK) clsi_text_printf(out, "matrix unknown on %s", c->port[m.rest].name);
    return status;
}

cls_status clsi_component_parts(clsi_ports *p, const clsi_component *c, size_t *n,
                                char (**list)[160], char **text) {
    clsi_text out = {0};
    cls_status status = CLS_OK;
    *n = 0;
    *text = NULL;
    *list = clsi_calloc(MAX_ROWS * (MAX_ROWS + 1) / 2, sizeof **list);
    if (!*list) return clsi_no_memory(p->error);
    if (c->kind == CLSI_STORAGE) {
        snprintf((*list)[(*n)++], 160, "%.120s", clsi_law_name(p, c));
        clsi_text_append(&out, "unknown");
    } else {
        status = (clsi_is_matrix(p, c) ? parts_of_matrix : parts_of_terms)(p, c, n, *list, &out);
    }
    if (status == CLS_OK && !(*text = clsi_text_take(&out))) status = clsi_no_memory(p->error);
    clsi_text_clear(&out);
    return status;
}
