/* A start from what a person has: velocities or momenta, entropies or temperatures.
 *
 * The state z holds one of each pair (v,p) and (S,T); the other, its dual d(z), is an expression.
 * Where a dual was given, the state's slot is unknown and solves d(z) = given: Newton with the
 * exact Jacobian of d, damped until the residual falls, from a few guesses. Temperatures are
 * compared and unknown in their logarithm: entropies of gases are linear in it. Cost: some
 * microseconds, once per start. A solution is not promised to be the only one. */
#include "base/alike.h"
#include "base/misuse.h"
#include "expr/graph.h"
#include "expr/program.h"
#include "system/equations.h"
#include "system/system.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITERATIONS = 100, MAX_HALVINGS = 40, N_GUESSES = 8 };

/* ---- the program: duals (k = n + m), then their slopes in z[nq..] where they are not zero ---- */

cls_status clsi_system_build_duals(cls_system *s, cls_error *error) {
    const clsi_form *f = s->form;
    size_t k = s->n + s->m;
    cls_node *duals = clsi_calloc(k, sizeof *duals), *out = NULL;
    clsi_rows rows = {0};
    if (!duals) return clsi_no_memory(error);
    if (s->n) memcpy(duals, f->kind == CLSI_FORM_PHASE ? f->v : f->p, s->n * sizeof *duals);
    if (s->m)
        memcpy(duals + s->n, f->kind == CLSI_FORM_THERMAL ? f->S : f->T, s->m * sizeof *duals);
    cls_node zero = cls_constant(s->g, 0); /* motions begin there: masses that contain t */
    cls_status status = CLS_OK;
    if (s->varies) status = cls_substitute(s->g, k, duals, 1, &s->t, &zero, duals);
    if (status == CLS_OK) status = clsi_sparse_jacobian(s->g, k, duals, k, f->z + s->nq, &rows);
    if (status == CLS_OK && (out = clsi_calloc(k + rows.n, sizeof *out))) {
        memcpy(out, duals, k * sizeof *out);
        if (rows.n) memcpy(out + k, rows.node, rows.n * sizeof *out);
        status = clsi_program_create_lean(s->g, 0, f->nz, f->nz, f->z, k + rows.n, k + rows.n, out,
                                          &s->dual_program, error);
        s->dual_start = rows.start; /* the system's from here on */
        s->dual_column = rows.column;
        rows.start = NULL;
        rows.column = NULL;
    } else if (status == CLS_OK || cls_graph_status(s->g, error) == CLS_OK) {
        status = clsi_no_memory(error);
    }
    clsi_rows_clear(&rows);
    free(duals);
    free(out);
    return status;
}

/* ---- what was given ---- */

typedef struct problem {
    const cls_system *s;
    size_t nq, n, m, nz, k; /* k = n + m slots behind the positions */
    double *z;              /* (nz) */
    double *target;         /* (k) given duals, NAN where the slot itself is given */
    size_t *unknown;        /* (k) slots to solve for, n_unknown of them */
    size_t n_unknown;
    double *out; /* (k + slopes) of the program */
    double *work;
    double *b, *trial, *step; /* (k), (nz), (k) */
    clsi_equations *equations;
} problem;

static const char *slot_name(const cls_system *s, size_t slot) {
    size_t n = s->n, m = s->m;
    const cls_node *lists[] = {s->q, s->v, s->p, s->S, s->T};
    const size_t sizes[] = {s->nq, n, n, m, m};
    for (int i = 0; i < 5; i++) {
        if (slot < sizes[i]) return cls_node_name(s->g, lists[i][slot]);
        slot -= sizes[i];
    }
    return "work";
}

