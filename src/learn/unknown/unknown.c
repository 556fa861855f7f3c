/* The parts to learn: which form each gets, of which inputs, scaled by the data's own range.
 *
 * Form (docs/physics/structure.md): inputs are the positions, the products v_j v_k (or v itself
 * in polynomials that are even in it, so that momentum vanishes at rest, and the gauge terms P0.v
 * and grad f(q).v are gone) and log T (temperatures stay positive). A friction is F = -lambda v
 * with lambda positive by form; for several momenta F = -C C^T v (or -Q D Q^T v) where fields are
 * networks, F = -L v where they are linear, dissipative by form when the model is built.
 * A generating function has no constant. */
#include "base/base.h"
#include "expr/graph.h"
#include "learn/unknown/unknown.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the symbols that stand for a part while it is unknown ---- */

/* A part that the user named, and its fields: consecutive entries of the list. */
typedef struct part {
    const char *name;
    clsi_part_kind kind;
    clsi_unknown *first;
    size_t n;  /* fields; of a function places where it is used, */
    size_t at; /* so many of which have been seen */
    int function;
    cls_node *values; /* (fields) */
} part;

static cls_node note_kind(void *context, const cls_system *s, clsi_part_kind kind, size_t j) {
    (void)j;
    part *p = context;
    p->kind = kind;
    p->function = clsi_function_find(s, p->name, strlen(p->name)) != NULL;
    if (p->function) p->n++;
    return cls_symbol(s->g, "unknown'");
}

int clsi_is_energy(const clsi_unknown *u) {
    return !u->positive && (u->kind == CLSI_PART_FORMULA || u->kind == CLSI_PART_LET);
}

/* Diagonals of frictions and conductances are positive; angles and formulas are not bound. */
static int is_positive(const clsi_unknown *u, const cls_system *s) {
    return u->positive || u->kind == CLSI_PART_HEAT ||
           (u->kind == CLSI_PART_FRICTION &&
            u->learned.slot < clsi_part_acts_on(s, u->learned.part, NULL));
}

static cls_node symbol_of(clsi_unknown *u, const cls_system *s) {
    char name[160];
    snprintf(name, sizeof name, "%.100s'%zu'", u->learned.part, u->learned.slot + u->learned.use);
    u->value = cls_symbol(s->g, name);
    if (u->learned.exponential) return clsi_learned_value(&u->learned, s->g, u->value);
    if (!u->nonlinear || !is_positive(u, s))
        return u->learned.scale == 1 ? u->value : clsi_learned_value(&u->learned, s->g, u->value);
    u->learned.square = clsi_field_word(u->spec, "square");
    if (!u->learned.square)
        u->learned.floor =
            0.2; /* about a softplus; the size of lambda is found by the parameters */
    return clsi_learned_value(&u->learned, s->g, u->value);
}

static cls_node stand_in(void *context, const cls_system *s, clsi_part_kind kind, size_t j) {
    part *p = context;
    size_t n = clsi_field_count(s, p->name, kind, p->first->spec);
    if (p->function) {
        clsi_unknown *u = p->first + p->at++;
        u->learned.use = j + 1;
        return symbol_of(u, s);
    }
    for (size_t i = 0; i < n; i++) p->values[i] = symbol_of(p->first + i, s);
    if (kind == CLSI_PART_FORMULA)
        return cls_add(s->g, clsi_learned_trunk(&p->first->learned, s), p->values[0]);
    if (kind != CLSI_PART_FRICTION) return p->values[0];
    return clsi_part_force(s, p->name, p->first->learned.form, 0, n, p->values, j);
}

static int is_listed(size_t n, const char *const *names, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) return 1;
    return 0;
}

/* Every part once, and none that the file leaves open forgotten. */
static cls_status check_names(const cls_system *system, const cls_learn_options *o,
                              cls_error *error) {
    for (size_t i = 0; i < o->n_unknown; i++)
        if (is_listed(i, o->unknown, o->unknown[i]))
            return clsi_fail(error, CLS_USAGE, "the part '%s' is listed twice", o->unknown[i]);
    for (size_t i = 0; i < system->n_unknown; i++)
        if (!is_listed(o->n_unknown, o->unknown, system->unknown[i]))
            return clsi_fail(
                error, CLS_USAGE,
                "'%s' of '%s' is unknown too, and the others cannot be learned without "
                "it; list it as well, or list none",
                system->unknown[i], system->name);
    return CLS_OK;
}

