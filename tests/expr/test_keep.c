/* A graph that is pared (keep.c): what the lists are made of stays, with new numbers in the old order, and is found
 * again when it is asked for; all else is gone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "expr/graph.h"

static void formulas_stay_and_are_found(void **unused) {
    (void)unused;
    cls_graph *g = NULL;
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    cls_node gone = cls_symbol(g, "gone"), x = cls_symbol(g, "x"), y = cls_symbol(g, "y");
    (void)cls_apply(g, CLS_FN_EXP, gone);
    cls_node list[] = {cls_mul(g, cls_constant(g, 3), cls_pow(g, x, cls_constant(g, 1.7))),
                       CLS_NO_NODE, cls_quotient(g, CLS_FN_POWER, 1, 2, x, y, 0.3)};
    cls_node symbols[] = {x, y};
    char *before = cls_print(g, list[0]);
    size_t n = g->n;
    const clsi_node_list lists[] = {{3, list}, {2, symbols}};
    assert_int_equal(clsi_graph_keep(g, 2, lists), 1);
    assert_true(g->n < n);
    char *after = cls_print(g, list[0]);
    assert_string_equal(before, after);
    assert_int_equal(list[1], CLS_NO_NODE);
    assert_true(symbols[0] < symbols[1] && symbols[1] < list[0] && list[0] < list[2]);
    size_t kept = g->n;
    assert_int_equal(cls_symbol(g, "x"), symbols[0]);
    assert_int_equal(cls_symbol(g, "y"), symbols[1]);
    assert_int_equal(cls_mul(g, cls_constant(g, 3), cls_pow(g, symbols[0], cls_constant(g, 1.7))),
                     list[0]);
    assert_int_equal(cls_quotient(g, CLS_FN_POWER, 1, 2, symbols[0], symbols[1], 0.3), list[2]);
    assert_int_equal(g->n, kept);
    assert_int_equal(cls_symbol(g, "gone"), kept); /* made anew */
    assert_true(cls_is_constant(g, cls_constant(g, 0.5), 0.5));
    cls_text_free(&before);
    cls_text_free(&after);
    cls_graph_free(&g);
}

static void elements_of_arrays_stay_together(void **unused) {
    (void)unused;
    cls_graph *g = NULL;
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    (void)cls_symbol(g, "gone");
    const clsi_symbol_block *b = clsi_symbols(
        g, &(clsi_symbol_block){
               .stems = 2, .indices = 1, .low = {1}, .high = {5}, .stem = {"u", "v.u"}});
    assert_non_null(b);
    cls_node sum = cls_add(g, cls_symbol(g, "u[2]"), cls_symbol(g, "v.u[4]"));
    assert_int_equal(clsi_graph_keep(g, 1, &(clsi_node_list){1, &sum}), 1);
    assert_int_equal(g->n, 11);
    assert_int_equal(cls_node_arg(g, sum, 0), cls_symbol(g, "u[2]"));
    assert_int_equal(cls_node_arg(g, sum, 1), cls_symbol(g, "v.u[4]"));
    assert_string_equal(cls_node_name(g, cls_symbol(g, "u[5]")), "u[5]");
    assert_int_equal(g->n, 11);
    cls_graph_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_stay_and_are_found),
        cmocka_unit_test(elements_of_arrays_stay_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
