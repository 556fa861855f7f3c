/* The word `convex`: unknown energies that are convex in velocities and temperatures by form.
 *
 * G(q, v, T) of a thermal lagrangian must be convex in (v, T) for masses and heat capacities to be
 * positive and for (p, S) to determine (v, T). The convex field (src/field/convex.c) is, in inputs
 * that are affine in (v, T): so its inputs are v and T themselves, where other fields have v^2 and
 * log T, and T (log(T/T0) - 1), the heat of an ideal gas, beside them. T0 is in the middle of the
 * data: then this bends as much over their range in kelvin at 300 as it does at 1. A named part of
 * G is convex in what it is a function of; that G is then convex holds when its other terms are.
 *
 * `convex` behind --field is about energies, and frictions get the same network without it. In a
 * file it stands at one part, and where it would say nothing or could not hold it is refused. */
#include "base/base.h"
#include "learn/learn.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static cls_status refuse(const clsi_unknown *u, const char *why, cls_error *error) {
    return clsi_fail(error, CLS_USAGE, "'%s' cannot be convex: %s", u->learned.part, why);
}

/* NULL: the word makes sense for this part. */
static const char *obstacle(const clsi_unknowns *us, const clsi_points *points,
                            const clsi_unknown *u) {
    const cls_system *s = us->s;
    if (strncmp(u->spec, "network", 7) != 0)
        return "only networks are convex by form; write network(24, 24, convex)";
    if (s->formalism != CLS_THERMAL_LAGRANGIAN || points->intervals)
        return "that is a form of thermal lagrangians, in velocities and temperatures, learned "
               "from data that have them";
    if (clsi_field_word(u->spec, "plain"))
        return "`plain` takes away that it is even in the velocities, which `convex` needs for "
               "momenta that vanish at rest; leave one of the words out";
    if (u->declared && clsi_field_word(u->spec, "square"))
        return "`square` makes coefficients positive, and the square of a convex function need "
               "not be convex; leave one of the words out";
    cls_node share = cls_derivative(s->g, s->bound.formula, u->value);
    if (cls_node_op(s->g, share) != CLS_OP_CONSTANT || !(cls_node_value(s->g, share) > 0))
        return "the formula is not a sum in which it stands with a positive number in front, so "
               "that the formula would not be convex even if it is";
    return NULL;
}

cls_status clsi_convex_choose(const cls_learn_options *o, const clsi_points *points,
                              clsi_unknowns *us, cls_error *error) {
    int asked = clsi_field_word(o->field, "convex"), found = 0;
    for (size_t i = 0; i < us->n; i++) {
        clsi_unknown *u = &us->list[i];
        if (!clsi_field_word(u->spec, "convex")) continue;
        int energy = clsi_is_energy(u);
        if (!energy && u->declared)
            return refuse(u,
                          "that is for energies; coefficients of friction and conduction are "
                          "positive by form, and no law asks for more",
                          error);
        if (!energy) continue;
        const char *why = obstacle(us, points, u);
        if (why) return refuse(u, why, error);
        u->convex = found = 1;
    }
    if (asked && !found)
        return clsi_fail(error, CLS_USAGE,
                         "`convex` in --field is about an unknown energy, and none of the unknown "
                         "parts is one that it could be about; leave it out");
    return CLS_OK;
}

/* Inputs that the file declares: free ones first. */
static cls_status sort_inputs(const cls_system *s, clsi_unknown *u, cls_error *error) {
    clsi_learned *l = &u->learned;
    char *sorted[CLSI_FIELD_MAX_INPUTS];
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    size_t n = 0;
    for (size_t i = 0; i < l->d; i++) l->half[i] = 1;
    if (clsi_learned_inputs(l, s, x) != CLS_OK) return clsi_no_memory(error);
    for (size_t i = 0; i < l->d; i++)
        if (clsi_input_bend(s, x[i]) == CLSI_BEND_OTHER)
            return clsi_fail(error, CLS_USAGE,
                             "'%s' cannot be convex in velocities and temperatures as a function "
                             "of %s, which is not affine in them; say `of` v and T themselves",
                             l->part, l->input[i]);
    for (int bent = 0; bent < 2; bent++)
        for (size_t i = 0; i < l->d; i++)
            if ((clsi_input_bend(s, x[i]) == CLSI_BEND_AFFINE) == bent) sorted[n++] = l->input[i];
    memcpy(l->input, sorted, n * sizeof *sorted);
    return CLS_OK;
}

