/* Emitted C: compiled by the machine's compiler it computes the same bits as the program it came
 * from, it compiles without any warning, and names that C would not take are refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/expr/random_graph.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SYMBOLS = 5, OUTPUTS = 30, SAMPLES = 300 };

/* What the manual promises to compile silently. (Deeper inlining makes gcc guess more.) */
#define STRICT " -std=c99 -O2 -Wall -Wextra -Wshadow -Werror -pedantic"

typedef void emitted(const double *in, double *out);

/* ---- compiling ---- */

typedef struct compiled {
    char directory[64];
    void *handle;
    emitted *run;
} compiled;

static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void compile(compiled *c, const char *compiler, const char *text, const char *name) {
    char source[96], library[96], command[512];
    strcpy(c->directory, "/tmp/clausius-emit-XXXXXX");
    assert_non_null(mkdtemp(c->directory));
    snprintf(source, sizeof source, "%s/m.c", c->directory);
    snprintf(library, sizeof library, "%s/m.so", c->directory);
    write_text(source, text);
    snprintf(command, sizeof command, "%s -shared -fPIC -o %s %s -lm", compiler, library, source);
    int result = system(command);
    unlink(source);
    if (result != 0) {
        rmdir(c->directory);
        fail_msg("failed: %s\n%s", command, text);
    }
    c->handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    unlink(library);
    rmdir(c->directory);
    if (!c->handle) fail_msg("%s", dlerror());
    void *symbol = dlsym(c->handle, name);
    assert_non_null(symbol);
    memcpy(&c->run, &symbol, sizeof symbol); /* ISO C has no cast from object to function */
}

/* ---- comparing ---- */

static double random_input(cls_random *r) {
    static const double odd[] = {0.0, -0.0, 1.0, -1.0, INFINITY, NAN, 1e-300, 1e300};
    uint64_t k = cls_random_next(r) % 60;
    return k < 8 ? odd[k] : cls_random_normal(r) * (k < 20 ? 10 : 1);
}

/* Every fifth sample has nearly equal inputs, where quotients take their series. */
static void random_inputs(cls_random *r, double *in) {
    int near = cls_random_next(r) % 5 == 0;
    for (size_t k = 0; k < SYMBOLS; k++) in[k] = random_input(r);
    for (size_t k = 1; near && k < SYMBOLS; k++) in[k] = in[0] * (1 + 1e-9 * (double)k);
}

static void compare(const cls_program *p, const compiled *c, cls_random *r) {
    double in[SYMBOLS], expected[OUTPUTS], got[OUTPUTS];
    double *work = malloc((cls_program_work_size(p) + 1) * sizeof *work);
    size_t n = cls_program_output_count(p), finite = 0;
    cls_program_prepare(p, work);
    for (int sample = 0; sample < SAMPLES; sample++) {
        random_inputs(r, in);
        cls_program_run(p, work, in, expected);
        c->run(in, got);
        for (size_t k = 0; k < n; k++) {
            finite += isfinite(expected[k]) != 0;
            if (isnan(expected[k]) && isnan(got[k])) continue;
            if (memcmp(&expected[k], &got[k], sizeof *got) != 0)
                fail_msg("sample %d, output %zu: %a, not %a", sample, k, got[k], expected[k]);
        }
    }
    free(work);
    assert_true(finite > n * SAMPLES / 4); /* the comparison compared something */
}

/* ---- programs ---- */

static void open_graph(cls_graph **g, cls_node *symbols) {
    assert_int_equal(cls_graph_create(NULL, g, NULL), CLS_OK);
    for (size_t k = 0; k < SYMBOLS; k++) symbols[k] = cls_symbol(*g, (char[2]){(char)('a' + k), 0});
}

static cls_program *random_program(cls_graph *g, const cls_node *symbols, cls_random *r) {
    cls_node pool[SYMBOLS + 3 + OUTPUTS];
    size_t n = 0;
    for (size_t k = 0; k < SYMBOLS; k++) pool[n++] = symbols[k];
    for (size_t k = 0; k < 3; k++) pool[n++] = cls_constant(g, 3 * cls_random_normal(r));
    for (size_t k = 0; k < OUTPUTS; k++, n++) {
        size_t from = k % 3 ? SYMBOLS + 3 : n; /* shallow, so that most values are finite */
        pool[n] = random_node(g, r, pool[random_below(r, from)], pool[random_below(r, from)], 1);
    }
    cls_program *p;
    assert_int_equal(cls_program_create(g, SYMBOLS, symbols, OUTPUTS, pool + SYMBOLS + 3, &p, NULL),
                     CLS_OK);
    return p;
}

