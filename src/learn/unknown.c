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
#include "learn/stream.h"
#include <math.h>
#include <stdarg.h>
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
static const char *spec_of(const cls_system *system, const cls_learn_options *o, size_t i) {
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

static cls_status begin_unknown(const cls_system *system, const cls_learn_options *o, size_t i,
                                const part *p, size_t n, clsi_unknown *u, cls_error *error) {
    u->kind = p->kind;
    u->learned.scale = 1;
    u->spec = spec_of(system, o, i);
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
            parts[i].n = clsi_field_count(system, parts[i].name, parts[i].kind, spec_of(system, o, i));
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
            status = begin_unknown(system, o, i, &parts[i], parts[i].function ? 1 : n, u, error);
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

/* ---- inputs and fields ---- */

cls_status clsi_add_input(clsi_learned *l, cls_error *error, const char *format, ...) {
    char text[256];
    va_list args;
    if (l->d == CLSI_FIELD_MAX_INPUTS)
        return clsi_fail(error, CLS_USAGE, "'%s' would have more than %d inputs", l->part,
                         (int)CLSI_FIELD_MAX_INPUTS);
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof text)
        return clsi_fail(error, CLS_USAGE, "the names in the inputs of '%s' are too long", l->part);
    l->input[l->d] = clsi_strdup(text);
    return l->input[l->d++] ? CLS_OK : clsi_no_memory(error);
}

/* "a; b" as the file declares it. */
static cls_status declared_inputs(clsi_unknown *u, int raw, cls_error *error) {
    if (raw)
        return clsi_fail(error, CLS_USAGE,
                         "'%s': terms(...) name the variables they are made of, so that `of` says "
                         "nothing; leave it out, or take chebyshev, monomial or network",
                         u->learned.part);
    for (const char *at = u->of; *at;) {
        clsi_learned *l = &u->learned;
        size_t length = strcspn(at, ";");
        if (l->d == CLSI_FIELD_MAX_INPUTS)
            return clsi_fail(error, CLS_USAGE, "'%s' would have more than %d inputs", l->part,
                             (int)CLSI_FIELD_MAX_INPUTS);
        if (!(l->input[l->d] = clsi_strndup(at, length))) return clsi_no_memory(error);
        l->d++;
        at += length + strspn(at + length, "; ");
    }
    return CLS_OK;
}

/* Of a function: its arguments. */
static cls_status argument_inputs(const cls_system *s, clsi_learned *l, cls_error *error) {
    const clsi_function *f = &s->functions[s->uses[l->use - 1].function];
    cls_status status = CLS_OK;
    for (size_t k = 0; k < f->n && status == CLS_OK; k++)
        status = clsi_add_input(l, error, "%s", f->argument[k]);
    return status;
}

/* Observables (q, v, log T) for a thermal lagrangian; (q, p, S) for a hamiltonian, where a named
 * part is a potential and has no momenta. For fields that name their inputs: the variables as they
 * are. */
static cls_status choose_inputs(const cls_system *s, clsi_unknown *u, const clsi_points *points,
                                int raw, cls_error *error) {
    clsi_learned *l = &u->learned;
    if (l->use && !u->of) {
        cls_status status = argument_inputs(s, l, error);
        return status == CLS_OK && u->convex ? clsi_convex_inputs(s, points, u, error) : status;
    }
    if (u->of) {
        cls_status status = declared_inputs(u, raw, error);
        return status == CLS_OK && u->convex ? clsi_convex_inputs(s, points, u, error) : status;
    }
    if (u->convex) return clsi_convex_inputs(s, points, u, error);
    /* a potential beside momenta has positions alone */
    int potential = s->formalism == CLS_HAMILTONIAN && u->kind == CLSI_PART_LET;
    if (points->intervals) return clsi_position_inputs(s, l, raw && !potential, error);
    int thermal = s->formalism == CLS_THERMAL_LAGRANGIAN;
    int moving = thermal || s->ode || u->kind != CLSI_PART_LET;
    if (s->ode) raw = 1; /* nothing is known to be even */
    cls_status status = CLS_OK;
    const cls_node *moved = s->formalism == CLS_HAMILTONIAN ? s->p : s->v;
    for (size_t j = 0; j < s->nq && status == CLS_OK; j++)
        status = clsi_add_input(l, error, "%s", s->coordinate[j].name);
    int plain = raw || u->even; /* an even field has no need of products */
    for (size_t j = 0; j < s->n && moving && plain && status == CLS_OK; j++)
        status = clsi_add_input(l, error, "%s", cls_node_name(s->g, moved[j]));
    for (size_t j = 0; j < s->n && moving && !plain; j++)
        for (size_t k = j; k < s->n && status == CLS_OK; k++)
            status = clsi_add_input(l, error, "%s*%s", cls_node_name(s->g, moved[j]),
                                    cls_node_name(s->g, moved[k]));
    for (size_t i = 0; i < s->m && status == CLS_OK; i++) {
        /* a potential is no function of what nobody measured */
        size_t state = s->nq + s->n + i;
        int hidden = state < points->nz && !points->observed[state];
        if (!thermal && u->kind == CLSI_PART_LET && hidden && l->d) continue;
        status = thermal ? clsi_add_input(l, error, raw ? "%s" : "log(%s)", s->temperature[i].name)
                         : clsi_add_input(l, error, "%s", s->entropy[i].name);
    }
    return status;
}

/* binomial(n + k, k) */
static double choices(size_t n, size_t k) {
    double product = 1;
    for (size_t i = 1; i <= k; i++) product *= (double)n / (double)i + 1;
    return product;
}

/* Terms of a degree in d inputs, `even` of which come in pairs (0: none). */
static double count_terms(size_t d, size_t even, size_t degree) {
    if (!even) return choices(degree, d);
    double sum = 0;
    for (size_t pairs = 0; pairs <= degree; pairs++)
        sum += choices(2 * pairs, even - 1) * choices(degree - pairs, d - even);
    return sum;
}

/* Degrees that keep the number of terms near 1000 for a generating function, 130 for a friction, 20
 * where parts are multiplied with each other (a matrix) and one solve is not enough. `halved` so
 * many times where there are few data. Terms of one input cost nothing, and a function that is used at many places
 * has many rows for them. */
static int auto_degree(size_t d, size_t even, int formula, int products, int shared,
                       size_t halved) {
    double most = ldexp(formula ? 1010 : products ? 20 : 140, -(int)halved);
    int degree = 1, top = d == 1 ? (shared ? 30 : 20) : formula ? 12 : 8;
    while (degree < top && count_terms(d, even, (size_t)degree + 1) <= most) degree++;
    return degree;
}

/* A part that multiplies something, m of m*v^2/2: its constant is not that of the energy. */
static int is_factor(const clsi_unknowns *us, const clsi_unknown *u) {
    const cls_system *s = us->s;
    const cls_node *lists[] = {s->q, s->v, s->p, s->S, s->T};
    const size_t counts[] = {s->nq, s->n, s->n, s->m, s->m};
    if (u->kind != CLSI_PART_LET) return 0;
    cls_node beside = cls_derivative(s->g, s->bound.formula, u->value);
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        if (counts[k] && cls_depends(s->g, beside, counts[k], lists[k])) return 1;
    for (size_t i = 0; i < us->n; i++)
        if (cls_depends(s->g, beside, 1, &us->list[i].value)) return 1;
    return 0;
}

/* An energy has no constant and is differentiated; a rate of an ode is neither. A part that is
 * positive needs its constant. */
static int is_energy(const clsi_unknowns *us, const clsi_unknown *u) {
    return !us->s->ode && clsi_is_energy(u) && !is_factor(us, u);
}

/* Polynomials of several velocities are even in them; see src/field/basis.c. */
static int wants_even(const cls_system *s, const clsi_unknown *u, const clsi_points *points) {
    const char *spec = u->spec;
    int basis = !spec || strncmp(spec, "chebyshev(", 10) == 0 || strncmp(spec, "monomial(", 9) == 0;
    int moving = s->formalism == CLS_THERMAL_LAGRANGIAN || u->kind != CLSI_PART_LET;
    if (!basis || !moving || u->learned.use || points->intervals || s->n < 2 || s->ode) return 0;
    if (clsi_field_word(spec, "plain")) return 0;
    return !spec || (!strstr(spec, "even") && atoi(strchr(spec, '(') + 1) <= 15);
}

static int has_couplings(const clsi_unknowns *us) {
    for (size_t i = 0; i < us->n; i++)
        if (us->list[i].kind == CLSI_PART_COUPLING) return 1;
    return 0;
}

static cls_status choose_field(clsi_unknowns *us, clsi_unknown *u, cls_error *error) {
    const cls_system *s = us->s;
    int formula = is_energy(us, u);
    char chosen[128], more[48] = "";
    const char *spec = u->spec;
    const clsi_field_kind *kind = spec ? clsi_field_kind_of(spec) : NULL;
    clsi_learned *l = &u->learned;
    if (!spec) {
        size_t at = (size_t)(u - us->list);
        int degree = auto_degree(l->d, u->even ? u->even_count : 0, formula, has_couplings(us),
                                 clsi_group_end(us, at) > at + 1, us->choices.halved);
        snprintf(chosen, sizeof chosen, "chebyshev(%d)", degree);
        us->chosen = 1;
        spec = chosen;
        kind = clsi_field_kind_of(spec);
    }
    if (clsi_field_word(spec, "convex")) {
        cls_status status = clsi_convex_spec(s, u, sizeof chosen, chosen, error);
        if (status != CLS_OK) return status;
        spec = chosen;
        kind = clsi_field_kind_of(spec);
    }
    /* a friction needs its constant, a generating function cannot have one */
    int bare = !formula && kind && kind->linear && !kind->raw && !strstr(spec, "constant");
    if (u->even) snprintf(more, sizeof more, ", even %zu %zu", u->even_first, u->even_count);
    if ((bare || u->even) && strlen(spec) < 48 && strchr(spec, ')')) {
        char given[64]; /* words for the learner stand at the end */
        snprintf(given, sizeof given, "%.63s", spec);
        size_t at = strcspn(given, ",)");
        snprintf(chosen, sizeof chosen, "%.*s%s%s%s", (int)at, given, more,
                 bare ? ", constant" : "", given + at);
        spec = chosen;
    }
    return clsi_field_create(l->d, spec, (const char *const *)l->input, &l->field, error);
}

cls_status clsi_find_hidden(const clsi_unknowns *us, size_t n, const cls_node *variables,
                            unsigned char *hidden, cls_error *error) {
    clsi_cone cone;
    size_t count = 0;
    cls_node *x = clsi_calloc(us->n * CLSI_FIELD_MAX_INPUTS + 1, sizeof *x);
    cls_status status = x ? CLS_OK : clsi_no_memory(error);
    for (size_t k = 0; k < us->n && status == CLS_OK; k++) {
        const clsi_unknown *u = &us->list[k];
        clsi_learned plain = u->learned;
        if (u->kind != CLSI_PART_LET && u->kind != CLSI_PART_FORMULA) continue;
        for (size_t i = 0; i < plain.d; i++) plain.half[i] = 1;
        if (clsi_learned_inputs(&plain, us->s, x + count) != CLS_OK) status = clsi_no_memory(error);
        count += plain.d;
    }
    int made = status == CLS_OK && clsi_cone_create(us->s->g, count, x, &cone);
    if (status == CLS_OK && !made) status = clsi_no_memory(error);
    for (size_t i = 0; i < n && made; i++) hidden[i] = clsi_cone_at(&cone, variables[i]) != 0;
    if (made) clsi_cone_free(&cone);
    free(x);
    return status;
}

int clsi_is_hidden(const clsi_unknowns *us, cls_node variable, cls_error *error) {
    unsigned char hidden = 0;
    return clsi_find_hidden(us, 1, &variable, &hidden, error) != CLS_OK || hidden;
}

/* Inputs may be what follows from the energy, as long as that is known: velocities H_p and
 * temperatures H_S of a hamiltonian, momenta L_v and temperatures -L_S of a lagrangian. Over the
 * data they are expressions of the states. */
typedef struct duals {
    size_t n;
    cls_node *symbol, *native,
        *dual;             /* (n) its name, the state, the derivative of the energy in it */
    unsigned char *hidden; /* (n) that energy is unknown */
} duals;

static void free_duals(duals *k) {
    free(k->symbol);
    free(k->hidden);
}

static cls_status find_duals(const clsi_unknowns *us, duals *k, cls_error *error) {
    const cls_system *s = us->s;
    cls_graph *g = s->g;
    *k = (duals){.n = s->formalism == CLS_THERMAL_LAGRANGIAN ? 0 : s->n + s->m};
    k->symbol = clsi_calloc(3 * k->n + 1, sizeof *k->symbol);
    k->hidden = clsi_calloc(k->n + 1, 1);
    if (!k->symbol || !k->hidden) return clsi_no_memory(error);
    k->native = k->symbol + k->n;
    k->dual = k->native + k->n;
    if (!k->n) return CLS_OK;
    int phase = s->formalism == CLS_HAMILTONIAN;
    cls_node F = phase ? cls_add(g, s->bound.formula, s->bound.potential)
                       : cls_sub(g, s->bound.formula, s->bound.potential);
    for (size_t i = 0; i < k->n; i++) {
        k->symbol[i] = i >= s->n ? s->T[i - s->n] : phase ? s->v[i] : s->p[i];
        k->native[i] = i >= s->n ? s->S[i - s->n] : phase ? s->p[i] : s->v[i];
    }
    cls_status status = cls_gradient(g, F, k->n, k->native, k->dual);
    if (status != CLS_OK) return clsi_no_memory(error);
    for (size_t i = s->n; i < k->n && !phase; i++) k->dual[i] = cls_neg(g, k->dual[i]);
    return clsi_find_hidden(us, k->n, k->native, k->hidden, error);
}

static cls_status place_duals(const clsi_unknowns *us, const duals *k, clsi_unknown *u, cls_node *x,
                              cls_error *error) {
    const cls_system *s = us->s;
    clsi_cone cone;
    if (!k->n) return CLS_OK;
    if (!clsi_cone_create(s->g, u->learned.d, x, &cone)) return clsi_no_memory(error);
    int phase = s->formalism == CLS_HAMILTONIAN;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < k->n && status == CLS_OK; i++)
        if (k->hidden[i] && clsi_cone_at(&cone, k->symbol[i]) &&
            !(u->late = i >= s->n && u->kind == CLSI_PART_HEAT && phase))
            status = clsi_fail(error, CLS_USAGE,
                               "'%s' is a function of %s, which follows from an energy that is "
                               "unknown too; say `of` what it is instead, for example `of %s`",
                               u->learned.part, cls_node_name(s->g, k->symbol[i]),
                               cls_node_name(s->g, k->native[i]));
    clsi_cone_free(&cone);
    clsi_place at = {
        .v = phase ? k->dual : NULL, .p = phase ? NULL : k->dual, .T = k->dual + s->n, .t = s->t};
    if (status == CLS_OK && !u->late) status = clsi_place_at(s, &at, u->learned.d, x, x);
    return status;
}

