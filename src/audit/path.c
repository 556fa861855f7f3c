/* Laws along the path: energy, work, entropy, invariants, domain, temperature, honest columns.
 *
 * Everything is recomputed from the states (quantity.c); what a file says about its own energy is
 * itself judged. With W the work of the external forces and the heat from outside (0 without them),
 * R the entropy that the outside has gained:
 *     energy      |E_k - E_0 - (W_k - W_0)| <= limit * scale + rounded       for every row k
 *     entropy     (S + R)_k - max_j<k (S + R)_j >= -limit * scale - rounded  for every row k
 *     work, heat, entropy.outside: against the integral of their rates
 *     invariant   |I_k - I_0| <= limit * scale + rounded                     for every row k
 * each trajectory by itself, with the scale of quantity.c and what rounding the states does (there). Not promised: anything between rows. */
#include "audit/quantity.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* How well derived columns must agree with the states they stand beside. */
static const double COLUMN_LIMIT = 1e-9;
/* How well the work must agree with the integral of the power, above the trapezoidal error. */
static const double WORK_LIMIT = 1e-2;
/* Rows that do not tell an integral to this part of it do not judge a column. */
static const double TOO_FAR = 0.1;
enum { ENOUGH = 4 }; /* rows to see how much it changes */

typedef struct judged {
    cls_audit *a;
    const cls_system *s;
    const cls_table *t;
    const clsi_states *st;
    const clsi_quantity *list;
    size_t n;
} judged;

static const clsi_quantity *first_of(const judged *j, clsi_quantity_kind kind) {
    return clsi_quantity_next(j->list, j->n, kind, NULL);
}

typedef struct drift {
    double worst, scale;       /* relative drift, and what it is relative to */
    double limit;              /* what it may be there, where that is not the same everywhere */
    size_t at, bad, first_bad; /* rows; how many were not finite and the first of them */
} drift;

static void drift_see(drift *d, double difference, double scale, size_t k) {
    if (!isfinite(difference)) {
        if (!d->bad++) d->first_bad = k;
        return;
    }
    if (fabs(difference) / scale < d->worst) return;
    *d = (drift){fabs(difference) / scale, scale, d->limit, k, d->bad, d->first_bad};
}

/* Whether `a` is further beyond its limit than `b`. */
static int is_worse(const drift *a, const drift *b) {
    return a->worst * b->limit >= b->worst * a->limit;
}

/* Of x from its first value on each trajectory; `given` (or NULL) is what it may have gained. */
static drift drift_of(const clsi_states *st, const clsi_quantity *x, const double *given,
                      double limit) {
    drift d = {.limit = limit};
    for (size_t part = 0; part < st->parts; part++) {
        size_t begin = st->first[part];
        drift own = {.limit = limit + x->rounded[part] / x->scale[part]};
        for (size_t k = begin; k < st->first[part + 1]; k++) {
            double gained = given ? given[k] - given[begin] : 0;
            drift_see(&own, x->value[k] - x->value[begin] - gained, x->scale[part], k);
        }
        size_t bad = d.bad + own.bad, first_bad = d.bad ? d.first_bad : own.first_bad;
        if (is_worse(&own, &d)) d = own;
        d.bad = bad;
        d.first_bad = first_bad;
    }
    return d;
}

static cls_status drift_law(const judged *j, const char *kind, const char *subject, const drift *d,
                            const char *extra, cls_error *error) {
    double limit = d->limit;
    if (d->bad)
        return clsi_law_add(j->a, kind, subject, 0, d->worst, limit, error,
                            "not finite in %zu of %zu rows, the first at %s", d->bad, j->st->rows,
                            clsi_states_where(j->st, d->first_bad).text);
    return clsi_law_add(j->a, kind, subject, d->worst <= limit, d->worst, limit, error,
                        "drifts by at most %.3g of its largest term %.6g%s, worst at %s", d->worst,
                        d->scale, extra, clsi_states_where(j->st, d->at).text);
}

