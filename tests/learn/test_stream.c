/* Learning from files that are read in blocks: every row is used, how the rows are spread over files
 * does not matter, and what is learned is what the whole table gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/sanitized.h"

#include "model/model.h"
#include "tests/learn/made_data.h"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { MEMBERS = 50, STEPS = 799, ROWS = MEMBERS * (STEPS + 1) }; /* more than a block */

typedef struct files {
    char folder[64], whole[80], first[80], second[80];
    cls_system *s;
    cls_table *t;
} files;

/* Rows [first, last) of t. */
static void write_rows(const cls_table *t, size_t first, size_t last, const char *path) {
    cls_writer *w;
    const char *names[64];
    double row[64];
    size_t n = cls_table_columns(t);
    for (size_t c = 0; c < n; c++) names[c] = cls_table_name(t, c);
    assert_int_equal(cls_writer_open(path, 0, NULL, NULL, n, names, &w, NULL), CLS_OK);
    for (size_t i = first; i < last; i++) {
        for (size_t c = 0; c < n; c++) row[c] = cls_table_column(t, c)[i];
        assert_int_equal(cls_writer_row(w, row, NULL), CLS_OK);
    }
    assert_int_equal(cls_writer_commit(&w, NULL), CLS_OK);
}

static int make_files(void **state) {
    files *f = calloc(1, sizeof *f);
    strcpy(f->folder, "/tmp/clausius-stream-XXXXXX");
    if (!mkdtemp(f->folder)) return -1;
    snprintf(f->whole, sizeof f->whole, "%s/whole.csv", f->folder);
    snprintf(f->first, sizeof f->first, "%s/first.csv", f->folder);
    snprintf(f->second, sizeof f->second, "%s/second.csv", f->folder);
    f->s = load_system("adiabatic-piston");
    f->t = make_table(f->s, "rk4", 4, piston_box, MEMBERS, STEPS, 0.01, 5);
    write_rows(f->t, 0, ROWS, f->whole);
    write_rows(f->t, 0, 7 * (STEPS + 1), f->first);
    write_rows(f->t, 7 * (STEPS + 1), ROWS, f->second);
    *state = f;
    return 0;
}

static int drop_files(void **state) {
    files *f = *state;
    unlink(f->whole), unlink(f->first), unlink(f->second);
    rmdir(f->folder);
    cls_table_free(&f->t);
    cls_system_free(&f->s);
    free(f);
    return 0;
}

static cls_model *learn_files(const files *f, size_t n, const char *const *paths, double validate,
                              cls_learn_info *info) {
    static const char *const unknown[] = {"F1", "F2"};
    cls_read_options reading = cls_read_defaults();
    cls_learn_options o = cls_learn_defaults();
    cls_model *m;
    cls_error error;
    o.n_unknown = 2;
    o.unknown = unknown;
    o.field = "chebyshev(3)";
    o.validate = validate;
    if (cls_learn_files(f->s, NULL, n, paths, &reading, &o, &m, info, &error))
        fail_msg("%s", error.message);
    return m;
}

static void every_row_is_used(void **state) {
    const files *f = *state;
    cls_learn_info info;
    const char *path = f->whole;
    cls_model *m = learn_files(f, 1, &path, 0, &info);
    assert_int_equal(info.samples, MEMBERS * (STEPS - 1)); /* windows of three rows */
    assert_int_equal(info.windows, info.samples);
    assert_string_equal(info.optimizer, "linear");
    assert_true(info.loss_final < 3e-3 * info.loss_initial);
    cls_model_free(&m);
}

/* Rows kept to validate stay out: nine in ten runs of the sample are learned from, and all between. */
static void rows_held_stay_out(void **state) {
    const files *f = *state;
    cls_learn_info info;
    const char *path = f->whole;
    cls_model *m = learn_files(f, 1, &path, 0.1, &info);
    size_t all = MEMBERS * (STEPS - 1), out = all - info.samples;
    assert_true(info.validation_samples > 500);
    assert_true(out >= info.validation_samples && out < all / 5);
    assert_true(info.loss_validation < 10 * info.loss_final);
    cls_model_free(&m);
}

