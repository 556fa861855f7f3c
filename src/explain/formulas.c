/* Short formulas for learned parts: each part's values (frictions, conductances, positive parts) or
 * slopes (energies: a constant has no effect) at states inside the range of the data are the
 * right-hand side, the dictionary's the columns. Half of the states select, the other half gives
 * the errors that are reported. */
#include "explain/formulas.h"
#include "base/misuse.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATES = 600, MOST = 1000, MAX_BASES = 12 };

typedef struct distil {
    cls_formulas *out;
    const cls_formulas_options *o;
    const cls_model *m;
    clsi_samples a;
    size_t n_lets;
    cls_node *from, *to; /* lets and parameters written out: (n_lets) */
} distil;

/* One part on its way. */
typedef struct part {
    const clsi_learned *l;
    clsi_part_kind kind;
    int slopes; /* energies */
    cls_node value;
    size_t n_bases, n_raw;
    clsi_base base[MAX_BASES + 16];
    cls_node raw[MAX_BASES];
    clsi_dictionary d;
    size_t rows, each;           /* each: numbers of one state */
    double *A, *b, *Atry, *btry; /* to select by; to try */
} part;

/* ---- the function ---- */

/* Lets stand for formulas; here they are written out, and parameters are numbers. */
static cls_status write_out(distil *w, cls_error *error) {
    const cls_system *s = w->a.s;
    size_t most = s->n_parameters + s->n_lets + CLSI_MOST_ARGUMENTS + 1, n = 0;
    w->from = clsi_calloc(2 * most, sizeof *w->from);
    if (!w->from) return clsi_no_memory(error);
    w->to = w->from + most;
    for (size_t i = 0; i < s->n_parameters; i++) {
        w->from[n] = s->parameter_symbol[i];
        w->to[n++] = cls_constant(s->g, s->parameter_value[i]);
    }
    for (size_t i = 0; i < s->n_lets; i++) {
        cls_node node = s->lets[i].node;
        if (cls_substitute(s->g, 1, &node, n, w->from, w->to, &w->to[n]))
            return clsi_no_memory(error);
        w->from[n] = cls_symbol(s->g, s->lets[i].name);
        n++;
    }
    w->n_lets = n;
    return CLS_OK;
}

/* A function is distilled over its arguments, which are at the states what they are where it is used first. */
static void take_arguments(distil *w, const part *p) {
    const cls_system *s = w->a.s;
    const clsi_function *f = clsi_function_find(s, p->l->part, strlen(p->l->part));
    w->n_lets = s->n_parameters + s->n_lets;
    for (size_t u = 0; f && u < s->n_uses; u++) {
        if (&s->functions[s->uses[u].function] != f) continue;
        for (size_t i = 0; i < f->n; i++) {
            w->from[w->n_lets] = f->symbol[i];
            w->to[w->n_lets++] = s->uses[u].args[i];
        }
        return;
    }
}

static cls_status part_value(distil *w, part *p, cls_error *error) {
    const cls_system *s = w->a.s;
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    if (clsi_learned_inputs(p->l, s, x) != CLS_OK) return clsi_no_memory(error);
    cls_node phi = clsi_field_node(p->l->field, s->g, x, w->m->theta + p->l->offset);
    p->value = clsi_learned_value(p->l, s->g, phi);
    if (p->kind == CLSI_PART_FORMULA)
        p->value = cls_add(s->g, clsi_learned_trunk(p->l, s), p->value);
    p->n_raw = cls_symbols_of(s->g, p->l->d, x, MAX_BASES, p->raw);
    return p->value == CLS_NO_NODE ? clsi_no_memory(error) : CLS_OK;
}

static int is_in(cls_node x, size_t n, const cls_node *list) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == x) return 1;
    return 0;
}

