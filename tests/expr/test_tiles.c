/* Long plans in tiles: the same bits as the instructions one by one, for random operations between
 * neighbours near and far, ends that are computed one by one, sums in pairs, and stages; by machine code in
 * vectors of eight and of four cells, and without any; with numbers that are none among the inputs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "expr/graph.h"
#include "expr/native.h"
#include "expr/program.h"
#include "expr/tile_code.h"
#include "tests/expr/random_graph.h"
#include <string.h>

enum { CELLS = 1500, ARRAYS = 14, MOST = (ARRAYS + 2) * (CELLS + 2) };

typedef struct lattice {
    cls_graph *g;
    cls_node in[2 * CELLS], array[ARRAYS][CELLS], out[MOST];
    size_t n[ARRAYS], n_out, n_first;
} lattice;

/* Element i of an array, or what stands at its ends. */
static cls_node element(lattice *l, size_t which, long i) {
    if (i < 0 || i >= (long)l->n[which]) return l->array[which][i < 0 ? 0 : l->n[which] - 1];
    return l->array[which][i];
}

static cls_node combined(cls_graph *g, size_t kind, cls_node a, cls_node b) {
    switch (kind) {
    case 0: return cls_add(g, a, b);
    case 1: return cls_sub(g, a, b);
    case 2: return cls_mul(g, a, b);
    case 3: return cls_div(g, a, cls_add(g, cls_mul(g, b, b), cls_constant(g, 1)));
    case 4: return cls_apply(g, CLS_FN_EXP, cls_neg(g, cls_mul(g, a, a)));
    case 5: return cls_apply(g, CLS_FN_SQRT, cls_mul(g, a, a));
    case 6: return cls_quotient(g, CLS_FN_EXP, 1, 1, a, b, 0);
    case 7: return cls_apply(g, CLS_FN_EXP, a);
    case 8: return cls_div(g, a, cls_constant(g, -0.25));
    case 9: return cls_pow(g, a, cls_constant(g, 7));
    case 10: return cls_neg(g, cls_mul(g, a, cls_constant(g, 1.7)));
    default: return cls_pow(g, cls_apply(g, CLS_FN_SIN, a), cls_constant(g, 3));
    }
}

/* Arrays of arrays, each cell from cells near or far; shorter ones among them. */
static void grow(lattice *l, cls_random *r) {
    static const long offsets[] = {0, 0, 1, -1, 2, -7, 40, -300, 900};
    for (size_t k = 0; k < 2; k++) {
        l->n[k] = CELLS;
        memcpy(l->array[k], l->in + k * CELLS, CELLS * sizeof(cls_node));
    }
    for (size_t k = 2; k < ARRAYS; k++) {
        size_t a = k == 2 ? 0 : random_below(r, k), b = random_below(r, k),
               kind = random_below(r, 12);
        long from_a = offsets[random_below(r, 9)], from_b = offsets[random_below(r, 9)];
        l->n[k] = CELLS - random_below(r, 3);
        for (size_t i = 0; i < l->n[k]; i++)
            l->array[k][i] = combined(l->g, kind, element(l, a, (long)i + from_a),
                                      element(l, b, (long)i + from_b));
    }
}

/* Inputs among the outputs, mostly so many that machine code copies them. */
static void choose_inputs(lattice *l, const cls_random *r) {
    cls_random own = *r;
    size_t from = random_below(&own, CELLS), n = random_below(&own, CELLS);
    for (size_t i = 0; i < n; i++) l->out[l->n_out++] = l->in[from + i];
}

/* First the last array and a sum of another; then some arrays and single cells. */
static void choose_outputs(lattice *l, cls_random *r) {
    choose_inputs(l, r);
    for (size_t i = 0; i < l->n[ARRAYS - 1]; i++) l->out[l->n_out++] = l->array[ARRAYS - 1][i];
    l->out[l->n_out++] = clsi_sum(l->g, l->n[ARRAYS - 2], l->array[ARRAYS - 2]);
    l->n_first = l->n_out;
    choose_inputs(l, r);
    for (size_t k = 2; k < ARRAYS - 2; k++) {
        size_t kind = random_below(r, 4);
        for (size_t i = 0; i < l->n[k] && kind == 0; i++) l->out[l->n_out++] = l->array[k][i];
        if (kind == 1) l->out[l->n_out++] = l->array[k][random_below(r, (uint32_t)l->n[k])];
    }
}

static size_t in_scratch(const cls_program *p) {
    size_t n = 0;
    for (size_t k = 0; p->plan && p->plan->n_phases && k < p->plan->n_ops; k++)
        n += p->plan->tiles[k].result != CLSI_IN_REGISTERS;
    return n;
}

