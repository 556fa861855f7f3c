/* The observed order of a scheme, from what it wrote and nothing else.
 *
 * The same motion at steps h, h/2, h/4. With z the native state, at the times all three have,
 *     e1 = max |z_h - z_h/2|,  e2 = max |z_h/2 - z_h/4|,  order = log2(e1 / e2),
 * each variable divided by the largest value it takes (in the finest table), elements of an array by the largest value
 * that any of them takes: where nothing has arrived yet, a field is as small as the stencil's power and has no order. For an error C h^p the
 * two differences have the ratio 2^p whatever C is, so no reference solution is needed. Where both
 * are round-off the order means nothing: the scheme is exact. Not promised: an order where h is
 * outside the asymptotic range; the number then says so by not being round. */
#include "base/alike.h"
#include "base/misuse.h"
#include "audit/audit.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Relative differences below this are round-off of a run of some thousand steps. */
static const double EXACT = 1e-12;
/* Two times are the same when they differ by less than this part of the step or of the time. */
static const double SAME_TIME = 1e-9;
/* An order may be this much below what was expected. */
static const double SLACK = 0.1;

/* The state of trajectory `part` at `time`, searching from *from on; rows when there is none. */
static size_t find_time(const clsi_states *st, size_t part, double time, double spacing,
                        size_t *from) {
    double near = SAME_TIME * fmax(fabs(time), spacing);
    size_t end = st->first[part + 1];
    while (*from < end && clsi_states_time(st, *from) < time - near) ++*from;
    return *from < end && clsi_states_time(st, *from) <= time + near ? *from : st->rows;
}

static double scaled_difference(const clsi_states *a, size_t k, const clsi_states *b, size_t l,
                                const double *scale) {
    double worst = 0;
    for (size_t i = 0; i < a->nz; i++) {
        double d = fabs(a->z[i * a->rows + k] - b->z[i * b->rows + l]) / scale[i];
        if (!(d <= worst)) worst = d; /* a NaN must win */
    }
    return worst;
}

typedef struct errors {
    double e1, e2;
    size_t common;
} errors;

static void compare_part(const clsi_states st[3], size_t part, const double *scale, errors *e) {
    size_t begin = st[0].first[part], at1 = st[1].first[part], at2 = st[2].first[part];
    double spacing = clsi_states_time(&st[0], begin + 1) - clsi_states_time(&st[0], begin);
    for (size_t k = begin; k < st[0].first[part + 1]; k++) {
        double time = clsi_states_time(&st[0], k);
        size_t k1 = find_time(&st[1], part, time, spacing, &at1);
        size_t k2 = find_time(&st[2], part, time, spacing, &at2);
        if (k1 == st[1].rows || k2 == st[2].rows) continue;
        e->common += k > begin; /* the start is given, it measures nothing */
        double e1 = scaled_difference(&st[0], k, &st[1], k1, scale);
        double e2 = scaled_difference(&st[1], k1, &st[2], k2, scale);
        if (!(e1 <= e->e1)) e->e1 = e1;
        if (!(e2 <= e->e2)) e->e2 = e2;
    }
}

/* Of each array the first element, whose scale becomes that of all of them. */
static cls_status share_scales(const cls_system *s, size_t nz, double *scale, cls_error *error) {
    size_t *first = clsi_calloc(2 * nz + 1, sizeof *first), *of = first ? first + nz : NULL;
    size_t n = 0, k = 0;
    if (!first) return clsi_no_memory(error);
    for (size_t i = 0; i < nz; i++) {
        const char *name = cls_system_state_name(s, i);
        size_t tried = 0; /* neighbours are mostly of one array */
        for (; tried < n; tried++, k = k + 1 < n ? k + 1 : 0)
            if (clsi_same_array(cls_system_state_name(s, first[k]), name)) break;
        if (tried == n && clsi_same_array(name, name)) first[k = n++] = i, tried = 0;
        of[i] = tried < n ? first[k] : i;
        scale[of[i]] = fmax(scale[of[i]], scale[i]);
    }
    for (size_t i = 0; i < nz; i++) scale[i] = scale[of[i]];
    free(first);
    return CLS_OK;
}