static cls_status unknown_name(const cls_system *s, const char *name, cls_error *error) {
    for (size_t i = 0; i < s->n_parameters; i++)
        if (!strcmp(name, cls_system_parameter_name(s, i)))
            return clsi_fail(
                error, CLS_USAGE,
                "start: `%s` is a parameter of %s, and a motion starts from variables: "
                "load the system with another value (--set \"%s=...\"), a run for each",
                name, s->name, name);
    size_t slots = s->nq + 2 * s->n + 2 * s->m;
    const char **words = clsi_calloc(slots, sizeof *words);
    if (!words) return clsi_no_memory(error);
    clsi_text list = {0};
    char hint[200];
    for (size_t i = 0; i < slots; i++) words[i] = slot_name(s, i);
    clsi_alike_names(&list, slots, words, 600);
    const char *near = NULL;
    if (!*clsi_array_hint(name, slots, words, hint)) near = cls_nearest_word(name, slots, words);
    if (near) snprintf(hint, sizeof hint, "did you mean `%.63s`?", near);
    (void)clsi_fail(error, CLS_USAGE, "start: %s has no variable `%s`%s%s%s; it has %s", s->name,
                    name, *hint ? " (" : "", hint, *hint ? ")" : "",
                    list.failed || !list.data ? "" : list.data);
    clsi_text_clear(&list);
    free(words);
    return CLS_USAGE;
}

/* The slot that excludes this one: v.x and p.x, S and T; SIZE_MAX for coordinates. */
static size_t rival_of(const cls_system *s, size_t slot) {
    size_t nq = s->nq, n = s->n, m = s->m;
    if (slot < nq) return SIZE_MAX;
    if (slot < nq + n) return slot + n;
    if (slot < nq + 2 * n) return slot - n;
    return slot < nq + 2 * n + m ? slot + m : slot - m;
}

/* Gives one slot its value; `mine` knows what has been given already. */
static cls_status give(const cls_system *s, size_t slot, double value, double *slots, double *mine,
                       cls_error *error) {
    size_t rival = rival_of(s, slot);
    if (!isnan(mine[slot]))
        return clsi_fail(error, CLS_USAGE, "start: %s is given twice", slot_name(s, slot));
    if (rival != SIZE_MAX && !isnan(mine[rival]))
        return clsi_fail(error, CLS_USAGE,
                         "start: %s and %s are both given, but one follows "
                         "from the other: give one",
                         slot_name(s, rival), slot_name(s, slot));
    mine[slot] = slots[slot] = value;
    if (rival != SIZE_MAX) slots[rival] = NAN;
    return CLS_OK;
}

/* How the pattern means slots: 2, 1, or 0 for none (cls_means_element). */
static int way_of(const cls_system *s, const char *pattern, size_t count) {
    int best = 0;
    for (size_t slot = 0; slot < count && best < 2; slot++) {
        int how = cls_means_element(pattern, slot_name(s, slot), NULL, NULL);
        if (how > best) best = how;
    }
    return best;
}

/* u[*]: all elements of u, which others may still be given to one by one. */
static cls_status give_arrays(const cls_system *s, const cls_assignments *given, double *slots,
                              double *mine, cls_error *error) {
    size_t count = s->nq + 2 * s->n + 2 * s->m, patterns = 0;
    cls_status status = CLS_OK;
    for (size_t i = 0; given && i < given->n && status == CLS_OK; i++) {
        const char *name = given->names[i];
        if (!clsi_has_star(name) || !isfinite(given->values[i])) continue;
        int way = way_of(s, name, count);
        if (!way) return unknown_name(s, name, error);
        patterns++;
        for (size_t slot = 0; slot < count && status == CLS_OK; slot++)
            if (cls_means_element(name, slot_name(s, slot), NULL, NULL) == way)
                status = give(s, slot, given->values[i], slots, mine, error);
    }
    for (size_t i = 0; i < count && patterns; i++) mine[i] = NAN;
    return status;
}

