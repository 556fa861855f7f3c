/* The table of field kinds, specs such as "chebyshev(8)" read, and second derivatives.
 *
 * Second derivatives (masses, heat capacities) are exact for the kinds that have second_rows and
 * central differences of exact gradients for the others: two gradients each, accurate to about 1e-8
 * of the field's size, enough for conditions that enter with a weight. */
#include "field/field.h"
#include "base/base.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

extern const clsi_field_kind clsi_field_chebyshev, clsi_field_monomial, clsi_field_terms,
    clsi_field_network, clsi_field_convex;

static const clsi_field_kind *const kinds[] = {&clsi_field_chebyshev, &clsi_field_monomial,
                                               &clsi_field_terms, &clsi_field_network,
                                               &clsi_field_convex};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static const clsi_field_kind *find_kind(const char *spec, size_t length) {
    for (size_t i = 0; i < N_KINDS; i++)
        if (strlen(kinds[i]->name) == length && memcmp(kinds[i]->name, spec, length) == 0)
            return kinds[i];
    return NULL;
}

static size_t word_length(const char *spec) {
    size_t length = 0;
    while (isalpha((unsigned char)spec[length])) length++;
    return length;
}

const clsi_field_kind *clsi_field_kind_of(const char *spec) {
    return find_kind(spec, word_length(spec));
}

static cls_status unknown_kind(const char *spec, size_t length, cls_error *error) {
    const char *names[N_KINDS];
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), spec);
    for (size_t i = 0; i < N_KINDS; i++) names[i] = kinds[i]->name;
    const char *near = cls_nearest_word(word, N_KINDS, names);
    return clsi_fail(error, CLS_USAGE,
                     "there is no field '%s'%s%s%s; there are chebyshev(DEGREE), monomial(DEGREE), "
                     "terms(FORMULA; FORMULA; ...) and network(WIDTH, WIDTH, ...)",
                     word, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* ---- words for the learner ---- */

static const char *const words[] = {"plain",    "square",   "gyroscopic", "convex",
                                    "cholesky", "rotation", "unscaled"};
enum { N_WORDS = sizeof words / sizeof *words };

/* Where the last argument of text[0..length) begins, spaces before it included in the cut. */
static size_t last_argument(const char *text, size_t length, size_t *cut) {
    size_t at = length;
    while (at > 0 && text[at - 1] != ',' && text[at - 1] != ';' && text[at - 1] != '(') at--;
    *cut = at > 0 && text[at - 1] == ',' ? at - 1 : at;
    while (at < length && text[at] == ' ') at++;
    return at;
}

/* Which word the text ends with, and how long it is without; N_WORDS: none. */
static size_t word_at_end(const char *text, size_t *length) {
    size_t end = *length, cut;
    while (end > 0 && text[end - 1] == ' ') end--;
    size_t at = last_argument(text, end, &cut), w = 0;
    while (w < N_WORDS && (strlen(words[w]) != end - at || strncmp(text + at, words[w], end - at)))
        w++;
    if (w < N_WORDS) *length = cut;
    return w;
}

int clsi_field_word(const char *spec, const char *word) {
    size_t length = spec ? strlen(spec) : 0, w;
    if (length < 2 || spec[length - 1] != ')') return 0;
    length--;
    while ((w = word_at_end(spec, &length)) < N_WORDS)
        if (strcmp(words[w], word) == 0) return 1;
    return 0;
}

static cls_status create(clsi_field *f, const char *spec, cls_error *error) {
    size_t length = word_length(spec), end = strlen(spec);
    f->kind = find_kind(spec, length);
    if (!f->kind) return unknown_kind(spec, length, error);
    if (spec[length] != '(' || end < 2 || spec[end - 1] != ')')
        return clsi_fail(error, CLS_USAGE, "expected %s(...), found '%s'", f->kind->name, spec);
    size_t inside = end - 1;
    while (word_at_end(spec, &inside) < N_WORDS) continue;
    char *arguments = clsi_strndup(spec + length + 1, inside - length - 1);
    f->spec = clsi_strdup(spec);
    cls_status status =
        arguments && f->spec ? f->kind->create(f, arguments, error) : clsi_no_memory(error);
    free(arguments);
    return status;
}

cls_status clsi_field_create(size_t d, const char *spec, const char *const *names, clsi_field **out,
                             cls_error *error) {
    *out = NULL;
    if (d < 1 || d > CLSI_FIELD_MAX_INPUTS)
        return clsi_fail(error, CLS_USAGE, "a field has from 1 to %d inputs, not %zu",
                         (int)CLSI_FIELD_MAX_INPUTS, d);
    clsi_field *f = clsi_calloc(1, sizeof *f);
    if (!f) return clsi_no_memory(error);
    f->d = d;
    f->names = names;
    cls_status status = create(f, spec, error);
    f->names = NULL;
    if (status == CLS_OK)
        *out = f;
    else
        clsi_field_free(&f);
    return status;
}

void clsi_field_free(clsi_field **field) {
    clsi_field *f = *field;
    if (!f) return;
    if (f->kind && f->kind->clear && f->data) f->kind->clear(f);
    free(f->data);
    free(f->spec);
    free(f);
    *field = NULL;
}

cls_node clsi_field_expression(const clsi_field *f, cls_graph *g, const cls_node *x,
                               const double *theta) {
    cls_node *constants = clsi_calloc(f->n_parameters, sizeof *constants), phi = CLS_NO_NODE;
    for (size_t k = 0; constants && k < f->n_parameters; k++)
        constants[k] = cls_constant(g, theta[k]);
    if (constants) phi = f->kind->expression(f, g, x, constants);
    free(constants);
    return phi;
}

cls_node clsi_field_node(const clsi_field *f, cls_graph *g, const cls_node *x,
                         const double *theta) {
    return f->kind->node ? f->kind->node(f, g, x, theta) : clsi_field_expression(f, g, x, theta);
}

/* ---- second derivatives ---- */

double clsi_field_second(const clsi_field *f, const double *theta, const double *x, size_t i,
                         size_t j, double *row, double *scratch) {
    double sum = 0, one = 1;
    memset(row, 0, f->n_parameters * sizeof *row);
    f->kind->second_rows(f, theta, 1, x, i, j, &one, f->n_parameters, row, scratch);
    for (size_t k = 0; k < f->n_parameters; k++) sum += row[k] * theta[k];
    return sum;
}
