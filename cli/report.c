/* clausius report: one self-contained HTML page about systems, models and trajectories. */
#include "cli.h"
#include "table.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { max_subjects = 6, max_data = 64 };

typedef struct work {
    size_t n, n_data;
    char **files; /* of --data, n_files; n_data of them were read */
    size_t n_files;
    cls_report_subject subjects[max_subjects];
    cli_motion motions[max_subjects];
    cls_table *trajectories[max_subjects], *data[max_data];
} work;

/* A trajectory that clausius wrote names its system; any other is shown and not judged. */
static cls_status open_trajectory(const cli_arguments *a, const char *path, cli_motion *m,
                                  cls_table **t, cls_report_subject *s, cls_error *error) {
    cls_status status = cli_read_table(a, path, NULL, t, error);
    const char *system = status ? NULL : cls_table_note(*t, "system");
    char *beside = NULL;
    cls_error ignored;
    cls_status named = system ? cli_system_of_note(path, system, &beside, &ignored) : CLS_SYSTEM;
    if (!named) named = cli_motion_open(beside, cls_table_note(*t, "set"), m, &ignored);
    if (!named) s->system = m->system, s->model = NULL;
    free(beside);
    s->trajectory = *t;
    return !status && named == CLS_MEMORY ? cli_no_memory(error) : status;
}

static cls_status open_subject(const cli_arguments *a, work *w, const char *word,
                               cls_error *error) {
    cls_report_subject *s = &w->subjects[w->n];
    cli_motion *m = &w->motions[w->n];
    cls_status status;
    s->name = word;
    if (cli_is_system(word)) {
        status = cli_motion_open_beside(a, word, w->n_files, (const char *const *)w->files, 0, NULL,
                                        m, error);
        if (!status) status = cli_motion_begin(m, cli_value(a, "start"), NULL, error);
        if (!status) s->system = m->system, s->model = m->model, s->start = m->state;
    } else {
        status = open_trajectory(a, word, m, &w->trajectories[w->n], s, error);
    }
    w->n++;
    return status;
}

static cls_status name_data(const cli_arguments *a, work *w, cls_error *error) {
    if (!cli_given(a, "data")) return CLS_OK;
    cls_status status = cli_words("--data", cli_value(a, "data"), &w->n_files, &w->files, error);
    if (!status && w->n_files > max_data)
        status = cli_fail(error, CLS_USAGE, "--data takes at most %d files", max_data);
    return status;
}

static cls_status open_data(const cli_arguments *a, work *w, cls_error *error) {
    cls_status status = CLS_OK;
    for (; w->n_data < w->n_files && !status; w->n_data++)
        status = cli_read_table(a, w->files[w->n_data], w->n ? w->motions[0].system : NULL,
                                &w->data[w->n_data], error);
    return status;
}

/* The log that `learn` left beside a model says how it was made. Another model's log says nothing. */
static cls_status log_of(const char *model, cls_table **log, cls_error *error) {
    static const char ending[] = ".safetensors";
    char path[4096];
    size_t n = strlen(model), cut = n - (sizeof ending - 1);
    if (!cls_model_is_path(model) || n >= sizeof path || strcmp(model + cut, ending)) return CLS_OK;
    snprintf(path, sizeof path, "%.*s.log.csv", (int)cut, model);
    cls_status status = access(path, R_OK) ? CLS_IO : cls_table_read(path, log, NULL);
    if (!status && !cls_table_note(*log, "command")) cls_table_free(log);
    return status == CLS_MEMORY ? cli_no_memory(error) : CLS_OK;
}

static double seconds_of(const cls_table *log) {
    int time = cls_table_find(log, "time");
    size_t rows = cls_table_rows(log);
    return time < 0 || !rows ? 0 : cls_table_column(log, (size_t)time)[rows - 1];
}

static cls_status write_page(const cli_arguments *a, const work *w, const cls_table *log,
                             const char *command, cls_error *error) {
    cls_report_options o = cls_report_defaults();
    o.command = log ? cls_table_note(log, "command") : command;
    o.seconds = log ? seconds_of(log) : 0;
    const cls_table *const *data = (const cls_table *const *)w->data;
    const char *const *names = (const char *const *)w->files;
    o.title = cli_value(a, "title");
    if (cli_given(a, "json")) {
        char *json;
        cls_status status =
            cls_report_json(w->n, w->subjects, w->n_data, data, names, &o, &json, error);
        if (!status) puts(json);
        cls_text_free(&json);
        if (status || !cli_value(a, "output")) return status;
    }
    cls_status status = cls_report_write(w->n, w->subjects, w->n_data, data, names, &o,
                                         cli_value(a, "output"), error);
    if (!status && !cli_given(a, "json")) fprintf(stderr, "written %s\n", cli_value(a, "output"));
    return status;
}

/* Without where the page goes: the same inputs, the same page. */
static char *command_of(const cli_arguments *a) {
    cli_arguments inputs = *a;
    cli_option o;
    for (size_t k = 0; cli_option_at(a->command, k, &o); k++)
        if (!strcmp(o.name, "output") || !strcmp(o.name, "json")) inputs.values[k] = NULL;
    return cli_command_line(&inputs);
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    work w = {0};
    cls_status status;
    if (!cli_value(a, "output") && !cli_given(a, "json"))
        return cli_fail(error, CLS_USAGE, "say where the page goes: -o OUT.html");
    cli_catch_signals();
    status = name_data(a, &w, error);
    for (size_t i = 0; i < a->n_words && !status; i++)
        status = open_subject(a, &w, a->words[i], error);
    if (!status) status = open_data(a, &w, error);
    cls_table *log = NULL;
    char *command = command_of(a);
    if (!status && !command) status = cli_no_memory(error);
    if (!status && a->n_words == 1) status = log_of(a->words[0], &log, error);
    if (!status && cli_interrupted_before_work())
        status = cli_fail(error, CLS_INTERRUPTED, "interrupted");
    if (!status) status = write_page(a, &w, log, command, error);
    cls_table_free(&log);
    free(command);
    for (size_t i = 0; i < w.n; i++)
        cls_table_free(&w.trajectories[i]), cli_motion_free(&w.motions[i]);
    for (size_t i = 0; i < w.n_data; i++) cls_table_free(&w.data[i]);
    free(w.files);
    return status;
}

static const cli_option option_table[] = {
    {"output", 'o', "FILE", "the page, .html"},
    {"data", 0, "FILES",
     "measured trajectories, separated by commas: each is followed in a free run"},
    CLI_DATA_OPTIONS("columns"),
    {"start", 0, "VALUES", "start of the motion that is shown: \"x=0, v.x=-0.5\""},
    {"set", 0, "VALUES", "parameters of a system: \"m=2\""},
    {"title", 0, "TEXT", "instead of the names"},
    {"json", 0, NULL, "the numbers of the page as one JSON object on stdout"},
    {0},
};

const cli_command cli_report = {
    .name = "report",
    .doc = "one self-contained page: verdict, laws, comparison, what was found, the model to try",
    .usage = "SYSTEM|MODEL|TRAJECTORY... -o OUT.html [options]",
    .examples = "  clausius report learned.safetensors --data test.csv -o report.html\n"
                "  clausius report a.safetensors b.safetensors --data test.csv -o both.html\n"
                "  clausius report thermal-oscillator -o oscillator.html\n",
    .notes = "Several subjects stand side by side. The page needs no network and no JavaScript; "
             "with it, the first\n"
             "subject can be run in the page. The same inputs give the same bytes.\n",
    .options = option_table,
    .min_words = 1,
    .max_words = max_subjects,
    .run = run,
};