static cls_status merge(const cls_system *s, const cls_assignments *given, double *slots,
                        double *accounts, cls_error *error) {
    size_t count = s->nq + 2 * s->n + 2 * s->m;
    double *mine = slots + count; /* only what was given here, to find contradictions */
    for (size_t i = 0; i < count; i++) mine[i] = NAN;
    memcpy(slots, s->start, count * sizeof *slots);
    size_t next = 0; /* names mostly come in their order */
    cls_status status = give_arrays(s, given, slots, mine, error);
    for (size_t i = 0; given && i < given->n && status == CLS_OK; i++) {
        char element[CLSI_ELEMENT_ROOM];
        const char *name = clsi_element_name(given->names[i], element) ? element : given->names[i];
        double value = given->values[i];
        if (!isfinite(value))
            return clsi_fail(error, CLS_USAGE, "start: %s is %g, it must be a finite number", name,
                             value);
        if (clsi_has_star(name)) continue;
        size_t tried = 0, account = 0, n_accounts = clsi_account_count(s);
        while (account < n_accounts &&
               strcmp(name, clsi_account_name(clsi_account_at(s, account))) != 0)
            account++;
        if (account < n_accounts) {
            accounts[account] = value;
            continue;
        }
        const char *flat = clsi_port_momentum(s, name); /* a storage's own name of a momentum */
        while (tried < count &&
               strcmp(slot_name(s, (next + tried) % count), flat ? flat : name) != 0)
            tried++;
        if (tried == count) return unknown_name(s, name, error);
        next = (next + tried) % count;
        status = give(s, next, value, slots, mine, error);
    }
    return status;
}

static cls_status check_complete(const cls_system *s, const double *slots, cls_error *error) {
    for (size_t i = 0; i < s->nq + 2 * s->n + 2 * s->m; i++) {
        size_t rival = rival_of(s, i);
        if (!isnan(slots[i]) || (rival != SIZE_MAX && !isnan(slots[rival]))) continue;
        if (rival == SIZE_MAX)
            return clsi_fail(error, CLS_USAGE,
                             "start: %s is missing: give it, or add a `start` to "
                             "the system file",
                             slot_name(s, i));
        return clsi_fail(error, CLS_USAGE,
                         "start: %s or %s is missing: give one, or add a `start` "
                         "to the system file",
                         slot_name(s, i), slot_name(s, rival));
    }
    return CLS_OK;
}

static cls_status check_inside(const clsi_variable *v, double value, cls_error *error) {
    if (value > v->low && value < v->high) return CLS_OK;
    return clsi_fail(error, CLS_USAGE, "start: %s = %.9g is outside its domain (%g, %g)", v->name,
                     value, v->low, v->high);
}

static cls_status check_domains(const cls_system *s, const double *slots, cls_error *error) {
    cls_status status = CLS_OK;
    const double *p = slots + s->nq + s->n, *S = p + s->n, *T = S + s->m;
    for (size_t i = 0; i < s->nq && status == CLS_OK; i++)
        status = check_inside(&s->coordinate[i], slots[i], error);
    for (size_t i = 0; i < s->n && status == CLS_OK; i++)
        if (!isnan(p[i])) status = check_inside(&s->momentum[i], p[i], error);
    for (size_t i = 0; i < s->m && status == CLS_OK; i++) {
        if (!isnan(S[i])) status = check_inside(&s->entropy[i], S[i], error);
        if (status == CLS_OK && !isnan(T[i]))
            status = check_inside(&s->temperature[i], T[i], error);
    }
    return status;
}

/* ---- Newton ---- */

static int is_thermal_slot(const problem *p, size_t slot) {
    return slot >= p->n;
}

/* Temperatures are unknown (native T) or compared (dual T) by their logarithm. */
static int unknown_in_log(const problem *p, size_t slot) {
    return is_thermal_slot(p, slot) && p->s->form->kind == CLSI_FORM_THERMAL;
}

static int compared_in_log(const problem *p, size_t slot) {
    return is_thermal_slot(p, slot) && p->s->form->kind != CLSI_FORM_THERMAL;
}