/* Variables of the part, then lets that depend on nothing else. */
static void find_bases(const distil *w, part *p) {
    const cls_system *s = w->a.s;
    for (size_t i = 0; i < p->n_raw; i++) {
        cls_node x = p->raw[i];
        p->base[p->n_bases++] = (clsi_base){.text = cls_node_name(s->g, x),
                                            .node = x,
                                            .even = is_in(x, s->n, s->v) || is_in(x, s->n, s->p),
                                            .entropy = is_in(x, s->m, s->S),
                                            .pure = is_in(x, s->nq, s->q) && !clsi_has_unit(s, x),
                                            .logarithms = p->slopes || !clsi_has_unit(s, x)};
    }
    for (size_t i = 0; i < s->n_lets && p->n_bases < MAX_BASES + 8; i++) {
        cls_node symbols[MAX_BASES + 4], out = w->to[s->n_parameters + i];
        if (!strcmp(s->lets[i].name, p->l->part)) continue;
        size_t n = cls_symbols_of(s->g, 1, &out, MAX_BASES + 4, symbols);
        int fine = n > 0;
        for (size_t k = 0; k < n && fine; k++)
            fine = is_in(symbols[k], p->n_raw, p->raw) && !is_in(symbols[k], s->n, s->v) &&
                   !is_in(symbols[k], s->n, s->p);
        if (fine)
            p->base[p->n_bases++] = (clsi_base){
                .text = s->lets[i].name,
                .node = w->from[s->n_parameters + i],
                .logarithms = p->slopes || !clsi_has_unit(s, w->from[s->n_parameters + i])};
    }
}

/* ---- numbers ---- */

/* Nodes over the system's symbols at all states: (states, n). */
static cls_status evaluate(const distil *w, size_t n, const cls_node *nodes, double *out,
                           cls_error *error) {
    const clsi_samples *a = &w->a;
    const cls_system *s = a->s;
    const clsi_form *f = s->form;
    clsi_place at = {f->q, f->v, f->p, f->S, f->T, s->t, NULL};
    cls_program *program = NULL;
    cls_node *placed = clsi_calloc(n, sizeof *placed);
    double *work = NULL;
    cls_status status = placed ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK)
        status = cls_substitute(s->g, n, nodes, w->n_lets, w->from, w->to, placed);
    if (status == CLS_OK) status = clsi_place_at(s, &at, n, placed, placed);
    if (status == CLS_OK)
        status = cls_program_create(s->g, a->nz, f->z, n, placed, &program, error);
    if (status == CLS_OK) {
        work = clsi_calloc(cls_program_work_size(program), sizeof *work);
        if (!work) status = clsi_no_memory(error);
    }
    if (status == CLS_OK) cls_program_prepare(program, work);
    for (size_t i = 0; status == CLS_OK && i < a->n; i++)
        cls_program_run(program, work, a->z + i * a->nz, out + i * n);
    cls_program_free(&program);
    free(placed);
    free(work);
    return status;
}

static cls_status measure_bases(const distil *w, part *p, cls_error *error) {
    cls_node nodes[MAX_BASES + 16];
    double *x = clsi_calloc(w->a.n * (p->n_bases + 1), sizeof *x);
    if (!x) return clsi_no_memory(error);
    for (size_t k = 0; k < p->n_bases; k++) nodes[k] = p->base[k].node;
    cls_status status = evaluate(w, p->n_bases, nodes, x, error);
    for (size_t k = 0; k < p->n_bases; k++) {
        p->base[k].low = INFINITY, p->base[k].high = -INFINITY;
        for (size_t i = 0; i < w->a.n; i++) {
            p->base[k].low = fmin(p->base[k].low, x[i * p->n_bases + k]);
            p->base[k].high = fmax(p->base[k].high, x[i * p->n_bases + k]);
        }
    }
    free(x);
    return status;
}

/* Slopes in the variables of the part, in units of their range; or values. */
static cls_status differentiate(distil *w, part *p, size_t n, cls_node *nodes, cls_node *out,
                                cls_error *error) {
    cls_graph *g = w->a.s->g;
    size_t written =
        w->a.s->n_parameters + w->a.s->n_lets; /* arguments are what slopes are taken in */
    cls_status status = cls_substitute(g, n, nodes, written, w->from, w->to, nodes);
    for (size_t k = 0; k < n && status == CLS_OK; k++)
        for (size_t r = 0; r < p->each; r++) {
            double size = p->slopes ? (p->base[r].high - p->base[r].low) / 2 : 1;
            out[k * p->each + r] = p->slopes ? cls_mul(g, cls_constant(g, size > 0 ? size : 1),
                                                       cls_derivative(g, nodes[k], p->raw[r]))
                                             : nodes[k];
        }
    return status == CLS_OK ? CLS_OK : clsi_no_memory(error);
}

