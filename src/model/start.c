/* Starts of motions: by names, or from a row of a table, where the native state is taken bit for
 * bit when the table has it. See the public header for what a model does differently. */
#include "base/base.h"
#include "base/misuse.h"
#include "data/table.h"
#include <clausius/simulate.h>
#include <clausius/start.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cls_starter {
    const cls_system *system; /* the model's, where there is one */
    const cls_model *model;   /* NULL: a system alone */
    double *state;            /* of a model: the start of the file, in native variables ... */
    int known;                /* ... if the file has one */
};

static void prefix(cls_error *error, const char *name) {
    char message[sizeof error->message];
    if (!error) return;
    memcpy(message, error->message, sizeof message);
    snprintf(error->message, sizeof error->message, "%.400s: %.1600s", name, message);
}

/* ---- a row of a file ---- */

static cls_status check_table(const cls_table *t, const char *path, cls_error *error) {
    int k = cls_table_find(t, "trajectory");
    size_t rows = cls_table_rows(t);
    if (!rows) return clsi_fail(error, CLS_DATA, "%s has no rows to start from", path);
    if (cls_table_find(t, "time") < 0)
        return clsi_fail(error, CLS_DATA, "%s has no column `time`; a start needs one", path);
    const double *id = k < 0 ? NULL : cls_table_column(t, (size_t)k);
    for (size_t i = 1; id && i < rows; i++)
        if (id[i] != id[0])
            return clsi_fail(error, CLS_DATA,
                             "%s has several trajectories; a start needs a file with one", path);
    return CLS_OK;
}

static double value(const cls_table *t, size_t row, int column) {
    return cls_table_column(t, (size_t)column)[row];
}

/* Work, heat, entropy.outside: the last ones of a state. */
static int is_account(const cls_system *s, size_t i) {
    return i + cls_system_account_count(s) >= cls_system_state_count(s);
}

/* Copies the state when the file has all of it; accounts of foreign data begin at 0. */
static int copy_state(const cls_system *s, const cls_table *t, size_t row, double *state) {
    for (size_t i = 0; i < cls_system_state_count(s); i++) {
        const char *name = cls_system_state_name(s, i);
        int k = cls_table_find(t, name);
        if (k < 0 && !is_account(s, i)) return 0;
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
        if (is_state(s, name)) continue;
        if (derived++ == i - nq) return name;
    }
    return NULL;
}

static cls_status no_column(const cls_table *t, const char *path, const char *name,
                            const char *other, cls_error *error) {
    char *list = clsi_column_list(t);
    if (!list) return clsi_no_memory(error);
    (void)clsi_fail(error, CLS_DATA, "%s has no column `%s`%s%s%s; it has %s", path, name,
                    other ? " and no `" : "", other ? other : "", other ? "`" : "", list);
    free(list);
    return CLS_DATA;
}

/* The velocity of coordinate j from its positions in `row` and the next row (at the end: the one
 * before); NAN where there is one row or no position. */
static double velocity_at(const cls_system *s, const cls_table *t, size_t row, size_t j) {
    int q = cls_table_find(t, cls_system_state_name(s, j)), c = cls_table_find(t, "time");
    size_t a = row + 1 < cls_table_rows(t) ? row : row - 1;
    if (q < 0 || cls_table_rows(t) < 2) return NAN;
    return (value(t, a + 1, q) - value(t, a, q)) / (value(t, a + 1, c) - value(t, a, c));
}

/* The one of two names that is a velocity's, or NULL. */
static const char *velocity_name(const char *name, const char *other) {
    if (strncmp(name, "v.", 2) == 0) return name;
    return other && strncmp(other, "v.", 2) == 0 ? other : NULL;
}

/* Completes the start from what the file has of each state or its partner. A file of measurements
 * need not have all: heat is then that of the system's own start, and a velocity what two
 * neighbouring positions say. */