/* A coefficient of a component is used on other paths than those it was learned on, and one
 * trajectory is a line in the space of its inputs where these are several: off that line the
 * network is what it was at the start. Inputs within an eighth instead of one make that nearly
 * linear, so that of all that fits the line something smooth is found. Measured on the EPHS thesis, 7.5,
 * with coefficients that vary
 * (`clausius reproduce ephs-7.5`): the error of the reuse falls from 8e-4 to 1e-8. */
static const double GENTLE = 8;

static int is_gentle(const clsi_unknown *u) {
    int coefficient = u->kind == CLSI_PART_HEAT || u->kind == CLSI_PART_COUPLING;
    return coefficient && u->learned.d > 1 && strncmp(u->learned.field->spec, "network", 7) == 0;
}

/* Input i of all places, (group, d, points). */
static cls_status range_of(const clsi_unknown *u, size_t group, const clsi_points *p,
                           const double *raw, size_t i, double *low, double *high,
                           cls_error *error) {
    *low = INFINITY, *high = -INFINITY;
    for (size_t k = 0; k < group; k++)
        for (size_t s = 0; s < p->n; s++) {
            double value = raw[(k * u->learned.d + i) * p->n + s];
            if (!isfinite(value))
                return clsi_fail(error, CLS_DATA, "%s is not finite at row %zu of the data",
                                 u->learned.input[i], s + 1);
            *low = fmin(*low, value);
            *high = fmax(*high, value);
        }
    return CLS_OK;
}

