/* The first program: the energy, linear in its coefficients.
 *
 *     E = E_0 + sum_j alpha_j Phi_j                      (E_0: what the file knows)
 *     minimise over alpha   |q' - K E_p|^2 / qbar^2 + |p' + K^T E_q - P E_p|^2 / pbar^2
 *                         + |sum_l E_Sl S_l'|^2 / (Tbar Sbar)^2 + |E_Sl - T_l|^2 / That^2
 *
 * (docs/physics/metriplectic.md, the sound method: the paper's (3.5) divided by the squares of
 * the characteristic values, plus the first law and the measured temperatures.) qbar, pbar, Sbar
 * are mean plus standard deviation of the norm of the rates, Tbar the mean of the temperatures,
 * That their standard deviation: it is their differences that drive heat. Conditions: the energy
 * commutes with the invariants that the user names, {E, J} = 0 at as many random states as there
 * are terms, and anchors. A temperature must be measured, or anchored, for one entropy at least:
 * the other equations hold for T = 0 too, and that solution is refused, not returned.
 * Costs one evaluation of all terms per sample and 2 n^2 operations per row. */
#include "identify/identify.h"
#include <clausius/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct stage {
    clsi_qp *q;
    clsi_convex c;
    size_t n;       /* terms of all parts */
    cls_node *Phi;  /* (n + 1): terms, then E_0 */
    cls_node *y;    /* (n + 1, nz): their K Phi_p, -K^T Phi_q + P Phi_p, Phi_S */
    size_t *output; /* (n + 1, nz): where the program has it, SIZE_MAX for zeros */
    size_t n_outputs;
} stage;

/* ---- expressions ---- */

static cls_status split(stage *s) {
    clsi_qp *q = s->q;
    cls_graph *g = q->s->g;
    cls_node *alpha = clsi_calloc(2 * s->n + 1, sizeof *alpha), *zero = alpha + s->n;
    if (!alpha) return clsi_no_memory(q->error);
    size_t at = 0;
    for (size_t k = 0; k < q->n_energy; k++)
        for (size_t i = 0; i < q->part[k].n; i++) {
            zero[at] = cls_constant(g, 0);
            alpha[at++] = q->part[k].coefficient[i];
        }
    cls_status status = cls_gradient(g, q->energy, s->n, alpha, s->Phi);
    if (status == CLS_OK)
        status = cls_substitute(g, 1, &q->energy, s->n, alpha, zero, &s->Phi[s->n]);
    for (size_t j = 0; j < s->n && status == CLS_OK; j++)
        if (cls_depends(g, s->Phi[j], s->n, alpha))
            status = clsi_fail(q->error, CLS_USAGE,
                               "the energy is not linear in the unknown parts, so that it is no "
                               "convex program; use another optimizer");
    free(alpha);
    return status;
}

/* Rates and temperatures that an energy f would give. */
static cls_status row_nodes(const cls_system *s, cls_node f, cls_node *out) {
    size_t nq = s->nq, n = s->n;
    cls_node *slope = clsi_calloc(2 * nq + 2 * n + 1, sizeof *slope);
    if (!slope) return CLS_MEMORY;
    cls_node *v = slope + nq, *rate_q = v + n, *against = rate_q + nq;
    cls_status status = nq ? cls_gradient(s->g, f, nq, s->q, slope) : CLS_OK;
    if (status == CLS_OK && n) status = cls_gradient(s->g, f, n, s->p, v);
    if (status == CLS_OK && s->m) status = cls_gradient(s->g, f, s->m, s->S, out + nq + n);
    const clsi_place at = {.v = v, .t = CLS_NO_NODE};
    if (status == CLS_OK) status = clsi_brackets_at(s, &s->bound, &at, slope, rate_q, against);
    for (size_t k = 0; k < nq; k++) out[k] = rate_q[k];
    for (size_t k = 0; k < n; k++) out[nq + k] = cls_neg(s->g, against[k]);
    free(slope);
    return status;
}

static cls_status make_nodes(stage *s) {
    const cls_system *sys = s->q->s;
    size_t nz = s->q->data->nz;
    cls_status status = split(s);
    for (size_t j = 0; j <= s->n && status == CLS_OK; j++) {
        status = row_nodes(sys, s->Phi[j], s->y + j * nz);
        for (size_t k = 0; k < nz && status == CLS_OK; k++) {
            int zero = cls_is_constant(sys->g, s->y[j * nz + k], 0);
            s->output[j * nz + k] = zero ? SIZE_MAX : s->n_outputs;
            if (!zero) s->y[s->n_outputs++] = s->y[j * nz + k]; /* packed: never ahead of j, k */
        }
    }
    return status == CLS_MEMORY ? clsi_no_memory(s->q->error) : status;
}

