/* What kind of CSV a file is, found out from its first lines.
 *
 * Instruments, spreadsheets and programs agree on little: the separator is a comma, a semicolon, a
 * tab or blanks; decimals have a point or a comma; the names stand in a header line, in a comment
 * (`% x v`), below a title, above a row of units, or nowhere. The rules, in order:
 *
 *   notes      comment lines (# % ! //) at the top; `# key: value` is kept as a note
 *   no header  the first line has only numbers: names come from the last comment (right-aligned when
 *              it has fewer), else they are column1, column2, ...
 *   header     the first line that has as many names as the line of numbers below it; a row of units
 *              may stand between; what stands above has another number of cells and is skipped
 *   else       the first line is the header, and reading the rows will say what is wrong with them
 *
 * The separator is the first of , ; tab blank for which this works out. Looked at are the lines in
 * the first block (1 MB), at most 50. What was decided and could surprise is reported as a remark. */
#include "base/alike.h"
#include "base/unit.h"
#include "data/source.h"
#include <stdlib.h>
#include <string.h>

enum { LOOK = 50 };

int clsi_is_comment(const char *line) {
    return *line == '#' || *line == '%' || *line == '!' || (line[0] == '/' && line[1] == '/');
}

static char *skip_blanks(char *s) {
    while (*s == ' ' || *s == '\t') s++;
    return s;
}

char *clsi_trim(char *s) {
    s = skip_blanks(s);
    size_t n = strlen(s);
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t')) s[--n] = 0;
    return s;
}

void clsi_names_free(clsi_names *list) {
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i]);
        free(list->units[i]);
    }
    free(list->items);
    free(list->units);
    *list = (clsi_names){0};
}

/* ---- cells ---- */

static int separates(char c, char separator) {
    return c == separator || (separator == ' ' && c == '\t');
}

const char *clsi_next_cell(const char *s, const char *stop, char separator, clsi_cell *out) {
    int inside = 0;
    while (s < stop && (*s == ' ' || (*s == '\t' && separator != '\t'))) s++;
    out->begin = s;
    for (; s < stop && (inside || !separates(*s, separator)); s++) inside ^= *s == '"';
    out->end = s;
    while (out->end > out->begin && (out->end[-1] == ' ' || out->end[-1] == '\t')) out->end--;
    if (separator == ' ')
        while (s < stop && (*s == ' ' || *s == '\t')) s++;
    if (s == stop) return NULL;
    return separator == ' ' ? s : s + 1;
}

