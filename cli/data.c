/* clausius data: what is in a data file and what is odd about it (inspect), and the same data in
 * another format, under other names, in other units (convert). */
#include "cli.h"
#include "table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *optional_text(const char *text) {
    return text ? json_string(text) : json_null();
}

/* A few sorts of all rows, without a look at signals in between. */
static cls_status inspect_column(const cls_table *t, size_t c, cls_column_facts *out,
                                 cls_error *error) {
    if (cli_interrupted_before_work()) return cli_fail(error, CLS_INTERRUPTED, "interrupted");
    return cls_table_inspect_column(t, c, out, error);
}

static json_t *column_json(const cls_table *t, size_t c, const cls_column_facts *x) {
    return json_pack("{s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:I, s:I}", "min", cli_json_real(x->min),
                     "max", cli_json_real(x->max), "mean", cli_json_real(x->mean), "constant",
                     x->constant, "unit", optional_text(cls_table_unit(t, c)), "noise",
                     cli_json_real(x->constant ? 0 : x->noise), "quantum",
                     x->quantum > 0 ? json_real(x->quantum) : json_null(), "outliers",
                     (json_int_t)x->outliers, "wraps", (json_int_t)x->wraps);
}

static cls_status print_json(const cls_table *t, const cls_time_facts *f, cls_error *error) {
    json_t *columns = json_object(), *time = json_null(), *remarks = json_array();
    cls_status status = CLS_OK;
    for (size_t c = 0; !status && c < cls_table_columns(t); c++) {
        cls_column_facts x;
        status = inspect_column(t, c, &x, error);
        if (!status) json_object_set_new(columns, cls_table_name(t, c), column_json(t, c, &x));
    }
    for (size_t i = 0; i < cls_table_remark_count(t); i++)
        json_array_append_new(remarks, json_string(cls_table_remark(t, i)));
    if (f->known)
        time = json_pack("{s:f, s:f, s:{s:f, s:f, s:f}, s:f, s:I, s:I, s:I, s:I, s:I}", "first",
                         f->first, "last", f->last, "spacing", "min", f->spacing_min, "median",
                         f->spacing, "max", f->spacing_max, "jitter", f->jitter, "gaps",
                         (json_int_t)f->gaps, "missing_rows", (json_int_t)f->missing,
                         "not_increasing", (json_int_t)f->backwards, "duplicates",
                         (json_int_t)f->duplicates, "trajectories", (json_int_t)f->trajectories);
    json_t *all = json_pack("{s:I, s:o, s:o, s:o}", "rows", (json_int_t)cls_table_rows(t),
                            "columns", columns, "time", time, "remarks", remarks);
    if (!status) return cli_print_json(all, error);
    json_decref(all);
    return status;
}

/* A column that rises from row to row may be the time. */
static cls_status print_no_time(const cls_table *t, cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t c = 0; !status && c < cls_table_columns(t); c++) {
        cls_column_facts x;
        status = inspect_column(t, c, &x, error);
        if (status || !x.rises) continue;
        printf("no column `time`; \"%s\" rises from row to row: if it is the time, say "
               "--map \"time=%s\"\n",
               cls_table_name(t, c), cls_table_name(t, c));
        return CLS_OK;
    }
    puts("no column `time`: give the spacing of the rows with --dt, or names with --columns");
    return status;
}

static const char *plural(size_t n, const char *one, const char *many) {
    return n == 1 ? one : many;
}

static void print_time(const cls_time_facts *f) {
    printf("time from %g to %g, %zu %s\n", f->first, f->last, f->trajectories,
           plural(f->trajectories, "trajectory", "trajectories"));
    if (f->spacing_max - f->spacing_min <= 1e-9 * fabs(f->spacing))
        printf("spacing %g everywhere (%.6g rows per unit of time)\n", f->spacing, 1 / f->spacing);
    else
        printf("spacing %g to %g, median %g (%.6g rows per unit of time), jitter %.3g\n",
               f->spacing_min, f->spacing_max, f->spacing, 1 / f->spacing, f->jitter);
    if (f->gaps)
        printf("%zu %s (above 1.5 times the median), the widest %g after time %g; about %zu rows "
               "missing\n",
               f->gaps, plural(f->gaps, "gap", "gaps"), f->widest, f->widest_after, f->missing);
    if (f->backwards) printf("%zu times are not above the time in the row before\n", f->backwards);
    if (f->duplicates)
        printf("%zu duplicate %s\n", f->duplicates, plural(f->duplicates, "time", "times"));
}

