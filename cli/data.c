/* clausius data inspect: what is in a data file and what is odd about it: columns with their
 * ranges, constant columns, the range of times, spacing, gaps, times that
 * do not increase.
 *
 * A gap is a spacing above 1.5 times the median. Costs one sort of the spacings. */
#include "cli.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct column_facts {
    double low, high, mean;
    int constant;
} column_facts;

typedef struct time_facts {
    int known; /* 0: no time column */
    size_t trajectories, gaps, backwards;
    double first, last, low, median, high; /* range of times; spacings */
    double gap_at, gap;                    /* the widest */
} time_facts;

static column_facts look_at(const cls_table *t, size_t column) {
    const double *x = cls_table_column(t, column);
    size_t rows = cls_table_rows(t);
    column_facts f = {.low = INFINITY, .high = -INFINITY};
    for (size_t i = 0; i < rows; i++) {
        f.low = fmin(f.low, x[i]);
        f.high = fmax(f.high, x[i]);
        f.mean += (x[i] - f.mean) / (double)(i + 1);
    }
    f.constant = f.low == f.high;
    return f;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The spacings within trajectories, in the order of the file; their number. */
static size_t spacings(const double *time, const double *id, size_t rows, time_facts *f,
                       double *out) {
    size_t n = 0;
    f->trajectories = rows > 0;
    for (size_t i = 1; i < rows; i++) {
        if (id && id[i] != id[i - 1]) {
            f->trajectories++;
            continue;
        }
        out[n] = time[i] - time[i - 1];
        f->backwards += !(out[n] > 0);
        if (out[n] > f->gap) f->gap = out[n], f->gap_at = time[i - 1];
        n++;
    }
    return n;
}

static cls_status look_at_times(const cls_table *t, time_facts *f, cls_error *error) {
    int k = cls_table_find(t, "time"), id = cls_table_find(t, "trajectory");
    size_t rows = cls_table_rows(t);
    *f = (time_facts){.known = k >= 0 && rows > 0};
    if (!f->known) return CLS_OK;
    const double *time = cls_table_column(t, (size_t)k);
    double *gap = calloc(rows, sizeof *gap);
    if (!gap) return cli_no_memory(error);
    size_t n = spacings(time, id < 0 ? NULL : cls_table_column(t, (size_t)id), rows, f, gap);
    column_facts range = look_at(t, (size_t)k);
    f->first = range.low;
    f->last = range.high;
    if (n) {
        qsort(gap, n, sizeof *gap, ascending);
        f->low = gap[0];
        f->median = gap[n / 2];
        f->high = gap[n - 1];
        for (size_t i = 0; i < n; i++) f->gaps += gap[i] > 1.5 * f->median;
    }
    free(gap);
    return CLS_OK;
}

/* Rows of a trajectory need not stand together in the file. */
static cls_status look_at_time(const cls_table *file, time_facts *f, cls_error *error) {
    cls_table *grouped;
    cls_status status = cls_table_group(file, &grouped, error);
    if (!status) status = look_at_times(grouped ? grouped : file, f, error);
    cls_table_free(&grouped);
    return status;
}

static cls_status print_json(const cls_table *t, const time_facts *f, cls_error *error) {
    json_t *columns = json_object(), *time = json_null();
    for (size_t c = 0; c < cls_table_columns(t); c++) {
        column_facts x = look_at(t, c);
        json_object_set_new(columns, cls_table_name(t, c),
                            json_pack("{s:o, s:o, s:o, s:b}", "min", cli_json_real(x.low), "max",
                                      cli_json_real(x.high), "mean", cli_json_real(x.mean),
                                      "constant", x.constant));
    }
    if (f->known)
        time = json_pack("{s:f, s:f, s:{s:f, s:f, s:f}, s:I, s:I, s:I}", "first", f->first, "last",
                         f->last, "spacing", "min", f->low, "median", f->median, "max", f->high,
                         "gaps", (json_int_t)f->gaps, "not_increasing", (json_int_t)f->backwards,
                         "trajectories", (json_int_t)f->trajectories);
    return cli_print_json(json_pack("{s:I, s:o, s:o}", "rows", (json_int_t)cls_table_rows(t),
                                    "columns", columns, "time", time),
                          error);
}

static void print_time(const time_facts *f) {
    if (!f->known) {
        puts("no column `time`: this is not a trajectory");
        return;
    }
    printf("time from %g to %g, %zu %s\n", f->first, f->last, f->trajectories,
           f->trajectories == 1 ? "trajectory" : "trajectories");
    if (f->high - f->low <= 1e-9 * fabs(f->median))
        printf("spacing %g everywhere\n", f->median);
    else
        printf("spacing %g to %g, median %g\n", f->low, f->high, f->median);
    if (f->gaps)
        printf("%zu %s (above 1.5 times the median), the widest %g after time %g\n", f->gaps,
               f->gaps == 1 ? "gap" : "gaps", f->gap, f->gap_at);
    if (f->backwards) printf("%zu times are not above the time in the row before\n", f->backwards);
}

static cls_status print_text(const cls_table *t, const time_facts *f, cls_error *error) {
    static const char *const heads[] = {"column", "min", "max", "mean", ""};
    cli_grid g;
    printf("%zu rows, %zu columns\n", cls_table_rows(t), cls_table_columns(t));
    print_time(f);
    cli_grid_begin(&g, "lrrrl");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) cli_grid_cell(&g, "%s", heads[i]);
    for (size_t c = 0; c < cls_table_columns(t); c++) {
        column_facts x = look_at(t, c);
        cli_grid_cell(&g, "%s", cls_table_name(t, c));
        cli_grid_cell(&g, "%.6g", x.low);
        cli_grid_cell(&g, "%.6g", x.high);
        cli_grid_cell(&g, "%.6g", x.mean);
        cli_grid_cell(&g, "%s", x.constant ? "constant" : "");
    }
    return cli_grid_end(&g, stdout, error);
}

static cls_status inspect(const cli_arguments *a, cls_error *error) {
    cls_table *t = NULL;
    time_facts f;
    cls_status status = cls_table_read(a->words[1], &t, error);
    if (!status) status = look_at_time(t, &f, error);
    if (!status)
        status = cli_given(a, "json") ? print_json(t, &f, error) : print_text(t, &f, error);
    cls_table_free(&t);
    return status;
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    static const char *const verbs[] = {"inspect"};
    const char *verb = a->words[0];
    if (!strcmp(verb, "convert"))
        return cli_fail(error, CLS_USAGE, "data convert is not in this version (%s)",
                        cls_version());
    if (strcmp(verb, "inspect"))
        return cli_unknown(error, CLS_USAGE, "thing to do with data", verb, 1, verbs);
    if (a->n_words < 2)
        return cli_fail(error, CLS_USAGE, "which file? usage: clausius data inspect FILE");
    return inspect(a, error);
}

static const cli_option options[] = {
    {"json", 0, NULL, "one JSON object: {\"rows\", \"columns\", \"time\"}"},
    {0},
};

const cli_command cli_data = {
    .name = "data",
    .doc = "what is in a data file, and what is odd about it",
    .usage = "inspect FILE [--json]",
    .examples = "  clausius data inspect measured.csv\n"
                "  clausius simulate pendulum | clausius data inspect -\n",
    .notes = "FILE is a .csv, or - for standard input.\n",
    .options = options,
    .min_words = 1,
    .max_words = 2,
    .run = run,
};
