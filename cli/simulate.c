/* clausius simulate: a system from a start, step by step, into a file or onto stdout, with the laws
 * monitored on the way.
 *
 * Rows are streamed, so memory does not grow with the number of steps. The output appears under its
 * name only when the run is complete: a failure, a full disk or a signal leaves nothing behind. */
#include "simulate.h"
#include "table.h"
#include <clausius/flow.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the job ---- */

static cls_status read_steps(cli_job *job, cls_error *error) {
    const cli_arguments *a = job->a;
    double h = job->options.h, start = job->motion.time;
    double until = start + cls_system_default_until(job->motion.system);
    if (job->inputs.n) until = job->inputs.times[job->inputs.n - 1];
    if (cli_given(a, "at")) return CLS_OK;
    if (cli_given(a, "steps") && cli_given(a, "until"))
        return cli_fail(error, CLS_USAGE, "--steps and --until both say how long; give one");
    if (cli_given(a, "steps")) return cli_integer(a, "steps", 0, &job->steps, error);
    cls_status status = cli_real(a, "until", &until, error);
    if (status) return status;
    double exact = (until - start) / h, n = round(exact);
    if (job->inputs.n && !cli_given(a, "until") && n > exact) n = floor(exact + 1e-9);
    if (!(exact >= 0))
        return cli_fail(error, CLS_USAGE, "--until %g is before the start at time %g", until,
                        start);
    if (n > 0x1p53)
        return cli_fail(error, CLS_USAGE, "%.3g steps of %g to time %g are too many", n, h, until);
    if (fabs(exact - n) > 1e-9 * fmax(1, n) && !job->json)
        cli_notice(
            "time %.10g is not a whole number of steps of %g: %.0f steps, the last time is %.17g",
            until, h, n, start + n * h);
    job->steps = (uint64_t)n;
    return CLS_OK;
}

static cls_status read_scheme(cli_job *job, cls_error *error) {
    const char *scheme = job->options.scheme;
    if (scheme) {
        cls_status status = cli_check_scheme(scheme, error);
        if (!status) status = cls_scheme_applies(scheme, job->motion.system, error);
        if (status) return status;
    }
    job->options.scheme = scheme ? scheme : cls_scheme_default(job->motion.system);
    return CLS_OK;
}

/* Of the file; one that says none follows the rows of what drives it. */
static double usual_step(const cli_job *job) {
    size_t n = job->n_times ? job->n_times : job->inputs.n;
    const double *time = job->n_times ? job->times : job->inputs.times;
    if (cls_system_says_step(job->motion.system) || n < 2)
        return cls_system_default_step(job->motion.system);
    return (time[n - 1] - time[0]) / (double)(n - 1);
}

static cls_status read_numbers(cli_job *job, cls_error *error) {
    const cli_arguments *a = job->a;
    cls_simulate_options *o = &job->options;
    if (o->h == 0) o->h = usual_step(job);
    job->every = 1;
    if (cli_given(a, "tolerance") && !strcmp(o->scheme, "bdf")) {
        o->reference_tolerance = o->tolerance;
        o->tolerance = cls_simulate_defaults().tolerance;
    }
    cls_status status = cli_integer(a, "every", 1, &job->every, error);
    if (!status) status = read_steps(job, error);
    return status;
}

/* Inputs and times from files. A run without --from begins at the first time of either. */
static cls_status read_drive(cli_job *job, cls_error *error) {
    const cli_arguments *a = job->a;
    static const char *const other[] = {"steps", "until", "every", "samples"};
    cls_status status = cli_inputs_read(a, &job->motion, cli_value(a, "inputs"),
                                        cli_value(a, "hold"), &job->inputs, error);
    for (size_t i = 0; !status && cli_given(a, "at") && i < 4; i++)
        if (cli_given(a, other[i]))
            status = cli_fail(error, CLS_USAGE, "--at says where the rows are; leave out --%s",
                              other[i]);
    if (!status && job->inputs.n && cli_given(a, "samples"))
        status = cli_fail(error, CLS_USAGE,
                          "--inputs drive one motion; leave out --samples, or "
                          "give the inputs as formulas with --set");
    if (!status && cli_given(a, "at"))
        status =
            cli_times_read(a, &job->motion, cli_value(a, "at"), &job->n_times, &job->times, error);
    if (!status && !cli_given(a, "from") && (job->inputs.n || job->n_times))
        job->motion.time = job->n_times ? job->times[0] : job->inputs.times[0];
    return status;
}

