/* Identification, from tables to model: skeleton, data, the two programs, words, formulas.
 *
 * The skeleton is the system's own text, parsed with every unknown part replaced by the sum of its
 * dictionary terms times coefficient symbols; so known parts, brackets and lets mix freely with
 * unknown ones, and what is linear in the coefficients is found by differentiation. The model is an
 * ordinary one (terms(...) fields), so that simulate, audit, export and show know nothing of qp. */
#include "base/misuse.h"
#include "identify/identify.h"
#include "model/json.h"
#include "model/safetensors.h"
#include <clausius/options.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct cls_identified {
    cls_model *model;
    cls_system *s;
    size_t n_terms;
    char **term;       /* (n_terms) */
    const char **part; /* (n_terms), borrowed from `parts` */
    double *coefficient;
    size_t n_parts;
    clsi_terms *parts;
    char *words, *formulas;
    size_t nz, m;
    cls_program *view; /* z -> rates, dE/dz, M */
    double *work;
};

cls_identify_options cls_identify_defaults(void) {
    return (cls_identify_options){.size = sizeof(cls_identify_options)};
}

#define AT(field) offsetof(cls_identify_options, field)
const cls_option *cls_identify_option_table(size_t *n) {
    if (!n) return NULL;
    static const cls_option table[] = {
        {"dictionary", CLS_OPTION_WORD, AT(dictionary), 0, 0, 0, NULL, "LIST", 0, 0,
         "qp: what parts are made of, \"E: polynomial(2), lambda_a; M: polynomial(1; s_a)\""},
        {"symmetry", CLS_OPTION_WORD, AT(symmetries), 0, 0, 0, NULL, "NAMES", 0, 0,
         "qp: invariants of the file that the energy must keep, \"J\""},
        {"rates", CLS_OPTION_CHOICE, AT(rates), 0, 0, 3, "auto, measured, weak, local", "NAME", 0,
         0, "qp: measured (columns d.NAME), weak or local; else the first there is"},
        {"sparse", CLS_OPTION_REAL, AT(sparse), 0, 0, INFINITY, NULL, "X", 0, 0,
         "qp: leave out terms that contribute less than this fraction"},
        {"literal", CLS_OPTION_FLAG, AT(literal), 0, 0, 1, NULL, NULL, 0, 0,
         "qp: the paper's programs as printed, for comparison; writes no model"},
    };
    *n = sizeof table / sizeof *table;
    return table;
}
#undef AT

/* ---- the skeleton ---- */

typedef struct slot {
    clsi_qp *q;
    const char *name, *wanted;
    clsi_terms *terms;
    cls_status status;
} slot;

static cls_node stand_in(void *context, const cls_system *s, clsi_part_kind kind, size_t j) {
    slot *at = context;
    (void)j;
    cls_graph *g = s->g;
    cls_node sum = cls_constant(g, 0);
    if (at->terms->n || at->status != CLS_OK) return sum;
    if (kind != CLSI_PART_FORMULA && kind != CLSI_PART_LET && kind != CLSI_PART_HEAT) {
        at->status = clsi_fail(at->q->error, CLS_USAGE,
                               "'%s' is a friction: qp finds energies and heat exchanges; use "
                               "another optimizer",
                               at->name);
        return sum;
    }
    at->status = clsi_terms_create(s, at->name, kind, at->q->o->dictionary, at->wanted, at->terms,
                                   at->q->error);
    for (size_t i = 0; i < at->terms->n && at->status == CLS_OK; i++)
        sum = cls_add(g, sum, cls_mul(g, at->terms->coefficient[i], at->terms->node[i]));
    return sum;
}

static const char *wanted_field(const cls_system *system, const char *name) {
    for (size_t i = 0; i < system->n_unknown; i++)
        if (strcmp(system->unknown[i], name) == 0) return system->unknown_field[i];
    return NULL;
}

