/* From the columns of a file to those that the caller wants: names, units, times.
 *
 * The list "x=position [mm], time=t [ms]" says which column is which, ours first. All names change at
 * once, so that "x=y, y=x" swaps; a column that has the name of a renamed one without being it is
 * left out. The `data` lines of the system come first and --map overrules them; what they name and
 * the file does not have is not missed. A unit (in the list, or else in the file's header) is
 * converted to the one the system declares for that column, without one to coherent SI; a unit that
 * is not in the list and not of a column of a system stays what it is. */
#include "base/locale.h"
#include "base/misuse.h"
#include "base/unit.h"
#include "data/source.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ours [unit] = theirs [unit] */
typedef struct item {
    char *name, *column; /* column with its unit as written; name without */
    char *plain;         /* column without its unit */
    const char *unit, *wanted;
    int given; /* by the user, not by the system file */
} item;

typedef struct items {
    item *list;
    size_t n, room;
} items;

static void free_items(items *l) {
    for (size_t i = 0; i < l->n; i++) {
        free(l->list[i].name);
        free(l->list[i].column);
        free(l->list[i].plain);
    }
    free(l->list);
}

/* The next part of `s` up to a separator outside quotes and brackets, trimmed; the caller's. */
static char *take_part(const char **s, const char *stops) {
    const char *begin = *s, *at = begin;
    int inside = 0, depth = 0;
    for (; *at && (inside || depth > 0 || !strchr(stops, *at)); at++) {
        inside ^= *at == '"';
        if (!inside) depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
    }
    *s = at;
    char *copy = clsi_strndup(begin, (size_t)(at - begin));
    if (!copy) return NULL;
    char *trimmed = clsi_trim(copy);
    memmove(copy, trimmed, strlen(trimmed) + 1);
    return copy;
}

/* "name" [unit] without the quotes. */
static void unquote(char *s) {
    char *out = s;
    for (; *s; s++)
        if (*s != '"') *out++ = *s;
    *out = 0;
}

cls_status clsi_split_names(const char *what, const char *text, clsi_names *out, cls_error *error) {
    *out = (clsi_names){0};
    for (const char *s = text;; s++) {
        char *word = take_part(&s, ",");
        if (!word || !clsi_grow(&out->items, &out->room, out->n + 1, sizeof *out->items) ||
            !clsi_grow(&out->units, &out->units_room, out->n + 1, sizeof *out->units)) {
            free(word);
            clsi_names_free(out);
            return clsi_no_memory(error);
        }
        unquote(word);
        out->items[out->n] = word;
        out->units[out->n++] = NULL;
        char *unit = clsi_cut_unit(word);
        if (unit && *unit) out->units[out->n - 1] = clsi_strdup(unit);
        if (!*word) {
            clsi_names_free(out);
            return clsi_fail(error, CLS_USAGE, "%s: a name is missing in \"%s\"", what, text);
        }
        if (!*s) return CLS_OK;
    }
}

static cls_status check_item(const char *what, const items *l, const item *x, cls_error *error) {
    if (!*x->name || !*x->plain)
        return clsi_fail(error, CLS_USAGE, "%s: a name is missing in '%s=%s'", what, x->name,
                         x->column);
    for (size_t i = 0; i < l->n; i++)
        if (l->list[i].given == x->given &&
            (!strcmp(l->list[i].name, x->name) || !strcmp(l->list[i].column, x->column)))
            return clsi_fail(error, CLS_USAGE, "%s: %s=%s and %s=%s contradict each other", what,
                             l->list[i].name, l->list[i].column, x->name, x->column);
    return CLS_OK;
}

static cls_status add_item(const char *what, char *name, char *column, int given, items *l,
                           cls_error *error) {
    char *plain = column ? clsi_strdup(column) : NULL;
    if (!name || !plain || !clsi_grow(&l->list, &l->room, l->n + 1, sizeof *l->list)) {
        free(name);
        free(column);
        free(plain);
        return clsi_no_memory(error);
    }
    unquote(name);
    unquote(column);
    unquote(plain);
    item x = {.name = name, .column = column, .plain = plain, .given = given};
    x.unit = clsi_cut_unit(plain);
    x.wanted = clsi_cut_unit(name);
    cls_status status = check_item(what, l, &x, error);
    l->list[l->n++] = x;
    return status;
}

