/* What becomes of the texts that exported C carries: numbers of the model in the place of macros, branches that
 * are never taken, numbers that get a name. That it computes the same: test_bits.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "export/programs.h"
#include "export/trim.h"
#include <clausius/clausius.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *named(const char *text) {
    clsi_text out = {0};
    assert_int_equal(clsi_name_constants(text, &out, NULL), CLS_OK);
    return clsi_text_take(&out);
}

static void numbers_get_names(void **unused) {
    (void)unused;
    char *text = named("static const double t[] = {0x1.8000000000001p+0, 0x1.8000000000001p+0};\n"
                       "static void f(double *out) {\n"
                       "  static const volatile double k0 = 0x1.8000000000001p+0;\n"
                       "  out[0] = 0x1.9000000000001p+0*x + 0x1.8000000000001p+0;\n"
                       "  out[1] = (-0x1.8000000000001p+0) + 0x1p-4 + 0x1p-4;\n}\n"
                       "static void g(double *out) {\n"
                       "  out[0] = 0x1.8000000000001p-1 + 0x1.a000000000001p+0;\n"
                       "  out[1] = f(0x1.a000000000001p+0);\n}\n");
    assert_string_equal(
        text, "static const double c0 = 0x1.8000000000001p+0, c1 = 0x1.a000000000001p+0;\n\n"
              "static const double t[] = {0x1.8000000000001p+0, 0x1.8000000000001p+0};\n"
              "static void f(double *out) {\n"
              "  static const volatile double k0 = 0x1.8000000000001p+0;\n"
              "  out[0] = 0x1.9000000000001p+0*x + c0;\n"
              "  out[1] = (-c0) + 0x1p-4 + 0x1p-4;\n}\n"
              "static void g(double *out) {\n"
              "  out[0] = 0x1.8000000000001p-1 + c1;\n"
              "  out[1] = f(c1);\n}\n");
    free(text);
    text = named("static void f(double *out) {\n  out[0] = 0x1.9000000000001p+0;\n}\n");
    assert_null(strstr(text, "c0"));
    free(text);
}

static char *trimmed(const char *text, const char *const *dead, const char *sure) {
    clsi_text out = {0};
    clsi_source_piece piece = {text, 0};
    assert_int_equal(clsi_trim_source(1, &piece, dead, sure, 0, NULL, &out, NULL), CLS_OK);
    return clsi_text_take(&out);
}

static const char *const nothing[] = {NULL};

static void macros_are_numbers(void **unused) {
    (void)unused;
    char *text = trimmed("#define CLSI_N(nw) ((void)(nw), 4)\n"
                         "#define CLSI_T(nw) ((void)(nw), 0x1.8p-3)\n"
                         "#define CLSI_AT(nw, k) ((void)(nw), table[k])\n"
                         "static int unused(int k) {\n    return CLSI_N(k);\n}\n"
                         "int f(newton *nw) {\n"
                         "    return CLSI_N(&nw->in(2)) + CLSI_AT(nw, 1) > CLSI_T(nw);\n}\n",
                         nothing, NULL);
    assert_string_equal(text, "\nint f(newton *nw) {\n  return 4 + table[1] > 0x1.8p-3;\n}\n");
    free(text);
    text = trimmed("#define CLSI_H(sim) ((sim)->h)\n#define CLSI_NONE(x)\n"
                   "#define CLSI_TIME(sim) ((sim)->t0 + (sim)->h)\n#define CLSI_SMALL 1e-3\n"
                   "double f(model *m) {\n    CLSI_NONE(m);\n"
                   "    return CLSI_H(m) + CLSI_H(&m->in) + CLSI_TIME(m) + CLSI_SMALL;\n}\n",
                   nothing, NULL);
    assert_string_equal(text,
                        "\n#define CLSI_TIME(sim) ((sim)->t0 + (sim)->h)\n#define CLSI_SMALL 1e-3"
                        "\ndouble f(model *m) {\n"
                        "  return m->h + (&m->in)->h + CLSI_TIME(m) + CLSI_SMALL;\n}\n");
    free(text);
}

static void expect_folded(const char *from, const char *to) {
    char *text = trimmed(from, nothing, NULL);
    assert_string_equal(text, to);
    free(text);
}

static void numbers_are_computed(void **unused) {
    (void)unused;
    expect_folded(
        "int f(int i) {\n    return a[1 + 4 + i] + g(2 * (3 + 1), !0, 4 > 2, 0 ? i : 7);\n}\n",
        "\nint f(int i) {\n  return a[5 + i] + g(8, 1, 1, 7);\n}\n");
    /* what is not a number alone, or is arithmetic of the model, stays */
    expect_folded(
        "double f(int i, double x) {\n"
        "    return i - 4 + 4 + x * 2 + 1 / 2 + (i == 0 && x > 1 ? 2.0 * 3 : -2 * x);\n}\n",
        "\ndouble f(int i, double x) {\n"
        "  return i - 4 + 4 + x * 2 + 1 / 2 + (i == 0 && x > 1 ? 2.0 * 3 : -2 * x);\n}\n");
    expect_folded("int f(int i) {\n    if (0 && g(i)) h();\n    if (1 || g(i)) k();\n"
                  "    return i && 1;\n}\n",
                  "\nint f(int i) {\n  k();\n  return i;\n}\n");
    expect_folded("static const int t[3] = {7, 8, 9};\nenum { LAST = 2 };\n"
                  "int f(int i) {\n    return t[LAST] + t[i];\n}\n",
                  "\nstatic const int t[3] = {7, 8, 9};\nint f(int i) {\n  return 9 + t[i];\n}\n");
}

