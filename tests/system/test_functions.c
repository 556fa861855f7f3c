/* Functions of a file: written out where they have a formula, one thing in many places where not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/base.h"
#include "system/system.h"

static cls_system *parse(const char *text) {
    cls_system *s = NULL;
    cls_error error = {0};
    if (cls_system_parse(text, "a", NULL, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    return s;
}

#define REST "coordinate x, y\nparameter k = 2\nlet far = y - x\n"

static void a_formula_is_written_out(void **unused) {
    (void)unused;
    cls_system *a =
        parse(REST "function V(d) = k*d^2/2 + far\nfunction W(x, y) = V(x - y) + V(y)*x\n"
                   "hamiltonian H = (p.x^2 + p.y^2)/2 + W(y, 2*x) + V(far)\n");
    cls_system *b = parse(REST "hamiltonian H = (p.x^2 + p.y^2)/2 + ((k*(y - 2*x)^2/2 + far) + "
                               "(k*(2*x)^2/2 + far)*y) + (k*far^2/2 + far)\n");
    char *one = cls_print(a->g, a->form->energy), *two = cls_print(b->g, b->form->energy);
    assert_string_equal(one, two);
    assert_int_equal(a->n_uses, 0);
    cls_text_free(&one);
    cls_text_free(&two);
    cls_system_free(&a);
    cls_system_free(&b);
}

/* V is unknown; W has a formula of it, so that V is used at x, at y, at far (once) and at x + 1. */
static void places_of_an_unknown_function(void **unused) {
    (void)unused;
    cls_system *s =
        parse(REST "function V(d) = unknown chebyshev(4) of d^2\n"
                   "function W(a) = V(a) + V(far)\n"
                   "coefficient g(v, z) = unknown\nentropy s\n"
                   "hamiltonian H = (p.x^2 + p.y^2)/2 + W(x) + W(y) + V(x + 1) + exp(s)\n"
                   "friction on s: x <- -g(v.x, x)*v.x\n");
    assert_int_equal(s->n_functions, 3);
    assert_int_equal(s->n_unknown, 2);
    assert_string_equal(s->unknown_of[0], "d^2");
    const char *const places[] = {"V(x)", "V(far)", "V(y)", "V(x + 1)", "g(v.x, x)"};
    assert_int_equal(s->n_uses, 5);
    for (size_t i = 0; i < 5; i++) assert_string_equal(s->lets[s->uses[i].let].name, places[i]);
    char *far = cls_print(s->g, s->uses[1].args[0]);
    assert_string_equal(far, "y - x");
    cls_text_free(&far);
    cls_system_free(&s);
}

static void refused(const char *text, const char *why) {
    cls_system *s = NULL;
    cls_error error = {0};
    assert_int_equal(cls_system_parse(text, "a", NULL, &s, &error), CLS_SYSTEM);
    assert_null(s);
    if (!strstr(error.message, why)) fail_msg("expected '%s' in: %s", why, error.message);
}

#define TAIL "hamiltonian H = (p.x^2 + p.y^2)/2 + V(x)\n"

static void mistakes_are_named(void **unused) {
    (void)unused;
    refused(REST "function V = x^2\n" TAIL, "a:4:12: a function has arguments");
    refused(REST "function V() = x^2\n" TAIL, "expected the name of an argument of `V`");
    refused(REST "function V(d, d) = d^2\n" TAIL, "`d` is an argument twice");
    refused(REST "function V(k) = k^2\n" TAIL, "`k` has a meaning in the whole file");
    refused(REST "function V(d, e) = d*e\n" TAIL, "V takes 2 arguments, got 1");
    refused(REST "function V(d) = V(d - 1)\n" TAIL, "'V'");
    refused(REST "function V(d) = zz^2\n" TAIL, "unknown name 'zz'");
    refused(REST "function V(d) = unknown\nhamiltonian H = (p.x^2 + p.y^2)/2\n",
            "`V` is unknown and nothing uses it");
    refused(REST "function V(d) = unknown\nhamiltonian H = p.x^2/2 + V\n", "needs its argument");
    refused(REST "function V(d) = d\nfunction V(e) = e\n" TAIL, "`V` is already");
    refused(REST "function sin(d) = d\n" TAIL, "`sin` is reserved");
    refused(REST "function V(d) = unknown of z\n" TAIL, "unknown name 'z'");
}

/* Functions of functions of functions double at each level: refused before the memory ends. */
static void no_explosion(void **unused) {
    (void)unused;
    clsi_text t = {0};
    clsi_text_append(&t, "coordinate x\nfunction f0(d) = unknown\n");
    for (int i = 1; i < 60; i++)
        clsi_text_printf(&t, "function f%d(d) = f%d(d + 1) + f%d(d - 1)\n", i, i - 1, i - 1);
    clsi_text_append(&t, "hamiltonian H = p.x^2/2 + f59(x)\n");
    refused(t.data, "functions use functions too often");
    clsi_text_clear(&t);
}

/* Each use of an unknown function adds a name to the list that the reader of the formula looks at for
 * the nearest one: the list may move. */
static void a_mistake_behind_many_uses(void **unused) {
    (void)unused;
    for (int uses = 1; uses < 80; uses += 3) {
        clsi_text t = {0};
        clsi_text_append(&t, "coordinate x\nfunction V(d) = unknown\nhamiltonian H = p.x^2/2");
        for (int i = 0; i < uses; i++) clsi_text_printf(&t, " + V(x + %d)", i);
        clsi_text_append(&t, " + p.xx\n");
        refused(t.data, "unknown name 'p.xx'; did you mean p.x?");
        clsi_text_clear(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_formula_is_written_out), cmocka_unit_test(places_of_an_unknown_function),
        cmocka_unit_test(mistakes_are_named), cmocka_unit_test(no_explosion),
        cmocka_unit_test(a_mistake_behind_many_uses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
