/* dirac NAME(a, b, c): a power-conserving structure between ports by its matrices.
 *
 *     dirac link(a, b, c): F = [1, 0, 0; 0, 1, 0; 0, 0, 1], E = [0, -1, 0; 1, 0, -r; 0, r, 0]
 *     dirac link(a, b):    J = [0, r; -r, 0]
 *
 * Problem: F f + E e = 0 (kernel form; f flows into the states at the ports, e their efforts; J: f = J e)
 * must be made explicit with efforts as causes. It is a Dirac structure when it has n independent rows and
 * F E^T + E F^T = 0. Rows without flows after elimination are constraints C e = 0; each that ties two efforts
 * is a transformer, e_b = n e_a, whose other end depends on the first (storages there get one state together,
 * dependent.c). With e = N e_m for the efforts e_m that are free, the rows left are Q N^T f + E' N e_m = 0, so that
 *
 *     N^T f = J e_m,     J = -Q^-1 E' N,     J + J^T = 0.
 *
 * The transformers and a junction with J are written as a composite, which is read like any other: pictures,
 * errors and both laws are those of its components. F is made of numbers; E and J may be modulated (formulas of
 * states at the ports, `a`, of their efforts, `e.a`, of parameters). n is at most the number of ports, 32. */
#include "expr/graph.h"
#include "system/ports.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32, SYMBOLS = 128 };

typedef struct dirac {
    clsi_ports *p;
    clsi_reader *r;
    size_t scope, source, n, where;
    char *name;
    clsi_port *port;
    cls_graph *g;
    cls_node symbol[SYMBOLS];
    size_t n_symbols;
    int failed;              /* memory ran out where there is only a number to return */
    double F[MOST * MOST];   /* rows */
    cls_node E[MOST * MOST]; /* the same rows */
} dirac;

/* ---- formulas ---- */

/* Every name is a symbol, and noted; a name of the composite around is called as the flat text does. */
static cls_node any_name(const void *context, const char *name, size_t length) {
    dirac *d = (dirac *)(size_t)context;
    const clsi_scope_names *s = &d->p->scopes[d->scope];
    const char *prefix = "";
    char text[256];
    for (size_t i = 0; i < s->n; i++)
        if (strlen(s->names[i]) == length && memcmp(s->names[i], name, length) == 0)
            prefix = s->prefix;
    int n = snprintf(text, sizeof text, "%s%.*s", prefix, (int)length, name);
    if (n < 0 || (size_t)n >= sizeof text) return CLS_NO_NODE;
    cls_node symbol = cls_symbol(d->g, text);
    for (size_t i = 0; i < d->n_symbols; i++)
        if (d->symbol[i] == symbol) return symbol;
    if (d->n_symbols == SYMBOLS) return CLS_NO_NODE;
    return d->symbol[d->n_symbols++] = symbol;
}

/* The value at the k-th of some arbitrary points; NAN: it has none. */
static double value_at(dirac *d, cls_node node, int k) {
    cls_program *program = NULL;
    double in[SYMBOLS], out = NAN, *work = NULL;
    for (size_t i = 0; i < d->n_symbols; i++)
        in[i] = 0.7 + 0.6 * fmod(0.754877666 * (double)(i + 1) + 0.569840291 * k, 1);
    cls_status status = cls_program_create(d->g, d->n_symbols, d->symbol, 1, &node, &program, NULL);
    if (status == CLS_OK) work = clsi_calloc(cls_program_work_size(program), sizeof *work);
    if (work) {
        cls_program_prepare(program, work);
        cls_program_run(program, work, in, &out);
    } else {
        d->failed |= status == CLS_OK || status == CLS_MEMORY;
    }
    free(work);
    cls_program_free(&program);
    return out;
}

/* Does it depend on no name? */
static int is_number(const dirac *d, cls_node node) {
    return !cls_depends(d->g, node, d->n_symbols, d->symbol);
}

static int is_zero(dirac *d, cls_node node, double size) {
    for (int k = 0; k < 3; k++)
        if (!(fabs(value_at(d, node, k)) <= 1e-12 * size)) return 0;
    return 1;
}

/* ---- reading ---- */