static void names_that_keep_a_number_go(void **unused) {
    (void)unused;
    expect_folded(
        "void f(double *x) {\n    int n = 4, k = 2;\n    double one = 1, y = 0;\n"
        "    for (int i = 0; i < n; i++) x[i] = one / k;\n    k++;\n    y += x[0];\n    g(y);\n}\n",
        "\nvoid f(double *x) {\n  int k = 2;\n  double one = 1, y = 0;\n"
        "  for (int i = 0; i < 4; i++) x[i] = one / k;\n  k++;\n  y += x[0];\n  g(y);\n}\n");
    /* a call may do something; an address may be written to */
    expect_folded(
        "void f(void) {\n    int a = g(), b = 3, unused = 5;\n    double room[4];\n    h(&b);\n}\n",
        "\nvoid f(void) {\n  int a = g(), b = 3;\n  h(&b);\n}\n");
}

static void functions_go(void **unused) {
    (void)unused;
    expect_folded("static void put(const model *m) {\n    (void)m;\n"
                  "    for (int k = 0; k < 0; k++) m->in[k] = 1;\n}\n"
                  "static int check(const model *m) {\n    (void)m;\n    return 1;\n}\n"
                  "static double sum(int n, int unused, const double *x) {\n"
                  "    if (n > 2) return x[0];\n    return x[n];\n}\n"
                  "static double total(const double *x) {\n    return sum(4, 1, x);\n}\n"
                  "double f(model *m) {\n    put(m);\n    if (!check(m)) return 0;\n    return "
                  "total(m->in);\n}\n",
                  "\nstatic double sum(const double *x) {\n  return x[0];\n}\n"
                  "double f(model *m) {\n  return sum(m->in);\n}\n");
    /* called with different numbers, or with what does something */
    expect_folded("static int g(int n, int unused) {\n    return h(n);\n}\n"
                  "int f(void) {\n    return g(1, h(2)) + g(2, h(3));\n}\n",
                  "\nstatic int g(int n, int unused) {\n  return h(n);\n}\n"
                  "int f(void) {\n  return g(1, h(2)) + g(2, h(3));\n}\n");
}