/* Residuals at z into b; the largest, relative to the size of what is compared. NAN when z is not
 * a place where the duals exist. */
static double residual(const problem *p, const double *z) {
    double worst = 0;
    cls_program_run(p->s->dual_program, p->work, z, p->out);
    for (size_t i = 0; i < p->n_unknown; i++) {
        size_t slot = p->unknown[i];
        double d = p->out[slot], want = p->target[slot];
        p->b[i] = compared_in_log(p, slot) ? log(d) - log(want) : d - want;
        double size = compared_in_log(p, slot) ? 1 : 1 + fabs(want);
        if (!isfinite(p->b[i])) return NAN;
        if (fabs(p->b[i]) / size > worst) worst = fabs(p->b[i]) / size;
    }
    return worst;
}

/* The slopes of what is compared in what is unknown, then b becomes the update. */
static int update(const problem *p, const double *z) {
    clsi_equations *e = p->equations;
    for (size_t k = 0; k < e->n; k++) {
        size_t row = p->unknown[e->row[k]], column = p->unknown[e->column[k]];
        double scale = compared_in_log(p, row) ? 1 / p->out[row] : 1;
        double chain = unknown_in_log(p, column) ? z[p->nq + column] : 1;
        e->value[k] = scale * chain * p->out[e->from[k]];
    }
    return clsi_equations_solve(e, p->b);
}

static void move(const problem *p, double fraction) {
    memcpy(p->trial, p->z, p->nz * sizeof *p->z);
    for (size_t i = 0; i < p->n_unknown; i++) {
        size_t at = p->nq + p->unknown[i];
        if (unknown_in_log(p, p->unknown[i]))
            p->trial[at] *= exp(-fraction * p->b[i]);
        else
            p->trial[at] -= fraction * p->b[i];
    }
}

/* From the current z; the residual that is left. */
static double newton(const problem *p) {
    double now = residual(p, p->z);
    for (int i = 0; i < MAX_ITERATIONS && now > 0; i++) {
        if (!update(p, p->z)) break;
        double *step = p->step; /* kept while b is overwritten */
        memcpy(step, p->b, p->n_unknown * sizeof *step);
        double next = NAN, fraction = 1;
        for (int k = 0; k < MAX_HALVINGS; k++, fraction /= 2) {
            memcpy(p->b, step, p->n_unknown * sizeof *step);
            move(p, fraction);
            next = residual(p, p->trial);
            if (next < now) break;
        }
        if (!(next < now)) break;
        memcpy(p->z, p->trial, p->nz * sizeof *p->z);
        now = next;
    }
    return now;
}

static void guess(const problem *p, int k) {
    static const double mechanical[N_GUESSES] = {1, 0, 0.1, -1, 0.01, 3, 10, -0.1};
    static const double temperature[N_GUESSES] = {1, 0.1, 10, 300, 0.01, 100, 1000, 1e-3};
    static const double entropy[N_GUESSES] = {1, 0, -1, 5, -5, 20, -20, 100};
    for (size_t i = 0; i < p->n_unknown; i++) {
        size_t slot = p->unknown[i];
        double *z = &p->z[p->nq + slot];
        if (!is_thermal_slot(p, slot))
            *z = k == 0 ? p->target[slot] : mechanical[k] * (1 + fabs(p->target[slot]));
        else
            *z = p->s->form->kind == CLSI_FORM_THERMAL ? temperature[k] : entropy[k];
    }
}

static const char *dual_name(const problem *p, size_t slot) {
    const cls_system *s = p->s;
    if (slot < p->n)
        return cls_node_name(s->g, (s->form->kind == CLSI_FORM_PHASE ? s->v : s->p)[slot]);
    return cls_node_name(s->g, (s->form->kind == CLSI_FORM_THERMAL ? s->S : s->T)[slot - p->n]);
}