/* Decimal commas unless commas separate. */
int clsi_is_number_cell(const clsi_cell *c, char separator) {
    char text[400] = {0};
    size_t n = (size_t)(c->end - c->begin);
    double value;
    if (n >= 2 && *c->begin == '"' && c->end[-1] == '"') n -= 2;
    if (!n || n > sizeof text - 16) return 0;
    memcpy(text, c->begin + (*c->begin == '"'), n);
    if (clsi_scan_double(text, '.', &value) == text + n) return 1;
    if (separator != ',' && clsi_scan_double(text, ',', &value) == text + n) return 1;
    static const char *const missing[] = {"nan", "NaN", "NAN", "-nan", "NA", "inf", "-inf"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (!strcmp(text, missing[i])) return 1;
    return 0;
}

typedef struct line_facts {
    size_t cells, numbers, empty;
    int quoted, trailing; /* a separator at the end */
} line_facts;

static line_facts look(const char *s, const char *stop, char separator) {
    line_facts f = {0};
    while (s) {
        clsi_cell c;
        s = clsi_next_cell(s, stop, separator, &c);
        int is_empty = c.begin == c.end;
        if (!s && is_empty && f.cells) {
            f.trailing = 1;
            break;
        }
        f.cells++;
        f.empty += is_empty;
        f.quoted |= !is_empty && *c.begin == '"';
        clsi_stamp t;
        f.numbers += clsi_is_number_cell(&c, separator) ||
                     (!is_empty && clsi_stamp_read(c.begin, (size_t)(c.end - c.begin), 0, &t));
    }
    return f;
}

/* Units, empty cells, bracketed words: a row below the header that says in what it is measured. */
static int is_unit_row(const char *s, const char *stop, char separator) {
    size_t units = 0;
    while (s) {
        clsi_cell c;
        char text[64];
        clsi_unit_meaning meaning;
        s = clsi_next_cell(s, stop, separator, &c);
        if (c.begin < c.end && *c.begin == '"') c.begin++, c.end -= c.end[-1] == '"';
        size_t n = c.end > c.begin ? (size_t)(c.end - c.begin) : 0;
        if (!n || (n == 1 && *c.begin == '-')) continue;
        int bracketed = n > 2 && ((*c.begin == '[' && c.end[-1] == ']') ||
                                  (*c.begin == '(' && c.end[-1] == ')'));
        if (bracketed) c.begin++, n -= 2;
        if (n >= sizeof text) return 0;
        memcpy(text, c.begin, n);
        text[n] = 0;
        if (!bracketed && !clsi_unit_read(text, &meaning)) return 0;
        units++;
    }
    return units > 0;
}

/* ---- names ---- */

static int is_bracket_unit(char *open, char *close) {
    clsi_unit_meaning meaning;
    if (*open == '[' && *close == ']') /* no brackets inside: what is left would be read so again */
        return strcspn(open + 1, "[]") == (size_t)(close - open - 1);
    if (*open != '(' || *close != ')') return 0;
    *close = 0;
    int known = clsi_unit_read(open + 1, &meaning) || !strcmp(open + 1, "-");
    *close = ')';
    return known;
}

static char *cut_one(char *name) {
    size_t n = strlen(name);
    if (n < 4 || (name[n - 1] != ']' && name[n - 1] != ')')) return NULL;
    char *close = name + n - 1, *open = close;
    int depth = 0;
    do depth += *open == ']' || *open == ')' ? 1 : *open == '[' || *open == '(' ? -1 : 0;
    while (depth && --open > name);
    if (depth || open == name || !is_bracket_unit(open, close)) return NULL;
    if (*open == '(' && open[-1] != ' ' && open[-1] != '_') return NULL; /* f(x) */
    if (*open == '[' && open[-1] != ' ' && open[1 + strspn(open + 1, "0123456789")] == ']' &&
        open + 1 < close)
        return NULL; /* u[3] */
    char *end = open;
    while (end > name && strchr(" \t_/", end[-1])) end--;
    if (end == name) return NULL; /* nothing but a unit: it is the name */
    *close = *end = 0;
    return clsi_trim(open + 1);
}

char *clsi_cut_unit(char *name) {
    char *unit = cut_one(name);
    while (unit && cut_one(name)) /* what is left, written, must not be read with a unit again */
        ;
    return unit;
}

static cls_status add_name(clsi_names *list, const char *text, size_t n, cls_error *error) {
    char *name = clsi_shown_text(text, n);
    if (!name || !clsi_grow(&list->items, &list->room, list->n + 1, sizeof *list->items) ||
        !clsi_grow(&list->units, &list->units_room, list->n + 1, sizeof *list->units)) {
        free(name);
        return clsi_no_memory(error);
    }
    list->items[list->n] = name;
    list->units[list->n++] = NULL;
    return CLS_OK;
}

/* The letters of a cell without its quotes, doubled quotes once. */
static cls_status add_cell(clsi_names *list, const clsi_cell *c, cls_error *error) {
    clsi_text text = {0};
    int inside = 0;
    clsi_text_append(&text, "");
    for (const char *s = c->begin; s < c->end; s++) {
        if (*s != '"') {
            clsi_text_append_n(&text, s, 1);
        } else if (inside && s + 1 < c->end && s[1] == '"') {
            clsi_text_append_n(&text, s++, 1);
        } else {
            inside = !inside;
            list->quoted = 1;
        }
    }
    char element[CLSI_ELEMENT_ROOM];
    const char *name = text.data;
    if (!text.failed && clsi_element_name(name, element)) name = element; /* "S[1,2]" */
    cls_status status =
        text.failed ? clsi_no_memory(error) : add_name(list, name, strlen(name), error);
    clsi_text_clear(&text);
    return status;
}

static cls_status split_names(const clsi_lines *l, const char *s, const char *stop, char separator,
                              clsi_names *list, cls_error *error) {
    cls_status status = CLS_OK;
    while (s && !status) {
        clsi_cell c;
        s = clsi_next_cell(s, stop, separator, &c);
        if (!s && c.begin == c.end && list->n) {
            list->trailing = 1;
            break;
        }
        status = add_cell(list, &c, error);
        if (!status && list->n > CLSI_MAX_COLUMNS)
            return clsi_lines_bad(l, 0, error, "more than %d columns, the limit", CLSI_MAX_COLUMNS);
    }
    return status;
}

/* Of every name the number of the first with the same letters. By hash: there may be as many names as a field has points. */
static cls_status first_named(size_t n, char *const *names, uint32_t **out, cls_error *error) {
    size_t slots = 64;
    while (slots < 2 * n) slots *= 2;
    uint32_t *seen = clsi_calloc(slots, sizeof *seen), /* 1 + the number of a name */
        *first = *out = clsi_calloc(n + 1, sizeof *first);
    for (size_t i = 0; i < n && seen && first; i++) {
        size_t slot = clsi_hash_text(names[i], strlen(names[i])) & (slots - 1);
        while (seen[slot] && strcmp(names[i], names[seen[slot] - 1]) != 0)
            slot = (slot + 1) & (slots - 1);
        if (!seen[slot]) seen[slot] = (uint32_t)i + 1;
        first[i] = seen[slot] - 1;
    }
    int whole = seen && first;
    free(seen);
    return whole ? CLS_OK : clsi_no_memory(error);
}

/* phi/deg, v/(m/s), as textbooks head their tables: the name ends before the stroke. NULL: no unit is behind it. */
static char *cut_quotient(char *name) {
    clsi_unit_meaning meaning;
    char *stroke = strchr(name, '/'), *unit = stroke ? clsi_trim(stroke + 1) : NULL;
    size_t n = unit ? strlen(unit) : 0;
    if (!n || stroke == name) return NULL;
    int round = unit[0] == '(' && unit[n - 1] == ')';
    if (round) unit[n - 1] = 0;
    if (clsi_unit_read(unit + round, &meaning)) {
        *stroke = 0;
        clsi_trim(name);
        return unit + round;
    }
    if (round) unit[n - 1] = ')';
    return NULL;
}

/* Is it the time by its unit of time, t/s? Then the file writes its units so; x/V alone may be a quotient. */
static int is_time_quotient(const char *name) {
    static const char *const times[] = {"t", "time", "Time", "zeit", "Zeit", NULL};
    static const char *const units[] = {"s", "ms", "us", "min", "h", NULL};
    size_t n = strcspn(name, " /"), k = 0, u = 0;
    const char *rest = name + n + strspn(name + n, " ");
    if (*rest++ != '/') return 0;
    rest += strspn(rest, " ");
    while (times[k] && (strlen(times[k]) != n || strncmp(times[k], name, n) != 0)) k++;
    while (units[u] && strcmp(units[u], rest) != 0) u++;
    return times[k] && units[u];
}

/* x [m] becomes x with the unit m, unless two names would become one. */
static cls_status take_units(clsi_names *list, cls_error *error) {
    clsi_names cut = {0};
    int quotients = 0;
    for (size_t i = 0; i < list->n; i++) quotients |= is_time_quotient(list->items[i]);
    uint32_t *first = NULL;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < list->n && !status; i++) {
        status = add_name(&cut, list->items[i], strlen(list->items[i]), error);
        const char *unit = status ? NULL : clsi_cut_unit(cut.items[i]);
        if (!status && !unit && quotients) unit = cut_quotient(cut.items[i]);
        if (unit && !(cut.units[i] = clsi_strdup(unit))) status = clsi_no_memory(error);
    }
    if (!status) status = first_named(cut.n, cut.items, &first, error);
    for (size_t i = 0; i < list->n && !status;
         i++) /* after all that share it, the first of a name is no first */
        if (first[i] != i) first[first[i]] = (uint32_t)list->n;
    for (size_t i = 0; i < list->n && !status; i++) {
        char *unit = cut.units[i];
        if (!unit || first[i] != i) continue;
        free(list->items[i]);
        list->items[i] = cut.items[i];
        cut.items[i] = NULL;
        if (!*unit || !strcmp(unit, "-")) continue;
        free(list->units[i]);
        list->units[i] = unit;
        cut.units[i] = NULL;
    }
    free(first);
    clsi_names_free(&cut);
    return status;
}