/* What can be judged without loading anything comes first: a wrong flag is refused at once. */
static cls_status check_flags(const cli_job *job, cls_error *error) {
    static const char *const ensemble[] = {"sample", "threads", "shard"};
    const cli_arguments *a = job->a;
    if (job->json && job->output && !strcmp(job->output, "-"))
        return cli_fail(error, CLS_USAGE, "--json and -o - both want standard output");
    static const char *const reading[] = {"map", "columns", "dt", "array", "missing"};
    int reads = cli_given(a, "from") || cli_given(a, "inputs") || cli_given(a, "at");
    for (size_t i = 0; i < sizeof reading / sizeof *reading && !reads; i++)
        if (cli_given(a, reading[i]))
            return cli_fail(
                error, CLS_USAGE,
                "--%s says how a file is read, and needs --from, --inputs or --at FILE; "
                "what is written has all columns",
                reading[i]);
    if (cli_given(a, "row") && !cli_given(a, "from"))
        return cli_fail(error, CLS_USAGE, "--row needs --from FILE");
    if (cli_given(a, "bands") && (cli_given(a, "samples") || job->json))
        return cli_fail(error, CLS_USAGE, "--bands makes columns of one motion; leave out --%s",
                        job->json ? "json" : "samples");
    for (size_t i = 0; i < 3 && !cli_given(a, "samples"); i++)
        if (cli_given(a, ensemble[i]))
            return cli_fail(error, CLS_USAGE, "--%s needs --samples N", ensemble[i]);
    return CLS_OK;
}

static int is_stopped(void *context) {
    (void)context;
    return cli_interrupted();
}

static cls_status read_job(const cli_arguments *a, cli_job *job, cls_error *error) {
    *job = (cli_job){.a = a, .options = cls_simulate_defaults()};
    job->json = cli_given(a, "json");
    job->quiet = job->json || cli_given(a, "quiet") || !cli_is_first();
    job->output = cli_value(a, "output");
    job->options.monitor = 1;
    job->options.stop = is_stopped;
    cls_status status = cli_table(a, cls_simulate_option_table, &job->options, error);
    if (!status) status = check_flags(job, error);
    if (!job->output && !job->json) job->output = "-";
    const char *from = cli_value(a, "from");
    if (!status)
        status = cli_motion_open_beside(a, a->words[0], from ? 1 : 0, &from, 0, NULL, &job->motion,
                                        error);
    job->motion.reading = a;
    if (!status && cli_given(a, "seed") && !cli_given(a, "samples") &&
        !cls_system_is_noisy(job->motion.system))
        status = cli_fail(error, CLS_USAGE,
                          "--seed needs --samples N, or a system with thermal noise: nothing "
                          "here is random");
    if (!status && cli_given(a, "from") && !cli_given(a, "start") && !cli_given(a, "samples"))
        status = cli_motion_from(&job->motion, cli_value(a, "from"), cli_value(a, "row"), &job->row,
                                 error);
    else if (!status && !cli_given(a, "samples")) /* an ensemble has many starts: ensemble.c */
        status = cli_motion_begin(&job->motion, cli_value(a, "start"), cli_value(a, "from"), error);
    if (!status) status = read_drive(job, error);
    if (!status) status = read_scheme(job, error);
    if (!status) status = read_numbers(job, error);
    return status;
}

/* The columns of the output: the system's, with `trajectory` in front for an ensemble. */
static const char **output_columns(const cli_job *job, size_t *n) {
    size_t front = cli_given(job->a, "samples") ? 1 : 0;
    size_t columns = cls_system_column_count(job->motion.system);
    const char **names = calloc(columns + 1, sizeof *names);
    if (!names) return NULL;
    names[0] = "trajectory";
    for (size_t i = 0; i < columns; i++)
        names[front + i] = cls_system_column(job->motion.system, i);
    *n = front + columns;
    return names;
}

