/* The network field: time of value and gradient, of the derivative of a loss in theta (reverse) and
 * of Jacobian rows, and what part of the machine's multiply-add peak that is. Flops counted are
 * those of the matrix products alone (2, 6 and 6 per weight and sample, times two), so that 100 %
 * cannot be reached.
 *
 *     cc -O3 -std=c17 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc bench/network.c build/libclausius.a
 * \ -lm ... -o build/bench-network && build/bench-network [FILE]
 *
 * FILE receives one problem (sizes, theta, x, a, b, the derivative) for bench/network_torch.py,
 * which computes the same with PyTorch. */
#include "field/network_kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Time of this thread: the machine may be shared. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the peak: independent chains of multiply-adds in registers ---- */

#if defined(__x86_64__)
#include <immintrin.h>
__attribute__((target("avx512f"))) static double chains512(size_t n) {
    __m512d c[24], x = _mm512_set1_pd(0.999), y = _mm512_set1_pd(1e-3);
    double sum = 0;
    for (int i = 0; i < 24; i++) c[i] = _mm512_set1_pd(i);
    for (size_t k = 0; k < n; k++) {
#pragma GCC unroll 24
        for (int i = 0; i < 24; i++) c[i] = _mm512_fmadd_pd(c[i], x, y);
    }
    for (int i = 0; i < 24; i++) sum += _mm512_reduce_add_pd(c[i]);
    return sum;
}
static double peak(void) {
    double best = 0;
    if (!__builtin_cpu_supports("avx512f")) return 0;
    for (int i = 0; i < 20; i++) {
        size_t n = 200000;
        double begin = now();
        volatile double keep = chains512(n);
        (void)keep;
        double rate = (double)n * 24 * 16 / (now() - begin);
        if (rate > best) best = rate;
    }
    return best;
}
#else
static double peak(void) {
    return 0;
}
#endif

/* ---- one network ---- */

typedef struct problem {
    clsi_field *f;
    size_t n;
    double *theta, *x, *a, *b, *value, *gradient, *out, *rows, *scratch;
} problem;

static double *uniform(cls_random *r, size_t n) {
    double *v = calloc(n, sizeof *v);
    for (size_t i = 0; i < n; i++) v[i] = 2 * cls_random_uniform(r) - 1;
    return v;
}

static problem open_problem(const char *spec, size_t n) {
    problem p = {.n = n};
    cls_random r;
    cls_random_seed(&r, 1);
    if (clsi_field_create(4, spec, NULL, &p.f, NULL) != CLS_OK) exit(1);
    size_t m = p.f->n_parameters;
    p.theta = uniform(&r, m);
    p.f->kind->initialise(p.f, &r, p.theta);
    p.x = uniform(&r, 4 * n);
    p.a = uniform(&r, n);
    p.b = uniform(&r, 4 * n);
    p.value = uniform(&r, n);
    p.gradient = uniform(&r, 4 * n);
    p.out = calloc(m, sizeof *p.out);
    p.rows = m * n < 10000000 ? calloc(m * n, sizeof *p.rows) : NULL;
    p.scratch = calloc(p.f->kind->scratch(p.f, n), sizeof *p.scratch);
    return p;
}

