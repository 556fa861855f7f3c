/* simulate --bands: how sure a learned model is. The same motion with parameters that the data allow
 * as well (members of an ensemble that was learned, else draws from the parameters' covariance); of
 * each column the quantiles between which 90 % of them lie, as columns NAME.low and NAME.high.
 *
 * All members begin at the same positions, velocities and temperatures: bands grow from the start, and
 * the noise of measurements is not in them. Rows are kept in memory, members times rows times columns. */
#include "simulate.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 50 };
static const double TAIL = 0.05;

typedef struct bands {
    const cli_job *job;
    size_t columns, rows, room; /* of a motion */
    double *own;                /* (rows, columns): the model's own motion */
    size_t members, runs;       /* wanted; that reached the end */
    double *many;               /* (members, rows, columns) */
    double *to;                 /* where rows go now, NULL: into `own`, which grows */
    size_t at;
    int varies;    /* functions were learned with errors, too */
    size_t doubts; /* else: parameters that were */
} bands;

static cls_status put(void *context, const double *row, cls_error *error) {
    bands *b = context;
    if (b->to) {
        if (b->at < b->rows) memcpy(b->to + b->at++ * b->columns, row, b->columns * sizeof *row);
        return CLS_OK;
    }
    if (b->rows == b->room) {
        size_t room = b->room ? 2 * b->room : 1024;
        double *more = realloc(b->own, room * b->columns * sizeof *more);
        if (!more) return cli_no_memory(error);
        b->own = more;
        b->room = room;
    }
    memcpy(b->own + b->rows++ * b->columns, row, b->columns * sizeof *row);
    return CLS_OK;
}

static cls_status walk(bands *b, const cli_motion *motion, cls_error *error) {
    const cli_job *job = b->job;
    cls_simulator *sim = NULL;
    cls_status status = cls_simulator_create(motion->system, &job->options, &sim, error);
    if (!status) status = cli_inputs_set(&job->inputs, sim, error);
    if (!status) status = cls_simulator_start(sim, motion->time, motion->state, error);
    if (!status)
        status =
            job->n_times
                ? cli_walk_at(motion->system, sim, job->n_times, job->times, put, b, NULL, error)
                : cli_walk(motion->system, sim, job->steps, job->every, put, b, NULL, error);
    cls_simulator_free(&sim);
    return status;
}

/* "k=4.01, c=0.2" of a member, behind what the user sets. */
static cls_status member_text(const bands *b, uint64_t number, char **text, cls_error *error) {
    const cli_job *job = b->job;
    const cls_model *model = job->motion.model;
    size_t n = b->doubts, size = 0;
    const char *given = cli_value(job->a, "set"), **names = calloc(n + 1, sizeof *names);
    double *values = calloc(n + 1, sizeof *values);
    FILE *out = names && values ? open_memstream(text, &size) : NULL;
    cls_status status = out ? CLS_OK : cli_no_memory(error);
    if (!status && n) status = cls_model_member(model, number, names, values, error);
    if (!status) {
        if (given && *given) fputs(given, out);
        for (size_t i = 0; i < n; i++) {
            char digits[32];
            int own = 0;
            for (size_t k = 0; k < job->motion.set.list.n; k++)
                own |= !strcmp(job->motion.set.list.names[k], names[i]);
            if (own) continue;
            cli_format(values[i], digits);
            fprintf(out, "%s%s=%s", ftell(out) ? ", " : "", names[i], digits);
        }
    }
    int whole = out && !ferror(out);
    if (out && (fclose(out) || !whole) && !status) status = cli_no_memory(error);
    free(names);
    free(values);
    return status;
}

/* Functions of the model become others that the data allow. */
static cls_status vary(cli_motion *motion, uint64_t number, cls_error *error) {
    cls_starter_free(&motion->starter);
    cls_status status = cls_model_vary(motion->model, number, error);
    motion->system = cls_model_system(motion->model);
    if (!status)
        status = cls_starter_create(motion->system, motion->model, &motion->starter, error);
    return status;
}

/* The motion of one member; one that cannot be simulated is left out. */
static cls_status run_member(bands *b, uint64_t number, cls_error *error) {
    const cli_arguments *a = b->job->a;
    cli_motion motion = {0};
    char *set = NULL;
    cls_status status = member_text(b, number, &set, error);
    if (!status) status = cli_motion_open(a->words[0], set, &motion, error);
    motion.reading = a;
    if (!status && b->varies) status = vary(&motion, number, error);
    if (!status && cli_given(a, "from"))
        status = cli_motion_from(&motion, cli_value(a, "from"), cli_value(a, "row"), NULL, error);
    else if (!status)
        status = cli_motion_begin(&motion, cli_value(a, "start"), NULL, error);
    motion.time = b->job->motion.time;
    b->to = b->many + b->runs * b->rows * b->columns;
    b->at = 0;
    if (!status) status = walk(b, &motion, error);
    if (!status && b->at == b->rows) b->runs++;
    if (status == CLS_NUMERIC) status = CLS_OK;
    cli_motion_free(&motion);
    free(set);
    return status;
}

