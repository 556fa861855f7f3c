/* Names of physics as identifiers: v.x becomes v_x, p.theta' p_theta_, a name that C has taken gets
 * a _ at its end, and two that would be the same get numbers. The header keeps the map. */
#include "export/export.h"
#include "expr/kernels.h"
#include "field/network_node.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const taken[] = {
    /* C, C++ and JavaScript; and what <math.h> and the texts bring */
    "auto",     "break",    "case",   "char",      "class",   "const",    "continue", "default",
    "delete",   "do",       "double", "else",      "enum",    "export",   "extern",   "float",
    "for",      "function", "goto",   "if",        "import",  "in",       "inline",   "int",
    "let",      "long",     "main",   "namespace", "new",     "operator", "private",  "public",
    "register", "restrict", "return", "short",     "signed",  "sizeof",   "static",   "struct",
    "switch",   "template", "this",   "throw",     "try",     "typedef",  "typename", "typeof",
    "union",    "unsigned", "using",  "var",       "virtual", "void",     "volatile", "while",
    "with",     "yield",    "NAN",    "INFINITY",  "exp",     "log",      "sin",      "cos",
    "tan",      "sqrt",     "pow",    "fabs",      "erf",     "math"};

static int is_taken(const char *word) {
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
        if (!strcmp(word, taken[k])) return 1;
    return 0;
}

static int is_used(const char *word, const clsi_lookup *others) {
    return others && clsi_lookup_find(others, word) != SIZE_MAX;
}

char *clsi_identifier(const char *name, const clsi_lookup *others) {
    clsi_text text = {0};
    if (!isalpha((unsigned char)name[0])) clsi_text_append(&text, "x");
    for (const char *c = name; *c; c++) {
        /* one _ for each foreign character; of UTF-8 only the first byte counts */
        if (((unsigned char)*c & 0xc0) == 0x80) continue;
        clsi_text_append_n(&text, isalnum((unsigned char)*c) && !(*c & 0x80) ? c : "_", 1);
    }
    char *ident = clsi_text_take(&text);
    if (!ident) return NULL;
    if (!is_taken(ident) && !is_used(ident, others)) return ident;
    for (int k = is_taken(ident) ? 1 : 2;; k++) {
        clsi_text_printf(&text, k == 1 ? "%s_" : "%s_%d", ident, k);
        char *other = clsi_text_take(&text);
        if (other && is_used(other, others)) {
            free(other);
            continue;
        }
        free(ident);
        return other;
    }
}

/* Is `word` a word of this C, outside of comments? */
static int is_in(const char *text, const char *word) {
    size_t n = strlen(word);
    for (const char *s = text; *s;) {
        const char *from = s;
        if (s[0] == '/' && s[1] == '*') {
            const char *end = strstr(s, "*/");
            s = end ? end + 2 : s + strlen(s);
        } else if (isalnum((unsigned char)*s) || *s == '_') {
            while (isalnum((unsigned char)*s) || *s == '_') s++;
            if ((size_t)(s - from) == n && !memcmp(from, word, n)) return 1;
        } else {
            s++;
        }
    }
    return 0;
}

/* Names that the exported functions have inside: a type of this name would be hidden there. */
int clsi_is_local(const char *word) {
    const char *const texts[] = {clsi_kernels_text,
                                 clsi_pairs_text,
                                 clsi_network_node_text,
                                 clsi_dense_text,
                                 clsi_sparse_lu_text,
                                 clsi_newton_text,
                                 clsi_step_text,
                                 clsi_lawful_text,
                                 clsi_export_model_text,
                                 clsi_export_slopes_text,
                                 clsi_export_dense_slopes_text,
                                 clsi_export_main_text,
                                 clsi_export_fmu_text,
                                 clsi_export_fmi2_text,
                                 clsi_export_fmi3_text};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        if (is_in(texts[k], word)) return 1;
    static const char *const written[] = {"point", "keep", "room", "received", "outside"};
    for (size_t k = 0; k < sizeof written / sizeof *written; k++)
        if (!strcmp(word, written[k])) return 1;
    /* x1, r2, ... of programs */
    return strspn(word + 1, "0123456789") == strlen(word + 1);
}

cls_status clsi_check_prefix(const char *prefix, cls_error *error) {
    size_t n = strspn(prefix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (isalpha((unsigned char)prefix[0]) && !prefix[n] && n < 48 && !is_taken(prefix) &&
        !clsi_is_local(prefix) && strncmp(prefix, "clsi_", 5) != 0)
        return CLS_OK;
    return clsi_fail(error, CLS_USAGE,
                     "--prefix %.60s: a prefix is a letter, then letters, digits and _, 2 to 47 of "
                     "them, and no word of C or of the exported functions",
                     prefix);
}

/* Slots of a start: q, v, p, S, T. */
static size_t slot_of(const cls_system *s, size_t k, int dual) {
    int phase = s->form->kind == CLSI_FORM_PHASE, thermal = s->form->kind == CLSI_FORM_THERMAL;
    size_t nq = s->nq, n = s->n;
    if (k < nq) return k;
    if (k < nq + n) return k + (phase != dual ? n : 0);
    return k + n + (thermal != dual ? s->m : 0);
}

const char *clsi_dual_name(const clsi_export *e, size_t k) {
    const cls_system *s = e->s;
    if (k < s->nq || s->ode) return NULL;
    const cls_node *list = k < s->nq + s->n ? (s->form->kind == CLSI_FORM_PHASE ? s->v : s->p)
                                            : (s->form->kind == CLSI_FORM_THERMAL ? s->S : s->T);
    return cls_node_name(s->g, list[k - s->nq - (k < s->nq + s->n ? 0 : s->n)]);
}

static int gives_dual(const clsi_export *e, size_t k) {
    return k >= e->s->nq && isnan(e->s->start[slot_of(e->s, k, 0)]) &&
           !isnan(e->s->start[slot_of(e->s, k, 1)]);
}

const char *clsi_start_name(const clsi_export *e, size_t k, int native) {
    return native || !gives_dual(e, k) ? e->states[k].name : clsi_dual_name(e, k);
}

double clsi_start_value(const clsi_export *e, size_t k) {
    return e->native_start || !gives_dual(e, k) ? e->start[k] : e->s->start[slot_of(e->s, k, 1)];
}

int clsi_column_gives(const clsi_export *e, size_t c) {
    return e->gives[c];
}

int clsi_find_gives(clsi_export *e) {
    size_t nz = e->sp->nz;
    clsi_lookup by = {0};
    e->gives = clsi_calloc(e->n_columns, sizeof *e->gives);
    if (!e->gives || !clsi_lookup_create(e->n_state, &by)) return 0;
    for (size_t k = 0; k < nz; k++) {
        const char *name = clsi_dual_name(e, k);
        if (name) clsi_lookup_add(&by, name, k);
    }
    for (size_t k = nz; k < e->n_state; k++) clsi_lookup_add(&by, e->states[k].name, k);
    for (size_t c = 0; c < e->n_columns; c++) {
        size_t k = clsi_lookup_find(&by, e->columns[c].name);
        e->gives[c] = c > 0 && c <= nz ? (int)c - 1 : k == SIZE_MAX ? -1 : (int)k;
    }
    clsi_lookup_clear(&by);
    return 1;
}