uint64_t cli_job_rows(const cli_job *job) {
    uint64_t rows = 0; /* times before the start have none */
    for (size_t i = 0; i < job->n_times; i++) rows += job->times[i] >= job->motion.time;
    if (job->n_times) return rows;
    return 1 + job->steps / job->every + (job->steps % job->every != 0);
}

cls_status cli_job_open(const cli_job *job, uint64_t rows, cls_writer **out, cls_error *error) {
    size_t n = 0;
    const char **columns = output_columns(job, &n);
    *out = NULL;
    cls_status status =
        columns ? cli_job_open_with(job, rows, n, columns, out, error) : cli_no_memory(error);
    free(columns);
    return status;
}

cls_status cli_job_open_with(const cli_job *job, uint64_t rows, size_t n_columns,
                             const char *const *columns, cls_writer **out, cls_error *error) {
    const char *keys[9], *values[9];
    char h[32], shard[96], *set = cli_assignments_text(&job->motion.set);
    size_t n = 0;
    cls_status status = set ? CLS_OK : cli_no_memory(error);
    *out = NULL;
    (void)cli_interrupted(); /* from now on there is a file to take back */
    cli_format(job->options.h, h);
#define NOTE(key, value) (keys[n] = (key), values[n] = (value), n++)
    NOTE("system", job->a->words[0]);
    if (set && *set) NOTE("set", set);
    NOTE("scheme", job->options.scheme);
    NOTE("h", h);
    if (cli_given(job->a, "sample")) NOTE("sample", cli_value(job->a, "sample"));
    if (cli_given(job->a, "samples") || cls_system_is_noisy(job->motion.system))
        NOTE("seed", cli_given(job->a, "seed") ? cli_value(job->a, "seed") : "0");
    if (cli_given(job->a, "samples") && cli_given(job->a, "shard")) {
        uint64_t samples = 0;
        if (!status) status = cli_integer(job->a, "samples", 1, &samples, error);
        snprintf(shard, sizeof shard, "%.60s of %llu", cli_value(job->a, "shard"),
                 (unsigned long long)samples);
        NOTE("shard", shard);
    }
    NOTE("version", cls_version());
#undef NOTE
    if (!status && job->output)
        status = cls_writer_open(job->output, n, keys, values, n_columns, columns, out, error);
    if (!status && *out) status = cls_writer_expect(*out, rows, error);
    if (status) cls_writer_discard(out);
    free(set);
    return status;
}

/* ---- one trajectory ---- */

/* Rows on their way out, with the first one outside the range of the data noted. */
typedef struct sink {
    cls_writer *writer; /* NULL: nothing is written */
    cls_range *range;   /* NULL: no model */
    cls_outside outside;
    double time; /* of the first row outside, NAN: none */
    uint64_t rows;
} sink;

static cls_status put(void *to, const double *row, cls_error *error) {
    sink *s = to;
    cls_outside here;
    if (s->range && cls_range_check(s->range, row + 1, &here)) {
        s->rows++;
        if (isnan(s->time)) {
            s->time = row[0];
            s->outside = here;
        }
    }
    return s->writer ? cls_writer_row(s->writer, row, error) : CLS_OK;
}

static json_t *range_json(const sink *s) {
    if (isnan(s->time)) return json_pack("{s:I}", "rows", (json_int_t)0);
    return json_pack("{s:I, s:o, s:s, s:s, s:o, s:o, s:o}", "rows", (json_int_t)s->rows, "time",
                     cli_json_real(s->time), "part", s->outside.part, "input", s->outside.input,
                     "value", cli_json_real(s->outside.value), "low", cli_json_real(s->outside.low),
                     "high", cli_json_real(s->outside.high));
}

static void print_range(const sink *s) {
    if (isnan(s->time)) return;
    cli_notice(
        "from time %g on the motion leaves the range that '%s' was learned in: %s = %.8g, seen "
        "from %.6g to %.6g; %llu rows are outside",
        s->time, s->outside.part, s->outside.input, s->outside.value, s->outside.low,
        s->outside.high, (unsigned long long)s->rows);
}

