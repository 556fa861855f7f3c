/* Parameters that may change where the model lands.
 *
 * The library puts the values of parameters into its formulas and folds them: exported C has its
 * bits because it has the same numbers. So an export with parameters has the step twice: as the
 * library has it, and with the parameters as symbols, which is what runs once one of them has
 * another value than it had here. Both laws hold in either by construction; the second agrees with
 * `simulate --set` to round-off.
 *
 * What may change: a parameter that no learned part depends on, that is not made of others (it
 * follows them), that bounds no variable (bounds are numbers of the step), and with which the
 * equations keep their form. The default start stays what it is. */
#include "export/export.h"
#include "model/model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values that differ from what the text alone gives: those of --set. */
typedef struct settings {
    size_t n;
    const char **names;
    double *values;
    int no_memory; /* a trial that failed for this says nothing about the parameter */
} settings;

static cls_status read_again(const clsi_export *e, settings *set, size_t n_free,
                             const char *const *names, cls_system **out) {
    cls_assignments given = {set->n, set->names, set->values, NULL};
    cls_status status = clsi_system_settable(e->s, e->model, &given, n_free, names, out, NULL);
    set->no_memory |= status == CLS_MEMORY;
    return status;
}

/* One parameter after the other, in the order of the file: a value that follows from another one is
 * right once that is set. 0: this system cannot be made again from its text. */
static int find_settings(const clsi_export *e, settings *set) {
    const cls_system *s = e->s;
    for (size_t k = 0; k < s->n_parameters; k++) {
        cls_system *again;
        if (read_again(e, set, 0, NULL, &again) != CLS_OK) return 0;
        int same = again->n_parameters == s->n_parameters && again->nu == s->nu;
        for (size_t u = 0; u < s->nu && same; u++)
            same = (again->input_formula[u] == CLS_NO_NODE) == (s->input_formula[u] == CLS_NO_NODE);
        int set_here = same && again->parameter_value[k] != s->parameter_value[k];
        cls_system_free(&again);
        if (!same) return 0;
        if (set_here) {
            set->names[set->n] = s->parameter[k].name;
            set->values[set->n++] = s->parameter_value[k];
        }
    }
    return 1;
}

static int same_bounds(size_t n, const clsi_variable *a, const clsi_variable *b) {
    for (size_t k = 0; k < n; k++)
        if (a[k].low != b[k].low || a[k].high != b[k].high) return 0;
    return 1;
}

static int is_wanted(const clsi_export *e, const char *name) {
    const char *list = e->options.parameters;
    size_t n = strlen(name);
    if (!list || !strcmp(list, "all")) return 1;
    for (const char *at = list; *at; at += strcspn(at, ", "), at += strspn(at, ", "))
        if (strcspn(at, ", ") == n && !strncmp(at, name, n)) return 1;
    return 0;
}

/* Does the parameter change numbers of the step itself? Those that follow from it are marked. */
static int moves_numbers(const clsi_export *e, settings *set, size_t k, unsigned char *follows) {
    const cls_system *s = e->s;
    cls_system *other;
    size_t n = set->n;
    double value = s->parameter_value[k];
    set->names[n] = s->parameter[k].name;
    set->values[n] = value + 0.0009765625 * (fabs(value) + 0.0009765625);
    set->n++;
    cls_status status = read_again(e, set, 0, NULL, &other);
    set->n = n;
    if (status != CLS_OK) return 1;
    int moves = !same_bounds(s->nq, s->coordinate, other->coordinate) || other->step != s->step ||
                !same_bounds(s->m, s->temperature, other->temperature) ||
                other->form->nz != s->form->nz || !same_bounds(s->m, s->entropy, other->entropy) ||
                other->form->kind != s->form->kind;
    for (size_t i = 0; i < s->n_parameters; i++)
        if (i != k && other->parameter_value[i] != s->parameter_value[i]) follows[i] = 1;
    cls_system_free(&other);
    return moves;
}

/* ---- the step with symbols ---- */

static int same_shape(const clsi_stepper *a, const clsi_stepper *b) {
    return a->nz == b->nz && a->nu == b->nu && a->n_unknowns == b->n_unknowns &&
           a->n_guarded == b->n_guarded && a->n_owed == b->n_owed && a->books == b->books &&
           !a->guard == !b->guard && a->s->form->kind == b->s->form->kind &&
           a->s->has_work == b->s->has_work && a->s->has_heat == b->s->has_heat &&
           a->s->n_invariants == b->s->n_invariants &&
           !memcmp(a->of_state, b->of_state, a->n_unknowns * sizeof *a->of_state);
}

static void close_open(clsi_export *e) {
    clsi_stepper_free(&e->open.sp);
    cls_system_free(&e->open_system);
}