static cls_status read_items(const char *what, const char *text, int given, items *l,
                             cls_error *error) {
    cls_status status = CLS_OK;
    if (!text || !text[strspn(text, " \t")]) return CLS_OK;
    for (const char *s = text; !status; s++) {
        char *name = take_part(&s, "=,");
        if (name && *s != '=') {
            status =
                clsi_fail(error, CLS_USAGE,
                          "%s: expected NAME=COLUMN or NAME=COLUMN [UNIT], got '%s'", what, name);
            free(name);
            break;
        }
        if (name) s++;
        char *column = name ? take_part(&s, ",") : NULL;
        int open = column && (strchr(column, '[') != NULL) != (strchr(column, ']') != NULL);
        if (open) {
            status = clsi_fail(error, CLS_USAGE,
                               "%s: expected NAME=COLUMN or NAME=COLUMN [UNIT], got '%s=%s'", what,
                               name, column);
            free(name);
            free(column);
            break;
        }
        status = add_item(what, name, column, given, l, error);
        if (!*s) break;
    }
    return status;
}

/* The column of the file that an item means: as written, with its header's unit, without unit. */
static int find_column(const cls_table *t, const item *x) {
    int found = cls_table_find(t, x->column);
    for (size_t c = 0; found < 0 && c < t->n_columns; c++) {
        if (!t->units[c]) continue;
        size_t n = strlen(t->names[c]), m = strlen(t->units[c]);
        if (strncmp(x->column, t->names[c], n) != 0) continue;
        const char *rest = x->column + n;
        rest += strspn(rest, " _");
        int bracket = (*rest == '[' || *rest == '(') && !strncmp(rest + 1, t->units[c], m) &&
                      (rest[m + 1] == ']' || rest[m + 1] == ')') && !rest[m + 2];
        if (bracket || (*rest == '/' && !strcmp(rest + 1, t->units[c]))) found = (int)c;
    }
    return found < 0 ? cls_table_find(t, x->plain) : found;
}

/* ---- units ---- */

static int same_unit(const char *a, const char *b) {
    clsi_conversion c;
    return clsi_unit_convert(a, b, &c, NULL) == CLS_OK && clsi_conversion_is_none(&c);
}

/* What the header and the list say of a column's unit; they must agree. */
static cls_status unit_of(const char *path, const cls_table *head, int column, const item *x,
                          const char **unit, cls_error *error) {
    const char *said = head->units[column];
    *unit = x && x->unit && *x->unit ? x->unit : said;
    if (!said || !x || !x->unit || !*x->unit || same_unit(said, x->unit)) return CLS_OK;
    return clsi_fail(error, CLS_DATA,
                     "%s: the column \"%s\" says that it is in [%s], the list says [%s]; leave the "
                     "unit out to take the file's",
                     path, head->names[column], said, x->unit);
}

typedef struct mapping {
    const char *path;
    const cls_read_options *o;
    cls_table *head;
    items items;
    cls_table *out;
    clsi_mapped *mapped;
} mapping;

static int is_system_column(const cls_system *s, const char *name) {
    if (!s) return 0;
    if (!strcmp(name, "time") || !strcmp(name, "t")) return 1;
    for (size_t i = 0; i < cls_system_column_count(s); i++)
        if (!strcmp(cls_system_column(s, i), name)) return 1;
    return 0;
}

