/* Parameter values that the data allow as well as those of the model: the members of an ensemble that
 * was learned with it, else draws from the covariance of its parameters. Both stand in the provenance:
 * parameters (name, value, error), covariance (rows of their seen directions), ensemble (rows of
 * values). Of functions that were learned by simulations: spread, the covariance of their coefficients
 * and of the parameters behind them. */
#include "base/misuse.h"
#include "base/base.h"
#include "model/model.h"
#include <clausius/random.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The assignment of the model that has this name; NULL: none. */
static const char *own_name(const cls_model *m, const char *name) {
    for (size_t i = 0; i < m->n_set && name; i++)
        if (strcmp(m->set_names[i], name) == 0) return m->set_names[i];
    return NULL;
}

size_t cls_model_doubt_count(const cls_model *m) {
    if (!m) return 0;
    size_t n = json_array_size(json_object_get(m->told, "parameters"));
    int told = json_array_size(json_object_get(m->told, "covariance")) == n ||
               json_array_size(json_object_get(m->told, "ensemble")) > 0;
    return told ? n : 0;
}

size_t cls_model_member_count(const cls_model *m) {
    return m ? json_array_size(json_object_get(m->told, "ensemble")) : 0;
}

double cls_model_test_from(const cls_model *m) {
    if (!m) return NAN;
    const json_t *split = json_object_get(m->told, "split"), *from = json_array_get(split, 0);
    return json_array_size(split) == 1 && json_is_number(from) ? json_number_value(from) : NAN;
}

static double number_at(const json_t *row, size_t i) {
    return json_number_value(json_array_get(row, i));
}

/* value + L e with C = L L^T, e of the member's own random numbers; directions without variance stay. */
static int draw(const json_t *covariance, size_t n, uint64_t number, double *values) {
    double *L = clsi_calloc(n * n + n, sizeof *L), *e = L + n * n;
    cls_random random;
    if (!L) return 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = number_at(json_array_get(covariance, i), j), top = sum;
            for (size_t k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
            if (i == j)
                L[i * n + i] = sum > 1e-12 * top && top > 0 ? sqrt(sum) : 0;
            else
                L[i * n + j] = L[j * n + j] > 0 ? sum / L[j * n + j] : 0;
        }
    cls_random_seed(&random, number + 1);
    for (size_t i = 0; i < n; i++) e[i] = cls_random_normal(&random);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) values[i] += L[i * n + j] * e[j];
    free(L);
    return 1;
}

/* No draw leaves the bounds that the file gives. */
static void keep_inside(const cls_system *s, size_t n, const char **names, double *values) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s->n_parameters; k++) {
            const clsi_variable *p = &s->parameter[k];
            if (strcmp(p->name, names[i]) != 0 || !(p->high > p->low)) continue;
            values[i] = fmin(fmax(values[i], p->low), p->high);
        }
}

cls_status cls_model_member(const cls_model *m, uint64_t number, const char **names, double *values,
                            cls_error *error) {
    NEED(error, m);
    unsigned long before = clsi_failures();
    const json_t *list = json_object_get(m->told, "parameters"),
                 *ensemble = json_object_get(m->told, "ensemble"),
                 *covariance = json_object_get(m->told, "covariance");
    size_t n = json_array_size(list), members = json_array_size(ensemble);
    cls_status status = CLS_OK;
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        const json_t *one = json_array_get(list, i);
        names[i] = own_name(m, json_string_value(json_object_get(one, "name")));
        values[i] = json_number_value(json_object_get(one, "value"));
        if (!names[i])
            status = clsi_fail(error, CLS_DATA, "the provenance of %s names no parameter of it",
                               m->name);
    }
    if (status == CLS_OK && members) {
        const json_t *row = json_array_get(ensemble, (size_t)(number % members));
        for (size_t i = 0; i < n; i++) values[i] = number_at(row, i);
    } else if (status == CLS_OK && json_array_size(covariance) == n && n) {
        if (!draw(covariance, n, number, values)) status = clsi_no_memory(error);
    } else if (status == CLS_OK) {
        status =
            clsi_fail(error, CLS_USAGE,
                      "%s does not say how sure its parameters are: learn unknown parameters of "
                      "a recording (`parameter k = unknown`), perhaps with --ensemble",
                      m->name);
    }
    if (status == CLS_OK) keep_inside(m->system, n, names, values);
    return clsi_failed_since(before, status, error);
}

/* ---- functions ---- */

static size_t vary_size(const cls_model *m) {
    const json_t *spread = json_object_get(m->told, "spread");
    size_t n = m->n_theta + json_array_size(json_object_get(m->told, "parameters"));
    return m->n_theta && json_array_size(spread) == n ? n : 0;
}

int cls_model_can_vary(const cls_model *m) {
    return m && vary_size(m) > 0;
}

/* Coefficients first, then the parameters that were learned beside them. */
cls_status cls_model_vary(cls_model *m, uint64_t number, cls_error *error) {
    NEED(error, m);
    unsigned long before = clsi_failures();
    const json_t *list = json_object_get(m->told, "parameters");
    size_t n = vary_size(m), Q = n ? n - m->n_theta : 0;
    double *values = clsi_calloc(n + 1, sizeof *values);
    const char **names = clsi_calloc(Q + 1, sizeof *names);
    cls_status status = values && names ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK && !n)
        status = clsi_fail(error, CLS_USAGE, "%s does not say how sure its functions are", m->name);
    if (status == CLS_OK) memcpy(values, m->theta, m->n_theta * sizeof *values);
    for (size_t i = 0; i < Q && status == CLS_OK; i++) {
        const json_t *one = json_array_get(list, i);
        names[i] = own_name(m, json_string_value(json_object_get(one, "name")));
        values[m->n_theta + i] = json_number_value(json_object_get(one, "value"));
    }
    if (status == CLS_OK && !draw(json_object_get(m->told, "spread"), n, number, values))
        status = clsi_no_memory(error);
    if (status == CLS_OK) {
        memcpy(m->theta, values, m->n_theta * sizeof *values);
        for (size_t i = 0; i < Q; i++) {
            double *value = values + m->n_theta + i;
            if (!names[i]) continue;
            keep_inside(m->system, 1, &names[i], value);
            for (size_t k = 0; k < m->n_set; k++)
                if (m->set_names[k] == names[i]) m->set_values[k] = *value;
        }
        status = clsi_model_build(m, error);
    }
    free(values);
    free(names);
    return clsi_failed_since(before, status, error);
}