/* Rows of the states [first, last): one for each slope. Columns that are not finite are zero. */
static void fill(const part *p, size_t n, const double *all, size_t first, size_t last, double *A,
                 double *b) {
    size_t width = (n + 1) * p->each;
    for (size_t i = first; i < last; i++)
        for (size_t r = 0; r < p->each; r++) {
            size_t row = (i - first) * p->each + r;
            for (size_t k = 0; k < n; k++) {
                double x = all[i * width + k * p->each + r];
                A[row * n + k] = isfinite(x) ? x : 0;
            }
            b[row] = all[i * width + n * p->each + r];
        }
}

/* S0 T is a gauge of a thermal lagrangian: slopes in temperatures count from their mean. */
static void centre(const distil *w, const part *p, size_t n, double *A, double *b) {
    const cls_system *s = w->a.s;
    if (p->kind != CLSI_PART_FORMULA || s->formalism != CLS_THERMAL_LAGRANGIAN) return;
    for (size_t r = 0; r < p->each; r++) {
        if (!is_in(p->raw[r], s->m, s->T)) continue;
        for (size_t k = 0; k <= n; k++) {
            double mean = 0, *at = k < n ? A + k : b;
            size_t stride = k < n ? n : 1;
            for (size_t i = r; i < p->rows; i += p->each) mean += at[i * stride];
            mean /= (double)(p->rows / p->each);
            for (size_t i = r; i < p->rows; i += p->each) {
                at[i * stride] -= mean;
                if (fabs(at[i * stride]) < 1e-12 * fabs(mean)) at[i * stride] = 0;
            }
        }
    }
}

static cls_status make_rows(distil *w, part *p, cls_error *error) {
    size_t n = p->d.n, half = w->a.n / 2, width;
    p->each = p->slopes ? p->n_raw : 1;
    p->rows = half * p->each;
    width = (n + 1) * p->each;
    cls_node *nodes = clsi_calloc(n + 1 + width, sizeof *nodes);
    double *all = clsi_calloc(w->a.n * width, sizeof *all);
    p->A = clsi_calloc(p->rows * n + 1, sizeof *p->A);
    p->Atry = clsi_calloc((w->a.n - half) * p->each * n + 1, sizeof *p->Atry);
    p->b = clsi_calloc(2 * p->rows + p->each + 1, sizeof *p->b);
    cls_status status = nodes && all && p->A && p->Atry && p->b ? CLS_OK : clsi_no_memory(error);
    p->btry = p->b ? p->b + p->rows : NULL;
    if (status == CLS_OK) {
        memcpy(nodes, p->d.node, n * sizeof *nodes);
        nodes[n] = p->value;
        status = differentiate(w, p, n + 1, nodes, nodes + n + 1, error);
    }
    if (status == CLS_OK) status = evaluate(w, width, nodes + n + 1, all, error);
    if (status == CLS_OK) {
        fill(p, n, all, 0, half, p->A, p->b);
        fill(p, n, all, half, 2 * half, p->Atry, p->btry);
        centre(w, p, n, p->A, p->b);
        centre(w, p, n, p->Atry, p->btry);
    }
    free(nodes);
    free(all);
    return status;
}

/* ---- choice ---- */

static double error_of(const part *p, const clsi_choice *c) {
    double left = 0, whole = 0;
    for (size_t i = 0; i < p->rows; i++) {
        double r = p->btry[i];
        whole += r * r;
        for (size_t j = 0; j < c->n; j++) r -= c->x[j] * p->Atry[i * p->d.n + c->column[j]];
        left += r * r;
    }
    return whole > 0 ? sqrt(left / whole) : 0;
}

/* The shortest whose error is small; else terms are added as long as each lowers the error by more
 * than a sixth: a law that lacks one of its terms is off by much more, and what many terms take off
 * little by little is of the learned function itself. */
