/* The trials of dtlm-table-2 and dtlm-table-3: what is learned from which data, by which rule.
 *
 * Data as in the paper (its text, and the generators of the study it refers to; what it leaves open
 * is chosen as in docs/physics/discrete-gradient.md): starts are drawn as --sample would draw
 * them, motions by bdf. Three rules learn as the paper does: a network of 200 and 200 neurons with
 * orthogonal weights, inputs as they are, Adam 1e-3, batches of 200 windows, weight decay 1e-4
 * (none for two bodies), losses in accelerations, the last parameters. The fourth is `clausius
 * learn` as it comes: the weak form, a basis, one solve; for two bodies the potential is declared a
 * function of the distance.
 *
 * A job is one training and the runs of the rows that it serves; jobs go to the cores one by one,
 * each with one thread, in the order of trials. With -o DIR a finished job is a line of
 * DIR/dtlm-trials.jsonl, written at once, and one that was interrupted leaves a checkpoint: the
 * same command goes on from there. The first trial also keeps the motions that the figures show. A full trial takes minutes for spring and pendulum and about
 * half an hour for two bodies. */
#include "cli/reproduce/dtlm.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { n_test = 15, n_quick = 3, most_threads = 64, n_jobs = 3 * cli_n_trials * cli_n_rules };

typedef struct problem {
    const char *system, *training, *test; /* draws of the starts */
    size_t trajectories, quick_trajectories;
    uint64_t steps, iterations, quick_iterations;
    double h, decay;
    const char *own; /* the system as we would write it, NULL: V of the system unknown */
} problem;

#define ORBIT                                                                                      \
    "x1~U(0.5,1.5), y1~U(0.5,1.5), let e~N(1,0.05), let c = e/(2*(x1^2+y1^2)^0.75), "              \
    "v.x1 = -c*y1, v.y1 = c*x1, x2 = -x1, y2 = -y1, v.x2 = -v.x1, v.y2 = -v.y1"

static const problem problems[cli_n_systems] = {
    {"mass-spring", "let r~U(0.1,1), let a~U(0,2*pi), q = r*cos(a), p.q = r*sin(a)",
     "q~S(0.2,1), p.q~S(0.2,1)", 25, 25, 100, 2000, 400, 0.2, 1e-4, NULL},
    {"pendulum", "let r~U(1.3,2.3), let a~U(0,2*pi), q = r*cos(a), p.q = r*sin(a)",
     "q~S(0.2,1), p.q~S(0.2,1)", 25, 25, 100, 10000, 1000, 0.2, 1e-4, NULL},
    {"two-body", ORBIT, ORBIT, 800, 80, 500, 100000, 1000, 0.05, 0,
     "coordinate x1, x2, y1, y2\n"
     "let rho = (x1 - x2)^2 + (y1 - y2)^2\n"
     "part V = unknown chebyshev(16) of log(rho)\n"
     "hamiltonian (p.x1^2 + p.y1^2 + p.x2^2 + p.y2^2)/2 + V\n"},
};
const char *const cli_dtlm_systems[cli_n_systems] = {"mass-spring", "pendulum", "2-body"};

/* The last is ours and has the rule that `clausius learn` chooses. */
static const char *const rules[cli_n_rules] = {"euler", "leapfrog", "discrete-gradient", "ours"};
enum { own_rule = cli_n_rules - 1 };

const cli_dtlm_row cli_dtlm_rows[cli_n_rows] = {{"Euler", 0, "euler"},
                                                {"symplectic Euler", 1, "symplectic-euler"},
                                                {"leapfrog", 1, "leapfrog"},
                                                {"proposed", 2, "discrete-gradient"},
                                                {"leapfrog+proposed", 1, "discrete-gradient"},
                                                {"ours", 3, "discrete-gradient-adaptive"}};

/* ---- one job ---- */

typedef struct crew crew;
typedef struct job {
    crew *all;
    size_t system, trial, rule, number;
    cls_system *s, *own;
    cls_table *data;
    cli_motions test;
    uint64_t begun; /* iterations that a checkpoint had; what is left of them is timed */
    char checkpoint[1024];
} job;

/* What the threads share. */
struct crew {
    const cli_findings *f;
    struct cli_trials *trials;
    size_t n, next;
    job jobs[n_jobs];
    uint64_t done[n_jobs]; /* iterations */
    cli_progress progress;
    mtx_t lock;
    int stop;
    cls_status status; /* of the first failure */
    cls_error error;
};