static void odd_things(const cls_column_facts *x, char out[160]) {
    size_t used = 0;
    out[0] = 0;
    if (x->constant) used += (size_t)snprintf(out, 160, "constant");
    if (x->quantum > 0)
        used += (size_t)snprintf(out + used, 160 - used, "%ssteps of %.3g", used ? ", " : "",
                                 x->quantum);
    if (x->outliers)
        used += (size_t)snprintf(out + used, 160 - used, "%s%zu %s", used ? ", " : "", x->outliers,
                                 plural(x->outliers, "outlier", "outliers"));
    if (x->wraps)
        snprintf(out + used, 160 - used, "%s%zu jumps by %s: a wrapped angle?", used ? ", " : "",
                 x->wraps, x->turn > 7 ? "360" : "2 pi");
}

/* Noise and the like mean nothing for these. */
static int is_key(const char *name) {
    return !strcmp(name, "time") || !strcmp(name, "t") || !strcmp(name, "trajectory");
}

/* What is told of an array: the range of all its columns, and how many of them are odd. */
typedef struct summary {
    double min, max, mean, noise;
    size_t constant, outliers, wraps, most,
        worst; /* columns; the most outliers, of column `worst` */
} summary;

static void add_up(summary *s, size_t c, size_t count, const cls_column_facts *x) {
    if (!(s->min <= x->min)) s->min = x->min;
    if (!(s->max >= x->max)) s->max = x->max;
    s->mean += x->mean / (double)count;
    if (!x->constant && x->noise > s->noise) s->noise = x->noise;
    s->constant += x->constant != 0;
    s->outliers += x->outliers > 0;
    s->wraps += x->wraps > 0;
    if (x->outliers > s->most) s->most = x->outliers, s->worst = c;
}

static void print_summary(cli_grid *g, const cls_table *t, const cli_array *a, const summary *s) {
    char odd[200] = "";
    size_t used = (size_t)snprintf(odd, sizeof odd, "%zu columns", a->count);
    if (s->constant)
        used += (size_t)snprintf(odd + used, sizeof odd - used, ", %zu constant", s->constant);
    if (s->outliers)
        used += (size_t)snprintf(odd + used, sizeof odd - used, ", %zu with outliers (%.60s: %zu)",
                                 s->outliers, cls_table_name(t, s->worst), s->most);
    if (s->wraps) snprintf(odd + used, sizeof odd - used, ", %zu jump by a turn", s->wraps);
    cli_grid_cell(g, "%s", a->name);
    cli_grid_cell(g, "%s", cls_table_unit(t, a->first) ? cls_table_unit(t, a->first) : "");
    cli_grid_cell(g, "%.6g", s->min);
    cli_grid_cell(g, "%.6g", s->max);
    cli_grid_cell(g, "%.6g", s->mean);
    cli_grid_cell(g, s->noise > 0 ? "%.2g" : "", s->noise);
    cli_grid_cell(g, "%s", odd);
}

static cls_status inspect_array(cli_grid *g, const cls_table *t, const cli_arrays *arrays, size_t k,
                                cls_error *error) {
    summary s = {.min = NAN, .max = NAN};
    cls_status status = CLS_OK;
    for (size_t c = arrays->list[k].first; !status && c < cls_table_columns(t); c++) {
        cls_column_facts x;
        if (arrays->of[c] != k) continue;
        status = inspect_column(t, c, &x, error);
        if (!status) add_up(&s, c, arrays->list[k].count, &x);
    }
    if (!status) print_summary(g, t, &arrays->list[k], &s);
    return status;
}

static cls_status find_arrays(const cls_table *t, cli_arrays *out, cls_error *error) {
    size_t n = cls_table_columns(t);
    const char **names = calloc(n + 1, sizeof *names);
    for (size_t i = 0; names && i < n; i++) names[i] = cls_table_name(t, i);
    cls_status status = names ? cli_arrays_find(n, names, out, error) : cli_no_memory(error);
    free(names);
    return status;
}

