/* A motion: a system or a learned model with its parameters, a complete start, and the walk along
 * it. Shared by show, simulate, audit and reproduce.
 *
 * A start comes from --start (any of q, v.q or p.q, S or T; the library completes it) or from the
 * last row of a file (--from), where the native state is taken bit for bit when the file has it.
 *
 * The start in a model's system file was written for the formulas of that file: S = 1 there is not
 * S = 1 of a learned formula, whose entropy has an origin of its own. So what --start leaves open
 * is taken from the file as a state of the file's own system, in its native variables. */
#include "cli.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char **cli_columns(const cls_system *s) {
    size_t n = cls_system_column_count(s);
    const char **names = calloc(n + 1, sizeof *names);
    for (size_t i = 0; names && i < n; i++) names[i] = cls_system_column(s, i);
    return names;
}

cls_status cli_check_scheme(const char *name, cls_error *error) {
    const char *names[64];
    size_t n = cls_scheme_count();
    if (cls_scheme_find(name)) return CLS_OK;
    if (n > 64) n = 64;
    for (size_t i = 0; i < n; i++) names[i] = cls_scheme_at(i)->name;
    return cli_unknown(error, CLS_USAGE, "scheme", name, n, names);
}

/* ---- a row of a file ---- */

static cls_status check_from(const cls_table *t, const char *path, cls_error *error) {
    int k = cls_table_find(t, "trajectory");
    size_t rows = cls_table_rows(t);
    if (!rows) return cli_fail(error, CLS_DATA, "%s has no rows to start from", path);
    if (cls_table_find(t, "time") < 0)
        return cli_fail(error, CLS_DATA, "%s has no column `time`; a start needs one", path);
    const double *id = k < 0 ? NULL : cls_table_column(t, (size_t)k);
    for (size_t i = 1; id && i < rows; i++)
        if (id[i] != id[0])
            return cli_fail(error, CLS_DATA,
                            "%s has several trajectories; a start needs a file with one", path);
    return CLS_OK;
}

static double value(const cls_table *t, size_t row, int column) {
    return cls_table_column(t, (size_t)column)[row];
}

/* Copies the state when the file has all of it; `work` of foreign data begins at 0. */
static int copy_state(const cls_system *s, const cls_table *t, size_t row, double *state) {
    for (size_t i = 0; i < cls_system_state_count(s); i++) {
        const char *name = cls_system_state_name(s, i);
        int k = cls_table_find(t, name);
        if (k < 0 && strcmp(name, "work")) return 0;
        state[i] = k < 0 ? 0 : value(t, row, k);
    }
    return 1;
}

static int is_state(const cls_system *s, const char *name) {
    for (size_t i = 0; i < cls_system_state_count(s); i++)
        if (!strcmp(cls_system_state_name(s, i), name)) return 1;
    return 0;
}

/* The column that can stand for state i: v.x for p.x and p.x for v.x; for the k-th entropy or
 * temperature the k-th derived column behind the derived velocities. NULL for coordinates. */
static const char *partner(const cls_system *s, size_t i) {
    size_t nq = cls_system_coordinate_count(s), derived = 0;
    if (i < nq || i >= nq + cls_system_momentum_count(s) + cls_system_entropy_count(s)) return NULL;
    for (size_t c = 1; c < cls_system_column_count(s); c++) {
        const char *name = cls_system_column(s, c);
        if (is_state(s, name) || !strcmp(name, "work")) continue;
        if (derived++ == i - nq) return name;
    }
    return NULL;
}

static cls_status no_column(const cls_table *t, const char *path, const char *name,
                            const char *other, cls_error *error) {
    char list[1024] = "";
    for (size_t c = 0, used = 0; c < cls_table_columns(t) && used < sizeof list - 1; c++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", c ? ", " : "",
                                 cls_table_name(t, c));
    return cli_fail(error, CLS_DATA, "%s has no column `%s`%s%s%s; it has %s", path, name,
                    other ? " and no `" : "", other ? other : "", other ? "`" : "", list);
}

/* Lets the library complete the start from what the file has of each state or its partner. */
static cls_status complete_state(const cls_system *s, const cls_table *t, size_t row,
                                 const char *path, double *state, cls_error *error) {
    size_t n = 0, states = cls_system_state_count(s);
    const char **names = calloc(states + 1, sizeof *names);
    double *values = calloc(states + 1, sizeof *values);
    cls_status status = names && values ? CLS_OK : cli_no_memory(error);
    for (size_t i = 0; !status && i < states; i++) {
        const char *name = cls_system_state_name(s, i), *other = partner(s, i);
        const char *found = cls_table_find(t, name) >= 0 ? name : other;
        if (!strcmp(name, "work")) continue;
        if (!found || cls_table_find(t, found) < 0) {
            status = no_column(t, path, name, other, error);
        } else {
            names[n] = found;
            values[n++] = value(t, row, cls_table_find(t, found));
        }
    }
    cls_assignments given = {n, names, values};
    if (!status) {
        status = cls_system_start(s, &given, state, error);
        if (status) cli_prefix(error, "%s", path);
    }
    free(names);
    free(values);
    return status;
}