static size_t choose_length(const double *errors, size_t n, const cls_formulas_options *o) {
    const double term = log(1.2);
    double least = INFINITY, tolerance = o->tolerance > 0 ? o->tolerance : 1e-3;
    size_t best = n;
    if (o->terms) return o->terms < n ? o->terms : n;
    for (size_t k = 0; k < n; k++) {
        if (errors[k] <= tolerance) return k + 1;
        double price = log(errors[k]) + term * (double)k;
        if (!(price < least)) continue;
        least = price;
        best = k + 1;
    }
    return best;
}

static char *choice_text(const part *p, const clsi_choice *c) {
    clsi_text t = {0};
    for (size_t j = 0; j < c->n; j++) clsi_term_print(&t, c->x[j], p->d.text[c->column[j]]);
    return clsi_text_take(&t);
}

/* Standard errors of a least-squares fit whose residuals are those of a smooth function with so many
 * parameters: no more independent than these. */
static void standard_errors(const part *p, const clsi_choice *c, double *error) {
    size_t k = c->n, n = p->d.n;
    double R[CLSI_POOL][CLSI_POOL], V[CLSI_POOL][CLSI_POOL] = {{0}}, left = 0;
    for (size_t i = 0; i < p->rows; i++) {
        double r = p->btry[i];
        for (size_t j = 0; j < k; j++) r -= c->x[j] * p->Atry[i * n + c->column[j]];
        left += r * r;
    }
    double free_ = fmax(1, (double)p->l->field->n_parameters - (double)k);
    for (size_t a = 0; a < k; a++)
        for (size_t b = 0; b <= a; b++) {
            double sum = 0;
            for (size_t i = 0; i < p->rows; i++)
                sum += p->Atry[i * n + c->column[a]] * p->Atry[i * n + c->column[b]];
            for (size_t l = 0; l < b; l++) sum -= R[a][l] * R[b][l];
            R[a][b] = a == b ? sqrt(fmax(sum, 1e-300)) : sum / R[b][b];
        }
    for (size_t j = 0; j < k; j++) { /* rows of R^-1; the sum of squares of its columns */
        for (size_t i = j; i < k; i++) {
            double sum = i == j;
            for (size_t l = j; l < i; l++) sum -= R[i][l] * V[l][j];
            V[i][j] = sum / R[i][i];
        }
        double square = 0;
        for (size_t i = j; i < k; i++) square += V[i][j] * V[i][j];
        error[j] = sqrt(square * left / free_);
    }
}

static const char *what_is(clsi_part_kind kind) {
    return kind == CLSI_PART_FRICTION  ? "coefficient of the friction F = -lambda v"
           : kind == CLSI_PART_HEAT    ? "conductance or coefficient"
           : kind == CLSI_PART_FORMULA ? "energy (generating function)"
                                       : "part of the formula";
}

/* Non-negative whatever the state is? Then nothing must be added to make it so. */
static int is_positive(const distil *w, const part *p, const clsi_choice *c) {
    cls_graph *g = w->a.s->g;
    for (size_t j = 0; j < c->n; j++) {
        if (!(c->x[j] >= 0)) return 0;
        cls_node left[32] = {p->d.node[c->column[j]]};
        for (size_t n = 1; n-- > 0;) {
            cls_node x = left[n];
            cls_op op = cls_node_op(g, x);
            if ((op == CLS_OP_MUL || op == CLS_OP_DIV) && n + 2 < 32) {
                left[n++] = cls_node_arg(g, x, 0);
                left[n++] = cls_node_arg(g, x, 1);
                continue;
            }
            int even = op == CLS_OP_POW &&
                       cls_node_op(g, cls_node_arg(g, x, 1)) == CLS_OP_CONSTANT &&
                       fmod(cls_node_value(g, cls_node_arg(g, x, 1)), 2) == 0;
            cls_node base = op == CLS_OP_POW ? cls_node_arg(g, x, 0) : x;
            int warm = is_in(base, w->a.m, w->a.s->T);
            int exponential = op == CLS_OP_FUNCTION && cls_node_function(g, x) == CLS_FN_EXP;
            int constant = op == CLS_OP_CONSTANT && cls_node_value(g, x) >= 0;
            if (!even && !warm && !exponential && !constant) return 0;
        }
    }
    return 1;
}