static uint64_t iterations_of(const cli_findings *f, size_t system, size_t rule) {
    const problem *p = &problems[system];
    return rule == own_rule ? 0 : f->quick ? p->quick_iterations : p->iterations;
}

static size_t trajectories_of(const cli_findings *f, size_t system) {
    return f->quick ? problems[system].quick_trajectories : problems[system].trajectories;
}

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void show_progress(crew *all, size_t number, uint64_t done) {
    double sum = 0;
    mtx_lock(&all->lock);
    all->done[number] = done;
    for (size_t i = 0; i < all->n; i++) sum += (double)all->done[i];
    cli_progress_update(&all->progress, sum, NULL);
    mtx_unlock(&all->lock);
}

static int progress(void *context, const cls_learn_progress *p) {
    job *j = context;
    if (j->begun == UINT64_MAX) j->begun = p->done;
    show_progress(j->all, j->number, p->done);
    return cli_interrupted();
}

static void as_the_paper(const job *j, cls_learn_options *o) {
    o->field = "network(200, 200, unscaled)";
    o->scheme = rules[j->rule];
    o->optimizer = "adam";
    o->rate = 1e-3;
    o->constant_rate = 1;
    o->last = 1;
    o->decay = problems[j->system].decay;
    o->batch = 200 * cls_system_coordinate_count(j->s);
    o->validate = 0;
    o->patience = 0;
    o->max_windows = 1000000;
    o->max_iterations = iterations_of(j->all->f, j->system, j->rule);
    if (!j->checkpoint[0]) return;
    o->checkpoint = j->checkpoint;
    o->checkpoint_every = 60;
    o->resume = 1;
}

static cls_status learn(job *j, cls_model **out, double *seconds, cls_error *error) {
    const char *name = "made here", *const unknown[] = {"V"};
    cls_learn_options o = cls_learn_defaults();
    cls_learn_info info;
    o.n_unknown = 1;
    o.unknown = unknown;
    o.seed = j->trial + 1;
    o.threads = 1;
    o.progress = progress;
    o.context = j;
    if (j->rule != own_rule) as_the_paper(j, &o);
    j->begun = UINT64_MAX;
    double start = processor_seconds();
    cls_status status = cls_learn(j->own ? j->own : j->s, NULL, 1,
                                  (const cls_table *const *)&j->data, &name, &o, out, &info, error);
    *seconds = processor_seconds() - start;
    if (!status && cli_interrupted()) status = cli_fail(error, CLS_INTERRUPTED, "interrupted");
    double all = (double)o.max_iterations, here = all - (double)j->begun;
    if (j->rule != own_rule && j->begun > 50 && here > 0) *seconds *= all / here;
    return status;
}

static int file_of(const cli_findings *f, const char *name, char out[1024]) {
    int n = f->folder ? snprintf(out, 1024, "%s/%s", f->folder, name) : 0;
    return n > 0 && n < 1024;
}

static int curve_file(const cli_findings *f, size_t system, int row, char out[1024]) {
    static const char *const words[cli_n_rows + 1] = {
        "euler", "symplectic-euler", "leapfrog", "proposed", "leapfrog-proposed", "ours", "truth"};
    char name[128];
    snprintf(name, sizeof name, "dtlm-%s-%s%s.csv", cli_dtlm_systems[system], words[row],
             f->quick ? "-quick" : "");
    return file_of(f, name, out);
}

static cls_status keep_curve(const job *j, int row, const cls_system *model, cls_error *error) {
    char path[1024];
    cls_table *t = NULL;
    if (j->trial || !curve_file(j->all->f, j->system, row, path)) return CLS_OK;
    cls_status status = model ? cli_motions_curve(&j->test, model, cli_dtlm_rows[row].scheme,
                                                  problems[j->system].h, &t, error)
                              : cli_motions_truth(&j->test, &t, error);
    if (!status) status = cls_table_write(t, path, error);
    cls_table_free(&t);
    return status;
}

cls_status cli_trials_curve(const cli_findings *f, size_t system, int row, cls_table **out,
                            cls_error *error) {
    char path[1024];
    *out = NULL;
    if (!curve_file(f, system, row, path) || access(path, R_OK)) return CLS_OK;
    return cls_table_read(path, out, error);
}

