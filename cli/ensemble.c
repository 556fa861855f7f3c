/* clausius simulate --samples: many random starts of one system, run in parallel, one file with a
 * `trajectory` column (0, 1, ...) in front.
 *
 * Members are run in groups whose rows fit in a modest block, so that memory does not grow with
 * their number; the file is the same for any number of threads. Energy and entropy are judged on
 * the rows that are written, not on the steps between them. */
#include "shard.h"
#include "simulate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ensemble {
    const cli_job *job;
    const cls_team *team; /* processes that share each group; NULL: this one alone */
    uint64_t samples, seed;
    uint64_t begin, end; /* those of them that are simulated here: --shard */
    int threads;
    size_t n_columns, n_rows, group; /* columns and rows of one member, members at a time */
    cli_draws draws;
    cli_assignments start;
    cls_random random;
    const char **names; /* (start.n + draws.n_given) */
    double *values;     /* same */
    double *states;     /* (group, state_count) */
    double *rows;       /* (group, n_rows, n_columns) */
    double *out;        /* (1 + n_columns) */
    /* what was seen */
    double energy_error, energy_relative, entropy_min_step;
    uint64_t entropy_falls;
    double *low, *high, *sum; /* (n_columns) of the last rows */
} ensemble;

/* The first trajectory of a shard, or of the one after it. */
static uint64_t job_first(const ensemble *e, const cli_shard *shard, uint64_t more) {
    if (!shard->n) return more ? e->samples : 0;
    return cls_team_first(shard->i + more, shard->n, e->samples);
}

static cls_status read_options(ensemble *e, cls_error *error) {
    const cli_arguments *a = e->job->a;
    uint64_t threads = 0;
    cli_shard shard;
    cls_status status = cli_integer(a, "samples", 1, &e->samples, error);
    e->seed = e->job->options.seed;
    if (!status) status = cli_integer(a, "threads", 1, &threads, error);
    if (!status) status = cli_shard_read(a, &shard, error);
    if (status) return status;
    e->threads = threads < 4096 ? (int)threads : 4096;
    e->begin = job_first(e, &shard, 0);
    e->end = job_first(e, &shard, 1);
    if (!cli_given(a, "sample") && !cls_system_is_noisy(e->job->motion.system))
        return cli_fail(error, CLS_USAGE,
                        "--samples needs --sample \"x~U(-1,1)\": what is random in the start?");
    if (cli_given(a, "from"))
        return cli_fail(error, CLS_USAGE, "--from is one start; it does not go with --samples");
    if (e->job->steps % e->job->every)
        return cli_fail(error, CLS_USAGE, "%llu steps are no multiple of --every %llu",
                        (unsigned long long)e->job->steps, (unsigned long long)e->job->every);
    return CLS_OK;
}

static cls_status read_starts(ensemble *e, cls_error *error) {
    const cli_arguments *a = e->job->a;
    cls_status status =
        cli_given(a, "sample")
            ? cli_draws_parse(cli_value(a, "sample"), e->job->motion.system, &e->draws, error)
            : CLS_OK;
    if (!status) status = cli_assignments_parse("--start", cli_value(a, "start"), &e->start, error);
    size_t n = e->start.list.n;
    size_t drawn = e->draws.n_given;
    e->names = calloc(n + drawn + 1, sizeof *e->names);
    e->values = calloc(n + drawn + 1, sizeof *e->values);
    if (!status && (!e->names || !e->values)) status = cli_no_memory(error);
    for (size_t i = 0; !status && i < n; i++) {
        e->names[i] = e->start.names[i];
        e->values[i] = e->start.values[i];
        for (size_t k = 0; !status && k < drawn; k++)
            if (!strcmp(e->draws.names[k], e->names[i]))
                status = cli_fail(error, CLS_USAGE, "%s is both in --start and in --sample",
                                  e->names[i]);
    }
    for (size_t k = 0; !status && k < drawn; k++) e->names[n + k] = e->draws.names[k];
    cls_random_seed(&e->random, e->seed);
    return status;
}

/* The group: about 32 MB of rows, but work for every thread. */
static cls_status allocate(ensemble *e, cls_error *error) {
    const cls_system *s = e->job->motion.system;
    double rows = (double)(e->job->steps / e->job->every) + 1;
    e->n_columns = cls_system_column_count(s);
    double member = rows * (double)e->n_columns, group = floor(4e6 / member);
    double least = e->team ? 8 * (double)e->team->ranks : 8, all = (double)(e->end - e->begin);
    if (group < least) group = least;
    if (group > all) group = all;
    if (group < 1) group = 1; /* more shards than trajectories: one may be empty */
    if (member * group > 1e14) return cli_no_memory(error);
    e->n_rows = (size_t)rows;
    e->group = (size_t)group;
    e->states = calloc(e->group * cls_system_state_count(s), sizeof *e->states);
    e->rows = calloc(e->group * e->n_rows * e->n_columns, sizeof *e->rows);
    e->out = calloc(4 * e->n_columns + 1, sizeof *e->out);
    if (!e->states || !e->rows || !e->out) return cli_no_memory(error);
    e->low = e->out + 1 + e->n_columns;
    e->high = e->low + e->n_columns;
    e->sum = e->high + e->n_columns;
    return CLS_OK;
}