static cls_status convert(mapping *m, size_t column, const char *unit, const item *x,
                          cls_error *error) {
    const char *name = m->out->names[column];
    clsi_mapped *to = &m->mapped[column];
    char declared[64], coherent[96];
    const char *wanted = x && x->wanted && *x->wanted ? x->wanted : NULL;
    int asked = unit || (x && x->wanted); /* else nobody wants to know: there may be thousands */
    int known = asked && m->o->system && cls_system_unit(m->o->system, name, declared);
    if (!wanted && known) wanted = declared;
    if (!unit)
        return wanted && x && x->wanted ? cls_table_set_unit(m->out, column, wanted, error)
                                        : CLS_OK;
    if (!wanted && !(x && x->unit) && !is_system_column(m->o->system, name))
        return cls_table_set_unit(m->out, column, unit, error);
    clsi_conversion c;
    cls_status status = clsi_unit_convert(unit, wanted, &c, error);
    if (status && !wanted) { /* px: nothing to convert to */
        if (x && x->unit)
            clsi_table_remark(m->out, "%s: the unit [%s] is not known and stays", name, unit);
        return cls_table_set_unit(m->out, column, unit, error);
    }
    if (status) {
        char *why = clsi_strdup(error ? error->message : "");
        (void)clsi_fail(error, status, "%s: column \"%s\" is %s of this system: %s", m->path,
                        m->head->names[to->from], name, why ? why : "");
        free(why);
        return status;
    }
    if (!wanted) wanted = clsi_unit_coherent(unit, coherent);
    *to = (clsi_mapped){to->from, c.factor, c.divisor, c.offset, !clsi_conversion_is_none(&c)};
    if (to->converts) {
        char shift[48] = "";
        if (c.offset != 0)
            clsi_snprintf(shift, sizeof shift, " %c %g", c.offset < 0 ? '-' : '+', fabs(c.offset));
        clsi_table_remark(m->out, "%s: %s [%s] read in [%s] (%s %.10g%s)", name,
                          m->head->names[to->from], unit, wanted,
                          c.divisor != 1 ? "divided by" : "times",
                          c.divisor != 1 ? c.divisor : c.factor, shift);
    }
    return cls_table_set_unit(m->out, column, wanted, error);
}

/* ---- columns ---- */

static cls_status missing_column(const mapping *m, const item *x, cls_error *error) {
    char where[300];
    snprintf(where, sizeof where, "%s", m->path);
    return clsi_no_column(m->head, where, x->plain, CLS_DATA, error);
}

/* Which item renames column c; -1 none, -2: left out because another column takes its name. */
static int item_of(const mapping *m, const int *column, size_t c) {
    int result = -1;
    for (size_t i = 0; i < m->items.n; i++) {
        if (column[i] == (int)c) return (int)i;
        if (column[i] >= 0 && !strcmp(m->items.list[i].name, m->head->names[c])) result = -2;
    }
    return result;
}

/* t is the time where no column is called so; Time and TIME are where there is no t either. */
static const char *plain_name(const mapping *m, size_t c) {
    const char *name = m->head->names[c];
    int is_t = !strcmp(name, "t");
    if (!is_t && (strcasecmp(name, "time") != 0 || is_system_column(m->o->system, name)))
        return name;
    if (m->o->dt > 0 || (is_t ? cls_table_find(m->head, "time") : clsi_table_time(m->head)) >= 0)
        return name;
    for (size_t i = 0; i < m->items.n; i++) /* another column is said to be it */
        if (!strcmp(m->items.list[i].name, "time") && find_column(m->head, &m->items.list[i]) >= 0)
            return name;
    for (size_t i = 0; i < c && !is_t; i++)
        if (!strcasecmp(m->head->names[i], "time")) return name;
    return "time";
}

static cls_status choose(mapping *m, const int *column, cls_error *error) {
    size_t n = 0, made = m->o->dt > 0;
    const char **names = clsi_calloc(m->head->n_columns + 1, sizeof *names);
    int *from = clsi_calloc(m->head->n_columns + 1, sizeof *from);
    int *by = clsi_calloc(m->head->n_columns + 1, sizeof *by);
    m->mapped = clsi_calloc(m->head->n_columns + 1, sizeof *m->mapped);
    cls_status status = names && from && by && m->mapped ? CLS_OK : clsi_no_memory(error);
    if (!status && made) names[n] = "time", from[n] = -1, by[n++] = -1;
    for (size_t c = 0; !status && c < m->head->n_columns; c++) {
        int i = item_of(m, column, c);
        if (i == -2) continue;
        names[n] = i < 0 ? plain_name(m, c) : m->items.list[i].name;
        from[n] = (int)c;
        by[n++] = i;
        if (made && !strcmp(names[n - 1], "time"))
            status = clsi_fail(error, CLS_USAGE,
                               "%s: there is a column for the time (\"%s\"), so --dt says it twice",
                               m->path, m->head->names[c]);
    }
    if (!status) status = cls_table_create(n, names, &m->out, error);
    if (!status) clsi_table_move_notes(m->head, m->out);
    for (size_t c = 0; !status && c < n; c++) {
        const item *x = by[c] < 0 ? NULL : &m->items.list[by[c]];
        const char *unit = NULL;
        m->mapped[c] = (clsi_mapped){from[c], 1, 1, 0, 0};
        if (from[c] < 0) continue;
        status = unit_of(m->path, m->head, from[c], x, &unit, error);
        if (!status) status = convert(m, c, unit, x, error);
    }
    free(names);
    free(from);
    free(by);
    return status;
}

