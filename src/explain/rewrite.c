/* Formulas in the place of statements: the text of the system as it was, but for the parts that were
 * learned. Constants become parameters; what must not be negative is written as
 * (u + sqrt(u^2 + e^2))/2 unless it is a sum of squares, exponentials and powers of temperatures with
 * positive constants; the start is that of the model, in its own variables. */
#include "base/locale.h"
#include "base/misuse.h"
#include "base/unit.h"
#include "explain/formulas.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The formula of part i with its constants as names or numbers; the caller's. */
static char *formula_text(const cls_formula *f, int names) {
    clsi_text t = {0};
    char number[CLSI_NUMBER];
    for (size_t k = 0; k < f->n_terms; k++) {
        const cls_formula_term *term = &f->terms[k];
        int one = strcmp(term->text, "1") == 0;
        if (names)
            clsi_text_printf(&t, "%s%s%s%s", k ? " + " : "", term->name, one ? "" : "*",
                             one ? "" : term->text);
        else if (one) {
            clsi_snprintf(number, sizeof number, "%.6g", term->value);
            clsi_text_printf(&t, "%s%s", k ? " + " : "", number);
        } else
            clsi_term_print(&t, term->value, term->text);
    }
    if (names && f->constant != 0) {
        clsi_format_double(f->constant, number);
        clsi_text_printf(&t, " + (%s)", number);
    }
    if (!f->n_terms) clsi_text_append(&t, "0");
    return clsi_text_take(&t);
}

/* ---- statements ---- */

/* The statement at `at`: its end; lines that begin further right belong to it. */
static const char *statement_end(const char *at) {
    size_t base = strspn(at, " \t");
    const char *end = at + strcspn(at, "\n");
    while (*end) {
        const char *next = end + 1;
        size_t indent = strspn(next, " \t");
        if (!next[indent] || next[indent] == '\n' || next[indent] == '#' || indent <= base) break;
        end = next + strcspn(next, "\n");
    }
    return end;
}

static int word_at(const char *at, const char *word) {
    size_t n = strlen(word);
    return !strncmp(at, word, n) && !isalnum((unsigned char)at[n]) && at[n] != '_' && at[n] != '.';
}

/* Does the statement make the part? Where its formula begins, behind = or :. */
static const char *formula_of(const char *at, const char *end, const char *part,
                              clsi_part_kind kind) {
    static const char *const words[] = {
        "part",       "friction",           "heat exchange", "coefficient", "coupling",
        "lagrangian", "thermal lagrangian", "hamiltonian",   "energy",      "function"};
    at += strspn(at, " \t");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!word_at(at, words[i])) continue;
        const char *name = at + strlen(words[i]);
        name += strspn(name, " \t");
        if (!word_at(name, part)) continue;
        int colon = kind == CLSI_PART_FRICTION || i == 2;
        for (const char *c = name; c < end; c++)
            if (*c == (colon ? ':' : '=')) return c + 1;
    }
    return NULL;
}

/* The coordinate of a friction on one: as the statement says, or the only one. */
static const char *force_on(const cls_system *s, const char *formula, const char *end) {
    for (size_t j = 0; j < s->n; j++) {
        const char *name = clsi_force_on(s, j), *at = formula + strspn(formula, " \t");
        if (word_at(at, name) && memchr(at, '<', (size_t)(end - at))) return name;
    }
    return s->n == 1 ? clsi_force_on(s, 0) : NULL;
}

static void print_constants(clsi_text *t, const cls_formula *f, int open) {
    char number[CLSI_NUMBER];
    clsi_unit_meaning meaning;
    for (size_t k = 0; k < f->n_terms; k++) {
        const cls_formula_term *term = &f->terms[k];
        clsi_format_double(term->value, number);
        clsi_text_printf(t, "parameter %s = %s%s", term->name, open ? "unknown near " : "", number);
        if (*term->unit && clsi_unit_read(term->unit, &meaning))
            clsi_text_printf(t, " [%s]", term->unit);
        if (!open && isfinite(term->error)) clsi_text_printf(t, "   # +- %.2g", term->error);
        clsi_text_append(t, "\n");
    }
}

static cls_status print_part(const cls_formulas *all, size_t i, const char *at, const char *formula,
                             const char *end, int open, clsi_text *t, cls_error *error) {
    const cls_formula *f = &all->list[i];
    const cls_system *s = all->model->system;
    char *text = formula_text(f, 1), number[CLSI_NUMBER];
    if (!text) return clsi_no_memory(error);
    print_constants(t, f, open);
    int positive = all->floor[i] > 0;
    clsi_format_double(all->floor[i], number);
    if (positive) clsi_text_printf(t, "let %s_u = %s\n", f->part, text);
    clsi_text_append_n(t, at, (size_t)(formula - at));
    clsi_text value = {0};
    if (positive)
        clsi_text_printf(&value, "(%s_u + sqrt(%s_u^2 + %s^2))/2", f->part, f->part, number);
    else
        clsi_text_append(&value, text);
    free(text);
    char *written = clsi_text_take(&value);
    if (!written) return clsi_no_memory(error);
    cls_status status = CLS_OK;
    if (all->kind[i] == CLSI_PART_FRICTION) {
        const char *on = force_on(s, formula, end);
        size_t j = 0;
        while (on && j < s->n && strcmp(clsi_force_on(s, j), on) != 0) j++;
        if (!on)
            status = clsi_fail(error, CLS_USAGE, "the friction '%s' says no coordinate", f->part);
        else
            clsi_text_printf(t, " %s <- -(%s)*%s", on, written, cls_node_name(s->g, s->v[j]));
    } else
        clsi_text_printf(t, " %s", written);
    free(written);
    return status;
}