static void how_files_are_cut_does_not_matter(void **state) {
    const files *f = *state;
    cls_learn_info a, b;
    const char *whole = f->whole, *cut[] = {f->first, f->second};
    cls_model *one = learn_files(f, 1, &whole, 0.1, &a), *two = learn_files(f, 2, cut, 0.1, &b);
    assert_int_equal(a.samples, b.samples);
    assert_int_equal(one->n_theta, two->n_theta);
    assert_memory_equal(one->theta, two->theta, one->n_theta * sizeof *one->theta);
    cls_model_free(&one);
    cls_model_free(&two);
}

/* Scales come from a sample, so that parameters differ; the model does not. */
static void it_is_what_the_whole_table_gives(void **state) {
    const files *f = *state;
    static const char *const unknown[] = {"F1", "F2"};
    cls_learn_info info;
    cls_error error;
    const char *path = f->whole;
    const cls_table *t = f->t;
    cls_learn_options o = cls_learn_defaults();
    cls_model *m, *s = learn_files(f, 1, &path, 0.1, &info);
    o.n_unknown = 2;
    o.unknown = unknown;
    o.field = "chebyshev(3)";
    o.max_windows = 1000000;
    assert_int_equal(cls_learn(f->s, NULL, 1, &t, &path, &o, &m, &info, &error), CLS_OK);
    double by_table = rollout(f->s, m, 0.01, 500), by_file = rollout(f->s, s, 0.01, 500);
    assert_true(by_table < 1e-4 && by_file < 1e-4);
    assert_true(by_file < 2 * by_table && by_table < 2 * by_file);
    cls_model_free(&m);
    cls_model_free(&s);
}

/* ---- ranks: threads here ---- */

enum { MOST_RANKS = 5, MOST_BYTES = 1 << 23 };

typedef struct meeting {
    pthread_barrier_t barrier;
    char *all; /* what is shared now */
} meeting;

typedef struct rank {
    const files *f;
    meeting *m;
    cls_team team;
    pthread_t thread;
    cls_model *model;
    cls_learn_info info;
    int fills; /* blocks of files that were read */
    const char *optimizer;
    uint64_t iterations; /* of it */
} rank;

static int mine(void *context, const char *what, size_t part, size_t n) {
    const rank *r = context;
    (void)what;
    return cls_team_owns(r->team.rank, r->team.ranks, part, n);
}

static cls_status share(void *context, const char *what, const char *identity, size_t n,
                        size_t bytes, void *parts, int only_first, cls_error *error) {
    rank *r = context;
    size_t first = cls_team_first(r->team.rank, r->team.ranks, n) * bytes;
    size_t last = cls_team_first(r->team.rank + 1, r->team.ranks, n) * bytes;
    (void)what, (void)identity, (void)only_first, (void)error;
    if (n * bytes > MOST_BYTES) abort();
    if (last > first) memcpy(r->m->all + first, (char *)parts + first, last - first);
    pthread_barrier_wait(&r->m->barrier);
    if (n && bytes) memcpy(parts, r->m->all, n * bytes);
    pthread_barrier_wait(&r->m->barrier);
    return CLS_OK;
}

static int count_fills(void *context) {
    return ++*(int *)context < 0;
}

static void *learn_as_rank(void *context) {
    static const char *const unknown[] = {"F1", "F2"};
    rank *r = context;
    const char *cut[] = {r->f->first, r->f->second};
    cls_read_options reading = cls_read_defaults();
    cls_learn_options o = cls_learn_defaults();
    reading.stop = count_fills;
    reading.context = &r->fills;
    o.n_unknown = 2;
    o.unknown = unknown;
    o.field = "chebyshev(3)";
    o.validate = 0.1;
    o.threads = 1;
    o.team = r->team.ranks > 1 ? &r->team : NULL;
    if (cls_learn_files(r->f->s, NULL, 2, cut, &reading, &o, &r->model, &r->info, NULL)) abort();
    return NULL;
}

