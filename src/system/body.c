/* Rigid bodies: momenta on so(3), and what they carry with them.
 *
 *     rigid body mu1, mu2, mu3 with velocity Omega1, Omega2, Omega3
 *     vertical g1, g2, g3 of mu1, mu2, mu3             a direction fixed in space, in the frame of
 *                                                      the body
 *     attitude e0, e1, e2, e3 of mu1, mu2, mu3         the rotation from body to space, a quaternion
 *
 * The first is `momentum` and `algebra so(3)` in one: mu' = mu x Omega (V-NOTS (5)). The others are
 * positions with the brackets that carry them along,
 *
 *     g' = g x Omega,      e' = e (0, Omega)/2,
 *
 * so that a potential of them brings its torque by itself. Both have length one: the brackets keep
 * the length, the simulator takes away what round-off adds, and a start must have it. Statements
 * are read twice: for the names first, for the brackets when all names are known. */
#include "system/dense.h"
#include "system/language.h"
#include <math.h>

/* ---- names ---- */

cls_status clsi_read_body(clsi_reader *r, clsi_cursor c) {
    size_t first = r->s->n;
    cls_status status = clsi_read_momenta(r, c);
    if (status != CLS_OK) return status;
    if (r->s->n != first + 3) {
        clsi_skip_space(r, &c);
        return clsi_at(r, c.at, "a rigid body has three momenta, here are %zu", r->s->n - first);
    }
    for (size_t i = 0; i < 3; i++) r->s->momentum[first + i].turns = 1;
    r->body = first;
    r->n_bodies++;
    return CLS_OK;
}

/* The cursor up to `of`, and the one behind it (empty when there is none). */
static void split(const clsi_reader *r, clsi_cursor c, clsi_cursor *names, clsi_cursor *of) {
    *names = c;
    *of = (clsi_cursor){c.end, c.end};
    while (!clsi_at_end(r, &c)) {
        clsi_cursor here = c;
        if (clsi_accept_word(r, &c, "of")) {
            names->end = here.at;
            of->at = c.at;
            return;
        }
        size_t length = clsi_word_length(r, &c, 1);
        c.at += length ? length : 1;
    }
}

static cls_status declare_carried(clsi_reader *r, clsi_cursor c, size_t count, const char *word) {
    cls_system *s = r->s;
    clsi_cursor names, of;
    size_t first = s->nq, k = s->n_units;
    split(r, c, &names, &of);
    clsi_skip_space(r, &names);
    cls_status status = clsi_read_positions(r, names);
    if (status != CLS_OK) return status;
    if (s->nq != first + count)
        return clsi_at(r, names.at, "%s has %zu components, here are %zu", word, count,
                       s->nq - first);
    if (!clsi_grow(&s->units, &r->units_capacity, k + 1, sizeof *s->units))
        return clsi_no_memory(r->error);
    s->units[s->n_units++] = (clsi_unit){first, count};
    return CLS_OK;
}

cls_status clsi_read_vertical(clsi_reader *r, clsi_cursor c) {
    return declare_carried(r, c, 3, "a vertical");
}

cls_status clsi_read_attitude(clsi_reader *r, clsi_cursor c) {
    return declare_carried(r, c, 4, "an attitude");
}

/* ---- brackets ---- */

/* mu(i), i = 0, 1, 2 */
cls_status clsi_set_body(clsi_reader *r, clsi_cursor c) {
    const clsi_name *mu[3];
    cls_status status = CLS_OK;
    for (size_t i = 0; i < 3 && status == CLS_OK; i++) {
        status = clsi_read_member(r, &c, &mu[i]);
        clsi_accept(r, &c, ",");
    }
    if (status == CLS_OK) clsi_set_algebra(r->s, "so(3)", mu);
    return status;
}

