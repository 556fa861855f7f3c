/* clausius audit: lets the judge check the laws, on a fresh simulation of a system or a learned
 * model, on a file against a system, or on a file that says itself which system it is of (its
 * `# system:` note).
 *
 * A fresh simulation is made at h, h/2 and h/4, so that the observed order can be judged too; the
 * judge sees the tables and the system's definition, never the scheme. */
#include "cli.h"
#include "table.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct verdict {
    cls_audit *audit;
    char *system, *scheme; /* names for the report; scheme may be NULL */
    char *set;             /* parameters that a file is judged with; NULL: the system's own */
    double h, order_step;  /* the step of the simulation, and the one the order was judged at */
} verdict;

/* A trajectory is a .csv, standard input, or any existing file that is no system and no model. */
static int is_trajectory(const char *word) {
    struct stat st;
    if (cli_is_system(word)) return 0;
    return cli_ends_with(word, ".csv") || !strcmp(word, "-") || stat(word, &st) == 0;
}

static cls_status read_limits(const cli_arguments *a, cls_audit_options *o, cls_error *error) {
    *o = cls_audit_defaults();
    return cli_positive(a, "limit-energy", &o->energy_limit, error);
}

static cls_status name_verdict(verdict *v, const char *system, const char *scheme,
                               cls_error *error) {
    v->system = strdup(system);
    v->scheme = scheme ? strdup(scheme) : NULL;
    return v->system && (v->scheme || !scheme) ? CLS_OK : cli_no_memory(error);
}

/* ---- a file ---- */