/* The generator stands before the first trajectory of the shard. */
static void skip_draws(ensemble *e) {
    cls_random_seed(&e->random, e->seed);
    for (uint64_t i = 0; i < e->begin; i++) cli_draws_next(&e->draws, &e->random);
}

static cls_status draw_starts(ensemble *e, uint64_t first, size_t n, cls_error *error) {
    const cli_motion *m = &e->job->motion;
    size_t fixed = e->start.list.n, states = cls_system_state_count(m->system);
    cls_assignments given = {fixed + e->draws.n_given, e->names, e->values};
    for (size_t i = 0; i < n; i++) {
        cli_draws_next(&e->draws, &e->random);
        memcpy(e->values + fixed, e->draws.given, e->draws.n_given * sizeof *e->values);
        cls_status status = cls_starter_state(m->starter, &given, e->states + i * states, error);
        if (status)
            return cli_prefix(error, "start of trajectory %llu", (unsigned long long)(first + i));
    }
    return CLS_OK;
}

/* Energy (less work and heat from outside) and entropy along one member's rows. */
static void watch(ensemble *e, const double *rows) {
    const cls_system *s = e->job->motion.system;
    int energy = cli_column(s, "energy"), entropy = cli_column(s, "entropy");
    int work = cli_column(s, "work"), heat = cli_column(s, "heat");
    double scale = energy < 0 ? 0 : fabs(rows[energy]); /* an ode has neither */
    for (size_t r = 1; r < e->n_rows && energy >= 0; r++) {
        const double *row = rows + r * e->n_columns, *before = row - e->n_columns;
        double received =
            (work < 0 ? 0 : row[work] - rows[work]) + (heat < 0 ? 0 : row[heat] - rows[heat]);
        double error = fabs(row[energy] - rows[energy] - received);
        double step = row[entropy] - before[entropy];
        e->energy_error = fmax(e->energy_error, error);
        e->energy_relative = fmax(e->energy_relative, scale > 0 ? error / scale : error);
        e->entropy_min_step = fmin(e->entropy_min_step, step);
        e->entropy_falls += step < -1e-14 * fabs(before[entropy]);
    }
    const double *last = rows + (e->n_rows - 1) * e->n_columns;
    for (size_t c = 0; c < e->n_columns; c++) {
        e->low[c] = fmin(e->low[c], last[c]);
        e->high[c] = fmax(e->high[c], last[c]);
        e->sum[c] += last[c];
    }
}

static cls_status write_member(ensemble *e, uint64_t number, const double *rows, cls_writer *writer,
                               cls_error *error) {
    cls_status status = CLS_OK;
    e->out[0] = (double)number;
    for (size_t r = 0; writer && !status && r < e->n_rows; r++) {
        memcpy(e->out + 1, rows + r * e->n_columns, e->n_columns * sizeof *rows);
        status = cls_writer_row(writer, e->out, error);
    }
    return status;
}

/* This process's share of a group; rank 0 gets all of it. */
static cls_status simulate_group(ensemble *e, uint64_t first, size_t n, cls_error *error) {
    const cli_job *job = e->job;
    const cls_team *team = e->team;
    size_t begin = team ? cls_team_first(team->rank, team->ranks, n) : 0,
           one = e->n_rows * e->n_columns;
    size_t end = team ? cls_team_first(team->rank + 1, team->ranks, n) : n;
    cls_simulate_options options = job->options;
    options.first_member = first + begin;
    cls_status status = draw_starts(e, first, n, error);
    if (!status && end > begin)
        status = cls_ensemble_run(job->motion.system, &options, end - begin,
                                  e->states + begin * cls_system_state_count(job->motion.system),
                                  job->steps, job->every, e->threads, e->rows + begin * one, error);
    status = cls_team_agree(team, status, error);
    if (status || !team) return status;
    return team->share(team->context, "rows", NULL, n, one * sizeof *e->rows, e->rows, 1, error);
}

static cls_status run_group(ensemble *e, uint64_t first, size_t n, cls_writer *writer,
                            cls_error *error) {
    cls_status status = simulate_group(e, first, n, error);
    for (size_t i = 0; !status && cli_is_first() && i < n; i++) {
        const double *rows = e->rows + i * e->n_rows * e->n_columns;
        watch(e, rows);
        status = write_member(e, first + i, rows, writer, error);
    }
    if ((!status && cli_interrupted()) || status == CLS_INTERRUPTED)
        status = cli_fail(error, CLS_INTERRUPTED, "interrupted after %llu of %llu trajectories",
                          (unsigned long long)(first - e->begin),
                          (unsigned long long)(e->end - e->begin));
    return cls_team_agree(e->team, status, error);
}

