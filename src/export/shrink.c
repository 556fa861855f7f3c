/* A module made small for pages, without another number in it: functions that its class never reaches
 * are left out, registers of generated functions get short names, and blanks between words go. What runs
 * is what ran before.
 *
 * It knows the layout that translate.c writes: functions begin a line, texts stand in double quotes,
 * there are no comments. Cost: linear in the text, times the number of functions for what is reached. */
#include "export/translate.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 64 };

typedef struct piece {
    const char *s;
    size_t n;
    size_t name_n; /* of the function, behind "function "; 0: it is none */
    int used;
} piece;

typedef struct shrinker {
    piece *pieces;
    size_t n_pieces, capacity;
    /* (most + 1) of registers r: the short name that each has in the function `stamp` */
    size_t *names, *stamps;
    size_t most, stamp, n_short;
    clsi_text *out;
    int failed;
} shrinker;

static int is_letter(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static const char function[] = "function ";
static const size_t function_n = sizeof function - 1;

static int begins_function(const char *s) {
    return strncmp(s, function, function_n) == 0;
}

/* ---- words ---- */

/* The end of the word at s: a text, a name, a number with its exponent, or one character. */
static const char *word_end(const char *s) {
    const char *e = s + 1;
    if (*s == '"') {
        for (; *e && *e != '"'; e++)
            if (*e == '\\' && e[1]) e++;
        return *e ? e + 1 : e;
    }
    if (isdigit((unsigned char)*s)) {
        while (isalnum((unsigned char)*e) || *e == '.' ||
               ((*e == '-' || *e == '+') && (e[-1] == 'e' || e[-1] == 'E')))
            e++;
        return e;
    }
    if (is_letter(*s))
        while (is_letter(*e)) e++;
    return e;
}

/* ---- functions ---- */

static const char *function_end(const char *s) {
    int level = 0;
    for (const char *e; *s; s = e) {
        e = word_end(s);
        level += (*s == '{') - (*s == '}');
        if (*s == '}' && !level) return *e == '\n' ? e + 1 : e;
    }
    return s;
}

static void add_piece(shrinker *k, const char *s, size_t n, size_t name_n) {
    if (!n) return;
    if (k->n_pieces == k->capacity) {
        size_t capacity = 2 * k->capacity + 64;
        piece *more = clsi_realloc(k->pieces, capacity * sizeof *more);
        if (!more) {
            k->failed = 1;
            return;
        }
        k->pieces = more;
        k->capacity = capacity;
    }
    k->pieces[k->n_pieces++] = (piece){s, n, name_n, !name_n};
}

static void split(shrinker *k, const char *text) {
    const char *from = text;
    for (const char *s = text; *s && !k->failed;) {
        if (!begins_function(s)) {
            const char *line = strchr(s, '\n');
            s = line ? line + 1 : s + strlen(s);
            continue;
        }
        const char *end = function_end(s);
        add_piece(k, from, (size_t)(s - from), 0);
        add_piece(k, s, (size_t)(end - s), strcspn(s + function_n, "("));
        from = s = end;
    }
    add_piece(k, from, strlen(from), 0);
}

static int is_named(const piece *p, const char *word, size_t n) {
    return p->name_n == n && n && !memcmp(p->s + function_n, word, n);
}

/* Marks what a text names, and what that names. */
static void reach(shrinker *k, const char *s, size_t n) {
    for (const char *end = s + n, *e; s < end; s = e) {
        e = word_end(s);
        if (!is_letter(*s) || isdigit((unsigned char)*s)) continue;
        for (size_t i = 0; i < k->n_pieces; i++) {
            piece *p = &k->pieces[i];
            if (p->used || !is_named(p, s, (size_t)(e - s))) continue;
            p->used = 1;
            reach(k, p->s + function_n + p->name_n, p->n - function_n - p->name_n);
        }
    }
}

/* ---- names ---- */

static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";

static void put_digits(clsi_text *out, size_t i) {
    char text[16];
    size_t n = sizeof text;
    do {
        text[--n] = letters[i % LETTERS];
        i /= LETTERS;
    } while (i);
    clsi_text_append_n(out, text + n, sizeof text - n);
}

/* Short names of registers: a first letter, not N (NAN), then digits. */
static void put_short(clsi_text *out, size_t i) {
    static const char first[] = "ABCDEFGHIJLMOPQRSTUVWXYZ_$";
    enum { FIRST = sizeof first - 1 };
    clsi_text_append_n(out, first + i % FIRST, 1);
    if (i >= FIRST) put_digits(out, i / FIRST - 1);
}

/* r123: its number; SIZE_MAX: another word. */
static size_t register_of(const char *s, const char *e) {
    size_t x = 0;
    if (*s != 'r' || e - s < 2 || e - s > 9) return SIZE_MAX;
    for (const char *d = s + 1; d < e; d++) {
        if (!isdigit((unsigned char)*d)) return SIZE_MAX;
        x = 10 * x + (size_t)(*d - '0');
    }
    return x;
}

static void find_registers(shrinker *k) {
    for (size_t i = 0; i < k->n_pieces; i++) {
        const piece *p = &k->pieces[i];
        for (const char *s = p->s, *end = s + p->n, *e; s < end && p->used && p->name_n; s = e) {
            e = word_end(s);
            size_t x = register_of(s, e);
            if (x != SIZE_MAX && x > k->most) k->most = x;
        }
    }
    k->names = clsi_calloc(2 * (k->most + 1), sizeof *k->names);
    if (!k->names) k->failed = 1;
    k->stamps = k->names ? k->names + k->most + 1 : NULL;
}

/* Only functions that were generated: they have no names of their own that a short one could hide. */
static int is_generated(const piece *p) {
    const char *arguments = p->s + function_n + p->name_n;
    return !strncmp(arguments, "(in$,", 5) && !strncmp(p->s + function_n, "clsi_", 5);
}

static void put_word(shrinker *k, const char *s, const char *e, int generated) {
    size_t x = generated ? register_of(s, e) : SIZE_MAX;
    if (x == SIZE_MAX) {
        clsi_text_append_n(k->out, s, (size_t)(e - s));
        return;
    }
    if (k->stamps[x] != k->stamp) k->stamps[x] = k->stamp, k->names[x] = k->n_short++;
    put_short(k->out, k->names[x]);
}

/* May the blank between two characters go? */
static int is_idle(char before, char after) {
    return !(is_letter(before) && is_letter(after)) && !(before == after && strchr("+-", before));
}

static void put_function(shrinker *k, const piece *p) {
    int generated = is_generated(p);
    k->stamp++;
    k->n_short = 0;
    for (const char *s = p->s, *end = s + p->n, *e; s < end; s = e) {
        e = word_end(s);
        if (*s == ' ' && s > p->s && is_idle(s[-1], *e)) continue;
        put_word(k, s, e, generated);
    }
}

cls_status clsi_shrink(const char *module, const char *roots, clsi_text *out, cls_error *error) {
    shrinker k = {.out = out};
    split(&k, module);
    if (!k.failed) reach(&k, roots, strlen(roots));
    for (size_t i = 0; i < k.n_pieces && !k.failed; i++)
        if (!k.pieces[i].name_n) reach(&k, k.pieces[i].s, k.pieces[i].n);
    if (!k.failed) find_registers(&k);
    for (size_t i = 0; i < k.n_pieces && !k.failed; i++) {
        const piece *p = &k.pieces[i];
        if (p->name_n && p->used) put_function(&k, p);
        if (!p->name_n) clsi_text_append_n(out, p->s, p->n);
    }
    free(k.pieces);
    free(k.names);
    return k.failed || out->failed ? clsi_no_memory(error) : CLS_OK;
}