static cls_status make_data(job *j, int own, cls_error *error) {
    const problem *p = &problems[j->system];
    cli_motions training = {0};
    uint64_t seed = 2 * (j->trial + 1);
    cls_status status = cls_system_load(p->system, NULL, &j->s, error);
    if (!status && p->own && own)
        status = cls_system_parse(p->own, p->system, NULL, &j->own, error);
    if (!status)
        status = cli_motions_make(j->s, p->training, seed, trajectories_of(j->all->f, j->system),
                                  p->steps, p->h, &training, error);
    if (!status) status = cli_motions_positions(&training, 0, 0, &j->data, error);
    free(training.rows);
    if (!status)
        status = cli_motions_make(j->s, p->test, seed + 1, n_test, p->steps, p->h, &j->test, error);
    return status;
}

static void forget_data(job *j) {
    cls_table_free(&j->data);
    free(j->test.rows);
    cls_system_free(&j->own);
    cls_system_free(&j->s);
}

/* Learns, and runs the rows that the model serves. */
static cls_status work(job *j, cls_error *error) {
    cls_model *model = NULL;
    double seconds = 0;
    cls_status status = make_data(j, j->rule == own_rule, error);
    if (!status) status = learn(j, &model, &seconds, error);
    for (int r = 0; !status && r < cli_n_rows; r++) {
        cli_score *score = &j->all->trials->score[j->system][r][j->trial];
        if ((size_t)cli_dtlm_rows[r].rule != j->rule) continue;
        *score = (cli_score){.seconds = seconds};
        status = cli_motions_judge(&j->test, cls_model_system(model), cli_dtlm_rows[r].scheme,
                                   problems[j->system].h, score, error);
        if (!status) status = keep_curve(j, r, cls_model_system(model), error);
    }
    if (!status && j->rule == own_rule) status = keep_curve(j, cli_n_rows, NULL, error);
    cls_model_free(&model);
    forget_data(j);
    return status;
}

/* ---- the file of finished jobs ---- */

static json_t *as_json(const job *j) {
    json_t *scores = json_object();
    double seconds = 0;
    for (int r = 0; r < cli_n_rows; r++) {
        const cli_score *x = &j->all->trials->score[j->system][r][j->trial];
        if ((size_t)cli_dtlm_rows[r].rule != j->rule) continue;
        seconds = x->seconds;
        json_object_set_new(scores, cli_dtlm_rows[r].label,
                            json_pack("[o, o, o]", cli_json_real(x->value[0]),
                                      cli_json_real(x->value[1]), cli_json_real(x->value[2])));
    }
    return json_pack("{s:s, s:I, s:s, s:I, s:I, s:f, s:o}", "system", cli_dtlm_systems[j->system],
                     "trial", (json_int_t)(j->trial + 1), "rule", rules[j->rule], "iterations",
                     (json_int_t)iterations_of(j->all->f, j->system, j->rule), "trajectories",
                     (json_int_t)trajectories_of(j->all->f, j->system), "seconds", seconds,
                     "scores", scores);
}

/* One line in one write to the end of the file: whole or not there, also with two at work. */
static cls_status keep(const job *j, cls_error *error) {
    char path[1024];
    if (!file_of(j->all->f, "dtlm-trials.jsonl", path)) return CLS_OK;
    json_t *object = as_json(j);
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(object);
    if (!text || cli_json_failed()) { /* or it is cut short */
        free(text);
        return cli_no_memory(error);
    }
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the end */
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    int whole = file >= 0 && write(file, text, length + 1) == (ssize_t)(length + 1);
    int why = errno;
    if (file >= 0) close(file);
    free(text);
    return whole ? CLS_OK : cli_fail(error, CLS_IO, "%s: %s", path, strerror(why));
}

static int index_of(const char *word, size_t n, const char *const *words) {
    for (size_t i = 0; word && i < n; i++)
        if (!strcmp(word, words[i])) return (int)i;
    return -1;
}