/* center and half width from the range of raw inputs (group, d, points): the places of a function
 * have one scale. */
static cls_status scale_raw(clsi_unknown *u, size_t group, const clsi_points *p, const double *raw,
                            cls_error *error) {
    clsi_learned *l = &u->learned;
    size_t d = l->d;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < d && status == CLS_OK; i++) {
        double low, high;
        status = range_of(u, group, p, raw, i, &low, &high, error);
        /* halves first, so that the largest numbers do not overflow; what varies by round-off only
         * is a constant; formulas of the user get raw inputs */
        l->low[i] = low;
        l->high[i] = high;
        double size = fmax(fabs(low), fabs(high)), half = high / 2 - low / 2;
        int scaled = !l->field->kind->raw && !clsi_field_word(u->spec, "unscaled");
        int even = i >= l->field->even_first && i - l->field->even_first < l->field->even_count;
        if (even) half = size;
        l->center[i] = scaled && !even ? low / 2 + high / 2 : 0;
        l->half[i] = !scaled ? 1 : half > 1e-13 * size && isfinite(1 / half) ? half : fmax(1, size);
        if (is_gentle(u)) l->half[i] *= GENTLE;
        for (size_t k = 0; k < group; k++)
            for (size_t s = 0; s < p->n; s++)
                u[k].x[s * d + i] = (raw[(k * d + i) * p->n + s] - l->center[i]) / l->half[i];
    }
    return status;
}