static cls_status check_names(const clsi_lines *l, const clsi_names *list, cls_error *error) {
    uint32_t *first = NULL;
    cls_status status = first_named(list->n, list->items, &first, error);
    for (size_t i = 0; i < list->n && !status; i++) {
        if (!*list->items[i])
            status = clsi_lines_bad(l, (int)i + 1, error, "column %zu has no name", i + 1);
        else if (first[i] != i)
            status =
                clsi_lines_bad(l, (int)i + 1, error,
                               "columns %u and %zu have the same name \"%s\"; names must differ",
                               first[i] + 1, i + 1, list->items[i]);
    }
    free(first);
    return status;
}

/* ---- the top ---- */

/* `# key: value` is a note, any other comment may hold names. */
static cls_status read_comment(cls_table *t, char *comment, char **last, cls_error *error) {
    char mark = *comment;
    char *key = clsi_trim(comment + strspn(comment, mark == '/' ? "/" : (char[]){mark, 0}));
    char *colon = mark == '#' ? strchr(key, ':') : NULL;
    if (colon && colon != key) {
        *colon = 0;
        char *name = clsi_trim(key);
        if (!name[strcspn(name, " \t")]) {
            char *k = clsi_shown_text(name, strlen(name));
            char *text = clsi_trim(colon + 1), *v = clsi_shown_text(text, strlen(text));
            cls_status status = k && v ? cls_table_set_note(t, k, v, error) : clsi_no_memory(error);
            free(k);
            free(v);
            return status;
        }
        *colon = ':';
    }
    free(*last);
    *last = clsi_strdup(key);
    return *last ? CLS_OK : clsi_no_memory(error);
}