/* ---- rows ---- */

/* Output k of the terms that a group sees, weighted over the window or at its middle, times
 * `factor`, onto the group's row; returns the known part's. */
static double add_outputs(const stage *s, const clsi_block *b, size_t probe, size_t k, int window,
                          double factor, clsi_group *g) {
    const clsi_qp_data *d = s->q->data;
    double (*value)(const clsi_qp_data *, const clsi_block *, size_t, size_t) =
        window ? clsi_qp_mean : clsi_qp_middle;
    for (size_t i = 0; i < g->n; i++) {
        size_t at = s->output[g->column[i] * d->nz + k];
        if (at != SIZE_MAX) g->row[i] += factor * value(d, b, probe, at);
    }
    size_t known = s->output[s->n * d->nz + k];
    return known == SIZE_MAX ? 0 : factor * value(d, b, probe, known);
}

static clsi_group *clear_row(stage *s, size_t g) {
    memset(s->c.group[g].row, 0, s->c.group[g].n * sizeof(double));
    return &s->c.group[g];
}

static cls_status add_reversible(stage *s, const clsi_block *b, size_t probe) {
    const clsi_qp_data *d = s->q->data;
    size_t nq = s->q->s->nq, n = s->q->s->n;
    for (size_t k = 0; k < nq + n; k++) {
        double scale = clsi_qp_scale(d, k, &d->probe[probe]);
        double want = d->target[k * d->n + probe] / scale;
        double known = add_outputs(s, b, probe, k, 1, 1 / scale, clear_row(s, k));
        cls_status status =
            clsi_convex_add(&s->c, k, k < nq ? 0 : 1, want - known, want * want, s->q->error);
        if (status != CLS_OK) return status;
    }
    return CLS_OK;
}

static cls_status add_first_law(stage *s, const clsi_block *b, size_t probe) {
    const clsi_qp_data *d = s->q->data;
    size_t at = d->probe[probe].first + d->probe[probe].count / 2, base = d->nz - d->m;
    double scale = d->level * d->size[2], known = 0;
    clsi_group *g = clear_row(s, d->nz);
    for (size_t l = 0; l < d->m; l++)
        known += add_outputs(s, b, probe, base + l, 0, d->rate[(base + l) * d->n + at] / scale, g);
    return clsi_convex_add(&s->c, d->nz, 2, -known, 0, s->q->error);
}

static cls_status add_temperatures(stage *s, const clsi_block *b, size_t probe) {
    const clsi_qp_data *d = s->q->data;
    size_t at = d->probe[probe].first + d->probe[probe].count / 2, base = d->nz - d->m;
    cls_status status = CLS_OK;
    for (size_t l = 0; l < d->m && status == CLS_OK; l++) {
        double theta = d->theta[l * d->n + at], away = (theta - d->level) / d->swing;
        if (!isfinite(theta)) continue;
        double known = add_outputs(s, b, probe, base + l, 0, 1 / d->swing, clear_row(s, base + l));
        status =
            clsi_convex_add(&s->c, base + l, 3, theta / d->swing - known, away * away, s->q->error);
    }
    return status;
}

/* Groups: one for each rate of q and p and for each temperature, then the first law. */
static cls_status open_groups(stage *s) {
    clsi_qp *q = s->q;
    size_t nz = q->data->nz, base = nz - q->data->m;
    cls_status status = clsi_convex_open(s->n, nz + 1, &s->c, q->error);
    unsigned char *seen = clsi_calloc(2 * s->n + 1, 1), *warm = seen + s->n;
    if (status == CLS_OK && !seen) status = clsi_no_memory(q->error);
    for (size_t k = 0; k < nz && status == CLS_OK; k++) {
        for (size_t j = 0; j < s->n; j++) {
            seen[j] = s->output[j * nz + k] != SIZE_MAX;
            if (k >= base) warm[j] |= seen[j];
        }
        status = clsi_convex_group(&s->c, k, seen, q->error);
    }
    if (status == CLS_OK) status = clsi_convex_group(&s->c, nz, warm, q->error);
    free(seen);
    return status;
}

