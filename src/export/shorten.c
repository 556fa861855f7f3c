/* Exported C as it is read: names of its own without the prefix that they need in the library, one tab a level.
 *
 * What is static needs no prefix that keeps it apart from other libraries: clsi_k_log is k_log, CLSI_FINE is FINE.
 * A name keeps its prefix where the short one stands in the text already (a local name, a function of the
 * header), is a word of C or C++, or one that its headers may take. Cost: the text times the logarithm of
 * the names. */
#include "export/trim.h"
#include "export/words.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct name {
    const char *s; /* without its prefix */
    size_t n;
    size_t prefix; /* its length */
    int upper, taken;
} name;

typedef struct names {
    name *at;
    size_t n, room;
    int failed;
} names;

/* Words that C, C++ and the headers of a model have. */
static const char *const reserved[] = {
    "auto",      "bool",     "break",    "case",     "catch",     "char",    "class",    "const",
    "continue",  "default",  "delete",   "do",       "double",    "else",    "enum",     "explicit",
    "export",    "extern",   "false",    "float",    "for",       "friend",  "goto",     "if",
    "inline",    "int",      "long",     "mutable",  "namespace", "new",     "operator", "private",
    "protected", "public",   "register", "restrict", "return",    "short",   "signed",   "sizeof",
    "static",    "struct",   "switch",   "template", "this",      "throw",   "true",     "try",
    "typedef",   "typename", "union",    "unsigned", "using",     "virtual", "void",     "volatile",
    "while",     "and",      "or",       "not",      "xor",       "asm",     "main",     "signal",
    "index",     "rindex",   "abs",      "div",      "exp",       "log",     "pow",      "sqrt",
    "gamma",     "round",    "floor",    "scalb",    "drem",      "select",  "time",     "clock",
    "remove",    "DOMAIN",   "SING",     "OVERFLOW", "UNDERFLOW", "PLOSS",   "TLOSS",    "HUGE",
    "INFINITY",  "NAN",      "NULL",     "FAR",      "NEAR",      "TRUE",    "FALSE",    "EOF",
    "BUFSIZ",    "SCALE",    "LOW",      "HIGH",     "INPUT",     "OUTPUT"};