static cls_status judge_energy(const judged *j, cls_error *error) {
    const clsi_states *st = j->st;
    drift d = drift_of(st, first_of(j, CLSI_OF_ENERGY), st->received, j->a->options.energy_limit);
    const char *after = !st->received             ? ""
                        : !st->account[CLSI_HEAT] ? j->s->varies
                                                        ? " (after the work from outside)"
                                                        : " (after the work of external forces)"
                        : !st->account[CLSI_WORK] ? " (after the heat from outside)"
                                                  : " (after the work and heat from outside)";
    return drift_law(j, "energy", NULL, &d, after, error);
}

static cls_status judge_invariants(const judged *j, cls_error *error) {
    const clsi_quantity *x = NULL;
    while ((x = clsi_quantity_next(j->list, j->n, CLSI_OF_INVARIANT, x))) {
        drift d = drift_of(j->st, x, NULL, j->a->options.invariant_limit);
        cls_status status = drift_law(j, "invariant", x->name, &d, "", error);
        if (status) return status;
    }
    return CLS_OK;
}

/* The trapezoidal integral of the power on one trajectory against its account. How far the integral can
 * be trusted: by what the change of the power over one step differs from that over the next, all added
 * up, and by what the power halfway differs from the mean of both ends. Where the power is smooth that is
 * many times the error of the rule; where it comes and goes within a step (a stiff reservoir), or is the
 * same for velocities to and fro (a stiff friction), it is the power itself. held: the power at the
 * end of each step is what a zero-order hold of the inputs has. Rows so far apart are not judged. */
static void work_of(const clsi_states *st, const double *account, const clsi_quantity *x, int held,
                    size_t part, drift *d, double *trust) {
    const double *power = x->value, *after = held ? x->held : power;
    size_t begin = st->first[part], end = st->first[part + 1];
    double sum = 0, absolute = 0, doubt = 0, largest = 0, last = 0, last_h = 0;
    size_t worst = begin;
    for (size_t k = begin + 1; k < end; k++) {
        double h = clsi_states_time(st, k) - clsi_states_time(st, k - 1);
        double change = after[k] - power[k - 1];
        sum += h * (after[k] + power[k - 1]) / 2;
        absolute += h * (fabs(after[k]) + fabs(power[k - 1])) / 2;
        if (k > begin + 1) doubt += fmax(h, last_h) * fabs(change - last);
        doubt += h * fabs(x->middle[k] - (after[k] + power[k - 1]) / 2);
        last = change;
        last_h = h;
        double off = account[k] - account[begin] - sum;
        if (!isfinite(off)) drift_see(d, off, 1, k);
        if (fabs(off) > largest) largest = fabs(off), worst = k;
    }
    absolute = fmax(absolute, fabs(account[end - 1] - account[begin]));
    if (!(absolute > 0)) absolute = 1;
    drift_see(d, largest, absolute, worst);
    if (end - begin < ENOUGH) doubt = INFINITY;
    *trust = fmax(*trust, doubt / absolute);
}

/* Inputs may have been held or joined by lines: the better of the two counts. */
static cls_status judge_account(const judged *j, const clsi_quantity *power, cls_error *error) {
    static const char *const rate[CLSI_ACCOUNTS] = {"force times velocity", "the heat flows",
                                                    "the heat flows over their temperatures"};
    drift d = {0};
    double limit = 0;
    for (int held = 0; held < (power->held ? 2 : 1); held++) {
        drift own = {0};
        double trust = 0;
        for (size_t part = 0; part < j->st->parts; part++)
            work_of(j->st, j->st->account[power->index], power, held, part, &own, &trust);
        if (held && !(own.worst - trust < d.worst - limit + WORK_LIMIT)) continue;
        d = own;
        limit = WORK_LIMIT + trust;
    }
    const char *name = clsi_account_name((clsi_account)power->index);
    int told = !d.bad && limit > WORK_LIMIT + TOO_FAR;
    cls_status status =
        clsi_law_add(j->a, name, NULL, !d.bad && (told || d.worst <= limit), d.worst, limit, error,
                     "the column %s differs from the trapezoidal integral of %s by at most "
                     "%.3g of %.6g, worst at %s; %zu rows not finite%s",
                     name,
                     power->index == CLSI_WORK && j->s->varies ? "force times velocity and of dE/dt"
                                                               : rate[power->index],
                     d.worst, d.scale, clsi_states_where(j->st, d.at).text, d.bad,
                     told ? "; not judged: the rates change too much from row to row" : "");
    if (!status && told) j->a->laws[j->a->n - 1].finding = 1;
    return status;
}