static cls_status no_solution(const problem *p, double left, cls_error *error) {
    residual(p, p->z);
    size_t worst = 0;
    for (size_t i = 1; i < p->n_unknown; i++)
        if (!(fabs(p->b[i]) <= fabs(p->b[worst]))) worst = i;
    size_t slot = p->unknown[worst];
    const char *name = cls_node_name(p->s->g, p->s->form->z[p->nq + slot]);
    if (isnan(left))
        return clsi_fail(error, CLS_NUMERIC,
                         "start: no %s solves %s = %.9g: %s is %g at all that "
                         "was tried; give %s instead",
                         name, dual_name(p, slot), p->target[slot], dual_name(p, slot),
                         p->out[slot], name);
    return clsi_fail(error, CLS_NUMERIC,
                     "start: no %s solves %s = %.9g: the closest found is %s = %.9g with %s = %.9g "
                     "(residual %.3g); give %s instead",
                     name, dual_name(p, slot), p->target[slot], name, p->z[p->nq + slot],
                     dual_name(p, slot), p->out[slot], left, name);
}

/* A dual that does not contain any unknown cannot be solved for, however well it fits. */
static cls_status check_dependence(const problem *p, cls_error *error) {
    const clsi_form *f = p->s->form;
    const clsi_equations *e = p->equations;
    unsigned char *seen = clsi_calloc(p->n_unknown, 1);
    if (!seen) return clsi_no_memory(error);
    for (size_t k = 0; k < e->n; k++) seen[e->row[k]] = 1;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < p->n_unknown && status == CLS_OK; i++) {
        if (seen[i]) continue;
        size_t slot = p->unknown[i];
        const char *name = cls_node_name(p->s->g, f->z[p->nq + slot]);
        status = clsi_fail(error, CLS_NUMERIC,
                           "start: %s does not depend on %s in this system, so %s = %.9g cannot "
                           "determine it: give %s",
                           dual_name(p, slot), name, dual_name(p, slot), p->target[slot], name);
    }
    free(seen);
    return status;
}

/* The equations between unknown slots. */
static cls_status set_up(problem *p, cls_error *error) {
    const cls_system *s = p->s;
    uint32_t *number = clsi_calloc(p->k, sizeof *number); /* among the unknown ones, + 1 */
    if (!number) return clsi_no_memory(error);
    for (size_t i = 0; i < p->n_unknown; i++) number[p->unknown[i]] = (uint32_t)i + 1;
    cls_status status = CLS_OK;
    p->equations = clsi_equations_new(p->n_unknown);
    for (size_t i = 0; i < p->n_unknown && p->equations && !p->equations->failed; i++)
        for (size_t k = s->dual_start[p->unknown[i]]; k < s->dual_start[p->unknown[i] + 1]; k++)
            if (number[s->dual_column[k]])
                clsi_equations_add(p->equations, i, number[s->dual_column[k]] - 1, p->k + k);
    if (!p->equations || p->equations->failed) status = clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_equations_ready(p->equations, error);
    free(number);
    return status;
}

static cls_status solve(const problem *p, cls_error *error) {
    double best = NAN;
    cls_status status = check_dependence(p, error);
    if (status != CLS_OK) return status;
    double *kept = clsi_calloc(p->nz, sizeof *kept);
    if (!kept) return clsi_no_memory(error);
    for (int k = 0; k < N_GUESSES && !(best < 1e-11); k++) {
        guess(p, k);
        double left = newton(p);
        if (isnan(left) || left >= best) continue;
        best = left;
        memcpy(kept, p->z, p->nz * sizeof *kept);
    }
    if (!isnan(best)) memcpy(p->z, kept, p->nz * sizeof *kept);
    free(kept);
    if (best < 1e-11) return CLS_OK;
    return no_solution(p, best, error);
}

/* ---- together ---- */

