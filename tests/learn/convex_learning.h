/* Lessons with convex energies, and the Hessian that the word promises. For test_convex*.c only. */
#ifndef TESTS_CONVEX_LESSON_H
#define TESTS_CONVEX_LESSON_H

#include "tests/learn/made_data.h"
#include <lapacke.h>

typedef struct learning {
    cls_system *s;
    cls_table *t;
    cls_learn_options o;
    cls_learn_info info;
    cls_error error;
} learning;

static inline cls_system *parse_text(const char *text) {
    cls_system *s;
    cls_error error;
    if (cls_system_parse(text, "here", NULL, &s, &error)) fail_msg("%s", error.message);
    return s;
}

/* text NULL: the adiabatic piston. */
static inline learning open_learning(const char *text, size_t n_ranges, const range *box,
                                     size_t n) {
    learning l = {.o = cls_learn_defaults()};
    l.s = text ? parse_text(text) : load_system("adiabatic-piston");
    l.t = make_data(l.s, n_ranges, box, n, 20, 0.01, 5);
    l.o.validate = 0;
    return l;
}

static inline void close_learning(learning *l) {
    cls_table_free(&l->t);
    cls_system_free(&l->s);
}

static inline cls_model *finish(learning *l, size_t n, const char *const *parts) {
    cls_model *m = NULL;
    const char *name = "made here";
    l->o.unknown = parts;
    l->o.n_unknown = n;
    cls_status status = cls_learn(l->s, NULL, 1, (const cls_table *const *)&l->t, &name, &l->o, &m,
                                  &l->info, &l->error);
    if (status) fail_msg("%s", l->error.message);
    return m;
}

/* A model with these parameters instead of its own. */
static inline void set_parameters(cls_model *m, double size, cls_random *random) {
    cls_error error;
    for (size_t i = 0; i < m->n_theta; i++) m->theta[i] = size * cls_random_normal(random);
    if (clsi_model_build(m, &error)) fail_msg("%s", error.message);
}

/* What the energy is convex in, as variables of the state, and its derivatives there: (v, T) and
 * (p, S) of a thermal lagrangian, (p, S) and (v, T) of a hamiltonian, v and p of a lagrangian. */
static inline size_t duals(const cls_system *s, cls_node *dual) {
    const clsi_form *f = s->form;
    int phase = f->kind == CLSI_FORM_PHASE;
    size_t m = f->kind == CLSI_FORM_VELOCITY ? 0 : s->m;
    memcpy(dual, phase ? f->v : f->p, s->n * sizeof *dual);
    if (m) memcpy(dual + s->n, phase ? f->T : f->S, m * sizeof *dual);
    return s->n + m;
}

/* States far outside the data, temperatures over four powers of ten. */
static inline void draw_state(const cls_system *s, size_t k, size_t n, double *in,
                              cls_random *random) {
    int warm = s->formalism == CLS_THERMAL_LAGRANGIAN && k >= s->nq + s->n;
    for (size_t i = 0; i < n; i++) {
        double u = cls_random_uniform(random);
        in[k * n + i] = warm ? pow(10, 4 * u - 2) : 20 * u - 10;
    }
}

/* Smallest eigenvalue of the Hessian in these variables, in units of its trace, at n states;
 * capacities and masses, its diagonal, are above zero, and so are the temperatures. */
static inline double least_eigenvalue(const cls_system *s, size_t n, cls_random *random) {
    const clsi_form *f = s->form;
    cls_node dual[16], out_node[80];
    size_t k = duals(s, dual), nz = f->nz, count = k * k + s->m;
    cls_program *program;
    cls_error error;
    double least = INFINITY, *in = calloc(nz * n, sizeof *in),
           *out = calloc(count * n, sizeof *out);
    assert_int_equal(cls_jacobian(s->g, k, dual, k, f->z + s->nq, out_node), CLS_OK);
    if (s->m) memcpy(out_node + k * k, f->T, s->m * sizeof *out_node);
    if (cls_program_create(s->g, nz, f->z, count, out_node, &program, &error))
        fail_msg("%s", error.message);
    for (size_t i = 0; i < nz; i++) draw_state(s, i, n, in, random);
    assert_int_equal(cls_program_run_many(program, n, n, in, out), CLS_OK);
    for (size_t p = 0; p < n; p++) {
        double A[64], w[8], trace = 0;
        for (size_t i = 0; i < k * k; i++) assert_true(isfinite(A[i] = out[i * n + p]));
        for (size_t i = 0; i < k; i++) {
            trace += A[i * k + i];
            assert_true(A[i * k + i] > 0);
        }
        for (size_t i = 0; i < s->m; i++) assert_true(out[(k * k + i) * n + p] > 0);
        lapack_int order = (lapack_int)k;
        assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', order, A, order, w), 0);
        least = fmin(least, w[0] / trace);
    }
    cls_program_free(&program);
    free(in);
    free(out);
    return least;
}

/* One iteration: the form, and parameters that mean nothing. */
static inline cls_model *untrained(learning *l, const char *part, const char *field) {
    const char *const parts[] = {part};
    l->o.field = field;
    l->o.max_iterations = 1;
    if (l->s->formalism == CLS_LAGRANGIAN) l->o.scheme = "weak";
    return finish(l, 1, parts);
}

/* Parameter vectors of sizes 0.01 to 1000, 100 states each: not below zero but for round-off. */
static inline void check_parameters(cls_model *m, int vectors, uint64_t seed) {
    cls_random random;
    cls_random_seed(&random, seed);
    for (int i = 0; i < vectors; i++) {
        double size = pow(10, 5 * cls_random_uniform(&random) - 2);
        set_parameters(m, size, &random);
        double least = least_eigenvalue(m->system, 100, &random);
        if (!(least > -1e-12)) fail_msg("parameters of %g: %g", size, least);
    }
}

static inline void check_every_parameter(learning *l, const char *part, const char *field,
                                         int vectors, uint64_t seed) {
    cls_model *m = untrained(l, part, field);
    check_parameters(m, vectors, seed);
    cls_model_free(&m);
}

#endif