/* The same bits for any number of ranks, each of which reads its share of the files. */
static void ranks_read_shares(void **state) {
    rank alone = {.f = *state, .team = {.ranks = 1}};
    meeting m = {.all = malloc(MOST_BYTES)};
    learn_as_rank(&alone);
    for (size_t n = 2; n <= MOST_RANKS; n += n == 3 ? 2 : 1) {
        rank r[MOST_RANKS];
        pthread_barrier_init(&m.barrier, NULL, (unsigned)n);
        for (size_t i = 0; i < n; i++) {
            r[i] = (rank){.f = *state, .m = &m};
            r[i].team = (cls_team){sizeof(cls_team), i, n, mine, share, &r[i]};
            assert_int_equal(pthread_create(&r[i].thread, NULL, learn_as_rank, &r[i]), 0);
        }
        for (size_t i = 0; i < n; i++) {
            pthread_join(r[i].thread, NULL);
            assert_int_equal(r[i].info.samples, alone.info.samples);
            assert_int_equal(r[i].model->n_theta, alone.model->n_theta);
            assert_memory_equal(r[i].model->theta, alone.model->theta,
                                alone.model->n_theta * sizeof(double));
            assert_true(r[i].fills < alone.fills * 2 / 3 + 3);
            cls_model_free(&r[i].model);
        }
        pthread_barrier_destroy(&m.barrier);
    }
    cls_model_free(&alone.model);
    free(m.all);
}

static int stop_soon(void *context, const cls_learn_progress *p) {
    int *asked = context;
    return !strcmp(p->phase, "rows") && ++*asked > 1;
}

static void a_stop_is_heard_between_blocks(void **state) {
    const files *f = *state;
    static const char *const unknown[] = {"F1", "F2"};
    cls_read_options reading = cls_read_defaults();
    cls_learn_options o = cls_learn_defaults();
    cls_learn_info info;
    cls_model *m;
    cls_error error;
    const char *path = f->whole;
    int asked = 0;
    o.n_unknown = 2;
    o.unknown = unknown;
    o.field = "chebyshev(3)";
    o.progress = stop_soon;
    o.context = &asked;
    assert_int_equal(cls_learn_files(f->s, NULL, 1, &path, &reading, &o, &m, &info, &error),
                     CLS_INTERRUPTED);
    assert_null(m);
}

/* ---- iterations ---- */

typedef struct iterating {
    const files *f;
    const char *optimizer, *checkpoint;
    uint64_t iterations, stop_at; /* 0: the usual, never */
    int resume;
    cls_team *team;
    cls_learn_info info;
} iterating;

static int stop_at(void *context, const cls_learn_progress *p) {
    const iterating *i = context;
    return i->stop_at && !strcmp(p->phase, "iterate") && p->done >= i->stop_at;
}

static cls_model *iterate(iterating *i) {
    static const char *const unknown[] = {"F1", "F2"};
    const char *cut[] = {i->f->first, i->f->second};
    cls_read_options reading = cls_read_defaults();
    cls_learn_options o = cls_learn_defaults();
    cls_model *m;
    cls_error error;
    o.n_unknown = 2;
    o.unknown = unknown;
    o.field = "network(3)";
    o.optimizer = i->optimizer;
    o.max_iterations = i->iterations;
    o.checkpoint = i->checkpoint;
    o.checkpoint_every = 1e-9;
    o.resume = i->resume;
    o.progress = stop_at;
    o.context = i;
    o.threads = i->team ? 1 : 0;
    o.team = i->team;
    if (cls_learn_files(i->f->s, NULL, 2, cut, &reading, &o, &m, &i->info, &error))
        fail_msg("%s: %s", i->optimizer, error.message);
    return m;
}

static void assert_same(const cls_model *a, const cls_model *b) {
    assert_int_equal(a->n_theta, b->n_theta);
    assert_memory_equal(a->theta, b->theta, a->n_theta * sizeof *a->theta);
}

/* The windows that one solve has without those kept to validate. */
static size_t windows_of(const files *f) {
    const char *cut[] = {f->first, f->second};
    cls_learn_info info;
    cls_model *m = learn_files(f, 2, cut, 0.1, &info);
    cls_model_free(&m);
    return info.samples;
}

