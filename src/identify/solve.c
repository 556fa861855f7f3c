/* What the programs share: sweeps over the data, sparsity, the certificate, words for what is not
 * seen.
 *
 * The rows are absorbed into triangles once, without conditions (lsq.c), one for each equation over
 * the terms that occur in it, and these into one triangle over all; every solution after that works
 * on the triangle, so that dropping terms one by one costs nothing that grows with the data.
 * A term's contribution is the size of its column times its coefficient, relative to what the rows
 * of that kind explain (rates of q, of p, temperatures); it leaves when it is below the threshold
 * in every kind, the smallest first, and the others are fitted again with all conditions intact
 * (sequential thresholding, Brunton et al. 2016, one term at a time). */
#include "identify/identify.h"
#include "solve/lsq.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double RCOND = 1e-12;

/* ---- sweeps ---- */

enum { SWEEP = 256 }; /* probes in a block */

cls_status clsi_qp_sweep(const clsi_qp_data *d, const cls_program *program, clsi_qp_take take,
                         void *context, cls_error *error) {
    size_t outputs = cls_program_output_count(program), room = SWEEP + CLSI_WINDOW;
    size_t capacity = 0;
    double *in = NULL, *out = NULL;
    cls_status status = CLS_OK;
    for (size_t from = 0; from < d->n_probes && status == CLS_OK; from += SWEEP) {
        size_t to = from + SWEEP < d->n_probes ? from + SWEEP : d->n_probes;
        const clsi_probe *last = &d->probe[to - 1];
        size_t first = d->probe[from].first, count = last->first + last->count - first;
        if (count > capacity) { /* gaps between the probes of a block are rare */
            free(in), free(out);
            capacity = count > room ? count : room;
            in = clsi_calloc(capacity * d->nz, sizeof *in);
            out = clsi_calloc(capacity * outputs, sizeof *out);
            if (!in || !out) status = clsi_no_memory(error);
        }
        for (size_t k = 0; k < d->nz && status == CLS_OK; k++)
            memcpy(in + k * capacity, d->z + k * d->n + first, count * sizeof *in);
        if (status == CLS_OK) status = cls_program_run_many(program, count, capacity, in, out);
        if (status == CLS_OK) status = take(context, &(clsi_block){from, to, first, capacity, out});
    }
    free(in);
    free(out);
    return status;
}

double clsi_qp_mean(const clsi_qp_data *d, const clsi_block *b, size_t probe, size_t k) {
    const clsi_probe *p = &d->probe[probe];
    const double *w = d->weight + p->weights, *x = b->out + k * b->stride + p->first - b->first;
    double sum = 0;
    for (size_t i = 0; i < p->count; i++) sum += w[i] * x[i];
    return sum;
}

double clsi_qp_middle(const clsi_qp_data *d, const clsi_block *b, size_t probe, size_t k) {
    const clsi_probe *p = &d->probe[probe];
    return b->out[k * b->stride + p->first + p->count / 2 - b->first];
}

/* ---- rows ---- */

cls_status clsi_convex_open(size_t n, size_t n_groups, clsi_convex *c, cls_error *error) {
    c->n = n;
    c->x = clsi_calloc(n + 1, sizeof *c->x);
    c->group = clsi_calloc(n_groups, sizeof *c->group);
    int failed = !c->x || !c->group;
    if (c->group) c->n_groups = n_groups;
    for (int k = 0; k < CLSI_QP_BLOCKS; k++)
        failed |= !(c->norm[k] = clsi_calloc(n + 1, sizeof(double)));
    return failed ? clsi_no_memory(error) : clsi_lsq_create(n, 0, NULL, NULL, &c->all, error);
}

void clsi_convex_close(clsi_convex *c) {
    clsi_lsq_free(&c->all);
    for (size_t g = 0; g < c->n_groups; g++) {
        clsi_lsq_free(&c->group[g].lsq);
        free(c->group[g].column);
        free(c->group[g].row);
    }
    for (int k = 0; k < CLSI_QP_BLOCKS; k++) free(c->norm[k]);
    free(c->group), free(c->x), free(c->C), free(c->d), free(c->E), free(c->e);
}

