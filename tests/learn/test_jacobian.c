/* Residual, Jacobian and gradient against an independent differentiation, to rounding.
 *
 * The residual runs by the kernels of the fields: matrix products forwards and backwards. Here the
 * same rows are written as formulas of the graph, with the parameters as symbols, and
 * differentiated there symbol by symbol: no line of code is shared but the formula of the model. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "model/model.h"
#include "tests/learn/made_data.h"
#include "tests/learn/parts.h"

enum { EQUATIONS = 3, STATE = 4 }; /* p, S1, S2; x, v, T1, T2 */

typedef struct oracle {
    cls_system *s; /* parameters are symbols */
    size_t P;
    cls_program *program; /* of (x, v, T1, T2, theta): what changes, its rate, then d/d theta */
    double *work, *in, *out;
} oracle;

static cls_node *outputs_of(const cls_system *s, size_t P) {
    cls_graph *g = s->g;
    cls_node *out = calloc(2 * EQUATIONS * (1 + P), sizeof *out), G = s->bound.formula;
    out[0] = cls_derivative(g, G, s->v[0]);
    out[EQUATIONS] = cls_derivative(g, G, s->q[0]);
    for (size_t i = 0; i < 2; i++) {
        cls_node F = clsi_sparse_at(g, &s->bound.friction, i, 0), power = cls_mul(g, F, s->v[0]);
        out[1 + i] = cls_derivative(g, G, s->T[i]);
        out[EQUATIONS] = cls_add(g, out[EQUATIONS], F);
        out[EQUATIONS + 1 + i] = cls_neg(g, cls_div(g, power, s->T[i]));
    }
    for (size_t e = 0; e < 2 * EQUATIONS; e++)
        for (size_t j = 0; j < P; j++)
            out[2 * EQUATIONS + e * P + j] = cls_derivative(g, out[e], clsi_model_symbol(s, j));
    return out;
}

static oracle open_oracle(const cls_system *s, const clsi_unknowns *us) {
    cls_error error;
    oracle o = {.P = us->n_theta};
    clsi_learned *learned = calloc(us->n, sizeof *learned);
    for (size_t i = 0; i < us->n; i++) learned[i] = us->list[i].learned; /* borrowed */
    cls_model m = {.name = s->name,
                   .text = s->text,
                   .n_learned = us->n,
                   .n_theta = us->n_theta,
                   .learned = learned};
    if (clsi_model_open(&m, CLSI_FORMULAS, &o.s, &error)) fail_msg("%s", error.message);
    free(learned);
    size_t inputs = STATE + o.P, outputs = 2 * EQUATIONS * (1 + o.P);
    cls_node *in = calloc(inputs, sizeof *in), *out = outputs_of(o.s, o.P);
    in[0] = o.s->q[0], in[1] = o.s->v[0], in[2] = o.s->T[0], in[3] = o.s->T[1];
    for (size_t j = 0; j < o.P; j++) in[STATE + j] = clsi_model_symbol(o.s, j);
    if (cls_program_create(o.s->g, inputs, in, outputs, out, &o.program, &error))
        fail_msg("%s", error.message);
    o.work = calloc(cls_program_work_size(o.program), sizeof *o.work);
    o.in = calloc(inputs, sizeof *o.in);
    o.out = calloc(outputs, sizeof *o.out);
    cls_program_prepare(o.program, o.work);
    free(in);
    free(out);
    return o;
}

static void close_oracle(oracle *o) {
    cls_program_free(&o->program);
    cls_system_free(&o->s);
    free(o->work);
    free(o->in);
    free(o->out);
}

/* Row `e` of a window: y(t2) - y(t0) - sum_k w_k y'(t_k), times its weight. row (1 + P): it and its
 * derivatives; size (1 + P): the sum of the absolute values of their terms. */