static cls_status read_entry(dirac *d, size_t begin, size_t end, cls_node *out) {
    clsi_span s = clsi_trimmed(d->p, clsi_span_of(d->source, begin, end));
    cls_scope scope = {.find = any_name, .context = d};
    cls_error inner = {0};
    char *text = clsi_keep(d->p, d->r->clean + s.begin, s.end - s.begin);
    if (!text) return clsi_no_memory(d->p->error);
    if (!*text) return clsi_at(d->r, begin, "an entry of the matrix is empty");
    if (cls_parse(d->g, text, &scope, NULL, 1, 1, out, &inner) != CLS_OK || *out == CLS_NO_NODE)
        return clsi_at(d->r, s.begin, "`%s` is not a formula%s%s", text,
                       inner.message[0] ? ": " : "", inner.message);
    return CLS_OK;
}

/* [a, b; c, d]: n rows of n entries. */
static cls_status read_matrix(dirac *d, clsi_cursor *c, const char *after, cls_node *out) {
    cls_status status = clsi_expect(d->r, c, "[", after);
    size_t count = 0, column = 0, row = 0, first = c->at;
    int depth = 0;
    for (; status == CLS_OK && c->at < c->end; c->at++) {
        char k = d->r->clean[c->at];
        depth += (k == '(') - (k == ')');
        if (depth || (k != ',' && k != ';' && k != ']')) continue;
        if (count == d->n * d->n || column == d->n)
            return clsi_at(d->r, first, "`%s` has %zu ports: a matrix has %zu rows of %zu entries",
                           d->name, d->n, d->n, d->n);
        status = read_entry(d, first, c->at, &out[count++]);
        first = c->at + 1;
        column++;
        if (k == ',') continue;
        if (column != d->n || (k == ']' && row + 1 != d->n))
            return clsi_at(d->r, c->at, "`%s` has %zu ports: a matrix has %zu rows of %zu entries",
                           d->name, d->n, d->n, d->n);
        column = 0;
        row++;
        if (k == ']') {
            c->at++;
            return status;
        }
    }
    return status == CLS_OK ? clsi_at(d->r, first, "the matrix has no closing `]`") : status;
}

static cls_status read_named(dirac *d, clsi_cursor *c, const char *name, const char *after,
                             cls_node *out) {
    char found[48];
    if (!clsi_accept_word(d->r, c, name))
        return clsi_at(
            d->r, c->at,
            "expected `%s = [...]` after %s, found %s: `F = [...], E = [...]` says F f + E e "
            "= 0, `J = [...]` says f = J e",
            name, after, clsi_found(d->r, c, found));
    cls_status status = clsi_expect(d->r, c, "=", name);
    return status == CLS_OK ? read_matrix(d, c, "`=`", out) : status;
}

/* Flows as numbers; J is F = 1, E = -J. */
static cls_status read_matrices(dirac *d, clsi_cursor c) {
    cls_node *F = clsi_calloc(MOST * MOST, sizeof *F);
    if (!F) return clsi_no_memory(d->p->error);
    clsi_cursor look = c;
    int explicit = clsi_accept_word(d->r, &look, "J");
    size_t where = c.at;
    cls_status status = explicit ? read_named(d, &c, "J", "the colon", d->E)
                                 : read_named(d, &c, "F", "the colon", F);
    if (status == CLS_OK && !explicit) status = clsi_expect(d->r, &c, ",", "the matrix F");
    if (status == CLS_OK && !explicit) status = read_named(d, &c, "E", "the matrix F", d->E);
    if (status == CLS_OK) status = clsi_expect_end(d->r, &c);
    for (size_t i = 0; status == CLS_OK && i < d->n * d->n; i++) {
        d->F[i] = explicit ? (i % (d->n + 1) == 0 ? 1 : 0) : value_at(d, F[i], 0);
        if (explicit) d->E[i] = cls_neg(d->g, d->E[i]);
        if (!explicit && (!is_number(d, F[i]) || !isfinite(d->F[i])))
            status =
                clsi_at(d->r, where,
                        "entries of F are numbers; put what depends on states or parameters into "
                        "E, or write the structure with gyrators and transformers");
    }
    free(F);
    return status;
}

/* ---- elimination ---- */

