/* Columns of measured data under the names that a system uses (--map).
 *
 * A measured file has the columns of the one who measured: `position`, `t`. The list says which is
 * which, the system's name first. All names change at once, so that "x=y, y=x" swaps. A unit in
 * brackets documents the list and converts nothing. */
#include "table.h"
#include <stdlib.h>
#include <string.h>

/* Cuts " [mm]" off; 1 when there was one, -1 when the brackets do not close. */
static int cut_unit(char *s) {
    char *open = strchr(s, '['), *close = strchr(s, ']');
    if (!open && !close) return 0;
    if (!open || !close || close < open || close[1]) return -1;
    *open = 0;
    return 1;
}

static cls_status read_item(const char *what, char *item, cli_renaming *r, cls_error *error) {
    char *equals = strchr(item, '=');
    int unit = equals ? cut_unit(equals + 1) : 0;
    if (!equals || unit < 0)
        return cli_fail(error, CLS_USAGE,
                        "%s: expected NAME=COLUMN or NAME=COLUMN [UNIT], got '%s'", what, item);
    *equals = 0;
    char *name = cli_trim(item), *old = cli_trim(equals + 1);
    if (!*name || !*old)
        return cli_fail(error, CLS_USAGE, "%s: a name is missing in '%s=%s'", what, name, old);
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->names[i], name) || !strcmp(r->olds[i], old))
            return cli_fail(error, CLS_USAGE, "%s: %s=%s and %s=%s contradict each other", what,
                            r->names[i], r->olds[i], name, old);
    r->names[r->n] = name;
    r->olds[r->n++] = old;
    r->units += unit;
    return CLS_OK;
}

cls_status cli_renaming_parse(const char *what, const char *text, cli_renaming *out,
                              cls_error *error) {
    size_t n = 0;
    *out = (cli_renaming){0};
    if (!text) return CLS_OK;
    cls_status status = cli_words(what, text, &n, &out->items, error);
    if (status) return status;
    out->names = calloc(n, sizeof *out->names);
    out->olds = calloc(n, sizeof *out->olds);
    if (!out->names || !out->olds) status = cli_no_memory(error);
    for (size_t i = 0; !status && i < n; i++) status = read_item(what, out->items[i], out, error);
    if (status) cli_renaming_free(out);
    return status;
}

void cli_renaming_free(cli_renaming *r) {
    free(r->items);
    free(r->names);
    free(r->olds);
    *r = (cli_renaming){0};
}

static int position(size_t n, char *const *words, const char *word) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(words[i], word)) return (int)i;
    return -1;
}

static cls_status check_columns(const cli_renaming *r, const char *path, const cls_table *t,
                                cls_error *error) {
    size_t n = cls_table_columns(t);
    const char **columns = calloc(n + 1, sizeof *columns);
    cls_status status = columns ? CLS_OK : cli_no_memory(error);
    for (size_t c = 0; !status && c < n; c++) columns[c] = cls_table_name(t, c);
    for (size_t i = 0; !status && i < r->n; i++)
        if (cls_table_find(t, r->olds[i]) < 0)
            status =
                cli_prefix((cli_unknown(error, CLS_DATA, "column", r->olds[i], n, columns), error),
                           "%s", path);
    free(columns);
    return status;
}

/* The columns to keep and their names. */
static size_t choose(const cli_renaming *r, const cls_table *t, const char **names, size_t *from) {
    size_t n = 0;
    for (size_t c = 0; c < cls_table_columns(t); c++) {
        const char *old = cls_table_name(t, c);
        int i = position(r->n, r->olds, old);
        if (i < 0 && position(r->n, r->names, old) >= 0) continue;
        names[n] = i < 0 ? old : r->names[i];
        from[n++] = c;
    }
    return n;
}

static cls_status copy_rows(const cls_table *t, size_t n, const size_t *from, double *row,
                            cls_table *out, cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t k = 0; !status && k < cls_table_rows(t); k++) {
        for (size_t c = 0; c < n; c++) row[c] = cls_table_column(t, from[c])[k];
        status = cls_table_append(out, row, error);
    }
    return status;
}

cls_status cli_rename(const cli_renaming *r, const char *path, cls_table **table,
                      cls_error *error) {
    if (!r->n) return CLS_OK;
    cls_table *renamed = NULL;
    size_t columns = cls_table_columns(*table), n = 0;
    const char **names = calloc(columns + 1, sizeof *names);
    size_t *from = calloc(columns + 1, sizeof *from);
    double *row = calloc(columns + 1, sizeof *row);
    cls_status status = names && from && row ? CLS_OK : cli_no_memory(error);
    if (!status) status = check_columns(r, path, *table, error);
    if (!status) n = choose(r, *table, names, from);
    if (!status) status = cls_table_create(n, names, &renamed, error);
    if (!status) status = copy_rows(*table, n, from, row, renamed, error);
    free(names);
    free(from);
    free(row);
    if (status) {
        cls_table_free(&renamed);
        return status;
    }
    cls_table_free(table);
    *table = renamed;
    return CLS_OK;
}

static int is_known(const cls_system *s, const char *name) {
    if (!strcmp(name, "trajectory") || !strcmp(name, "t")) return 1;
    for (size_t i = 0; i < cls_system_column_count(s); i++)
        if (!strcmp(cls_system_column(s, i), name)) return 1;
    return 0;
}

void cli_tell_ignored(const cls_system *s, const char *path, const cls_table *t) {
    char list[512] = "";
    size_t used = 0;
    for (size_t c = 0; c < cls_table_columns(t) && used < sizeof list - 1; c++) {
        const char *name = cls_table_name(t, c);
        if (is_known(s, name)) continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", name);
    }
    if (used) cli_notice("%s: not known to %s and ignored: %s", path, cls_system_name(s), list);
}
