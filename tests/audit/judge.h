/* Shared by the judge's tests: tables made by formulas, systems from text, one law by name. */
#ifndef TEST_JUDGE_H
#define TEST_JUDGE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <clausius/audit.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline cls_system *system_from(const char *text) {
    cls_system *s = NULL;
    cls_error error = {0};
    if (cls_system_parse(text, "test.clausius", NULL, &s, &error)) fail_msg("%s", error.message);
    return s;
}

/* A table whose row k is written by `row`. Names are separated by spaces. */
typedef void (*row_function)(size_t k, const void *data, double *row);
static inline cls_table *table_from(const char *names, size_t rows, row_function row,
                                    const void *data) {
    char copy[256], *columns[32];
    size_t n = 0;
    snprintf(copy, sizeof copy, "%s", names);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) columns[n++] = word;
    cls_table *t = NULL;
    assert_int_equal(cls_table_create(n, (const char *const *)columns, &t, NULL), CLS_OK);
    for (size_t k = 0; k < rows; k++) {
        double values[32];
        row(k, data, values);
        assert_int_equal(cls_table_append(t, values, NULL), CLS_OK);
    }
    return t;
}

static inline cls_audit *audit_with(const cls_system *s, const cls_table *t,
                                    const cls_audit_options *options) {
    cls_audit *a = NULL;
    cls_error error = {0};
    if (cls_audit_trajectory(s, t, options, &a, &error)) fail_msg("%s", error.message);
    for (size_t i = 0; i < cls_audit_count(a); i++) {
        assert_true(isfinite(cls_audit_law(a, i)->value));
        assert_true(isfinite(cls_audit_law(a, i)->limit));
        assert_true(cls_audit_law(a, i)->text[0] != 0);
    }
    return a;
}

static inline const cls_law *find_law(const cls_audit *a, const char *name) {
    for (size_t i = 0; i < cls_audit_count(a); i++)
        if (strcmp(cls_audit_law(a, i)->name, name) == 0) return cls_audit_law(a, i);
    return NULL;
}

static inline const cls_law *law(const cls_audit *a, const char *name) {
    const cls_law *found = find_law(a, name);
    if (!found) fail_msg("there is no law \"%s\"", name);
    return found;
}

static inline void assert_all_pass(const cls_audit *a) {
    for (size_t i = 0; i < cls_audit_count(a); i++) {
        const cls_law *l = cls_audit_law(a, i);
        if (!l->passed) fail_msg("%s: %s (%g, limit %g)", l->name, l->text, l->value, l->limit);
    }
    assert_true(cls_audit_passed(a));
}

/* The law fails and its sentence contains `hint`. */
static inline void assert_broken(const cls_audit *a, const char *name, const char *hint) {
    const cls_law *l = law(a, name);
    if (l->passed) fail_msg("%s passed: %s", name, l->text);
    if (!strstr(l->text, hint)) fail_msg("%s: \"%s\" does not say \"%s\"", name, l->text, hint);
    assert_false(cls_audit_passed(a));
}

/* The damped oscillator q'' = -q - gamma q', q(0) = 0, v(0) = 1, in closed form; its heat goes to a
 * reservoir of temperature T. */
typedef struct oscillator {
    double gamma, T, h;
} oscillator;

static inline void oscillator_at(const oscillator *o, double t, double *q, double *v, double *S) {
    double w = sqrt(1 - o->gamma * o->gamma / 4), e = exp(-o->gamma * t / 2);
    *q = e * sin(w * t) / w;
    *v = e * (cos(w * t) - o->gamma / (2 * w) * sin(w * t));
    *S = (1 - *q * *q - *v * *v) / (2 * o->T);
}

#define OSCILLATOR_HEAD                                                                            \
    "system \"oscillator\"\n"                                                                      \
    "coordinate q in (-2, 2)\n"                                                                    \
    "entropy S\n"                                                                                  \
    "parameter gamma = 0.1, T0 = 2\n"                                                              \
    "lagrangian v.q^2/2 - q^2/2 - T0*S\n"
#define OSCILLATOR OSCILLATOR_HEAD "friction on S: q <- -gamma*v.q\n"

#endif