static int has_command(const char *word) {
    char command[64];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", word);
    return system(command) == 0;
}

static void same_bits(const char *compiler, uint64_t seed, int rounds) {
    cls_random r;
    cls_random_seed(&r, seed);
    for (int round = 0; round < rounds; round++) {
        cls_graph *g;
        cls_node symbols[SYMBOLS];
        open_graph(&g, symbols);
        cls_program *p = random_program(g, symbols, &r);
        char *text;
        compiled c;
        assert_int_equal(cls_program_emit_c(p, "model", &text, NULL), CLS_OK);
        compile(&c, compiler, text, "model");
        compare(p, &c, &r);
        dlclose(c.handle);
        cls_text_free(&text);
        cls_program_free(&p);
        cls_graph_free(&g);
    }
}

static void test_same_bits(void **state) {
    (void)state;
    if (!has_command("cc")) skip();
    same_bits("cc" STRICT, 11, 3);
}

/* The pragma must hold where the compiler would contract a*b + c. */
static void test_same_bits_contracting(void **state) {
    (void)state;
    if (!has_command("gcc")) skip();
    same_bits("gcc -std=gnu17 -O3 -march=native", 12, 1);
}

static void test_same_bits_clang(void **state) {
    (void)state;
    if (!has_command("clang")) skip();
    same_bits("clang" STRICT, 13, 1);
}

/* clang turns pow(2.0, x) into exp2(x) when it sees the 2; one result in a thousand differs. */
static void test_power_of_two(void **state) {
    (void)state;
    if (!has_command("clang")) skip();
    cls_graph *g;
    cls_node s[SYMBOLS];
    open_graph(&g, s);
    cls_node power = cls_pow(g, cls_constant(g, 2), s[0]);
    cls_program *p;
    char *text;
    compiled c;
    assert_int_equal(cls_program_create(g, SYMBOLS, s, 1, &power, &p, NULL), CLS_OK);
    assert_int_equal(cls_program_emit_c(p, "exponential", &text, NULL), CLS_OK);
    compile(&c, "clang" STRICT, text, "exponential");
    cls_random r;
    cls_random_seed(&r, 6);
    for (int round = 0; round < 100; round++) compare(p, &c, &r);
    dlclose(c.handle);
    cls_text_free(&text);
    cls_program_free(&p);
    cls_graph_free(&g);
}

/* Every function and every first quotient, with one constant argument too: compilers like to
 * evaluate those themselves, with other roundings than libm's. */
static void test_every_function(void **state) {
    (void)state;
    if (!has_command("cc")) skip();
    cls_graph *g;
    cls_node s[SYMBOLS], outputs[OUTPUTS];
    open_graph(&g, s);
    cls_random r;
    cls_random_seed(&r, 5);
    for (int part = 0; part < 2; part++) {
        for (int f = 0; f < CLS_FN_POWER; f++) {
            double c = 0.1 + 0.8 * cls_random_uniform(&r);
            outputs[f] =
                part ? cls_quotient(g, (cls_function)f, 1, 1 + f % 3, s[0], cls_constant(g, c), 0)
                     : cls_apply(g, (cls_function)f, s[f % SYMBOLS]);
        }
        outputs[CLS_FN_POWER] =
            cls_quotient(g, CLS_FN_POWER, 1, 1, s[0], cls_constant(g, 0.7), 2.3);
        cls_program *p;
        assert_int_equal(cls_program_create(g, SYMBOLS, s, CLS_FN_COUNT, outputs, &p, NULL),
                         CLS_OK);
        char *text;
        compiled c;
        assert_int_equal(cls_program_emit_c(p, "f", &text, NULL), CLS_OK);
        compile(&c, "cc" STRICT, text, "f");
        compare(p, &c, &r);
        dlclose(c.handle);
        cls_text_free(&text);
        cls_program_free(&p);
    }
    cls_graph_free(&g);
}