/* A line in the block, not consumed; comments and blank lines are passed over. */
typedef struct ahead {
    const char *begin, *stop; /* without the end of the line */
    size_t after;             /* where the next begins */
} ahead;

static int look_ahead(const clsi_lines *l, size_t from, ahead *out) {
    while (from < l->end) {
        const char *s = l->block + from;
        const char *stop = memchr(s, '\n', l->end - from);
        if (!stop) stop = l->block + l->end;
        out->after = (size_t)(stop - l->block) + 1;
        while (stop > s && strchr("\r \t", stop[-1]) && stop[-1]) stop--;
        while (s < stop && *s == ' ') s++;
        out->begin = s;
        out->stop = stop;
        const char *word = s;
        while (word < stop && *word == '\t') word++;
        if (word < stop && !clsi_is_comment(word)) return 1;
        from = out->after;
    }
    return 0;
}

static const char separators[] = {',', ';', '\t', ' '};

/* The separator for which a line is all numbers; 0 when there is none. Two columns before one. */
static char numbers_separator(const ahead *a) {
    for (int least = 2; least >= 1; least--)
        for (size_t i = 0; i < sizeof separators; i++) {
            line_facts f = look(a->begin, a->stop, separators[i]);
            if (f.cells >= (size_t)least && f.numbers == f.cells && !f.quoted) return separators[i];
        }
    return 0;
}

static int same_cells(const line_facts *a, const line_facts *b) {
    return a->cells == b->cells || a->cells + (size_t)a->trailing == b->cells + (size_t)b->trailing;
}

/* Is `a` a header above numbers? Gives the separator and whether a row of units stands between. */
static int is_header(const clsi_lines *l, const ahead *a, char *separator, int *units) {
    ahead b, c;
    if (!look_ahead(l, a->after, &b)) return 0;
    int more = look_ahead(l, b.after, &c);
    for (size_t least = 2; least >= 1; least--)
        for (size_t i = 0; i < sizeof separators; i++) {
            char s = separators[i];
            line_facts head = look(a->begin, a->stop, s), one = look(b.begin, b.stop, s);
            if (head.cells < least || (head.numbers && !head.quoted)) continue;
            *separator = s;
            *units = 0;
            if (same_cells(&head, &one) && one.numbers + one.empty == one.cells && one.numbers)
                return 1;
            if (one.numbers || !is_unit_row(b.begin, b.stop, s)) continue;
            line_facts two = more ? look(c.begin, c.stop, s) : (line_facts){0};
            *units = 1;
            if (two.cells >= least && two.numbers + two.empty == two.cells &&
                same_cells(&head, &two))
                return 1;
        }
    return 0;
}