/* The inputs of the places of a part, (group, d), as they are. */
static cls_status plain_inputs(const clsi_unknowns *us, const clsi_unknown *u, size_t group,
                               cls_node *x) {
    cls_status status = CLS_OK;
    size_t d = u->learned.d;
    for (size_t k = 0; k < group && status == CLS_OK; k++) {
        clsi_learned plain = u[k].learned; /* borrowed */
        for (size_t i = 0; i < d; i++) plain.half[i] = 1, plain.center[i] = 0;
        status = clsi_learned_inputs(&plain, us->s, x + k * d);
    }
    return status;
}

/* Raw inputs of all places at all points, then their scaling. */
static cls_status scale_inputs(const clsi_unknowns *us, clsi_unknown *u, size_t group,
                               const clsi_points *p, const cls_node *z, cls_error *error) {
    size_t d = u->learned.d, all = group * d;
    cls_program *program = NULL;
    cls_node *x = clsi_calloc(all, sizeof *x);
    double *raw = clsi_calloc(all * p->n, sizeof *raw);
    duals follow = {0};
    cls_status status = x && raw ? plain_inputs(us, u, group, x) : clsi_no_memory(error);
    if (status == CLS_OK) status = find_duals(us, &follow, error);
    for (size_t k = 0; k < group && status == CLS_OK; k++) {
        if (!(u[k].x = clsi_calloc(d * p->n, sizeof *u->x))) status = clsi_no_memory(error);
        if (status == CLS_OK) status = place_duals(us, &follow, &u[k], x + k * d, error);
        u->late |= u[k].late;
    }
    free_duals(&follow);
    if (!u->late) { /* else clsi_late_inputs */
        if (status == CLS_OK)
            status = cls_program_create(us->s->g, p->nz, z, all, x, &program, error);
        if (status == CLS_OK) status = cls_program_run_many(program, p->n, p->n, p->z, raw);
        if (status == CLS_OK) status = scale_raw(u, group, p, raw, error);
    }
    cls_program_free(&program);
    free(x);
    free(raw);
    return status;
}