static cls_status judge_work(const judged *j, cls_error *error) {
    const clsi_quantity *power = NULL;
    cls_status status = CLS_OK;
    while (!status && (power = clsi_quantity_next(j->list, j->n, CLSI_OF_POWER, power)))
        if (power->index == CLSI_WORK || !cls_system_is_noisy(j->s)) /* noise has no rate */
            status = judge_account(j, power, error);
    return status;
}

typedef struct falls {
    double least, limit; /* the smallest rise above the highest before, and what it may be */
    size_t at, count, bad, steps;
} falls;

static falls falls_of(const clsi_states *st, const clsi_quantity *x, double limit) {
    falls f = {.least = DBL_MAX};
    for (size_t part = 0; part < st->parts; part++) {
        double allowed = -limit * x->scale[part] - x->rounded[part],
               highest = x->value[st->first[part]];
        for (size_t k = st->first[part] + 1; k < st->first[part + 1]; k++) {
            double step = x->value[k] - highest;
            f.steps++;
            f.bad += !isfinite(step);
            f.count += step < allowed;
            if (step < f.least) f.least = step, f.at = k, f.limit = allowed;
            highest = fmax(highest, x->value[k]);
        }
    }
    return f;
}

static cls_status judge_entropy(const judged *j, cls_error *error) {
    const clsi_quantity *x = first_of(j, CLSI_OF_ENTROPY);
    if (!x) return CLS_OK;
    if (cls_system_is_noisy(j->s)) return clsi_audit_noise(j->a, j->s, j->st, x, error);
    falls f = falls_of(j->st, x, j->a->options.entropy_limit);
    if (f.bad)
        return clsi_law_add(j->a, "entropy", NULL, 0, f.least, f.limit, error,
                            "not finite in %zu of %zu steps", f.bad, f.steps);
    if (f.count)
        return clsi_law_add(j->a, "entropy", NULL, 0, f.least, f.limit, error,
                            "falls in %zu of %zu steps, the worst by %.3g below the highest "
                            "before, in the step to %s",
                            f.count, f.steps, -f.least, clsi_states_where(j->st, f.at).text);
    return clsi_law_add(j->a, "entropy", NULL, 1, f.least, f.limit, error,
                        "falls in none of %zu steps; the smallest step is %.3g, to %s", f.steps,
                        f.least, clsi_states_where(j->st, f.at).text);
}

typedef struct outside {
    size_t rows, first;
    const clsi_variable *variable;
    double value;
} outside;

/* Row by row, so that a row counts once however many variables are outside. */
static void domain_row(const judged *j, size_t k, outside *found) {
    const clsi_variable *bad = NULL;
    double value = 0;
    for (size_t i = 0; i < j->s->nq + j->s->n && !bad; i++) {
        value = j->st->z[i * j->st->rows + k];
        const clsi_variable *x = clsi_state_variable(j->s, i);
        if (!(value > x->low && value < x->high)) bad = x;
    }
    for (size_t i = 0; i < j->n && !bad; i++) {
        const clsi_quantity *x = &j->list[i];
        if (x->kind != CLSI_OF_ENTROPY_PART && x->kind != CLSI_OF_TEMPERATURE) continue;
        const clsi_variable *v = x->kind == CLSI_OF_ENTROPY_PART ? &j->s->entropy[x->index]
                                                                 : &j->s->temperature[x->index];
        value = x->value[k];
        if (!(value > v->low && value < v->high)) bad = v;
    }
    if (!bad) return;
    if (!found->rows++) *found = (outside){1, k, bad, value};
}

