/* Models: learned parts put into their system (file.c writes and reads them).
 *
 * A model is its system's text plus, for each learned part, the form of the field and its
 * parameters. Putting it together is parsing the text with the parts replaced by expressions in
 * which the parameters are constants; after that it is a system like any other, so every law that a
 * scheme keeps for all formulas it keeps for this one. */
#include "model/model.h"
#include "base/base.h"
#include "expr/graph.h"
#include "model/json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- learned parts as expressions ---- */

/* All symbols a user may write: q, v, p, S, T, t. */
static cls_status scope_of(const cls_system *s, cls_scope *scope, const char ***names,
                           cls_node **nodes) {
    size_t n = s->nq + 2 * s->n + 2 * s->m + 1, at = 0;
    *scope = (cls_scope){0};
    *names = clsi_calloc(n, sizeof **names);
    *nodes = clsi_calloc(n, sizeof **nodes);
    if (!*names || !*nodes) return CLS_MEMORY;
    const cls_node *lists[] = {s->q, s->v, s->p, s->S, s->T, &s->t};
    const size_t counts[] = {s->nq, s->n, s->n, s->m, s->m, 1};
    for (int k = 0; k < 6; k++)
        for (size_t i = 0; i < counts[k]; i++, at++) {
            (*nodes)[at] = lists[k][i];
            (*names)[at] = cls_node_name(s->g, lists[k][i]);
        }
    *scope = (cls_scope){n, *names, *nodes};
    return CLS_OK;
}

/* The arguments of a function, at one place. */
static cls_scope scope_of_use(const cls_system *s, size_t use) {
    const clsi_use *u = &s->uses[use];
    const clsi_function *f = &s->functions[u->function];
    return (cls_scope){f->n, (const char *const *)f->argument, u->args};
}

cls_status clsi_learned_inputs(const clsi_learned *l, const cls_system *s, cls_node *x) {
    cls_scope scope;
    const char **names = NULL;
    cls_node *nodes = NULL;
    cls_status status = CLS_OK;
    const clsi_function *f = l->use ? NULL : clsi_function_find(s, l->part, strlen(l->part));
    if (l->use)
        scope = scope_of_use(s, l->use - 1);
    else if (f) /* at no place: over its arguments themselves */
        scope = (cls_scope){f->n, (const char *const *)f->argument, f->symbol};
    else
        status = scope_of(s, &scope, &names, &nodes);
    for (size_t i = 0; i < l->d && status == CLS_OK; i++) {
        status = cls_parse(s->g, l->input[i], &scope, NULL, 1, 1, &x[i], NULL);
        x[i] = cls_sub(s->g, x[i], cls_constant(s->g, l->center[i]));
        x[i] = cls_mul(s->g, cls_constant(s->g, 1 / l->half[i]), x[i]);
    }
    free(names);
    free(nodes);
    return status;
}

cls_status clsi_learned_check(const clsi_learned *l, const cls_system *s, cls_error *error) {
    cls_scope scope;
    const char **names = NULL;
    cls_node *nodes = NULL, one;
    cls_graph *g = NULL;
    cls_error why = {0};
    cls_status status = scope_of(s, &scope, &names, &nodes);
    if (status == CLS_OK) status = cls_graph_create(NULL, &g, &why);
    for (size_t i = 0; i < scope.n && status == CLS_OK; i++) nodes[i] = cls_symbol(g, names[i]);
    for (size_t i = 0; i < l->d && status == CLS_OK; i++)
        status = cls_parse(g, l->input[i], &scope, NULL, 1, 1, &one, &why);
    if (status != CLS_OK && status != CLS_MEMORY)
        status =
            clsi_fail(error, CLS_USAGE, "what '%s' is a function of: %s", l->part, why.message);
    cls_graph_free(&g);
    free(names);
    free(nodes);
    return status == CLS_MEMORY ? clsi_no_memory(error) : status;
}

int clsi_learned_turn(clsi_learned *l, const cls_system *s, size_t *turn) {
    const clsi_function *f = clsi_function_find(s, l->part, strlen(l->part));
    l->use = 0;
    if (!f) return (*turn)++ == 0;
    while (*turn < s->n_uses)
        if (&s->functions[s->uses[(*turn)++].function] == f) {
            l->use = *turn;
            return 1;
        }
    return 0;
}