/* Largest v^2 in the data, the mean of all velocities: about twice the kinetic energy for a mean
 * mass of one. In these units energies are of the size of the fields that they are learned as,
 * whatever the units of the data are. */
double clsi_convex_unit(const cls_system *s, const clsi_points *p) {
    double sum = 0;
    if (s->formalism != CLS_THERMAL_LAGRANGIAN || p->intervals) return 1;
    for (size_t j = 0; j < s->n; j++) {
        const double *v = p->z + (s->nq + j) * p->n;
        double most = 0;
        for (size_t i = 0; i < p->n_data; i++) most = fmax(most, fabs(v[i]));
        sum += most * most / (double)s->n;
    }
    return sum > 0 && isfinite(sum) ? sum : 1;
}

/* The middle of the data. */
static double reference(const clsi_points *p, size_t k) {
    const double *T = p->z + k * p->n;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < p->n_data; i++) {
        low = fmin(low, T[i]);
        high = fmax(high, T[i]);
    }
    double middle = low / 2 + high / 2;
    return low > 0 && isfinite(middle) ? middle : 1;
}

cls_status clsi_convex_inputs(const cls_system *s, const clsi_points *points, clsi_unknown *u,
                              cls_error *error) {
    clsi_learned *l = &u->learned;
    cls_status status = CLS_OK;
    if (u->of) return sort_inputs(s, u, error);
    for (size_t j = 0; j < s->nq && status == CLS_OK; j++)
        status = clsi_add_input(l, error, "%s", s->coordinate[j].name);
    for (size_t j = 0; j < s->n && status == CLS_OK; j++)
        status = clsi_add_input(l, error, "%s", cls_node_name(s->g, s->v[j]));
    for (size_t i = 0; i < s->m && status == CLS_OK; i++)
        status = clsi_add_input(l, error, "%s", s->temperature[i].name);
    for (size_t i = 0; i < s->m && status == CLS_OK; i++) {
        char *heat = clsi_heat_input(s->temperature[i].name, reference(points, s->nq + s->n + i));
        status = heat ? clsi_add_input(l, error, "%s", heat) : clsi_no_memory(error);
        free(heat);
    }
    return status;
}

/* How many inputs are free, even, bent. */
static cls_status count_inputs(const cls_system *s, const clsi_unknown *u, size_t count[3],
                               cls_error *error) {
    const clsi_learned *l = &u->learned;
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    if (!u->of) {
        count[0] = s->nq;
        count[1] = s->n;
        count[2] = s->m;
        return CLS_OK;
    }
    if (clsi_learned_inputs(l, s, x) != CLS_OK) return clsi_no_memory(error);
    count[0] = count[1] = 0;
    while (count[0] < l->d && clsi_input_bend(s, x[count[0]]) == CLSI_BEND_NONE) count[0]++;
    count[2] = l->d - count[0];
    if (count[2]) return CLS_OK;
    return refuse(u, "it is a function of neither velocities nor temperatures", error);
}

cls_status clsi_convex_spec(const cls_system *s, const clsi_unknown *u, size_t size, char *spec,
                            cls_error *error) {
    static const char *const words[] = {"convex", "square", "gyroscopic"};
    const char *open = strchr(u->spec, '('), *word = strstr(u->spec, words[0]), *cut = word;
    size_t count[3] = {0};
    cls_status status = u->convex ? count_inputs(s, u, count, error) : CLS_OK;
    if (status != CLS_OK) return status;
    for (size_t i = 1; u->convex && i < 3; i++) { /* what is said about coefficients */
        const char *other = strstr(open, words[i]);
        if (other && other < cut) cut = other;
    }
    while (cut > open + 1 && (cut[-1] == ' ' || cut[-1] == ',')) cut--;
    if (u->convex)
        snprintf(spec, size, "convex(%.*s; %zu %zu %zu)", (int)(cut - open - 1), open + 1, count[0],
                 count[1], count[2]);
    else
        snprintf(spec, size, "%.*s%s", (int)(cut - u->spec), u->spec, word + strlen(words[0]));
    return CLS_OK;
}
