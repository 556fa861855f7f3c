/* Replacing in many formulas: what cls_substitute gives, to the number of the node, at the cost of what is new. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "expr/graph.h"
#include "expr/replace.h"
#include "tests/expr/random_graph.h"
#include <stdio.h>

enum { SYMBOLS = 12, FORMULAS = 60, MANY = 3000 };

static size_t visits; /* of walks over graphs */

void clsi_visit_hook(size_t n) {
    visits += n;
}

static cls_graph *graph(void) {
    cls_graph *g;
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    return g;
}

static cls_node symbol(cls_graph *g, const char *stem, size_t i) {
    char name[32];
    (void)snprintf(name, sizeof name, "%s%zu", stem, i);
    return cls_symbol(g, name);
}

static cls_node one_of(cls_graph *g, cls_random *r, cls_node a, cls_node b) {
    switch (random_below(r, 6)) {
    case 0: return cls_add(g, a, b);
    case 1: return cls_sub(g, a, b);
    case 2: return cls_mul(g, a, b);
    case 3: return cls_apply(g, CLS_FN_TANH, a);
    case 4: return cls_mul(g, cls_constant(g, 2), a);
    default: return cls_div(g, a, cls_add(g, cls_mul(g, b, b), cls_constant(g, 1)));
    }
}

/* Formulas of which each may contain those before. */
static void make_formulas(cls_graph *g, uint64_t seed, cls_node *x, cls_node *f) {
    cls_random r;
    cls_random_seed(&r, seed);
    for (size_t i = 0; i < SYMBOLS; i++) x[i] = symbol(g, "x", i);
    for (size_t k = 0; k < FORMULAS; k++) {
        size_t i = random_below(&r, SYMBOLS + k), j = random_below(&r, SYMBOLS + k);
        f[k] =
            one_of(g, &r, i < SYMBOLS ? x[i] : f[i - SYMBOLS], j < SYMBOLS ? x[j] : f[j - SYMBOLS]);
    }
}

/* A third of the symbols by constants, symbols and formulas. */
static size_t make_pairs(cls_graph *g, const cls_node *x, cls_node *from, cls_node *to) {
    size_t n = 0;
    for (size_t i = 0; i < SYMBOLS; i += 3, n++) {
        from[n] = x[i];
        to[n] = n == 0   ? cls_constant(g, 0)
                : n == 1 ? cls_mul(g, x[1], x[i])
                : n == 2 ? symbol(g, "y", i)
                         : cls_constant(g, 1);
    }
    return n;
}

static void gives_what_substitution_gives(void **unused) {
    (void)unused;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        cls_graph *g[2] = {graph(), graph()};
        cls_node x[SYMBOLS], f[FORMULAS], from[SYMBOLS], to[SYMBOLS], out[2][FORMULAS];
        clsi_replacer *r = clsi_replacer_create(g[1], NULL, NULL);
        assert_non_null(r);
        for (int k = 0; k < 2; k++) {
            make_formulas(g[k], seed, x, f);
            size_t n = make_pairs(g[k], x, from, to), half = FORMULAS / 2;
            for (size_t i = 0; i < n && k; i++) assert_true(clsi_replacer_set(r, from[i], to[i]));
            for (size_t i = 0; i < half; i++)
                if (k)
                    assert_int_equal(clsi_replace(r, 1, &f[i], &out[k][i]), CLS_OK);
                else
                    assert_int_equal(cls_substitute(g[k], 1, &f[i], n, from, to, &out[k][i]),
                                     CLS_OK);
            if (k)
                assert_int_equal(clsi_replace(r, half, f + half, out[k] + half), CLS_OK);
            else
                assert_int_equal(cls_substitute(g[k], half, f + half, n, from, to, out[k] + half),
                                 CLS_OK);
        }
        assert_int_equal(g[0]->n, g[1]->n);
        assert_memory_equal(out[0], out[1], sizeof out[0]);
        clsi_replacer_free(&r);
        cls_graph_free(&g[0]);
        cls_graph_free(&g[1]);
    }
}