static void iterations_use_every_row(void **state) {
    static const char *const all[] = {"adam", "spring", "lm", "lbfgs"};
    size_t windows = windows_of(*state);
    for (size_t k = 0; k < 4; k += SANITIZED ? 3 : 1) {
        iterating i = {.f = *state, .optimizer = all[k], .iterations = k < 2 ? 0 : 40};
        cls_model *m = iterate(&i);
        assert_int_equal(i.info.windows, windows);
        assert_int_equal(i.info.samples, windows);
        assert_true(i.info.loss_final < 0.5 * i.info.loss_initial);
        cls_model_free(&m);
    }
}

/* Whoever asks for few iterations is told how many windows they took. */
static void few_batches_use_few_windows(void **state) {
    iterating i = {.f = *state, .optimizer = "adam", .iterations = 20};
    cls_model *m = iterate(&i);
    size_t equations = 3, batch = (256 + equations - 1) / equations;
    assert_true(i.info.windows > 30000);
    assert_int_equal(i.info.samples, 20 * batch);
    cls_model_free(&m);
}

static void a_stopped_training_goes_on_with_the_same_bits(void **state) {
    static const struct {
        const char *name;
        uint64_t iterations, stop;
    } all[] = {{"adam", 1500, 700}, {"spring", 400, 150}, {"lm", 4, 2}, {"lbfgs", 5, 3}};
    char path[100];
    snprintf(path, sizeof path, "%s/checkpoint", ((const files *)*state)->folder);
    for (size_t k = 0; k < 4; k += SANITIZED ? 3 : 1) {
        iterating i = {.f = *state, .optimizer = all[k].name, .iterations = all[k].iterations};
        cls_model *whole = iterate(&i);
        i.checkpoint = path;
        i.stop_at = all[k].stop;
        cls_model *part = iterate(&i);
        assert_int_equal(i.info.stopped, 1);
        i.stop_at = 0;
        i.resume = 1;
        cls_model *rest = iterate(&i);
        assert_same(whole, rest);
        cls_model_free(&whole), cls_model_free(&part), cls_model_free(&rest);
        unlink(path);
    }
}

static void *iterate_as_rank(void *context) {
    rank *r = context;
    iterating i = {.f = r->f, .optimizer = r->optimizer, .iterations = r->iterations};
    i.team = r->team.ranks > 1 ? &r->team : NULL;
    r->model = iterate(&i);
    r->info = i.info;
    return NULL;
}

static void ranks_iterate_with_the_same_bits(void **state) {
    static const struct {
        const char *name;
        uint64_t iterations;
    } all[] = {{"adam", 300}, {"spring", 60}, {"lm", 3}, {"lbfgs", 3}};
    meeting m = {.all = malloc(MOST_BYTES)};
    for (size_t k = 0; k < 4; k += SANITIZED ? 3 : 1) {
        rank alone = {.f = *state, .team = {.ranks = 1}};
        alone.optimizer = all[k].name;
        alone.iterations = all[k].iterations;
        iterate_as_rank(&alone);
        rank r[3];
        pthread_barrier_init(&m.barrier, NULL, 3);
        for (size_t i = 0; i < 3; i++) {
            r[i] = alone;
            r[i].m = &m;
            r[i].team = (cls_team){sizeof(cls_team), i, 3, mine, share, &r[i]};
            assert_int_equal(pthread_create(&r[i].thread, NULL, iterate_as_rank, &r[i]), 0);
        }
        for (size_t i = 0; i < 3; i++) {
            pthread_join(r[i].thread, NULL);
            assert_int_equal(r[i].info.samples, alone.info.samples);
            assert_same(alone.model, r[i].model);
            cls_model_free(&r[i].model);
        }
        pthread_barrier_destroy(&m.barrier);
        cls_model_free(&alone.model);
    }
    free(m.all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_used),
        cmocka_unit_test(rows_held_stay_out),
        cmocka_unit_test(how_files_are_cut_does_not_matter),
        cmocka_unit_test(ranks_read_shares),
        cmocka_unit_test(it_is_what_the_whole_table_gives),
        cmocka_unit_test(a_stop_is_heard_between_blocks),
        cmocka_unit_test(iterations_use_every_row),
        cmocka_unit_test(few_batches_use_few_windows),
        cmocka_unit_test(a_stopped_training_goes_on_with_the_same_bits),
        cmocka_unit_test(ranks_iterate_with_the_same_bits),
    };
    return cmocka_run_group_tests(tests, make_files, drop_files);
}