/* Parses the system's text with every part handed to `node`, and with what was learned before. */
static cls_status parse_with(const cls_system *system, const cls_assignments *set,
                             const cls_model *given, size_t n, part *parts,
                             cls_node (*node)(void *, const cls_system *, clsi_part_kind, size_t),
                             cls_system **out, cls_error *error) {
    *out = NULL;
    clsi_replacement *list = clsi_calloc(n + (given ? given->n_learned : 0), sizeof *list);
    if (!list) return clsi_no_memory(error);
    for (size_t i = 0; i < n; i++) list[i] = (clsi_replacement){parts[i].name, node, &parts[i], 0};
    size_t all = n;
    void *context = NULL;
    cls_status status = given ? clsi_model_fill(given, list, &all, &context) : CLS_OK;
    if (status != CLS_OK) (void)clsi_no_memory(error);
    if (status == CLS_OK)
        status = clsi_system_parse_with(system->text, system->name, set, all, list, 1, out, error);
    if (status == CLS_OK) status = clsi_replacements_used(system, n, list, error);
    free(context);
    free(list);
    return status;
}

/* Of `list`, which has an entry for each part that the file calls unknown. */
static const char *declared(const cls_system *system, char **list, const char *name) {
    for (size_t i = 0; i < system->n_unknown; i++)
        if (strcmp(system->unknown[i], name) == 0) return list[i];
    return NULL;
}

/* All parts are one symbol here. */
static int is_linear(const cls_system *glance) {
    cls_node all = cls_symbol(glance->g, "unknown'");
    cls_node once = cls_derivative(glance->g, glance->bound.formula, all);
    return cls_is_constant(glance->g, cls_derivative(glance->g, once, all), 0);
}

/* What is said about a part: by the system's file, or for all parts by the caller. */
static const char *spec_of(const cls_system *system, const cls_learn_options *o,
                           const clsi_choices *c, size_t i) {
    if (c->natural && c->natural[i]) return c->natural[i];
    const char *spec = declared(system, system->unknown_field, o->unknown[i]);
    return spec ? spec : o->field;
}

/* Networks: C C^T. Where eigenvalues are equal Q is not a function of the state, and a search ends
 * in walls between regions in which Q is another one (decision 18). */
static clsi_friction_form form_of(const clsi_unknown *u) {
    if (!u->nonlinear) return CLSI_MATRIX;
    int turned = clsi_field_word(u->spec, "rotation") || clsi_field_word(u->spec, "square");
    return turned && !clsi_field_word(u->spec, "cholesky") ? CLSI_ROTATION : CLSI_CHOLESKY;
}

static cls_status begin_unknown(const cls_system *system, const cls_learn_options *o,
                                const clsi_choices *c, size_t i, const part *p, size_t n,
                                clsi_unknown *u, cls_error *error) {
    u->kind = p->kind;
    u->learned.scale = 1;
    u->spec = spec_of(system, o, c, i);
    u->natural = c->natural && c->natural[i];
    u->declared = declared(system, system->unknown_field, o->unknown[i]) != NULL;
    u->of = declared(system, system->unknown_of, o->unknown[i]);
    const clsi_field_kind *chosen = u->spec ? clsi_field_kind_of(u->spec) : NULL;
    if (!u->of && !(chosen && chosen->raw)) u->of = clsi_part_inputs_of(system, o->unknown[i]);
    /* C C^T is not linear in its fields: positivity is in the residual; bases have -L v */
    for (size_t k = 0; k < system->n_unknown; k++)
        if (strcmp(system->unknown[k], o->unknown[i]) == 0 && u->kind == CLSI_PART_LET)
            u->positive = system->unknown_positive[k];
    u->nonlinear = u->positive || clsi_field_word(u->spec, "square") ||
                   (u->spec && strncmp(u->spec, "network", 7) == 0);
    if (n > 1) u->learned.form = form_of(u);
    u->learned.part = clsi_strdup(o->unknown[i]);
    return u->learned.part ? CLS_OK : clsi_no_memory(error);
}

