/* A motion: a system or a learned model with its parameters, a complete start, and the walk along
 * it. Shared by show, simulate, audit and reproduce.
 *
 * A start comes from --start (any of q, v.q or p.q, S or T) or from a row of a file (--from, --row);
 * the library completes it. */
#include "cli.h"
#include "table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char **cli_columns(const cls_system *s) {
    size_t n = cls_system_column_count(s);
    const char **names = calloc(n + 1, sizeof *names);
    for (size_t i = 0; names && i < n; i++) names[i] = cls_system_column(s, i);
    return names;
}

int cli_column(const cls_system *s, const char *name) {
    for (size_t i = 0; i < cls_system_column_count(s); i++)
        if (!strcmp(cls_system_column(s, i), name)) return (int)i;
    return -1;
}

cls_status cli_check_scheme(const char *name, cls_error *error) {
    const char *names[64];
    size_t n = cls_scheme_count();
    if (cls_scheme_find(name)) return CLS_OK;
    if (n > 64) n = 64;
    for (size_t i = 0; i < n; i++) names[i] = cls_scheme_at(i)->name;
    return cli_unknown(error, CLS_USAGE, "scheme", name, n, names);
}

/* ---- motions ---- */

static cls_status open_model(const char *path, const char *set, cli_motion *out, cls_error *error) {
    cls_status status = cli_assignments_parse("--set", set, &out->set, error);
    if (!status) status = cls_model_read(path, &out->model, error);
    if (!status) status = cls_model_set(out->model, &out->set.list, error);
    if (!status) {
        out->system = cls_model_system(out->model);
        status = cls_starter_create(NULL, out->model, &out->starter, error);
    }
    if (status) cli_motion_free(out);
    return status;
}

cls_status cli_motion_open(const char *system, const char *set, cli_motion *out, cls_error *error) {
    *out = (cli_motion){0};
    if (cls_model_is_path(system)) return open_model(system, set, out, error);
    cls_status status = cli_assignments_parse("--set", set, &out->set, error);
    if (!status)
        status = cls_model_compose(system, &out->set.list, &out->loaded, &out->model, error);
    out->system = out->loaded;
    if (!status && out->model) out->system = cls_model_system(out->model);
    if (!status) status = cls_starter_create(out->system, out->model, &out->starter, error);
    if (status) cli_motion_free(out);
    return status;
}

static cls_status find_row(const cls_table *t, const char *path, const char *word, size_t *row,
                           cls_error *error) {
    size_t rows = cls_table_rows(t);
    int own = cls_table_note(t, "scheme") != NULL; /* clausius wrote it: go on where it ends */
    double number;
    *row = 0;
    if (!rows || (word && !strcmp(word, "first"))) return CLS_OK;
    *row = rows - 1;
    if (word ? !strcmp(word, "last") : own) return CLS_OK;
    *row = 0;
    if (!word) return CLS_OK;
    if (cli_evaluate("--row", word, &number, error))
        return cli_fail(error, CLS_USAGE, "--row is first, last or a number, got '%s'", word);
    if (!(number >= 1 && number <= (double)rows && number == floor(number)))
        return cli_fail(error, CLS_USAGE, "--row %s: %s has rows 1 to %zu", word, path, rows);
    *row = (size_t)number - 1;
    return CLS_OK;
}

static int has_array_of(const cls_system *s, const char *name) {
    for (size_t i = 0; i < cls_system_state_count(s); i++)
        if (cli_is_same_array(cls_system_state_name(s, i), name)) return 1;
    return 0;
}

/* The first column that is an element, which the system has not, of an array of its state; NULL: none. */
static const char *element_too_many(const cls_system *s, const char *const *names, size_t n,
                                    const cls_table *t) {
    const char *other = ""; /* of an array that is not the system's */
    for (size_t c = 0; c < cls_table_columns(t); c++) {
        const char *name = cls_table_name(t, c);
        if (!strchr(name, '[') || bsearch(&name, names, n, sizeof *names, cli_by_name) ||
            cli_is_same_array(name, other))
            continue;
        if (has_array_of(s, name)) return name;
        other = name;
    }
    return NULL;
}

/* Of a motion with more elements the first ones are no start; what others measured may reach beyond. */
static cls_status check_size(const cls_system *s, const cls_table *t, const char *path,
                             cls_error *error) {
    size_t n = cls_system_column_count(s);
    const char **names = cli_columns(s), *note = cls_table_note(t, "set");
    if (!names) return cli_no_memory(error);
    qsort(names, n, sizeof *names, cli_by_name);
    const char *more = element_too_many(s, names, n, t);
    free(names);
    if (more && cls_table_note(t, "scheme"))
        return cli_fail(error, CLS_DATA,
                        "%s has a column %s, which the system does not have with these parameters: "
                        "it is of a motion with more elements%s%.100s%s",
                        path, more, note ? "; it was made with " : "", note ? note : "",
                        note ? " (its note `# set:`)" : "");
    if (more)
        cli_notice("%s has a column %s, which the system does not have: elements that it does not "
                   "have are ignored",
                   path, more);
    return CLS_OK;
}

cls_status cli_motion_from(cli_motion *m, const char *path, const char *word, size_t *taken,
                           cls_error *error) {
    cls_table *t = NULL;
    size_t row = 0, fitted = 0;
    m->state = calloc(cls_system_state_count(m->system) + 1, sizeof *m->state);
    cls_status status =
        m->state ? cli_read_table(m->reading, path, m->system, &t, error) : cli_no_memory(error);
    if (!status) status = cli_align(t, m->begins, error);
    if (!status) status = check_size(m->system, t, path, error);
    if (!status) status = find_row(t, path, word, &row, error);
    if (!status)
        status = cls_start_from_data(m->system, m->starter, t, row, path, &m->time, m->state,
                                     &fitted, error);
    if (!status && fitted && !(m->reading && cli_given(m->reading, "quiet")))
        cli_notice("%s: states that it does not have were fitted to %zu rows", path, fitted);
    if (taken) *taken = row + 1;
    cls_table_free(&t);
    return status;
}