/* The start of the model: entropies have no origin once an energy is learned. */
static void print_start(const cls_model *m, clsi_text *t) {
    const clsi_form *f = m->system->form;
    char number[CLSI_NUMBER];
    clsi_text_append(t, "start ");
    for (size_t k = 0; k < m->n_start; k++) {
        clsi_format_double(m->start[k], number);
        clsi_text_printf(t, "%s%s = %s", k ? ", " : "", cls_node_name(m->system->g, f->z[k]),
                         number);
    }
}

cls_status clsi_formulas_rewrite(const cls_formulas *f, int open, char **text, cls_error *error) {
    const cls_model *m = f->model;
    clsi_text t = {0};
    size_t done = 0;
    cls_status status = CLS_OK;
    *text = NULL;
    if (m->n_set)
        return clsi_fail(
            error, CLS_USAGE,
            "the model was learned with other parameters than its file has (%s = ...); "
            "write them into the file, and learn again",
            m->set_names[0]);
    for (size_t i = 0; i < f->n; i++)
        if (!f->list[i].n_terms)
            return clsi_fail(error, CLS_USAGE, "'%s' has no formula: %s", f->list[i].part,
                             f->list[i].reason);
    for (const char *at = m->text; *at && status == CLS_OK;) {
        const char *end = statement_end(at), *formula = NULL;
        size_t i = 0;
        while (i < f->n && !(formula = formula_of(at, end, f->list[i].part, f->kind[i]))) i++;
        if (formula) {
            status = print_part(f, i, at, formula, end, open, &t, error);
            done++;
        } else if (word_at(at, "start") && m->n_start == m->system->form->nz)
            print_start(m, &t);
        else
            clsi_text_append_n(&t, at, (size_t)(end - at));
        if (*end) clsi_text_append(&t, "\n");
        at = *end ? end + 1 : end;
    }
    if (status == CLS_OK && done != f->n)
        status = clsi_fail(error, CLS_USAGE,
                           "the file of the model makes its parts in a way that formulas cannot be "
                           "put in (components, loops)");
    *text = clsi_text_take(&t);
    if (status != CLS_OK)
        cls_text_free(text);
    else if (!*text)
        status = clsi_no_memory(error);
    return status;
}

cls_status cls_formulas_source(const cls_formulas *formulas, char **text, cls_error *error) {
    NEED(error, text);
    *text = NULL;
    NEED(error, formulas);
    return clsi_formulas_rewrite(formulas, 0, text, error);
}

cls_status cls_formulas_write(const cls_formulas *formulas, const char *path, cls_error *error) {
    char *text = NULL;
    clsi_file file;
    cls_system *s = NULL;
    NEED(error, path);
    cls_status status = cls_formulas_source(formulas, &text, error);
    if (status == CLS_OK) status = cls_system_parse(text, path, NULL, &s, error); /* it runs */
    cls_system_free(&s);
    if (status == CLS_OK) status = clsi_file_open(&file, path, error);
    if (status == CLS_OK) {
        fputs(text, file.stream);
        status = clsi_file_commit(&file, error);
    }
    cls_text_free(&text);
    return status;
}

/* ---- for a person ---- */

static void print_formula(clsi_text *t, const cls_formula *f, int refitted) {
    char *text = formula_text(f, 0);
    clsi_text_printf(t, "\n%s, %s\n", f->part, f->what);
    if (!f->n_terms) {
        clsi_text_printf(t, "  no formula: %s\n", f->reason);
        free(text);
        return;
    }
    clsi_text_printf(t, "  %s%s\n", text ? text : "",
                     *f->form == 'p' && f->form[1] == 'o' ? "   (made positive by form)" : "");
    free(text);
    clsi_text_printf(t, "  off by %.2g of the learned function\n\n", f->error);
    clsi_text_printf(t, "  %-28s %14s %12s %10s  %s\n", "term", "constant", "+-", "without it",
                     refitted ? "" : "");
    for (size_t k = 0; k < f->n_terms; k++) {
        const cls_formula_term *x = &f->terms[k];
        clsi_text_printf(t, "  %-28s %14.6g %12.2g %10.2g  %s%s%s\n", x->text, x->value, x->error,
                         x->price, *x->unit ? "[" : "", x->unit, *x->unit ? "]" : "");
    }
    clsi_text_printf(t, "\n  %-6s %10s  %s\n", "terms", "error", "the best formula so long");
    for (size_t k = 0; k < f->n_steps; k++)
        clsi_text_printf(t, "  %-6zu %10.2g  %s\n", f->steps[k].terms, f->steps[k].error,
                         f->steps[k].formula);
}

cls_status cls_formulas_show(const cls_formulas *formulas, char **text, cls_error *error) {
    NEED(error, text);
    *text = NULL;
    NEED(error, formulas);
    clsi_text t = {0};
    unsigned long before = clsi_failures();
    clsi_text_printf(&t, "short formulas for what was learned of %s\nconstants and errors: %s\n",
                     formulas->model->name,
                     formulas->refitted
                         ? "fitted to the data by multiple shooting"
                         : "fitted to the learned functions inside the range of their "
                           "data (with --data: to the motions)");
    for (size_t i = 0; i < formulas->n; i++)
        print_formula(&t, &formulas->list[i], formulas->refitted);
    if (formulas->notes && *formulas->notes) clsi_text_printf(&t, "\n%s\n", formulas->notes);
    *text = clsi_text_take(&t);
    cls_status status = *text ? CLS_OK : clsi_no_memory(error);
    status =
        clsi_failed_since(before, status, error); /* a formula that is not there is no formula */
    if (status != CLS_OK) cls_text_free(text);
    return status;
}
