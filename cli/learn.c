/* clausius learn: parts of a system found from measured trajectories, written as a model that
 * simulate, audit and show take in the place of a system.
 *
 * The library does the learning; here are the flags, the names of the columns, the progress, the
 * training log and the sentences. What can be refused (a flag, a place that cannot be written) is
 * refused before the data are read. The model and its log appear when they are complete; an
 * interrupted run leaves a model only where the library had one worth keeping. */
#include "cli.h"
#include "learn_qp.h"
#include "learn_report.h"
#include "shard.h"
#include "table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct learning {
    const cli_arguments *a;
    cli_motion motion;
    cls_learn_options options;
    char **unknown;
    cls_model *from;
    char *model, *log_path, *checkpoint; /* where the results go; no log beside a device: NULL */
    size_t n_tables;
    cls_table **tables;
    int quiet, json;
    /* what is told on the way */
    char *command; /* as it was typed */
    cls_table *log;
    cls_writer *writer; /* opened before the work, to know that it can be */
    cli_progress progress;
    int phase;
    uint64_t total; /* of the phase */
    cls_learn_info info;
    cli_qp qp; /* of --optimizer qp */
    cli_shard shard;
    cli_parts parts; /* of --shard */
    int streams;     /* the files are read in blocks by the library, not here */
} learning;

/* ---- flags ---- */

static cls_status read_from(learning *l, cls_error *error) {
    const char *path = cli_value(l->a, "from");
    cls_status status = path ? cls_model_read(path, &l->from, error) : CLS_OK;
    l->options.from = l->from;
    return status;
}

static cls_status read_unknown(learning *l, cls_error *error) {
    const char *text = cli_value(l->a, "unknown");
    if (!text) return CLS_OK; /* what the system file itself calls unknown, if there is any */
    cls_status status = cli_words("--unknown", text, &l->options.n_unknown, &l->unknown, error);
    for (size_t i = 0; !status && i < l->options.n_unknown; i++)
        for (size_t k = 0; !status && k < i; k++)
            if (!strcmp(l->unknown[i], l->unknown[k]))
                status = cli_fail(error, CLS_USAGE, "--unknown: %s is named twice", l->unknown[i]);
    l->options.unknown = (const char *const *)l->unknown;
    return status;
}

/* --test SHARE, --horizon "0.5, 1". */
static cls_status read_test(learning *l, cls_error *error) {
    cls_learn_options *o = &l->options;
    char **words = NULL;
    const char *text = cli_value(l->a, "horizon");
    const char *test = cli_value(l->a, "test");
    int share = test && strchr("0123456789.", test[0]) && !strchr(test, '/') &&
                strspn(test, "0123456789.eE+-") == strlen(test);
    cls_status status = share ? cli_real(l->a, "test", &o->test, error) : CLS_OK;
    if (test && !share) o->n_test = 1; /* a file */
    if (!status && share && !(o->test >= 0 && o->test <= 0.9))
        status = cli_fail(error, CLS_USAGE, "--test is a share of the rows from 0 to 0.9, got '%s'",
                          cli_value(l->a, "test"));
    if (!status && text) status = cli_words("--horizon", text, &o->n_horizons, &words, error);
    if (!status && o->n_horizons > CLS_MAX_HORIZONS)
        status =
            cli_fail(error, CLS_USAGE, "--horizon takes at most %d times", (int)CLS_MAX_HORIZONS);
    for (size_t i = 0; !status && i < o->n_horizons; i++) {
        char *end;
        o->horizon[i] = strtod(words[i], &end);
        if (*end || !(o->horizon[i] > 0))
            status = cli_fail(error, CLS_USAGE, "--horizon: '%s' is not a positive time", words[i]);
    }
    free(words);
    return status;
}