static cls_status keep(distil *w, part *p, cls_formula *f, const clsi_choice *choice,
                       size_t lengths, cls_error *error) {
    double errors[CLSI_POOL], deviation[CLSI_POOL];
    for (size_t k = 0; k < lengths; k++) errors[k] = error_of(p, &choice[k]);
    size_t shown = lengths < 8 ? lengths : 8, length = choose_length(errors, lengths, w->o);
    if (length > shown) shown = length;
    const clsi_choice *c = &choice[length - 1];
    cls_formula_step *steps = clsi_calloc(shown, sizeof *steps);
    cls_formula_term *terms = clsi_calloc(c->n, sizeof *terms);
    f->steps = steps;
    f->terms = terms;
    if (!steps || !terms) return clsi_no_memory(error);
    for (size_t k = shown; k-- > 0;) {
        char *text = choice_text(p, &choice[k]);
        if (!text) return clsi_no_memory(error);
        steps[f->n_steps++] = (cls_formula_step){k + 1, errors[k], text};
    }
    standard_errors(p, c, deviation);
    f->error = errors[length - 1];
    for (size_t j = 0; j < c->n; j++) {
        char unit[96], name[160];
        clsi_constant_unit(w->a.s, p->kind, p->d.node[c->column[j]], unit);
        snprintf(name, sizeof name, "%.120s_%zu", f->part, j + 1);
        terms[j] = (cls_formula_term){.text = clsi_strdup(p->d.text[c->column[j]]),
                                      .name = clsi_strdup(name),
                                      .unit = clsi_strdup(unit),
                                      .value = c->x[j],
                                      .error = deviation[j]};
        f->n_terms++;
        if (!terms[j].text || !terms[j].name || !terms[j].unit) return clsi_no_memory(error);
    }
    return CLS_OK;
}

/* What the part costs without each of its terms: the others fitted again. */
static cls_status price(part *p, cls_formula *f, const clsi_choice *c, cls_error *error) {
    cls_formula_term *terms = (cls_formula_term *)f->terms;
    size_t k = c->n;
    double *A = clsi_calloc(p->rows * k + 1, sizeof *A);
    if (!A) return clsi_no_memory(error);
    cls_status status = CLS_OK;
    for (size_t out = 0; out < k && status == CLS_OK; out++) {
        clsi_choice best[CLSI_POOL];
        size_t lengths = 0, n = k - 1;
        terms[out].price = 1;
        if (!n) break;
        for (size_t i = 0; i < p->rows; i++)
            for (size_t j = 0, at = 0; j < k; j++)
                if (j != out) A[i * n + at++] = p->Atry[i * p->d.n + c->column[j]];
        status = clsi_select(p->rows, n, A, p->btry, p->d.cost, best, &lengths, error);
        if (lengths) terms[out].price = best[lengths - 1].error;
    }
    free(A);
    return status;
}

static cls_status find_constant(distil *w, part *p, cls_formula *f, const clsi_choice *c,
                                cls_error *error) {
    cls_node nodes[CLSI_POOL + 1];
    double *x = clsi_calloc(w->a.n * (c->n + 1), sizeof *x);
    if (!x) return clsi_no_memory(error);
    for (size_t j = 0; j < c->n; j++) nodes[j] = p->d.node[c->column[j]];
    nodes[c->n] = p->value;
    cls_status status = evaluate(w, c->n + 1, nodes, x, error);
    for (size_t i = 0; i < w->a.n; i++) {
        double left = x[i * (c->n + 1) + c->n];
        for (size_t j = 0; j < c->n; j++) left -= c->x[j] * x[i * (c->n + 1) + j];
        f->constant += left / (double)w->a.n;
    }
    free(x);
    return status;
}

/* Selection in tiers: among few and simple terms the best subset is found more surely than among
 * all. Of each length the one with the least error, a simpler one if it is as good but for a
 * quarter. */