static void swap_rows(dirac *d, size_t a, size_t b) {
    for (size_t j = 0; j < d->n; j++) {
        double f = d->F[a * d->n + j];
        cls_node e = d->E[a * d->n + j];
        d->F[a * d->n + j] = d->F[b * d->n + j];
        d->E[a * d->n + j] = d->E[b * d->n + j];
        d->F[b * d->n + j] = f;
        d->E[b * d->n + j] = e;
    }
}

/* row a less c times row b; row a times c. */
static void subtract(dirac *d, size_t a, double c, size_t b) {
    for (size_t j = 0; j < d->n; j++) {
        d->F[a * d->n + j] -= c * d->F[b * d->n + j];
        cls_node more = cls_mul(d->g, cls_constant(d->g, c), d->E[b * d->n + j]);
        d->E[a * d->n + j] = cls_simplify(d->g, cls_sub(d->g, d->E[a * d->n + j], more));
    }
}

static void scale(dirac *d, size_t a, double c) {
    for (size_t j = 0; j < d->n; j++) {
        d->F[a * d->n + j] *= c;
        cls_node e = cls_mul(d->g, cls_constant(d->g, c), d->E[a * d->n + j]);
        d->E[a * d->n + j] = cls_simplify(d->g, e);
    }
}

/* F into rows with a leading 1; those of zeros come last. Returns how many are not. */
static size_t reduce_flows(dirac *d) {
    size_t n = d->n, rank = 0;
    for (size_t j = 0; j < n; j++) {
        size_t best = rank;
        for (size_t i = rank; i < n; i++)
            if (fabs(d->F[i * n + j]) > fabs(d->F[best * n + j])) best = i;
        if (rank == n || !(fabs(d->F[best * n + j]) > 1e-12)) continue;
        swap_rows(d, rank, best);
        scale(d, rank, 1 / d->F[rank * n + j]);
        for (size_t i = 0; i < n; i++)
            if (i != rank && d->F[i * n + j] != 0) subtract(d, i, d->F[i * n + j], rank);
        rank++;
    }
    return rank;
}

/* What depends on what: e[b] = ratio e[a], a == b for efforts that are free. */
typedef struct ties {
    size_t master[MOST];
    cls_node ratio[MOST];
} ties;

static cls_status not_a_pair(dirac *d, size_t row) {
    clsi_text list = {0};
    for (size_t j = 0; j < d->n; j++)
        if (!is_zero(d, d->E[row * d->n + j], 1))
            clsi_text_printf(&list, "%se.%s", list.length ? ", " : "", d->port[j].name);
    cls_status status = clsi_at(
        d->r, d->where,
        "`%s` ties the efforts %s by a row without flows; only pairs of efforts can be made one (a "
        "transformer): write what the others do by flows, or one storage of what depends, with a "
        "port for each effort that is free (docs/language.md has three coils)",
        d->name, list.length ? list.data : "of no port");
    clsi_text_clear(&list);
    return status;
}

/* A row without flows: c_a e_a + c_b e_b = 0. The port that comes later depends on the other. */
static cls_status tie(dirac *d, size_t row, ties *t) {
    size_t n = d->n, found[2], count = 0;
    for (size_t j = 0; j < n; j++)
        if (!is_zero(d, d->E[row * n + j], 1) && count++ < 2) found[count - 1] = j;
    if (count != 2) return not_a_pair(d, row);
    size_t a = found[0], b = found[1];
    cls_node ratio =
        cls_neg(d->g, cls_div(d->g, d->E[row * n + a], d->E[row * n + b])); /* e_b = ratio e_a */
    if (t->master[b] != b) { /* b hangs on another one: so does a */
        size_t other = a;
        ratio = cls_div(d->g, t->ratio[b], ratio);
        a = t->master[b];
        b = other;
    }
    if (t->master[b] != b || t->master[a] == b) return not_a_pair(d, row);
    t->ratio[b] = cls_simplify(d->g, cls_mul(d->g, ratio, t->ratio[a]));
    t->master[b] = t->master[a];
    for (size_t j = 0; j < n; j++) /* what hung on b hangs on that one */
        if (j != b && t->master[j] == b) {
            t->ratio[j] = cls_simplify(d->g, cls_mul(d->g, t->ratio[j], t->ratio[b]));
            t->master[j] = t->master[b];
        }
    return CLS_OK;
}

