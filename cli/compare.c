/* clausius compare: how far two trajectories are apart, column by column. Times are matched, not
 * rows, so that a run at step h can be held against a reference with rows at other times too; rows
 * without a partner are counted. A system or a model stands for the trajectories that it makes from the
 * first rows of the other, at its times (follow.c). */
#include "cli.h"
#include "table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct comparison {
    cls_table *tables[2];
    char **columns; /* as given; NULL: all that both have */
    size_t n_columns;
    cls_difference *differences;
    size_t n, rows, dropped[2]; /* rows without a partner, of either side */
} comparison;

static cls_status compare(const cli_arguments *a, comparison *c, cls_error *error) {
    const char *columns = cli_value(a, "columns");
    cls_status status = cli_trajectories(a, 2, a->words, c->tables, error);
    if (!status && columns)
        status = cli_words("--columns", columns, &c->n_columns, &c->columns, error);
    if (status) return status;
    c->differences = calloc(cls_table_columns(c->tables[0]) + 1, sizeof *c->differences);
    if (!c->differences) return cli_no_memory(error);
    status =
        cls_table_compare(c->tables[0], c->tables[1], c->n_columns, (const char *const *)c->columns,
                          c->differences, &c->n, &c->rows, error);
    for (int i = 0; !status && i < 2; i++) c->dropped[i] = cls_table_rows(c->tables[i]) - c->rows;
    return status;
}

static cls_status print_json(const comparison *c, cls_error *error) {
    json_t *mae = json_object(), *max = json_object(), *rmse = json_object();
    for (size_t i = 0; i < c->n; i++) {
        const cls_difference *d = &c->differences[i];
        json_object_set_new(mae, d->column, cli_json_real(d->mae));
        json_object_set_new(max, d->column, cli_json_real(d->max));
        json_object_set_new(rmse, d->column, cli_json_real(d->rmse));
    }
    return cli_print_json(json_pack("{s:o, s:o, s:o, s:I, s:I, s:[I, I]}", "mae", mae, "max", max,
                                    "rmse", rmse, "rows", (json_int_t)c->rows, "dropped",
                                    (json_int_t)(c->dropped[0] + c->dropped[1]), "unmatched",
                                    (json_int_t)c->dropped[0], (json_int_t)c->dropped[1]),
                          error);
}

/* Of an array: the means over its elements, and the element that is furthest off. */
static cls_difference of_array(const comparison *c, const cli_arrays *arrays, size_t which) {
    cls_difference all = {.max = -1};
    for (size_t i = arrays->list[which].first; i < c->n; i++) {
        const cls_difference *d = &c->differences[i];
        if (arrays->of[i] != which) continue;
        all.mae += d->mae / (double)arrays->list[which].count;
        all.rmse += d->rmse * d->rmse / (double)arrays->list[which].count;
        if (d->max <= all.max || isnan(all.max)) continue;
        all.column = d->column;
        all.max = d->max;
        all.time_of_max = d->time_of_max;
    }
    all.rmse = sqrt(all.rmse);
    return all;
}

static void print_line(cli_grid *g, const char *name, const cls_difference *d, const char *worst) {
    cli_grid_cell(g, "%s", name);
    cli_grid_cell(g, "%.6g", d->mae);
    cli_grid_cell(g, "%.6g", d->max);
    cli_grid_cell(g, "%.6g", d->rmse);
    cli_grid_cell(g, "%.6g", d->time_of_max);
    if (worst) cli_grid_cell(g, "%s", worst);
}