static cls_status parse_skeleton(clsi_qp *q, const cls_system *system, const cls_assignments *set,
                                 clsi_terms *terms) {
    size_t n = q->o->n_unknown;
    slot *slots = clsi_calloc(n, sizeof *slots);
    clsi_replacement *list = clsi_calloc(n, sizeof *list);
    cls_status status = slots && list ? CLS_OK : clsi_no_memory(q->error);
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        const char *name = q->o->unknown[i];
        slots[i] = (slot){q, name, wanted_field(system, name), &terms[i], CLS_OK};
        list[i] = (clsi_replacement){name, stand_in, &slots[i], 0};
    }
    cls_error inner = {0};
    if (status == CLS_OK) {
        status = clsi_system_parse_with(system->text, system->name, set, n, list, 1, &q->s, &inner);
        cls_status own = CLS_OK; /* a dictionary's mistake makes the text fail, too */
        for (size_t i = 0; i < n && own == CLS_OK; i++) own = slots[i].status;
        if (own == CLS_OK && status != CLS_OK && q->error) *q->error = inner;
        if (own != CLS_OK) status = own;
    }
    if (status == CLS_OK) status = clsi_replacements_used(system, n, list, q->error);
    free(slots);
    free(list);
    return status;
}

/* Energies first, then heat exchanges; each kind numbers its own coefficients. */
static cls_status order_parts(clsi_qp *q, clsi_terms *terms) {
    size_t n = q->o->n_unknown;
    q->part = clsi_calloc(n, sizeof *q->part);
    if (!q->part) return clsi_no_memory(q->error);
    for (int heat = 0; heat < 2; heat++)
        for (size_t i = 0; i < n; i++) {
            if ((terms[i].kind == CLSI_PART_HEAT) != heat) continue;
            size_t *count = heat ? &q->n_beta : &q->n_alpha;
            terms[i].offset = *count;
            *count += terms[i].n;
            q->part[q->n_parts++] = terms[i];
            q->n_energy += !heat;
        }
    memset(terms, 0, n * sizeof *terms);
    return CLS_OK;
}

/* Forces on momenta would stand in the reversible equations with velocities that are not known; heat from
 * outside stands in none of them. */
static cls_status check_forces(const clsi_qp *q) {
    const cls_system *s = q->s;
    if (s->has_heat)
        return clsi_fail(
            q->error, CLS_USAGE,
            "'%s' has reservoirs or heat sources: qp finds energies and heat exchanges of what is "
            "closed; use another optimizer",
            s->name);
    int forced = s->has_work || s->has_entropy;
    for (size_t e = 0; e < s->bound.friction.n; e++)
        forced |= !cls_is_constant(s->g, s->bound.friction.entries[e].node, 0);
    for (size_t j = 0; j < s->n; j++)
        forced |= !cls_is_constant(s->g, s->bound.operator_force[j], 0);
    if (!forced) return CLS_OK;
    return clsi_fail(q->error, CLS_USAGE,
                     "'%s' has frictions or external forces on its momenta: qp finds energies and "
                     "heat exchanges; use another optimizer",
                     s->name);
}

static cls_status make_skeleton(clsi_qp *q, const cls_system *system, const cls_assignments *set) {
    size_t n = q->o->n_unknown;
    clsi_terms *terms = clsi_calloc(n, sizeof *terms);
    if (!terms) return clsi_no_memory(q->error);
    cls_status status = clsi_dictionary_check(q->o->dictionary, n, q->o->unknown, q->error);
    if (status == CLS_OK) status = parse_skeleton(q, system, set, terms);
    if (status == CLS_OK) status = order_parts(q, terms);
    for (size_t i = 0; i < n; i++) clsi_terms_clear(&terms[i]);
    free(terms);
    if (status == CLS_OK) status = check_forces(q);
    if (status != CLS_OK) return status;
    cls_system *s = q->s;
    q->energy = cls_add(s->g, s->bound.formula, s->bound.potential);
    q->z = clsi_calloc(q->data->nz + 1, sizeof *q->z);
    q->v = clsi_calloc(s->n + 1, sizeof *q->v);
    q->T = clsi_calloc(s->m + 1, sizeof *q->T);
    q->M = clsi_calloc(s->m * s->m + 1, sizeof *q->M);
    q->alpha = clsi_calloc(q->n_alpha + 1, sizeof *q->alpha);
    q->beta = clsi_calloc(q->n_beta + 1, sizeof *q->beta);
    if (!q->z || !q->v || !q->T || !q->M || !q->alpha || !q->beta) return clsi_no_memory(q->error);
    memcpy(q->z, s->q, s->nq * sizeof *q->z);
    memcpy(q->z + s->nq, s->p, s->n * sizeof *q->z);
    memcpy(q->z + s->nq + s->n, s->S, s->m * sizeof *q->z);
    return CLS_OK;
}