/* Non-zero: the line is one of ours. Lines of other settings (--quick) are passed over. */
static int take_line(const cli_findings *f, struct cli_trials *t, json_t *line) {
    const char *system = NULL, *rule = NULL;
    json_int_t trial = 0, iterations = 0, trajectories = 0;
    double seconds = 0;
    json_t *scores = NULL;
    if (json_unpack(line, "{s:s, s:I, s:s, s:I, s:I, s:F, s:o}", "system", &system, "trial", &trial,
                    "rule", &rule, "iterations", &iterations, "trajectories", &trajectories,
                    "seconds", &seconds, "scores", &scores))
        return 0;
    int k = index_of(system, cli_n_systems, cli_dtlm_systems);
    int rule_ = index_of(rule, cli_n_rules, rules);
    if (k < 0 || rule_ < 0 || trial < 1 || trial > cli_n_trials) return 0;
    if (iterations != (json_int_t)iterations_of(f, (size_t)k, (size_t)rule_)) return 1;
    if (trajectories != (json_int_t)trajectories_of(f, (size_t)k)) return 1;
    for (int r = 0; r < cli_n_rows; r++) {
        json_t *row = json_object_get(scores, cli_dtlm_rows[r].label);
        cli_score *score = &t->score[k][r][trial - 1];
        if (cli_dtlm_rows[r].rule != rule_) continue;
        if (json_array_size(row) != 3) return 0;
        score->seconds = seconds;
        for (size_t w = 0; w < 3; w++) {
            json_t *x = json_array_get(row, w);
            score->value[w] = json_is_number(x) ? json_number_value(x) : INFINITY;
        }
    }
    t->done[k][trial - 1][rule_] = 1;
    return 1;
}

static cls_status read_kept(const cli_findings *f, struct cli_trials *t, cls_error *error) {
    char path[1024], *text = NULL;
    size_t room = 0, number = 0;
    if (!file_of(f, "dtlm-trials.jsonl", path)) return CLS_OK;
    FILE *file = fopen(path, "r");
    cls_status status = CLS_OK;
    if (!file && errno == ENOMEM) return cli_no_memory(error);
    if (!file)
        return errno == ENOENT ? CLS_OK : cli_fail(error, CLS_IO, "%s: %s", path, strerror(errno));
    while (!status && getline(&text, &room, file) > 0) {
        json_t *line = json_loads(text, 0, NULL);
        number++;
        if (!line || !take_line(f, t, line))
            status = cli_fail(error, CLS_DATA,
                              "%s, line %zu: not a finished trial; take the line out, or give "
                              "another directory with -o",
                              path, number);
        json_decref(line);
    }
    if (!status && !feof(file)) /* finished trials would be gone over again */
        status = errno == ENOMEM ? cli_no_memory(error)
                                 : cli_fail(error, CLS_IO, "%s: %s", path, strerror(errno));
    free(text);
    fclose(file);
    return status;
}

/* ---- all jobs ---- */

static void list_jobs(crew *all) {
    char name[128];
    for (size_t k = 0; k < cli_n_systems; k++)
        for (size_t i = 0; i < all->trials->n[k]; i++)
            for (size_t r = 0; r < cli_n_rules; r++) {
                if (all->trials->done[k][i][r]) continue;
                job *j = &all->jobs[all->n];
                *j = (job){.all = all, .system = k, .trial = i, .rule = r, .number = all->n};
                snprintf(name, sizeof name, "%s-%zu-%s-%llu.checkpoint", cli_dtlm_systems[k], i + 1,
                         rules[r], (unsigned long long)iterations_of(all->f, k, r));
                if (!file_of(all->f, name, j->checkpoint)) j->checkpoint[0] = 0;
                all->n++;
            }
}

static int follow_orders(void *crew_) {
    crew *all = crew_;
    for (;;) {
        cls_error error = {0};
        mtx_lock(&all->lock);
        job *j = all->stop || all->next == all->n ? NULL : &all->jobs[all->next++];
        mtx_unlock(&all->lock);
        if (!j) return 0;
        cls_status status = work(j, &error);
        mtx_lock(&all->lock);
        if (!status) status = keep(j, &error);
        if (status && !all->stop) {
            all->status = status;
            all->error = error;
        }
        all->stop |= status != CLS_OK;
        if (!status) all->trials->done[j->system][j->trial][j->rule] = 1;
        mtx_unlock(&all->lock);
    }
}

static void run_jobs(crew *all) {
    thrd_t threads[most_threads];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = cores < 1 ? 1 : cores > most_threads ? most_threads : (size_t)cores, n = 0;
    double total = 0;
    for (size_t i = 0; i < all->n; i++)
        total += (double)iterations_of(all->f, all->jobs[i].system, all->jobs[i].rule);
    cli_progress_begin(&all->progress, "dtlm", "iterations", total, all->f->quiet);
    while (n + 1 < wanted && n + 1 < all->n &&
           thrd_create(&threads[n], follow_orders, all) == thrd_success)
        n++;
    follow_orders(all);
    for (size_t i = 0; i < n; i++) thrd_join(threads[i], NULL);
    cli_progress_end(&all->progress);
}

