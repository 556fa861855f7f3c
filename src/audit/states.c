/* Native states from a table of any complete set of columns.
 *
 * Problem: the laws are functions of the native state z (system.h: (q,p,S), (q,v,S) or (q,v,T));
 * a file may hold velocities where momenta are native, or temperatures where entropies are. Native
 * columns are taken as they are. Velocities become momenta by p = dL/dv where L is known in closed
 * form; every other case is solved row by row by cls_system_start (Newton on the Legendre
 * transform, the slow way). Rows are ordered by trajectory; within one, time must rise. */
#include "audit/audit.h"
#include "base/locale.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 128 };

/* Where the numbers of z come from. */
typedef struct source {
    char (*name)[NAME]; /* (nz) the column used */
    int *column;        /* (nz) */
    int *other;         /* (nz) 1 when it is not the native variable */
    int time, trajectory, account[CLSI_ACCOUNTS];
    int *input; /* (nu), -1 where the input has a formula */
    size_t n_other;
} source;

static void source_clear(source *from) {
    free(from->name);
    free(from->column);
    free(from->other);
    free(from->input);
}

/* The name of variable i of z (native), or of the one that can stand in for it; i >= nq. */
static void variable_name(const cls_system *s, size_t i, int other, char out[NAME]) {
    clsi_form_kind kind = s->form->kind;
    size_t heat = s->nq + s->n;
    if (i < heat) {
        int momentum = (kind == CLSI_FORM_PHASE) != other;
        snprintf(out, NAME, "%s", cls_node_name(s->g, (momentum ? s->p : s->v)[i - s->nq]));
    } else {
        int entropy = (kind != CLSI_FORM_THERMAL) != other;
        const clsi_variable *list = entropy ? s->entropy : s->temperature;
        snprintf(out, NAME, "%s", list[i - heat].name);
    }
}

/* "q, v.q or p.q, S or T; " and the columns there are. */
static cls_status missing(const cls_system *s, const cls_table *t, const char *what,
                          cls_error *error) {
    clsi_text need = {0}, have = {0};
    for (size_t i = 0; i < s->form->nz; i++) {
        char native[NAME], other[NAME];
        if (i < s->nq) {
            clsi_text_printf(&need, ", %s", s->coordinate[i].name);
            continue;
        }
        variable_name(s, i, 0, native);
        variable_name(s, i, 1, other);
        clsi_text_printf(&need, ", %s or %s", native, other);
    }
    for (size_t k = 0; k < clsi_account_count(s); k++)
        clsi_text_printf(&need, ", %s", clsi_account_name(clsi_account_at(s, k)));
    for (size_t k = 0; k < s->nu; k++)
        if (!cls_system_input_is_given(s, k)) clsi_text_printf(&need, ", %s", s->input[k].name);
    for (size_t i = 0; i < cls_table_columns(t); i++)
        clsi_text_printf(&have, "%s%s", i ? ", " : "", cls_table_name(t, i));
    cls_status status =
        need.failed || have.failed
            ? clsi_no_memory(error)
            : clsi_fail(error, CLS_DATA,
                        "the table has no column %s; the audit of %s needs time%s; there are: %s",
                        what, cls_system_name(s), need.data ? need.data : "",
                        have.data ? have.data : "none");
    clsi_text_clear(&need);
    clsi_text_clear(&have);
    return status;
}

static cls_status find_variable(const cls_system *s, const cls_table *t, size_t i, source *from,
                                cls_error *error) {
    if (i < s->nq)
        snprintf(from->name[i], NAME, "%s", s->coordinate[i].name);
    else
        variable_name(s, i, 0, from->name[i]);
    from->column[i] = cls_table_find(t, from->name[i]);
    if (from->column[i] >= 0) return CLS_OK;
    if (i < s->nq) return missing(s, t, from->name[i], error);
    char native[NAME], both[2 * NAME + 8];
    memcpy(native, from->name[i], NAME);
    variable_name(s, i, 1, from->name[i]);
    from->column[i] = cls_table_find(t, from->name[i]);
    from->other[i] = 1;
    from->n_other++;
    snprintf(both, sizeof both, "%s or %s", native, from->name[i]);
    return from->column[i] >= 0 ? CLS_OK : missing(s, t, both, error);
}

/* Inputs, and what crossed the boundary. */
static cls_status find_boundary(const cls_system *s, const cls_table *t, source *from,
                                cls_error *error) {
    for (size_t k = 0; k < s->nu; k++) {
        from->input[k] = cls_table_find(t, s->input[k].name);
        if (from->input[k] < 0 && !cls_system_input_is_given(s, k))
            return missing(s, t, s->input[k].name, error);
    }
    for (int a = 0; a < CLSI_ACCOUNTS; a++) from->account[a] = -1;
    for (size_t k = 0; k < clsi_account_count(s); k++) {
        clsi_account a = clsi_account_at(s, k);
        char why[160];
        from->account[a] = cls_table_find(t, clsi_account_name(a));
        snprintf(why, sizeof why, "%s, and %s: without it the laws cannot be judged",
                 clsi_account_name(a),
                 a == CLSI_WORK ? "the external forces of this system have no potential"
                                : "this system takes heat from outside");
        if (from->account[a] < 0) return missing(s, t, why, error);
    }
    return CLS_OK;
}

