/* A trial: a motion by a scheme, and the judge's verdict on it. Shared by the tests that look for a
 * broken law over many systems, parameters and steps. */
#ifndef TEST_TRIAL_H
#define TEST_TRIAL_H

#include "tests/audit/judge.h"
#include <clausius/scheme.h>
#include <clausius/simulate.h>

typedef enum verdict { HELD, REFUSED, BROKEN, UNASKED } verdict;

typedef struct trial {
    const char *scheme;
    double h;
    uint64_t steps, every;
    uint64_t internal; /* of an adaptive scheme between two rows at most; 0: as many as it may */
} trial;

/* Energy is promised by name; entropy too, but for the composition with steps backwards in time. */
static inline int keeps_energy(const cls_scheme_info *scheme) {
    return strncmp(scheme->keeps, "energy", 6) == 0;
}

static inline int promises(const char *scheme, const char *law) {
    if (strcmp(law, "entropy") == 0)
        return strstr(cls_scheme_find(scheme)->keeps, "entropy") != NULL;
    return strcmp(law, "energy") == 0 || strcmp(law, "temperature positive") == 0 ||
           strcmp(law, "domain") == 0 || strcmp(law, "columns") == 0;
}

static inline verdict judge_trial(const cls_system *s, const cls_table *t, const char *scheme,
                                  char *why, size_t size) {
    cls_audit_options o = cls_audit_defaults();
    cls_audit *a = NULL;
    cls_error error = {0};
    o.samples = 1; /* the path is judged, not the definition */
    verdict v = HELD;
    if (cls_audit_trajectory(s, t, &o, &a, &error)) {
        snprintf(why, size, "the audit cannot be made: %.400s", error.message);
        return BROKEN;
    }
    for (size_t i = 0; i < cls_audit_count(a) && v == HELD; i++) {
        const cls_law *l = cls_audit_law(a, i);
        if (l->passed || !promises(scheme, l->name)) continue;
        v = BROKEN;
        snprintf(why, size, "%s %s (%g, limit %g)", l->name, l->text, l->value, l->limit);
    }
    cls_audit_free(&a);
    return v;
}

/* Goes as far as it can; what was reached is judged in any case, because a refusal must not come
 * after a broken law. `why` gets the sentence of a refusal or the broken law. */
static inline verdict try_motion(const cls_system *s, const double *start, trial r, char *why,
                                 size_t size) {
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = r.scheme;
    o.h = r.h;
    if (r.internal) o.max_internal = r.internal;
    cls_simulator *sim = NULL;
    cls_error error = {0};
    cls_table *t = NULL;
    const char *names[1024];
    double row[1024];
    size_t columns = cls_system_column_count(s);
    assert_true(columns <= 1024);
    why[0] = 0;
    for (size_t c = 0; c < columns; c++) names[c] = cls_system_column(s, c);
    assert_int_equal(cls_table_create(columns, names, &t, NULL), CLS_OK);
    cls_status status = cls_simulator_create(s, &o, &sim, &error);
    if (!status) status = cls_simulator_start(sim, 0, start, &error);
    for (uint64_t k = 0; !status; k += r.every) {
        assert_int_equal(cls_simulator_row(sim, row, NULL), CLS_OK);
        assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
        if (k + r.every > r.steps) break;
        status = cls_simulator_advance(sim, r.every, &error);
    }
    cls_simulator_free(&sim);
    verdict v = status ? REFUSED : HELD;
    if (status) snprintf(why, size, "%.400s", error.message);
    if (status && status != CLS_NUMERIC) v = BROKEN;
    if (status && strlen(error.message) < 20) v = BROKEN;
    if (v != BROKEN && cls_table_rows(t) >= 2) {
        char broken[512];
        if (judge_trial(s, t, r.scheme, broken, sizeof broken) == BROKEN) {
            v = BROKEN;
            snprintf(why, size, "%s", broken);
        }
    }
    cls_table_free(&t);
    return v;
}

#endif
