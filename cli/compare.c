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
    char **columns;
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

/* Arrays of so many elements are one line. */
enum { MANY = 200 };

/* How many columns from i on are elements of one array. */
static size_t elements(const comparison *c, size_t i) {
    const char *name = c->differences[i].column, *bracket = strchr(name, '[');
    size_t stem = bracket ? (size_t)(bracket - name) + 1 : 0, n = 1;
    while (stem && i + n < c->n && !strncmp(c->differences[i + n].column, name, stem)) n++;
    return n;
}

/* The mean of all, the largest of them and where it is. */
static cls_difference of_array(const cls_difference *d, size_t n) {
    cls_difference all = d[0];
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += d[i].mae;
        squares += d[i].rmse * d[i].rmse;
        if (d[i].max > all.max || isnan(d[i].max)) all = d[i];
        if (isnan(d[i].max)) break;
    }
    all.mae = sum / (double)n;
    all.rmse = sqrt(squares / (double)n);
    return all;
}

static cls_status print_table(const cli_arguments *a, const comparison *c, cls_error *error) {
    static const char *const heads[] = {"column", "mae", "max", "rmse", "time of max"};
    cli_grid g;
    int lines = 0;
    cli_grid_begin(&g, "lrrrr");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) cli_grid_cell(&g, "%s", heads[i]);
    for (size_t i = 0; i < c->n; i++) {
        const cls_difference *first = &c->differences[i];
        size_t n = elements(c, i), one = n < MANY || c->n_columns ? 1 : n;
        cls_difference d = one > 1 ? of_array(first, one) : *first;
        if (one > 1)
            cli_grid_cell(&g, "%s to %s, max in %s", first->column, first[one - 1].column,
                          d.column);
        else
            cli_grid_cell(&g, "%s", d.column);
        cli_grid_cell(&g, "%.6g", d.mae);
        cli_grid_cell(&g, "%.6g", d.max);
        cli_grid_cell(&g, "%.6g", d.rmse);
        cli_grid_cell(&g, "%.6g", d.time_of_max);
        i += one - 1;
        lines |= one > 1;
    }
    cls_status status = cli_grid_end(&g, stdout, error);
    if (lines)
        printf("arrays of %d elements and more are one line; --columns shows elements\n", MANY);
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
    {"columns", 0, "NAMES", "only these, \"x, v.x\"; else all that both files have"},
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
        "root mean square difference. An array of 200 elements and more is one line (their mean "
        "mae, the\n"
        "largest max and where it is); --columns and --json have each. A SYSTEM or MODEL is "
        "simulated from the first row of each\n"
        "trajectory of the other file, at its times; energies and entropies that were learned\n"
        "have origins of their own, so compare observables.\n",
    .options = options,
    .min_words = 2,
    .max_words = 2,
    .run = run,
};