static void fill(problem *p, const double *slots) {
    const cls_system *s = p->s;
    size_t n = p->n, m = p->m;
    int phase = s->form->kind == CLSI_FORM_PHASE, thermal = s->form->kind == CLSI_FORM_THERMAL;
    const double *v = slots + p->nq, *mom = v + n, *S = mom + n, *T = S + m;
    memcpy(p->z, slots, p->nq * sizeof *slots);
    for (size_t i = 0; i < n + m; i++) {
        double native = i < n ? (phase ? mom : v)[i] : (thermal ? T : S)[i - n];
        p->target[i] = i < n ? (phase ? v : mom)[i] : (thermal ? S : T)[i - n];
        p->z[p->nq + i] = native;
        if (isnan(native)) p->unknown[p->n_unknown++] = i;
    }
}

/* The whole state must be a possible one: finite, with every temperature in its domain. */
static cls_status check_state(const cls_system *s, const double *state, cls_error *error) {
    double *row = clsi_calloc(s->n_columns, sizeof *row);
    if (!row) return clsi_no_memory(error);
    cls_error inner = {0};
    cls_status status = cls_system_row(s, 0, state, row, &inner);
    if (status == CLS_NUMERIC)
        status =
            clsi_fail(error, CLS_USAGE, "start: this is not a possible state: %s", inner.message);
    size_t T = 0, S = 0; /* columns of both kinds stand in the order of their numbers */
    for (size_t i = 0; i < s->m && status == CLS_OK; i++) {
        while (T < s->n_columns && strcmp(s->columns[T], s->temperature[i].name) != 0) T++;
        while (S < s->n_columns && strcmp(s->columns[S], s->entropy[i].name) != 0) S++;
        if (T < s->n_columns) status = check_inside(&s->temperature[i], row[T], error);
        if (status == CLS_OK && S < s->n_columns)
            status = check_inside(&s->entropy[i], row[S], error);
    }
    free(row);
    return status;
}

cls_status cls_system_start(const cls_system *s, const cls_assignments *given, double *state,
                            cls_error *error) {
    NEED(error, s);
    NEED(error, state);
    size_t slots = s->nq + 2 * s->n + 2 * s->m, k = s->n + s->m, nz = s->form->nz;
    size_t work = cls_program_work_size(s->dual_program);
    size_t n_out = k + s->dual_start[k];
    double *block = clsi_calloc(2 * slots + 2 * nz + 3 * k + n_out + work, sizeof *block);
    size_t *index = clsi_calloc(k, sizeof *index);
    double accounts[CLSI_ACCOUNTS] = {0};
    cls_status status = CLS_MEMORY;
    problem p = {.s = s, .nq = s->nq, .n = s->n, .m = s->m, .nz = nz, .k = k, .unknown = index};
    if (!block || !index) {
        (void)clsi_no_memory(error);
        goto done;
    }
    p.z = block + 2 * slots;
    p.trial = p.z + nz;
    p.target = p.trial + nz;
    p.b = p.target + k;
    p.step = p.b + k;
    p.out = p.step + k;
    p.work = p.out + n_out;
    status = merge(s, given, block, accounts, error);
    if (status == CLS_OK) status = check_complete(s, block, error);
    if (status == CLS_OK) status = check_domains(s, block, error);
    if (status != CLS_OK) goto done;
    fill(&p, block);
    cls_program_prepare(s->dual_program, p.work);
    if (p.n_unknown) status = set_up(&p, error);
    if (status == CLS_OK && p.n_unknown) status = solve(&p, error);
    if (status != CLS_OK) goto done;
    memcpy(state, p.z, nz * sizeof *state);
    status = clsi_system_check_units(s, state, error);
    if (status != CLS_OK) goto done;
    memcpy(state + nz, accounts, clsi_account_count(s) * sizeof *state);
    status = check_state(s, state, error);
done:
    clsi_equations_free(&p.equations);
    free(index);
    free(block);
    return status;
}