static void prefixes_go(void **unused) {
    (void)unused;
    clsi_text out = {0};
    assert_int_equal(
        clsi_shorten_source("static int clsi_row(int k) {\n  return k;\n}\n"
                            "enum { CLSI_FINE, CLSI_DOMAIN };\n"
                            "static int clsi_given_next(int row) {\n"
                            "  return clsi_row(row) + CLSI_FINE +\n    clsi_new + clsi_gas_x;\n}\n"
                            "const char *t = \"clsi_row\";\n",
                            "gas", &out, NULL),
        CLS_OK);
    char *text = clsi_text_take(&out);
    assert_string_equal(text, "static int clsi_row(int k) {\n\treturn k;\n}\n"
                              "enum { FINE, CLSI_DOMAIN };\n"
                              "static int next(int row) {\n"
                              "\treturn clsi_row(row) + FINE + clsi_new + clsi_gas_x;\n}\n"
                              "const char *t = \"clsi_row\";\n");
    free(text);
}

static void branches_go(void **unused) {
    (void)unused;
    static const char *const dead[] = {"CLSI_K_SIN", NULL};
    char *text =
        trimmed("#define CLSI_NO(nw) ((void)(nw), 0)\n"
                "#define CLSI_TEN(nw) ((void)(nw), 10)\n"
                "void f(int x) {\n"
                "    if (CLSI_NO(x))\n        a();\n"
                "    else if (x > 2)\n        b();\n"
                "    if (!CLSI_TEN(x)) {\n        c();\n    }\n"
                "    if (CLSI_TEN(x))\n        for (;;) d();\n"
                "    else if (x)\n        e();\n    else\n        g();\n"
                "    if (x == CLSI_K_SIN) h();\n"
                "    if (CLSI_NO(x)) return;\n"
                "    if (x == CLSI_N_TANH) {\n        k();\n    } else {\n        l();\n    }\n"
                "    m();\n}\n",
                dead, "CLSI_N_TANH");
    assert_string_equal(text, "\nvoid f(int x) {\n  if (x > 2)\n    b();\n  for (;;) d();"
                              "\n  k();\n  m();\n}\n");
    free(text);
}

/* Letters of exported C that are not in tables. */
static size_t formulas_of(const char *name, double cells) {
    char directory[] = "/tmp/clausius-text-XXXXXX", path[64], command[64];
    cls_system *s;
    cls_export_options o = cls_export_defaults();
    const char *const N = "N";
    const cls_assignments set = {.n = 1, .names = &N, .values = &cells};
    o.prefix = "rod";
    assert_non_null(mkdtemp(directory));
    assert_int_equal(cls_system_load(name, &set, &s, NULL), CLS_OK);
    assert_int_equal(cls_export("c", s, NULL, &o, directory, NULL, NULL), CLS_OK);
    cls_system_free(&s);
    snprintf(path, sizeof path, "%s/rod.c", directory);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = 0;
    int c, before = 0, table = 0;
    while ((c = fgetc(f)) != EOF) {
        if (c == '{' && before == '=') table = 1;
        n += !table;
        if (c == '}') table = 0;
        if (c != ' ') before = c;
    }
    (void)fclose(f);
    snprintf(command, sizeof command, "rm -rf %s", directory);
    assert_int_equal(system(command), 0);
    return n;
}

/* A rod of eight times the cells has the same formulas, in loops of eight times the length. */
static void formulas_do_not_grow(void **unused) {
    (void)unused;
    size_t few = formulas_of("heat-rod", 50), many = formulas_of("heat-rod", 400);
    if (!(many <= few + few / 10))
        fail_msg("50 cells have %zu letters of formulas, 400 have %zu", few, many);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_get_names),
                                       cmocka_unit_test(macros_are_numbers),
                                       cmocka_unit_test(branches_go),
                                       cmocka_unit_test(numbers_are_computed),
                                       cmocka_unit_test(names_that_keep_a_number_go),
                                       cmocka_unit_test(functions_go),
                                       cmocka_unit_test(prefixes_go),
                                       cmocka_unit_test(formulas_do_not_grow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