/* ---- positions alone ---- */

/* Every coordinate is a column, and no velocity or momentum is. */
static int only_positions(const cls_system *s, const cls_table *t) {
    size_t n = cls_system_coordinate_count(s);
    for (size_t i = 0; i < n; i++) {
        const char *other = partner(s, n + i);
        if (cls_table_find(t, cls_system_state_name(s, i)) < 0) return 0;
        if (cls_table_find(t, cls_system_state_name(s, n + i)) >= 0) return 0;
        if (other && cls_table_find(t, other) >= 0) return 0;
    }
    return n > 0;
}

/* The momentum that leads from row `from` to the next in one step of the default scheme; heat as in
 * the system's own start. `moved`: the state at that next row. */
static cls_status aim(const cls_table *t, size_t from, int moved, const char *path, cli_motion *m,
                      cls_error *error) {
    const cls_system *s = m->system;
    size_t n = cls_system_coordinate_count(s);
    const double *time = cls_table_column(t, (size_t)cls_table_find(t, "time"));
    cls_simulate_options options = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    double *target = calloc(n + 1, sizeof *target);
    options.h = time[from + 1] - time[from];
    cls_status status = target ? CLS_OK : cli_no_memory(error);
    if (!status && !(options.h > 0))
        status = cli_fail(error, CLS_DATA, "%s: the times of two positions must increase", path);
    if (!status && cls_system_start(s, NULL, m->state, NULL))
        for (size_t i = 0; i < cls_system_state_count(s); i++) m->state[i] = i < 2 * n ? 0 : 1;
    for (size_t i = 0; !status && i < n; i++) {
        const double *q =
            cls_table_column(t, (size_t)cls_table_find(t, cls_system_state_name(s, i)));
        m->state[i] = q[from];
        target[i] = q[from + 1];
    }
    if (!status) status = cls_simulator_create(s, &options, &sim, error);
    if (!status) status = cls_simulator_aim(sim, time[from], target, m->state, error);
    if (!status && moved) status = cls_simulator_advance(sim, 1, error);
    for (size_t i = 0; !status && i < cls_system_state_count(s); i++)
        m->state[i] = cls_simulator_state(sim)[i];
    cls_simulator_free(&sim);
    free(target);
    return status;
}

/* Row `row`, or the last one when there are fewer. */
static cls_status start_at(const cls_table *t, size_t row, const char *path, cli_motion *m,
                           cls_error *error) {
    cls_status status = check_from(t, path, error);
    if (status) return status;
    if (row >= cls_table_rows(t)) row = cls_table_rows(t) - 1;
    m->time = value(t, row, cls_table_find(t, "time"));
    if (only_positions(m->system, t) && cls_table_rows(t) > 1) {
        int last = row + 1 == cls_table_rows(t);
        return aim(t, last ? row - 1 : row, last, path, m, error);
    }
    if (copy_state(m->system, t, row, m->state)) return CLS_OK;
    return complete_state(m->system, t, row, path, m->state, error);
}

static cls_status start_from(const char *path, cli_motion *m, cls_error *error) {
    cls_table *t = NULL;
    cls_status status = cls_table_read(path, &t, error);
    if (!status) status = start_at(t, SIZE_MAX, path, m, error);
    cls_table_free(&t);
    return status;
}

/* ---- the start of a model ---- */

static int names_state(const cls_system *s, const cls_assignments *given, size_t i) {
    const char *name = cls_system_state_name(s, i), *other = partner(s, i);
    for (size_t k = 0; k < given->n; k++)
        if (!strcmp(given->names[k], name) || (other && !strcmp(given->names[k], other))) return 1;
    return 0;
}

/* The system file that the model came from, with its own formulas and the model's parameters. */
static cls_status load_original(const cls_system *s, cls_system **out, cls_error *error) {
    size_t n = cls_system_parameter_count(s);
    const char **names = calloc(n + 1, sizeof *names);
    double *values = calloc(n + 1, sizeof *values);
    cls_status status = names && values ? CLS_OK : cli_no_memory(error);
    for (size_t i = 0; !status && i < n; i++) {
        names[i] = cls_system_parameter_name(s, i);
        values[i] = cls_system_parameter(s, i);
    }
    cls_assignments set = {n, names, values};
    if (!status)
        status = cls_system_parse(cls_system_text(s), cls_system_name(s), &set, out, error);
    free(names);
    free(values);
    return status;
}

/* Has the file's own system the same state? A lagrangian that is quadratic in v has momenta in it,
 * and what was learned in its place has velocities, which the model then knows itself. */