/* ---- the result as expressions ---- */

/* M of conductances and dissipations with their coefficients, at E_p and E_S. */
static cls_status make_operator(clsi_qp *q) {
    cls_system *s = q->s;
    cls_graph *g = s->g;
    size_t m = s->m, at = 0;
    cls_node *from = clsi_calloc(2 * q->n_beta + 1, sizeof *from), *to = from + q->n_beta;
    if (!from) return clsi_no_memory(q->error);
    for (size_t k = q->n_energy; k < q->n_parts; k++)
        for (size_t i = 0; i < q->part[k].n; i++, at++) {
            from[at] = q->part[k].coefficient[i];
            to[at] = cls_constant(g, q->beta[at]);
        }
    const clsi_place place = {.v = q->v, .T = q->T, .t = CLS_NO_NODE};
    for (size_t i = 0; i < m && !q->o->literal; i++)
        for (size_t j = 0; j < m; j++)
            q->M[i * m + j] = s->has_operator
                                  ? s->bound.friction_operator[(s->n + i) * (s->n + m) + s->n + j]
                                  : cls_constant(g, 0);
    for (size_t i = 0; i < m && !q->o->literal; i++)
        for (size_t j = 0; j < m; j++) {
            if (j == i) continue;
            cls_node k = clsi_sparse_at(g, &s->bound.conductance, i, j),
                     ratio = cls_div(g, s->T[j], s->T[i]);
            q->M[i * m + i] = cls_add(g, q->M[i * m + i], cls_mul(g, k, ratio));
            q->M[i * m + j] = cls_sub(g, q->M[i * m + j], k);
        }
    cls_status status = cls_substitute(g, m * m, q->M, at, from, to, q->M);
    if (status == CLS_OK) status = clsi_place_at(s, &place, m * m, q->M, q->M);
    free(from);
    return status;
}

static cls_status make_view(clsi_qp *q, cls_identified *id) {
    const cls_system *s = q->s;
    cls_graph *g = s->g;
    size_t nz = id->nz, m = s->m, base = nz - m;
    cls_node *nodes = clsi_calloc(2 * nz + m * m + s->n, sizeof *nodes);
    if (!nodes) return clsi_no_memory(q->error);
    cls_node *slope = nodes + nz, *M = slope + nz, *against = M + m * m;
    cls_status status = cls_gradient(g, q->energy, nz, q->z, slope);
    memcpy(q->v, slope + s->nq, s->n * sizeof *q->v);
    memcpy(q->T, slope + base, m * sizeof *q->T);
    if (status == CLS_OK) status = make_operator(q);
    const clsi_place at = {.v = q->v, .t = CLS_NO_NODE};
    if (status == CLS_OK) status = clsi_brackets_at(s, &s->bound, &at, slope, nodes, against);
    for (size_t k = 0; k < s->n; k++) nodes[s->nq + k] = cls_neg(g, against[k]);
    memcpy(M, q->M, m * m * sizeof *M);
    for (size_t i = 0; i < m; i++) {
        nodes[base + i] = cls_constant(g, 0);
        for (size_t j = 0; j < m; j++) nodes[base + i] = cls_add(g, nodes[base + i], M[i * m + j]);
    }
    if (status == CLS_OK)
        status = cls_program_create(g, nz, q->z, 2 * nz + m * m, nodes, &id->view, q->error);
    size_t size = id->view ? cls_program_work_size(id->view) : 0;
    id->work = clsi_calloc(size + 2 * nz + m * m + 1, sizeof *id->work);
    if (status == CLS_OK && !id->work) status = clsi_no_memory(q->error);
    if (status == CLS_OK) cls_program_prepare(id->view, id->work);
    free(nodes);
    return status == CLS_MEMORY ? clsi_no_memory(q->error) : status;
}