cls_status cli_motion_begin(cli_motion *m, const char *start, const char *from, cls_error *error) {
    cli_assignments given;
    if (start && from)
        return cli_fail(error, CLS_USAGE, "--start and --from both say where to start; give one");
    cls_status status = CLS_OK;
    if (!m->starter) status = cls_starter_create(m->system, m->model, &m->starter, error);
    if (status) return status;
    if (from) return cli_motion_from(m, from, NULL, NULL, error);
    m->state = calloc(cls_system_state_count(m->system) + 1, sizeof *m->state);
    if (!m->state) return cli_no_memory(error);
    status = cli_assignments_parse("--start", start, &given, error);
    if (!status) status = cls_starter_state(m->starter, &given.list, m->state, error);
    cli_assignments_free(&given);
    return status;
}

cls_status cli_motion_load(const char *system, const char *set, const char *start, const char *from,
                           cli_motion *out, cls_error *error) {
    cls_status status = cli_motion_open(system, set, out, error);
    if (!status) status = cli_motion_begin(out, start, from, error);
    if (status) cli_motion_free(out);
    return status;
}

void cli_motion_free(cli_motion *m) {
    cls_starter_free(&m->starter);
    cls_system_free(&m->loaded);
    cls_model_free(&m->model);
    cli_assignments_free(&m->set);
    free(m->state);
    *m = (cli_motion){0};
}

/* ---- walking ---- */

/* So many steps are made between two looks at the clock and at the signals. */
enum { chunk = 2048 };

static cls_status advance(cls_simulator *sim, uint64_t *done, uint64_t to, uint64_t steps,
                          cli_progress *p, cls_error *error) {
    while (*done < to) {
        uint64_t n = to - *done < chunk ? to - *done : chunk;
        cls_status status = cls_simulator_advance(sim, n, error);
        if (status) return status;
        *done += n;
        if (p) cli_progress_update(p, (double)*done, NULL);
        if (cli_interrupted())
            return cli_fail(error, CLS_INTERRUPTED, "interrupted at step %llu of %llu",
                            (unsigned long long)*done, (unsigned long long)steps);
    }
    return CLS_OK;
}

/* What is said of work and heat between two rows says nothing of a state. */
static int is_of_a_path(const cls_law *law) {
    return !strcmp(law->name, "work") || !strcmp(law->name, "heat") ||
           !strcmp(law->name, "entropy.outside");
}

/* A law of the system itself that is broken where a motion could not go on (a heat capacity of the wrong
 * sign, a friction that drives) says more than the step that failed: it is added to the message. */
static void add_broken_law(const cls_system *s, cls_simulator *sim, double *row, cls_error *error) {
    const char **names = cli_columns(s);
    cls_audit_options options = cls_audit_defaults();
    cls_table *here = NULL;
    cls_audit *audit = NULL;
    cls_error ignored;
    options.beyond = 1;
    cls_status status = names ? CLS_OK : CLS_MEMORY;
    if (!status) status = cls_table_create(cls_system_column_count(s), names, &here, &ignored);
    if (!status) status = cls_simulator_row(sim, row, &ignored);
    if (!status) status = cls_table_append(here, row, &ignored);
    if (row) row[0] += 1; /* the judge wants a motion: rest, here */
    if (!status) status = cls_table_append(here, row, &ignored);
    if (!status) status = cls_audit_trajectory(s, here, &options, &audit, &ignored);
    for (size_t i = 0; !status && i < cls_audit_count(audit); i++) {
        const cls_law *law = cls_audit_law(audit, i);
        size_t n = strlen(error->message);
        if (law->passed || law->finding || is_of_a_path(law)) continue;
        snprintf(error->message + n, sizeof error->message - n,
                 "; the law `%s` is broken there: %s", law->name, law->text);
        break;
    }
    cls_audit_free(&audit);
    cls_table_free(&here);
    free(names);
}

cls_status cli_walk(const cls_system *s, cls_simulator *sim, uint64_t steps, uint64_t every,
                    cli_take take, void *to, cli_progress *p, cls_error *error) {
    double *row = calloc(cls_system_column_count(s) + 1, sizeof *row);
    uint64_t done = 0;
    cls_status status = row ? CLS_OK : cli_no_memory(error);
    while (!status) {
        status = cls_simulator_row(sim, row, error);
        if (!status) status = take(to, row, error);
        if (status || done == steps) break;
        status = advance(sim, &done, steps - done < every ? steps : done + every, steps, p, error);
        if (status == CLS_NUMERIC) add_broken_law(s, sim, row, error);
    }
    free(row);
    return status;
}

static cls_status append(void *table, const double *row, cls_error *error) {
    return cls_table_append(table, row, error);
}

cls_status cli_motion_table(const cli_motion *m, const cls_simulate_options *options,
                            uint64_t steps, uint64_t every, cls_table **out, cls_error *error) {
    cls_simulator *sim = NULL;
    const char **names = cli_columns(m->system);
    *out = NULL;
    cls_status status = names ? CLS_OK : cli_no_memory(error);
    if (!status) status = cls_table_create(cls_system_column_count(m->system), names, out, error);
    if (!status) status = cls_simulator_create(m->system, options, &sim, error);
    if (!status) status = cls_simulator_start(sim, m->time, m->state, error);
    if (!status) status = cli_walk(m->system, sim, steps, every, append, *out, NULL, error);
    if (status) cls_table_free(out);
    cls_simulator_free(&sim);
    free(names);
    return status;
}