static cls_status check_wanted(const cli_findings *f, struct cli_trials *t, cls_error *error) {
    size_t n = f->wanted_trials ? f->wanted_trials : f->quick ? n_quick : cli_n_trials;
    int only = index_of(f->only, cli_n_systems, cli_dtlm_systems);
    if (f->only && only < 0)
        return cli_unknown(error, CLS_USAGE, "system of the paper", f->only, cli_n_systems,
                           cli_dtlm_systems);
    if (n > cli_n_trials)
        return cli_fail(error, CLS_USAGE, "--trials is at most %d, the number of the paper",
                        (int)cli_n_trials);
    for (int k = 0; k < cli_n_systems; k++) t->n[k] = only < 0 || k == only ? n : 0;
    return CLS_OK;
}

cls_status cli_trials_run(cli_findings *f, cls_error *error) {
    if (f->trials) return CLS_OK;
    crew *all = calloc(1, sizeof *all);
    f->trials = calloc(1, sizeof *f->trials);
    cls_status status = all && f->trials ? CLS_OK : cli_no_memory(error);
    if (!status) status = check_wanted(f, f->trials, error);
    if (!status) status = read_kept(f, f->trials, error);
    if (!status && mtx_init(&all->lock, mtx_plain) != thrd_success) status = cli_no_memory(error);
    if (!status) {
        all->f = f;
        all->trials = f->trials;
        list_jobs(all);
        run_jobs(all);
        mtx_destroy(&all->lock);
        status = all->status;
        if (status) *error = all->error;
        if (status == CLS_INTERRUPTED && f->folder)
            (void)cli_fail(
                error, status,
                "interrupted; %s keeps what was made, the same command goes on from there",
                f->folder);
    }
    free(all);
    return status;
}

cls_status cli_trials_kicks(const cli_findings *f, size_t system, double *right, double *old,
                            cls_error *error) {
    const problem *p = &problems[system];
    cls_system *s = NULL;
    size_t n = f->quick ? n_quick : cli_n_trials; /* orbits differ, and these are cheap */
    *right = *old = 0;
    cls_status status = cls_system_load(p->system, NULL, &s, error);
    for (size_t i = 0; !status && i < n; i++) {
        cli_motions test = {0};
        status =
            cli_motions_make(s, p->test, 2 * (i + 1) + 1, n_test, p->steps, p->h, &test, error);
        if (!status) status = cli_motions_kicks(&test, p->h, right, old, error);
        free(test.rows);
    }
    *right /= (double)n;
    *old /= (double)n;
    cls_system_free(&s);
    return status;
}

/* One solve with the data of a job, by the rule and the scheme of a row. */
static cls_status solve(job *j, int row, cli_score *out, cls_error *error) {
    const char *name = "made here", *const unknown[] = {"V"};
    cls_learn_options o = cls_learn_defaults();
    cls_learn_info info;
    cls_model *model = NULL;
    o.n_unknown = 1;
    o.unknown = unknown;
    o.scheme = rules[cli_dtlm_rows[row].rule];
    cls_status status = make_data(j, 1, error);
    if (!status)
        status = cls_learn(j->own ? j->own : j->s, NULL, 1, (const cls_table *const *)&j->data,
                           &name, &o, &model, &info, error);
    if (!status)
        status = cli_motions_judge(&j->test, cls_model_system(model), cli_dtlm_rows[row].scheme,
                                   problems[j->system].h, out, error);
    cls_model_free(&model);
    forget_data(j);
    return status;
}

cls_status cli_trials_floor(const cli_findings *f, size_t system, int row, cli_score *out,
                            cls_error *error) {
    crew *all = calloc(1, sizeof *all);
    cls_status status = all ? CLS_OK : cli_no_memory(error);
    size_t n = f->trials->n[system];
    *out = (cli_score){0};
    for (size_t i = 0; !status && i < n; i++) {
        job j = {.all = all, .system = system, .trial = i};
        all->f = f;
        status = solve(&j, row, out, error);
    }
    for (int w = 0; w < 3; w++) out->value[w] /= (double)n;
    free(all);
    return status;
}