/* The momenta behind `of`; without it those of the only rigid body there is. */
static cls_status read_of(clsi_reader *r, clsi_cursor c, clsi_cursor of, size_t mu[3]) {
    int given = of.at < of.end;
    clsi_skip_space(r, &c);
    if (!given && r->n_bodies != 1)
        return clsi_at(r, c.end, "expected `of` and the three momenta of a rigid body");
    for (size_t i = 0; i < 3; i++) {
        const clsi_name *name;
        mu[i] = r->body + i;
        if (!given) continue;
        cls_status status = i ? clsi_expect(r, &of, ",", "a momentum (three are needed)") : CLS_OK;
        clsi_skip_space(r, &of);
        size_t where = of.at;
        if (status == CLS_OK) status = clsi_read_member(r, &of, &name);
        if (status != CLS_OK) return status;
        if (name->kind != CLSI_MOMENTUM)
            return clsi_at(r, where, "`%s` is a position: expected a momentum of a rigid body",
                           name->name);
        mu[i] = name->index;
        if ((i > 0 && mu[i] == mu[0]) || (i > 1 && mu[i] == mu[1]))
            return clsi_at(r, where, "`%s` stands here twice", name->name);
        if (i == 2) return clsi_expect_end(r, &of);
    }
    return CLS_OK;
}

/* Row of K: {x, mu_j} = factor * sign * s->q[first + of] for the entries that are not zero. */
typedef struct entry {
    signed char sign;
    unsigned char of;
} entry;

static const entry vertical_table[3][3] = {
    {{0, 0}, {-1, 2}, {1, 1}}, {{1, 2}, {0, 0}, {-1, 0}}, {{-1, 1}, {1, 0}, {0, 0}}};
static const entry attitude_table[4][3] = {{{-1, 1}, {-1, 2}, {-1, 3}},
                                           {{1, 0}, {-1, 3}, {1, 2}},
                                           {{1, 3}, {1, 0}, {-1, 1}},
                                           {{-1, 2}, {1, 1}, {1, 0}}};

static cls_status set_carried(clsi_reader *r, clsi_cursor c, size_t count, const entry table[][3],
                              double factor) {
    cls_system *s = r->s;
    clsi_cursor names, of;
    const clsi_name *x;
    size_t mu[3], first;
    split(r, c, &names, &of);
    cls_status status = read_of(r, names, of, mu);
    if (status == CLS_OK) status = clsi_read_member(r, &names, &x);
    if (status != CLS_OK) return status;
    first = x->index;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < 3; j++) {
            entry e = table[i][j];
            cls_node value = cls_constant(s->g, 0);
            if (e.sign)
                value = cls_mul(s->g, cls_constant(s->g, e.sign * factor), s->q[first + e.of]);
            clsi_sparse_set(s->g, &s->raw.kinematics, first + i, mu[j], value);
            clsi_sparse_set(s->g, &s->bound.kinematics, first + i, mu[j], value);
        }
    return CLS_OK;
}

cls_status clsi_set_vertical(clsi_reader *r, clsi_cursor c) {
    return set_carried(r, c, 3, vertical_table, 1);
}

cls_status clsi_set_attitude(clsi_reader *r, clsi_cursor c) {
    return set_carried(r, c, 4, attitude_table, 0.5);
}

/* ---- length one ---- */

void clsi_default_attitudes(cls_system *s) {
    for (size_t k = 0; k < s->n_units; k++) {
        double *x = s->start + s->units[k].first;
        if (s->units[k].count != 4 || !isnan(x[0]) || !isnan(x[1]) || !isnan(x[2]) || !isnan(x[3]))
            continue;
        for (size_t i = 0; i < 4; i++) x[i] = i == 0;
    }
}

static double square(const clsi_unit *u, const double *state) {
    double sum = 0;
    for (size_t i = 0; i < u->count; i++) sum += state[u->first + i] * state[u->first + i];
    return sum;
}

/* Twice is enough to come within the bound; within it nothing changes, so that a motion that is
 * taken up again keeps its bits. */
void clsi_system_normalise(const cls_system *s, double *state) {
    for (size_t k = 0; k < s->n_units; k++)
        clsi_normalise(s->units[k].count, state + s->units[k].first);
}

cls_status clsi_system_check_units(const cls_system *s, double *state, cls_error *error) {
    for (size_t k = 0; k < s->n_units; k++) {
        const clsi_unit *u = &s->units[k];
        double sum = square(u, state);
        if (!(fabs(sqrt(sum) - 1) < 1e-3))
            return clsi_fail(error, CLS_USAGE,
                             "start: (%s, ..., %s) has length %.9g, it must have length 1",
                             s->coordinate[u->first].name,
                             s->coordinate[u->first + u->count - 1].name, sqrt(sum));
    }
    clsi_system_normalise(s, state);
    return CLS_OK;
}