/* First to see what kind each part is, then with as many fields as that kind needs. */
static cls_status make_list(const cls_system *system, const cls_assignments *set,
                            const cls_learn_options *o, part *parts, clsi_unknowns *us,
                            cls_error *error) {
    cls_system *glance = NULL;
    for (size_t i = 0; i < o->n_unknown; i++) parts[i].name = o->unknown[i];
    cls_status status =
        parse_with(system, set, o->given, o->n_unknown, parts, note_kind, &glance, error);
    if (status == CLS_OK) us->linear = is_linear(glance);
    cls_system_free(&glance);
    if (status != CLS_OK) return status;
    for (size_t i = 0; i < o->n_unknown; i++) {
        if (!parts[i].function)
            parts[i].n = clsi_field_count(system, parts[i].name, parts[i].kind,
                                          spec_of(system, o, &us->choices, i));
        us->n += parts[i].n;
    }
    us->list = clsi_calloc(us->n, sizeof *us->list);
    if (!us->list) return clsi_no_memory(error);
    for (size_t i = 0, at = 0; i < o->n_unknown && status == CLS_OK; i++) {
        size_t n = parts[i].n;
        parts[i].first = &us->list[at];
        if (!(parts[i].values = clsi_calloc(n, sizeof(cls_node)))) return clsi_no_memory(error);
        for (size_t slot = 0; slot < n && status == CLS_OK; slot++) {
            clsi_unknown *u = &us->list[at++];
            u->learned.slot = parts[i].function ? 0 : slot;
            u->again = parts[i].function && slot;
            status = begin_unknown(system, o, &us->choices, i, &parts[i], parts[i].function ? 1 : n,
                                   u, error);
            if (u->kind == CLSI_PART_FORMULA) u->learned.trunk = us->trunk;
            u->learned.exponential =
                us->choices.exponential && u->kind == CLSI_PART_HEAT && !u->nonlinear;
            if (clsi_is_energy(u) && clsi_field_word(u->spec, "convex"))
                u->learned.scale = us->unit;
        }
    }
    return status;
}

static cls_status make_skeleton(const cls_system *system, const cls_assignments *set,
                                const cls_learn_options *o, clsi_unknowns *us, cls_error *error) {
    part *parts = clsi_calloc(o->n_unknown, sizeof *parts);
    if (!parts) return clsi_no_memory(error);
    cls_status status = make_list(system, set, o, parts, us, error);
    if (status == CLS_OK)
        status = parse_with(system, set, o->given, o->n_unknown, parts, stand_in, &us->s, error);
    for (size_t i = 0; i < o->n_unknown; i++) free(parts[i].values);
    free(parts);
    return status;
}

/* ---- all together ---- */

static cls_status make_symbols(clsi_unknowns *us, cls_error *error) {
    for (size_t i = 0; i < us->n; i++) us->n_symbols += 1 + us->list[i].learned.d;
    us->symbols = clsi_calloc(us->n_symbols, sizeof *us->symbols);
    if (!us->symbols) return clsi_no_memory(error);
    size_t at = 0;
    for (size_t i = 0; i < us->n; i++) {
        clsi_unknown *u = &us->list[i];
        char name[160];
        u->symbol = at;
        us->symbols[at++] = u->value;
        for (size_t k = 0; k < u->learned.d; k++) {
            snprintf(name, sizeof name, "%.100s'%zu'%zu", u->learned.part,
                     u->learned.slot + u->learned.use, k + 1);
            us->symbols[at++] = u->slope[k] = cls_symbol(us->s->g, name);
        }
    }
    return CLS_OK;
}

/* Of parts that have a formula in the file: what it is a function of. */
static cls_status find_inputs(const cls_system *system, const clsi_points *points,
                              clsi_unknowns *us, cls_error *error) {
    cls_status status = CLS_OK;
    int follows = 0; /* velocities and temperatures, from an energy that is unknown too */
    for (size_t i = 0; i < us->n && system->formalism != CLS_THERMAL_LAGRANGIAN; i++)
        follows |= clsi_is_energy(&us->list[i]);
    for (size_t i = 0; i < us->n && status == CLS_OK; i++) {
        clsi_unknown *u = &us->list[i];
        const clsi_field_kind *kind = u->spec ? clsi_field_kind_of(u->spec) : NULL;
        int raw = (kind && kind->raw) || clsi_field_word(u->spec, "plain") ||
                  clsi_field_word(u->spec, "convex");
        int coefficient = u->kind == CLSI_PART_FRICTION || u->kind == CLSI_PART_HEAT;
        if (coefficient && (points->intervals || follows || u->spec)) continue;
        if ((u->kind != CLSI_PART_LET && !coefficient) || u->of || u->learned.use || raw) continue;
        clsi_found_inputs found = {.even = coefficient && clsi_wants_even(system, u, points)};
        status = clsi_inputs_of_formula(system, u->learned.part, u->kind, points->intervals != NULL,
                                        &found, error);
        u->of = u->found_of = found.of;
        u->even = found.even_count > 0;
        u->even_first = found.even_first;
        u->even_count = found.even_count;
    }
    return status;
}