static void add_point(oracle *o, const clsi_points *p, size_t at, double change, double rate,
                      double weight, size_t e, double *row, double *size) {
    for (size_t k = 0; k < STATE; k++) o->in[k] = p->z[k * p->n + at];
    cls_program_run(o->program, o->work, o->in, o->out);
    const double *dy = o->out + 2 * EQUATIONS + e * o->P, *df = dy + EQUATIONS * o->P;
    for (size_t j = 0; j <= o->P; j++) {
        double y = change * (j ? dy[j - 1] : o->out[e]);
        double f = rate * (j ? df[j - 1] : o->out[EQUATIONS + e]);
        row[j] += weight * (y - f);
        size[j] += weight * (fabs(y) + fabs(f));
    }
}

static void compare(const clsi_residual *r, const clsi_points *p, oracle *o, double off[3]) {
    size_t P = o->P, rows = p->n_training * EQUATIONS;
    double *value = calloc(rows, sizeof *value), *J = calloc(rows * P, sizeof *J), loss;
    double *gradient = calloc(P, sizeof *gradient), *sum = calloc(2 * P, sizeof *sum);
    double *row = calloc(1 + P, sizeof *row), *size = calloc(1 + P, sizeof *size);
    assert_int_equal(clsi_residual_rows(r, o->in + STATE, 0, rows, NULL, value, J), CLS_OK);
    assert_int_equal(clsi_residual_gradient(r, o->in + STATE, rows, NULL, &loss, gradient), CLS_OK);
    for (size_t w = 0; w < p->n_training; w++)
        for (size_t e = 0; e < EQUATIONS; e++) {
            size_t at[CLSI_MOST_WIDTH], i = w * EQUATIONS + e;
            double c[3], t[3];
            clsi_window_points(p, w, at);
            for (size_t k = 0; k < 3; k++) t[k] = p->time[at[k]];
            clsi_window_weights(3, 3, t, c);
            memset(row, 0, (1 + P) * sizeof *row);
            memset(size, 0, (1 + P) * sizeof *size);
            for (size_t k = 0; k < 3; k++)
                add_point(o, p, at[k], (double)k - 1, c[k], r->weight[e * p->n_windows + w], e, row,
                          size);
            off[0] = fmax(off[0], fabs(value[i] - row[0]) / size[0]);
            for (size_t j = 0; j < P; j++) {
                if (size[1 + j] > 0)
                    off[1] = fmax(off[1], fabs(J[i * P + j] - row[1 + j]) / size[1 + j]);
                sum[j] += row[0] * row[1 + j] / (double)rows;
                sum[P + j] += fabs(row[0]) * size[1 + j] / (double)rows;
            }
        }
    for (size_t j = 0; j < P; j++) off[2] = fmax(off[2], fabs(gradient[j] - sum[j]) / sum[P + j]);
    free(value), free(J), free(gradient), free(sum), free(row), free(size);
}

static void agrees_with_the_graph_to_rounding(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 6, 4, 0.05, 8);
    const char *const names[] = {"G", "F1", "F2"};
    const char *const fields[] = {"network(5, 4)", "network(4, softplus)", "network(3, 3, sin)",
                                  "network(4, plain, square)", "chebyshev(3)"};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        double off[3] = {0};
        /* the solve is linear in frictions of polynomials, the model's are positive by form */
        size_t n = strncmp(fields[k], "chebyshev", 9) ? 3 : 1;
        opened p = open_parts(s, t, n, names, fields[k], &clsi_rule_quadrature);
        assert_int_equal(p.residual->n_equations, EQUATIONS);
        oracle o = open_oracle(s, p.unknowns);
        cls_random random;
        cls_random_seed(&random, 9);
        for (size_t j = 0; j < o.P; j++) o.in[STATE + j] = 0.3 * cls_random_normal(&random);
        compare(p.residual, p.points, &o, off);
        print_message("%s: residual off by %.1e, Jacobian %.1e, gradient %.1e\n", fields[k], off[0],
                      off[1], off[2]);
        for (int i = 0; i < 3; i++) assert_true(off[i] < 1e-12);
        close_oracle(&o);
        close_parts(&p);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_the_graph_to_rounding)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