static cls_status take(void *context, const clsi_block *b) {
    stage *s = context;
    cls_status status = CLS_OK;
    for (size_t i = b->from; i < b->to && status == CLS_OK; i++) {
        status = add_reversible(s, b, i);
        if (status == CLS_OK && s->q->s->m) status = add_first_law(s, b, i);
        if (status == CLS_OK) status = add_temperatures(s, b, i);
    }
    return status;
}

/* ---- conditions ---- */

static cls_status grow_conditions(stage *s, size_t more) {
    size_t n = s->c.n_conditions + more;
    double *C = clsi_realloc(s->c.C, (n * s->n + 1) * sizeof *C);
    if (C) s->c.C = C;
    double *d = C ? clsi_realloc(s->c.d, (n + 1) * sizeof *d) : NULL;
    if (d) s->c.d = d;
    return C && d ? CLS_OK : clsi_no_memory(s->q->error);
}

/* The rate of f along the motion that J generates. */
static cls_node commutator(const cls_system *s, cls_node f, cls_node J) {
    cls_node *y = clsi_calloc(s->nq + s->n + s->m, sizeof *y), sum = cls_constant(s->g, 0);
    if (!y || row_nodes(s, J, y) != CLS_OK) {
        free(y);
        return CLS_NO_NODE;
    }
    for (size_t i = 0; i < s->nq; i++)
        sum = cls_add(s->g, sum, cls_mul(s->g, cls_derivative(s->g, f, s->q[i]), y[i]));
    for (size_t i = 0; i < s->n; i++)
        sum = cls_add(s->g, sum, cls_mul(s->g, cls_derivative(s->g, f, s->p[i]), y[s->nq + i]));
    free(y);
    return sum;
}

/* A state drawn from the box of the data. */
static void draw(const clsi_qp_data *d, cls_random *random, double *z) {
    for (size_t k = 0; k < d->nz; k++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < d->n; i++) {
            low = fmin(low, d->z[k * d->n + i]);
            high = fmax(high, d->z[k * d->n + i]);
        }
        z[k] = low + (high - low) * cls_random_uniform(random);
    }
}

/* Rows program(z).alpha = -known at states: outputs are the terms', then the known part's. */
static cls_status condition_at(stage *s, const cls_program *program, const double *z, double right,
                               double *work, double *out) {
    cls_program_run(program, work, z, out);
    double *row = s->c.C + s->c.n_conditions * s->n, sum = 0;
    memcpy(row, out, s->n * sizeof *row);
    s->c.d[s->c.n_conditions] = right - out[s->n];
    for (size_t j = 0; j < s->n; j++) sum += fabs(row[j]);
    if (sum > 0) s->c.n_conditions++;
    return isfinite(sum) ? CLS_OK
                         : clsi_fail(s->q->error, CLS_NUMERIC,
                                     "a condition on the energy is not finite at a state in the "
                                     "range of the data");
}

static cls_status add_symmetry(stage *s, cls_node J) {
    const clsi_qp_data *d = s->q->data;
    const cls_system *sys = s->q->s;
    cls_program *program = NULL;
    cls_random random;
    cls_node *nodes = clsi_calloc(s->n + 1, sizeof *nodes);
    cls_status status = nodes ? grow_conditions(s, s->n + 2) : clsi_no_memory(s->q->error);
    for (size_t j = 0; j <= s->n && status == CLS_OK; j++) nodes[j] = commutator(sys, s->Phi[j], J);
    if (status == CLS_OK)
        status = cls_program_create(sys->g, d->nz, s->q->z, s->n + 1, nodes, &program, s->q->error);
    double *work =
        program ? clsi_calloc(cls_program_work_size(program) + d->nz + s->n + 1, sizeof *work)
                : NULL;
    if (status == CLS_OK && !work) status = clsi_no_memory(s->q->error);
    cls_random_seed(&random, 1);
    if (work) cls_program_prepare(program, work);
    for (size_t i = 0; i < s->n + 2 && status == CLS_OK; i++) {
        double *z = work + cls_program_work_size(program), *out = z + d->nz;
        draw(d, &random, z);
        status = condition_at(s, program, z, 0, work, out);
    }
    free(work);
    free(nodes);
    cls_program_free(&program);
    return status;
}