static int compare(const void *a, const void *b) {
    const name *x = a, *y = b;
    int order = memcmp(x->s, y->s, x->n < y->n ? x->n : y->n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* The next identifier from *s on, and its length; 0 at the end. Not in numbers, strings and characters. */
static size_t next_identifier(const char **s) {
    for (const char *c = *s; *c; c++) {
        if (*c == '"' || *c == '\'') {
            const char quote = *c;
            for (c++; *c && *c != quote; c++)
                if (*c == '\\' && c[1]) c++;
            if (!*c) return 0;
        } else if (isdigit((unsigned char)*c)) {
            while (clsi_is_letter(c[1]) || c[1] == '.') c++;
        } else if (clsi_is_letter(*c)) {
            size_t n = 1;
            while (clsi_is_letter(c[n])) n++;
            *s = c;
            return n;
        }
    }
    return 0;
}

/* Of what no other variant of parameters is beside, `given` says nothing. */
static size_t prefix_of(const char *s, size_t n) {
    static const char *const all[] = {"clsi_given_", "clsi_", "CLSI_"};
    for (int k = 0; k < 3; k++)
        if (n > strlen(all[k]) && !memcmp(s, all[k], strlen(all[k]))) return strlen(all[k]);
    return 0;
}

static void add(names *all, const char *s, size_t n) {
    size_t prefix = prefix_of(s, n);
    name one = {.s = s + prefix, .n = n - prefix, .prefix = prefix, .upper = *s == 'C'};
    one.taken = isdigit((unsigned char)*one.s) != 0;
    if (!clsi_grow(&all->at, &all->room, all->n + 1, sizeof one))
        all->failed = 1;
    else
        all->at[all->n++] = one;
}

static name *find(const names *all, const char *s, size_t n) {
    name key = {.s = s, .n = n};
    return all->n ? bsearch(&key, all->at, all->n, sizeof key, compare) : NULL;
}

static void take(const names *all, const char *s, size_t n) {
    name *found = find(all, s, n);
    if (found) found->taken = 1;
}

static void collect(names *all, const char *text, const char *prefix) {
    size_t kept = 0, length = strlen(prefix);
    for (size_t n; (n = next_identifier(&text)); text += n)
        if (prefix_of(text, n)) add(all, text, n);
    if (all->failed || !all->n) return;
    qsort(all->at, all->n, sizeof *all->at, compare);
    for (size_t k = 1; k < all->n; k++) {
        if (compare(&all->at[kept], &all->at[k]) != 0)
            all->at[++kept] = all->at[k];
        else if (all->at[kept].upper != all->at[k].upper ||
                 all->at[kept].prefix != all->at[k].prefix)
            all->at[kept].taken = 1;
    }
    all->n = kept + 1;
    for (size_t k = 0; k < all->n; k++) { /* PREFIX_... belongs to the header */
        name *one = &all->at[k];
        size_t same = 0;
        while (same < length && same < one->n &&
               tolower((unsigned char)one->s[same]) == tolower((unsigned char)prefix[same]))
            same++;
        if (same == length) one->taken = 1;
    }
}

/* How much of the prefix of the name at s goes. */
static size_t superfluous(const names *all, const char *s, size_t n) {
    size_t prefix = prefix_of(s, n), library = 5; /* clsi_ */
    if (!prefix || !find(all, s + prefix, n - prefix)->taken) return prefix;
    return prefix > library ? library : 0;
}

/* ---- layout ---- */

enum { WIDTH = 100 };

/* A line that goes on: it ends in the middle of a list or an expression. Weights stay as they are. */
static int goes_on(const char *line, const char *end, const char *next) {
    if (end == line || *line == '#' || *line == '-' || *line == '.' ||
        isdigit((unsigned char)*line))
        return 0;
    if (end[-1] == '{' && end - line > 2 && end[-3] == '=') return 1; /* a table */
    return strchr(",=(&|+?", end[-1]) || *next == '?' || *next == ':';
}

/* A tab for two blanks at the beginning of a line; what follows stands beside it where there is room. */
static void append_lines(clsi_text *out, const char *s) {
    for (size_t column = 0; *s;) {
        const char *end = strchr(s, '\n');
        size_t blanks = strspn(s, " ");
        end = end ? end : s + strlen(s);
        if (!column)
            for (size_t k = 0; k < blanks / 2; k++) clsi_text_append(out, "\t");
        s += blanks;
        column += (size_t)(end - s) + (column ? 0 : blanks);
        clsi_text_append_n(out, s, (size_t)(end - s));
        const char *next = *end ? end + 1 + strspn(end + 1, " ") : end;
        size_t more = strcspn(next, "\n");
        if (*end && more && *next != '#' && goes_on(s, end, next) && column + 1 + more <= WIDTH) {
            if (!strchr("({", end[-1])) clsi_text_append(out, " ");
            column++;
        } else {
            clsi_text_append(out, *end ? "\n" : "");
            column = 0;
        }
        s = end + (*end != 0);
    }
}

cls_status clsi_shorten_source(const char *text, const char *prefix, clsi_text *out,
                               cls_error *error) {
    names all = {0};
    clsi_text named = {0};
    const char *from = text, *at = text;
    collect(&all, text, prefix);
    for (size_t k = 0; k < sizeof reserved / sizeof *reserved; k++)
        take(&all, reserved[k], strlen(reserved[k]));
    for (size_t n; !all.failed && (n = next_identifier(&at)); at += n) take(&all, at, n);
    at = text;
    for (size_t n; !all.failed && (n = next_identifier(&at)); at += n) {
        clsi_text_append_n(&named, from, (size_t)(at - from));
        from = at + superfluous(&all, at, n);
    }
    clsi_text_append(&named, from);
    append_lines(out, named.data ? named.data : "");
    int failed = all.failed || named.failed || out->failed;
    clsi_text_clear(&named);
    free(all.at);
    return failed ? clsi_no_memory(error) : CLS_OK;
}