/* ---- formulas for a person ---- */

static int is_sum(const cls_graph *g, cls_node a) {
    cls_op op = cls_node_op(g, a);
    return op == CLS_OP_ADD || op == CLS_OP_SUB || op == CLS_OP_NEG;
}

static void put_sum(const cls_graph *g, clsi_text *out, const clsi_terms *t, const double *x) {
    size_t line = 0, n = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (x[i] == 0) continue;
        size_t before = out->length;
        int product = strcmp(t->text[i], "1") != 0;
        clsi_text_append(out, n ? x[i] < 0 ? " - " : " + " : x[i] < 0 ? "-" : "");
        int inverse = strncmp(t->text[i], "1/", 2) == 0; /* 0.5/x, not 0.5*1/x */
        if (!product || inverse || fabs(fabs(x[i]) - 1) > 1e-9)
            clsi_text_printf(out, "%.6g%s", fabs(x[i]), product && !inverse ? "*" : "");
        if (product)
            clsi_text_printf(out, is_sum(g, t->node[i]) ? "(%s)" : "%s", t->text[i] + inverse);
        n++;
        line += out->length - before;
        if (line > 80 && i + 1 < t->n) {
            clsi_text_append(out, "\n    ");
            line = 0;
        }
    }
    if (!n) clsi_text_append(out, "0");
    clsi_text_append(out, "\n");
}

static char *make_formulas(const clsi_qp *q) {
    clsi_text out = {0};
    const cls_system *s = q->s;
    for (size_t k = 0; k < q->n_parts; k++) {
        const clsi_terms *t = &q->part[k];
        if (k >= q->n_energy && q->o->literal) break;
        clsi_text_printf(&out, "%s = ", t->part);
        put_sum(s->g, &out, t, (k < q->n_energy ? q->alpha : q->beta) + t->offset);
    }
    size_t terms = q->o->literal ? q->part[q->n_energy].n : 0, at = 0;
    for (size_t i = 0; i < s->m && terms; i++)
        for (size_t j = i; j < s->m; j++, at++) {
            clsi_text_printf(&out, "M(%s, %s) = ", s->entropy[i].name, s->entropy[j].name);
            put_sum(s->g, &out, &q->part[q->n_energy], q->entries + at * terms);
        }
    return clsi_text_take(&out);
}

/* ---- the model ---- */

/* terms(...) of the terms that are left, and their coefficients. */
static cls_status learn_part(clsi_qp *q, const clsi_terms *t, const double *x, clsi_learned *l,
                             double *theta, size_t *n_theta) {
    clsi_text spec = {0};
    cls_node used[CLSI_FIELD_MAX_INPUTS + 1], *kept = clsi_calloc(t->n + 1, sizeof *kept);
    size_t n = 0;
    if (!kept) return clsi_no_memory(q->error);
    l->part = clsi_strdup(t->part);
    l->scale = 1;
    l->offset = *n_theta;
    clsi_text_append(&spec, "terms(");
    for (size_t i = 0; i < t->n; i++) {
        if (x[i] == 0 && !(n == 0 && i + 1 == t->n)) continue; /* one at least */
        clsi_text_printf(&spec, "%s%s", n ? "; " : "", t->text[i]);
        theta[(*n_theta)++] = x[i];
        kept[n++] = t->node[i];
    }
    clsi_text_append(&spec, ")");
    size_t d = cls_symbols_of(q->s->g, n, kept, CLSI_FIELD_MAX_INPUTS + 1, used);
    cls_status status = l->part && !spec.failed ? CLS_OK : clsi_no_memory(q->error);
    if (d > CLSI_FIELD_MAX_INPUTS)
        status = clsi_fail(q->error, CLS_USAGE,
                           "what was found of '%s' depends on %zu variables; a model allows %d: "
                           "use --sparse or a smaller dictionary",
                           t->part, d, (int)CLSI_FIELD_MAX_INPUTS);
    if (d == 0) used[d++] = q->z[0]; /* a constant */
    for (size_t i = 0; i < d && status == CLS_OK; i++) {
        l->half[i] = 1;
        l->input[l->d++] = clsi_strdup(cls_node_name(q->s->g, used[i]));
        if (!l->input[i]) status = clsi_no_memory(q->error);
    }
    if (status == CLS_OK)
        status =
            clsi_field_create(l->d, spec.data, (const char *const *)l->input, &l->field, q->error);
    clsi_text_clear(&spec);
    free(kept);
    return status;
}