static cls_status find_columns(const cls_system *s, const cls_table *t, source *from,
                               cls_error *error) {
    size_t nz = s->form->nz;
    from->name = clsi_calloc(nz, sizeof *from->name);
    from->column = clsi_calloc(nz, sizeof *from->column);
    from->other = clsi_calloc(nz, sizeof *from->other);
    from->input = clsi_calloc(s->nu, sizeof *from->input);
    if (!from->name || !from->column || !from->other || !from->input) return clsi_no_memory(error);
    from->time = cls_table_find(t, "time");
    from->trajectory = cls_table_find(t, "trajectory");
    if (from->time < 0) return missing(s, t, "time", error);
    for (size_t i = 0; i < nz; i++) {
        cls_status status = find_variable(s, t, i, from, error);
        if (status) return status;
    }
    return find_boundary(s, t, from, error);
}

typedef struct place {
    double id;
    size_t row;
} place;

static int by_trajectory(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Fills row, first and id: trajectories may stand one after the other or interleaved. */
static cls_status split(clsi_states *st, const double *id, cls_error *error) {
    place *order = clsi_calloc(st->rows, sizeof *order);
    st->row = clsi_calloc(st->rows, sizeof *st->row);
    st->first = clsi_calloc(st->rows + 1, sizeof *st->first);
    st->id = clsi_calloc(st->rows, sizeof *st->id);
    if (!order || !st->row || !st->first || !st->id) {
        free(order);
        return clsi_no_memory(error);
    }
    cls_status status = CLS_OK;
    for (size_t k = 0; k < st->rows; k++) {
        order[k] = (place){id ? id[k] : 0, k};
        if (!isfinite(order[k].id))
            status =
                clsi_fail(error, CLS_DATA, "row %zu: the trajectory number is not finite", k + 1);
    }
    if (id && !status) qsort(order, st->rows, sizeof *order, by_trajectory);
    for (size_t k = 0; k < st->rows && !status; k++) {
        st->row[k] = order[k].row;
        if (k && order[k].id == order[k - 1].id) continue;
        st->first[st->parts] = k;
        st->id[st->parts++] = order[k].id;
    }
    st->first[st->parts] = st->rows;
    free(order);
    return status;
}

static cls_status check_times(const clsi_states *st, cls_error *error) {
    for (size_t part = 0; part < st->parts; part++) {
        size_t begin = st->first[part], end = st->first[part + 1];
        if (end - begin < 2)
            return clsi_fail(error, CLS_DATA,
                             "trajectory %g has one row; a law along a path needs at least two",
                             st->id[part]);
        for (size_t k = begin; k < end; k++) {
            double now = clsi_states_time(st, k);
            if (!isfinite(now) || (k > begin && !(now > clsi_states_time(st, k - 1))))
                return clsi_fail(error, CLS_DATA,
                                 "row %zu: time %.17g does not rise; rows of a trajectory must be "
                                 "ordered by time (several in one file need a trajectory column)",
                                 st->row[k] + 1, now);
        }
    }
    return CLS_OK;
}

static void gather(const clsi_states *st, const double *column, double *out) {
    for (size_t k = 0; k < st->rows; k++) out[k] = column[st->row[k]];
}

/* PHASE with velocities in the place of momenta: p = dL/dv(q, v, S), all rows at once. */
static cls_status momenta_from_velocities(const cls_system *s, clsi_states *st, cls_error *error) {
    size_t nq = s->nq, n = s->n, m = s->m, nz = st->nz;
    cls_node *inputs = clsi_calloc(nz, sizeof *inputs), *p = clsi_calloc(n, sizeof *p);
    double *out = clsi_calloc(n * st->rows, sizeof *out);
    cls_program *program = NULL;
    cls_status status = inputs && p && out ? CLS_OK : clsi_no_memory(error);
    if (!status) {
        if (nq) memcpy(inputs, s->q, nq * sizeof *inputs);
        memcpy(inputs + nq, s->v, n * sizeof *inputs);
        if (m) memcpy(inputs + nq + n, s->S, m * sizeof *inputs);
        if (cls_gradient(s->g, s->form->lagrangian, n, s->v, p))
            status = cls_graph_status(s->g, error);
    }
    if (!status) status = cls_program_create(s->g, nz, inputs, n, p, &program, error);
    if (!status && cls_program_run_many(program, st->rows, st->rows, st->z, out))
        status = clsi_no_memory(error);
    if (!status) memcpy(st->z + nq * st->rows, out, n * st->rows * sizeof *out);
    cls_program_free(&program);
    free(inputs);
    free(p);
    free(out);
    return status;
}

/* The general case, one Legendre transform for each row. */
static cls_status states_by_start(const cls_system *s, const source *from, clsi_states *st,
                                  cls_error *error) {
    size_t nz = st->nz;
    const char **names = clsi_calloc(nz, sizeof *names);
    double *given = clsi_calloc(nz, sizeof *given);
    double *state = clsi_calloc(cls_system_state_count(s), sizeof *state);
    cls_status status = names && given && state ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < nz && !status; i++) names[i] = from->name[i];
    for (size_t k = 0; k < st->rows && !status; k++) {
        for (size_t i = 0; i < nz; i++) given[i] = st->z[i * st->rows + k];
        cls_error why = {0};
        cls_assignments set = {nz, names, given};
        status = cls_system_start(s, &set, state, &why);
        if (status)
            (void)clsi_fail(error, status, "row %zu (%s): %s", st->row[k] + 1,
                            clsi_states_where(st, k).text, why.message);
        else
            for (size_t i = 0; i < nz; i++) st->z[i * st->rows + k] = state[i];
    }
    free(names);
    free(given);
    free(state);
    return status;
}