/* Is `a` a header above two rows of as many cells, of which some are numbers and others text? */
static int is_header_of_some(const clsi_lines *l, const ahead *a, char *separator) {
    ahead b, c;
    if (!look_ahead(l, a->after, &b) || !look_ahead(l, b.after, &c)) return 0;
    for (size_t i = 0; i < sizeof separators; i++) {
        line_facts head = look(a->begin, a->stop, separators[i]);
        line_facts one = look(b.begin, b.stop, separators[i]);
        line_facts two = look(c.begin, c.stop, separators[i]);
        if (head.cells < 2 || head.numbers || !one.numbers || !two.numbers) continue;
        *separator = separators[i];
        if (same_cells(&head, &one) && same_cells(&head, &two)) return 1;
    }
    return 0;
}

/* The rule for files that are not in order: the first separator that stands in the header. */
static char first_separator(const ahead *a) {
    for (size_t i = 0; i + 1 < sizeof separators; i++)
        if (look(a->begin, a->stop, separators[i]).cells > 1) return separators[i];
    return ' ';
}

/* Consumes lines up to the one that begins at `begin`. */
static cls_status pass_to(clsi_lines *l, const char *begin, cls_error *error) {
    cls_status status = CLS_OK;
    char *line;
    size_t target = (size_t)(begin - l->block);
    while (!status && l->begin <= target) {
        const char *stop = memchr(l->block + l->begin, '\n', l->end - l->begin);
        if (!stop || (size_t)(stop - l->block) >= target) break;
        status = clsi_lines_next(l, &line, error);
    }
    return status;
}

/* How many lines stood above the header, from the line a on. */
static void tell_skipped(cls_table *notes, const ahead *a, int lines) {
    size_t n = (size_t)(a->stop - a->begin);
    char *text = lines ? clsi_shown_text(a->begin, n < 40 ? n : 40) : NULL;
    if (lines)
        clsi_table_remark(notes, "%d line%s above the header skipped: \"%s%s\"", lines,
                          lines == 1 ? "" : "s", text ? text : "", n > 40 ? "..." : "");
    free(text);
}

static cls_status number_names(size_t first, size_t n, clsi_names *list, cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t i = first; !status && i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "column%zu", i + 1);
        status = add_name(list, name, strlen(name), error);
    }
    return status;
}

/* A file that begins with numbers; `comment` may hold the names, or those of the last columns. */
static cls_status without_header(clsi_lines *l, const ahead *a, const char *comment,
                                 cls_table *notes, clsi_dialect *d, cls_error *error) {
    size_t n = look(a->begin, a->stop, d->separator).cells;
    clsi_names said = {0};
    ahead text = {comment, comment ? comment + strlen(comment) : NULL, 0};
    cls_status status = CLS_OK;
    if (n > CLSI_MAX_COLUMNS)
        return clsi_lines_bad(l, 0, error, "more than %d columns, the limit", CLSI_MAX_COLUMNS);
    if (comment && *comment)
        status = split_names(l, text.begin, text.stop, first_separator(&text), &said, error);
    if (said.n > n) clsi_names_free(&said); /* a sentence, not names */
    if (!status) status = number_names(0, n - said.n, &d->names, error);
    for (size_t i = 0; !status && i < said.n; i++)
        status = add_name(&d->names, said.items[i], strlen(said.items[i]), error);
    if (!said.n)
        clsi_table_remark(
            notes, "no header: the %zu columns are called column1%s%s%zu; --columns gives names", n,
            n > 1 ? " to " : "", n > 1 ? "column" : "", n);
    else if (said.n < n)
        clsi_table_remark(notes,
                          "the header \"%s\" has %zu name%s for %zu columns: taken for the last "
                          "ones, the first %s called column1%s; --columns gives names",
                          comment, said.n, said.n == 1 ? "" : "s", n,
                          n - said.n == 1 ? "is" : "are", n - said.n > 1 ? ", ..." : "");
    clsi_names_free(&said);
    return status;
}