static cls_status run_all(ensemble *e, cls_writer *writer, cls_error *error) {
    cli_progress progress;
    cls_status status = CLS_OK;
    e->entropy_min_step = e->n_rows > 1 ? INFINITY : 0;
    for (size_t c = 0; c < e->n_columns; c++) e->low[c] = INFINITY, e->high[c] = -INFINITY;
    cli_progress_begin(&progress, "simulate", "trajectories", (double)(e->end - e->begin),
                       e->job->quiet);
    for (uint64_t at = e->begin; !status && at < e->end; at += e->group) {
        uint64_t left = e->end - at;
        status = run_group(e, at, left < e->group ? (size_t)left : e->group, writer, error);
        cli_progress_update(&progress, (double)(at - e->begin + e->group), NULL);
    }
    cli_progress_end(&progress);
    return status;
}

static cls_status print_json(const ensemble *e, double seconds, cls_error *error) {
    const cls_system *s = e->job->motion.system;
    json_t *final = json_object();
    for (size_t c = 0; final && c < e->n_columns; c++)
        json_object_set_new(final, cls_system_column(s, c),
                            json_pack("{s:o, s:o, s:o}", "mean",
                                      cli_json_real(e->sum[c] / (double)(e->end - e->begin)), "min",
                                      cli_json_real(e->low[c]), "max", cli_json_real(e->high[c])));
    json_t *energy = json_pack("{s:o, s:o}", "max_error", cli_json_real(e->energy_error),
                               "relative", cli_json_real(e->energy_relative));
    json_t *entropy = json_pack("{s:I, s:o}", "falls", (json_int_t)e->entropy_falls, "min_step",
                                cli_json_real(e->entropy_min_step));
    return cli_print_json(
        json_pack("{s:s, s:f, s:I, s:I, s:I, s:o, s:o, s:o, s:f}", "scheme", e->job->options.scheme,
                  "h", e->job->options.h, "steps", (json_int_t)e->job->steps, "samples",
                  (json_int_t)(e->end - e->begin), "seed", (json_int_t)e->seed, "final", final,
                  "energy", energy, "entropy", entropy, "seconds", seconds),
        error);
}

static void print_summary(const ensemble *e, double seconds) {
    const cli_job *job = e->job;
    fprintf(stderr, "%s by %s, %llu trajectories of %llu steps of %g\n", job->a->words[0],
            job->options.scheme, (unsigned long long)(e->end - e->begin),
            (unsigned long long)job->steps, job->options.h);
    fprintf(stderr, "  energy     largest error between rows %.3g (relative %.3g)\n",
            e->energy_error, e->energy_relative);
    if (cls_system_is_noisy(job->motion.system))
        fprintf(stderr, "  entropy    rises in the mean only: thermal noise\n");
    else if (cls_system_has_entropy(job->motion.system))
        fprintf(stderr, "  entropy    %llu falls between rows, smallest change %.3g\n",
                (unsigned long long)e->entropy_falls, e->entropy_min_step);
    if (job->output && strcmp(job->output, "-")) fprintf(stderr, "  written    %s\n", job->output);
    fprintf(stderr, "  seconds    %.3g (%.3g steps per second)\n", seconds,
            seconds > 0 ? (double)job->steps * (double)(e->end - e->begin) / seconds : 0);
}

cls_status cli_ensemble(const cli_job *job, cls_error *error) {
    ensemble e = {.job = job, .team = cli_team()};
    cls_writer *writer = NULL;
    cls_status status = read_options(&e, error);
    if (!status) status = read_starts(&e, error);
    if (!status) status = allocate(&e, error);
    /* A bad name or range shows in the first starts: tried once before anything is written. */
    skip_draws(&e);
    if (!status && e.end > e.begin) status = draw_starts(&e, e.begin, e.group, error);
    skip_draws(&e);
    if (!status && cli_is_first())
        status = cli_job_open(job, (e.end - e.begin) * e.n_rows, &writer, error);
    if (!status && writer && cli_given(job->a, "shard")) status = cls_writer_seal(writer, error);
    status = cls_team_agree(e.team, status, error);
    double begin = cli_seconds();
    if (!status) status = run_all(&e, writer, error);
    if (!status && writer) status = cls_writer_commit(&writer, error);
    if (!status && job->json && cli_is_first())
        status = print_json(&e, cli_seconds() - begin, error);
    else if (!status && !job->quiet)
        print_summary(&e, cli_seconds() - begin);
    cls_writer_discard(&writer);
    cli_draws_free(&e.draws);
    cli_assignments_free(&e.start);
    free(e.names);
    free(e.values);
    free(e.states);
    free(e.rows);
    free(e.out);
    return status;
}
