/* dgnet-kdv, dgnet-ch: the energies of two fields from snapshots, in the protocol of Deep
 * Energy-based Modeling of Discrete-Time Physics (DGNet).
 *
 * 50 places on a ring. 100 motions of 500 steps by the discrete gradient, as theirs; of 90 the
 * field is learned, of the other 10 it is followed from their starts. Their scores: mean squares of u_t
 * at the snapshots, and along the run of the true energy and of u (which they call mass). Given to both: u_t = D dH/du (KdV)
 * or D2 dH/du (Cahn-Hilliard), and that H is a sum over places of one function of neighbours; theirs is a network of three
 * neighbours, ours polynomials of u and u_x, or of u and its neighbour, by one linear solve. */
#include "cli/reproduce/reproduce.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 50, n_steps = 500, n_motions = 100, n_learned = 90, n_few = 20, between = 100 };

typedef struct field {
    const char *name, *head, *truth, *tail;
    double h;
    void (*draw)(cls_random *random, double *u); /* (N) */
    const char *paper[3], *goal[3];              /* derivative, energy, state */
} field;

#define ENERGY "hamiltonian H = sum(i in 1..N: dx*(V(u[i]) + W((u[i+1] - u[i])/dx)))\n"

/* What is given of the energy. The polynomials contain the truth in both. */
static const struct {
    const char *label, *text, *form;
} ways[] = {
    {"V(u) + W(u_x)", "function V(w) = unknown\nfunction W(g) = unknown\n" ENERGY, "chebyshev(6)"},
    {"E(u, next u)",
     "function E(a, b) = unknown\nhamiltonian H = sum(i in 1..N: dx*E(u[i], u[i+1]))\n",
     "chebyshev(4)"},
};
enum { n_ways = sizeof ways / sizeof *ways };

static double soliton(double k, double x) {
    double c = cosh(k * x);
    return 2 * k * k / (c * c);
}

/* Two solitons; half of the time seen in a mirror. (Theirs are to be shifted, too, but are not: the
 * shift takes all of an array and nothing of it.) */
static void draw_kdv(cls_random *random, double *u) {
    double k1 = 0.5 + 1.5 * cls_random_uniform(random), k2 = 0.5 + 1.5 * cls_random_uniform(random);
    double d1 = 0.2 + 0.1 * cls_random_uniform(random);
    double d2 = d1 + 0.2 + 0.3 * cls_random_uniform(random);
    int mirrored = cls_random_uniform(random) < 0.5;
    for (size_t i = 0; i < N; i++) {
        double x = 10.0 * (double)i / N;
        u[mirrored ? N - 1 - i : i] = soliton(k1, x - 10 * d1) + soliton(k2, x - 10 * d2);
    }
}

static void draw_ch(cls_random *random, double *u) {
    for (size_t i = 0; i < N; i++) u[i] = 0.1 * (cls_random_uniform(random) - 0.5);
}

static const field kdv = {
    .name = "KdV",
    .head = "parameter N = 50, L = 10, dx = L/N\nmomentum u[1..N ring]\n",
    .truth = "function V(w) = w^3\nfunction W(g) = -g^2/2\n" ENERGY,
    .tail = "for i in 1..N: poisson {u[i], u[i+1]} = 1/(2*dx^2)\n",
    .h = 0.001,
    .draw = draw_kdv,
    .paper = {"1.75e-2", "1.60e-3", "2.54e-4"},
    .goal = {"<=1.75e-4", "<=1.60e-5", "<=2.54e-6"},
};

static const field ch = {
    .name = "Cahn-Hilliard",
    .head = "parameter N = 50, dx = 1/N\nmomentum u[1..N ring]\nreservoir bath = 1\n",
    .truth = "function V(w) = w^4/4 - w^2/2\nfunction W(g) = 0.00025*g^2\n" ENERGY,
    .tail = "for i in 1..N: friction on bath: u[i] <- (v.u[i+1] - v.u[i])/dx^3, "
            "u[i+1] <- -(v.u[i+1] - v.u[i])/dx^3\n",
    .h = 0.0001,
    .draw = draw_ch,
    .paper = {"7.14e0", "3.39e-7", "6.95e-5"},
    .goal = {"<=7.14e-2", "<=3.39e-9", "<=6.95e-7"},
};