cls_node clsi_learned_value(const clsi_learned *l, cls_graph *g, cls_node phi) {
    if (l->square) phi = cls_mul(g, phi, phi);
    if (l->exponential) phi = cls_apply(g, CLS_FN_EXP, phi);
    cls_node u = cls_mul(g, cls_constant(g, l->scale), phi);
    if (l->square || l->exponential || l->form == CLSI_MATRIX || !(l->floor > 0)) return u;
    cls_node square = cls_pow(g, u, cls_constant(g, 2));
    cls_node root =
        cls_apply(g, CLS_FN_SQRT, cls_add(g, square, cls_constant(g, l->floor * l->floor)));
    return cls_mul(g, cls_constant(g, 0.5), cls_add(g, u, root));
}

cls_node clsi_learned_trunk(const clsi_learned *l, const cls_system *s) {
    cls_graph *g = s->g;
    cls_node sum = cls_constant(g, 0), one = cls_constant(g, 1);
    for (size_t i = 0; i < s->m && l->trunk > 0; i++) {
        cls_node log = cls_sub(g, cls_apply(g, CLS_FN_LOG, s->T[i]), one);
        sum = cls_add(g, sum, cls_mul(g, cls_constant(g, l->trunk), cls_mul(g, s->T[i], log)));
    }
    return sum;
}

size_t clsi_field_count(const cls_system *s, const char *part, clsi_part_kind kind,
                        const char *spec) {
    if (kind != CLSI_PART_FRICTION) return 1;
    size_t n = clsi_part_acts_on(s, part, NULL);
    return n * (n + 1) / 2 + (clsi_field_word(spec, "gyroscopic") ? n * (n - 1) / 2 : 0);
}

/* The velocities that a friction is made of, those of the momenta that it acts on. */
typedef struct acting {
    cls_graph *g;
    size_t n;
    const cls_node *v;
} acting;

/* Row j of A v, A skew with the entries a above its diagonal. */
static cls_node across(const acting *s, const cls_node *a, size_t j) {
    cls_graph *g = s->g;
    cls_node sum = cls_constant(g, 0);
    for (size_t i = 0, at = 0; i < s->n; i++)
        for (size_t k = i + 1; k < s->n; k++, at++) {
            if (i == j) sum = cls_add(g, sum, cls_mul(g, a[at], s->v[k]));
            if (k == j) sum = cls_sub(g, sum, cls_mul(g, a[at], s->v[i]));
        }
    return sum;
}

/* Rotates components a and b of w by the angle, or back. */
static void rotate(cls_graph *g, cls_node angle, int back, cls_node *a, cls_node *b) {
    cls_node c = cls_apply(g, CLS_FN_COS, angle), s = cls_apply(g, CLS_FN_SIN, angle);
    if (back) s = cls_neg(g, s);
    cls_node first = cls_add(g, cls_mul(g, c, *a), cls_mul(g, s, *b));
    *b = cls_sub(g, cls_mul(g, c, *b), cls_mul(g, s, *a));
    *a = first;
}

static cls_node turned_force(const acting *s, const cls_node *values, size_t j) {
    cls_graph *g = s->g;
    size_t n = s->n, angle = n;
    cls_node *w = clsi_calloc(n, sizeof *w);
    if (!w) return CLS_NO_NODE;
    memcpy(w, s->v, n * sizeof *w);
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) rotate(g, values[angle++], 0, &w[a], &w[b]);
    for (size_t a = 0; a < n; a++) w[a] = cls_mul(g, values[a], w[a]);
    for (size_t a = n; a-- > 0;)
        for (size_t b = n; b-- > a + 1;) rotate(g, values[--angle], 1, &w[a], &w[b]);
    cls_node force = cls_neg(g, w[j]);
    free(w);
    return force;
}

/* -(L v)_j; entry (a, b) above the diagonal stands where the angle of that plane would. */
static cls_node matrix_row(const acting *s, const cls_node *values, size_t j) {
    cls_graph *g = s->g;
    size_t n = s->n, at = n;
    cls_node sum = cls_mul(g, values[j], s->v[j]);
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++, at++)
            if (a == j || b == j) sum = cls_add(g, sum, cls_mul(g, values[at], s->v[a + b - j]));
    return cls_neg(g, sum);
}