static cls_status print_text(const cls_table *t, const cls_time_facts *f, cls_error *error) {
    static const char *const heads[] = {"column", "unit", "min", "max", "mean", "noise", ""};
    cls_status status = CLS_OK;
    cli_grid g;
    printf("%zu rows, %zu columns\n", cls_table_rows(t), cls_table_columns(t));
    for (size_t i = 0; i < cls_table_remark_count(t); i++) puts(cls_table_remark(t, i));
    if (f->known)
        print_time(f);
    else
        status = print_no_time(t, error);
    cli_arrays arrays = {0};
    if (!status) status = find_arrays(t, &arrays, error);
    if (status) {
        cli_arrays_free(&arrays);
        return status;
    }
    cli_grid_begin(&g, "llrrrrl");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) cli_grid_cell(&g, "%s", heads[i]);
    for (size_t c = 0; !status && c < cls_table_columns(t); c++) {
        cls_column_facts x;
        char odd[160];
        size_t k = arrays.of[c];
        if (k != SIZE_MAX) {
            if (arrays.list[k].first == c) status = inspect_array(&g, t, &arrays, k, error);
            continue;
        }
        status = inspect_column(t, c, &x, error);
        int key = is_key(cls_table_name(t, c));
        odd[0] = 0;
        if (!key) odd_things(&x, odd);
        cli_grid_cell(&g, "%s", cls_table_name(t, c));
        cli_grid_cell(&g, "%s", cls_table_unit(t, c) ? cls_table_unit(t, c) : "");
        cli_grid_cell(&g, "%.6g", x.min);
        cli_grid_cell(&g, "%.6g", x.max);
        cli_grid_cell(&g, "%.6g", x.mean);
        cli_grid_cell(&g, isfinite(x.noise) && !x.constant && !key ? "%.2g" : "", x.noise);
        cli_grid_cell(&g, "%s", odd);
    }
    cls_status printed = cli_grid_end(&g, stdout, error);
    cli_arrays_free(&arrays);
    return status ? status : printed;
}

static cls_status read_file(const cli_arguments *a, cls_table **t, cli_motion *m,
                            cls_error *error) {
    const char *system = cli_value(a, "system");
    cls_read_options options;
    cls_status status = system ? cli_motion_open(system, NULL, m, error) : CLS_OK;
    if (!status) status = cli_read_options(a, m->system, &options, error);
    if (!status) status = cls_table_read_with(a->words[1], &options, t, error);
    return status;
}

static cls_status inspect(const cli_arguments *a, cls_error *error) {
    cls_table *t = NULL;
    cli_motion m = {0};
    cls_time_facts f;
    cls_status status = read_file(a, &t, &m, error);
    if (!status && cli_interrupted_before_work())
        status = cli_fail(error, CLS_INTERRUPTED, "interrupted");
    if (!status) status = cls_table_inspect_time(t, &f, error);
    if (!status)
        status = cli_given(a, "json") ? print_json(t, &f, error) : print_text(t, &f, error);
    cls_table_free(&t);
    cli_motion_free(&m);
    return status;
}

static cls_status convert(const cli_arguments *a, cls_error *error) {
    cls_table *t = NULL;
    cli_motion m = {0};
    const char *out = cli_value(a, "output");
    if (!out)
        return cli_fail(error, CLS_USAGE, "where to? usage: clausius data convert FILE -o OUT");
    cls_status status = read_file(a, &t, &m, error);
    for (size_t i = 0; !status && i < cls_table_remark_count(t); i++)
        cli_notice("%s: %s", a->words[1], cls_table_remark(t, i));
    if (!status) status = cli_write_table(t, out, error);
    cls_table_free(&t);
    cli_motion_free(&m);
    return status;
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    static const char *const verbs[] = {"inspect", "convert"};
    const char *verb = a->words[0];
    int converts = !strcmp(verb, "convert");
    if (!converts && strcmp(verb, "inspect"))
        return cli_unknown(error, CLS_USAGE, "thing to do with data", verb, 2, verbs);
    if (a->n_words < 2)
        return cli_fail(error, CLS_USAGE, "which file? usage: clausius data %s FILE%s", verb,
                        converts ? " -o OUT" : "");
    if (!converts && cli_given(a, "output"))
        return cli_fail(error, CLS_USAGE, "-o is for `data convert`; inspect prints");
    cli_catch_signals();
    return converts ? convert(a, error) : inspect(a, error);
}

static const cli_option options[] = {
    {"output", 'o', "FILE",
     "convert: where to; a .csv, .npz or .h5, or - for CSV on standard output"},
    CLI_DATA_OPTIONS("columns"),
    {"system", 0, "SYSTEM", "take the names and units of this system"},
    {"json", 0, NULL, "inspect: one JSON object: {\"rows\", \"columns\", \"time\", \"remarks\"}"},
    {0},
};

const cli_command cli_data = {
    .name = "data",
    .doc = "what is in a data file, what is odd about it; other formats",
    .usage = "inspect FILE [options] | convert FILE -o OUT [options]",
    .examples = "  clausius data inspect measured.csv\n"
                "  clausius data inspect measured.txt --columns \"trial, time, phi, v.phi\"\n"
                "  clausius data convert lab.csv -o si.csv --map \"x=position [mm], time=t [ms]\"\n"
                "  clausius simulate pendulum | clausius data inspect -\n",
    .notes = "FILE is CSV as instruments write it, .npy, .npz, HDF5 or MAT; - is standard input. "
             "noise is\n"
             "an upper bound, from differences of neighbouring rows.\n",
    .options = options,
    .min_words = 1,
    .max_words = 2,
    .run = run,
};