cls_status clsi_scale_late(const clsi_unknowns *us, clsi_unknown *u, const clsi_points *p, size_t n,
                           const cls_node *z, const double *in, cls_error *error) {
    size_t group = clsi_group_end(us, (size_t)(u - us->list)) - (size_t)(u - us->list);
    size_t all = group * u->learned.d;
    cls_program *program = NULL;
    cls_node *x = clsi_calloc(all, sizeof *x);
    double *raw = clsi_calloc(all * p->n, sizeof *raw);
    cls_status status = raw && x ? plain_inputs(us, u, group, x) : clsi_no_memory(error);
    if (status == CLS_OK) status = cls_program_create(us->s->g, n, z, all, x, &program, error);
    if (status == CLS_OK) status = cls_program_run_many(program, p->n, p->n, in, raw);
    if (status == CLS_OK) status = scale_raw(u, group, p, raw, error);
    cls_program_free(&program);
    free(x);
    free(raw);
    return status;
}

/* Formulas of the user may have no value at some of the data: say so before they meet the solver.
 * Slopes matter where the part is differentiated, which frictions and conductances are not. */
static cls_status check_terms(const clsi_unknown *u, const clsi_points *p, cls_error *error) {
    const clsi_field *f = u->learned.field;
    int slopes = u->kind == CLSI_PART_FORMULA || u->kind == CLSI_PART_LET;
    double *ones = clsi_calloc(f->n_parameters, sizeof *ones), value, slope[CLSI_FIELD_MAX_INPUTS];
    if (!ones) return clsi_no_memory(error);
    for (size_t k = 0; k < f->n_parameters; k++) ones[k] = 1;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < p->n_data && status == CLS_OK; i++) {
        f->kind->evaluate(f, ones, 1, u->x + i * f->d, &value, slope, NULL);
        for (size_t k = 0; k < f->d && slopes; k++) value += slope[k];
        if (!isfinite(value))
            status = clsi_fail(
                error, CLS_DATA, "'%s': a formula of %.200s%s is not finite at row %zu of the data",
                u->learned.part, f->spec, slopes ? ", or its derivative," : "", i + 1);
    }
    free(ones);
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
    int thermal = system->formalism == CLS_THERMAL_LAGRANGIAN, follows = 0;
    for (size_t i = 0; i < us->n; i++) /* what follows from an energy, or cannot be told from it */
        follows |= thermal ? us->list[i].kind == CLSI_PART_FORMULA : clsi_is_energy(&us->list[i]);
    for (size_t i = 0; i < us->n && status == CLS_OK; i++) {
        clsi_unknown *u = &us->list[i];
        const clsi_field_kind *kind = u->spec ? clsi_field_kind_of(u->spec) : NULL;
        int raw = (kind && kind->raw) || clsi_field_word(u->spec, "plain") ||
                  clsi_field_word(u->spec, "convex");
        int coefficient = u->kind == CLSI_PART_FRICTION || u->kind == CLSI_PART_HEAT;
        if (coefficient && (points->intervals || follows || u->spec)) continue;
        if ((u->kind != CLSI_PART_LET && !coefficient) || u->of || u->learned.use || raw) continue;
        clsi_found_inputs found = {.even = coefficient && wants_even(system, u, points)};
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
    cls_node *z = clsi_calloc(points->nz, sizeof *z);
    if (!z) return clsi_no_memory(error);
    status = find_inputs(system, points, us, error);
    if (status == CLS_OK) status = clsi_convex_choose(o, points, us, error);
    for (size_t k = 0; k < points->nz; k++)
        z[k] = points->intervals ? clsi_position_variable(us->s, k)
                                 : cls_symbol(us->s->g, clsi_point_name(system, k));
    for (size_t i = 0; i < us->n && status == CLS_OK; i++) {
        clsi_unknown *u = &us->list[i];
        const clsi_field_kind *kind = u->spec ? clsi_field_kind_of(u->spec) : NULL;
        int raw = (kind && kind->raw) || clsi_field_word(u->spec, "plain");
        if (u->again) {
            status = copy_inputs(&u[-1].learned, &u->learned, error);
            continue;
        }
        if (!u->of && wants_even(us->s, u, points)) {
            u->even = 1;
            u->even_first = us->s->nq;
            u->even_count = us->s->n;
        }
        status = choose_inputs(us->s, u, points, raw, error);
        if (status == CLS_OK && !raw && !u->convex && !points->intervals)
            status = clsi_log_inputs(us, u, points, z, us->choices.logs, &us->offered, error);
    }
    for (size_t i = 0, end; i < us->n && status == CLS_OK; i = end) {
        clsi_unknown *u = &us->list[i];
        end = clsi_group_end(us, i);
        status = choose_field(us, u, error);
        if (status == CLS_OK) status = scale_inputs(us, u, end - i, points, z, error);
        if (status != CLS_OK) break;
        u->learned.offset = us->n_theta;
        us->n_theta += u->learned.field->n_parameters;
        clsi_unknowns_share(us);
        for (size_t k = i; k < end && status == CLS_OK && u->learned.field->kind->raw; k++)
            status = check_terms(&us->list[k], points, error);
    }
    free(z);
    if (status == CLS_OK) status = clsi_set_heat(us, points, error);
    return status == CLS_OK ? make_symbols(us, error) : status;
}

