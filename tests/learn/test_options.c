/* The table of options: whole, with the defaults that learning has; what means nothing is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/learn/made_data.h"
#include <clausius/audit.h>
#include <clausius/identify.h>
#include <clausius/simulate.h>
#include <string.h>

static void defaults_are_those_of_the_table(void **unused) {
    (void)unused;
    cls_learn_options learn = cls_learn_defaults();
    cls_identify_options identify = cls_identify_defaults();
    cls_simulate_options simulate = cls_simulate_defaults();
    cls_audit_options audit = cls_audit_defaults();
    const struct {
        const cls_option *(*table)(size_t *n);
        const void *defaults;
        size_t least;
    } all[] = {{cls_learn_option_table, &learn, 20},
               {cls_identify_option_table, &identify, 5},
               {cls_simulate_option_table, &simulate, 9},
               {cls_audit_option_table, &audit, 6}};
    for (size_t t = 0; t < 4; t++) {
        size_t n;
        const cls_option *table = all[t].table(&n);
        assert_true(n >= all[t].least);
        for (size_t i = 0; i < n; i++) {
            assert_true(cls_option_value(&table[i], all[t].defaults) == table[i].initial);
            assert_true(strlen(table[i].doc) > 4);
            if (t == 0) assert_true(table[i].losses && table[i].optimizers);
            for (size_t k = 0; k < i; k++) assert_string_not_equal(table[i].name, table[k].name);
        }
    }
}

static cls_status learn_with(const cls_learn_options *o, cls_error *error) {
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 5, 6, 0.02, 3);
    const cls_table *data = t;
    const char *name = "made here";
    cls_model *m;
    cls_learn_info info;
    cls_status status = cls_learn(s, NULL, 1, &data, &name, o, &m, &info, error);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
    return status;
}

static void what_means_nothing_is_refused(void **unused) {
    (void)unused;
    static const char *const F1[] = {"F1"};
    cls_error error;
    cls_learn_options base = cls_learn_defaults();
    base.unknown = F1;
    base.n_unknown = 1;
    assert_int_equal(learn_with(&base, &error), CLS_OK);
    enum { N = 10 };
    cls_learn_options bad[N];
    const char *const names[N] = {"substeps", "rate",      "batch",    "decay",    "constant-rate",
                                  "last",     "last-rate", "restarts", "patience", "horizon"};
    for (int i = 0; i < N; i++) bad[i] = base;
    bad[0].substeps = 7;
    bad[1].rate = 5;
    bad[2].batch = 3;
    bad[3].decay = 4;
    bad[4].constant_rate = 1;
    bad[5].last = 1;
    bad[6].last_rate = 1e-3;
    bad[7].restarts = 3;
    bad[8].patience = 7;
    bad[9].n_horizons = 1;
    bad[9].horizon[0] = 1;
    for (int i = 0; i < N; i++) {
        char flag[32];
        snprintf(flag, sizeof flag, "--%s means nothing", names[i]);
        assert_int_equal(learn_with(&bad[i], &error), CLS_USAGE);
        if (!strstr(error.message, flag)) fail_msg("%s: %s", names[i], error.message);
    }
    base.loss = "shooting";
    base.last = 1;
    assert_int_equal(learn_with(&base, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "--last means nothing for the loss shooting"));
    base.last = 0;
    base.restarts = 3; /* of one linear solve, which shooting goes on from */
    assert_int_equal(learn_with(&base, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "--restarts means nothing"));
}

static void ranges_are_checked(void **unused) {
    (void)unused;
    static const char *const F1[] = {"F1"};
    cls_error error;
    cls_learn_options o = cls_learn_defaults();
    o.unknown = F1;
    o.n_unknown = 1;
    o.validate = 0.7;
    assert_int_equal(learn_with(&o, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "validate is a number from 0 to 0.5"));
    o.validate = NAN;
    assert_int_equal(learn_with(&o, &error), CLS_USAGE);
}

/* A caller built against an older, shorter struct gets defaults for what it does not know. */
static void size_is_honoured(void **unused) {
    (void)unused;
    static const char *const F1[] = {"F1"};
    cls_error error;
    cls_learn_options o = cls_learn_defaults();
    o.unknown = F1;
    o.n_unknown = 1;
    o.size = offsetof(cls_learn_options, rate);
    o.rate = 5; /* behind the end: not read */
    assert_int_equal(learn_with(&o, &error), CLS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(defaults_are_those_of_the_table),
                                       cmocka_unit_test(what_means_nothing_is_refused),
                                       cmocka_unit_test(ranges_are_checked),
                                       cmocka_unit_test(size_is_honoured)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
