/* Hostile text: mutations of valid files end in a system or in a sentence, never in a crash (the
 * sanitizer build watches). What is accepted must also show, start and give rows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include <clausius/random.h>
#include "system/system.h"

enum { ROUNDS = 3000 };

static const char *const pieces[] = {
    "\n",
    " ",
    "(",
    ")",
    "[",
    "]",
    ",",
    "\"",
    "#",
    "<-",
    "<->",
    ":",
    "=",
    "-inf",
    "1e999",
    "0",
    "v.x",
    "p.x",
    "T1",
    "S",
    "exp(",
    "unknown",
    "\n in",
    "\nlet",
    "\nstart",
    "v.",
    ".",
    "^",
    "x^x^x^",
    "\xff\xfe",
    "\t",
    "friction on",
    "heat exchange",
    "with temperature",
    "in (1, 2)",
    "lagrangian",
    "t",
    "--",
};

static char *mutate(cls_random *r, const char *text) {
    clsi_text t = {0};
    size_t length = strlen(text);
    size_t at = cls_random_next(r) % (length + 1), other = cls_random_next(r) % (length + 1);
    const char *piece = pieces[cls_random_next(r) % (sizeof pieces / sizeof *pieces)];
    size_t cut = cls_random_next(r) % 12;
    clsi_text_append_n(&t, text, at);
    switch (cls_random_next(r) % 4) {
    case 0: clsi_text_append(&t, piece); break;
    case 1: at = at + cut < length ? at + cut : length; break;
    case 2: clsi_text_append_n(&t, text + other, length - other < 40 ? length - other : 40); break;
    default:
        clsi_text_append(&t, piece);
        at = at + cut < length ? at + cut : length;
        break;
    }
    clsi_text_append(&t, text + at);
    return clsi_text_take(&t);
}

static void use(cls_system *s) {
    cls_error error = {0};
    double state[128], row[256];
    char *text = NULL;
    assert_true(cls_system_state_count(s) <= 128 && cls_system_column_count(s) <= 256);
    if (cls_system_start(s, NULL, state, &error) == CLS_OK)
        assert_int_equal(cls_system_row(s, 0, state, row, &error), CLS_OK);
    else
        assert_true(error.message[0] != 0);
    cls_status status = cls_system_show(s, 31, &text, &error);
    assert_true(status == CLS_OK ? text != NULL : error.message[0] != 0);
    cls_text_free(&text);
}

static void mutations_never_hurt(void **unused) {
    (void)unused;
    cls_random r;
    size_t accepted = 0, refused = 0;
    cls_random_seed(&r, 1865);
    for (int round = 0; round < ROUNDS; round++) {
        size_t k = cls_random_next(&r) % (cls_builtin_count() + 1);
        const char *text = k < cls_builtin_count() ? cls_builtin_text(k) : cls_template_text();
        char *changed = mutate(&r, text);
        for (size_t more = cls_random_next(&r) % 3; more && changed; more--) {
            char *again = mutate(&r, changed);
            free(changed);
            changed = again;
        }
        assert_non_null(changed);
        cls_system *s = NULL;
        cls_error error = {0};
        cls_status status = cls_system_parse(changed, "hostile", NULL, &s, &error);
        if (status == CLS_OK) {
            accepted++;
            use(s);
        } else {
            refused++;
            if (status != CLS_SYSTEM || s || strncmp(error.message, "hostile:", 8) != 0)
                fail_msg("status %d: %s\n%s", status, error.message, changed);
        }
        cls_system_free(&s);
        free(changed);
    }
    assert_true(accepted > ROUNDS / 20 && refused > ROUNDS / 20); /* both sides are exercised */
}

static void depth_and_size_are_bounded(void **unused) {
    (void)unused;
    cls_system *s = NULL;
    cls_error error = {0};
    clsi_text t = {0};
    clsi_text_append(&t, "coordinate x\nlagrangian v.x^2/2 - ");
    for (int i = 0; i < 5000; i++) clsi_text_append(&t, "(");
    assert_int_equal(cls_system_parse(t.data, "deep", NULL, &s, &error), CLS_SYSTEM);
    clsi_text_clear(&t);
    /* lets that double: 2^60 terms as text, 60 nodes as a graph */
    clsi_text_append(&t, "coordinate x\nlet a0 = x\n");
    for (int i = 1; i <= 60; i++) clsi_text_printf(&t, "let a%d = a%d*a%d + 1\n", i, i - 1, i - 1);
    clsi_text_append(&t, "lagrangian v.x^2/2 - 1/a60\nstart x = 0, v.x = 0\n");
    cls_status status = cls_system_parse(t.data, "wide", NULL, &s, &error);
    assert_true(status == CLS_OK || error.line > 0);
    cls_system_free(&s);
    clsi_text_clear(&t);
    /* a long sum */
    clsi_text_append(&t, "coordinate x\nlagrangian v.x^2/2 - (x");
    for (int i = 0; i < 8000; i++) clsi_text_append(&t, "+ x^2");
    clsi_text_append(&t, ")\n");
    status = cls_system_parse(t.data, "long", NULL, &s, &error);
    assert_true(status == CLS_OK || error.line > 0);
    cls_system_free(&s);
    clsi_text_clear(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutations_never_hurt),
        cmocka_unit_test(depth_and_size_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