static const cls_system *start_of(const cli_motion *m) {
    size_t n = cls_system_state_count(m->system);
    int same = n == cls_system_state_count(m->loaded);
    for (size_t i = 0; same && i < n; i++)
        same = !strcmp(cls_system_state_name(m->system, i), cls_system_state_name(m->loaded, i));
    return same ? m->loaded : m->system;
}

cls_status cli_start_state(const cli_motion *m, const cls_assignments *given, double *state,
                           cls_error *error) {
    const cls_system *s = m->system;
    size_t n = given->n, states = cls_system_state_count(s);
    if (!m->model) return cls_system_start(s, given, state, error);
    const char **names = calloc(n + states + 1, sizeof *names);
    double *values = calloc(n + states + 1, sizeof *values);
    cls_status status = names && values ? CLS_OK : cli_no_memory(error);
    for (size_t i = 0; !status && i < n; i++) {
        names[i] = given->names[i];
        values[i] = given->values[i];
    }
    /* A file without a start leaves everything to --start, and the library says what is missing. */
    if (!status && !cls_system_start(start_of(m), NULL, state, NULL))
        for (size_t i = 0; i < states; i++)
            if (strcmp(cls_system_state_name(s, i), "work") && !names_state(s, given, i)) {
                names[n] = cls_system_state_name(s, i);
                values[n++] = state[i];
            }
    cls_assignments all = {n, names, values};
    if (!status) status = cls_system_start(s, &all, state, error);
    free(names);
    free(values);
    return status;
}

/* ---- motions ---- */

static cls_status open_model(const char *path, const char *set, cli_motion *out, cls_error *error) {
    if (set && set[strspn(set, " \t")])
        return cli_fail(error, CLS_USAGE,
                        "%s is a model: its parameters are those it was learned with, --set cannot "
                        "change them",
                        path);
    cls_status status = cls_model_read(path, &out->model, error);
    if (!status) {
        out->system = cls_model_system(out->model);
        status = load_original(out->system, &out->loaded, error);
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
    if (!status && out->model) {
        out->system = cls_model_system(out->model);
        status = load_original(out->system, &out->loaded, error);
    }
    if (status) cli_motion_free(out);
    return status;
}

cls_status cli_motion_begin(cli_motion *m, const char *start, const char *from, cls_error *error) {
    cli_assignments given;
    if (start && from)
        return cli_fail(error, CLS_USAGE, "--start and --from both say where to start; give one");
    m->state = calloc(cls_system_state_count(m->system) + 1, sizeof *m->state);
    if (!m->state) return cli_no_memory(error);
    if (from) return start_from(from, m, error);
    cls_status status = cli_assignments_parse("--start", start, &given, error);
    if (!status) status = cli_start_state(m, &given.list, m->state, error);
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

/* ---- a trajectory, or the model that makes one ---- */

/* The step of a table with rows at equal distances. */
static cls_status equal_steps(const cls_table *t, const char *path, double *h, cls_error *error) {
    size_t rows = cls_table_rows(t);
    const double *time = cls_table_column(t, (size_t)cls_table_find(t, "time"));
    *h = rows > 1 ? (time[rows - 1] - time[0]) / (double)(rows - 1) : 0;
    for (size_t k = 1; k < rows; k++)
        if (!(fabs(time[k] - time[0] - (double)k * *h) <= 1e-6 * *h)) *h = 0;
    if (*h > 0) return CLS_OK;
    return cli_fail(error, CLS_DATA, "%s: a model can only follow rows at equal times", path);
}

static cls_status follow(cli_motion *m, const cls_table *beside, const char *path, cls_table **out,
                         cls_error *error) {
    cls_simulate_options options = cls_simulate_defaults();
    m->state = calloc(cls_system_state_count(m->system) + 1, sizeof *m->state);
    cls_status status = m->state ? start_at(beside, 0, path, m, error) : cli_no_memory(error);
    if (!status) status = equal_steps(beside, path, &options.h, error);
    if (!status) status = cli_motion_table(m, &options, cls_table_rows(beside) - 1, 1, out, error);
    return status;
}

cls_status cli_trajectories(size_t n, const char *const *words, cls_table **out, cls_error *error) {
    size_t first = n; /* the first file: what models follow */
    cls_status status = CLS_OK;
    for (size_t i = n; !status && i-- > 0;)
        if (!cls_model_is_path(words[i])) {
            status = cls_table_read(words[i], &out[i], error);
            first = i;
        }
    for (size_t i = 0; !status && i < n; i++) {
        cli_motion m = {0};
        if (out[i]) continue;
        if (first == n)
            return cli_fail(error, CLS_USAGE,
                            "%s is a model and follows a trajectory; give one, or make one: "
                            "`clausius simulate %s -o run.csv`",
                            words[i], words[i]);
        status = cli_motion_open(words[i], NULL, &m, error);
        if (!status) status = follow(&m, out[first], words[first], &out[i], error);
        cli_motion_free(&m);
    }
    return status;
}
