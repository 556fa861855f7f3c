/* Programs as machine code: the bits of the evaluator, for one sample and for lanes in machine registers of
 * four and eight numbers, stage by stage and again, with numbers that are none among the inputs; and long
 * formulas that need more registers than there are. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "expr/native.h"
#include "tests/expr/random_graph.h"
#include <string.h>

enum { INPUTS = 6, OUTPUTS = 12, POOL = 400 };

typedef struct setup {
    cls_graph *g;
    cls_node in[INPUTS], out[OUTPUTS];
    cls_program *p;
    double *work, *plain, *lanes;
} setup;

static cls_node power_of_two(cls_graph *g, cls_random *r) {
    double x = ldexp(1, (int)random_below(r, 2100) - 1050);
    return cls_constant(g, random_below(r, 2) ? -x : x);
}

/* sqrt(a^2 + c), or of a multiple of a that is next to where c begins to count. */
static cls_node norm(cls_graph *g, cls_random *r, cls_node a) {
    static const double small[] = {0, 1e-40, 1e-300, 1e-20, 1};
    double c = small[random_below(r, 5)];
    if (random_below(r, 2)) a = cls_mul(g, a, cls_constant(g, sqrt(c) * 0x1p27));
    return cls_apply(g, CLS_FN_SQRT, cls_add(g, cls_mul(g, a, a), cls_constant(g, c)));
}

/* Operations on a pool of results: mostly sums and products, which stay in registers long. */
static void open_setup(setup *t, cls_random *r, size_t n, int functions) {
    cls_node pool[POOL];
    *t = (setup){0};
    assert_int_equal(cls_graph_create(NULL, &t->g, NULL), CLS_OK);
    for (size_t k = 0; k < INPUTS; k++)
        pool[k] = t->in[k] = cls_symbol(t->g, (char[2]){(char)('a' + k), 0});
    for (size_t k = INPUTS; k < n; k++) {
        cls_node a = pool[random_below(r, k)], b = pool[random_below(r, k)];
        switch (random_below(r, functions ? 11 : 10)) {
        case 0: pool[k] = cls_sub(t->g, a, b); break;
        case 1: pool[k] = cls_div(t->g, a, b); break;
        case 2: pool[k] = cls_neg(t->g, a); break;
        case 3: pool[k] = cls_apply(t->g, CLS_FN_SQRT, a); break;
        case 4:
            pool[k] = cls_pow(t->g, a, cls_constant(t->g, (double)(2 + random_below(r, 7))));
            break;
        case 5: pool[k] = cls_add(t->g, a, b); break;
        case 6: pool[k] = cls_div(t->g, a, power_of_two(t->g, r)); break;
        case 7: pool[k] = norm(t->g, r, a); break;
        case 10: pool[k] = random_node(t->g, r, a, b, 1); break;
        default:
            pool[k] = cls_mul(t->g, a, cls_add(t->g, b, cls_constant(t->g, random_constant(r))));
        }
        if (pool[k] == CLS_NO_NODE) fail();
    }
    for (size_t k = 0; k < OUTPUTS; k++) t->out[k] = pool[n - 1 - random_below(r, n / 2)];
    assert_int_equal(clsi_program_create_staged(t->g, INPUTS / 2, INPUTS, t->in, OUTPUTS / 2,
                                                OUTPUTS, t->out, &t->p, NULL),
                     CLS_OK);
    t->work = malloc((cls_program_work_size(t->p) + 1) * sizeof(double));
    t->plain =
        malloc((t->p->n_constants + t->p->n_inputs + t->p->n_instructions + 1) * sizeof(double));
    t->lanes = malloc((clsi_lanes_size(t->p) + 1) * sizeof(double));
    assert_true(t->work && t->plain && t->lanes);
    cls_program_prepare(t->p, t->work);
    clsi_lanes_prepare(t->p, t->lanes);
}

static void close_setup(setup *t) {
    free(t->work);
    free(t->plain);
    free(t->lanes);
    cls_program_free(&t->p);
    cls_graph_free(&t->g);
}

static void check_same(const char *what, size_t n, const double *got, const double *expected) {
    for (size_t k = 0; k < n; k++)
        if (memcmp(&got[k], &expected[k], sizeof *got) && !(isnan(got[k]) && isnan(expected[k])))
            fail_msg("%s: output %zu is %a, not %a", what, k, got[k], expected[k]);
}

static void random_inputs(cls_random *r, double *in) {
    static const double strange[] = {0.0, -0.0, INFINITY, NAN, 1e-300, 1e300, 1e-160, 1e155};
    for (size_t k = 0; k < INPUTS; k++)
        in[k] = random_below(r, 12) == 0 ? strange[random_below(r, 8)] : cls_random_normal(r);
}

static void compare_one(setup *t, cls_random *r) {
    double in[INPUTS], out[OUTPUTS], expected[OUTPUTS];
    for (int s = 0; s < 6; s++) {
        random_inputs(r, in);
        clsi_program_run_plain(t->p, t->plain, in, expected);
        cls_program_run(t->p, t->work, in, out);
        check_same("run", OUTPUTS, out, expected);
        clsi_program_early(t->p, t->work, in);
        for (int again = 0; again < 2; again++) {
            clsi_program_first(t->p, t->work, in, out);
            clsi_program_rest(t->p, t->work, in, out);
            check_same("stages", OUTPUTS, out, expected);
            in[INPUTS - 1] += 1; /* the early stage is not run again */
            clsi_program_run_plain(t->p, t->plain, in, expected);
        }
    }
}

