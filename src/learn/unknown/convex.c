/* The word `convex`: unknown energies that have positive masses and heat capacities by form.
 *
 *     thermal lagrangian G(q, v, T)  convex in (v, T): masses and heat capacities are positive, and
 *                                    (p, S) determine (v, T)
 *     lagrangian L(q, v)             convex in v
 *     hamiltonian H(q, p, S)         convex in (p, S) and increasing in S: T = dH/dS > 0 as well
 *
 * and even in v or p: momentum and velocity vanish together. The convex field (src/field/convex.c)
 * is so in inputs that are affine: its inputs are v and T, p and S themselves, where other fields
 * have v^2 and log T. Temperatures have T (log(T/T0) - 1), the heat of an ideal gas, beside them,
 * with T0 in the middle of the data: then this bends as much over their range in kelvin at 300 as
 * it does at 1. Entropies have the heat of a gas in the field. A named part is convex in what it is
 * a function of; that the whole is then convex holds when its other terms are.
 *
 * L(q, v, S) has no such form here: it would be convex in v and concave in S, and is learned from
 * positions alone, which do not show heat.
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

/* Does the energy's own heat belong to the part? Of lagrangians, and where only positions were
 * seen, it does not. */
static int has_heat(const cls_system *s, const clsi_points *points) {
    return s->m && s->formalism != CLS_LAGRANGIAN && !points->intervals;
}

/* NULL: the energy and the data are of a kind that has a form. */
static const char *no_form(const cls_system *s, const clsi_points *points, const clsi_unknown *u) {
    if (s->ode) return "rates of an ode are not energies; leave the word out";
    if (s->formalism == CLS_HAMILTONIAN && points->intervals)
        return "a hamiltonian is convex in momenta, which are not in the data; add columns with "
               "them, or write it as a lagrangian, which is convex in velocities";
    if (u->kind != CLSI_PART_FORMULA || !s->m || has_heat(s, points)) return NULL;
    if (s->formalism == CLS_LAGRANGIAN)
        return "a lagrangian with entropies is convex in velocities and concave in entropies; "
               "write it as a hamiltonian H(q, p, S) or as a thermal lagrangian G(q, v, T), or "
               "make a term of it unknown that is a function of positions and velocities";
    return "positions alone do not show its heat; add columns with velocities and temperatures, or "
           "make a term of it unknown that is a function of positions and velocities";
}