/* The model's name is given, or that of the system; the log stands beside it. */
static cls_status name_results(learning *l, cls_error *error) {
    const char *given = cli_value(l->a, "output"), *stem = cls_system_name(l->motion.system);
    int device = given && !strncmp(given, "/dev/", 5);
    if (l->shard.n && (!given || device || cls_model_is_path(given)))
        return cli_fail(error, CLS_USAGE,
                        "--shard writes a part, not a model: give it a name of its own, "
                        "-o %s-%s.part, and let `clausius merge` make the model",
                        stem, "$i");
    if (given && !l->shard.n && !device && !cls_model_is_path(given))
        return cli_fail(error, CLS_USAGE, "-o %s: the name of a model ends in .safetensors", given);
    device |= l->shard.n > 0; /* neither log nor checkpoint beside a part */
    size_t length = strlen(given ? given : stem) + sizeof ".safetensors.checkpoint";
    l->model = calloc(length, 1);
    l->log_path = device ? NULL : calloc(length, 1);
    l->checkpoint = device ? NULL : calloc(length, 1);
    if (!l->model || (!device && (!l->log_path || !l->checkpoint))) return cli_no_memory(error);
    snprintf(l->model, length, "%s%s", given ? given : stem, given ? "" : ".safetensors");
    if (device) return CLS_OK;
    snprintf(l->log_path, length, "%.*s.log.csv", (int)(strlen(l->model) - strlen(".safetensors")),
             l->model);
    snprintf(l->checkpoint, length, "%s.checkpoint", l->model);
    l->options.checkpoint = l->checkpoint;
    if (l->options.resume && !l->quiet && access(l->checkpoint, F_OK) != 0)
        cli_notice("there is no %s: learning begins anew", l->checkpoint);
    return CLS_OK;
}

/* Columns of the log; `time`, so that `clausius plot LOG --columns loss` draws the learning. */
static const char *const log_columns[] = {"phase", "done", "total", "loss", "time"};
enum { n_log = sizeof log_columns / sizeof *log_columns };

static cls_status open_results(learning *l, cls_error *error) {
    const char *keys[] = {"model", "phase", "loss", "time", "version", "command"};
    l->command = cli_command_line(l->a);
    if (!l->command) return cli_no_memory(error);
    const char *values[] = {l->model,
                            "0 rows of the residual, 1 solve, 2 iterate",
                            "root mean square of the scaled residual",
                            "seconds",
                            cls_version(),
                            l->command};
    cls_status status = cls_table_create(n_log, log_columns, &l->log, error);
    if (!status && l->log_path && cli_is_first())
        status =
            cls_writer_open(l->log_path, 6, keys, values, n_log, log_columns, &l->writer, error);
    return status;
}

/* The files, then that of --test. */
static const char *data_path(const learning *l, size_t i) {
    return i + 1 < l->a->n_words ? l->a->words[i + 1] : cli_value(l->a, "test");
}

/* With the parameters that the data were made with, where their notes say them. */
static cls_status open_system(learning *l, cls_error *error) {
    size_t n = l->a->n_words - 1 + l->options.n_test;
    const char **files = calloc(n + 1, sizeof *files);
    if (!files) return cli_no_memory(error);
    for (size_t i = 0; i < n; i++) files[i] = data_path(l, i);
    cls_status status = cli_motion_open_beside(l->a, l->a->words[0], n, files, l->options.n_unknown,
                                               l->options.unknown, &l->motion, error);
    free(files);
    return status;
}

static cls_status prepare(learning *l, cls_error *error) {
    const cli_arguments *a = l->a;
    if (cls_model_is_path(a->words[0]))
        return cli_fail(error, CLS_USAGE, "%s is a model; learning starts from a SYSTEM",
                        a->words[0]);
    l->options = cls_learn_defaults();
    l->json = cli_given(a, "json") && cli_is_first();
    l->quiet = cli_given(a, "json") || cli_given(a, "quiet") || !cli_is_first();
    cls_identify_options unused;
    cls_status status = cli_shard_read(a, &l->shard, error);
    if (!status) status = cli_table(a, cls_learn_option_table, &l->options, error);
    if (!status && l->shard.n && l->options.optimizer && strcmp(l->options.optimizer, "auto") &&
        strcmp(l->options.optimizer, "linear"))
        status = cli_fail(error, CLS_USAGE,
                          "--shard is for learning by one solve: leave out --optimizer %s",
                          l->options.optimizer);
    if (!status) status = cli_qp_options(a, &unused, error);
    if (!status) status = read_unknown(l, error);
    if (!status) status = read_test(l, error);
    if (!status) status = read_from(l, error);
    if (!status) status = open_system(l, error);
    if (!status)
        status = cls_learn_names(l->motion.system, l->options.n_unknown, l->options.unknown, error);
    if (!status) status = name_results(l, error);
    if (!status) status = open_results(l, error);
    return status;
}

