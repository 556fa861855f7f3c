/* The machine's limit: what clausius does from a formula, written by hand for this one formula and
 * compiled with -O3 -march=native. A step of the discrete gradient is one scalar equation in v
 * (dtel.md: U = e^S f(x), so e^S1 = e^S0 + 2 h gamma v^2/(f0 + f1)), one log1p and one expm1 per
 * Newton iteration. These functions share no code with the library; that both reach the same error
 * is printed by bench/run. They guard nothing: no domain, no line search, no energy balance. */
#include "limit.h"
#include "problem.h"
#include <math.h>
#include <stdio.h>

enum { MAX_ITERATIONS = 20 };

gas gas_start(void) {
    return (gas){.x = X_START, .p = 0, .S = S_START, .heat = exp(S_START)};
}

/* What one evaluation yields: residual, its derivative in v, and the new e^S. */
typedef struct equation {
    double r, slope, heat, f1;
} equation;

static equation discrete_gradient(const gas *g, double f0, double h, double v) {
    double d = h * v, x1 = g->x + d;
    double change = f0 * expm1(-K * log1p(d / g->x)), f1 = f0 + change;
    double f1_v = -K * f1 / x1 * h;
    int flat = fabs(d) < 1e-5 * g->x; /* the quotient's slope cancels: its limit instead */
    double quotient = d != 0 ? change / d : -K * f0 / g->x;
    double quotient_v =
        flat ? 0.5 * K * (K + 1) * f0 / (g->x * g->x) * h : (f1_v - h * quotient) / d;
    double sum = f0 + f1, given = 2 * h * GAMMA * v * v / sum;
    double given_v = 4 * h * GAMMA * v / sum - given * f1_v / sum;
    double mean = g->heat + 0.5 * given;
    double r = v + 0.5 * h * (quotient * mean + GAMMA * v) - g->p;
    double slope = 1 + 0.5 * h * (quotient_v * mean + 0.5 * quotient * given_v + GAMMA);
    return (equation){r, slope, given, f1};
}

/* Quadratic convergence: after an update of relative size 1e-8 the next one is round-off. */
static int last(double update, double v) {
    return fabs(update) <= 1e-8 * fabs(v);
}

/* Extrapolates the last three solutions, as the library does. */
typedef struct history {
    double a, b, c;
    int length;
} history;

static double predict(const history *s, double otherwise) {
    return s->length < 3 ? otherwise : 3 * (s->a - s->b) + s->c;
}

static void remember(history *s, double v) {
    s->c = s->b;
    s->b = s->a;
    s->a = v;
    if (s->length < 3) s->length++;
}

static double gradient_step(gas *g, double f0, double h, history *s) {
    double v = predict(s, g->p);
    equation e = {0};
    for (int i = 0; i < MAX_ITERATIONS; i++) {
        e = discrete_gradient(g, f0, h, v);
        double update = e.r / e.slope;
        v -= update;
        g->newton++;
        if (last(update, v)) break;
    }
    e = discrete_gradient(g, f0, h, v);
    remember(s, v);
    g->x += h * v;
    g->p = 2 * v - g->p;
    g->S += log1p(e.heat / g->heat);
    g->heat += e.heat;
    return e.f1;
}

void gas_discrete_gradient(gas *g, double h, size_t n) {
    history s = {0};
    double f = pow(g->x, -K);
    for (size_t i = 0; i < n; i++) f = gradient_step(g, f, h, &s);
}

void gas_discrete_gradient_4(gas *g, double h, size_t n) {
    static const double suzuki[] = {0.41449077179437573714, 0.41449077179437573714,
                                    -0.65796308717750294857, 0.41449077179437573714,
                                    0.41449077179437573714};
    history s[5] = {{0}};
    double f = pow(g->x, -K);
    for (size_t i = 0; i < n; i++)
        for (int j = 0; j < 5; j++) f = gradient_step(g, f, suzuki[j] * h, &s[j]);
}

void gas_dtel(gas *g, double h, size_t n) {
    history s = {0};
    for (size_t i = 0; i < n; i++) {
        double v = predict(&s, g->p), U = 0;
        for (int k = 0; k < MAX_ITERATIONS; k++) {
            double x = g->x + 0.5 * h * v;
            U = g->heat * pow(x, -K);
            double r = v + 0.5 * h * (-K * U / x + GAMMA * v) - g->p;
            double slope = 1 + 0.5 * h * (K * (K + 1) * U / (x * x) * 0.5 * h + GAMMA);
            double update = r / slope;
            v -= update;
            g->newton++;
            if (last(update, v)) break;
        }
        remember(&s, v);
        U = g->heat * pow(g->x + 0.5 * h * v, -K);
        double dS = h * GAMMA * v * v / U;
        g->x += h * v;
        g->p = 2 * v - g->p;
        g->S += dS;
        g->heat = exp(g->S);
    }
}

void loop_arithmetic(size_t n, const double *in, double *out) {
    const double *x = in, *y = in + n, *z = in + 2 * n;
    for (size_t s = 0; s < n; s++)
        out[s] = (x[s] * y[s] + z[s] * z[s]) / (1 + x[s] * x[s]) - 0.5 * (y[s] - z[s]) * x[s];
}

void loop_gas(size_t n, const double *in, double *out) {
    const double *x = in, *p = in + n, *S = in + 2 * n;
    for (size_t s = 0; s < n; s++) out[s] = 0.5 * p[s] * p[s] + exp(S[s]) * pow(x[s], -K);
}

size_t print_numbers(size_t n) {
    char text[64];
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += (size_t)snprintf(text, sizeof text, "%.17g,", sqrt((double)i + 2));
    return bytes;
}

/* ---- the reference ---- */

typedef struct state {
    long double x, p, S;
} state;

static state rate(state y) {
    const long double k = 2.0L / 3, gamma = 0.1L;
    long double U = expl(y.S - k * logl(y.x));
    return (state){y.p, k * U / y.x - gamma * y.p, gamma * y.p * y.p / U};
}

static state along(state y, long double h, state d) {
    return (state){y.x + h * d.x, y.p + h * d.p, y.S + h * d.S};
}

long double gas_reference(size_t n) {
    state y = {X_START, 0, S_START};
    long double h = (long double)T_END / n;
    for (size_t i = 0; i < n; i++) {
        state a = rate(y), b = rate(along(y, h / 2, a)), c = rate(along(y, h / 2, b));
        state d = rate(along(y, h, c));
        y = along(along(along(along(y, h / 6, a), h / 3, b), h / 3, c), h / 6, d);
    }
    return y.x;
}

/* Sixteen vectors of eight: enough independent chains for every processor of this kind. */
double separate_products(size_t n) {
    typedef double vector __attribute__((vector_size(64)));
    vector sum[16];
    volatile double seed = 1e-9;
    for (int i = 0; i < 16; i++) sum[i] = (vector){0} + seed * i;
    vector factor = (vector){0} + (1 - seed), term = (vector){0} + seed;
    for (size_t k = 0; k < n; k++)
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) sum[i] = sum[i] * factor + term;
    vector all = sum[0];
    for (int i = 1; i < 16; i++) all += sum[i];
    seed = all[0];
    return 16.0 * 8 * 2 * (double)n;
}