static cls_status find_symmetry(stage *s, const char *name, size_t length) {
    const cls_system *sys = s->q->s;
    char text[128], list[256] = "";
    while (length && *name == ' ') name++, length--;
    while (length && name[length - 1] == ' ') length--;
    snprintf(text, sizeof text, "%.*s", (int)(length < 100 ? length : 100), name);
    for (size_t i = 0; i < sys->n_invariants; i++) {
        if (strcmp(sys->bound.invariants[i].name, text) == 0)
            return add_symmetry(s, sys->bound.invariants[i].node);
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                 sys->bound.invariants[i].name);
    }
    return clsi_fail(s->q->error, CLS_USAGE, "'%s' is not an invariant of the file; there %s %s",
                     text, *list ? "are" : "is", *list ? list : "none");
}

/* An anchor of a derivative of the energy, `d E / d s_a = 380 at ...`. */
static cls_status add_anchor(stage *s, const clsi_anchor *a) {
    const cls_system *sys = s->q->s;
    size_t nz = s->q->data->nz;
    cls_program *program = NULL;
    cls_node *nodes = clsi_calloc(s->n + 1, sizeof *nodes);
    cls_status status = nodes ? grow_conditions(s, 1) : clsi_no_memory(s->q->error);
    for (size_t j = 0; j <= s->n && status == CLS_OK; j++)
        nodes[j] = a->by == CLS_NO_NODE ? s->Phi[j] : cls_derivative(sys->g, s->Phi[j], a->by);
    if (status == CLS_OK)
        status = cls_program_create(sys->g, nz, s->q->z, s->n + 1, nodes, &program, s->q->error);
    size_t size = program ? cls_program_work_size(program) : 0;
    double *work = clsi_calloc(size + s->n + 1, sizeof *work);
    if (status == CLS_OK && !work) status = clsi_no_memory(s->q->error);
    if (status == CLS_OK) {
        cls_program_prepare(program, work);
        status = condition_at(s, program, a->state, a->value, work, work + size);
    }
    free(work);
    free(nodes);
    cls_program_free(&program);
    return status;
}

static cls_status make_conditions(stage *s) {
    const cls_system *sys = s->q->s;
    cls_status status = CLS_OK;
    const char *list = s->q->o->symmetries;
    while (status == CLS_OK && list && *list) {
        size_t length = strcspn(list, ",");
        status = find_symmetry(s, list, length);
        list += length + (list[length] == ',');
    }
    for (size_t i = 0; i < sys->n_anchors && status == CLS_OK; i++)
        if (sys->anchors[i].of == CLS_NO_NODE) status = add_anchor(s, &sys->anchors[i]);
    return status;
}

/* Is there a temperature, measured or anchored? Sets the level for anchors. */
static cls_status check_scale(stage *s) {
    clsi_qp_data *d = s->q->data;
    const cls_system *sys = s->q->s;
    int unknown = 0;
    for (size_t j = 0; j < s->n; j++)
        for (size_t l = 0; l < d->m; l++)
            unknown |= s->output[j * d->nz + d->nz - d->m + l] != SIZE_MAX;
    if (!unknown) { /* temperatures are known formulas */
        if (!(d->level > 0)) d->level = 1;
        return CLS_OK;
    }
    for (size_t i = 0; i < sys->n_anchors; i++)
        for (size_t l = 0; l < d->m; l++)
            if (sys->anchors[i].by == sys->S[l] && sys->anchors[i].value != 0 && !(d->level > 0))
                d->level = fabs(sys->anchors[i].value);
    if (d->level > 0) return CLS_OK;
    return clsi_fail(s->q->error, CLS_DATA,
                     "no temperature is measured, so that the scale and the sign of the entropies "
                     "are unknown (T = 0 solves everything else): add a column %s to the data, or "
                     "an anchor `d %s / d %s = value at ...` to the file",
                     sys->temperature[0].name, sys->formula_name ? sys->formula_name : "E",
                     sys->entropy[0].name);
}

/* ---- judging the solution ---- */

typedef struct judgement {
    const clsi_qp *q;
    double sum[3], worst, coldest;
    size_t count[3], at;
} judgement;