static cls_status copy_inputs(const clsi_learned *from, clsi_learned *to, cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t k = 0; k < from->d && status == CLS_OK; k++)
        status = clsi_add_input(to, error, "%s", from->input[k]);
    return status;
}

size_t clsi_group_end(const clsi_unknowns *us, size_t i) {
    for (i++; i < us->n && us->list[i].again;) i++;
    return i;
}

void clsi_unknowns_share(clsi_unknowns *us) {
    for (size_t i = 1; i < us->n; i++) {
        if (!us->list[i].again) continue;
        clsi_learned *l = &us->list[i].learned, own = *l;
        *l = us->list[i - 1].learned;
        l->part = own.part;
        l->use = own.use;
        memcpy(l->input, own.input, sizeof own.input);
        us->list[i].late = us->list[i - 1].late;
    }
}

static cls_status fill(const cls_system *system, const cls_assignments *set,
                       const cls_learn_options *o, const clsi_points *points, clsi_unknowns *us,
                       cls_error *error) {
    cls_status status = check_names(system, o, error);
    us->trunk = clsi_unseen_heat(system, points);
    us->given = o->given;
    us->unit = clsi_convex_unit(system, points);
    if (status == CLS_OK) status = make_skeleton(system, set, o, us, error);
    if (status != CLS_OK) return status;
    cls_node *z = clsi_calloc(clsi_point_rows(points), sizeof *z);
    if (!z) return clsi_no_memory(error);
    status = find_inputs(system, points, us, error);
    if (status == CLS_OK) status = clsi_convex_choose(o, points, us, error);
    for (size_t k = 0; k < points->nz; k++)
        z[k] = points->intervals ? clsi_position_variable(us->s, k)
                                 : cls_symbol(us->s->g, clsi_point_name(system, k));
    for (size_t k = 0; k < points->nu; k++) z[points->nz + k] = us->s->u[k];
    for (size_t i = 0; i < us->n && status == CLS_OK; i++) {
        clsi_unknown *u = &us->list[i];
        const clsi_field_kind *kind = u->spec ? clsi_field_kind_of(u->spec) : NULL;
        int raw = (kind && kind->raw) || clsi_field_word(u->spec, "plain");
        if (u->again) {
            status = copy_inputs(&u[-1].learned, &u->learned, error);
            continue;
        }
        if (!u->of && clsi_wants_even(us->s, u, points)) {
            u->even = 1;
            u->even_first = us->s->nq;
            u->even_count = us->s->n;
        }
        status = clsi_choose_inputs(us->s, u, points, raw, error);
        if (status == CLS_OK && !raw && !u->convex && !points->intervals)
            status = clsi_log_inputs(us, u, points, z, us->choices.logs, &us->offered, error);
        if (status == CLS_OK && !raw && !u->convex && !points->intervals)
            status = clsi_tied_inputs(us, u, points, z, us->choices.tied, &us->tied, error);
        if (status == CLS_OK && !raw && !u->convex && !points->intervals)
            status = clsi_isotropic_inputs(us, u, points, z, us->choices.isotropic, &us->isotropic,
                                           error);
    }
    for (size_t i = 0, end; i < us->n && status == CLS_OK; i = end) {
        clsi_unknown *u = &us->list[i];
        end = clsi_group_end(us, i);
        status = clsi_choose_field(us, u, error);
        if (status == CLS_OK) status = clsi_scale_inputs(us, u, end - i, points, z, error);
        if (status != CLS_OK) break;
        u->learned.offset = us->n_theta;
        us->n_theta += u->learned.field->n_parameters;
        clsi_unknowns_share(us);
        for (size_t k = i; k < end && status == CLS_OK && u->learned.field->kind->raw; k++)
            status = clsi_check_terms(&us->list[k], points, error);
    }
    free(z);
    if (status == CLS_OK) status = clsi_set_heat(us, points, error);
    return status == CLS_OK ? make_symbols(us, error) : status;
}

cls_status clsi_unknowns_create(const cls_system *system, const cls_assignments *set,
                                const cls_learn_options *o, const clsi_points *points,
                                clsi_unknowns **out, cls_error *error) {
    return clsi_unknowns_create_small(system, set, o, points, &(clsi_choices){0}, out, error);
}

cls_status clsi_unknowns_create_small(const cls_system *system, const cls_assignments *set,
                                      const cls_learn_options *o, const clsi_points *points,
                                      const clsi_choices *choices, clsi_unknowns **out,
                                      cls_error *error) {
    *out = NULL;
    clsi_unknowns *us = clsi_calloc(1, sizeof *us);
    if (!us) return clsi_no_memory(error);
    us->choices = *choices;
    us->system = system;
    us->set = set;
    cls_status status = fill(system, set, o, points, us, error);
    if (status == CLS_OK)
        *out = us;
    else
        clsi_unknowns_free(&us);
    return status;
}