/* A header line, with units below it or not; what stands above it is passed over. */
static cls_status with_header(clsi_lines *l, const ahead *a, int units, clsi_dialect *d,
                              cls_error *error) {
    char *line;
    cls_status status = pass_to(l, a->begin, error);
    if (!status) status = clsi_lines_next(l, &line, error);
    if (!status) status = split_names(l, line, line + strlen(line), d->separator, &d->names, error);
    if (!status && d->names.n > 1 && !*d->names.items[0] && !units) {
        free(d->names.items[0]); /* the index that pandas writes */
        if (!(d->names.items[0] = clsi_strdup("index"))) return clsi_no_memory(error);
    }
    if (status || !units) return status;
    clsi_names row = {0};
    ahead b;
    if (look_ahead(l, l->begin, &b)) status = pass_to(l, b.begin, error);
    if (!status) status = clsi_lines_next(l, &line, error);
    if (!status) status = split_names(l, line, line + strlen(line), d->separator, &row, error);
    for (size_t i = 0; !status && i < row.n && i < d->names.n; i++) {
        char *u = row.items[i];
        size_t n = strlen(u);
        if (n > 2 && (u[0] == '[' || u[0] == '(')) u[n - 1] = 0, u++;
        if (!*u || !strcmp(u, "-")) continue;
        free(d->names.units[i]);
        if (!(d->names.units[i] = clsi_strdup(u))) status = clsi_no_memory(error);
    }
    clsi_names_free(&row);
    return status;
}

static cls_status find_names(clsi_lines *l, const ahead *first, const char *comment,
                             cls_table *notes, clsi_dialect *d, cls_error *error) {
    ahead a = *first;
    int units = 0, first_counts = 0;
    char forced = 0;
    if (a.stop - a.begin == 5 && !memcmp(a.begin, "sep=", 4)) { /* a line that Excel writes */
        forced = a.begin[4];
        if (!look_ahead(l, first->after, &a)) a = *first;
    }
    if ((d->separator = numbers_separator(&a)))
        return without_header(l, &a, comment, notes, d, error);
    ahead at = a;
    for (int i = 0; i < LOOK; i++) {
        if (is_header(l, &at, &d->separator, &units)) {
            ahead below;
            look_ahead(l, at.after, &below);
            line_facts top = look(a.begin, a.stop, d->separator);
            line_facts rows = look(below.begin, below.stop, d->separator);
            first_counts = i > 0 && !units && same_cells(&top, &rows);
            if (first_counts) break; /* the first line is the header */
            tell_skipped(notes, &a, i);
            return with_header(l, &at, units, d, error);
        }
        if (!look_ahead(l, at.after, &at)) break;
    }
    at = a;
    for (int i = 0; i < LOOK && !forced && !first_counts; i++) {
        if (is_header_of_some(l, &at, &d->separator)) {
            tell_skipped(notes, &a, i);
            return with_header(l, &at, 0, d, error);
        }
        if (!look_ahead(l, at.after, &at)) break;
    }
    d->separator = forced ? forced : first_separator(&a);
    ahead below;
    units = look_ahead(l, a.after, &below) && is_unit_row(below.begin, below.stop, d->separator) &&
            !look(below.begin, below.stop, d->separator).numbers;
    return with_header(l, &a, units, d, error);
}

cls_status clsi_dialect_read(clsi_lines *l, cls_table *notes, clsi_dialect *out, cls_error *error) {
    char *comment = NULL, *line;
    ahead first;
    *out = (clsi_dialect){.separator = ','};
    cls_status status = clsi_lines_fill(l, error);
    if (!status && l->end >= 3 && !memcmp(l->block, "\xef\xbb\xbf", 3)) l->begin = 3;
    for (;;) { /* comments and blank lines, of which there may be more than a block */
        const char *s = l->block + l->begin;
        while (!status && s < l->block + l->end && (*s == ' ' || *s == '\t')) s++;
        if (status || (s < l->block + l->end && !clsi_is_comment(s) && *s != '\r' && *s != '\n'))
            break;
        status = clsi_lines_next(l, &line, error);
        if (!status && !line) {
            status =
                clsi_fail(error, CLS_DATA,
                          "%s: no table in it: expected a header line with column names", l->name);
        }
        if (!status) line = clsi_trim(line);
        if (!status && *line) status = read_comment(notes, line, &comment, error);
        if (!status && !l->ended && l->end - l->begin < 1 << 16) status = clsi_lines_fill(l, error);
    }
    if (!status) status = clsi_lines_fill(l, error);
    if (!status && !look_ahead(l, l->begin, &first))
        status = clsi_lines_next(l, &line, error); /* says what is wrong: too long, zero bytes */
    else if (!status)
        status = find_names(l, &first, comment, notes, out, error);
    if (!status && out->names.n == 0)
        status = clsi_lines_bad(l, 0, error, "expected a header line with column names");
    if (!status) status = check_names(l, &out->names, error);
    if (!status) status = take_units(&out->names, error);
    free(comment);
    if (status) clsi_names_free(&out->names);
    return status;
}