/* kappa at the samples decides the floor that keeps it positive elsewhere. */
static cls_status set_floor(clsi_qp *q, const clsi_terms *t, const double *x, clsi_learned *l) {
    const clsi_qp_data *d = q->data;
    cls_graph *g = q->s->g;
    cls_node sum = cls_constant(g, 0);
    const clsi_place at = {.v = q->v, .T = q->T, .t = CLS_NO_NODE};
    for (size_t i = 0; i < t->n; i++)
        sum = cls_add(g, sum, cls_mul(g, cls_constant(g, x[i]), t->node[i]));
    cls_program *program = NULL;
    double *value = clsi_calloc(d->n, sizeof *value), mean = 0;
    cls_status status = value ? clsi_place_at(q->s, &at, 1, &sum, &sum) : CLS_MEMORY;
    if (status == CLS_OK) status = cls_program_create(g, d->nz, q->z, 1, &sum, &program, q->error);
    if (status == CLS_OK) status = cls_program_run_many(program, d->n, d->n, d->z, value);
    for (size_t i = 0; i < d->n && status == CLS_OK; i++) mean += fabs(value[i]) / (double)d->n;
    l->floor = clsi_floor_of(mean);
    cls_program_free(&program);
    free(value);
    return status == CLS_MEMORY ? clsi_no_memory(q->error) : status;
}