static cls_status find_columns(mapping *m, int *column, cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t i = 0; !status && i < m->items.n; i++) {
        const item *x = &m->items.list[i];
        column[i] = find_column(m->head, x);
        if (column[i] < 0 && x->given) status = missing_column(m, x, error);
        for (size_t k = 0; !x->given && k < m->items.n; k++) /* --map overrules the file's line */
            if (m->items.list[k].given && !strcmp(m->items.list[k].name, x->name)) column[i] = -1;
        for (size_t k = 0; !status && k < i; k++)
            if (column[i] >= 0 && column[k] == column[i]) {
                if (m->items.list[k].given || !x->given)
                    column[i] = -1;
                else
                    column[k] = -1;
            }
    }
    return status;
}

/* Names given by the caller take the place of the file's. */
static cls_status rename_all(const char *path, const char *columns, cls_table *head,
                             cls_error *error) {
    clsi_names names;
    cls_status status = clsi_split_names("--columns", columns, &names, error);
    if (status) return status;
    if (names.n != head->n_columns)
        status = clsi_fail(error, CLS_DATA, "%s has %zu columns, and %zu names are given for them",
                           path, head->n_columns, names.n);
    if (!status) status = clsi_check_names(names.n, (const char *const *)names.items, error);
    for (size_t i = 0; !status && i < names.n; i++) {
        free(head->names[i]);
        head->names[i] = names.items[i];
        names.items[i] = NULL;
        if (!names.units[i]) continue;
        free(head->units[i]);
        head->units[i] = names.units[i];
        names.units[i] = NULL;
    }
    clsi_names_free(&names);
    if (!status) status = clsi_table_index(head, error);
    for (size_t i = 0; !status && i < head->n_remarks; i++) /* the guess is not needed */
        if (strstr(head->remarks[i], "; --columns gives names")) {
            free(head->remarks[i]);
            head->remarks[i] = head->remarks[--head->n_remarks];
            i--;
        }
    return status;
}

cls_status clsi_map_head(const char *path, const cls_read_options *o, cls_table *head,
                         cls_table **out, clsi_mapped **mapped, cls_error *error) {
    mapping m = {.path = path, .o = o, .head = head};
    cls_status status = CLS_OK;
    *out = NULL;
    *mapped = NULL;
    if (o->columns) status = rename_all(path, o->columns, head, error);
    if (!status && o->system)
        status = read_items("data", cls_system_data_map(o->system), 0, &m.items, error);
    if (!status) status = read_items("--map", o->map, 1, &m.items, error);
    int *column = clsi_calloc(m.items.n + 1, sizeof *column);
    if (!status && !column) status = clsi_no_memory(error);
    if (!status) status = find_columns(&m, column, error);
    if (!status) status = choose(&m, column, error);
    free(column);
    free_items(&m.items);
    if (status) {
        cls_table_free(&m.out);
        free(m.mapped);
        return status;
    }
    *out = m.out;
    *mapped = m.mapped;
    return CLS_OK;
}

cls_status cls_unit_convert(const char *from, const char *to, double *factor, double *divisor,
                            double *offset, cls_error *error) {
    NEED(error, from);
    clsi_conversion c;
    if (!from) return clsi_fail(error, CLS_USAGE, "which unit?");
    cls_status status = clsi_unit_convert(from, to, &c, error);
    if (factor) *factor = c.factor;
    if (divisor) *divisor = c.divisor;
    if (offset) *offset = c.offset;
    return status;
}
