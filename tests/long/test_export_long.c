/* 100,000 steps of every built-in system by its default scheme and by those without equations, exported and compiled as a user would: the same bits as
 * the library, and not a word from the compiler. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/export/exported.h"

enum { STEPS = 100000, LEAST = 5000 };

static void same_bits(const char *name, const char *scheme) {
    cls_system *s;
    exported x;
    assert_int_equal(cls_system_load(name, NULL, &s, NULL), CLS_OK);
    if (scheme && cls_scheme_applies(scheme, s, NULL) != CLS_OK) {
        cls_system_free(&s);
        return;
    }
    exported_open(&x, s, NULL, scheme,
                  "gcc -std=c99 -O3 -fno-math-errno -pedantic -Wall -Wextra -Wconversion "
                  "-Wshadow -Werror");
    uint64_t made = exported_compare(&x, s, scheme, STEPS, 10);
    printf("%s%s%s: %llu steps, same bits\n", name, scheme ? " by " : "", scheme ? scheme : "",
           (unsigned long long)made);
    fflush(stdout);
    /* explicit steps of fields that have come to rest may be refused for the rounding of their entropy: where the
     * library refuses them */
    assert_true(made == STEPS || (scheme && made >= LEAST));
    exported_close(&x);
    cls_system_free(&s);
}

/* NULL: the default. */
static void every_system_by(const char *scheme, const char *only) {
    if (only) same_bits(only, scheme);
    for (size_t k = 0; !only && cls_builtin_name(k); k++)
        if (strcmp(cls_builtin_name(k), "brownian-particle") != 0) /* noise is not exported */
            same_bits(cls_builtin_name(k), scheme);
}

static void every_system(void **only) {
    every_system_by(NULL, *only);
}

static void every_system_by_lawful_rk4(void **only) {
    every_system_by("lawful-rk4", *only);
}

static void every_system_by_lawful_rk6(void **only) {
    every_system_by("lawful-rk6", *only);
}

static void every_system_by_lawful_rk8(void **only) {
    every_system_by("lawful-rk8", *only);
}

/* An argument: this system alone. */
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(every_system, argc > 1 ? argv[1] : NULL),
        cmocka_unit_test_prestate(every_system_by_lawful_rk4, argc > 1 ? argv[1] : NULL),
        cmocka_unit_test_prestate(every_system_by_lawful_rk6, argc > 1 ? argv[1] : NULL),
        cmocka_unit_test_prestate(every_system_by_lawful_rk8, argc > 1 ? argv[1] : NULL)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