static json_t *final_values(const cls_system *s, const double *row) {
    json_t *o = json_object();
    for (size_t i = 0; o && i < cls_system_column_count(s); i++)
        json_object_set_new(o, cls_system_column(s, i), cli_json_real(row[i]));
    return o;
}

static json_t *invariants(const cls_simulate_info *info) {
    json_t *o = json_object();
    for (size_t i = 0; o && i < info->n_invariants; i++) {
        const cls_invariant_info *v = &info->invariants[i];
        json_object_set_new(o, v->name,
                            json_pack("{s:o, s:o}", "initial", cli_json_real(v->initial),
                                      "max_error", cli_json_real(v->max_error)));
    }
    return o;
}

static double mean_iterations(const cls_simulate_info *info) {
    return info->steps ? (double)info->newton_iterations / (double)info->steps : 0;
}

/* The step at which what goes to and fro would settle instead: with the last change d twice the
 * distance from rest and z' the rate there, tau = |d/2 / z'| and h = 2 tau; 0: not known. */
static double settling_step(const cls_system *s, cls_simulator *sim, const cls_simulate_info *i) {
    cls_flow *flow = NULL;
    double time = cls_simulator_time(sim), h = 0;
    if (!i->alternates || cls_flow_create(s, &flow, NULL)) return 0;
    size_t n = cls_flow_count(flow);
    double *rates = calloc(n + 1, sizeof *rates);
    if (rates && i->alternating < n &&
        !cls_flow_rates(flow, 1, n, cls_simulator_state(sim), &time, 1, rates, NULL, NULL))
        h = i->alternation / fabs(rates[i->alternating]);
    free(rates);
    cls_flow_free(&flow);
    return isfinite(h) && h < i->h ? h : 0;
}

static json_t *alternation_json(const cls_system *s, const cls_simulate_info *i, double h) {
    return json_pack("{s:s, s:I, s:o, s:o}", "variable", cls_system_state_name(s, i->alternating),
                     "steps", (json_int_t)i->alternations, "change", cli_json_real(i->alternation),
                     "h", h > 0 ? cli_json_real(h) : json_null());
}

/* A stage backwards makes what decays at the rate 3.04/h grow (docs/schemes.md): whether a smaller h is
 * better is chance as long as there are faster decays. */
static void print_alternation(const cls_system *s, const cls_simulate_info *i, double h) {
    char advice[160] = "take a smaller h";
    if (!i->alternations) return;
    if (!strcmp(i->scheme, "discrete-gradient-4"))
        snprintf(
            advice, sizeof advice,
            "one of the five stages goes backwards, and what decays at about %.2g per unit of time "
            "grows in it: take discrete-gradient",
            3.04 / i->h);
    else if (h > 0)
        snprintf(advice, sizeof advice, "take h <= %.1g", h);
    cli_notice(
        "%s goes to and fro, by %.3g over %llu steps on end: the step %g is far above the time "
        "in which it settles (or swings); %s, the path is not the system's: %s",
        cls_system_state_name(s, i->alternating), i->alternation,
        (unsigned long long)i->alternations, i->h,
        i->entropy_falls ? "the energy holds" : "the laws hold", advice);
}