static cls_status judge_block(void *context, const clsi_block *b) {
    judgement *j = context;
    const clsi_qp_data *d = j->q->data;
    size_t base = d->nz - d->m;
    for (size_t i = b->from; i < b->to; i++) {
        size_t at = d->probe[i].first + d->probe[i].count / 2;
        double flow = 0;
        for (size_t k = 0; k < base; k++) {
            double scale = clsi_qp_scale(d, k, &d->probe[i]);
            double r = (clsi_qp_mean(d, b, i, k) - d->target[k * d->n + i]) / scale;
            j->sum[0] += r * r;
            j->count[0]++;
        }
        for (size_t l = 0; l < d->m; l++) {
            double T = clsi_qp_middle(d, b, i, base + l), theta = d->theta[l * d->n + at];
            flow += T * d->rate[(base + l) * d->n + at];
            if (isfinite(theta)) j->worst = fmax(j->worst, fabs(T - theta));
            if (!(T >= j->coldest)) {
                j->coldest = T;
                j->at = at;
            }
        }
        flow /= d->level * d->size[2];
        j->sum[1] += flow * flow;
        j->count[1]++;
    }
    return CLS_OK;
}

static cls_status judge(stage *s) {
    clsi_qp *q = s->q;
    const clsi_qp_data *d = q->data;
    judgement j = {.q = q, .coldest = INFINITY};
    cls_program *program = NULL;
    cls_node *y = clsi_calloc(d->nz + 1, sizeof *y);
    cls_status status = y ? row_nodes(q->s, q->energy, y) : clsi_no_memory(q->error);
    if (status == CLS_OK)
        status = cls_program_create(q->s->g, d->nz, q->z, d->nz, y, &program, q->error);
    if (status == CLS_OK) status = clsi_qp_sweep(d, program, judge_block, &j, q->error);
    if (status == CLS_OK) {
        memcpy(q->T, y + d->nz - d->m, d->m * sizeof *q->T);
        (void)cls_gradient(q->s->g, q->energy, q->s->n, q->s->p, q->v);
        status = cls_graph_status(q->s->g, q->error);
        q->info->reversible = j.count[0] ? sqrt(j.sum[0] / (double)j.count[0]) : 0;
        q->info->first_law = sqrt(j.sum[1] / (double)j.count[1]);
        q->info->temperature_error = j.worst;
    }
    if (status == CLS_OK && d->m && !(j.coldest > 0) && !q->o->literal)
        status = clsi_fail(q->error, CLS_NUMERIC,
                           "the energy found has a temperature of %g at row %zu of the data: "
                           "measure more temperatures, or take a smaller dictionary",
                           j.coldest, j.at + 1);
    cls_program_free(&program);
    free(y);
    return status;
}

/* ---- all together ---- */

static cls_status solve(stage *s) {
    clsi_qp *q = s->q;
    const clsi_qp_data *d = q->data;
    cls_program *program = NULL;
    cls_status status = make_nodes(s);
    if (status == CLS_OK) status = check_scale(s);
    if (status == CLS_OK)
        status = cls_program_create(q->s->g, d->nz, q->z, s->n_outputs, s->y, &program, q->error);
    if (status == CLS_OK) status = open_groups(s);
    if (status == CLS_OK) status = make_conditions(s);
    if (status == CLS_OK) status = clsi_qp_sweep(d, program, take, s, q->error);
    if (status == CLS_OK)
        status = clsi_convex_solve(&s->c, q->o->sparse, "energy", q->n_energy, q->part, &q->words,
                                   q->error);
    cls_program_free(&program);
    if (status != CLS_OK) return status;
    memcpy(q->alpha, s->c.x, s->n * sizeof *q->alpha);
    q->info->energy = s->c.info;
    cls_node sum = s->Phi[s->n];
    for (size_t j = 0; j < s->n; j++)
        if (q->alpha[j] != 0)
            sum = cls_add(q->s->g, sum,
                          cls_mul(q->s->g, cls_constant(q->s->g, q->alpha[j]), s->Phi[j]));
    q->energy = sum;
    return CLS_OK;
}

cls_status clsi_qp_energy(clsi_qp *q) {
    stage s = {.q = q, .n = q->n_alpha};
    size_t nz = q->data->nz;
    s.Phi = clsi_calloc(s.n + 1, sizeof *s.Phi);
    s.y = clsi_calloc((s.n + 1) * nz, sizeof *s.y);
    s.output = clsi_calloc((s.n + 1) * nz, sizeof *s.output);
    cls_status status = s.Phi && s.y && s.output ? CLS_OK : clsi_no_memory(q->error);
    if (status == CLS_OK && s.n) status = solve(&s);
    if (status == CLS_OK) status = judge(&s);
    clsi_convex_close(&s.c);
    free(s.Phi), free(s.y), free(s.output);
    return status;
}