typedef struct values {
    cls_node of, is;
} values;

static cls_node value_of(const void *context, cls_node a) {
    const values *v = context;
    return a == v->of ? v->is : CLS_NO_NODE;
}

static void a_symbol_that_gets_a_value_is_asked_for_again(void **unused) {
    (void)unused;
    cls_graph *g = graph();
    cls_node x = cls_symbol(g, "x"), y = cls_symbol(g, "y"), z = cls_symbol(g, "z"), out;
    cls_node a = cls_add(g, cls_mul(g, x, y), z);
    values v = {CLS_NO_NODE, CLS_NO_NODE};
    clsi_replacer *r = clsi_replacer_create(g, value_of, &v);
    assert_non_null(r);
    assert_true(clsi_replacer_set(r, z, x));
    assert_int_equal(clsi_replace(r, 1, &a, &out), CLS_OK);
    assert_int_equal(out, cls_add(g, cls_mul(g, x, y), x));
    v = (values){y, z};
    clsi_replacer_forget(r, y);
    assert_int_equal(clsi_replace(r, 1, &a, &out), CLS_OK);
    assert_int_equal(out, cls_add(g, cls_mul(g, x, z), x)); /* once: what is put in stays */
    clsi_replacer_free(&r);
    cls_graph_free(&g);
}

static void sums_that_grow_cost_their_new_terms(void **unused) {
    (void)unused;
    cls_graph *g = graph();
    clsi_replacer *r = clsi_replacer_create(g, NULL, NULL);
    assert_non_null(r);
    cls_node sum = cls_symbol(g, "s"), c = cls_constant(g, 3), out;
    assert_true(clsi_replacer_set(r, sum, cls_symbol(g, "t")));
    size_t before = visits;
    for (size_t i = 0; i < MANY; i++) {
        sum = cls_add(g, sum, cls_mul(g, c, symbol(g, "x", i)));
        assert_int_equal(clsi_replace(r, 1, &sum, &out), CLS_OK);
    }
    assert_true(visits > before && visits - before <= 4 * MANY);
    clsi_replacer_free(&r);
    cls_graph_free(&g);
}

/* Formulas around one long sum: none of them is walked through to its end. */
static void a_large_part_is_known(void **unused) {
    (void)unused;
    cls_graph *g = graph();
    cls_node x[MANY];
    for (size_t i = 0; i < MANY; i++) x[i] = symbol(g, "x", i);
    cls_node mean = cls_mul(g, cls_constant(g, 0.25), clsi_sum(g, MANY, x));
    assert_true(clsi_is_large(g, mean));
    size_t before = visits;
    for (size_t i = 0; i < MANY; i++) {
        cls_node a = cls_add(g, cls_mul(g, x[i], x[i]), cls_mul(g, mean, mean));
        assert_true(clsi_is_large(g, a));
        assert_false(clsi_is_large(g, cls_mul(g, x[i], x[i])));
    }
    assert_true(visits - before <= 40 * MANY);
    assert_true(clsi_is_large(g, CLS_NO_NODE));
    cls_graph_free(&g);
}

/* As many nodes as a large formula has at least, and one less. */
static void large_is_more_than_a_number(void **unused) {
    (void)unused;
    cls_graph *g = graph();
    cls_node a = cls_symbol(g, "x");
    for (size_t n = 1; n < CLSI_LARGE_FORMULA; n++) a = cls_apply(g, CLS_FN_TANH, a);
    assert_false(clsi_is_large(g, a));
    assert_true(clsi_is_large(g, cls_apply(g, CLS_FN_TANH, a)));
    assert_true(clsi_is_large(g, cls_apply(g, CLS_FN_TANH, a))); /* known now */
    assert_false(clsi_is_large(g, a));
    cls_graph_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_what_substitution_gives),
        cmocka_unit_test(a_symbol_that_gets_a_value_is_asked_for_again),
        cmocka_unit_test(sums_that_grow_cost_their_new_terms),
        cmocka_unit_test(a_large_part_is_known),
        cmocka_unit_test(large_is_more_than_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