static cls_status refuse_run_options(const cli_arguments *a, cls_error *error) {
    static const char *const names[] = {"h", "steps", "start", "scheme"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (cli_given(a, names[i]))
            return cli_fail(error, CLS_USAGE,
                            "--%s is for audits that simulate; here the file is judged as it is",
                            names[i]);
    return CLS_OK;
}

/* noted: the file of which `set` is a note, or NULL. */
static cls_status judge_table(const cli_arguments *a, const char *system, const char *set,
                              const char *noted, const cls_table *t, verdict *v, cls_error *error) {
    cls_audit_options options;
    cli_motion m = {0};
    cls_status status = read_limits(a, &options, error);
    if (!status && (status = cli_motion_open(system, set, &m, error)) == CLS_USAGE && noted) {
        error->status = CLS_DATA; /* it was not typed */
        status = cli_prefix(error, "%s: its note `# set:`", noted);
    }
    if (!status && cli_interrupted_before_work())
        status = cli_fail(error, CLS_INTERRUPTED, "interrupted");
    if (!status) status = cls_audit_trajectory(m.system, t, &options, &v->audit, error);
    if (!status) status = name_verdict(v, system, cls_table_note(t, "scheme"), error);
    if (!status && set && *set && !(v->set = strdup(set))) status = cli_no_memory(error);
    cli_motion_free(&m);
    return status;
}

/* Without --set the parameters are those of the file's note, if it is of this system, and that is said. */
static cls_status judge_against(const cli_arguments *a, verdict *v, cls_error *error) {
    const char *path = cli_value(a, "against"), *set = cli_value(a, "set");
    cls_table *t = NULL;
    cls_status status = refuse_run_options(a, error);
    cli_motion m = {0};
    if (!status) status = cli_motion_open_beside(a, a->words[0], 1, &path, 0, NULL, &m, error);
    if (!status) status = cli_read_table(a, path, m.system, &t, error);
    char *counts = status ? NULL : cli_assignments_text(&m.set);
    if (!status && !counts) status = cli_no_memory(error);
    if (!status && set && cli_note_is_of(t, a->words[0]))
        cli_tell_overruled(a, path, cls_table_note(t, "set"));
    /* what cannot be read twice has its notes only now */
    const char *late =
        status || set || *counts || strcmp(path, "-") || !cli_note_is_of(t, a->words[0])
            ? NULL
            : cls_table_note(t, "set");
    if (late && *late)
        cli_notice("%s was made with %s (its note `# set:`), which is taken; --set gives others",
                   path, late);
    if (!status)
        status =
            judge_table(a, a->words[0], *counts ? counts : late, set ? NULL : path, t, v, error);
    cli_motion_free(&m);
    cls_table_free(&t);
    free(counts);
    return status;
}

/* The system that the notes name, and their parameters must make sense. */
static cls_status read_notes(const cli_arguments *a, const cls_table *t, char **beside,
                             cls_error *error) {
    const char *path = a->words[0], *system = cls_table_note(t, "system");
    cli_assignments noted = {0};
    if (!system)
        return cli_fail(error, CLS_SYSTEM,
                        "%s has no note `# system: NAME`, so nobody knows its laws; use `clausius "
                        "audit SYSTEM --against %s`",
                        path, path);
    cls_status status = cli_system_of_note(path, system, beside, error);
    if (!status && !cli_value(a, "set"))
        status = cli_set_of_note(path, cls_table_note(t, "set"), &noted, error);
    cli_assignments_free(&noted);
    return status;
}

static cls_status judge_file(const cli_arguments *a, verdict *v, cls_error *error) {
    const char *path = a->words[0], *set = cli_value(a, "set");
    cls_table *t = NULL;
    cls_reader *notes = NULL;
    char *beside = NULL;
    cls_status status = refuse_run_options(a, error);
    /* what the notes say is refused before a row is read, where that is possible */
    if (!status) status = cli_notes_read(a, path, &notes, error);
    if (!status && notes) status = read_notes(a, cls_reader_head(notes), &beside, error);
    cls_reader_close(&notes);
    if (!status) status = cli_read_table(a, path, NULL, &t, error);
    if (!status && !beside) status = read_notes(a, t, &beside, error);
    const char *note = status ? NULL : cls_table_note(t, "set");
    if (set) cli_tell_overruled(a, path, note);
    if (!status) status = judge_table(a, beside, set ? set : note, set ? NULL : path, t, v, error);
    free(beside);
    cls_table_free(&t);
    return status;
}

/* ---- a fresh simulation ---- */

typedef struct plan {
    cli_motion motion;
    cls_simulate_options options;
    uint64_t steps;
} plan;

static cls_status read_plan(const cli_arguments *a, plan *p, cls_error *error) {
    const char *scheme = cli_value(a, "scheme");
    *p = (plan){.options = cls_simulate_defaults(), .steps = 1000};
    double h = 0;
    cls_status status = cli_positive(a, "h", &h, error);
    if (!status) status = cli_integer(a, "steps", 1, &p->steps, error);
    if (!status && scheme) status = cli_check_scheme(scheme, error);
    if (!status)
        status = cli_motion_load(a->words[0], cli_value(a, "set"), cli_value(a, "start"), NULL,
                                 &p->motion, error);
    if (status) return status;
    p->options.scheme = scheme ? scheme : cls_scheme_default(p->motion.system);
    p->options.h = h > 0 ? h : cls_system_default_step(p->motion.system);
    return cls_scheme_applies(p->options.scheme, p->motion.system, error);
}

/* The same motion with steps of h/factor, rows at the times of the coarse one. */
static cls_status refined(const plan *p, unsigned factor, cls_table **out, cls_error *error) {
    cls_simulate_options o = p->options;
    o.h /= factor;
    return cli_motion_table(&p->motion, &o, factor * p->steps, factor, out, error);
}

/* The order is what is seen when h is small. Where the first three steps h, h/2, h/4 are not, the
 * judge gets h/2, h/4, h/8 and so on, at most h/128, h/256, h/512. */
enum { finest = 7 };

static int order_holds(const cls_audit *a) {
    return cls_audit_law(a, cls_audit_count(a) - 1)->passed;
}

/* t[0] is the motion at h; finer ones are made as they are needed. */
static cls_status judge_order(const plan *p, const cls_audit_options *options, cls_table **t,
                              verdict *v, cls_error *error) {
    const cls_system *s = p->motion.system;
    cls_status status = refined(p, 2, &t[1], error);
    for (int k = 0; !status && k <= finest; k++) {
        cls_audit_free(&v->audit);
        status = refined(p, 4u << k, &t[k + 2], error);
        if (!status) status = cls_audit_trajectory(s, t[0], options, &v->audit, error);
        if (!status) status = cls_audit_order(v->audit, s, t[k], t[k + 1], t[k + 2], error);
        v->order_step = p->options.h / (1u << k);
        if (!status && order_holds(v->audit)) break;
    }
    return status;
}

/* A law that the system itself breaks may end a finer run: then the motion at h is judged alone. */
static cls_status judge_broken(const plan *p, const cls_audit_options *options, const cls_table *t,
                               verdict *v, cls_error *error) {
    cls_error ignored;
    cls_audit_free(&v->audit);
    v->order_step = 0;
    if (cls_audit_trajectory(p->motion.system, t, options, &v->audit, &ignored))
        return error->status;
    if (cls_audit_passed(v->audit)) return CLS_NUMERIC;
    error->message[0] = 0; /* the laws say it */
    return CLS_OK;
}

static cls_status judge_run(const cli_arguments *a, const plan *p, verdict *v, cls_error *error) {
    cls_table *t[finest + 3] = {0};
    cls_audit_options options;
    int order = cls_scheme_find(p->options.scheme)->order;
    cls_status status = read_limits(a, &options, error);
    options.order_expected = order;
    if (!status) status = refined(p, 1, &t[0], error);
    /* What chooses its own steps shows its tolerance, not its order. */
    if (!status && (order <= 0 || cls_scheme_is_adaptive(p->options.scheme)))
        status = cls_audit_trajectory(p->motion.system, t[0], &options, &v->audit, error);
    else if (!status)
        status = judge_order(p, &options, t, v, error);
    if (status == CLS_NUMERIC && t[0]) status = judge_broken(p, &options, t[0], v, error);
    for (int i = 0; i < finest + 3; i++) cls_table_free(&t[i]);
    return status;
}

static cls_status judge_system(const cli_arguments *a, verdict *v, cls_error *error) {
    plan p;
    cls_status status = read_plan(a, &p, error);
    if (!status) status = judge_run(a, &p, v, error);
    if (!status) status = name_verdict(v, a->words[0], p.options.scheme, error);
    v->h = p.options.h;
    cli_motion_free(&p.motion);
    return status;
}

/* ---- the report ---- */

static cls_status print_json(const verdict *v, cls_error *error) {
    json_t *laws = json_array();
    for (size_t i = 0; laws && i < cls_audit_count(v->audit); i++) {
        const cls_law *l = cls_audit_law(v->audit, i);
        json_array_append_new(laws, json_pack("{s:s, s:b, s:b, s:o, s:o, s:s}", "name", l->name,
                                              "passed", l->passed, "finding", l->finding, "value",
                                              cli_json_real(l->value), "limit",
                                              cli_json_real(l->limit), "text", l->text));
    }
    json_t *o = json_pack("{s:b, s:s, s:s?, s:o}", "passed", cls_audit_passed(v->audit), "system",
                          v->system, "scheme", v->scheme, "laws", laws);
    if (o && v->set) json_object_set_new(o, "set", json_string(v->set));
    if (o && v->h > 0) json_object_set_new(o, "h", cli_json_real(v->h));
    if (o && v->order_step > 0) json_object_set_new(o, "order_step", cli_json_real(v->order_step));
    return cli_print_json(o, error);
}

/* Of ordinary differential equations the audit says so first. */
static int promises_none(const cls_audit *a) {
    const cls_law *first = cls_audit_count(a) ? cls_audit_law(a, 0) : NULL;
    return first && first->finding && !strcmp(first->name, "laws");
}

static cls_status print_table(const verdict *v, cls_error *error) {
    int colour = cli_colour(stdout);
    const char *good = colour ? CLI_GREEN : "", *bad = colour ? CLI_RED : "",
               *plain = colour ? CLI_PLAIN : "";
    size_t n = cls_audit_count(v->audit), broken = 0, findings = 0;
    cli_grid g;
    cli_grid_begin(&g, "llrrl");
    for (size_t i = 0; i < n; i++) {
        const cls_law *l = cls_audit_law(v->audit, i);
        const char *word = l->passed ? l->finding ? "--" : "ok" : "FAIL";
        cli_grid_cell(&g, "%s%s%s", l->passed ? good : bad, word, plain);
        cli_grid_cell(&g, "%s", l->name);
        cli_grid_cell(&g, "%.3g", l->value);
        cli_grid_cell(&g, "(%.3g)", l->limit);
        cli_grid_cell(&g, "%s", l->text);
        broken += !l->passed;
        findings += l->finding && l->passed;
    }
    printf("%s%s%s: value, (limit), what was seen\n", v->system, v->scheme ? " by " : "",
           v->scheme ? v->scheme : "");
    cls_status status = cli_grid_end(&g, stdout, error);
    int finer = v->order_step > 0 && v->order_step < v->h;
    if (finer && order_holds(v->audit))
        printf("the order was judged at h = %g; h = %g is too large to show it\n", v->order_step,
               v->h);
    else if (finer)
        printf("no step from h = %g down to %g shows the order\n", v->h, v->order_step);
    if (broken)
        printf("%s%zu of %zu laws are broken%s\n", bad, broken, n - findings, plain);
    else if (n == findings)
        printf("no law was judged: the system promises none\n");
    else if (promises_none(v->audit))
        printf("the system promises no law; what can be checked of the file holds\n");
    else
        printf("%sall %zu laws hold%s", good, n - findings, plain);
    if (!broken && n > findings && !promises_none(v->audit))
        printf(findings == 0   ? "\n"
               : findings == 1 ? ", 1 finding\n"
                               : ", %zu findings\n",
               findings);
    return status;
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    verdict v = {0};
    cls_status status;
    cli_catch_signals();
    if (cli_given(a, "against"))
        status = judge_against(a, &v, error);
    else if (is_trajectory(a->words[0]))
        status = judge_file(a, &v, error);
    else
        status = judge_system(a, &v, error);
    if (!status) status = cli_given(a, "json") ? print_json(&v, error) : print_table(&v, error);
    if (!status && !cls_audit_passed(v.audit)) status = CLS_CHECK;
    cls_audit_free(&v.audit);
    free(v.system);
    free(v.scheme);
    free(v.set);
    return status;
}

static const cli_option options[] = {
    {"against", 0, "FILE", "judge this file by SYSTEM"},
    CLI_DATA_OPTIONS("columns"),
    {"h", 0, "H", "the step of the simulation; else the system's"},
    {"steps", 0, "N", "how many steps; else 1000"},
    {"start", 0, "LIST", "the start of the simulation, \"x=0, v.x=1\""},
    {"set", 0, "LIST", "parameter values, \"m=2\"; without it those of the file's `# set:` note"},
    {"scheme", 0, "NAME", "the scheme of the simulation; else the system's default"},
    {"limit-energy", 0, "X", "the relative energy drift allowed; else 1e-12"},
    {"json", 0, NULL, "one JSON object: {\"passed\", \"system\", \"scheme\", \"laws\": [...]}"},
    {0},
};

const cli_command cli_audit = {
    .name = "audit",
    .doc = "the laws, recomputed from the definitions: does the motion keep them",
    .usage = "SYSTEM|MODEL | TRAJECTORY | SYSTEM|MODEL --against FILE [options]",
    .examples = "  clausius audit adiabatic-piston\n"
                "  clausius audit run.csv\n"
                "  clausius audit learned.safetensors --start \"x=0.5, v.x=0\"\n"
                "  clausius audit ideal-gas-piston --against measured.csv --limit-energy 1e-3\n"
                "  clausius audit pendulum --scheme leapfrog --h 0.1\n",
    .notes =
        "A SYSTEM or MODEL alone is simulated at h, h/2 and h/4 and judged, with the observed "
        "order.\n"
        "A file is judged as it is; which system it is of stands in its notes, or before "
        "--against.\n"
        "Parameters are those of its note `# set:`, or of --set, which counts where both are "
        "there.\n"
        "Laws: energy drift, entropy falls, invariants, domains, dissipation sign over the data's\n"
        "range and beyond it, momentum at rest, mass matrix and heat capacity positive, order;\n"
        "told: the smallest eigenvalue of the Hessian of a thermal lagrangian in (v, T).\n"
        "Exit code 1 when a law is broken. A scheme that does not promise the energy breaks the\n"
        "default limit; --limit-energy says how much is accepted.\n",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