static cls_status scales(const cls_system *s, const clsi_states *st, double *scale,
                         cls_error *error) {
    for (size_t i = 0; i < st->nz; i++)
        for (size_t k = 0; k < st->rows; k++)
            scale[i] = fmax(scale[i], fabs(st->z[i * st->rows + k]));
    cls_status status = share_scales(s, st->nz, scale, error);
    for (size_t i = 0; i < st->nz; i++)
        if (!(scale[i] > 0)) scale[i] = 1;
    return status;
}

static cls_status same_trajectories(const clsi_states st[3], cls_error *error) {
    for (int i = 1; i < 3; i++) {
        int same = st[i].parts == st[0].parts;
        for (size_t part = 0; same && part < st[0].parts; part++)
            same = st[i].id[part] == st[0].id[part];
        if (!same)
            return clsi_fail(error, CLS_DATA,
                             "the tables at h and %s do not hold the same trajectories (%zu and "
                             "%zu); the order needs the same motion three times",
                             i == 1 ? "h/2" : "h/4", st[0].parts, st[i].parts);
    }
    return CLS_OK;
}

static cls_status order_law(cls_audit *a, const errors *e, cls_error *error) {
    double expected = a->options.order_expected;
    if (!isfinite(e->e1) || !isfinite(e->e2))
        return clsi_law_add(a, "order", NULL, 0, 0, expected, error,
                            "the states are not finite at some of %zu common times", e->common);
    if (e->e1 <= EXACT && e->e2 <= EXACT)
        return clsi_law_add(a, "order", NULL, 1, expected, expected, error,
                            "exact to round-off: the differences of h, h/2, h/4 are %.2g and %.2g "
                            "over %zu common times",
                            e->e1, e->e2, e->common);
    double order = log2(fmax(e->e1, DBL_EPSILON) / fmax(e->e2, DBL_EPSILON));
    int passed = expected <= 0 || order >= expected - SLACK;
    return clsi_law_add(a, "order", NULL, passed, order, expected, error,
                        "observed order %.3f from differences %.3g (h, h/2) and %.3g (h/2, h/4) "
                        "over %zu common times; %s",
                        order, e->e1, e->e2, e->common,
                        expected > 0 ? "must be at least the limit - 0.1" : "not judged");
}

cls_status cls_audit_order(cls_audit *a, const cls_system *s, const cls_table *h1,
                           const cls_table *h2, const cls_table *h4, cls_error *error) {
    NEED(error, a);
    NEED(error, s);
    NEED(error, h1 && h2 && h4);
    const cls_table *tables[3] = {h1, h2, h4};
    clsi_states st[3] = {{0}, {0}, {0}};
    errors e = {0};
    double *scale = clsi_calloc(s->form->nz, sizeof *scale);
    cls_system *view = NULL;
    cls_status status = scale ? clsi_system_view(s, &view, error) : clsi_no_memory(error);
    for (int i = 0; i < 3 && !status; i++)
        status = clsi_states_read(view, tables[i], &st[i], error);
    if (!status) status = same_trajectories(st, error);
    if (!status) status = scales(s, &st[2], scale, error);
    if (!status) {
        for (size_t part = 0; part < st[0].parts; part++) compare_part(st, part, scale, &e);
        if (!e.common)
            status = clsi_fail(error, CLS_DATA,
                               "the tables at h, h/2 and h/4 have no time in common after the "
                               "start; write all three at the times of the first");
    }
    if (!status) status = order_law(a, &e, error);
    for (int i = 0; i < 3; i++) clsi_states_clear(&st[i]);
    clsi_system_view_free(&view);
    free(scale);
    return status;
}