static cls_status print_lines(const comparison *c, const cli_arrays *arrays, cls_error *error) {
    static const char *const heads[] = {"column", "mae", "max", "rmse", "time of max", "worst"};
    int folded = 0;
    cli_grid g;
    for (size_t i = 0; i < c->n; i++) folded |= arrays->of[i] != SIZE_MAX;
    cli_grid_begin(&g, folded ? "lrrrrl" : "lrrrr");
    for (size_t i = 0; i < 5 + (size_t)folded; i++) cli_grid_cell(&g, "%s", heads[i]);
    for (size_t i = 0; i < c->n; i++) {
        size_t k = arrays->of[i];
        if (k == SIZE_MAX) {
            print_line(&g, c->differences[i].column, &c->differences[i], folded ? "" : NULL);
        } else if (arrays->list[k].first == i) {
            cls_difference all = of_array(c, arrays, k);
            print_line(&g, arrays->list[k].name, &all, all.column);
        }
    }
    return cli_grid_end(&g, stdout, error);
}

static cls_status print_table(const cli_arguments *a, const comparison *c, cls_error *error) {
    cli_arrays arrays = {0};
    const char **names = calloc(c->n + 1, sizeof *names);
    for (size_t i = 0; names && i < c->n; i++) names[i] = c->differences[i].column;
    cls_status status =
        !names       ? cli_no_memory(error)
        : c->columns ? cli_arrays_asked(c->n, names, c->n_columns, c->columns, &arrays, error)
                     : cli_arrays_find(c->n, names, &arrays, error);
    if (!status) status = print_lines(c, &arrays, error);
    cli_arrays_free(&arrays);
    free(names);
    if (status) return status;
    printf("%zu rows with equal times\n", c->rows);
    for (int i = 0; i < 2; i++)
        if (c->dropped[i])
            printf("%zu of %zu rows of %s dropped: no row of %s has their time\n", c->dropped[i],
                   c->rows + c->dropped[i], a->words[i], a->words[1 - i]);
    return status;
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    comparison c = {0};
    double tolerance = 0;
    int above = 0;
    cli_catch_signals();
    cls_status status = cli_real(a, "tolerance", &tolerance, error);
    if (!status && tolerance < 0)
        status = cli_fail(error, CLS_USAGE, "--tolerance must not be negative, got '%s'",
                          cli_value(a, "tolerance"));
    if (!status) status = compare(a, &c, error);
    if (!status) status = cli_given(a, "json") ? print_json(&c, error) : print_table(a, &c, error);
    for (size_t i = 0; !status && i < c.n; i++) above |= !(c.differences[i].max <= tolerance);
    if (!status && above && cli_given(a, "tolerance")) status = CLS_CHECK;
    free(c.differences);
    free(c.columns);
    for (int i = 0; i < 2; i++) cls_table_free(&c.tables[i]);
    return status;
}

static const cli_option options[] = {
    {"columns", 0, "NAMES",
     "only these, \"x, v.x\", \"u[*]\" for an array, \"S[1,*]\" for a row of a grid; else all "
     "that both files have"},
    CLI_DATA_OPTIONS("names"),
    {"tolerance", 0, "X", "exit 1 when a largest difference is above X"},
    {"json", 0, NULL,
     "one JSON object: {\"mae\": {column}, \"max\", \"rmse\", \"rows\", \"dropped\"}"},
    {0},
};

const cli_command cli_compare = {
    .name = "compare",
    .doc = "the difference of two trajectories at equal times",
    .usage = "TRAJECTORY|SYSTEM|MODEL TRAJECTORY|SYSTEM|MODEL [options]",
    .examples = "  clausius compare run.csv reference.csv\n"
                "  clausius compare run.csv reference.csv --columns x,v.x --tolerance 1e-6\n"
                "  clausius compare learned.safetensors measured.csv --columns x,T1\n",
    .notes =
        "Rows are matched by time (and by the trajectory column where there is one), not by\n"
        "number; rows without a partner are counted. mae is the mean, max the largest, rmse the\n"
        "root mean square difference. A SYSTEM or MODEL is simulated from the first row of each\n"
        "trajectory of the other file, at its times; energies and entropies that were learned\n"
        "have origins of their own, so compare observables. An array of nine and more columns is\n"
        "one line, with the means over its elements and the worst of them; --columns \"u[3]\"\n"
        "is one element.\n",
    .options = options,
    .min_words = 2,
    .max_words = 2,
    .run = run,
};