/* ---- quantiles ---- */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double quantile(size_t n, const double *sorted, double share) {
    double place = share * (double)(n - 1), low = floor(place);
    size_t i = (size_t)low;
    return i + 1 < n ? sorted[i] + (place - low) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

/* Columns that differ between members; the others have no band. */
static int differs(const bands *b, size_t c) {
    for (size_t k = 0; k < b->runs; k++)
        for (size_t i = 0; i < b->rows; i++)
            if (b->many[(k * b->rows + i) * b->columns + c] != b->own[i * b->columns + c]) return 1;
    return 0;
}

static cls_status write_bands(bands *b, cls_error *error) {
    const cli_job *job = b->job;
    size_t n = 0, *from = calloc(b->columns + 1, sizeof *from);
    const char **names = calloc(3 * b->columns + 1, sizeof *names);
    char *text = calloc(2 * b->columns + 1, 96);
    double *row = calloc(3 * b->columns + b->runs + 1, sizeof *row);
    cls_writer *writer = NULL;
    cls_status status = from && names && text && row ? CLS_OK : cli_no_memory(error);
    for (size_t c = 0; !status && c < b->columns; c++) {
        names[c] = cls_system_column(job->motion.system, c);
        if (c && differs(b, c)) from[n++] = c;
    }
    for (size_t k = 0; !status && k < n; k++)
        for (size_t side = 0; side < 2; side++) {
            char *name = text + (2 * k + side) * 96;
            snprintf(name, 96, "%.80s.%s", names[from[k]], side ? "high" : "low");
            names[b->columns + 2 * k + side] = name;
        }
    if (!status)
        status = cli_job_open_with(job, b->rows, b->columns + 2 * n, names, &writer, error);
    double *sorted = row + 3 * b->columns;
    for (size_t i = 0; !status && writer && i < b->rows; i++) {
        memcpy(row, b->own + i * b->columns, b->columns * sizeof *row);
        for (size_t k = 0; k < n; k++) {
            for (size_t m = 0; m < b->runs; m++)
                sorted[m] = b->many[(m * b->rows + i) * b->columns + from[k]];
            qsort(sorted, b->runs, sizeof *sorted, ascending);
            row[b->columns + 2 * k] = quantile(b->runs, sorted, TAIL);
            row[b->columns + 2 * k + 1] = quantile(b->runs, sorted, 1 - TAIL);
        }
        status = cls_writer_row(writer, row, error);
    }
    if (!status && writer) status = cls_writer_commit(&writer, error);
    cls_writer_discard(&writer);
    free(from);
    free(names);
    free(text);
    free(row);
    return status;
}

cls_status cli_bands(const cli_job *job, cls_error *error) {
    bands b = {.job = job, .columns = cls_system_column_count(job->motion.system)};
    const cls_model *model = job->motion.model;
    errno = 0; /* these read what the model says of itself, and have no status */
    b.varies = model && cls_model_can_vary(model);
    b.doubts = model && !b.varies ? cls_model_doubt_count(model) : 0;
    size_t learned = model ? cls_model_member_count(model) : 0;
    if (errno == ENOMEM) return cli_no_memory(error);
    if (!b.varies && !b.doubts)
        return cli_fail(
            error, CLS_USAGE,
            "--bands needs a model whose parameters or functions were learned with errors; %s "
            "is none: learn `parameter k = unknown` from a recording, or functions by "
            "`--loss multiple-shooting`",
            job->a->words[0]);
    b.members = learned ? learned : DRAWS;
    cls_status status = walk(&b, &job->motion, error);
    if (!status && !(b.many = calloc(b.members * b.rows * b.columns + 1, sizeof *b.many)))
        status = cli_no_memory(error);
    for (size_t k = 0; !status && k < b.members; k++) status = run_member(&b, k, error);
    if (!status && 2 * b.runs < b.members)
        status =
            cli_fail(error, CLS_NUMERIC,
                     "only %zu of %zu members of the ensemble can be simulated: the parameters "
                     "are too unsure for bands",
                     b.runs, b.members);
    if (!status) status = write_bands(&b, error);
    if (!status && !job->quiet)
        fprintf(stderr, "%s: 90 %% bands of %zu motions, %s\n", job->a->words[0], b.runs,
                learned    ? "the ensemble that was learned"
                : b.varies ? "drawn from the covariance of functions and parameters"
                           : "drawn from the parameters' covariance");
    free(b.own);
    free(b.many);
    return status;
}