/* One kind of operation alone needs only a part of the kernels; the rest must not be warned of. */
static void test_each_kind_alone(void **state) {
    (void)state;
    if (!has_command("cc")) skip();
    cls_graph *g;
    cls_node s[SYMBOLS];
    open_graph(&g, s);
    cls_node kinds[] = {cls_pow(g, s[0], cls_constant(g, 3)), cls_pow(g, s[0], s[1]),
                        cls_apply(g, CLS_FN_SIN, s[0]),
                        cls_quotient(g, CLS_FN_EXP, 1, 1, s[0], s[1], 0)};
    cls_random r;
    cls_random_seed(&r, 7);
    for (size_t k = 0; k < 8; k++) {
        const char *compiler = k % 2 ? "clang" STRICT : "cc" STRICT;
        if (k % 2 && !has_command("clang")) continue;
        cls_program *p;
        char *text;
        compiled c;
        assert_int_equal(cls_program_create(g, SYMBOLS, s, 1, &kinds[k / 2], &p, NULL), CLS_OK);
        assert_int_equal(cls_program_emit_c(p, "f", &text, NULL), CLS_OK);
        compile(&c, compiler, text, "f");
        compare(p, &c, &r);
        dlclose(c.handle);
        cls_text_free(&text);
        cls_program_free(&p);
    }
    cls_graph_free(&g);
}

/* Outputs that are inputs or constants, infinite ones too, unused inputs, no outputs. */
static void test_corners(void **state) {
    (void)state;
    if (!has_command("cc")) skip();
    cls_graph *g;
    cls_node s[SYMBOLS];
    open_graph(&g, s);
    cls_node outputs[] = {s[1],
                          s[0],
                          cls_constant(g, INFINITY),
                          cls_constant(g, -INFINITY),
                          cls_constant(g, NAN),
                          cls_constant(g, -0.1),
                          cls_sub(g, s[0], cls_constant(g, -0.3))};
    cls_program *p;
    compiled c;
    char *text;
    assert_int_equal(cls_program_create(g, SYMBOLS, s, 7, outputs, &p, NULL), CLS_OK);
    assert_int_equal(cls_program_emit_c(p, "corner", &text, NULL), CLS_OK);
    assert_null(strstr(text, "clsi_")); /* plain arithmetic brings no kernels along */
    compile(&c, "cc" STRICT, text, "corner");
    double values[7] = {1.5, 2.5}; /* in place: inputs are read before outputs are written */
    c.run(values, values);
    const double expected[7] = {2.5, 1.5, INFINITY, -INFINITY, NAN, -0.1, 1.8};
    for (size_t k = 0; k < 7; k++)
        assert_true(values[k] == expected[k] || (isnan(values[k]) && isnan(expected[k])));
    dlclose(c.handle);
    cls_text_free(&text);
    cls_program_free(&p);
    for (int constant = 0; constant < 2; constant++) {
        assert_int_equal(cls_program_create(g, SYMBOLS, s, (size_t)constant, outputs + 5, &p, NULL),
                         CLS_OK);
        assert_int_equal(cls_program_emit_c(p, "nothing", &text, NULL), CLS_OK);
        compile(&c, "cc" STRICT, text, "nothing");
        dlclose(c.handle);
        cls_text_free(&text);
        cls_program_free(&p);
    }
    cls_graph_free(&g);
}

static void test_names(void **state) {
    (void)state;
    static const char *const bad[] = {"",    "1a",   "a-b",    "a b", "_x",       "int",      "sin",
                                      "pow", "main", "clsi_x", "a;",  "\xc3\xa9", "f(void){}"};
    static const char *const good[] = {"f", "model_2", "Residual", "in", "out", "r0", "sinus"};
    cls_graph *g;
    cls_node s[SYMBOLS];
    open_graph(&g, s);
    cls_program *p;
    char *text;
    cls_error error;
    assert_int_equal(cls_program_create(g, SYMBOLS, s, 1, s, &p, NULL), CLS_OK);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        text = (char *)p;
        assert_int_equal(cls_program_emit_c(p, bad[k], &text, &error), CLS_USAGE);
        assert_null(text);
        assert_non_null(strstr(error.message, bad[k]));
    }
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        assert_int_equal(cls_program_emit_c(p, good[k], &text, &error), CLS_OK);
        assert_non_null(strstr(text, good[k]));
        cls_text_free(&text);
    }
    cls_program_free(&p);
    cls_graph_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),       cmocka_unit_test(test_same_bits_contracting),
        cmocka_unit_test(test_same_bits_clang), cmocka_unit_test(test_power_of_two),
        cmocka_unit_test(test_every_function),  cmocka_unit_test(test_corners),
        cmocka_unit_test(test_names),           cmocka_unit_test(test_each_kind_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
