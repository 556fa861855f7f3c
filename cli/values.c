/* Values that arrive as text: numbers that may be constant expressions, lists of words, lists of
 * assignments; and the failures that go with them.
 *
 * A number is read by strtod where that consumes all of it (the usual case, correctly rounded),
 * else by the parser of the modelling language with no names in scope, so that `--set "k=2/3"` and
 * `--h 1/128` mean what they mean in a system file. */
#include "cli.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- failing ---- */

cls_status cli_fail(cls_error *error, cls_status status, const char *format, ...) {
    va_list args;
    if (!error) return status;
    *error = (cls_error){.status = status};
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    return status;
}

cls_status cli_no_memory(cls_error *error) {
    return cli_fail(error, CLS_MEMORY, "out of memory");
}

cls_status cli_prefix(cls_error *error, const char *format, ...) {
    char old[sizeof error->message];
    va_list args;
    memcpy(old, error->message, sizeof old);
    va_start(args, format);
    int n = vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof error->message) {
        size_t room = sizeof error->message - (size_t)n;
        snprintf(error->message + n, room, ": %.*s", (int)(room > 3 ? room - 3 : 0), old);
    }
    return error->status;
}

void cli_notice(const char *format, ...) {
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "clausius: ");
    cli_print_shown(stderr, text);
}