static cls_status complete_state(const cls_starter *p, const cls_table *t, size_t row,
                                 const char *path, double *state, cls_error *error) {
    const cls_system *s = p->system;
    size_t n = 0, states = cls_system_state_count(s), nq = cls_system_coordinate_count(s);
    size_t heat = nq + cls_system_momentum_count(s);
    const char **names = clsi_calloc(states + 1, sizeof *names);
    double *values = clsi_calloc(states + 1, sizeof *values);
    cls_status status = names && values ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; !status && i < states; i++) {
        const char *name = cls_system_state_name(s, i), *other = partner(s, i);
        const char *found = cls_table_find(t, name) >= 0 ? name : other;
        double v = i >= nq && i < 2 * nq && velocity_name(name, other)
                       ? velocity_at(s, t, row, i - nq)
                       : NAN;
        if (is_account(s, i)) continue;
        if (found && cls_table_find(t, found) >= 0) {
            names[n] = found;
            values[n++] = value(t, row, cls_table_find(t, found));
        } else if (isfinite(v)) {
            names[n] = velocity_name(name, other);
            values[n++] = v;
        } else if (i < heat) {
            status = no_column(t, path, name, other, error);
        }
    }
    cls_assignments given = {n, names, values};
    if (!status && n) {
        status = cls_starter_state(p, &given, state, error);
        if (status) prefix(error, path);
    } else if (!status) { /* heat alone, and none of it is there */
        status = no_column(t, path, cls_system_state_name(s, 0), partner(s, 0), error);
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

/* By inputs that come from data: a step needs their values. */
static int is_driven(const cls_system *s) {
    for (size_t k = 0; k < cls_system_input_count(s); k++)
        if (!cls_system_input_is_given(s, k)) return 1;
    return 0;
}

/* ---- noisy positions ---- */

enum { SMALLEST = 5, LARGEST = 61, PLACES = 25 };
static const double NOISY = 1e-3;    /* of the range: rounding and clean data are below */
static const double EXPLAINED = 1.5; /* of the noise's variance: more is no parabola any more */

/* The parabola c through rows [low, low + n) about the time t0, by least squares; the variance that it
 * leaves, INFINITY when there is none. */
static double parabola(const double *t, const double *q, size_t low, size_t n, double t0,
                       double *c) {
    double M[3][4] = {{0}}, scale = fmax(fabs(t[low] - t0), fabs(t[low + n - 1] - t0)), left = 0;
    if (n < 4 || !(scale > 0)) return INFINITY;
    for (size_t i = low; i < low + n; i++) {
        double x = (t[i] - t0) / scale, f[3] = {1, x, x * x};
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 4; b++) M[a][b] += f[a] * (b < 3 ? f[b] : q[i]);
    }
    for (int k = 0; k < 3; k++) /* positive definite: no pivots */
        for (int a = k + 1; a < 3; a++)
            for (int b = 3; b >= k; b--) M[a][b] -= M[a][k] / M[k][k] * M[k][b];
    for (int k = 2; k >= 0; k--) {
        c[k] = M[k][3];
        for (int b = k + 1; b < 3; b++) c[k] -= M[k][b] * c[b];
        c[k] /= M[k][k];
    }
    for (size_t i = low; i < low + n; i++) {
        double x = (t[i] - t0) / scale, off = q[i] - c[0] - c[1] * x - c[2] * x * x;
        left += off * off / (double)(n - 3);
    }
    c[1] /= scale;
    c[2] /= scale * scale;
    return isfinite(left) ? left : INFINITY;
}

/* Two neighbouring positions of rows [first, end): as they are, or where they are noisy on the longest
 * parabola that explains the rows about them. */
static void two_positions(const double *t, const double *q, size_t first, size_t end, size_t from,
                          double *a, double *b) {
    double c[3], noise = 0, low = INFINITY, high = -INFINITY;
    size_t places = 0;
    *a = q[from];
    *b = q[from + 1];
    for (size_t i = first; i < end; i++) low = fmin(low, q[i]), high = fmax(high, q[i]);
    size_t begin = from > first + PLACES ? from - PLACES : first;
    for (size_t i = begin; i + SMALLEST <= end && i < begin + 2 * PLACES; i++, places++)
        noise += parabola(t, q, i, SMALLEST, t[i], c);
    noise = places ? noise / (double)places : INFINITY;
    if (!isfinite(noise) || !(noise > NOISY * NOISY * (high - low) * (high - low))) return;
    for (size_t n = SMALLEST + 2; n <= LARGEST && n <= end - first; n += 2) {
        size_t at = from > first + n / 2 ? from - n / 2 : first;
        if (at + n > end) at = end - n;
        if (!(parabola(t, q, at, n, t[from], c) < EXPLAINED * noise)) break;
        double h = t[from + 1] - t[from];
        *a = c[0];
        *b = c[0] + h * (c[1] + h * c[2]);
    }
}

/* The momentum that leads from row `from` to the next in one step of the default scheme; heat as in
 * the system's own start. `moved`: the state at that next row. */