/* As scale_inputs, with the scales as they are. What lies outside of the range so far widens it. */
static cls_status inputs_at(const clsi_unknowns *us, clsi_unknown *u, const clsi_points *p,
                            const cls_node *z, double *x, cls_error *error) {
    clsi_learned plain = u->learned, *l = &u->learned; /* borrowed */
    cls_node nodes[CLSI_FIELD_MAX_INPUTS];
    cls_program *program = NULL;
    double *raw = clsi_calloc(l->d * p->n, sizeof *raw);
    for (size_t i = 0; i < l->d; i++) plain.half[i] = 1, plain.center[i] = 0;
    duals follow = {0};
    cls_status status = raw ? clsi_learned_inputs(&plain, us->s, nodes) : clsi_no_memory(error);
    if (status == CLS_OK) status = find_duals(us, &follow, error);
    if (status == CLS_OK) status = place_duals(us, &follow, u, nodes, error);
    free_duals(&follow);
    if (status == CLS_OK)
        status = cls_program_create(us->s->g, p->nz, z, l->d, nodes, &program, error);
    if (status == CLS_OK) status = cls_program_run_many(program, p->n, p->n, p->z, raw);
    for (size_t i = 0; i < l->d && status == CLS_OK; i++)
        for (size_t s = 0; s < p->n; s++) {
            double value = raw[i * p->n + s];
            x[s * l->d + i] = (value - l->center[i]) / l->half[i];
            for (clsi_unknown *first = u;; first--) { /* the range is one for all places */
                first->learned.low[i] = fmin(first->learned.low[i], value);
                first->learned.high[i] = fmax(first->learned.high[i], value);
                if (!first->again) break;
            }
        }
    cls_program_free(&program);
    free(raw);
    return status;
}