static void close_problem(problem *p) {
    double *all[] = {p->theta,    p->x,   p->a,    p->b,      p->value,
                     p->gradient, p->out, p->rows, p->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    clsi_field_free(&p->f);
}

typedef enum task { EVALUATE, REVERSE, REVERSE_VALUE, STAGED, ROWS, TASKS } task;

/* Value, gradient and derivative as a loss needs them. */
static void run_staged(const problem *p) {
    clsi_network_pass pass;
    clsi_network_open(&pass, p->f, p->theta, p->out, p->scratch);
    for (size_t s = 0; s < p->n; s += CLSI_NETWORK_BLOCK) {
        size_t m = p->n - s < CLSI_NETWORK_BLOCK ? p->n - s : CLSI_NETWORK_BLOCK;
        clsi_network_evaluate(&pass, m, p->x + 4 * s, p->value + s, p->gradient + 4 * s);
        clsi_network_add(&pass, m, p->a + s, p->b + 4 * s);
    }
    clsi_network_close(&pass, p->out);
}

static void run(const problem *p, task what) {
    const clsi_field_kind *k = p->f->kind;
    switch (what) {
    case EVALUATE:
        k->evaluate(p->f, p->theta, p->n, p->x, p->value, p->gradient, p->scratch);
        break;
    case REVERSE: k->reverse(p->f, p->theta, p->n, p->x, p->a, p->b, p->out, p->scratch); break;
    case REVERSE_VALUE:
        k->reverse(p->f, p->theta, p->n, p->x, p->a, NULL, p->out, p->scratch);
        break;
    case STAGED: run_staged(p); break;
    default:
        k->rows(p->f, p->theta, p->n, p->x, p->a, p->b, p->f->n_parameters, p->rows, p->scratch);
    }
}

/* The best of many runs in about 0.3 s: others use the machine too. */
static double seconds(const problem *p, task what) {
    double best = 1e9, stop = now() + 0.3;
    do {
        double begin = now();
        run(p, what);
        double t = now() - begin;
        if (t < best) best = t;
    } while (now() < stop);
    return best;
}

static double weights(const clsi_field *f) {
    const clsi_network *net = f->data;
    double sum = 0;
    for (size_t l = 0; l < net->n_layers; l++)
        sum += (double)(net->layer[l].in * net->layer[l].out);
    return sum;
}

static void print_row(const char *spec, size_t n, const clsi_network_kernel *kernel, double limit) {
    static const char *const names[] = {"value + gradient", "reverse (a, b)", "reverse (a)",
                                        "all, by blocks", "rows"};
    static const double passes[] = {2, 6, 3, 6, 6};
    problem p = open_problem(spec, n);
    ((clsi_network *)p.f->data)->kernel = kernel;
    for (int what = 0; what < TASKS; what++) {
        if (what == ROWS && !p.rows) continue;
        double t = seconds(&p, (task)what);
        double rate = 2 * passes[what] * weights(p.f) * (double)n / t;
        printf("%-24s %6zu  %-8s  %-16s  %9.4f ms  %6.1f GFLOP/s", spec, n, kernel->name,
               names[what], 1e3 * t, 1e-9 * rate);
        if (limit > 0) printf("  %5.1f %%", 100 * rate / limit);
        if (what == ROWS) printf("  %5.1f GB/s", 8e-9 * (double)(p.f->n_parameters * n) / t);
        printf("\n");
    }
    close_problem(&p);
}

/* ---- for the peer ---- */

static int write_problem(const char *path, const char *spec, size_t n) {
    problem p = open_problem(spec, n);
    size_t m = p.f->n_parameters;
    FILE *file = fopen(path, "wb");
    if (!file) return 1;
    double sizes[2] = {(double)n, (double)m};
    run(&p, REVERSE);
    fwrite(sizes, sizeof *sizes, 2, file);
    fwrite(p.theta, sizeof(double), m, file);
    fwrite(p.x, sizeof(double), 4 * n, file);
    fwrite(p.a, sizeof(double), n, file);
    fwrite(p.b, sizeof(double), 4 * n, file);
    fwrite(p.out, sizeof(double), m, file);
    close_problem(&p);
    return fclose(file) != 0;
}

int main(int argc, char **argv) {
    if (argc > 1) return write_problem(argv[1], "network(128, 128, 128, 128)", 1000);
    double limit = peak();
    printf("multiply-add peak, one core: %.1f GFLOP/s\n", 1e-9 * limit);
    for (size_t k = 0; k < clsi_network_kernel_count(); k++) {
        const clsi_network_kernel *kernel = clsi_network_kernel_at(k);
        if (!kernel->supported()) continue;
        print_row("network(128,128,128,128)", 1000, kernel, limit);
        print_row("network(32, 32)", 1000, kernel, limit);
        print_row("network(32, 32)", 100, kernel, limit);
    }
    return 0;
}