static void compare_lanes(setup *t, cls_random *r) {
    double in[CLSI_LANES][INPUTS], expected[OUTPUTS], got[OUTPUTS];
    for (size_t l = 0; l < CLSI_LANES; l++) random_inputs(r, in[l]);
    for (int again = 0; again < 2; again++) {
        for (size_t k = 0; k < INPUTS; k++)
            for (size_t l = 0; l < CLSI_LANES; l++)
                clsi_lanes_input(t->p, t->lanes, k)[l] = in[l][k];
        if (!again) clsi_lanes_early(t->p, CLSI_LANES, t->lanes);
        clsi_lanes_first(t->p, CLSI_LANES, t->lanes);
        clsi_lanes_rest(t->p, CLSI_LANES, t->lanes);
        for (size_t l = 0; l < CLSI_LANES; l++) {
            clsi_program_run_plain(t->p, t->plain, in[l], expected);
            for (size_t k = 0; k < OUTPUTS; k++) got[k] = clsi_lanes_output(t->p, t->lanes, k)[l];
            check_same("lanes", OUTPUTS, got, expected);
            in[l][INPUTS - 1] -= 0.5;
        }
    }
}

static void machine_code_has_the_bits_of_the_evaluator(void **unused) {
    (void)unused;
    cls_random r;
    cls_random_seed(&r, 11);
    size_t made = 0;
    if (!clsi_native_supports(CLSI_NATIVE_ONE)) skip();
    for (int trial = 0; trial < 120; trial++) {
        setup t;
        open_setup(&t, &r, 20 + random_below(&r, POOL - 20), trial % 2);
        t.p->native = clsi_native_create(t.p, CLSI_NATIVE_ONE, NULL);
        made += t.p->native != NULL;
        compare_one(&t, &r);
        for (int width = CLSI_NATIVE_FOUR; width <= CLSI_NATIVE_EIGHT; width *= 2) {
            t.p->native_lanes = clsi_native_create(t.p, width, NULL);
            made += t.p->native_lanes != NULL;
            compare_lanes(&t, &r);
            clsi_native_free(&t.p->native_lanes);
        }
        close_setup(&t);
    }
    assert_true(made > 200); /* the test would be about nothing otherwise */
}

/* What another program has computed of the same inputs is taken from it; of other inputs nothing is. */
static void what_is_known_is_taken(void **unused) {
    (void)unused;
    cls_graph *g;
    cls_program *p, *other;
    double out, right, *work, *of, in[] = {1.7, 0.3}, here[] = {1.7, 9};
    if (!clsi_native_supports(CLSI_NATIVE_ONE)) skip();
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    cls_node x = cls_symbol(g, "x"), u = cls_symbol(g, "u"), e = cls_apply(g, CLS_FN_EXP, x);
    cls_node all = cls_mul(g, cls_add(g, e, u), cls_apply(g, CLS_FN_LOG, cls_mul(g, x, e)));
    cls_node twice = cls_mul(g, e, e);
    assert_int_equal(clsi_program_create_staged(g, 1, 2, (cls_node[]){x, u}, 1, 1, &all, &p, NULL),
                     CLS_OK);
    assert_int_equal(
        cls_program_create(g, 2, (cls_node[]){x, cls_symbol(g, "w")}, 1, &twice, &other, NULL),
        CLS_OK);
    work = calloc(cls_program_work_size(p), sizeof *work);
    of = calloc(cls_program_work_size(other), sizeof *of);
    cls_program_prepare(p, work);
    cls_program_prepare(other, of);
    cls_program_run(p, work, in, &right);
    clsi_program_make_native(p, 0);
    clsi_program_make_native(other, 0);
    clsi_program_link(p, other, (uint32_t[]){(uint32_t)other->n_constants, CLSI_NOT_SHARED});
    assert_true(p->native->known != NULL);
    for (int trial = 0; trial < 3; trial++) {
        here[0] = trial == 1 ? 1.6 : in[0];
        memcpy(clsi_program_inputs(other, of), here, sizeof here);
        cls_program_run(other, of, clsi_program_inputs(other, of), &out);
        if (trial == 2) /* seen by its result: a wrong number there comes out */
            for (size_t k = 0; k < cls_program_work_size(other); k++)
                of[k] = k == other->n_constants ? in[0] : 1;
        clsi_program_early_from(p, work, in, other, of, 1);
        clsi_program_late(p, work, in, &out);
        if (trial < 2)
            assert_memory_equal(&out, &right, sizeof out);
        else
            assert_true(out != right);
    }
    free(work);
    free(of);
    cls_program_free(&p);
    cls_program_free(&other);
    cls_graph_free(&g);
}

/* Of a formula that is not finite the term is named, though machine code leaves none behind. */
static void the_term_that_is_not_finite_is_found(void **unused) {
    (void)unused;
    cls_graph *g;
    cls_program *p;
    double out, in = -1, *work;
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    cls_node x = cls_symbol(g, "x"), root = cls_apply(g, CLS_FN_SQRT, x),
             all = cls_mul(g, root, cls_add(g, x, root));
    assert_int_equal(cls_program_create(g, 1, &x, 1, &all, &p, NULL), CLS_OK);
    clsi_program_make_native(p, 0);
    work = calloc(cls_program_work_size(p), sizeof *work);
    cls_program_prepare(p, work);
    cls_program_run(p, work, &in, &out);
    assert_true(isnan(out));
    assert_true(cls_program_first_nonfinite(p, work, &in) == root);
    free(work);
    cls_program_free(&p);
    cls_graph_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(machine_code_has_the_bits_of_the_evaluator),
                                       cmocka_unit_test(what_is_known_is_taken),
                                       cmocka_unit_test(the_term_that_is_not_finite_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