cls_status clsi_convex_group(clsi_convex *c, size_t g, const unsigned char *seen,
                             cls_error *error) {
    clsi_group *group = &c->group[g];
    group->column = clsi_calloc(c->n + 1, sizeof *group->column);
    group->row = clsi_calloc(c->n + 1, sizeof *group->row);
    if (!group->column || !group->row) return clsi_no_memory(error);
    for (size_t j = 0; j < c->n; j++)
        if (!seen || seen[j]) group->column[group->n++] = j;
    return clsi_lsq_create(group->n, 0, NULL, NULL, &group->lsq, error);
}

cls_status clsi_convex_add(clsi_convex *c, size_t g, int block, double b, double explained,
                           cls_error *error) {
    clsi_group *group = &c->group[g];
    for (size_t j = 0; j < group->n; j++)
        c->norm[block][group->column[j]] += group->row[j] * group->row[j];
    c->right[block] += explained;
    return clsi_lsq_add(group->lsq, 1, group->row, &b, error);
}

/* The triangles of the groups become rows of the whole. */
static cls_status gather(clsi_convex *c, cls_error *error) {
    cls_status status = CLS_OK;
    double *row = clsi_calloc(c->n + 1, sizeof *row);
    if (!row) return clsi_no_memory(error);
    for (size_t g = 0; g < c->n_groups && status == CLS_OK; g++) {
        clsi_group *group = &c->group[g];
        size_t n = group->n, before = c->all->rows;
        clsi_lsq_gather(group->lsq);
        const clsi_shard *s = &group->lsq->shard[0];
        for (size_t i = 0; i < n && status == CLS_OK; i++) {
            double right = s->R[i * (n + 1) + n];
            memset(row, 0, c->n * sizeof *row);
            for (size_t j = i; j < n; j++) row[group->column[j]] = s->R[i * (n + 1) + j];
            status = clsi_lsq_add(c->all, 1, row, &right, error);
        }
        c->all->rows = before + group->lsq->rows;
        c->all->shard[0].rest += s->rest;
    }
    free(row);
    return status;
}

/* ---- solving with some of the terms ---- */

typedef struct fit {
    clsi_convex *c;
    size_t n, *column; /* terms that are left */
    double *C, *E, *x; /* of these */
    clsi_lsq *lsq;
    clsi_lsq_info found;
    double kkt;
} fit;

static void narrow(const fit *f, size_t rows, const double *from, double *to) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < f->n; j++) to[i * f->n + j] = from[i * f->c->n + f->column[j]];
}

static cls_status refit(fit *f, cls_error *error) {
    clsi_convex *c = f->c;
    clsi_lsq_free(&f->lsq);
    narrow(f, c->n_conditions, c->C, f->C);
    narrow(f, c->n_inequalities, c->E, f->E);
    cls_status status =
        clsi_lsq_subset(c->all, f->n, f->column, c->n_conditions, f->C, c->d, &f->lsq, error);
    if (status == CLS_OK)
        status = clsi_lsq_solve(f->lsq, RCOND, c->n_inequalities, f->E, c->e, f->x, &f->found,
                                &f->kkt, error);
    return status;
}

/* The largest share of term j in what the rows of a kind explain. */
static double contribution(const fit *f, size_t j) {
    const clsi_convex *c = f->c;
    double most = 0;
    for (int k = 0; k < CLSI_QP_BLOCKS; k++)
        if (c->right[k] > 0) most = fmax(most, sqrt(c->norm[k][f->column[j]] / c->right[k]));
    return most * fabs(f->x[j]);
}

static int drop_smallest(fit *f, double sparse) {
    size_t at = f->n;
    double least = sparse;
    for (size_t j = 0; j < f->n; j++)
        if (contribution(f, j) < least) {
            least = contribution(f, j);
            at = j;
        }
    if (at == f->n || f->n == 1) return 0;
    memmove(f->column + at, f->column + at + 1, (f->n - at - 1) * sizeof *f->column);
    f->n--;
    return 1;
}