cls_status clsi_unknowns_inputs(const clsi_unknowns *us, const cls_system *system,
                                const clsi_points *p, double **x, cls_error *error) {
    cls_node *z = clsi_calloc(p->nz, sizeof *z);
    cls_status status = z ? CLS_OK : clsi_no_memory(error);
    for (size_t k = 0; k < p->nz && status == CLS_OK; k++)
        z[k] = cls_symbol(us->s->g, clsi_point_name(system, k));
    for (size_t i = 0; i < us->n && status == CLS_OK; i++) {
        x[i] = clsi_calloc(us->list[i].learned.d * p->n, sizeof **x);
        status = x[i] ? inputs_at(us, &us->list[i], p, z, x[i], error) : clsi_no_memory(error);
    }
    free(z);
    return status;
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

cls_status clsi_unknowns_open(const clsi_unknowns *us, cls_system **out, cls_node **theta,
                              cls_error *error) {
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
    if (status == CLS_OK) status = clsi_model_open(&m, out, error);
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

cls_node clsi_total_derivative(const clsi_unknowns *us, cls_node a, cls_node symbol) {
    cls_node out = CLS_NO_NODE;
    return clsi_total_derivatives(us, a, 1, &symbol, &out) == CLS_OK ? out : CLS_NO_NODE;
}