/* Names, notes and lines of files may hold anything: a terminal must not obey them. */
void cli_print_lines(FILE *to, const char *label, int each, const char *text) {
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        fprintf(to, "  %-11s %.*s\n", line == text || each ? label : "", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

void cli_print_shown(FILE *to, const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    for (; *s; s++) {
        int c1 = s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0;
        if (c1)
            fprintf(to, "\\x%02x", *++s);
        else if ((*s < 32 && *s != '\n' && *s != '\t') || *s == 127)
            fprintf(to, "\\x%02x", *s);
        else
            fputc(*s, to);
    }
    fputc('\n', to);
}

cls_status cli_unknown(cls_error *error, cls_status status, const char *kind, const char *word,
                       size_t n, const char *const *words) {
    const char *near = cls_nearest_word(word, n, words);
    char list[1024] = "";
    if (near) return cli_fail(error, status, "'%s' is no %s; did you mean %s?", word, kind, near);
    for (size_t i = 0, used = 0; i < n && used < sizeof list - 1; i++) {
        int k = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
        used += k > 0 ? (size_t)k : 0;
    }
    return cli_fail(error, status, "'%s' is no %s; there are %s", word, kind, list);
}

/* ---- numbers ---- */

static cls_status evaluate_expression(const char *what, const char *text, double *out,
                                      cls_error *error) {
    cls_graph *g = NULL;
    cls_scope scope = {0};
    cls_node node = CLS_NO_NODE;
    cls_status status = cls_graph_create(NULL, &g, error);
    if (status) return status;
    cls_error why; /* error may be NULL */
    status = cls_parse(g, text, &scope, NULL, 1, 1, &node, &why);
    if (status) {
        why.message[strcspn(why.message, "\n")] = 0; /* the caret helps in files, not here */
        status = cli_fail(error, status == CLS_MEMORY ? status : CLS_USAGE,
                          "%s: '%.200s' is not a number (%.1500s)", what, text, why.message);
    } else if (cls_node_op(g, node) != CLS_OP_CONSTANT) {
        status = cli_fail(error, CLS_USAGE, "%s: '%.200s' is not a constant", what, text);
    } else {
        *out = cls_node_value(g, node);
    }
    cls_graph_free(&g);
    return status;
}

cls_status cli_evaluate(const char *what, const char *text, double *out, cls_error *error) {
    char *end = NULL;
    double value = strtod(text, &end);
    while (end != text && isspace((unsigned char)*end)) end++;
    if (end == text || *end) {
        if (!text[strspn(text, " \t")])
            return cli_fail(error, CLS_USAGE, "%s: expected a number, got nothing", what);
        cls_status status = evaluate_expression(what, text, &value, error);
        if (status) return status;
    }
    if (!isfinite(value))
        return cli_fail(error, CLS_USAGE, "%s: expected a finite number, got '%.200s'", what, text);
    *out = value;
    return CLS_OK;
}

/* ---- lists ---- */

char *cli_trim(char *s) {
    while (isspace((unsigned char)*s)) s++;
    for (size_t n = strlen(s); n && isspace((unsigned char)s[n - 1]); n--) s[n - 1] = 0;
    return s;
}

/* Ends the item that begins at s at the first comma outside parentheses; the rest, or NULL. */
static char *cut_item(char *s) {
    int depth = 0;
    for (; *s; s++) {
        int element = *s == '[' && s[1 + strspn(s + 1, "0123456789-*, ")] == ']'; /* S[1,2] */
        depth += *s == '(';
        depth -= *s == ')';
        if (element) s = strchr(s, ']');
        if (*s == ',' && depth <= 0) {
            *s = 0;
            return s + 1;
        }
    }
    return NULL;
}

static size_t count_commas(const char *text) {
    size_t n = 0;
    for (; *text; text++) n += *text == ',';
    return n;
}

cls_status cli_words(const char *what, const char *text, size_t *n, char ***words,
                     cls_error *error) {
    size_t capacity = count_commas(text) + 1;
    *n = 0;
    *words = malloc(capacity * sizeof **words + strlen(text) + 1);
    if (!*words) return cli_no_memory(error);
    char *rest = strcpy((char *)(*words + capacity), text);
    while (rest) {
        char *item = rest;
        rest = cut_item(item);
        item = cli_trim(item);
        if (!*item) {
            free(*words);
            *words = NULL;
            return cli_fail(error, CLS_USAGE, "%s: an empty item in '%.200s'", what, text);
        }
        (*words)[(*n)++] = item;
    }
    return CLS_OK;
}

/* ---- assignments ---- */

/* Has it the time in it? Then it is a formula, which only inputs can be. */
static int has_time(const char *text) {
    for (const char *at = text; (at = strchr(at, 't')); at++) {
        int before = at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (!before && !isalnum((unsigned char)at[1]) && at[1] != '_' && at[1] != '.') return 1;
    }
    return 0;
}

static cls_status assign(const char *what, char *item, cli_assignments *out, cls_error *error) {
    char *equals = strchr(item, '='), where[128];
    if (!equals || equals == item)
        return cli_fail(error, CLS_USAGE, "%s: expected NAME=NUMBER, got '%.200s'", what, item);
    *equals = 0;
    char *name = cli_trim(item);
    snprintf(where, sizeof where, "%s: %.80s", what, name);
    out->names[out->list.n] = name;
    char *value = cli_trim(equals + 1);
    if (!strcmp(what, "--set") && has_time(value)) {
        out->values[out->list.n] = 0;
        out->formulas[out->list.n++] = value;
        return CLS_OK;
    }
    return cli_evaluate(where, value, &out->values[out->list.n++], error);
}

int cli_by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A note of a file may have a million of them. */
static cls_status refuse_twice(const char *what, const cli_assignments *a, cls_error *error) {
    size_t n = a->list.n;
    char **sorted = malloc((n + 1) * sizeof *sorted);
    cls_status status = sorted ? CLS_OK : cli_no_memory(error);
    if (!status) memcpy(sorted, a->names, n * sizeof *sorted);
    if (!status) qsort(sorted, n, sizeof *sorted, cli_by_name);
    for (size_t i = 1; !status && i < n; i++)
        if (!strcmp(sorted[i - 1], sorted[i]))
            status = cli_fail(error, CLS_USAGE, "%s: %s is given twice", what, sorted[i]);
    free(sorted);
    return status;
}

cls_status cli_assignments_parse(const char *what, const char *text, cli_assignments *out,
                                 cls_error *error) {
    char **items = NULL;
    size_t n = 0;
    *out = (cli_assignments){0};
    if (!text || !text[strspn(text, " \t\n")]) return CLS_OK;
    cls_status status = cli_words(what, text, &n, &items, error);
    if (status) return status;
    out->text = (char *)items;
    out->names = malloc(n * sizeof *out->names);
    out->values = malloc(n * sizeof *out->values);
    out->formulas = calloc(n, sizeof *out->formulas);
    if (!out->names || !out->values || !out->formulas) status = cli_no_memory(error);
    for (size_t i = 0; !status && i < n; i++) status = assign(what, items[i], out, error);
    if (!status) status = refuse_twice(what, out, error);
    out->list.names = (const char *const *)out->names;
    out->list.values = out->values;
    out->list.formulas = out->formulas;
    if (status) cli_assignments_free(out);
    return status;
}

void cli_assignments_free(cli_assignments *a) {
    free(a->text);
    free(a->names);
    free(a->values);
    free(a->formulas);
    *a = (cli_assignments){0};
}

char *cli_assignments_text(const cli_assignments *a) {
    size_t length = 1, used = 0;
    for (size_t i = 0; i < a->list.n; i++)
        length += strlen(a->names[i]) + 36 + (a->formulas[i] ? strlen(a->formulas[i]) : 0);
    char *text = calloc(length, 1);
    for (size_t i = 0; text && i < a->list.n; i++) {
        char number[32];
        cli_format(a->values[i], number);
        used += (size_t)snprintf(text + used, length - used, "%s%s=%s", i ? ", " : "", a->names[i],
                                 a->formulas[i] ? a->formulas[i] : number);
    }
    return text;
}

int cli_ends_with(const char *text, const char *ending) {
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && !strcmp(text + n - m, ending);
}