static void check_same(const char *what, size_t n, const double *got, const double *expected) {
    for (size_t k = 0; k < n; k++)
        if (memcmp(&got[k], &expected[k], sizeof *got) != 0 &&
            !(isnan(got[k]) && isnan(expected[k])))
            fail_msg("%s: output %zu is %a, not %a", what, k, got[k], expected[k]);
}

/* Scratch that nobody wrote is no number: whoever reads it is seen. */
static void compare(const lattice *l, const cls_program *p, cls_random *r) {
    size_t size = cls_program_work_size(p),
           plain = p->n_constants + p->n_inputs + p->n_instructions;
    double *work = malloc(size * sizeof *work), *other = malloc(plain * sizeof *other);
    static const double strange[] = {0.0, -0.0, INFINITY, NAN, 800, -800, 1e-310, 708, -744.5};
    double in[2 * CELLS], *out = malloc(2 * MOST * sizeof *out), *expected = out + MOST;
    assert_true(work && other && out);
    for (size_t k = 0; k < size; k++) work[k] = NAN;
    cls_program_prepare(p, work);
    for (int turn = 0; turn < 2; turn++) {
        for (size_t k = turn ? CELLS : 0; k < 2 * CELLS; k++)
            in[k] = random_below(r, 100) ? cls_random_normal(r) : strange[random_below(r, 9)];
        clsi_program_run_plain(p, other, in, expected);
        if (!turn) clsi_program_early(p, work, in);
        clsi_program_first(p, work, in, out);
        check_same("first", l->n_first, out, expected);
        clsi_program_rest(p, work, in, out);
        check_same("rest", l->n_out, out, expected);
    }
    cls_program_run(p, work, in, out);
    check_same("run", l->n_out, out, expected);
    free(work);
    free(other);
    free(out);
}

/* Pieces of machine code that the plan has now. */
static size_t fused(const cls_program *p) {
    size_t n = 0;
    for (size_t k = 0; p->plan && p->plan->fused && k < p->plan->fused->n_pieces; k++)
        n += p->plan->fused->pieces[k].core != NULL;
    return n;
}

/* Runs of inputs that machine code copies to the outputs. */
static size_t copied(const cls_program *p) {
    size_t n = 0;
    for (size_t k = 0; p->plan && p->plan->fused && k < p->plan->n_left; k++)
        n += p->plan->left[k].fused != 0;
    return n;
}

static void compare_widths(const lattice *l, cls_program *p, cls_random *r, size_t *pieces,
                           size_t *copies) {
    static const int width[] = {CLSI_NATIVE_EIGHT, CLSI_NATIVE_FOUR, 0};
    compare(l, p, r);
    for (size_t k = 0; k < 3 && p->plan; k++) {
        clsi_fused_free(&p->plan->fused);
        clsi_plan_fuse(p->plan, width[k]);
        pieces[k] += fused(p);
        copies[k] += copied(p);
        compare(l, p, r);
    }
}

static void test_same_bits(void **state) {
    (void)state;
    static lattice l;
    size_t found = 0, pieces[3] = {0}, copies[3] = {0};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        cls_random r;
        cls_program *p;
        char name[32];
        cls_random_seed(&r, seed);
        l = (lattice){0};
        assert_int_equal(cls_graph_create(NULL, &l.g, NULL), CLS_OK);
        for (size_t k = 0; k < 2 * CELLS; k++) {
            snprintf(name, sizeof name, "x%zu", k);
            l.in[k] = cls_symbol(l.g, name);
        }
        grow(&l, &r);
        choose_outputs(&l, &r);
        assert_int_equal(clsi_program_create_staged(l.g, CELLS, 2 * CELLS, l.in, l.n_first, l.n_out,
                                                    l.out, &p, NULL),
                         CLS_OK);
        found += in_scratch(p);
        compare_widths(&l, p, &r, pieces, copies);
        cls_program_free(&p);
        cls_graph_free(&l.g);
    }
    assert_true(found > 40); /* results that are never written to registers */
    assert_true(!clsi_native_supports(CLSI_NATIVE_EIGHT) || pieces[0] > 60);
    assert_true(!clsi_native_supports(CLSI_NATIVE_FOUR) || pieces[1] > 60);
    assert_true(!clsi_native_supports(CLSI_NATIVE_EIGHT) || copies[0] > 10);
    assert_true(!clsi_native_supports(CLSI_NATIVE_FOUR) || copies[1] > 10);
    assert_int_equal(pieces[2] + copies[2], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