/* ---- data ---- */

/* Files beyond this together are read in blocks: some hundred thousand rows of a few columns. Numbers are
 * shorter in files of arrays than in text. Of systems with more states than WIDE a few hundred rows are that long, and
 * are read as a whole. */
static const double LARGE = 64e6, ARRAYS = 2.5;
enum { WIDE = 300 };

static double weight_of(const char *path) {
    static const char *const endings[] = {".npz", ".npy", ".h5", ".hdf5"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (n > strlen(endings[i]) && !strcmp(path + n - strlen(endings[i]), endings[i]))
            return ARRAYS;
    return 1;
}

static int is_large(const learning *l) {
    double bytes = 0;
    struct stat st;
    for (size_t i = 1; i < l->a->n_words; i++) {
        if (stat(l->a->words[i], &st) != 0 || !S_ISREG(st.st_mode)) return 0; /* a pipe, say */
        bytes += weight_of(l->a->words[i]) * (double)st.st_size;
    }
    return bytes > LARGE && cls_system_state_count(l->motion.system) <= WIDE;
}

static cls_status read_data(learning *l, cls_error *error) {
    cls_status status = CLS_OK;
    const char *optimizer = l->options.optimizer, *loss = l->options.loss;
    l->streams = is_large(l) && !l->options.n_test && !(l->options.test > 0) &&
                 !cli_value(l->a, "report") && !(optimizer && !strcmp(optimizer, "qp")) &&
                 !(loss && strcmp(loss, "residual"));
    if (l->streams) return CLS_OK;
    l->n_tables = l->a->n_words - 1 + l->options.n_test;
    l->tables = calloc(l->n_tables, sizeof *l->tables);
    if (!l->tables) status = cli_no_memory(error);
    for (size_t i = 0; !status && i < l->n_tables; i++) {
        const char *path = data_path(l, i);
        status = cli_read_table(l->a, path, l->motion.system, &l->tables[i], error);
        if (!status && !cls_table_rows(l->tables[i]))
            status =
                cli_fail(error, CLS_DATA, "%s has no rows: there is nothing to learn from", path);
        if (!status && !l->quiet) cli_tell_ignored(l->motion.system, path, l->tables[i]);
    }
    return status;
}

/* ---- on the way ---- */

static const struct {
    const char *name, *label, *unit;
} phases[] = {
    {"rows", "learn: rows", "windows"},
    {"solve", "learn: solve", "steps"},
    {"iterate", "learn: iterate", "iterations"},
};
enum { n_phases = sizeof phases / sizeof *phases };

static int phase_of(const char *name) {
    for (int i = 0; i < n_phases; i++)
        if (!strcmp(phases[i].name, name)) return i;
    return n_phases - 1;
}

static int progress(void *context, const cls_learn_progress *p) {
    learning *l = context;
    char extra[64];
    int phase = phase_of(p->phase);
    double row[n_log] = {phase, (double)p->done, (double)p->total, p->loss, p->seconds};
    if (phase != l->phase || p->total != l->total) {
        cli_progress_end(&l->progress);
        cli_progress_begin(&l->progress, phases[phase].label, phases[phase].unit, (double)p->total,
                           l->quiet);
        l->phase = phase;
        l->total = p->total;
    }
    snprintf(extra, sizeof extra, "loss %.3g", p->loss);
    cli_progress_update(&l->progress, (double)p->done, isfinite(p->loss) ? extra : NULL);
    /* A row of the log that finds no memory does not end the training. */
    (void)cls_table_append(l->log, row, NULL);
    return cli_interrupted();
}

static int is_interrupted(void *context) {
    (void)context;
    return cli_interrupted();
}

/* What was told, then the end. Before there is any solution the loss is that of the start, if it
 * has one (where everything is unknown, doing nothing has no residual). */
static cls_status write_log(learning *l, cls_error *error) {
    cls_status status = CLS_OK;
    double row[n_log],
        last[n_log] = {l->info.iterations ? 2 : 1, (double)l->info.iterations,
                       (double)l->info.iterations, l->info.loss_final, l->info.seconds};
    if (!l->writer) return CLS_OK;
    for (size_t i = 0; !status && i < cls_table_rows(l->log); i++) {
        for (size_t c = 0; c < n_log; c++) row[c] = cls_table_column(l->log, c)[i];
        if (!isfinite(row[3])) row[3] = l->info.loss_initial;
        if (row[3] > 0) status = cls_writer_row(l->writer, row, error);
    }
    if (!status && isfinite(last[3])) status = cls_writer_row(l->writer, last, error);
    return status;
}

/* ---- the report ---- */

static cls_status print_json(const learning *l, cls_error *error) {
    const cls_learn_info *i = &l->info;
    json_t *loss =
        json_pack("{s:o, s:o, s:o}", "initial", cli_json_real(i->loss_initial), "final",
                  cli_json_real(i->loss_final), "validation", cli_json_real(i->loss_validation));
    json_t *o =
        json_pack("{s:I, s:I, s:o, s:I, s:f, s:s, s:s, s:I, s:o, s:I, s:b, s:b, s:o}", "parameters",
                  (json_int_t)i->parameters, "samples", (json_int_t)i->samples, "loss", loss,
                  "iterations", (json_int_t)i->iterations, "seconds", i->seconds, "optimizer",
                  i->optimizer, "model", l->model, "rank", (json_int_t)i->rank, "condition",
                  cli_json_real(i->condition), "nullity", (json_int_t)i->nullity, "normalised",
                  i->normalised, "isothermal", i->isothermal, "rollout", cli_json_real(i->rollout));
    if (o && isfinite(i->rollout_still))
        json_object_set_new(o, "rollout_still", cli_json_real(i->rollout_still));
    if (o && *i->notes) json_object_set_new(o, "notes", json_string(i->notes));
    if (o && i->windows)
        json_object_set_new(
            o, "windows",
            json_pack("{s:I, s:I}", "used", (json_int_t)i->samples, "of", (json_int_t)i->windows));
    if (o) cli_report_keys(i, o);
    if (o && *i->ended) json_object_set_new(o, "ended", json_string(i->ended));
    if (o && l->qp.id) json_object_set_new(o, "qp", cli_qp_json(&l->qp));
    if (o && i->report) json_object_set_new(o, "report", cli_report_json(i->report));
    return cli_print_json(o, error);
}

static void print_rank(const cls_learn_info *i) {
    char condition[40] = ""; /* of one solve; a search has none */
    if (isfinite(i->condition))
        snprintf(condition, sizeof condition, ", condition %.3g", i->condition);
    if (i->rank) fprintf(stderr, "  rank        %zu of %zu%s\n", i->rank, i->parameters, condition);
    if (i->nullity)
        fprintf(stderr, "  null space  the data cannot tell %zu combination%s of parameters\n",
                i->nullity, i->nullity == 1 ? "" : "s");
    if (i->normalised)
        fprintf(stderr,
                "  scale       a multiple of energy and forces moves the same way; the mean "
                "mass was set to 1\n");
    if (i->isothermal)
        fprintf(stderr,
                "  heat        no temperature changes along the data: they cannot tell the heat "
                "capacity\n"
                "              at rest, and so neither energy nor entropy beyond a function of T; "
                "the motion\n"
                "              needs no more, and a large heat capacity was taken\n");
    if (i->negative)
        fprintf(stderr,
                "  negative    %zu value%s of friction at the data, before the form made "
                "them positive\n",
                i->negative, i->negative == 1 ? "" : "s");
}

static void print_rollout(const cls_learn_info *i) {
    if (i->rollout_parts)
        fprintf(
            stderr,
            "  rollout     off by %.3g of the data's spread in validation, in %zu steps from row "
            "to row;\n"
            "              in one step %.3g, which is the error of so long a step and not of the "
            "model:\n"
            "              simulate it with a smaller --h, or --scheme discrete-gradient-4\n",
            i->rollout_fine, i->rollout_parts, i->rollout);
    else if (isfinite(i->rollout))
        fprintf(stderr, "  rollout     off by %.3g of the data's spread in validation\n",
                i->rollout);
    else
        fprintf(stderr, "  rollout     FAILS: the model cannot be simulated along the validation "
                        "data; more data, another field, or anchors may help\n");
}

/* Where no rows were kept back to be predicted, rollouts are the test: a trivial model must lose it. */
static void print_still(const cls_learn_info *i) {
    double off = i->rollout_parts ? i->rollout_fine : i->rollout;
    if (off >= i->rollout_still && !i->runs_stopped)
        fprintf(stderr,
                "  verdict     BAD: a motion that stays where it begins is off by %.3g only\n",
                i->rollout_still);
}

/* Which optimiser, why, and why it ended. */
static void print_optimizer(const learning *l) {
    const cls_learn_info *i = &l->info;
    const char *given = l->options.optimizer;
    int chosen = !given || !strcmp(given, "auto");
    fprintf(stderr, "  parameters  %zu, by %s", i->parameters, i->optimizer);
    if (i->iterations) fprintf(stderr, ", %llu iterations", (unsigned long long)i->iterations);
    if (chosen && !strcmp(i->optimizer, "linear"))
        fputs(" (one solve: the residual is linear in them)", stderr);
    if (chosen && !strcmp(i->optimizer, "spring"))
        fputs(" (networks are not linear in them)", stderr);
    fputc('\n', stderr);
    int first = l->options.loss && strcmp(l->options.loss, "residual"); /* others follow it */
    if (i->stopped == 2)
        fputs("  ended       by the time limit; --resume goes on\n", stderr);
    else if (first)
        return;
    else if (!strcmp(i->ended, "iterations"))
        fputs("  ended       after the most iterations it may take; --epochs allows more\n",
              stderr);
    else if (!strcmp(i->ended, "patience"))
        fputs("  ended       because validation or rollouts were not getting better\n", stderr);
    else if (*i->ended)
        fputs("  ended       by itself: it finds nothing better\n", stderr);
}

static void print_next(const learning *l) {
    const cls_system *s = l->motion.system;
    const char *driven = NULL; /* by the data, where a formula does not drive it */
    for (size_t i = 0; i < cls_system_input_count(s) && l->a->n_words > 1; i++)
        if (!cls_system_input_is_given(s, i)) driven = l->a->words[1];
    fputs("next:\n  clausius show", stderr);
    cli_put_word(stderr, l->model);
    fputs("\n  clausius simulate", stderr);
    cli_put_word(stderr, l->model);
    if (driven) {
        fputs(" --inputs", stderr);
        cli_put_word(stderr, driven);
    }
    fputs(" -o learned.csv\n  clausius audit learned.csv\n", stderr);
}

/* What is counted and what its root mean square is called, by the loss. */
typedef struct measure {
    const char *loss, *samples, *name, *units;
} measure;

static const measure *measure_of(const char *loss) {
    static const measure list[] = {
        {"residual", "windows", "residual", "scaled"},
        {"shooting", "windows", "simulation", "from the data, in units of their spread"},
        {"derivative", "points", "rates", "from the derivatives, relative"}};
    for (size_t k = 1; loss && k < 3; k++)
        if (!strcmp(loss, list[k].loss)) return &list[k];
    return &list[0];
}

static void print_recordings(const learning *l) {
    const cls_learn_info *i = &l->info;
    const char *unknown = cli_value(l->a, "unknown");
    int parts = !i->report->n_parameters, both = i->report->n_functions && !parts;
    fprintf(stderr, "%s learned of %s\n",
            unknown && (parts || both) ? unknown
            : both                     ? "the unknown parts and parameters"
            : parts                    ? "the unknown parts"
                                       : "the unknown parameters",
            l->a->words[0]);
    if (parts) fprintf(stderr, "  parameters  %zu\n", i->parameters);
    cli_report_print(i);
    fprintf(stderr, "  written     %s%s%s\n", l->model, l->log_path ? ", " : "",
            l->log_path ? l->log_path : "");
    fprintf(stderr, "  seconds     %.3g, %llu iterations\n", i->seconds,
            (unsigned long long)i->iterations);
    print_next(l);
}

static void print_summary(const learning *l) {
    const cls_learn_info *i = &l->info;
    if (i->report && i->report->window) {
        print_recordings(l);
        return;
    }
    const measure *m = measure_of(l->options.loss);
    const char *unknown = cli_value(l->a, "unknown");
    fprintf(stderr, "%s learned of %s\n", unknown ? unknown : "the unknown parts", l->a->words[0]);
    print_optimizer(l);
    fprintf(stderr, "  %-10s  %zu to learn from", m->samples, i->samples);
    if (i->windows > i->samples)
        fprintf(stderr, " of %llu that there are (--max-windows)", (unsigned long long)i->windows);
    fprintf(stderr, ", %zu to validate\n", i->validation_samples);
    fprintf(stderr, "  %-10s  %.3g", m->name, i->loss_final);
    if (i->loss_initial > 0) fprintf(stderr, ", %.3g before", i->loss_initial);
    if (isfinite(i->loss_validation)) fprintf(stderr, ", %.3g in validation", i->loss_validation);
    fprintf(stderr, " (root mean square, %s)\n", m->units);
    if (l->qp.id)
        cli_qp_print(&l->qp, 1);
    else
        print_rank(i);
    for (const char *at = i->notes; *at; at += strcspn(at, "\n") + 1)
        fprintf(stderr, "  note        %.*s\n", (int)strcspn(at, "\n"), at);
    if (!isnan(i->rollout)) print_rollout(i), print_still(i);
    cli_report_print(i);
    fprintf(stderr, "  written     %s%s%s\n", l->model, l->log_path ? ", " : "",
            l->log_path ? l->log_path : "");
    fprintf(stderr, "  seconds     %.3g\n", i->seconds);
    print_next(l);
}

/* ---- all together ---- */

static cls_status stream(learning *l, cls_model **model, cls_error *error) {
    cls_read_options reading;
    cls_status status = cli_read_options(l->a, l->motion.system, &reading, error);
    if (status) return status;
    return cls_learn_files(l->motion.system, &l->motion.set.list, l->a->n_words - 1,
                           l->a->words + 1, &reading, &l->options, model, &l->info, error);
}

static cls_status learn(learning *l, cls_model **model, cls_error *error) {
    l->options.given = l->motion.model;
    if (l->options.optimizer && !strcmp(l->options.optimizer, "qp"))
        return cli_qp_learn(l->a, &l->options, &l->motion, l->n_tables, l->tables, &l->qp, model,
                            &l->info, error);
    l->phase = -1;
    l->options.want_report = 1;
    l->options.progress = progress;
    l->options.interrupted = is_interrupted;
    l->options.context = l;
    const char **names = calloc(l->n_tables + 1, sizeof *names);
    if (!names) return cli_no_memory(error);
    for (size_t i = 0; i < l->n_tables; i++) names[i] = data_path(l, i);
    cls_status status = l->streams ? stream(l, model, error)
                                   : cls_learn(l->motion.system, &l->motion.set.list, l->n_tables,
                                               (const cls_table *const *)l->tables, names,
                                               &l->options, model, &l->info, error);
    free(names);
    cli_progress_end(&l->progress);
    return status;
}

static cls_status write_results(learning *l, const cls_model *model, cls_error *error) {
    if (cli_json_failed())
        return cli_no_memory(error);         /* what the model says of itself is cut short */
    cls_status status = write_log(l, error); /* gets its name when the model has one */
    if (!status) status = cls_model_write(model, l->model, error);
    if (!status && l->writer) status = cls_writer_commit(&l->writer, error);
    return status;
}

/* After a signal: what the library had is kept, and said; the exit code is that of a signal. */
static cls_status interrupted(learning *l, const cls_model *model, cls_error *error) {
    if (!model)
        return cli_fail(error, CLS_INTERRUPTED, "interrupted; %s was not written", l->model);
    cls_status status = write_results(l, model, error);
    if (status) return status;
    return cli_fail(error, CLS_INTERRUPTED, "interrupted; %s holds the best so far%s", l->model,
                    l->info.iterations ? ", --resume goes on" : "");
}

/* qp --literal: nothing of it is kept by form, so that there is no model to write. */
static cls_status finish_literal(const learning *l, cls_error *error) {
    if (l->json) return print_json(l, error);
    fputs(cls_identified_formulas(l->qp.id), stdout);
    if (l->quiet) return CLS_OK;
    fprintf(stderr,
            "the paper's method, literally; %s was NOT written: its energy and operator "
            "keep no law by form\n",
            l->model);
    cli_qp_print(&l->qp, 0);
    return CLS_OK;
}

static cls_status write_report(learning *l, const cls_model *model, cls_error *error) {
    cls_report_subject subject = {
        .name = l->model, .system = cls_model_system(model), .model = model};
    cls_report_options o = cls_report_defaults();
    o.command = l->command; /* as the log has them, from which `report` takes them */
    o.seconds = isfinite(l->info.loss_final) ? l->info.seconds : 0;
    return cls_report_write(1, &subject, l->n_tables, (const cls_table *const *)l->tables,
                            l->a->words + 1, &o, cli_value(l->a, "report"), error);
}

static cls_status finish(learning *l, const cls_model *model, cls_error *error) {
    if (!model) return finish_literal(l, error);
    cls_status status = write_results(l, model, error);
    if (!status && cli_value(l->a, "report")) status = write_report(l, model, error);
    if (status) return status;
    if (l->json) status = print_json(l, error);
    if (!l->quiet) print_summary(l);
    if (!status && cli_given(l->a, "require-better") &&
        !(l->info.report && l->info.report->better == 1))
        status = cli_fail(error, CLS_CHECK, "%s is not better than the trivial models%s", l->model,
                          l->info.report ? "" : ": it was not tested (--test)");
    /* a residual below a thousandth of what it is made of is a fit, whatever stood there before;
     * where everything is unknown nothing stood there */
    if (!status && l->info.loss_initial > 0 && l->info.loss_final > l->info.loss_initial &&
        l->info.loss_final > 1e-3)
        status =
            cli_fail(error, CLS_CHECK,
                     "%s fits worse (%.3g) than what the search began with (%.3g): nothing was "
                     "learned; give it more --epochs, another --optimizer or --field",
                     l->model, l->info.loss_final, l->info.loss_initial);
    return status;
}

/* A shard ends where its part is written. */
static cls_status finish_part(const learning *l, cls_error *error) {
    error->message[0] = 0;
    if (l->json)
        return cli_print_json(json_pack("{s:I, s:I, s:s}", "shard", (json_int_t)l->shard.i,
                                        "shards", (json_int_t)l->shard.n, "part", l->model),
                              error);
    if (!l->quiet)
        fprintf(stderr,
                "the rows of shard %llu of %llu\n  written     %s\nnext, when all are there:\n"
                "  clausius merge PART... -o MODEL\n",
                (unsigned long long)l->shard.i, (unsigned long long)l->shard.n, l->model);
    return CLS_OK;
}

cls_status cli_learn_with(const cli_arguments *a, const cls_team *team, cls_error *error) {
    learning l = {.a = a};
    cls_model *model = NULL;
    cli_catch_signals();
    cls_status status = prepare(&l, error);
    l.options.team = team;
    if (!status && l.shard.n && team)
        status = cli_fail(error, CLS_USAGE,
                          "--shard is for processes that do not know of each "
                          "other; ranks share the rows without it");
    if (!status && l.shard.n) {
        cli_parts_shard(&l.parts, l.shard, l.model, cli_parts_arguments(a));
        l.options.team = &l.parts.team;
    }
    if (!status) status = read_data(&l, error);
    status = cls_team_agree(team, status, error);
    if (!status) status = learn(&l, &model, error);
    status = cls_team_agree(team, status, error);
    if (l.parts.written && (!status || status == CLS_INTERRUPTED))
        status = finish_part(&l, error);
    else if (!status && l.shard.n)
        status = cli_fail(error, CLS_USAGE,
                          "--shard is for parts that one solve of the residual finds; nothing of "
                          "that kind is learned here");
    else if (!cli_is_first())
        status = status ? status : CLS_OK;
    else if (status == CLS_INTERRUPTED || (!status && cli_interrupted()))
        status = interrupted(&l, model, error);
    else if (!status)
        status = finish(&l, model, error);
    cls_model_free(&model);
    cli_qp_free(&l.qp);
    cls_model_free(&l.from);
    cls_learn_report_free(&l.info.report);
    cls_writer_discard(&l.writer);
    cls_table_free(&l.log);
    for (size_t i = 0; l.tables && i < l.n_tables; i++) cls_table_free(&l.tables[i]);
    free(l.tables);
    free(l.unknown);
    free(l.model);
    free(l.log_path);
    free(l.command);
    free(l.checkpoint);
    json_decref(l.parts.arguments);
    cli_motion_free(&l.motion);
    return status;
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    return cli_learn_with(a, cli_team(), error);
}

static const cli_option options[] = {
    {"unknown", 0, "NAMES",
     "the parts to learn, \"G, F1\" (show --parts lists them); else those of the file"},
    {"output", 'o', "MODEL", "the model, .safetensors; else SYSTEM.safetensors"},
    {"set", 0, "LIST",
     "parameter values of what is known, \"m=2\"; without it those of the data's `# set:` notes"},
    CLI_DATA_OPTIONS("columns"),
    {"test", 0, "SHARE",
     "recordings: rows kept back to be predicted, at the end of each trajectory or whole ones, or "
     "a "
     "file of such rows; else 0.2 where there are 200 rows"},
    {"horizon", 0, "LIST", "recordings: predict so far ahead as well, \"0.5, 1\""},
    {"require-better", 0, NULL, "exit 1 unless rows kept back are predicted better than trivially"},
    {"from", 0, "MODEL", "iterations begin at the parameters of MODEL: same data, parts and field"},
    {"shard", 0, "I/N",
     "only the rows of the I-th of N shares, I from 0 to N - 1, into a part that `clausius merge` "
     "solves with the others"},
    {"report", 0, "FILE", "also write a page about the model, .html (see clausius report)"},
    {"quiet", 0, NULL, "no summary, notices and progress on stderr"},
    {"json", 0, NULL, "one JSON object instead of the summary"},
    {0},
};

const cli_command cli_learn = {
    .name = "learn",
    .doc = "unknown parts of a system from measured trajectories",
    .usage = "SYSTEM DATA... [options]",
    .missing = "no system file yet? `clausius new NAME --from DATA` drafts one from the columns of "
               "a recording",
    .examples =
        "  clausius learn adiabatic-piston train.csv --unknown \"G, F1, F2\" -o "
        "learned.safetensors\n"
        "  clausius learn gas.clausius run1.csv run2.csv --unknown F --set \"c=3/2\"\n"
        "  clausius learn adiabatic-piston lab.csv --unknown F1 --map \"x=position [m], time=t\"\n"
        "  clausius learn adiabatic-piston train.csv --unknown G --field \"chebyshev(6)\" --json\n"
        "  clausius learn adiabatic-piston noisy.csv --unknown \"F1, F2\" --loss shooting\n"
        "  clausius learn thermoelastic-double-pendulum run.csv --unknown \"E, M\" --optimizer "
        "qp\n",
    .notes =
        "DATA are CSV files: time and the state, one trajectory each or with a column\n"
        "`trajectory`. Learned are the parts that the system file calls `unknown`, or those of\n"
        "--unknown whatever formula they have; the others stay as they are. The model keeps the\n"
        "laws whatever was learned; simulate, audit, show, compare and plot take it.\n"
        "Units in --map are converted to those of the system. Beside MODEL stands a training\n"
        "log (.log.csv); iterations leave MODEL.checkpoint while they run, from which --resume "
        "goes\n"
        "on. Data to practise with: `clausius simulate SYSTEM --samples N`.\n",
    .options = options,
    .tables = {cls_learn_option_table, cls_identify_option_table},
    .min_words = 2,
    .max_words = 4096,
    .run = run,
};