static cls_status select_terms(part *p, clsi_choice *choice, size_t *lengths, cls_error *error) {
    static const double tiers[] = {1.35, 1.52, 1.8, INFINITY};
    size_t *column = clsi_calloc(p->d.n, sizeof *column);
    double *A = clsi_calloc(p->rows * p->d.n + 1, sizeof *A);
    double *cost = clsi_calloc(p->d.n + 1, sizeof *cost);
    cls_status status = column && A && cost ? CLS_OK : clsi_no_memory(error);
    *lengths = 0;
    for (size_t tier = 0; tier < sizeof tiers / sizeof *tiers && status == CLS_OK; tier++) {
        clsi_choice found[CLSI_POOL];
        size_t n = 0, have = 0;
        for (size_t k = 0; k < p->d.n; k++)
            if (p->d.cost[k] <= tiers[tier]) {
                cost[n] = p->d.cost[k];
                column[n++] = k;
            }
        for (size_t i = 0; i < p->rows; i++)
            for (size_t k = 0; k < n; k++) A[i * n + k] = p->A[i * p->d.n + column[k]];
        if (n) status = clsi_select(p->rows, n, A, p->b, cost, found, &have, error);
        for (size_t k = 0; k < have && status == CLS_OK; k++) {
            for (size_t j = 0; j < found[k].n; j++) found[k].column[j] = column[found[k].column[j]];
            if (k >= *lengths || found[k].error < 0.8 * choice[k].error) choice[k] = found[k];
        }
        *lengths = have > *lengths ? have : *lengths;
    }
    free(column);
    free(A);
    free(cost);
    return status;
}

static cls_status distil_with(clsi_choice *choice, distil *w, part *p, cls_formula *f,
                              double *floor, cls_error *error) {
    size_t lengths = 0, length;
    take_arguments(w, p);
    cls_status status = part_value(w, p, error);
    if (status == CLS_OK) {
        find_bases(w, p);
        status = measure_bases(w, p, error);
    }
    if (status == CLS_OK && !p->slopes) /* a constant */
        status = clsi_dictionary_add(w->a.s->g, cls_constant(w->a.s->g, 1), &p->d, error);
    if (status == CLS_OK) status = clsi_dictionary_learned(w->a.s, p->l, &p->d, error);
    if (status == CLS_OK)
        status = clsi_dictionary_fill(w->a.s->g, p->n_bases, p->base, MOST, &p->d, error);
    if (status == CLS_OK) status = make_rows(w, p, error);
    if (status == CLS_OK) status = select_terms(p, choice, &lengths, error);
    if (status != CLS_OK) return status;
    if (!lengths) {
        f->reason = clsi_strdup("the function is zero, or not finite, at all states");
        return f->reason ? CLS_OK : clsi_no_memory(error);
    }
    status = keep(w, p, f, choice, lengths, error);
    if (status != CLS_OK) return status;
    length = f->n_terms;
    status = price(p, f, &choice[length - 1], error);
    if (status == CLS_OK && p->kind == CLSI_PART_LET && p->slopes)
        status = find_constant(w, p, f, &choice[length - 1], error);
    int positive = !p->slopes && p->kind != CLSI_PART_COUPLING;
    if (positive && !is_positive(w, p, &choice[length - 1])) {
        double size = 0;
        for (size_t i = 0; i < p->rows; i++) size += p->b[i] * p->b[i];
        *floor = 1e-3 * sqrt(size / (double)p->rows);
        f->form = "positive";
    }
    return status;
}

static cls_status distil_part(distil *w, part *p, cls_formula *f, double *floor, cls_error *error) {
    clsi_choice *choice = clsi_calloc(CLSI_POOL, sizeof *choice);
    cls_status status = choice ? distil_with(choice, w, p, f, floor, error) : clsi_no_memory(error);
    free(choice);
    return status;
}

static void clear_part(part *p) {
    clsi_dictionary_clear(&p->d);
    free(p->A);
    free(p->Atry);
    free(p->b);
}

/* ---- all parts ---- */

/* How the part is written in the text of the system: by its first field. */
static clsi_part_kind kind_of(const cls_model *m, const clsi_learned *l) {
    const cls_system *s = m->system;
    if (s->formula_name && !strcmp(s->formula_name, l->part)) return CLSI_PART_FORMULA;
    if (l->floor > 0 || l->square || l->exponential) {
        clsi_text t = {0};
        clsi_text_printf(&t, "friction %s", l->part);
        int friction = t.data && strstr(m->text, t.data) != NULL;
        clsi_text_clear(&t);
        return friction ? CLSI_PART_FRICTION : CLSI_PART_HEAT;
    }
    return CLSI_PART_LET;
}

