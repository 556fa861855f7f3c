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
    "{",
    "}",
    ";",
    "\nconnect a.x, b.y",
    "\nuse cell as z",
    "component c(p) {\n",
    "entropy ",
    " along p - q on s",
    " of e.p, log(e.s)",
    "{q, p} = ",
    "\node x' = ",
    "\ninclude \"x\"",
    "resistive r(p, entropy s): ",
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

/* Texts that every kind of statement about components occurs in. */
static const char components[] =
    "parameter k = 2\ncomponent cell(p, out [m], entropy s) {\n    parameter m = 1, c = k*m\n"
    "    storage mass(p): p^2/(2*m)\n    storage spring(q): c*q^2/2\n"
    "    junction between(q, p, out): {q, p} = -1,\n        {q, out} = 1 + q*0\n"
    "    resistive rub(p, out, entropy s): 1 along p - out; k*e.p^2 along 2*p\n"
    "    connect mass.p, between.p, rub.p, p\n    connect spring.q, between.q\n"
    "    connect between.out, rub.out, out\n    connect rub.s, s\n}\nuse cell as left: m = 3*k\n"
    "use cell as right\nconnect left.out, right.p\nstorage wall(x [m]): x^2/1000\n"
    "connect right.out, wall.x, gear.a\ntransformer gear(a, b): 3\nconnect gear.b, load.x, pull.x\n"
    "resistive load(x, entropy s): unknown network(4) of e.x, log(e.s)\nexternal pull(x): sin(t)\n"
    "environment air(entropy s, V): 300, 1e5\nstorage tank(V): V^2\ngyrator door(V, W): 1\n"
    "connect air.V, door.V\nconnect tank.V, door.W\nconnect left.s, right.s, air.s, load.s\n"
    "storage knob(y): y^2\ngyrator grip(y, p): 2\nconnect knob.y, grip.y\n"
    "connect left.p, grip.p\noutput u = right_q\n";

static const char *any_text(cls_random *r) {
    size_t k = cls_random_next(r) % (cls_builtin_count() + 6);
    if (k > cls_builtin_count()) return components;
    return k < cls_builtin_count() ? cls_builtin_text(k) : cls_template_text();
}

static void mutations_never_hurt(void **unused) {
    (void)unused;
    cls_random r;
    size_t accepted = 0, refused = 0;
    cls_random_seed(&r, 1865);
    for (int round = 0; round < ROUNDS; round++) {
        char *changed = mutate(&r, any_text(&r));
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
    cls_system *s = NULL;
    assert_int_equal(cls_system_parse(components, "components", NULL, &s, NULL), CLS_OK);
    cls_system_free(&s);
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