/* ---- words ---- */

/* Column j of the program is term *i of the part returned. */
static const clsi_terms *term_of(size_t n_parts, const clsi_terms *parts, size_t j, size_t *i) {
    for (size_t k = 0; k < n_parts; k++)
        if (j >= parts[k].offset && j < parts[k].offset + parts[k].n) {
            *i = j - parts[k].offset;
            return &parts[k];
        }
    return NULL;
}

/* "the energy E along s_b - 0.5*s_a*s_b": a combination of terms that no row changes with. */
static void name_direction(const fit *f, const double *v, const char *what, size_t n_parts,
                           const clsi_terms *parts, clsi_text *words) {
    double largest = 0;
    size_t named = 0, left = 0;
    for (size_t j = 0; j < f->n; j++) largest = fmax(largest, fabs(v[j]));
    clsi_text_printf(words, "%s: the data cannot tell a multiple of ", what);
    for (size_t j = 0; j < f->n; j++) {
        size_t i = 0;
        const clsi_terms *t = term_of(n_parts, parts, f->column[j], &i);
        if (fabs(v[j]) < 1e-3 * largest) continue;
        if (++named > 6) {
            left++;
            continue;
        }
        double x = v[j] / largest;
        clsi_text_printf(words, "%s", named == 1 ? x < 0 ? "-" : "" : x < 0 ? " - " : " + ");
        if (fabs(fabs(x) - 1) > 1e-6) clsi_text_printf(words, "%.3g*", fabs(x));
        clsi_text_printf(words, "%s", t ? t->text[i] : "?");
        if (t && n_parts > 1) clsi_text_printf(words, " (%s)", t->part);
    }
    if (left) clsi_text_printf(words, " and %zu terms more", left);
    clsi_text_append(words, "; it was left at its smallest\n");
}

/* ---- all together ---- */

static void report(const fit *f) {
    clsi_convex *c = f->c;
    c->info = (cls_convex_info){.rows = f->found.rows,
                                .unknowns = c->n,
                                .conditions = f->found.constraints,
                                .inequalities = c->n_inequalities,
                                .terms = f->n,
                                .rank = f->found.rank,
                                .nullity = f->found.nullity,
                                .active = f->found.n_active,
                                .condition = f->found.condition,
                                .residual = f->found.residual,
                                .kkt = f->kkt,
                                .gap = f->found.gap};
    memset(c->x, 0, c->n * sizeof *c->x);
    for (size_t j = 0; j < f->n; j++) c->x[f->column[j]] = f->x[j];
}

cls_status clsi_convex_solve(clsi_convex *c, double sparse, const char *what, size_t n_parts,
                             const clsi_terms *parts, clsi_text *words, cls_error *error) {
    fit f = {.c = c, .n = c->n};
    f.column = clsi_calloc(c->n + 1, sizeof *f.column);
    f.C = clsi_calloc(c->n_conditions * c->n + 1, sizeof *f.C);
    f.E = clsi_calloc(c->n_inequalities * c->n + 1, sizeof *f.E);
    f.x = clsi_calloc(c->n + 1, sizeof *f.x);
    cls_status status = f.column && f.C && f.E && f.x ? CLS_OK : clsi_no_memory(error);
    for (size_t j = 0; status == CLS_OK && j < c->n; j++) f.column[j] = j;
    if (status == CLS_OK) status = gather(c, error);
    if (status == CLS_OK) status = refit(&f, error);
    while (status == CLS_OK && sparse > 0 && drop_smallest(&f, sparse)) status = refit(&f, error);
    if (status == CLS_OK) {
        report(&f);
        for (size_t i = 0; i < f.found.nullity; i++)
            name_direction(&f, f.found.null_space + i * f.n, what, n_parts, parts, words);
    }
    clsi_lsq_free(&f.lsq);
    free(f.column), free(f.C), free(f.E), free(f.x);
    return status;
}