static cls_status distil_all(distil *w, cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t i = 0; i < w->m->n_learned && status == CLS_OK; i++) {
        const clsi_learned *l = &w->m->learned[i];
        if (l->slot) continue;
        cls_formula *f = &w->out->list[w->out->n];
        part p = {.l = l, .kind = kind_of(w->m, l)};
        int several = i + 1 < w->m->n_learned && w->m->learned[i + 1].slot;
        p.slopes = p.kind == CLSI_PART_FORMULA || p.kind == CLSI_PART_LET;
        *f = (cls_formula){.what = what_is(p.kind), .form = "plain"};
        w->out->kind[w->out->n] = p.kind;
        f->part = clsi_strdup(l->part);
        if (several)
            f->reason = clsi_strdup("a friction on several momenta is a matrix of functions; learn "
                                    "it as several frictions on one coordinate each");
        w->out->n++;
        if (!f->part || (several && !f->reason)) return clsi_no_memory(error);
        if (!several) status = distil_part(w, &p, f, &w->out->floor[w->out->n - 1], error);
        clear_part(&p);
        if (!f->reason && status == CLS_OK) f->reason = clsi_strdup("");
    }
    return status;
}

cls_formulas_options cls_formulas_defaults(void) {
    return (cls_formulas_options){.size = sizeof(cls_formulas_options), .seed = 1};
}

cls_status cls_formulas_find(const cls_model *model, const cls_formulas_options *options,
                             cls_formulas **out, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, model);
    cls_formulas_options o = cls_formulas_defaults();
    TAKE_OPTIONS(&o, options);
    cls_invariants_options sampling = cls_invariants_defaults();
    sampling.seed = o.seed;
    unsigned long before = clsi_failures();
    cls_formulas *f = clsi_calloc(1, sizeof *f);
    if (!f) return clsi_no_memory(error);
    f->model = model;
    f->list = clsi_calloc(model->n_learned + 1, sizeof *f->list);
    f->kind = clsi_calloc(model->n_learned + 1, sizeof *f->kind);
    f->floor = clsi_calloc(model->n_learned + 1, sizeof *f->floor);
    distil w = {.out = f, .o = &o, .m = model};
    cls_status status = f->list && f->kind && f->floor ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK && !model->n_learned)
        status = clsi_fail(error, CLS_USAGE,
                           "the model has learned parameters only: its formulas are those of the "
                           "file, `show --equations`");
    if (status == CLS_OK)
        status = clsi_samples_create(model->system, model, STATES, &sampling, 1, &w.a, error);
    if (status == CLS_OK) status = write_out(&w, error);
    if (status == CLS_OK) status = distil_all(&w, error);
    clsi_samples_clear(&w.a);
    free(w.from);
    if (status == CLS_OK && o.n_tables) status = clsi_formulas_refit(f, &o, error);
    status = clsi_failed_since(before, status, error);
    *out = f;
    if (status != CLS_OK) cls_formulas_free(out);
    return status;
}

void cls_formulas_free(cls_formulas **formulas) {
    if (!formulas || !*formulas) return;
    cls_formulas *f = *formulas;
    for (size_t i = 0; f->list && i < f->n; i++) {
        cls_formula *one = &f->list[i];
        for (size_t k = 0; k < one->n_terms; k++) {
            free((char *)one->terms[k].text);
            free((char *)one->terms[k].name);
            free((char *)one->terms[k].unit);
        }
        for (size_t k = 0; k < one->n_steps; k++) free((char *)one->steps[k].formula);
        free((void *)one->terms);
        free((void *)one->steps);
        free((char *)one->part);
        free((char *)one->reason);
    }
    free(f->list);
    free(f->kind);
    free(f->floor);
    free(f->notes);
    free(f);
    *formulas = NULL;
}

size_t cls_formulas_count(const cls_formulas *f) {
    return f ? f->n : 0;
}
int cls_formulas_refitted(const cls_formulas *f) {
    return f ? f->refitted : 0;
}
const cls_formula *cls_formulas_at(const cls_formulas *f, size_t i) {
    return f && i < f->n ? &f->list[i] : NULL;
}
