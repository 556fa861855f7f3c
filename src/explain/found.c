/* What was found: a list that owns its texts, and the table for a person. */
#include "base/locale.h"
#include "base/misuse.h"
#include "explain/explain.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *cls_found_kind_name(cls_found_kind kind) {
    static const char *const names[] = {"linear", "quadratic", "symmetry", "casimir", "gauge"};
    return (unsigned)kind <= CLS_FOUND_GAUGE ? names[kind] : NULL;
}

void clsi_term_print(clsi_text *t, double factor, const char *term) {
    int first = t->length == 0;
    char number[CLSI_NUMBER];
    double size = fabs(factor), near = round(size * 1e6) / 1e6;
    if (fabs(size - near) < 1e-9 * size) size = near;
    clsi_snprintf(number, sizeof number, "%.6g", size);
    clsi_text_append(t, factor < 0 ? (first ? "-" : " - ") : first ? "" : " + ");
    int one = strcmp(term, "1") == 0;
    if (size != 1 || one) clsi_text_printf(t, one ? "%s" : "%s*", number);
    if (!one) clsi_text_append(t, term);
}

cls_status clsi_found_add(cls_invariants *f, cls_found *what, char *formula, char *name, char *why,
                          char *fixed_by, cls_error *error) {
    int fine = formula && name && why && fixed_by &&
               clsi_grow(&f->list, &f->capacity, f->n + 1, sizeof *f->list);
    what->formula = formula;
    what->name = name;
    what->why = why;
    what->fixed_by = fixed_by;
    if (fine) {
        f->list[f->n++] = *what;
        return CLS_OK;
    }
    free(formula);
    free(name);
    free(why);
    free(fixed_by);
    return clsi_no_memory(error);
}

void cls_invariants_free(cls_invariants **found) {
    if (!found || !*found) return;
    cls_invariants *f = *found;
    for (size_t i = 0; i < f->n; i++) {
        free((char *)f->list[i].formula);
        free((char *)f->list[i].name);
        free((char *)f->list[i].why);
        free((char *)f->list[i].fixed_by);
    }
    free(f->list);
    free(f->title);
    free(f->notes);
    free(f);
    *found = NULL;
}

size_t cls_invariants_count(const cls_invariants *found) {
    return found ? found->n : 0;
}
size_t cls_invariants_states(const cls_invariants *found) {
    return found ? found->states : 0;
}

const cls_found *cls_invariants_at(const cls_invariants *found, size_t i) {
    return found && i < found->n ? &found->list[i] : NULL;
}

static void print_law(clsi_text *t, const cls_found *w) {
    clsi_text_printf(t, "  %s\n", w->formula);
    if (*w->name) clsi_text_printf(t, "      %s\n", w->name);
    clsi_text_printf(t, "      to %.1f digits%s", w->digits, w->exact ? "" : ", nearly");
    if (isfinite(w->drift)) clsi_text_printf(t, "; drift along the motion %.1e", w->drift);
    clsi_text_printf(t, "; %s\n", w->why);
}

static void print_gauge(clsi_text *t, const cls_found *w) {
    clsi_text_printf(t, "  %s\n      %s: %s\n      %s: %s\n", w->formula, w->name, w->why,
                     w->open ? "open; what would fix it" : "fixed here", w->fixed_by);
}

static const struct {
    cls_found_kind from, to;
    const char *head, *none;
} sections[] = {
    {CLS_FOUND_LINEAR, CLS_FOUND_QUADRATIC, "invariants besides the energy",
     "none, linear or quadratic in positions, momenta and entropies"},
    {CLS_FOUND_SYMMETRY, CLS_FOUND_SYMMETRY,
     "symmetries of the energy whose momentum does not stay", NULL},
    {CLS_FOUND_CASIMIR, CLS_FOUND_CASIMIR, "Casimir functions of the bracket", NULL},
    {CLS_FOUND_GAUGE, CLS_FOUND_GAUGE, "gauge directions: what no observation can tell", NULL},
};

cls_status cls_invariants_show(const cls_invariants *found, char **text, cls_error *error) {
    NEED(error, text);
    *text = NULL;
    NEED(error, found);
    clsi_text t = {0};
    clsi_text_printf(&t, "%s, tried at %zu states\n", found->title, found->states);
    for (size_t k = 0; k < sizeof sections / sizeof *sections; k++) {
        size_t n = 0;
        for (size_t i = 0; i < found->n; i++) {
            const cls_found *w = &found->list[i];
            if (w->kind < sections[k].from || w->kind > sections[k].to) continue;
            if (!n++) clsi_text_printf(&t, "\n%s\n", sections[k].head);
            if (w->kind == CLS_FOUND_GAUGE)
                print_gauge(&t, w);
            else
                print_law(&t, w);
        }
        if (!n && sections[k].none)
            clsi_text_printf(&t, "\n%s\n  %s\n", sections[k].head, sections[k].none);
    }
    if (found->notes && *found->notes) clsi_text_printf(&t, "\n%s", found->notes);
    *text = clsi_text_take(&t);
    return *text ? CLS_OK : clsi_no_memory(error);
}