static cls_status judge_domain(const judged *j, cls_error *error) {
    outside found = {0};
    for (size_t k = 0; k < j->st->rows; k++) domain_row(j, k, &found);
    if (!found.rows)
        return clsi_law_add(j->a, "domain", NULL, 1, 0, 0, error,
                            "all %zu rows are inside the declared domains", j->st->rows);
    return clsi_law_add(j->a, "domain", NULL, 0, (double)found.rows, 0, error,
                        "%zu of %zu rows are outside; the first at %s: %s = %.9g is not in "
                        "(%.9g, %.9g)",
                        found.rows, j->st->rows, clsi_states_where(j->st, found.first).text,
                        found.variable->name, found.value, found.variable->low,
                        found.variable->high);
}

static cls_status judge_temperature(const judged *j, cls_error *error) {
    const clsi_quantity *x = NULL, *coldest = NULL;
    double least = INFINITY;
    size_t at = 0, bad = 0;
    while ((x = clsi_quantity_next(j->list, j->n, CLSI_OF_TEMPERATURE, x)))
        for (size_t k = 0; k < j->st->rows; k++) {
            bad += !isfinite(x->value[k]);
            if (x->value[k] < least) least = x->value[k], at = k, coldest = x;
        }
    if (!j->s->m) return CLS_OK;
    return clsi_law_add(j->a, "temperature positive", NULL, !bad && least > 0, least, 0, error,
                        "the lowest is %s = %.9g at %s; %zu values are not finite",
                        coldest ? coldest->name : "none", least, clsi_states_where(j->st, at).text,
                        bad);
}

/* Columns that the states already decide. */
static cls_status judge_columns(const judged *j, cls_error *error) {
    drift d = {0};
    const char *worst = NULL;
    size_t compared = 0;
    for (size_t i = 0; i < j->n; i++) {
        const clsi_quantity *x = &j->list[i];
        int column = cls_table_find(j->t, x->name);
        if (column < 0) continue;
        compared++;
        const double *said = cls_table_column(j->t, (size_t)column);
        for (size_t part = 0; part < j->st->parts; part++)
            for (size_t k = j->st->first[part]; k < j->st->first[part + 1]; k++) {
                double before = d.worst;
                size_t bad = d.bad;
                drift_see(&d, said[j->st->row[k]] - x->value[k], x->scale[part], k);
                if (d.worst > before || d.bad > bad || !worst) worst = x->name;
            }
    }
    if (!compared) return CLS_OK;
    size_t at = d.bad ? d.first_bad : d.at;
    return clsi_law_add(j->a, "columns", NULL, !d.bad && d.worst <= COLUMN_LIMIT, d.worst,
                        COLUMN_LIMIT, error,
                        "%zu derived columns against the states: they differ by at most %.3g of "
                        "their size, worst in %s at %s; %zu values are not finite",
                        compared, d.worst, worst, clsi_states_where(j->st, at).text, d.bad);
}

cls_status clsi_audit_path(cls_audit *a, const cls_system *s, const cls_table *t,
                           const clsi_states *st, cls_error *error) {
    static cls_status (*const laws[])(const judged *, cls_error *) = {
        judge_energy, judge_work,        judge_entropy, judge_invariants,
        judge_domain, judge_temperature, judge_columns};
    enum { SKIP = 3 }; /* ordinary differential equations have no energy and no entropy */
    clsi_quantity *list = NULL;
    size_t n = 0;
    cls_status status = clsi_quantities_create(s, st, &list, &n, error);
    judged j = {a, s, t, st, list, n};
    if (!status && s->ode)
        status = clsi_law_add(a, "laws", NULL, 1, 0, 0, error,
                              "none is promised by ordinary differential equations: energy and "
                              "entropy are not judged");
    for (size_t i = s->ode ? SKIP : 0; i < sizeof laws / sizeof *laws && !status; i++)
        status = laws[i](&j, error);
    clsi_quantities_free(&list, n);
    return status;
}