static cls_status make_system(const field *k, const char *energy, cls_system **out,
                              cls_error *error) {
    char text[1500];
    snprintf(text, sizeof text, "%s%s%sfor i in 1..N: start u[i] = cos(2*pi*i/N)\nstep %g\n",
             k->head, energy, k->tail, k->h);
    return cls_system_parse(text, k->name, NULL, out, error);
}

typedef struct motions {
    size_t n, columns, states;
    double *rows; /* (n, n_steps + 1, columns): time, u, ... */
} motions;

static cls_status make_motions(const field *k, const cls_system *s, size_t n, motions *out,
                               cls_error *error) {
    cls_simulate_options o = cls_simulate_defaults();
    cls_random random;
    *out = (motions){n, cls_system_column_count(s), cls_system_state_count(s), NULL};
    out->rows = calloc(n * (n_steps + 1) * out->columns, sizeof *out->rows);
    double *starts = calloc(n * out->states, sizeof *starts);
    cls_status status = out->rows && starts ? CLS_OK : cli_no_memory(error);
    o.h = k->h;
    o.monitor = 0;
    cls_random_seed(&random, 1);
    for (size_t i = 0; i < n && !status; i++) k->draw(&random, starts + i * out->states);
    if (!status) status = cls_ensemble_run(s, &o, n, starts, n_steps, 1, 0, out->rows, error);
    free(starts);
    return status;
}

static const double *row_of(const motions *m, size_t i, size_t step) {
    return m->rows + (i * (n_steps + 1) + step) * m->columns;
}

/* Three snapshots, a step apart, every so often. */
static cls_status make_data(const motions *m, size_t n, const cls_system *s, cls_table **out,
                            cls_error *error) {
    const char *names[N + 2] = {"trajectory"};
    double row[N + 2], count = 0;
    for (size_t c = 0; c <= N; c++) names[c + 1] = cls_system_column(s, c);
    cls_status status = cls_table_create(N + 2, names, out, error);
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0; at + 2 <= n_steps; at += between, count++)
            for (size_t r = at; r <= at + 2 && !status; r++) {
                row[0] = count;
                memcpy(row + 1, row_of(m, i, r), (N + 1) * sizeof *row);
                status = cls_table_append(*out, row, error);
            }
    return status;
}

/* Mean squares of u_t over all snapshots from motion `first` on, both by their definitions. */
static cls_status judge_rates(const motions *m, size_t first, const cls_system *truth,
                              const cls_system *model, double *out, cls_error *error) {
    cls_flow *exact = NULL, *ours = NULL;
    size_t rows = (m->n - first) * (n_steps + 1);
    cls_status status = cls_flow_create(truth, &exact, error);
    if (!status) status = cls_flow_create(model, &ours, error);
    size_t count = status ? 0 : cls_flow_count(exact);
    double *a = calloc(rows * count + 1, sizeof *a), *b = calloc(rows * count + 1, sizeof *b);
    if (!status && (!a || !b)) status = cli_no_memory(error);
    const double *states = row_of(m, first, 0) + 1;
    if (!status) status = cls_flow_rates(exact, rows, m->columns, states, NULL, 0, a, NULL, error);
    if (!status) status = cls_flow_rates(ours, rows, m->columns, states, NULL, 0, b, NULL, error);
    *out = 0;
    for (size_t r = 0; r < rows && !status; r++)
        for (size_t i = 0; i < N; i++)
            *out += pow(a[r * count + i] - b[r * count + i], 2) / (double)(rows * N);
    free(a);
    free(b);
    cls_flow_free(&exact);
    cls_flow_free(&ours);
    return status;
}

