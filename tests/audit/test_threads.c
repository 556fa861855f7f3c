/* A const system may be used by any number of threads: simulators, flows, audits and pages made on one
 * system at the same time do not write to it, and give the bits that one thread gives. Under the
 * thread sanitizer this is the test that has something to find. */
#include "tests/audit/judge.h"
#include "tests/sanitized.h"
#include "expr/graph.h"
#include "system/system.h"
#include <clausius/flow.h>
#include <clausius/simulate.h>
#include <pthread.h>

enum { THREADS = 8, TIMES = THINNED(50, 10), ROWS = 4, MOST = 16 };

static const char *const schemes[] = {"discrete-gradient", "discrete-gradient-4", "vnots",
                                      "implicit-midpoint", "bdf"};

typedef struct work {
    const cls_system *s;
    double end[MOST]; /* sums over all that was made */
    cls_status status;
    cls_error error;
} work;

static cls_status use(work *w, size_t k) {
    cls_simulate_options o = cls_simulate_defaults();
    const char *names[MOST];
    double start[MOST], row[MOST];
    size_t columns = cls_system_column_count(w->s);
    cls_simulator *sim = NULL;
    cls_table *t = NULL;
    cls_audit *a = NULL;
    cls_flow *f = NULL;
    char *page = NULL;
    o.scheme = schemes[k % (sizeof schemes / sizeof *schemes)];
    for (size_t c = 0; c < columns; c++) names[c] = cls_system_column(w->s, c);
    cls_status status = cls_system_start(w->s, NULL, start, &w->error);
    if (!status) status = cls_simulator_create(w->s, &o, &sim, &w->error);
    if (!status) status = cls_simulator_start(sim, 0, start, &w->error);
    if (!status) status = cls_table_create(columns, names, &t, &w->error);
    for (int r = 0; r < ROWS && !status; r++) {
        status = cls_simulator_advance(sim, 1, &w->error);
        if (!status) status = cls_simulator_row(sim, row, &w->error);
        if (!status) status = cls_table_append(t, row, &w->error);
        for (size_t c = 0; c < columns && !status; c++) w->end[c] += row[c];
    }
    if (!status && k % 10 == 0) status = cls_audit_trajectory(w->s, t, NULL, &a, &w->error);
    if (!status) status = cls_flow_create(w->s, &f, &w->error);
    if (!status) status = cls_system_show(w->s, CLS_SHOW_EQUATIONS, &page, &w->error);
    cls_text_free(&page);
    cls_flow_free(&f);
    cls_audit_free(&a);
    cls_table_free(&t);
    cls_simulator_free(&sim);
    return status;
}

static void *many_times(void *data) {
    work *w = data;
    for (size_t k = 0; k < TIMES && !w->status; k++) w->status = use(w, k);
    return NULL;
}

static void a_const_system_is_shared_by_threads(void **unused) {
    (void)unused;
    cls_system *s = NULL;
    pthread_t thread[THREADS];
    static work all[THREADS], alone;
    assert_int_equal(cls_system_load("adiabatic-piston", NULL, &s, NULL), CLS_OK);
    assert_true(cls_system_column_count(s) <= MOST);
    size_t nodes = s->g->n;
    alone.s = s;
    many_times(&alone);
    if (alone.status) fail_msg("%s", alone.error.message);
    for (int i = 0; i < THREADS; i++) {
        all[i] = (work){.s = s};
        assert_int_equal(pthread_create(&thread[i], NULL, many_times, &all[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        if (all[i].status) fail_msg("%s", all[i].error.message);
        assert_memory_equal(all[i].end, alone.end, sizeof alone.end);
    }
    assert_int_equal(s->g->n, nodes); /* nothing was built on it */
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_const_system_is_shared_by_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