static cls_status print_json(const cls_system *s, const cls_simulate_info *i, const double *row,
                             const sink *to, double settles, double seconds, cls_error *error) {
    json_t *energy = json_pack("{s:o, s:o, s:o}", "initial", cli_json_real(i->energy_initial),
                               "max_error", cli_json_real(i->energy_max_error), "relative",
                               cli_json_real(i->energy_relative));
    json_t *entropy =
        json_pack("{s:o, s:o, s:I, s:o}", "initial", cli_json_real(i->entropy_initial), "final",
                  cli_json_real(i->entropy_final), "falls", (json_int_t)i->entropy_falls,
                  "min_step", cli_json_real(i->entropy_min_step));
    json_t *newton = json_pack("{s:f, s:i}", "mean_iterations", mean_iterations(i),
                               "max_iterations", i->newton_max_iterations);
    json_t *o =
        json_pack("{s:s, s:f, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:f}", "scheme", i->scheme, "h",
                  i->h, "steps", (json_int_t)i->steps, "final", final_values(s, row), "energy",
                  energy, "entropy", entropy, "invariants", invariants(i), "newton", newton,
                  "retried_steps", (json_int_t)i->retried_steps, "seconds", seconds);
    if (o && cls_system_is_noisy(s))
        json_object_set_new(o, "reversals", json_integer((json_int_t)i->reversals));
    if (o && i->internal_steps)
        json_object_set_new(o, "internal",
                            json_pack("{s:I, s:I}", "steps", (json_int_t)i->internal_steps,
                                      "rejected", (json_int_t)i->rejected_steps));
    if (o && cls_system_formalism(s) == CLS_ODE) { /* there is neither */
        json_object_set_new(o, "energy", json_null());
        json_object_set_new(o, "entropy", json_null());
    }
    if (o && to->range) json_object_set_new(o, "outside", range_json(to));
    if (o && i->alternations) json_object_set_new(o, "alternates", alternation_json(s, i, settles));
    return cli_print_json(o, error);
}

static const char *hold_text(const char *hold) {
    if (!hold || !strcmp(hold, "zero")) return "each held until the next";
    if (!strcmp(hold, "auto")) return "held or joined by lines, as their values look";
    return strcmp(hold, "linear") ? hold : "joined by lines";
}

static void print_summary(const cli_job *job, const cls_simulate_info *i, double time,
                          double seconds) {
    fprintf(stderr, "%s by %s, %llu steps of %s%g to time %g\n", job->a->words[0], i->scheme,
            (unsigned long long)i->steps, job->n_times ? "at most " : "", i->h, time);
    if (job->row)
        fprintf(stderr, "  start      row %zu of %s, time %g\n", job->row,
                cli_value(job->a, "from"), job->motion.time);
    if (job->inputs.n)
        fprintf(stderr, "  inputs     %zu samples of %s, %s\n", job->inputs.n,
                cli_value(job->a, "inputs"), hold_text(job->inputs.hold));
    if (cls_system_formalism(job->motion.system) == CLS_ODE)
        fprintf(stderr, "  laws       none is promised by ordinary differential equations\n");
    else
        fprintf(stderr, "  energy     %.10g, largest error %.3g (relative %.3g)\n",
                i->energy_initial, i->energy_max_error, i->energy_relative);
    if (cls_system_is_noisy(job->motion.system))
        fprintf(stderr,
                "  entropy    %.10g to %.10g, rises in the mean of many motions only: thermal "
                "noise\n  seed       %llu, %llu steps turned round\n",
                i->entropy_initial, i->entropy_final, (unsigned long long)job->options.seed,
                (unsigned long long)i->reversals);
    else if (cls_system_has_entropy(job->motion.system))
        fprintf(stderr, "  entropy    %.10g to %.10g, %llu falls, smallest step %.3g\n",
                i->entropy_initial, i->entropy_final, (unsigned long long)i->entropy_falls,
                i->entropy_min_step);
    for (size_t k = 0; k < i->n_invariants; k++)
        fprintf(stderr, "  invariant  %s = %.10g, largest error %.3g\n", i->invariants[k].name,
                i->invariants[k].initial, i->invariants[k].max_error);
    if (i->newton_iterations)
        fprintf(stderr, "  newton     %.2f iterations per step, at most %d in a solve\n",
                mean_iterations(i), i->newton_max_iterations);
    if (i->internal_steps)
        fprintf(stderr, "  internal   %llu steps, %llu rejected\n",
                (unsigned long long)i->internal_steps, (unsigned long long)i->rejected_steps);
    if (i->retried_steps)
        fprintf(stderr, "  retried    %llu steps were split, at most %d times\n",
                (unsigned long long)i->retried_steps, i->deepest_halving);
    if (job->output && strcmp(job->output, "-")) fprintf(stderr, "  written    %s\n", job->output);
    fprintf(stderr, "  seconds    %.3g (%.3g steps per second)\n", seconds,
            seconds > 0 ? (double)i->steps / seconds : 0);
}