/* The step with the first n of the parameters as symbols; CLS_OK only if it has the same shape. */
static cls_status try_open(clsi_export *e, settings *set, size_t n, const char *const *names) {
    cls_node *symbols = clsi_calloc(n, sizeof *symbols);
    cls_status status = symbols ? CLS_OK : CLS_MEMORY;
    if (status == CLS_OK) status = read_again(e, set, n, names, &e->open_system);
    for (size_t k = 0; k < n && status == CLS_OK; k++)
        symbols[k] = cls_symbol(e->open_system->g, names[k]);
    if (status == CLS_OK)
        status =
            clsi_stepper_create_settable(e->open_system, e->base.sp, n, symbols, &e->open.sp, NULL);
    if (status == CLS_OK && !same_shape(e->base.sp, e->open.sp)) status = CLS_SYSTEM;
    set->no_memory |= status == CLS_MEMORY;
    if (status != CLS_OK) close_open(e);
    e->open.s = e->open_system;
    free(symbols);
    return status;
}

/* Those that stay: all, else those that can alone, else none. */
static size_t choose(clsi_export *e, settings *set, size_t n, const char **names) {
    size_t kept = 0;
    if (!n || try_open(e, set, n, names) == CLS_OK) return n;
    for (size_t k = 0; k < n; k++) {
        const char *one = names[k];
        if (try_open(e, set, 1, &one) != CLS_OK) continue;
        close_open(e);
        names[kept++] = one;
    }
    return kept && try_open(e, set, kept, names) == CLS_OK ? kept : 0;
}

static cls_status keep_chosen(clsi_export *e, size_t n, const char *const *names,
                              cls_error *error) {
    e->parameters = clsi_calloc(n, sizeof *e->parameters);
    e->parameter_value = clsi_calloc(n, sizeof *e->parameter_value);
    clsi_lookup used = {0};
    if (!e->parameters || !e->parameter_value || !clsi_lookup_create(n, &used))
        return clsi_no_memory(error);
    int good = 1;
    for (size_t k = 0; k < n && good; k++) {
        size_t i = clsi_parameter_find(e->s, names[k]);
        clsi_label *l = &e->parameters[e->n_parameters++];
        *l = (clsi_label){e->s->parameter[i].name, e->s->parameter[i].unit, NULL};
        e->parameter_value[k] = e->s->parameter_value[i];
        good = (l->ident = clsi_identifier(l->name, &used)) != NULL;
        if (good) clsi_lookup_add(&used, l->ident, k);
    }
    clsi_lookup_clear(&used);
    return good ? CLS_OK : clsi_no_memory(error);
}

static cls_status check_wanted(const clsi_export *e, size_t n, const char *const *names,
                               cls_error *error) {
    const char *list = e->options.parameters;
    if (!list || !strcmp(list, "all") || !strcmp(list, "none")) return CLS_OK;
    for (const char *at = list; *at; at += strcspn(at, ", "), at += strspn(at, ", ")) {
        int length = (int)strcspn(at, ", "), found = 0;
        for (size_t k = 0; k < n; k++)
            found |= strlen(names[k]) == (size_t)length && !strncmp(names[k], at, (size_t)length);
        if (!found && length)
            return clsi_fail(error, CLS_USAGE,
                             "--parameters: %.*s cannot change: there is no such parameter, or a "
                             "learned part, a bound or the form of the equations depends on it",
                             length, at);
    }
    return CLS_OK;
}

static cls_status find(clsi_export *e, settings *set, const char **names, unsigned char *follows,
                       cls_error *error) {
    const cls_system *s = e->s;
    size_t n = 0;
    if (s->n_parameters && find_settings(e, set))
        for (size_t k = 0; k < s->n_parameters; k++) {
            if (s->parameter_learned[k] || s->parameter_unknown[k] || follows[k]) continue;
            if (moves_numbers(e, set, k, follows) || !is_wanted(e, s->parameter[k].name)) continue;
            names[n++] = s->parameter[k].name;
        }
    n = choose(e, set, n, names);
    if (set->no_memory) return clsi_no_memory(error);
    cls_status status = check_wanted(e, n, names, error);
    return status == CLS_OK ? keep_chosen(e, n, names, error) : status;
}

void clsi_parameter_nodes(const clsi_export *e, const cls_system *s, cls_node *nodes) {
    for (size_t k = 0; k < e->n_parameters; k++) nodes[k] = cls_symbol(s->g, e->parameters[k].name);
}

cls_status clsi_export_parameters(clsi_export *e, cls_error *error) {
    size_t n = e->s->n_parameters + 1;
    settings set = {0, clsi_calloc(n, sizeof(char *)), clsi_calloc(n, sizeof(double)), 0};
    const char **names = clsi_calloc(n, sizeof *names);
    unsigned char *follows = clsi_calloc(n, 1);
    cls_status status = CLS_OK;
    if (!set.names || !set.values || !names || !follows)
        status = clsi_no_memory(error);
    else if (!e->options.parameters || strcmp(e->options.parameters, "none") != 0)
        status = find(e, &set, names, follows, error);
    free(set.names);
    free(set.values);
    free(names);
    free(follows);
    return status;
}
