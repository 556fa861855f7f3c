/* The table of field kinds, and specs such as "chebyshev(8)" read. */
#include "field/field.h"
#include "base/base.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

extern const clsi_field_kind clsi_field_chebyshev, clsi_field_monomial, clsi_field_network;

static const clsi_field_kind *const kinds[] = {&clsi_field_chebyshev, &clsi_field_monomial,
                                               &clsi_field_network};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static const clsi_field_kind *find_kind(const char *spec, size_t length) {
    for (size_t i = 0; i < N_KINDS; i++)
        if (strlen(kinds[i]->name) == length && memcmp(kinds[i]->name, spec, length) == 0)
            return kinds[i];
    return NULL;
}

static cls_status unknown_kind(const char *spec, size_t length, cls_error *error) {
    const char *names[N_KINDS];
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), spec);
    for (size_t i = 0; i < N_KINDS; i++) names[i] = kinds[i]->name;
    const char *near = cls_nearest_word(word, N_KINDS, names);
    return clsi_fail(error, CLS_USAGE,
                     "there is no field '%s'%s%s%s; there are chebyshev(DEGREE), monomial(DEGREE) and "
                     "network(WIDTH, WIDTH, ...)",
                     word, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static cls_status create(clsi_field *f, const char *spec, cls_error *error) {
    size_t length = 0, end = strlen(spec);
    while (isalpha((unsigned char)spec[length])) length++;
    f->kind = find_kind(spec, length);
    if (!f->kind) return unknown_kind(spec, length, error);
    if (spec[length] != '(' || end < 2 || spec[end - 1] != ')')
        return clsi_fail(error, CLS_USAGE, "expected %s(...), found '%s'", f->kind->name, spec);
    char *arguments = clsi_strndup(spec + length + 1, end - length - 2);
    f->spec = clsi_strdup(spec);
    cls_status status = arguments && f->spec ? f->kind->create(f, arguments, error)
                                             : clsi_no_memory(error);
    free(arguments);
    return status;
}

cls_status clsi_field_create(size_t d, const char *spec, clsi_field **out, cls_error *error) {
    *out = NULL;
    if (d < 1 || d > CLSI_FIELD_MAX_INPUTS)
        return clsi_fail(error, CLS_USAGE, "a field has from 1 to %d inputs, not %zu",
                         (int)CLSI_FIELD_MAX_INPUTS, d);
    clsi_field *f = clsi_calloc(1, sizeof *f);
    if (!f) return clsi_no_memory(error);
    f->d = d;
    cls_status status = create(f, spec, error);
    if (status == CLS_OK)
        *out = f;
    else
        clsi_field_free(&f);
    return status;
}

void clsi_field_free(clsi_field **field) {
    clsi_field *f = *field;
    if (!f) return;
    free(f->data);
    free(f->spec);
    free(f);
    *field = NULL;
}
