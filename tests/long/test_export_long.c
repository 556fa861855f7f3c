/* 100,000 steps of every built-in system, exported and compiled as a user would: the same bits as
 * the library, and not a word from the compiler. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/export/exported.h"

enum { STEPS = 100000 };

static void same_bits(const char *name) {
    cls_system *s;
    exported x;
    assert_int_equal(cls_system_load(name, NULL, &s, NULL), CLS_OK);
    exported_open(&x, s, NULL, NULL,
                  "gcc -std=c99 -O3 -fno-math-errno -pedantic -Wall -Wextra -Wconversion "
                  "-Wshadow -Werror");
    uint64_t made = exported_compare(&x, s, NULL, STEPS, 10);
    printf("%s: %llu steps, same bits\n", name, (unsigned long long)made);
    fflush(stdout);
    assert_int_equal(made, STEPS);
    exported_close(&x);
    cls_system_free(&s);
}

static void every_system(void **only) {
    if (*only) same_bits(*only);
    for (size_t k = 0; !*only && cls_builtin_name(k); k++)
        if (strcmp(cls_builtin_name(k), "brownian-particle") != 0) /* noise is not exported */
            same_bits(cls_builtin_name(k));
}

/* An argument: this system alone. */
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(every_system, argc > 1 ? argv[1] : NULL)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