/* And of the true energy and of u along runs from the starts; a run that fails is infinite. */
static cls_status judge_runs(const field *k, const motions *m, size_t first,
                             const cls_system *truth, const cls_system *model, double *energy,
                             double *state, cls_error *error) {
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    size_t column = (size_t)cli_column(truth, "energy");
    double *row = calloc(m->columns, sizeof *row), n = (double)((m->n - first) * n_steps);
    o.h = k->h;
    o.monitor = 0;
    *energy = *state = 0;
    cls_status status = row ? cls_simulator_create(model, &o, &sim, error) : cli_no_memory(error);
    for (size_t i = first; i < m->n && !status; i++) {
        int fails = cls_simulator_start(sim, 0, row_of(m, i, 0) + 1, NULL) != CLS_OK;
        for (size_t r = 1; r <= n_steps && !fails; r++) {
            const double *wanted = row_of(m, i, r);
            fails = cls_simulator_advance(sim, 1, NULL) != CLS_OK;
            const double *z = cls_simulator_state(sim);
            fails = fails || cls_system_row(truth, 0, z, row, NULL) != CLS_OK;
            *energy += pow(row[column] - wanted[column], 2) / n;
            for (size_t j = 0; j < N; j++) *state += pow(z[j] - wanted[1 + j], 2) / (n * N);
        }
        if (fails) *energy = *state = INFINITY;
        if (cli_interrupted()) status = cli_fail(error, CLS_INTERRUPTED, "interrupted");
    }
    cls_simulator_free(&sim);
    free(row);
    return status;
}

static cls_status learn_field(cli_findings *f, const field *k, size_t way, const motions *m,
                              size_t learned, const cls_system *truth, cls_error *error) {
    static const char *const columns[] = {"MSE of u_t", "MSE of the energy", "MSE of u"};
    cls_system *open = NULL;
    cls_table *data = NULL;
    cls_model *model = NULL;
    cls_learn_info info = {0};
    cls_learn_options o = cls_learn_defaults();
    double found[3] = {0};
    o.scheme = "discrete-gradient";
    o.loss = "residual";
    o.field = ways[way].form;
    cls_status status = make_system(k, ways[way].text, &open, error);
    if (!status) status = make_data(m, learned, truth, &data, error);
    if (!status) status = cli_learning(f, open, data, "made here", o, &model, &info, error);
    const cls_system *s = status ? NULL : cls_model_system(model);
    if (!status) status = judge_rates(m, learned, truth, s, &found[0], error);
    if (!status) status = judge_runs(k, m, learned, truth, s, &found[1], &found[2], error);
    for (size_t c = 0; c < 3 && !status; c++)
        cli_add_number(f, ways[way].label, columns[c], k->paper[c], k->goal[c], found[c],
                       c == 2 ? "they call it mass" : NULL);
    if (!status)
        cli_add_number(f, ways[way].label, "parameters", NULL, NULL, (double)info.parameters, NULL);
    cls_learn_report_free(&info.report);
    cls_model_free(&model);
    cls_table_free(&data);
    cls_system_free(&open);
    return status;
}

static cls_status run(cli_findings *f, cls_error *error) {
    const field *k = f->item->subject;
    size_t learned = f->quick ? n_few / 2 : n_learned, all = f->quick ? n_few : n_motions;
    cls_system *truth = NULL;
    motions m = {0};
    cls_status status = make_system(k, k->truth, &truth, error);
    if (!status) status = make_motions(k, truth, all, &m, error);
    for (size_t way = 0; way < n_ways && !status; way++)
        status = learn_field(f, k, way, &m, learned, truth, error);
    free(m.rows);
    cls_system_free(&truth);
    return status;
}

#define PROTOCOL                                                                                   \
    "50 places on a ring, 100 motions of 500 steps by the discrete gradient, 90 to learn from "    \
    "(three\nsnapshots in every 100 steps), 10 to follow (--quick: 10 and 10). Scores as theirs: " \
    "mean squares\nof u_t at the snapshots, and from the starts on of the true energy and of u. "  \
    "Given to both: how u_t\nfollows from the energy, and that this is a sum of one function of "  \
    "neighbours over all places; theirs is\na network of three neighbours, ours are "              \
    "polynomials, which contain the truth.\n"

const cli_item cli_dgnet_kdv = {
    .name = "dgnet-kdv",
    .doc = "the energy of Korteweg-de Vries from snapshots, in DGNet's protocol",
    .text = "Two solitons of random heights. " PROTOCOL,
    .run = run,
    .subject = &kdv,
};
const cli_item cli_dgnet_ch = {
    .name = "dgnet-ch",
    .doc = "the free energy of Cahn-Hilliard from snapshots, in DGNet's protocol",
    .text = "Random values between -0.05 and 0.05 that separate. " PROTOCOL,
    .run = run,
    .subject = &ch,
};
