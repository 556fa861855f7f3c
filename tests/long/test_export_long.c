/* 100,000 steps of every built-in system, exported and compiled as a user would: the same bits as
 * the library, and not a word from the compiler. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/export/exported.h"

enum { STEPS = 100000 };

static void every_system(void **unused) {
    (void)unused;
    for (size_t k = 0; cls_builtin_name(k); k++) { /* fields in space stand behind the others */
        cls_system *s;
        exported x;
        assert_int_equal(cls_system_load(cls_builtin_name(k), NULL, &s, NULL), CLS_OK);
        exported_open(&x, s, NULL, NULL,
                      "gcc -std=c99 -O3 -fno-math-errno -pedantic -Wall -Wextra -Wconversion "
                      "-Wshadow -Werror");
        uint64_t made = exported_compare(&x, s, NULL, STEPS, 10);
        printf("%s: %llu steps, same bits\n", cls_system_name(s), (unsigned long long)made);
        fflush(stdout);
        assert_int_equal(made, STEPS);
        exported_close(&x);
        cls_system_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_system)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
