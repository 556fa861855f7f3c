/* Data files as the commands read them. The library does the work (names, units, times); here are
 * the flags and the notices. */
#include "table.h"
#include <stdlib.h>
#include <string.h>

static int is_stopped(void *context) {
    (void)context;
    return cli_interrupted();
}

static int has_option(const cli_arguments *a, const char *name) {
    for (const cli_option *o = a->command->options; o->name; o++)
        if (!strcmp(o->name, name)) return 1;
    return 0;
}

cls_status cli_read_options(const cli_arguments *a, const cls_system *s, cls_read_options *out,
                            cls_error *error) {
    static const char *const choices[] = {"refuse", "drop", "keep"};
    *out = cls_read_defaults();
    out->stop = is_stopped;
    out->system = s;
    if (!a || !has_option(a, "map")) return CLS_OK;
    out->map = cli_value(a, "map");
    out->columns = cli_value(a, has_option(a, "names") ? "names" : "columns");
    out->array = cli_value(a, "array");
    const char *missing = cli_value(a, "missing");
    /* unknown parameters are learned from whatever cells there are */
    for (size_t i = 0;
         s && !missing && !strcmp(a->command->name, "learn") && i < cls_system_parameter_count(s);
         i++)
        if (cls_system_parameter_is_unknown(s, i)) missing = "keep";
    out->drop_missing = missing && !strcmp(missing, "drop");
    if (missing && !strcmp(missing, "keep")) out->drop_missing = 2;
    if (missing && strcmp(missing, "refuse") && !out->drop_missing)
        return cli_unknown(error, CLS_USAGE, "way with missing cells", missing, 3, choices);
    return cli_positive(a, "dt", &out->dt, error);
}

cls_status cli_read_table(const cli_arguments *a, const char *path, const cls_system *s,
                          cls_table **out, cls_error *error) {
    cls_read_options options;
    *out = NULL;
    cls_status status = cli_read_options(a, s, &options, error);
    if (!status) status = cls_table_read_with(path, &options, out, error);
    int quiet = cli_value_if_any(a, "json") || cli_value_if_any(a, "quiet");
    for (size_t i = 0; !status && !quiet && i < cls_table_remark_count(*out); i++)
        cli_notice("%s: %s", path, cls_table_remark(*out, i));
    return status;
}

cls_status cli_write_table(const cls_table *t, const char *path, cls_error *error) {
    cls_write_options options = cls_write_defaults();
    options.stop = is_stopped;
    return cls_table_write_with(t, path, &options, error);
}

cls_status cli_align(cls_table *t, char begins[48], cls_error *error) {
    const char *own = cls_table_note(t, "begins");
    if (*begins) return cls_table_align(t, begins, error);
    if (own) snprintf(begins, 48, "%.47s", own);
    return CLS_OK;
}

/* Columns mostly stand in the order of the system: looked for from *next on, which is behind the one that was found. */
static int is_known(const cls_system *s, const char *name, size_t *next) {
    size_t n = cls_system_column_count(s);
    if (!strcmp(name, "trajectory") || !strcmp(name, "t")) return 1;
    for (size_t i = 0; i < n; i++) {
        size_t at = *next + i < n ? *next + i : *next + i - n;
        if (strcmp(cls_system_column(s, at), name)) continue;
        *next = at + 1 < n ? at + 1 : 0;
        return 1;
    }
    return 0;
}

void cli_tell_ignored(const cls_system *s, const char *path, const cls_table *t) {
    char list[512] = "";
    size_t used = 0, next = 0, n = 0;
    cli_arrays arrays = {0};
    const char **names = calloc(cls_table_columns(t) + 1, sizeof *names);
    for (size_t c = 0; names && c < cls_table_columns(t); c++)
        if (!is_known(s, cls_table_name(t, c), &next)) names[n++] = cls_table_name(t, c);
    if (!names || cli_arrays_find(n, names, &arrays, NULL)) n = 0;
    for (size_t c = 0; c < n && used < sizeof list - 1; c++) {
        const char *name = names[c];
        if (arrays.of[c] != SIZE_MAX) {
            if (arrays.list[arrays.of[c]].first != c) continue;
            name = arrays.list[arrays.of[c]].name;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", name);
    }
    if (used) cli_notice("%s: not known to %s and ignored: %s", path, cls_system_name(s), list);
    cli_arrays_free(&arrays);
    free(names);
}
