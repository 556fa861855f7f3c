/* Windows of recordings: none of their rows is lost where a motion cannot be followed to its end, and a fit of few rows
 * is no model. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "learn/shooting/multiple.h"
#include "tests/learn/one_run.h"
#include <clausius/learn.h>
#include <math.h>
#include <string.h>

/* A pencil on its tip, and a log of it that somebody drew. */
#define PENCIL                                                                                     \
    "system \"a pencil\"\ncoordinate q\nlagrangian v.q^2/2 + 9*q^2/2\n"                            \
    "start q = 1, v.q = 0\nstep 0.05\n"
enum { ROWS = 240 };

typedef struct bench {
    cls_system *s;
    cls_table *t;
    clsi_recording *d;
    clsi_multiple *m;
} bench;

static bench open_bench(double test) {
    static const char *const names[] = {"time", "q"};
    bench b = {0};
    cls_error error;
    const char *file = "drawn";
    if (cls_system_parse(PENCIL, "test", NULL, &b.s, &error)) fail_msg("%s", error.message);
    if (cls_table_create(2, (const char **)names, &b.t, &error)) fail_msg("%s", error.message);
    for (size_t i = 0; i < ROWS; i++) {
        double t = 0.05 * (double)i, row[] = {t, sin(t) + 0.1 * sin(7 * t)};
        if (cls_table_append(b.t, row, &error)) fail_msg("%s", error.message);
    }
    const cls_table *table = b.t;
    if (clsi_recording_create(b.s, 1, &table, &file, test, 0, NULL, 0, &b.d, &error))
        fail_msg("%s", error.message);
    if (clsi_multiple_of(b.s, b.d, &b.m, &error)) fail_msg("%s", error.message);
    return b;
}

static void close_bench(bench *b) {
    clsi_multiple_free(&b->m);
    clsi_recording_free(&b->d);
    cls_table_free(&b->t);
    cls_system_free(&b->s);
}

/* Over the whole motion a difference of the start grows by exp(36): the window is shortened, and the rows behind it are
 * in windows of their own, one after the other, each of which begins where its rows are. */
static void rows_behind_are_windows(void **state) {
    (void)state;
    bench b = open_bench(0);
    cls_error error;
    clsi_multiple *m = b.m;
    if (clsi_multiple_plan(m, ROWS, NULL, &error)) fail_msg("%s", error.message);
    assert_int_equal(m->n_pieces, 1);
    assert_int_equal(clsi_cut_long(m, NULL), 1);
    assert_true(m->n_pieces > 5);
    size_t next = 0;
    for (size_t w = 0; w < m->n_pieces; w++) {
        assert_int_equal(m->piece[w].first, next);
        assert_true(m->piece[w].n >= 3 && m->piece[w].n < ROWS / 2);
        assert_true(fabs(m->x[w * m->nz] - b.d->y[next]) < 0.1);
        next += m->piece[w].n;
    }
    assert_true(next + 3 > ROWS);
    assert_int_equal(clsi_cut_long(m, NULL), 0); /* they are short enough now */
    close_bench(&b);
}

/* Most rows cut out: what is left may be fitted to anything. */
static void few_rows_are_no_model(void **state) {
    (void)state;
    bench b = open_bench(0.2);
    cls_error error;
    cls_learn_options o = {0};
    cls_learn_report *report;
    for (int cut = 0; cut < 2; cut++) {
        clsi_text notes = {0};
        if (clsi_report_create(b.d, &o, 0, clsi_strdup(""), &report, &error))
            fail_msg("%s", error.message);
        if (cut) memset(b.m->cut, 1, b.d->n_training - 20);
        b.m->n_pieces = 0;
        if (clsi_multiple_plan(b.m, 8, NULL, &error)) fail_msg("%s", error.message);
        if (clsi_score(b.m, NULL, NULL, report, &notes, &error)) fail_msg("%s", error.message);
        const cls_learned_channel *c = &report->channels[0];
        int told = notes.data && strstr(notes.data, "only 20 of 192 rows are explained") != NULL;
        assert_int_equal(c->given, 192);
        assert_int_equal(c->rows, cut ? 20 : 192);
        assert_int_equal(told, cut);
        if (cut) assert_int_equal(report->better, 0);
        clsi_text_clear(&notes);
        cls_learn_report_free(&report);
    }
    close_bench(&b);
}

/* However often rows are cut out that no parameters explain: a quarter of them in all. */
static void a_quarter_is_cut_at_most(void **state) {
    (void)state;
    bench b = open_bench(0);
    cls_error error;
    double list[ROWS];
    size_t which[ROWS], all = 0;
    clsi_text notes = {0};
    for (size_t i = 0; i < ROWS; i++) /* three rows of ten jump about */
        if (i % 40 < 16) b.d->y[i] += i % 2 ? 30 : -30;
    for (int turn = 0; turn < 4; turn++) {
        b.m->n_pieces = 0;
        if (clsi_multiple_plan(b.m, 8, NULL, &error)) fail_msg("%s", error.message);
        for (size_t w = 0; w < b.m->n_pieces; w++) { /* where the others begin */
            double t = b.d->time[b.m->piece[w].first];
            b.m->x[2 * w] = sin(t);
            b.m->x[2 * w + 1] = cos(t);
        }
        all += clsi_cut_bad(b.m, NULL, list, which, &notes);
    }
    assert_true(all > ROWS / 8 && all <= ROWS / 4);
    clsi_text_clear(&notes);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_behind_are_windows),
                                       cmocka_unit_test(few_rows_are_no_model),
                                       cmocka_unit_test(a_quarter_is_cut_at_most)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