static cls_status not_dirac(dirac *d, const char *why) {
    return clsi_at(
        d->r, d->where,
        "`%s` is no Dirac structure: %s; F f + E e = 0 must have as many independent rows as "
        "ports and F E^T + E F^T = 0, so that the powers e.a f.a sum to zero",
        d->name, why);
}

/* F E^T + E F^T = 0, entry by entry. */
static cls_status check_power(dirac *d) {
    size_t n = d->n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k++) {
            cls_node sum = cls_constant(d->g, 0);
            double size = 0;
            for (size_t j = 0; j < n; j++) {
                cls_node x = cls_mul(d->g, cls_constant(d->g, d->F[i * n + j]), d->E[k * n + j]);
                cls_node y = cls_mul(d->g, cls_constant(d->g, d->F[k * n + j]), d->E[i * n + j]);
                sum = cls_add(d->g, sum, cls_add(d->g, x, y));
                size += fabs(value_at(d, x, 0)) + fabs(value_at(d, y, 0));
            }
            char why[96];
            snprintf(why, sizeof why, "rows %zu and %zu make or take power", i + 1, k + 1);
            if (!is_zero(d, sum, 4 * size + 1e-300)) return not_dirac(d, why);
        }
    return CLS_OK;
}

/* ---- writing ---- */

/* J_ab over free ports: minus what row `row`, whose flow is that of a, has with e = N e_m. */
static cls_node entry(dirac *d, const ties *t, size_t row, size_t b) {
    cls_node sum = cls_constant(d->g, 0);
    for (size_t j = 0; j < d->n; j++)
        if (t->master[j] == b)
            sum = cls_add(d->g, sum, cls_mul(d->g, t->ratio[j], d->E[row * d->n + j]));
    return cls_simplify(d->g, cls_neg(d->g, sum));
}

static size_t row_of(const dirac *d, size_t rank, size_t a) {
    for (size_t i = 0; i < rank; i++) {
        size_t j = 0;
        while (j < d->n && d->F[i * d->n + j] == 0) j++;
        if (j == a) return i;
    }
    return SIZE_MAX;
}

static void put_formula(dirac *d, clsi_text *t, cls_node node) {
    char *text = cls_print(d->g, node);
    clsi_text_printf(t, "%s", text ? text : "");
    if (!text) t->failed = 1;
    cls_text_free(&text);
}

/* {a, b} = J_ab of the free ports, as a junction; used[a]: it has an entry. */
static cls_status put_junction(dirac *d, const ties *t, size_t rank, clsi_text *out, int *used) {
    clsi_text list = {0}, ports = {0};
    for (size_t a = 0; a < d->n; a++)
        for (size_t b = a + 1; b < d->n; b++) {
            if (t->master[a] != a || t->master[b] != b) continue;
            cls_node J = entry(d, t, row_of(d, rank, a), b);
            if (is_zero(d, J, 1e-3)) continue;
            clsi_text_printf(&list, "%s{%s, %s} = ", list.length ? ", " : "", d->port[a].name,
                             d->port[b].name);
            put_formula(d, &list, J);
            used[a] = used[b] = 1;
        }
    for (size_t a = 0; a < d->n; a++)
        if (used[a]) clsi_text_printf(&ports, "%s%s", ports.length ? ", " : "", d->port[a].name);
    if (list.length) clsi_text_printf(out, "    junction link(%s): %s\n", ports.data, list.data);
    int failed = list.failed || ports.failed;
    clsi_text_clear(&list);
    clsi_text_clear(&ports);
    return failed ? clsi_no_memory(d->p->error) : CLS_OK;
}

static cls_status put_connections(dirac *d, const ties *t, const int *used, clsi_text *out) {
    for (size_t a = 0; a < d->n; a++) {
        const char *name = d->port[a].name;
        int tied = t->master[a] != a;
        clsi_text_printf(out, "    connect %s", name);
        if (used[a]) clsi_text_printf(out, ", link.%s", name);
        if (tied) clsi_text_printf(out, ", gear_%s.%s", name, name);
        for (size_t b = 0; b < d->n; b++)
            if (b != a && t->master[b] == a) {
                clsi_text_printf(out, ", gear_%s.%s", d->port[b].name, name);
                tied = 1;
            }
        clsi_text_append(out, "\n");
        if (!tied && !used[a])
            return clsi_at(d->r, d->where, "nothing flows at the port `%s` of `%s`: leave it out",
                           name, d->name);
    }
    return CLS_OK;
}

