/* What a learned parameter belongs to, in words: the part, and the term of the basis that it is the
 * coefficient of. */
#include "base/base.h"
#include "base/misuse.h"
#include "model/model.h"
#include <stdio.h>
#include <string.h>

/* "T2(x) T1(y)" of Chebyshev polynomials, "x^2*y" of monomials; "1" where all powers are zero. */
static void basis_term(const clsi_learned *l, const unsigned char *powers, size_t size,
                       char *text) {
    int chebyshev = strcmp(l->field->kind->name, "chebyshev") == 0;
    size_t used = 0;
    text[0] = 0;
    for (size_t j = 0; j < l->d && used < size; j++) {
        int n = 0;
        if (!powers[j]) continue;
        if (chebyshev)
            n = snprintf(text + used, size - used, "%sT%u(%s)", used ? " " : "", powers[j],
                         l->input[j]);
        else if (powers[j] == 1)
            n = snprintf(text + used, size - used, "%s%s", used ? "*" : "", l->input[j]);
        else
            n = snprintf(text + used, size - used, "%s%s^%u", used ? "*" : "", l->input[j],
                         powers[j]);
        used += n > 0 ? (size_t)n : 0;
    }
    if (!used) snprintf(text, size, "1");
}

/* Formula k of "terms(1; v.x^2; v.x^2*T1^2)"; 0: the field is of another kind. */
static int own_term(const clsi_learned *l, size_t k, size_t size, char *text) {
    const char *s = strchr(l->field->spec, '(');
    if (strcmp(l->field->kind->name, "terms") != 0 || !s) return 0;
    for (s++; k; k--)
        if (!(s = strchr(s, ';')))
            return 0;
        else
            s++;
    s += strspn(s, " ");
    size_t n = strcspn(s, ";");
    if (!strchr(s, ';') && n && s[n - 1] == ')') n--; /* the end of the spec */
    while (n && s[n - 1] == ' ') n--;
    snprintf(text, size, "%.*s", (int)n, s);
    return 1;
}

cls_status cls_model_parameter_name(const cls_model *m, size_t i, const char **part, size_t size,
                                    char *text, cls_error *error) {
    NEED(error, m && part && text && size);
    for (size_t k = 0; k < m->n_learned; k++) {
        const clsi_learned *l = &m->learned[k];
        if (i < l->offset || i - l->offset >= l->field->n_parameters) continue;
        const unsigned char *powers = clsi_field_powers(l->field, i - l->offset);
        *part = l->part;
        if (powers)
            basis_term(l, powers, size, text);
        else if (!own_term(l, i - l->offset, size, text))
            snprintf(text, size, "parameter %zu", i - l->offset);
        return CLS_OK;
    }
    return clsi_fail(error, CLS_USAGE, "there is no parameter %zu, the model has %zu", i,
                     m->n_theta);
}