static char *provenance(const clsi_qp *q, size_t n_tables, const char *const *names) {
    static const char *const rates[] = {"auto", "measured", "weak", "local"};
    json_t *files = clsi_data_files(n_tables, names, NULL, NULL);
    const cls_identify_info *f = q->info;
    json_t *all = json_pack(
        "{s:o, s:s, s:s, s:s, s:I, s:f, s:f, s:I, s:I, s:f}", "data", files, "version",
        cls_version(), "optimizer", "qp", "rates", rates[f->rates], "equations",
        (json_int_t)f->equations, "residual", f->energy.residual, "friction_residual",
        f->friction.residual, "rank", (json_int_t)(f->energy.rank + f->friction.rank), "null_space",
        (json_int_t)(f->energy.nullity + f->friction.nullity), "noise", f->noise);
    char *text = clsi_json_text(all, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(all);
    return text;
}

static cls_status describe_model(const clsi_qp *q, const cls_system *system,
                                 const cls_assignments *set, size_t n_tables,
                                 const char *const *names, cls_model *m) {
    size_t n_set = set ? set->n : 0, nz = system->form->nz;
    m->name = clsi_strdup(system->name);
    m->text = clsi_strdup(system->text);
    m->provenance = provenance(q, n_tables, names);
    m->set_names = clsi_calloc(n_set, sizeof *m->set_names);
    m->set_values = clsi_calloc(n_set, sizeof *m->set_values);
    m->start = clsi_calloc(cls_system_state_count(system) + 1, sizeof *m->start);
    if (!m->name || !m->text || !m->provenance || !m->set_names || !m->set_values || !m->start)
        return clsi_no_memory(q->error);
    for (; m->n_set < n_set; m->n_set++) {
        m->set_values[m->n_set] = set->values[m->n_set];
        if (!(m->set_names[m->n_set] = clsi_strdup(set->names[m->n_set])))
            return clsi_no_memory(q->error);
    }
    if (cls_system_start(system, NULL, m->start, NULL) == CLS_OK) m->n_start = nz;
    return CLS_OK;
}

static cls_status make_model(clsi_qp *q, const cls_system *system, const cls_assignments *set,
                             size_t n_tables, const char *const *names, cls_model **out) {
    cls_model *m = clsi_calloc(1, sizeof *m);
    if (!m) return clsi_no_memory(q->error);
    m->learned = clsi_calloc(q->n_parts, sizeof *m->learned);
    m->theta = clsi_calloc(q->n_alpha + q->n_beta + 1, sizeof *m->theta);
    cls_status status = m->learned && m->theta ? describe_model(q, system, set, n_tables, names, m)
                                               : clsi_no_memory(q->error);
    for (size_t k = 0; k < q->n_parts && status == CLS_OK; k++) {
        const clsi_terms *t = &q->part[k];
        const double *x = (k < q->n_energy ? q->alpha : q->beta) + t->offset;
        m->n_learned = k + 1;
        status = learn_part(q, t, x, &m->learned[k], m->theta, &m->n_theta);
        if (status == CLS_OK && k >= q->n_energy) status = set_floor(q, t, x, &m->learned[k]);
    }
    if (status == CLS_OK) status = clsi_model_build(m, q->error);
    if (status == CLS_OK)
        *out = m;
    else
        cls_model_free(&m);
    return status;
}

/* ---- all together ---- */

static cls_status keep_terms(clsi_qp *q, cls_identified *id) {
    size_t all = q->n_alpha + (q->o->literal ? 0 : q->n_beta);
    id->term = clsi_calloc(all + 1, sizeof *id->term);
    id->part = clsi_calloc(all + 1, sizeof *id->part);
    id->coefficient = clsi_calloc(all + 1, sizeof *id->coefficient);
    if (!id->term || !id->part || !id->coefficient) return clsi_no_memory(q->error);
    for (size_t k = 0; k < (q->o->literal ? q->n_energy : q->n_parts); k++)
        for (size_t i = 0; i < q->part[k].n; i++) {
            double x = (k < q->n_energy ? q->alpha : q->beta)[q->part[k].offset + i];
            if (x == 0) continue;
            id->part[id->n_terms] = q->part[k].part;
            id->term[id->n_terms] = q->part[k].text[i];
            id->coefficient[id->n_terms++] = x;
        }
    return CLS_OK;
}

static void tell_data(const clsi_qp *q) {
    const clsi_qp_data *d = q->data;
    cls_identify_info *f = q->info;
    f->samples = d->n;
    f->equations = d->n_probes;
    f->points = d->points;
    f->rates = d->rates;
    f->gaps = d->n_runs - 1;
    for (size_t k = 0; k < d->nz; k++)
        if (d->spread[k] > 0) f->noise = fmax(f->noise, d->noise[k] / d->spread[k]);
}

static cls_status run(clsi_qp *q, const cls_system *system, const cls_assignments *set,
                      size_t n_tables, const cls_table *const *tables, const char *const *names,
                      cls_identified *id) {
    cls_status status =
        clsi_qp_data_create(system, n_tables, tables, names, q->o->rates, &q->data, q->error);
    if (status == CLS_OK) status = make_skeleton(q, system, set);
    if (status != CLS_OK) return status;
    tell_data(q);
    double start = clsi_now();
    status = q->o->literal ? clsi_qp_literal(q) : clsi_qp_energy(q);
    q->info->energy.seconds = clsi_now() - start;
    if (status == CLS_OK && !q->o->literal) status = clsi_qp_friction(q);
    q->info->friction.seconds = clsi_now() - start - q->info->energy.seconds;
    id->nz = q->data->nz;
    id->m = q->s->m;
    if (status == CLS_OK) status = make_view(q, id);
    if (status == CLS_OK && !q->o->literal)
        status = make_model(q, system, set, n_tables, names, &id->model);
    if (status == CLS_OK) status = keep_terms(q, id);
    if (status != CLS_OK) return status;
    id->formulas = make_formulas(q);
    clsi_text_append(&q->words, "");
    id->words = clsi_text_take(&q->words);
    return id->formulas && id->words ? CLS_OK : clsi_no_memory(q->error);
}

static cls_status check_system(const cls_system *system, const cls_identify_options *o,
                               cls_error *error) {
    if (system->formalism != CLS_HAMILTONIAN)
        return clsi_fail(error, CLS_USAGE,
                         "qp finds the energy as a function of positions, momenta and entropies; "
                         "write '%s' as a hamiltonian",
                         system->name);
    if (o->n_unknown == 0)
        return clsi_fail(error, CLS_USAGE,
                         "nothing is unknown: name the parts to learn; `clausius show %s --parts` "
                         "lists them",
                         system->name);
    if (!(o->sparse >= 0 && o->sparse < 1))
        return clsi_fail(error, CLS_USAGE, "the threshold of sparsity is from 0 to 1, got %g",
                         o->sparse);
    return CLS_OK;
}

cls_status cls_identify(const cls_system *system, const cls_assignments *set, size_t n_tables,
                        const cls_table *const *tables, const char *const *names,
                        const cls_identify_options *options, cls_identified **out,
                        cls_identify_info *info, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, system);
    NEED(error, info);
    *info = (cls_identify_info){0};
    cls_identify_options o = cls_identify_defaults();
    TAKE_OPTIONS(&o, options);
    o.size = sizeof o;
    if (o.n_unknown == 0) {
        o.n_unknown = system->n_unknown;
        o.unknown = (const char *const *)system->unknown;
    }
    double start = clsi_now();
    cls_status status = check_system(system, &o, error);
    if (status != CLS_OK) return status;
    cls_identified *id = clsi_calloc(1, sizeof *id);
    if (!id) return clsi_no_memory(error);
    clsi_qp q = {.o = &o, .info = info, .error = error};
    unsigned long before = clsi_failures();
    status = run(&q, system, set, n_tables, tables, names, id);
    status = clsi_failed_since(before, status, error);
    info->seconds = clsi_now() - start;
    id->s = q.s;
    id->parts = q.part;
    id->n_parts = q.n_parts;
    clsi_qp_data_free(&q.data);
    clsi_text_clear(&q.words);
    free(q.z), free(q.v), free(q.T), free(q.M), free(q.alpha), free(q.beta), free(q.entries);
    if (status == CLS_OK)
        *out = id;
    else
        cls_identified_free(&id);
    return status;
}