static cls_status aim(const cls_system *s, const cls_table *t, size_t from, int moved,
                      const char *path, double *state, cls_error *error) {
    size_t n = cls_system_coordinate_count(s);
    const double *time = cls_table_column(t, (size_t)cls_table_find(t, "time"));
    cls_simulate_options options = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    double *target = clsi_calloc(n + 1, sizeof *target);
    options.h = time[from + 1] - time[from];
    size_t first = from, end = from + 2; /* rows of increasing times about it */
    while (first > 0 && time[first - 1] < time[first]) first--;
    while (end < cls_table_rows(t) && time[end] > time[end - 1]) end++;
    cls_status status = target ? CLS_OK : clsi_no_memory(error);
    if (!status && !(options.h > 0))
        status = clsi_fail(error, CLS_DATA, "%s: the times of two positions must increase", path);
    if (!status && cls_system_start(s, NULL, state, NULL))
        for (size_t i = 0; i < cls_system_state_count(s); i++) state[i] = i < 2 * n ? 0 : 1;
    for (size_t i = 0; !status && i < n; i++) {
        const double *q =
            cls_table_column(t, (size_t)cls_table_find(t, cls_system_state_name(s, i)));
        two_positions(time, q, first, end, from, &state[i], &target[i]);
    }
    if (!status) status = cls_simulator_create(s, &options, &sim, error);
    if (!status) status = cls_simulator_aim(sim, time[from], target, state, error);
    if (!status && moved) status = cls_simulator_advance(sim, 1, error);
    for (size_t i = 0; !status && i < cls_system_state_count(s); i++)
        state[i] = cls_simulator_state(sim)[i];
    cls_simulator_free(&sim);
    free(target);
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
    const char **names = clsi_calloc(n + 1, sizeof *names);
    double *values = clsi_calloc(n + 1, sizeof *values);
    cls_status status = names && values ? CLS_OK : clsi_no_memory(error);
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
static int same_state(const cls_system *a, const cls_system *b) {
    size_t n = cls_system_state_count(a);
    int same = n == cls_system_state_count(b);
    for (size_t i = 0; same && i < n; i++)
        same = !strcmp(cls_system_state_name(a, i), cls_system_state_name(b, i));
    return same;
}

/* The start of the file, in native variables. A file without one leaves everything to what is
 * given, and the library says what is missing. */
static cls_status find_default(cls_starter *p, cls_error *error) {
    cls_system *original = NULL;
    cls_status status = load_original(p->system, &original, error);
    p->state = clsi_calloc(cls_system_state_count(p->system) + 1, sizeof *p->state);
    if (!status && !p->state) status = clsi_no_memory(error);
    if (!status)
        p->known = !cls_system_start(same_state(p->system, original) ? original : p->system, NULL,
                                     p->state, NULL);
    cls_system_free(&original);
    return status;
}

cls_status cls_starter_create(const cls_system *system, const cls_model *model, cls_starter **out,
                              cls_error *error) {
    NEED(error, out);
    *out = NULL;
    if (!model) NEED(error, system);
    cls_starter *p = *out = clsi_calloc(1, sizeof *p);
    if (!p) return clsi_no_memory(error);
    p->system = model ? cls_model_system(model) : system;
    p->model = model;
    cls_status status = model ? find_default(p, error) : CLS_OK;
    if (status) cls_starter_free(out);
    return status;
}

void cls_starter_free(cls_starter **starter) {
    if (!starter) return;
    if (*starter) free((*starter)->state);
    free(*starter);
    *starter = NULL;
}

cls_status cls_starter_state(const cls_starter *p, const cls_assignments *given, double *state,
                             cls_error *error) {
    NEED(error, p);
    NEED(error, state);
    static const cls_assignments nothing;
    const cls_system *s = p->system;
    if (!p->model) return cls_system_start(s, given, state, error);
    if (!given) given = &nothing;
    size_t n = given->n, states = cls_system_state_count(s);
    const char **names = clsi_calloc(n + states + 1, sizeof *names);
    double *values = clsi_calloc(n + states + 1, sizeof *values);
    cls_status status = names && values ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; !status && i < n; i++) {
        names[i] = given->names[i];
        values[i] = given->values[i];
    }
    for (size_t i = 0; !status && p->known && i < states; i++)
        if (!is_account(s, i) && !names_state(s, given, i)) {
            names[n] = cls_system_state_name(s, i);
            values[n++] = p->state[i];
        }
    cls_assignments all = {n, names, values};
    if (!status) status = cls_system_start(s, &all, state, error);
    free(names);
    free(values);
    return status;
}

cls_status cls_starter_row(const cls_starter *p, const cls_table *t, size_t row, const char *name,
                           double *time, double *state, cls_error *error) {
    NEED(error, p);
    NEED(error, t);
    cls_status status = check_table(t, name, error);
    if (status) return status;
    if (row >= cls_table_rows(t)) row = cls_table_rows(t) - 1;
    *time = value(t, row, cls_table_find(t, "time"));
    if (only_positions(p->system, t) && cls_table_rows(t) > 1 && !is_driven(p->system)) {
        int last = row + 1 == cls_table_rows(t);
        return aim(p->system, t, last ? row - 1 : row, last, name, state, error);
    }
    if (copy_state(p->system, t, row, state)) return CLS_OK;
    return complete_state(p, t, row, name, state, error);
}
