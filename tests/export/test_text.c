/* What becomes of the texts that exported C carries: numbers of the model in the place of macros, branches that
 * are never taken, numbers that get a name. That it computes the same: test_bits.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "export/programs.h"
#include "export/trim.h"
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_get_names),
                                       cmocka_unit_test(macros_are_numbers),
                                       cmocka_unit_test(branches_go)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