static cls_node matrix_force(const acting *s, const cls_node *values, double floor, size_t j) {
    cls_graph *g = s->g;
    cls_node force = matrix_row(s, values, j), two = cls_constant(g, 2);
    if (!(floor > 0)) return force;
    /* at rest 0/0; the floor's square must not underflow */
    cls_node power = cls_constant(g, 0), square = cls_constant(g, 1e-100);
    for (size_t k = 0; k < s->n; k++) {
        power = cls_add(g, power, cls_mul(g, matrix_row(s, values, k), s->v[k]));
        square = cls_add(g, square, cls_pow(g, s->v[k], two));
    }
    cls_node d = cls_div(g, power, square), least = cls_constant(g, floor * floor);
    cls_node root = cls_apply(g, CLS_FN_SQRT, cls_add(g, cls_pow(g, d, two), least));
    cls_node excess = cls_mul(g, cls_constant(g, 0.5), cls_add(g, d, root));
    return cls_sub(g, force, cls_mul(g, excess, s->v[j]));
}

/* Entry (a, b) of C, a >= b, stands where the angle of that plane would. */
static cls_node triangle(const acting *s, const cls_node *values, size_t a, size_t b) {
    size_t at = s->n + b * (2 * s->n - b - 1) / 2 + (a - b - 1);
    return a == b ? values[a] : values[at];
}

/* -(C w)_j with w = C^T v: the power is -w.w. */
static cls_node cholesky_force(const acting *s, const cls_node *values, size_t j) {
    cls_graph *g = s->g;
    cls_node force = cls_constant(g, 0);
    for (size_t b = 0; b <= j; b++) {
        cls_node w = cls_constant(g, 0);
        for (size_t a = b; a < s->n; a++)
            w = cls_add(g, w, cls_mul(g, triangle(s, values, a, b), s->v[a]));
        force = cls_sub(g, force, cls_mul(g, triangle(s, values, j, b), w));
    }
    return force;
}

cls_node clsi_part_force(const cls_system *s, const char *part, clsi_friction_form form,
                         double floor, size_t n_values, const cls_node *values, size_t j) {
    size_t *on = clsi_calloc(s->n + 1, sizeof *on), at = 0;
    cls_node *v = clsi_calloc(s->n + 1, sizeof *v), force = CLS_NO_NODE;
    if (on && v) {
        acting a = {s->g, clsi_part_acts_on(s, part, on), v};
        for (size_t k = 0; k < a.n; k++) {
            v[k] = s->v[on[k]];
            if (on[k] == j) at = k;
        }
        size_t along = a.n * (a.n + 1) / 2; /* fields of the part that dissipates */
        force = form == CLSI_MATRIX     ? matrix_force(&a, values, floor, at)
                : form == CLSI_CHOLESKY ? cholesky_force(&a, values, at)
                                        : turned_force(&a, values, at);
        if (n_values > along) force = cls_add(s->g, force, across(&a, values + along, at));
    }
    free(on);
    free(v);
    return force;
}

/* A part and its fields: consecutive entries of model->learned. */
typedef struct place {
    const cls_model *model;
    const clsi_learned *first;
    int open;          /* parameters are symbols, in formulas (CLSI_FORMULAS) or in nodes */
    int written;       /* as formulas, beside parts whose parameters are symbols */
    const char *wrong; /* why the part cannot be put in, or NULL */
} place;

cls_node clsi_model_symbol(const cls_system *s, size_t i) {
    char name[32];
    snprintf(name, sizeof name, "theta'%zu", i);
    return clsi_parameter_symbol(s->g, name);
}

/* phi with its parameters as symbols. */
static cls_node open_field(const clsi_learned *l, const cls_system *s, const cls_node *x,
                           int nodes) {
    size_t n = l->field->n_parameters;
    cls_node *theta = clsi_calloc(n, sizeof *theta), phi = CLS_NO_NODE;
    for (size_t k = 0; theta && k < n; k++) theta[k] = clsi_model_symbol(s, l->offset + k);
    if (theta && nodes && l->field->kind->open)
        phi = l->field->kind->open(l->field, s->g, x, theta, l->offset);
    else if (theta)
        phi = l->field->kind->expression(l->field, s->g, x, theta);
    free(theta);
    return phi;
}

static cls_node value_of(const place *p, const clsi_learned *l, const cls_system *s, size_t use) {
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    clsi_learned at = *l; /* borrowed */
    at.use = use;
    if (clsi_learned_inputs(&at, s, x) != CLS_OK) return CLS_NO_NODE;
    const double *theta = p->model->theta + l->offset;
    cls_node phi = p->open      ? open_field(l, s, x, p->open == CLSI_NODES)
                   : p->written ? clsi_field_expression(l->field, s->g, x, theta)
                                : clsi_field_node(l->field, s->g, x, theta);
    return clsi_learned_value(l, s->g, phi);
}

