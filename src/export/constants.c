/* Numbers that the programs of a model name more than once: constants with a name before them, c0, c1, ...
 *
 * A scale of an input, a coefficient of a formula, its half and its double stand in every program of a step, and a
 * hexadecimal number has twenty letters. Compilers put the value where the name is, so that nothing else changes.
 * Tables before functions stay, and so do the values that are read through volatile (emit_c.c).
 * Cost: the length of the text, and sorting its numbers. */
#include "base/base.h"
#include "export/programs.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct place {
    const char *s;
    size_t n;
    size_t at;   /* among all, in the order of the text */
    size_t name; /* 1 + its number; 0: it stands as it is */
} place;

typedef struct places {
    place *list;
    size_t n, room;
    int failed;
} places;

enum { WORTH = 12 }; /* letters; shorter ones are read as they are */

static int is_letter(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* The letters of a hexadecimal number with an exponent at s; 0: there is none. */
static size_t number_length(const char *s) {
    size_t n = 2;
    int exponent = 0;
    if (s[0] != '0' || s[1] != 'x') return 0;
    for (; is_letter(s[n]) || s[n] == '.' || ((s[n] == '+' || s[n] == '-') && s[n - 1] == 'p'); n++)
        exponent |= s[n] == 'p';
    return exponent ? n : 0;
}

static void push(places *p, const char *s, size_t n) {
    if (!clsi_grow(&p->list, &p->room, p->n + 1, sizeof *p->list)) {
        p->failed = 1;
        return;
    }
    p->list[p->n] = (place){s, n, p->n, 0};
    p->n++;
}

/* The numbers in functions. */
static void find_places(const char *s, places *p) {
    static const char fixed[] = "static const";
    int depth = 0;
    for (char before = '\n'; *s && !p->failed; before = *s, s++) {
        if ((depth ? before == ' ' : before == '\n') && !strncmp(s, fixed, strlen(fixed))) {
            while (*s && *s != ';') s++;
            if (!*s) return;
        }
        depth += (*s == '{') - (*s == '}');
        if (!depth || is_letter(before)) continue;
        size_t n = number_length(s);
        if (n >= WORTH) push(p, s, n);
        if (n) s += n - 1;
    }
}

static int compare_text(const void *a, const void *b) {
    const place *x = a, *y = b;
    int order = x->n == y->n ? memcmp(x->s, y->s, x->n) : x->n < y->n ? -1 : 1;
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static int compare_place(const void *a, const void *b) {
    const place *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* Names in the order in which they are met: `first` of each is the smallest place of its number. */
static int give_names(places *p) {
    size_t *first = clsi_calloc(p->n, sizeof *first), named = 0;
    if (!first) return 0;
    qsort(p->list, p->n, sizeof *p->list, compare_text);
    for (size_t k = 0, end; k < p->n; k = end) {
        for (end = k + 1; end < p->n && p->list[end].n == p->list[k].n &&
                          !memcmp(p->list[end].s, p->list[k].s, p->list[k].n);)
            end++;
        for (size_t i = k; i < end; i++) first[p->list[i].at] = end - k > 1 ? p->list[k].at + 1 : 0;
    }
    qsort(p->list, p->n, sizeof *p->list, compare_place);
    for (size_t k = 0; k < p->n; k++)
        if (first[k]) p->list[k].name = first[k] == k + 1 ? ++named : p->list[first[k] - 1].name;
    free(first);
    return 1;
}

static void append_declarations(clsi_text *out, const places *p) {
    size_t line = 0, named = 0;
    for (size_t k = 0; k < p->n; k++) {
        const place *x = &p->list[k];
        if (x->name != named + 1) continue;
        if (!named++) {
            clsi_text_append(out, "static const double ");
            line = out->length;
        } else if (out->length - line > 80) {
            clsi_text_append(out, ",\n  ");
            line = out->length;
        } else {
            clsi_text_append(out, ", ");
        }
        clsi_text_printf(out, "c%zu = %.*s", x->name - 1, (int)x->n, x->s);
    }
    clsi_text_append(out, named ? ";\n\n" : "");
}

cls_status clsi_name_constants(const char *text, clsi_text *out, cls_error *error) {
    places p = {0};
    find_places(text, &p);
    int whole = !p.failed && (!p.n || give_names(&p));
    if (whole) append_declarations(out, &p);
    for (size_t k = 0; whole && k < p.n; k++) {
        if (!p.list[k].name) continue;
        clsi_text_append_n(out, text, (size_t)(p.list[k].s - text));
        clsi_text_printf(out, "c%zu", p.list[k].name - 1);
        text = p.list[k].s + p.list[k].n;
    }
    clsi_text_append(out, text);
    free(p.list);
    return whole && !out->failed ? CLS_OK : clsi_no_memory(error);
}
