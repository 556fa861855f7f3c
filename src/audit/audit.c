/* The judge's public face: options, the list of laws, and the order in which they are tried.
 *
 * Problem: given a system's definition and a table of states, say whether the laws of
 * thermodynamics hold. The states may come from any program; nothing of clausius that moves states
 * is used here (docs/laws.md, L7). Cost: linear in rows and samples. Not promised: that a law of
 * the definition holds between the sampled points. */
#include "base/locale.h"
#include "base/misuse.h"
#include "base/options.h"
#include "audit/audit.h"
#include <clausius/options.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

cls_audit_options cls_audit_defaults(void) {
    return (cls_audit_options){.size = sizeof(cls_audit_options),
                               .energy_limit = 1e-12,
                               .invariant_limit = 1e-12,
                               .entropy_limit = 2e-15,
                               .beyond = 2,
                               .samples = 4096,
                               .order_expected = 0};
}

#define AT(field) offsetof(cls_audit_options, field)
const cls_option *cls_audit_option_table(size_t *n) {
    if (!n) return NULL;
    static const cls_option table[] = {
        {"energy-limit", CLS_OPTION_REAL, AT(energy_limit), 1e-12, 0, INFINITY, NULL, NULL, 0, 0,
         "relative energy drift allowed"},
        {"invariant-limit", CLS_OPTION_REAL, AT(invariant_limit), 1e-12, 0, INFINITY, NULL, NULL, 0,
         0, "relative drift of invariants allowed"},
        {"entropy-limit", CLS_OPTION_REAL, AT(entropy_limit), 2e-15, 0, INFINITY, NULL, NULL, 0, 0,
         "a row may lie this part of |S| below the highest before it"},
        {"beyond", CLS_OPTION_REAL, AT(beyond), 2, 1, 1e6, NULL, NULL, 0, 0,
         "the state laws are also checked in a box this much larger than the data"},
        {"samples", CLS_OPTION_SIZE, AT(samples), 4096, 0, 1e8, NULL, NULL, 0, 0,
         "points of that box"},
        {"order-expected", CLS_OPTION_REAL, AT(order_expected), 0, 0, INFINITY, NULL, NULL, 0, 0,
         "0: order is printed, not judged"},
    };
    *n = sizeof table / sizeof *table;
    return table;
}
#undef AT

static double readable(double x) {
    if (isnan(x)) return DBL_MAX;
    return fmax(-DBL_MAX, fmin(DBL_MAX, x));
}

cls_status clsi_law_add(cls_audit *a, const char *kind, const char *subject, int passed,
                        double value, double limit, cls_error *error, const char *format, ...) {
    if (!clsi_grow(&a->laws, &a->capacity, a->n + 1, sizeof *a->laws)) return clsi_no_memory(error);
    cls_law *law = &a->laws[a->n++];
    *law = (cls_law){.passed = passed, .value = readable(value), .limit = readable(limit)};
    law->finding = !strcmp(kind, "momentum at rest") || !strcmp(kind, "convexity") ||
                   !strcmp(kind, "laws") || !strcmp(kind, "entropy in the mean");
    snprintf(law->name, sizeof law->name, "%s%s%s", kind, subject ? " " : "",
             subject ? subject : "");
    va_list args;
    va_start(args, format);
    clsi_vsnprintf(law->text, sizeof law->text, format, args);
    va_end(args);
    return CLS_OK;
}

/* Laws that hold, of one kind, more than this many: one line says them all. */
enum { MOST_LISTED = 8 };
static const char *const elementwise[] = {"dissipation ", "heat exchange ", "reservoir positive "};

/* Of the laws from `begin` on that hold and whose name begins with `kind` (and a space) the one with the
 * least value is kept, in the place of the first, and says of how many it is the worst. */