/* The laws hold for every parameter because coefficients are positive by form: a file that lacks
 * the form is not a model. */
static const char *what_is_wrong(const place *p, const cls_system *s, clsi_part_kind kind) {
    const clsi_learned *end = p->model->learned + p->model->n_learned;
    const char *part = p->first->part;
    size_t have = 0, bound = kind == CLSI_PART_HEAT;
    if (kind == CLSI_PART_FRICTION) bound = clsi_part_acts_on(s, part, NULL);
    for (const clsi_learned *l = p->first; l < end && strcmp(l->part, part) == 0; l++) {
        if (l->form != p->first->form) return "its fields have different forms";
        if (!p->open && have < (l->form == CLSI_MATRIX ? 1 : bound) &&
            !(l->square || l->exponential ? l->scale >= 0 : l->floor > 0))
            return "it is not positive by form";
        have++;
    }
    size_t wanted = clsi_field_count(s, part, kind, p->first->field->spec);
    return have == wanted ? NULL
                          : "it has too few or too many fields for the coordinates it acts on";
}

static int is_function(const cls_system *s, const clsi_learned *l) {
    return clsi_function_find(s, l->part, strlen(l->part)) != NULL;
}

static cls_node put_in(void *context, const cls_system *s, clsi_part_kind kind, size_t j) {
    place *p = context;
    size_t n = clsi_field_count(s, p->first->part, kind, p->first->field->spec);
    if ((p->wrong = what_is_wrong(p, s, kind))) return cls_constant(s->g, 0);
    if (kind == CLSI_PART_FORMULA)
        return cls_add(s->g, clsi_learned_trunk(p->first, s), value_of(p, p->first, s, 0));
    if (kind != CLSI_PART_FRICTION)
        return value_of(p, p->first, s, is_function(s, p->first) ? j + 1 : 0);
    cls_node *values = clsi_calloc(n, sizeof *values), force = CLS_NO_NODE;
    for (size_t i = 0; values && i < n; i++) values[i] = value_of(p, p->first + i, s, 0);
    if (values)
        force = clsi_part_force(s, p->first->part, p->first->form, p->first->floor, n, values, j);
    free(values);
    return force;
}

/* The start of the file may give S or p, which mean something else once G is learned: the native
 * state of the original system takes their place. */
static void set_start(cls_model *m) {
    cls_system *s = m->system;
    if (m->n_start != s->form->nz) return;
    size_t slots = s->nq + 2 * s->n + 2 * s->m;
    for (size_t i = 0; i < slots; i++) s->start[i] = NAN;
    for (size_t k = 0; k < m->n_start; k++) {
        const cls_node *lists[] = {s->q, s->v, s->p, s->S, s->T};
        const size_t counts[] = {s->nq, s->n, s->n, s->m, s->m};
        size_t slot = 0;
        for (int l = 0; l < 5; l++)
            for (size_t i = 0; i < counts[l]; i++, slot++)
                if (lists[l][i] == s->form->z[k]) s->start[slot] = m->start[k];
    }
}

/* Fields of one part stand together, numbered from zero. */
static cls_status check_order(const cls_model *m, cls_error *error) {
    for (size_t i = 0; i < m->n_learned; i++) {
        const clsi_learned *l = &m->learned[i];
        if (l->slot == 0) continue;
        if (i == 0 || l->slot != l[-1].slot + 1 || strcmp(l->part, l[-1].part) != 0)
            return clsi_fail(error, CLS_SYSTEM,
                             "the learned part '%s' is damaged: its fields are not in order",
                             l->part);
    }
    return CLS_OK;
}

static int is_replaced(size_t n, const clsi_replacement *list, const char *part) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].part, part) == 0) return 1;
    return 0;
}

/* One replacement for each part of m that is not in the list. */
static void add_places(const cls_model *m, int open, int written, place *places,
                       clsi_replacement *list, size_t *n) {
    size_t k = 0, before = *n;
    for (size_t i = 0; i < m->n_learned; i++) {
        if (m->learned[i].slot || is_replaced(before, list, m->learned[i].part)) continue;
        places[k] = (place){m, &m->learned[i], open, written, NULL};
        list[(*n)++] = (clsi_replacement){m->learned[i].part, put_in, &places[k], 0};
        k++;
    }
}

