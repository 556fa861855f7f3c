/* The observed order, from tables whose error is known by construction. */
#include "judge.h"

#define SPRING "system \"spring\"\ncoordinate q\nlagrangian v.q^2/2 - q^2/2\n"

/* The exact motion plus an error t h^p (and a trace of the next order). time q v.q */
typedef struct method {
    double h, order, error;
    size_t every; /* rows written */
} method;

static void method_row(size_t k, const void *data, double *row) {
    const method *m = data;
    double t = m->h * (double)(k * m->every), e = m->error * t * pow(m->h, m->order);
    row[0] = t;
    row[1] = sin(t) + e * cos(t) + 0.1 * e * m->h;
    row[2] = cos(t) - e * sin(t);
}

static cls_table *run(double h, double order, double error, size_t every) {
    method m = {h, order, error, every};
    return table_from("time q v.q", (size_t)(4 / (h * (double)every) + 0.5) + 1, method_row, &m);
}

/* The law "order" of a method of this order. Only the coarsest times are common. */
static cls_law order_of(double order, double error, double expected) {
    cls_system *s = system_from(SPRING);
    cls_table *t[3] = {run(0.1, order, error, 1), run(0.05, order, error, 1),
                       run(0.025, order, error, 2)};
    cls_audit_options o = cls_audit_defaults();
    o.order_expected = expected;
    cls_audit *a = audit_with(s, t[0], &o);
    cls_error why = {0};
    if (cls_audit_order(a, s, t[0], t[1], t[2], &why)) fail_msg("%s", why.message);
    cls_law found = *law(a, "order");
    cls_audit_free(&a);
    for (int i = 0; i < 3; i++) cls_table_free(&t[i]);
    cls_system_free(&s);
    return found;
}

static void known_orders_are_found(void **unused) {
    (void)unused;
    static const double orders[] = {1, 2, 4};
    for (int i = 0; i < 3; i++) {
        cls_law l = order_of(orders[i], 1, orders[i]);
        if (!(fabs(l.value - orders[i]) <= 0.02)) fail_msg("%g: %s", orders[i], l.text);
        assert_true(l.passed);
        assert_true(l.limit == orders[i]);
    }
}

static void an_order_below_the_promise_fails(void **unused) {
    (void)unused;
    assert_false(order_of(1, 1, 2).passed);
    assert_true(order_of(1, 1, 0).passed); /* printed, not judged */
    assert_true(order_of(2, 1, 1).passed); /* better than promised */
}

static void exact_is_said(void **unused) {
    (void)unused;
    cls_law l = order_of(2, 0, 2);
    assert_true(l.passed);
    assert_non_null(strstr(l.text, "exact to round-off"));
    assert_true(isfinite(l.value));
}

static void tables_must_share_times(void **unused) {
    (void)unused;
    cls_system *s = system_from(SPRING);
    cls_table *t[3] = {run(0.1, 2, 1, 1), run(0.05, 2, 1, 1), run(0.0371, 2, 1, 200)};
    cls_audit *a = audit_with(s, t[0], NULL);
    size_t laws = cls_audit_count(a);
    cls_error error = {0};
    assert_int_equal(cls_audit_order(a, s, t[0], t[1], t[2], &error), CLS_DATA);
    assert_int_equal(cls_audit_count(a), laws);
    cls_audit_free(&a);
    for (int i = 0; i < 3; i++) cls_table_free(&t[i]);
    cls_system_free(&s);
}

static void nan_fails(void **unused) {
    (void)unused;
    cls_law l = order_of(2, NAN, 0);
    assert_false(l.passed);
    assert_true(isfinite(l.value));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_orders_are_found),
        cmocka_unit_test(an_order_below_the_promise_fails),
        cmocka_unit_test(exact_is_said),
        cmocka_unit_test(tables_must_share_times),
        cmocka_unit_test(nan_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