static cls_status walk(const cli_job *job, cls_simulator *sim, sink *to, cls_error *error) {
    cli_progress progress;
    /* Without rows to write there is nothing to stop for. */
    uint64_t every = to->writer || to->range || !job->steps ? job->every : job->steps;
    cli_progress_begin(&progress, "simulate", job->n_times ? "rows" : "steps",
                       job->n_times ? (double)job->n_times : (double)job->steps, job->quiet);
    cls_status status = job->n_times ? cli_walk_at(job->motion.system, sim, job->n_times,
                                                   job->times, put, to, &progress, error)
                                     : cli_walk(job->motion.system, sim, job->steps, every, put, to,
                                                &progress, error);
    cli_progress_end(&progress);
    return status;
}

static cls_status report(const cli_job *job, cls_simulator *sim, const sink *to, double seconds,
                         cls_error *error) {
    cls_simulate_info info = cls_simulator_info(sim);
    double settles = settling_step(job->motion.system, sim, &info);
    double *row = calloc(cls_system_column_count(job->motion.system) + 1, sizeof *row);
    cls_status status = row ? cls_simulator_row(sim, row, error) : cli_no_memory(error);
    if (!status && job->json)
        status = print_json(job->motion.system, &info, row, to, settles, seconds, error);
    else if (!status && !job->quiet)
        print_summary(job, &info, row[0], seconds);
    if (!status && !job->quiet) print_range(to);
    if (!status && !job->quiet) print_alternation(job->motion.system, &info, settles);
    free(row);
    return status;
}

static cls_status single(const cli_job *job, cls_error *error) {
    cls_simulator *sim = NULL;
    sink to = {.time = NAN};
    double end = job->n_times ? job->times[job->n_times - 1]
                              : job->motion.time + (double)job->steps * job->options.h;
    cls_status status = cli_inputs_reach(&job->inputs, job->motion.time, end, error);
    if (!status) status = cls_simulator_create(job->motion.system, &job->options, &sim, error);
    if (!status) status = cli_inputs_set(&job->inputs, sim, error);
    if (!status) status = cls_simulator_start(sim, job->motion.time, job->motion.state, error);
    if (!status && job->motion.model)
        status = cls_range_create(job->motion.model, &to.range, error);
    if (!status) status = cli_job_open(job, cli_job_rows(job), &to.writer, error);
    double begin = cli_seconds();
    if (!status) status = walk(job, sim, &to, error);
    if (!status && to.writer) status = cls_writer_commit(&to.writer, error);
    if (!status) status = report(job, sim, &to, cli_seconds() - begin, error);
    cls_writer_discard(&to.writer);
    cls_range_free(&to.range);
    cls_simulator_free(&sim);
    return status;
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    cli_job job;
    if (!cli_is_first() && !cli_given(a, "samples")) return CLS_OK; /* one motion, one process */
    cli_catch_signals();
    cls_status status = read_job(a, &job, error);
    if (!status)
        status = cli_given(a, "outputs")   ? cli_legendre(&job, error)
                 : cli_given(a, "samples") ? cli_ensemble(&job, error)
                 : cli_given(a, "bands")   ? cli_bands(&job, error)
                                           : single(&job, error);
    if (status == CLS_INTERRUPTED && job.output && strcmp(job.output, "-")) {
        size_t n = strlen(error->message);
        snprintf(error->message + n, sizeof error->message - n, "; %s was not written", job.output);
    }
    cli_motion_free(&job.motion);
    cli_inputs_free(&job.inputs);
    free(job.times);
    return status;
}