cls_status clsi_model_fill(const cls_model *m, clsi_replacement *list, size_t *n, void **context) {
    *context = clsi_calloc(m->n_learned + 1, sizeof(place));
    if (!*context) return CLS_MEMORY;
    add_places(m, 0, 1, *context, list, n);
    return CLS_OK;
}

/* Zero in the place of a part is an error that follows. */
static cls_status check_places(size_t n, const clsi_replacement *list, cls_status status,
                               cls_error *error) {
    for (size_t i = 0; i < n; i++) {
        const place *p = list[i].context;
        if (p->wrong)
            status = clsi_fail(error, CLS_SYSTEM, "the learned part '%s' is damaged: %s",
                               list[i].part, p->wrong);
        else if (status == CLS_OK && !list[i].used)
            status = clsi_fail(error, CLS_SYSTEM, "the system has no part '%s'", list[i].part);
    }
    return status;
}

/* What an energy must be convex in is known once all of the text has been read. */
static cls_status check_convex(const cls_model *m, const cls_system *s, cls_error *error) {
    for (size_t i = 0; i < m->n_learned; i++) {
        const char *wrong = clsi_learned_not_convex(&m->learned[i], s);
        if (wrong)
            return clsi_fail(error, CLS_SYSTEM, "the learned part '%s' is damaged: %s",
                             m->learned[i].part, wrong);
    }
    return CLS_OK;
}

/* A parameter of the file that is learned. */
typedef struct open_parameter {
    size_t theta;
} open_parameter;

static cls_node put_parameter(void *context, const cls_system *s, clsi_part_kind kind, size_t j) {
    (void)kind;
    (void)j;
    return clsi_model_symbol(s, ((const open_parameter *)context)->theta);
}

/* A parameter that stays a symbol: its own. */
static cls_node keep_parameter(void *context, const cls_system *s, clsi_part_kind kind, size_t j) {
    (void)kind;
    (void)j;
    return cls_symbol(s->g, (const char *)context);
}

cls_status clsi_system_settable(const cls_system *from, const cls_model *m,
                                const cls_assignments *set, size_t n_free, const char *const *names,
                                cls_system **out, cls_error *error) {
    size_t most = m ? m->n_learned : 0, n = 0;
    *out = NULL;
    if (m && m->given) return clsi_fail(error, CLS_USAGE, "parts are still being learned");
    place *places = clsi_calloc(most + 1, sizeof *places);
    clsi_replacement *list = clsi_calloc(most + n_free + 1, sizeof *list);
    cls_status status = places && list ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK && m) add_places(m, 0, 0, places, list, &n);
    for (size_t i = 0; i < n_free && status == CLS_OK; i++)
        list[n + i] = (clsi_replacement){names[i], keep_parameter, (void *)names[i], 0};
    if (status == CLS_OK)
        status = clsi_system_parse_with(m ? m->text : cls_system_text(from), cls_system_name(from),
                                        set, n + n_free, list, 1, out, error);
    if (status == CLS_OK)
        status = clsi_form_create(*out, &(*out)->bound, NULL, &(*out)->form, error);
    if (status != CLS_OK) cls_system_free(out);
    free(places);
    free(list);
    return status;
}

/* The system with the learned parts in it, their parameters as numbers or (`open`) as symbols; then
 * it is a skeleton. */
static cls_status parse_model(const cls_model *m, clsi_opening open, cls_system **out,
                              cls_error *error) {
    *out = NULL;
    if (check_order(m, error) != CLS_OK) return CLS_SYSTEM;
    size_t most = m->n_learned + (m->given ? m->given->n_learned : 0), n = 0;
    size_t n_open = open ? m->n_open : 0;
    place *places = clsi_calloc(most, sizeof *places);
    open_parameter *opened = clsi_calloc(n_open, sizeof *opened);
    clsi_replacement *list = clsi_calloc(most + n_open, sizeof *list);
    cls_status status = places && opened && list ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) {
        cls_assignments set = {m->n_set, (const char *const *)m->set_names, m->set_values,
                               (const char *const *)m->set_formulas};
        add_places(m, open, open == CLSI_FORMULAS, places, list, &n);
        if (m->given)
            add_places(m->given, 0, open == CLSI_FORMULAS, places + m->n_learned, list, &n);
        for (size_t i = 0; i < n_open; i++) {
            opened[i].theta = m->open_first + i;
            list[n + i] = (clsi_replacement){m->open[i], put_parameter, &opened[i], 0};
        }
        status =
            clsi_system_parse_with(m->text, m->name, &set, n + n_open, list, open != 0, out, error);
        status = check_places(n, list, status, error);
    }
    if (status == CLS_OK) status = check_convex(m, *out, error);
    if (status != CLS_OK) cls_system_free(out);
    free(places);
    free(opened);
    free(list);
    return status;
}

