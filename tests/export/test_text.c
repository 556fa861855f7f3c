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
    assert_string_equal(text,
                        "\n#define CLSI_AT(nw, k) ((void)(nw), table[k])"
                        "\nint f(newton *nw) {\n  return 4 + CLSI_AT(nw, 1) > 0x1.8p-3;\n}\n");
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
                "    if (!CLSI_NO(x)) return;\n"
                "    if (x == CLSI_N_TANH) {\n        k();\n    } else {\n        l();\n    }\n"
                "    m();\n}\n",
                dead, "CLSI_N_TANH");
    assert_string_equal(text, "\nvoid f(int x) {\n  if (x > 2)\n    b();\n  for (;;) d();"
                              "\n  if (!0) return;\n  {\n    k();\n  }\n  m();\n}\n");
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_get_names), cmocka_unit_test(macros_are_numbers),
        cmocka_unit_test(branches_go), cmocka_unit_test(formulas_do_not_grow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
