/* simulate --outputs legendre: beside every row the momenta p-.NAME and p+.NAME that the discrete
 * Legendre maps of the scheme give from positions alone, p- on the step that begins there and p+ on the
 * one that ends there. Each is computed anew from two positions and the entropies between them; where
 * the scheme is a flow of discrete momenta they agree with each other and with p.NAME to round-off.
 *
 * The motion goes one step further than it is written, for p- of the last row; the p+ of the first row,
 * which no step ends at, is the momentum that the motion begins with. */
#include "simulate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct maps {
    const cli_job *job;
    const cls_system *s;
    cls_simulator *sim, *probe; /* the motion; single intervals */
    cls_writer *writer;
    size_t columns, states, n;
    uint64_t at; /* rows that came */
    double *row; /* (columns + 2 n) of the row before, with its p+ */
    double *state, *minus, *plus;
    double apart, size; /* the largest |p+ - p-|, and |p| */
} maps;

static cls_status write_row(maps *m, cls_error *error) {
    const double *minus = m->row + m->columns, *plus = minus + m->n;
    uint64_t k = m->at - 1;
    for (size_t j = 0; j < m->n; j++) {
        m->apart = fmax(m->apart, fabs(plus[j] - minus[j]));
        m->size = fmax(m->size, fabs(minus[j]));
    }
    if (!m->writer || (k % m->job->every && k != m->job->steps)) return CLS_OK;
    return cls_writer_row(m->writer, m->row, error);
}

/* Row k + 1 came: the interval from k to it says p- of row k and p+ of row k + 1. */
static cls_status take(void *context, const double *row, cls_error *error) {
    maps *m = context;
    double *minus = m->row + m->columns, *plus = minus + m->n;
    const double *now = cls_simulator_state(m->sim);
    cls_status status = CLS_OK;
    if (m->at)
        status = cls_simulator_legendre(m->probe, m->row[0], m->state, now, minus, m->plus, error);
    if (!status && m->at) status = write_row(m, error);
    if (!status && !m->at)
        for (size_t j = 0; j < m->n; j++) { /* what the motion begins with */
            char name[128];
            size_t c = 0;
            snprintf(name, sizeof name, "p.%.100s", cls_system_state_name(m->s, j));
            while (c < m->columns && strcmp(cls_system_column(m->s, c), name)) c++;
            m->plus[j] = c < m->columns ? row[c] : NAN;
        }
    memcpy(m->row, row, m->columns * sizeof *row);
    memcpy(plus, m->plus, m->n * sizeof *plus);
    memcpy(m->state, now, m->states * sizeof *now);
    m->at++;
    return status;
}

/* The system's columns, then p-.x, ..., p+.x, ... */
static cls_status open_writer(maps *m, cls_error *error) {
    size_t total = m->columns + 2 * m->n;
    const char **names = calloc(total, sizeof *names);
    char(*own)[128] = calloc(2 * m->n + 1, sizeof *own);
    cls_status status = names && own ? CLS_OK : cli_no_memory(error);
    for (size_t c = 0; !status && c < m->columns; c++) names[c] = cls_system_column(m->s, c);
    for (size_t j = 0; !status && j < 2 * m->n; j++) {
        snprintf(own[j], sizeof *own, "p%c.%.100s", j < m->n ? '-' : '+',
                 cls_system_state_name(m->s, j % m->n));
        names[m->columns + j] = own[j];
    }
    if (!status)
        status = cli_job_open_with(m->job, cli_job_rows(m->job), total, names, &m->writer, error);
    free(names);
    free(own);
    return status;
}

static cls_status check(const cli_job *job, cls_error *error) {
    static const char *const other[] = {"samples", "bands", "at", "inputs"};
    const char *what = cli_value(job->a, "outputs");
    if (strcmp(what, "legendre"))
        return cli_fail(error, CLS_USAGE,
                        "--outputs is legendre (discrete Legendre maps), got '%s'", what);
    for (size_t i = 0; i < 4; i++)
        if (cli_given(job->a, other[i]))
            return cli_fail(
                error, CLS_USAGE,
                "--outputs legendre is for the equal steps of one motion; leave out --%s",
                other[i]);
    if (cls_system_is_noisy(job->motion.system))
        return cli_fail(
            error, CLS_USAGE,
            "--outputs legendre: with thermal noise two positions do not say a momentum");
    return CLS_OK;
}

/* The maps of the first step: a scheme without them is refused before anything is written. */
static cls_status try_first(maps *m, cls_error *error) {
    const cli_motion *start = &m->job->motion;
    cls_status status = cls_simulator_start(m->probe, start->time, start->state, error);
    if (!status) status = cls_simulator_advance(m->probe, 1, error);
    if (!status) memcpy(m->state, cls_simulator_state(m->probe), m->states * sizeof *m->state);
    return status ? status
                  : cls_simulator_legendre(m->probe, start->time, start->state, m->state,
                                           m->row + m->columns, m->plus, error);
}

static cls_status prepare(maps *m, cls_error *error) {
    m->columns = cls_system_column_count(m->s);
    m->states = cls_system_state_count(m->s);
    m->n = cls_system_coordinate_count(m->s);
    m->row = calloc(m->columns + 3 * m->n + m->states + 1, sizeof *m->row);
    if (!m->row) return cli_no_memory(error);
    m->plus = m->row + m->columns + 2 * m->n;
    m->state = m->plus + m->n;
    cls_status status = cls_simulator_create(m->s, &m->job->options, &m->sim, error);
    cls_simulate_options alone = m->job->options;
    alone.monitor = 0;
    alone.first_step = CLS_FIRST_MOMENTUM;
    if (!status) status = cls_simulator_create(m->s, &alone, &m->probe, error);
    if (!status)
        status = cls_simulator_start(m->sim, m->job->motion.time, m->job->motion.state, error);
    if (!status) status = try_first(m, error);
    return status ? status : open_writer(m, error);
}

cls_status cli_legendre(const cli_job *job, cls_error *error) {
    maps m = {.job = job, .s = job->motion.system};
    cli_progress progress;
    cls_status status = check(job, error);
    if (!status) status = prepare(&m, error);
    cli_progress_begin(&progress, "simulate", "steps", (double)job->steps, job->quiet);
    if (!status) status = cli_walk(m.s, m.sim, job->steps + 1, 1, take, &m, &progress, error);
    cli_progress_end(&progress);
    if (!status && m.writer) status = cls_writer_commit(&m.writer, error);
    cls_writer_discard(&m.writer);
    if (!status && job->json)
        status =
            cli_print_json(json_pack("{s:s, s:f, s:I, s:f, s:f}", "scheme", job->options.scheme,
                                     "h", job->options.h, "steps", (json_int_t)job->steps, "apart",
                                     m.apart, "momentum", m.size),
                           error);
    else if (!status && !job->quiet)
        fprintf(
            stderr,
            "%s by %s, %llu steps of %g\n  legendre   p+ and p- of the rows agree to %.3g, momenta "
            "up to %.3g\n",
            job->a->words[0], job->options.scheme, (unsigned long long)job->steps, job->options.h,
            m.apart, m.size);
    cls_simulator_free(&m.sim);
    cls_simulator_free(&m.probe);
    free(m.row);
    return status;
}