/* 1 when exactly the momenta are missing and the Lagrangian gives them. */
static int has_closed_form(const cls_system *s, const source *from) {
    if (s->form->kind != CLSI_FORM_PHASE || s->form->lagrangian == CLS_NO_NODE) return 0;
    for (size_t i = 0; i < s->n; i++)
        if (!from->other[s->nq + i]) return 0;
    return from->n_other == s->n;
}

static cls_status fill_boundary(const cls_system *s, const cls_table *t, const source *from,
                                clsi_states *st, cls_error *error) {
    for (size_t k = 0; k < s->nu; k++)
        if (from->input[k] >= 0)
            gather(st, cls_table_column(t, (size_t)from->input[k]),
                   st->z + (st->nz + 1 + k) * st->rows);
    if (!clsi_account_count(s)) return CLS_OK;
    st->received = clsi_calloc(st->rows, sizeof *st->received);
    if (!st->received) return clsi_no_memory(error);
    for (int a = 0; a < CLSI_ACCOUNTS; a++) {
        if (from->account[a] < 0) continue;
        st->account[a] = clsi_calloc(st->rows, sizeof(double));
        if (!st->account[a]) return clsi_no_memory(error);
        gather(st, cls_table_column(t, (size_t)from->account[a]), st->account[a]);
        for (size_t k = 0; k < st->rows && a != CLSI_OUTSIDE; k++)
            st->received[k] += st->account[a][k];
    }
    return CLS_OK;
}

static cls_status fill(const cls_system *s, const cls_table *t, const source *from, clsi_states *st,
                       cls_error *error) {
    const double *id = from->trajectory >= 0 ? cls_table_column(t, (size_t)from->trajectory) : NULL;
    st->numbered = id != NULL;
    cls_status status = split(st, id, error);
    if (status) return status;
    st->z = clsi_calloc((st->nz + 1 + st->nu) * st->rows, sizeof *st->z);
    if (!st->z) return clsi_no_memory(error);
    for (size_t i = 0; i < st->nz; i++)
        gather(st, cls_table_column(t, (size_t)from->column[i]), st->z + i * st->rows);
    gather(st, cls_table_column(t, (size_t)from->time), st->z + st->nz * st->rows);
    status = fill_boundary(s, t, from, st, error);
    if (!status) status = check_times(st, error);
    if (status || !from->n_other) return status;
    if (has_closed_form(s, from)) return momenta_from_velocities(s, st, error);
    return states_by_start(s, from, st, error);
}

cls_status clsi_states_read(const cls_system *s, const cls_table *t, clsi_states *out,
                            cls_error *error) {
    *out = (clsi_states){.nz = s->form->nz, .nu = s->nu, .rows = cls_table_rows(t)};
    source from = {0};
    cls_status status = find_columns(s, t, &from, error);
    if (!status && out->rows < 2)
        status = clsi_fail(error, CLS_DATA,
                           "the table has %zu row%s; a law along a path needs at least two",
                           out->rows, out->rows == 1 ? "" : "s");
    if (!status) status = fill(s, t, &from, out, error);
    source_clear(&from);
    if (status) clsi_states_clear(out);
    return status;
}

void clsi_states_clear(clsi_states *st) {
    free(st->row);
    free(st->first);
    free(st->id);
    free(st->z);
    free(st->received);
    for (int a = 0; a < CLSI_ACCOUNTS; a++) free(st->account[a]);
    *st = (clsi_states){0};
}

double clsi_states_time(const clsi_states *st, size_t k) {
    return st->z[st->nz * st->rows + k];
}

clsi_where clsi_states_where(const clsi_states *st, size_t k) {
    clsi_where where;
    size_t part = 0;
    while (part + 1 < st->parts && st->first[part + 1] <= k) part++;
    double now = clsi_states_time(st, k);
    if (st->numbered)
        clsi_snprintf(where.text, sizeof where.text, "time %.9g of trajectory %.9g", now,
                      st->id[part]);
    else
        clsi_snprintf(where.text, sizeof where.text, "time %.9g", now);
    return where;
}