static cls_status copy_learned(const clsi_learned *from, clsi_learned *to, cls_error *error) {
    *to = *from;
    to->part = NULL;
    to->field = NULL;
    memset(to->input, 0, sizeof to->input);
    if (!(to->part = clsi_strdup(from->part))) return clsi_no_memory(error);
    for (size_t i = 0; i < from->d; i++)
        if (!(to->input[i] = clsi_strdup(from->input[i]))) return clsi_no_memory(error);
    return clsi_field_create(from->d, from->field->spec, (const char *const *)to->input, &to->field,
                             error);
}

cls_status clsi_model_take(cls_model *m, const cls_model *from, cls_error *error) {
    size_t own = m->n_learned, all = own + from->n_learned;
    clsi_learned *learned = clsi_calloc(all, sizeof *learned);
    double *theta = clsi_calloc(m->n_theta + from->n_theta, sizeof *theta);
    if (!learned || !theta) {
        free(learned);
        free(theta);
        return clsi_no_memory(error);
    }
    if (own) memcpy(learned, m->learned, own * sizeof *learned);
    if (m->n_theta) memcpy(theta, m->theta, m->n_theta * sizeof *theta);
    free(m->learned);
    free(m->theta);
    m->learned = learned;
    m->theta = theta;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < from->n_learned && status == CLS_OK; i++) {
        const clsi_learned *l = &from->learned[i];
        int mine = 0;
        for (size_t k = 0; k < own; k++) mine |= strcmp(learned[k].part, l->part) == 0;
        if (mine) continue;
        status = copy_learned(l, &learned[m->n_learned++], error);
        learned[m->n_learned - 1].offset = m->n_theta;
        memcpy(theta + m->n_theta, from->theta + l->offset, l->field->n_parameters * sizeof *theta);
        m->n_theta += l->field->n_parameters;
    }
    return status;
}

cls_status clsi_model_build(cls_model *m, cls_error *error) {
    int no_memory = 0;
    cls_system_free(&m->system);
    if (m->provenance && !m->told)
        m->told = clsi_json_read(m->provenance, strlen(m->provenance), &no_memory, NULL);
    if (no_memory) return clsi_no_memory(error);
    cls_status status = parse_model(m, 0, &m->system, error);
    if (status == CLS_OK) set_start(m);
    return status;
}

cls_status clsi_model_open(const cls_model *m, clsi_opening how, cls_system **out,
                           cls_error *error) {
    cls_status status = parse_model(m, how, out, error);
    if (status == CLS_OK)
        status = clsi_form_create(*out, &(*out)->bound, NULL, &(*out)->form, error);
    if (status != CLS_OK) cls_system_free(out);
    return status;
}

/* ---- life ---- */

void clsi_learned_clear(clsi_learned *l) {
    free(l->part);
    clsi_field_free(&l->field);
    for (size_t i = 0; i < CLSI_FIELD_MAX_INPUTS; i++) free(l->input[i]);
    *l = (clsi_learned){0};
}

void cls_model_free(cls_model **model) {
    if (!model) return;
    cls_model *m = *model;
    if (!m) return;
    cls_system_free(&m->system);
    for (size_t i = 0; i < m->n_learned; i++) clsi_learned_clear(&m->learned[i]);
    for (size_t i = 0; i < m->n_set; i++) free(m->set_names[i]);
    for (size_t i = 0; m->set_formulas && i < m->n_set; i++) free(m->set_formulas[i]);
    free(m->set_formulas);
    free(m->set_names);
    free(m->set_values);
    free(m->learned);
    free(m->theta);
    free(m->start);
    json_decref(m->told);
    free(m->provenance);
    free(m->name);
    free(m->text);
    free(m);
    *model = NULL;
}

int cls_model_is_path(const char *path) {
    if (!path) return 0;
    size_t n = strlen(path);
    return n > 12 && strcmp(path + n - 12, ".safetensors") == 0;
}

const cls_system *cls_model_system(const cls_model *m) {
    if (!m) return NULL;
    return m->system;
}

size_t cls_model_parameter_count(const cls_model *m) {
    if (!m) return 0;
    return m->n_theta;
}

const double *cls_model_parameters(const cls_model *m) {
    if (!m) return NULL;
    return m->theta;
}