void clsi_unknowns_free(clsi_unknowns **unknowns) {
    clsi_unknowns *us = *unknowns;
    if (!us) return;
    for (size_t i = 0; us->list && i < us->n; i++) {
        if (us->list[i].again) us->list[i].learned.field = NULL; /* that of the first */
        clsi_learned_clear(&us->list[i].learned);
        free(us->list[i].found_of);
        free(us->list[i].x);
    }
    cls_system_free(&us->s);
    free(us->list);
    free(us->symbols);
    free(us);
    *unknowns = NULL;
}

clsi_learned *clsi_unknowns_learned(const clsi_unknowns *us, size_t *n) {
    clsi_learned *learned = clsi_calloc(us->n, sizeof *learned);
    *n = 0;
    for (size_t i = 0; learned && i < us->n; i++)
        if (!us->list[i].again) learned[(*n)++] = us->list[i].learned;
    return learned;
}

cls_status clsi_unknowns_open(const clsi_unknowns *us, clsi_opening how, cls_system **out,
                              cls_node **theta, cls_error *error) {
    size_t n_learned;
    clsi_learned *learned = clsi_unknowns_learned(us, &n_learned);
    *theta = clsi_calloc(us->n_theta + us->n_open + 1, sizeof **theta);
    cls_status status = learned && *theta ? CLS_OK : clsi_no_memory(error);
    cls_model m = {.name = us->system->name,
                   .text = us->system->text,
                   .n_set = us->set ? us->set->n : 0,
                   .set_names = us->set ? (char **)us->set->names : NULL,
                   .set_values = us->set ? (double *)us->set->values : NULL,
                   .n_learned = n_learned,
                   .n_theta = us->n_theta,
                   .learned = learned,
                   .given = us->given,
                   .n_open = us->n_open,
                   .open_first = us->n_theta,
                   .open = us->open};
    *out = NULL;
    if (status == CLS_OK) status = clsi_model_open(&m, how, out, error);
    for (size_t i = 0; i < us->n_theta + us->n_open && status == CLS_OK; i++)
        (*theta)[i] = clsi_model_symbol(*out, i);
    free(learned);
    return status;
}

/* The inputs of part i, whose value has the derivative `outer`, and what their derivatives are
 * multiplied with. */
static cls_status chain_inputs(const clsi_unknowns *us, size_t i, cls_node outer, cls_node *x,
                               cls_node *factor, size_t *n) {
    const clsi_unknown *u = &us->list[i];
    cls_graph *g = us->s->g;
    if (cls_is_constant(g, outer, 0)) return CLS_OK;
    cls_status status = clsi_learned_inputs(&u->learned, us->s, x + *n);
    for (size_t k = 0; k < u->learned.d; k++) factor[*n + k] = cls_mul(g, outer, u->slope[k]);
    *n += u->learned.d;
    return status;
}

cls_status clsi_total_derivatives(const clsi_unknowns *us, cls_node a, size_t n,
                                  const cls_node *symbols, cls_node *out) {
    cls_graph *g = us->s->g;
    size_t most = us->n * CLSI_FIELD_MAX_INPUTS, count = 0;
    cls_node *all = clsi_calloc(2 * (n + us->n) + 2 * most, sizeof *all);
    if (!all) return CLS_MEMORY;
    cls_node *slope = all + n + us->n, *x = slope + n + us->n, *factor = x + most;
    clsi_rows rows = {0};
    memcpy(all, symbols, n * sizeof *all);
    for (size_t i = 0; i < us->n; i++) all[n + i] = us->list[i].value;
    cls_status status = cls_gradient(g, a, n + us->n, all, slope);
    for (size_t i = 0; i < us->n && status == CLS_OK; i++)
        status = chain_inputs(us, i, slope[n + i], x, factor, &count);
    if (status == CLS_OK) status = clsi_sparse_jacobian(g, count, x, n, symbols, &rows);
    if (status == CLS_OK) memcpy(out, slope, n * sizeof *out);
    for (size_t i = 0; i < count && status == CLS_OK; i++)
        for (size_t k = rows.start[i]; k < rows.start[i + 1]; k++) {
            cls_node *to = &out[rows.column[k]];
            *to = cls_add(g, *to, cls_mul(g, factor[i], rows.node[k]));
        }
    clsi_rows_clear(&rows);
    free(all);
    return status;
}