/* NULL: the word makes sense for this part. */
static const char *obstacle(const clsi_unknowns *us, const clsi_points *points,
                            const clsi_unknown *u) {
    const cls_system *s = us->s;
    if (strncmp(u->spec, "network", 7) != 0)
        return "only networks are convex by form; write network(24, 24, convex)";
    const char *why = no_form(s, points, u);
    if (why) return why;
    if (clsi_field_word(u->spec, "plain"))
        return "`plain` takes away that it is even in velocities or momenta, which `convex` needs "
               "for momenta that vanish at rest; leave one of the words out";
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

/* The order of inputs in the field: free, even, convex, thermal. */
enum { KINDS = 4 };
static const clsi_bend order[KINDS] = {CLSI_BEND_NONE, CLSI_BEND_EVEN, CLSI_BEND_AFFINE,
                                       CLSI_BEND_THERMAL};

static cls_status refuse_input(const cls_system *s, const clsi_learned *l, size_t i, clsi_bend bend,
                               cls_error *error) {
    if (bend == CLSI_BEND_COLD)
        return clsi_fail(error, CLS_USAGE,
                         "'%s' cannot be convex with positive temperatures as a function of %s, "
                         "which does not rise with every entropy in it by a number; say `of` the "
                         "entropies themselves",
                         l->part, l->input[i]);
    int phase = s->formalism == CLS_HAMILTONIAN, warm = s->formalism == CLS_THERMAL_LAGRANGIAN;
    return clsi_fail(error, CLS_USAGE,
                     "'%s' cannot be convex in %s as a function of %s, which is not affine in "
                     "them; say `of` %s themselves",
                     l->part,
                     phase  ? "momenta and entropies"
                     : warm ? "velocities and temperatures"
                            : "velocities",
                     l->input[i],
                     phase  ? "p and S"
                     : warm ? "v and T"
                            : "v");
}

/* Inputs that the file declares, in this order. */
static cls_status sort_inputs(const cls_system *s, clsi_unknown *u, cls_error *error) {
    clsi_learned *l = &u->learned;
    char *sorted[CLSI_FIELD_MAX_INPUTS];
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    clsi_bend bend[CLSI_FIELD_MAX_INPUTS];
    size_t n = 0;
    for (size_t i = 0; i < l->d; i++) l->half[i] = 1;
    if (clsi_learned_inputs(l, s, x) != CLS_OK) return clsi_no_memory(error);
    for (size_t i = 0; i < l->d; i++) {
        bend[i] = clsi_input_bend(s, x[i]);
        if (bend[i] == CLSI_BEND_OTHER || bend[i] == CLSI_BEND_COLD)
            return refuse_input(s, l, i, bend[i], error);
    }
    for (size_t k = 0; k < KINDS; k++)
        for (size_t i = 0; i < l->d; i++)
            if (bend[i] == order[k]) sorted[n++] = l->input[i];
    memcpy(l->input, sorted, n * sizeof *sorted);
    return CLS_OK;
}

static double largest(const clsi_points *p, size_t k) {
    const double *z = p->z + k * p->n;
    double most = 0;
    for (size_t i = 0; i < p->n_data; i++) most = fmax(most, fabs(z[i]));
    return most;
}

/* The largest rate of a coordinate, over windows. */
static double fastest(const clsi_points *p, size_t k) {
    const double *q = p->z + k * p->n;
    double most = 0;
    for (size_t w = 0; w < p->n_windows; w++) {
        size_t at[CLSI_MOST_WIDTH];
        clsi_window_points(p, w, at);
        size_t last = at[p->width - 1];
        most = fmax(most, fabs((q[last] - q[at[0]]) / (p->time[last] - p->time[at[0]])));
    }
    return most;
}

/* Largest v^2 (of a hamiltonian p v) in the data, the mean of all velocities: about twice the
 * kinetic energy. In these units energies are of the size of the fields that they are learned as,
 * whatever the units of the data are. */
double clsi_convex_unit(const cls_system *s, const clsi_points *p) {
    int phase = s->formalism == CLS_HAMILTONIAN;
    double sum = 0;
    if (s->ode || (phase && p->intervals)) return 1;
    for (size_t j = 0; j < s->n; j++) {
        double moved = largest(p, s->nq + j);
        sum += moved * (phase && s->canonical ? fastest(p, j) : moved) / (double)s->n;
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

/* T and its heat, or S. */
static cls_status heat_inputs(const cls_system *s, const clsi_points *points, clsi_learned *l,
                              cls_error *error) {
    int phase = s->formalism == CLS_HAMILTONIAN;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < s->m && status == CLS_OK; i++)
        status = clsi_add_input(l, error, "%s", (phase ? s->entropy : s->temperature)[i].name);
    for (size_t i = 0; i < s->m && !phase && status == CLS_OK; i++) {
        char *heat = clsi_heat_input(s->temperature[i].name, reference(points, s->nq + s->n + i));
        status = heat ? clsi_add_input(l, error, "%s", heat) : clsi_no_memory(error);
        free(heat);
    }
    return status;
}

cls_status clsi_convex_inputs(const cls_system *s, const clsi_points *points, clsi_unknown *u,
                              cls_error *error) {
    clsi_learned *l = &u->learned;
    const cls_node *moving = s->formalism == CLS_HAMILTONIAN ? s->p : s->v;
    cls_status status = CLS_OK;
    if (u->of) return sort_inputs(s, u, error);
    for (size_t j = 0; j < s->nq && status == CLS_OK; j++)
        status = clsi_add_input(l, error, "%s", s->coordinate[j].name);
    for (size_t j = 0; j < s->n && status == CLS_OK; j++)
        status = clsi_add_input(l, error, "%s", cls_node_name(s->g, moving[j]));
    if (status == CLS_OK && has_heat(s, points)) status = heat_inputs(s, points, l, error);
    return status;
}

/* How many inputs there are of each kind; those of T (log T - 1), which are none of these, come
 * last. */
static cls_status count_inputs(const cls_system *s, const clsi_unknown *u, size_t count[KINDS],
                               cls_error *error) {
    const clsi_learned *l = &u->learned;
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    if (clsi_learned_inputs(l, s, x) != CLS_OK) return clsi_no_memory(error);
    for (size_t k = 0; k < KINDS; k++) {
        count[k] = 0;
        for (size_t i = 0; i < l->d; i++) count[k] += clsi_input_bend(s, x[i]) == order[k];
    }
    if (count[1] + count[2] + count[3]) return CLS_OK;
    return refuse(u,
                  s->formalism == CLS_HAMILTONIAN
                      ? "it is a function of neither momenta nor entropies"
                      : "it is a function of neither velocities nor temperatures",
                  error);
}

cls_status clsi_convex_spec(const cls_system *s, clsi_unknown *u, size_t size, char *spec,
                            cls_error *error) {
    static const char *const words[] = {"convex", "square", "gyroscopic"};
    const char *open = strchr(u->spec, '('), *word = strstr(u->spec, words[0]), *cut = word;
    size_t count[KINDS] = {0};
    for (size_t i = 0; i < u->learned.d; i++) u->learned.half[i] = 1;
    cls_status status = u->convex ? count_inputs(s, u, count, error) : CLS_OK;
    if (status != CLS_OK) return status;
    for (size_t i = 1; u->convex && i < 3; i++) { /* what is said about coefficients */
        const char *other = strstr(open, words[i]);
        if (other && other < cut) cut = other;
    }
    while (cut > open + 1 && (cut[-1] == ' ' || cut[-1] == ',')) cut--;
    if (u->convex) {
        int used = snprintf(spec, size, "convex(%.*s; %zu %zu %zu", (int)(cut - open - 1), open + 1,
                            count[0], count[1], count[2]);
        if (used < 0 || (size_t)used + 24 > size) return refuse(u, "its name is too long", error);
        char *end = spec + used;
        if (count[3]) end += snprintf(end, 24, " %zu", count[3]);
        /* masses are functions of q, where there are both */
        snprintf(end, 12, "%s)", count[0] && count[1] ? " varying" : "");
    } else
        snprintf(spec, size, "%.*s%s", (int)(cut - u->spec), u->spec, word + strlen(words[0]));
    return CLS_OK;
}

/* ---- rows ---- */

/* Mean square of what the data change by in the rows of equation e, of a momentum or an entropy; 0
 * where that is round-off. */
static double row_size(const clsi_residual *r, size_t e) {
    const clsi_points *p = r->points;
    size_t k = r->unknowns->s->nq + e;
    const double *z = p->z + k * p->n;
    double sum = 0, most = 0;
    for (size_t w = 0; w < p->n_windows; w++) {
        size_t at[CLSI_MOST_WIDTH];
        clsi_window_points(p, w, at);
        double change = z[at[p->width - 1]] - z[at[0]];
        double row = change * r->weight[e * p->n_windows + w];
        sum += row * row;
        most = fmax(most, fabs(change));
    }
    return most > 1e-9 * largest(p, k) ? sum / (double)p->n_windows : 0;
}

/* In joule and kelvin T is large and S' small, so that rows of S would say nothing beside those of
 * p, and the temperature nothing but what the gas began with. */
void clsi_convex_balance(clsi_residual *r) {
    const cls_system *s = r->unknowns->s;
    double motion = 0;
    int convex = 0;
    for (size_t i = 0; i < r->unknowns->n; i++) convex |= r->unknowns->list[i].convex;
    if (!convex || s->formalism != CLS_HAMILTONIAN) return;
    for (size_t e = 0; e < s->n; e++) motion += row_size(r, e) / (double)s->n;
    for (size_t e = s->n; e < s->n + s->m; e++) {
        double factor = sqrt(motion / row_size(r, e));
        for (size_t w = 0; factor > 0 && isfinite(factor) && w < r->points->n_windows; w++)
            r->weight[e * r->points->n_windows + w] *= factor;
    }
}