void cls_identified_free(cls_identified **pointer) {
    if (!pointer) return;
    cls_identified *id = *pointer;
    if (!id) return;
    cls_model_free(&id->model);
    cls_program_free(&id->view);
    for (size_t i = 0; i < id->n_parts; i++) clsi_terms_clear(&id->parts[i]);
    cls_system_free(&id->s);
    free(id->parts), free(id->term), free(id->part), free(id->coefficient);
    free(id->words), free(id->formulas), free(id->work);
    free(id);
    *pointer = NULL;
}

cls_model *cls_identified_take_model(cls_identified *id) {
    if (!id) return NULL;
    cls_model *m = id->model;
    id->model = NULL;
    return m;
}

const char *cls_identified_words(const cls_identified *id) {
    if (!id) return NULL;
    return id->words;
}

const char *cls_identified_formulas(const cls_identified *id) {
    if (!id) return NULL;
    return id->formulas;
}

size_t cls_identified_terms(const cls_identified *id) {
    if (!id) return 0;
    return id->n_terms;
}

const char *cls_identified_term(const cls_identified *id, size_t i, const char **part,
                                double *coefficient) {
    if (!id) return NULL;
    if (i >= cls_identified_terms(id)) return NULL;
    if (i >= id->n_terms) return NULL;
    if (part) *part = id->part[i];
    if (coefficient) *coefficient = id->coefficient[i];
    return id->term[i];
}

cls_status cls_identified_at(const cls_identified *id, const double *state, double *rates,
                             double *gradient, double *friction, cls_error *error) {
    NEED(error, id);
    size_t nz = id->nz, m = id->m;
    double *out = id->work + cls_program_work_size(id->view);
    cls_program_run(id->view, id->work, state, out);
    for (size_t k = 0; k < 2 * nz + m * m; k++)
        if (!isfinite(out[k]))
            return clsi_fail(error, CLS_NUMERIC, "what was identified has no value at this state");
    if (rates) memcpy(rates, out, nz * sizeof *rates);
    if (gradient) memcpy(gradient, out + nz, nz * sizeof *gradient);
    if (friction) memcpy(friction, out + 2 * nz, m * m * sizeof *friction);
    return CLS_OK;
}