static cls_status put_composite(dirac *d, const ties *t, size_t rank, clsi_text *out) {
    int used[MOST] = {0};
    clsi_text_printf(out, "component dirac_%zu(", d->p->n_definitions);
    for (size_t a = 0; a < d->n; a++) clsi_text_printf(out, "%s%s", a ? ", " : "", d->port[a].name);
    clsi_text_append(out, ") {\n");
    for (size_t b = 0; b < d->n; b++) {
        if (t->master[b] == b) continue;
        const char *name = d->port[b].name;
        clsi_text_printf(out, "    transformer gear_%s(%s, %s): ", name, d->port[t->master[b]].name,
                         name);
        put_formula(d, out, t->ratio[b]);
        clsi_text_append(out, "\n");
    }
    cls_status status = put_junction(d, t, rank, out, used);
    if (status == CLS_OK) status = put_connections(d, t, used, out);
    clsi_text_printf(out, "}\nuse dirac_%zu as %s\n", d->p->n_definitions, d->name);
    return status == CLS_OK && out->failed ? clsi_no_memory(d->p->error) : status;
}

/* Free ports have the flows of the rows: Q = 1 after elimination, and Q N^T is F. */
static cls_status check_rows(dirac *d, const ties *t, size_t rank) {
    size_t n = d->n;
    for (size_t a = 0; a < n; a++) {
        if (t->master[a] != a) continue;
        size_t row = row_of(d, rank, a);
        if (row == SIZE_MAX)
            return not_dirac(d, "its rows without flows and with them do not fit together");
        for (size_t j = 0; j < n; j++) {
            cls_node want = t->master[j] == a ? t->ratio[j] : cls_constant(d->g, 0);
            cls_node off = cls_sub(d->g, cls_constant(d->g, d->F[row * n + j]), want);
            if (!is_zero(d, off, 1 + fabs(d->F[row * n + j])))
                return not_dirac(d, "its rows without flows and with them do not fit together");
        }
    }
    return CLS_OK;
}

static cls_status explicit_form(dirac *d, clsi_text *out) {
    ties t;
    cls_status status = check_power(d);
    if (status != CLS_OK) return status;
    size_t rank = reduce_flows(d);
    for (size_t j = 0; j < d->n; j++) {
        t.master[j] = j;
        t.ratio[j] = cls_constant(d->g, 1);
    }
    for (size_t i = rank; i < d->n && status == CLS_OK; i++) status = tie(d, i, &t);
    if (status == CLS_OK) status = check_rows(d, &t, rank);
    return status == CLS_OK ? put_composite(d, &t, rank, out) : status;
}

cls_status clsi_write_dirac(clsi_ports *p, size_t scope, size_t source, clsi_cursor c,
                            clsi_text *out) {
    dirac *d = clsi_calloc(1, sizeof *d);
    if (!d) return clsi_no_memory(p->error);
    *d = (dirac){.p = p, .r = p->sources[source], .scope = scope, .source = source};
    clsi_span title = {0};
    cls_status status = clsi_port_word(p, source, &c, "`dirac`", &d->name, &title);
    d->where = title.begin;
    size_t nodes = p->n_nodes;
    if (status == CLS_OK) status = clsi_list_ports(p, source, &c, &d->port, &d->n);
    p->n_nodes = nodes; /* the composite has its own */
    if (status == CLS_OK && d->n < 2)
        status = clsi_at(d->r, d->where, "`%s` needs two ports or more", d->name);
    for (size_t i = 0; i < d->n && status == CLS_OK; i++)
        if (d->port[i].thermal)
            status =
                clsi_at(d->r, d->where,
                        "`%s` needs ports without entropy: heat moves through resistive components",
                        d->name);
    if (status == CLS_OK) status = clsi_expect(d->r, &c, ":", "the ports");
    if (status == CLS_OK) status = cls_graph_create(NULL, &d->g, p->error);
    if (status == CLS_OK) status = read_matrices(d, c);
    if (status == CLS_OK) status = explicit_form(d, out);
    if (d->failed || (d->g && cls_graph_status(d->g, NULL) == CLS_MEMORY))
        status = clsi_no_memory(p->error);
    cls_graph_free(&d->g);
    free(d->port);
    free(d);
    return status;
}