static const cli_option options[] = {
    {"start", 0, "LIST", "the start: positions, velocities or momenta, entropies or temperatures"},
    CLI_DATA_OPTIONS("columns"),
    {"from", 0, "FILE", "start from a row of a file; time continues"},
    {"row", 0, "WHICH",
     "first, last or a number; else the last of a file that clausius wrote, the first of "
     "measurements"},
    {"set", 0, "LIST", "values of parameters and inputs, \"m=2, k=2/3, u=0.3*sin(t)\""},
    {"inputs", 0, "FILE", "columns with the values of the system's inputs"},
    {"hold", 0, "KIND",
     "inputs between their samples: zero (the last value; default of systems), linear, auto (as "
     "they look; default of models), or each its own: u=zero, Tout=linear"},
    {"at", 0, "FILE", "rows at the times of this file, in whole steps of at most h"},
    {"steps", 0, "N", "how many steps; 0 gives the start"},
    {"until", 0, "T", "until this time: the nearest whole number of steps; else the system's"},
    {"every", 0, "K", "a row every K steps (and the last); else every step"},
    {"output", 'o', "FILE", "a .csv, .npz or .h5 file, complete or not there; else CSV on stdout"},
    {"samples", 0, "N", "an ensemble of N random starts, one file with a trajectory column"},
    {"sample", 0, "LIST", "what is random: \"x~U(-1,1), v.x~N(0,0.1)\" (see below)"},
    {"threads", 0, "N", "threads of an ensemble, the result does not depend on it; else all cores"},
    {"bands", 0, NULL,
     "a learned model: columns NAME.low and NAME.high, between which 90 % of the motions lie that "
     "its parameters' errors allow"},
    {"outputs", 0, "WHAT",
     "legendre: columns p-.NAME and p+.NAME, the discrete Legendre maps of the scheme on the steps "
     "that begin and end at a row"},
    {"shard", 0, "I/N",
     "only the I-th of N shares of the ensemble, I from 0 to N - 1; `clausius merge` joins them"},
    {"quiet", 0, NULL, "no summary and no progress on stderr"},
    {"json", 0, NULL, "one JSON object instead of summary and rows (rows only with -o)"},
    {0},
};

const cli_command cli_simulate = {
    .name = "simulate",
    .doc = "a system step by step, with the laws monitored",
    .usage = "SYSTEM|MODEL [options]",
    .examples =
        "  clausius simulate adiabatic-piston --until 50 -o piston.csv\n"
        "  clausius simulate pendulum --start \"q=1, v.q=0\" --scheme leapfrog --h 0.1 --steps "
        "1000\n"
        "  clausius simulate ideal-gas-piston --set \"gamma=0.2\" --steps 1e6 --every 1000 --json\n"
        "  clausius simulate adiabatic-piston --from piston.csv --steps 100 -o more.csv\n"
        "  clausius simulate pendulum --samples 100 --sample \"q~U(-1,1)\" --seed 7 -o many.csv\n"
        "  clausius simulate learned.safetensors --until 50 -o learned.csv\n",
    .notes =
        "SYSTEM is a built-in name (see `clausius systems`) or a .clausius file, MODEL a learned\n"
        ".safetensors file (see `clausius learn`); a model's entropies have origins of their own, "
        "so\n"
        "start it with temperatures. Columns: time, the state, the derived p.*, v.*, S*, T*, "
        "energy, entropy, then invariants and outputs.\n"
        "Numbers may be constant expressions: --h 1/128. With --from and neither --steps nor "
        "--until\n"
        "the run goes on for the system's usual time; --until is a time, not a duration.\n"
        "--sample takes NAME~U(low,high), NAME~N(mean,sigma), NAME~S(low,high), which is U with a\n"
        "random sign, NAME = FORMULA of the names before it, and `let` in front of names that are\n"
        "not the system's: \"let r~U(0.1,1), let a~U(0,2*pi), q = r*cos(a), p.q = r*sin(a)\".\n"
        "u[*] in --start and --sample is every element of the array u: \"u[*]~U(-1,1)\".\n"
        "--from a file that has positions but neither velocities nor momenta takes its last two\n"
        "rows and the momentum with which discrete-gradient goes from one to the other.\n"
        "The random numbers are xoshiro256** seeded by splitmix64, drawn start by start in the\n"
        "order of --sample: a seed means the same starts everywhere.\n",
    .options = options,
    .tables = {cls_simulate_option_table},
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