static void gather(cls_audit *a, size_t begin, const char *kind) {
    size_t length = strlen(kind), first = SIZE_MAX, worst = SIZE_MAX, count = 0, kept = begin;
    for (size_t i = begin; i < a->n; i++) {
        if (!a->laws[i].passed || strncmp(a->laws[i].name, kind, length) != 0) continue;
        if (!count++) first = i;
        if (worst == SIZE_MAX || a->laws[i].value < a->laws[worst].value) worst = i;
    }
    if (count <= MOST_LISTED) return;
    cls_law law = a->laws[worst];
    snprintf(law.name, sizeof law.name, "%.*s", (int)length - 1, kind);
    snprintf(law.text, sizeof law.text, "for %zu elements, the worst %.40s: %.160s", count,
             a->laws[worst].name + length, a->laws[worst].text);
    for (size_t i = begin; i < a->n; i++) {
        int gone = a->laws[i].passed && !strncmp(a->laws[i].name, kind, length);
        if (i == first) a->laws[kept++] = law;
        if (!gone) a->laws[kept++] = a->laws[i];
    }
    a->n = kept;
}

void clsi_laws_gather(cls_audit *a, size_t begin) {
    for (size_t k = 0; k < sizeof elementwise / sizeof *elementwise; k++)
        gather(a, begin, elementwise[k]);
}

cls_status clsi_audit_program(const cls_system *s, size_t count, const cls_node *nodes,
                              cls_program **out, cls_error *error) {
    *out = NULL;
    cls_status status = cls_graph_status(s->g, error);
    if (status) return status;
    size_t nz = s->form->nz;
    cls_node *inputs = clsi_calloc(nz + 1 + s->nu, sizeof *inputs);
    if (!inputs) return clsi_no_memory(error);
    memcpy(inputs, s->form->z, nz * sizeof *inputs);
    inputs[nz] = s->t;
    for (size_t k = 0; k < s->nu; k++) inputs[nz + 1 + k] = s->u[k];
    status = cls_program_create(s->g, nz + 1 + s->nu, inputs, count, nodes, out, error);
    free(inputs);
    return status;
}

cls_status clsi_audit_native(const cls_system *s, size_t count, const cls_node *nodes,
                             cls_node *out, cls_error *error) {
    const clsi_form *f = s->form;
    clsi_place at = {.q = f->q, .v = f->v, .p = f->p, .S = f->S, .T = f->T, .t = s->t};
    if (clsi_place_at(s, &at, count, nodes, out) == CLS_OK) return CLS_OK;
    cls_status status = cls_graph_status(s->g, error);
    return status ? status : clsi_no_memory(error);
}

static cls_status take_options(const cls_audit_options *given, cls_audit_options *o,
                               cls_error *error) {
    size_t n;
    const cls_option *rows = cls_audit_option_table(&n);
    *o = cls_audit_defaults();
    TAKE_OPTIONS(o, given);
    o->size = sizeof *o;
    return clsi_options_in_range(n, rows, o, error);
}

cls_status cls_audit_trajectory(const cls_system *s, const cls_table *t,
                                const cls_audit_options *options, cls_audit **out,
                                cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, s);
    NEED(error, t);
    *out = NULL;
    cls_audit *a = clsi_calloc(1, sizeof *a);
    if (!a) return clsi_no_memory(error);
    clsi_states st = {0};
    cls_system *view = NULL;
    cls_status status = take_options(options, &a->options, error);
    if (!status) status = clsi_system_view(s, &view, error);
    if (!status) status = clsi_states_read(view, t, &st, error);
    if (!status) status = clsi_audit_path(a, view, t, &st, error);
    size_t of_path = a->n;
    if (!status && !s->ode) status = clsi_audit_definition(a, view, &st, error);
    if (!status) clsi_laws_gather(a, of_path);
    clsi_states_clear(&st);
    clsi_system_view_free(&view);
    if (status) cls_audit_free(&a);
    *out = a;
    return status;
}

void cls_audit_free(cls_audit **a) {
    if (!a) return;
    if (!a || !*a) return;
    free((*a)->laws);
    free(*a);
    *a = NULL;
}

int cls_audit_passed(const cls_audit *a) {
    if (!a) return 0;
    for (size_t i = 0; i < a->n; i++)
        if (!a->laws[i].passed) return 0;
    return 1;
}

size_t cls_audit_count(const cls_audit *a) {
    if (!a) return 0;
    return a->n;
}

const cls_law *cls_audit_law(const cls_audit *a, size_t i) {
    if (!a) return NULL;
    if (i >= cls_audit_count(a)) return NULL;
    return i < a->n ? &a->laws[i] : NULL;
}
