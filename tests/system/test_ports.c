/* Components: what they become, and every mistake of wiring with the place and the ports it names.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/base.h"
#include "system/ports.h"

#define SPRING "storage spring(q): q^2/2\n"
#define MASS   "storage mass(p): p^2/2\n"
#define LINK   "gyrator link(q, p): 1\n"
#define JOIN_Q "connect spring.q, link.q\n"
#define JOIN_P "connect mass.p, link.p\n"
#define AIR    "environment air(entropy s): 300\n"
#define WHOLE  SPRING MASS LINK JOIN_Q JOIN_P /* 5 lines */

static const struct {
    const char *text;
    int line, column; /* 0: not checked */
    const char *says;
} mistakes[] = {
    /* components that are one component */
    {WHOLE "component kind(a): storge a^2", 6, 20, "expected the kind of component `kind`"},
    {WHOLE "component kind: storage unknown", 6, 11, "component `kind` has no ports"},
    {WHOLE "component kind(a): storage a^2\nuse kind as one: k = 1", 7, 16,
     "has no parameters to set"},
    {MASS LINK JOIN_P AIR "component kind(q): storage q^2\nuse kind as spring\n" JOIN_Q
                          "component d(p, entropy s): resistive matrix unknown\n"
                          "use d as one\nconnect mass.p, one.p\nconnect air.s, one.s",
     8, 37, "the unknown matrix of `d` cannot be shared"},
    /* open ports */
    {SPRING MASS LINK JOIN_P, 1, 16, "the port `spring.q` is open"},
    {WHOLE "resistive damper(p, entropy s): 1\n" AIR "connect air.s, damper.s", 6, 18,
     "`damper.p` is open"},
    /* two storages on one port, directly and through a transformer */
    {SPRING "storage other(x): unknown\ngyrator g(a, b): 1\n" MASS
            "connect spring.q, other.x, g.a\nconnect mass.p, g.b",
     2, 15,
     "`spring.q` and `other.x` have one effort (dependent storages), and the energy of `other` is "
     "not a formula with a second derivative in `x`"},
    {MASS "storage wheel(l): 2*l\ntransformer gear(a, b): 2\nconnect mass.p, gear.a\n"
          "connect wheel.l, gear.b",
     2, 15, "the energy of `wheel` is not a formula with a second derivative in `l`"},
    {MASS "storage wheel(l): l^2\ntransformer gear(a, b): 2 + a\nconnect mass.p, gear.a\n"
          "connect wheel.l, gear.b",
     3, 13, "both sides of the transformer"},
    {"storage one(entropy s): exp(s)\nstorage two(entropy r with temperature Tr): exp(r)\n"
     "connect one.s, two.r",
     2, 21, "both set the effort of one junction"},
    /* algebraic loops */
    {WHOLE AIR "resistive r(a, entropy s): 1\ntransformer t(a, b): 2\n"
               "transformer u(a, b): 2\nconnect r.a, t.a, u.a\nconnect t.b, u.b\n"
               "connect air.s, r.s",
     7, 13, "algebraic loop"},
    {WHOLE AIR "resistive r(a, entropy s): 1\nexternal x(a): 1\nconnect r.a, x.a\n"
               "connect air.s, r.s",
     7, 13, "where r.a, x.a meet"},
    /* what does not fit */
    {WHOLE AIR "connect mass.p, air.s", 7, 17, "`mass.p` and `air.s` do not fit"},
    {"storage a(x [m]): x^2\nstorage b(y): y^2\ngyrator g(u [kg], w): 1\nconnect a.x, g.u\n"
     "connect b.y, g.w",
     4, 14, "`a.x` [m] and `g.u` [kg]"},
    /* names */
    {WHOLE "connect spring.q, link.r", 6, 19, "no port is called `link.r` (did you mean"},
    {SPRING MASS LINK JOIN_Q "connect mas.p, link.p", 5, 9,
     "`mas.p` (did you mean `mass.p`?); there are spring.q, mass.p, link.q, link.p"},
    {SPRING "storge mass(p): p^2/2\n" LINK JOIN_Q JOIN_P, 2, 1,
     "no component begins with `storge`; did you mean `storage`?"},
    {WHOLE "start q = 1, w = 2", 6, 14, "found `w`; there are q, p.q"},
    {WHOLE "connect spring.q", 6, 8, "two ports or more"},
    {WHOLE "connect spring.q,", 6, 0, "expected a port"},
    {WHOLE SPRING, 6, 9, "a second component `spring`"},
    {"storage spring(q, q): q^2", 1, 19, "a second port `q`"},
    {"storage spring q: q^2", 1, 16, "expected `(`"},
    {"storage spring(q) q^2", 1, 19, "expected `:`"},
    {"storage (q): q^2", 1, 9, "expected a name"},
    {"storage spring(q [m): q^2\n", 1, 19, "closing `]`"},
    /* shapes */
    {WHOLE "gyrator g(a): 1", 6, 9, "two ports"},
    {WHOLE "junction j(a, entropy b): {a, b} = 1", 6, 10, "none of them an entropy"},
    {WHOLE "resistive r(a): 1", 6, 11, "makes heat and needs a port for it"},
    {WHOLE "environment e(x, y, z): 1", 6, 13, "needs an entropy"},
    {WHOLE "external u(entropy s): 1", 6, 10, "not an entropy"},
    {WHOLE "junction j(a, b): {a, c} = 1\nconnect j.a, spring.q\nconnect j.b, mass.p", 6, 23,
     "expected a port of `j`"},
    {SPRING "junction j(a, b): {a, b} = 1\nconnect j.a, j.b, spring.q", 2, 0,
     "belong to one state"},
    {WHOLE "storage box(entropy heat): exp(heat)\nresistive r(p, entropy s): 1\n"
           "connect r.s, box.heat\nconnect r.p, mass.p",
     6, 21, "needs a name for its temperature"},
    /* terms */
    {WHOLE AIR "storage m2(r): r^2\nresistive c(a, b, entropy s): 1\nconnect c.a, mass.p\n"
               "connect c.b, m2.r\nconnect c.s, air.s",
     8, 31, "along a - b"},
    {WHOLE AIR "resistive c(a, entropy s): 1 along a - b\nconnect c.a, mass.p\nconnect c.s, air.s",
     7, 40, "expected a port of `c`"},
    {WHOLE AIR "resistive c(a, entropy s): 1 on a\nconnect c.a, mass.p\nconnect c.s, air.s", 7, 33,
     "is not an entropy"},
    {WHOLE AIR "resistive c(a, entropy s): 1 of e.a\nconnect c.a, mass.p\nconnect c.s, air.s", 7,
     30, "`of` names the inputs of what is `unknown`"},
    /* matrices */
    {WHOLE AIR "resistive c(a, entropy s): matrix\nconnect c.a, mass.p\nconnect c.s, air.s", 7, 34,
     "expected `unknown` or `{a, a} = ...` after `matrix`"},
    {WHOLE AIR "resistive c(a, entropy s): unknown matrix\nconnect c.a, mass.p\n"
               "connect c.s, air.s",
     7, 28, "`matrix` comes first"},
    {WHOLE AIR "resistive c(a, entropy s): matrix {a, s} = 1\nconnect c.a, mass.p\n"
               "connect c.s, air.s",
     7, 35, "`s` takes what the other ports leave of the energy"},
    {WHOLE AIR "resistive c(a, entropy s): matrix {a, a} = 1, {a, a} = 2\nconnect c.a, mass.p\n"
               "connect c.s, air.s",
     7, 47, "a second entry {a, a}"},
    {WHOLE AIR "resistive c(a, entropy s): matrix {a, b} = 1\nconnect c.a, mass.p\n"
               "connect c.s, air.s",
     7, 39, "expected a port of `c` (a, s)"},
    {WHOLE AIR "resistive c(a, entropy s): matrix unknown on a\nconnect c.a, mass.p\n"
               "connect c.s, air.s",
     7, 0, "is not an entropy"},
    {WHOLE AIR "resistive c(a, entropy s): matrix {a, a} = 1 of e.a\nconnect c.a, mass.p\n"
               "connect c.s, air.s",
     7, 46, "`of` names the inputs of what is `unknown`"},
    {WHOLE AIR "resistive c(a, entropy s): matrix unknown of e.b\nconnect c.a, mass.p\n"
               "connect c.s, air.s",
     7, 46, "`c` has no port `b`; its ports are a, s"},
    /* formulas are complained about where they stand */
    {"storage spring(q): q^2*kk\n" MASS LINK JOIN_Q JOIN_P, 1, 24, "kk"},
    {SPRING "storage mass(p): p^2/(2*)\n" LINK JOIN_Q JOIN_P, 2, 25, ""},
    {WHOLE AIR "resistive c(a, entropy s): 1 + e.b\nconnect c.a, mass.p\nconnect c.s, air.s", 7, 32,
     "`c` has no port `b`"},
    {WHOLE "parameter spring = 1", 1, 9, "declared in line 6"},
    {WHOLE "coordinate x", 6, 1, "does not stand in a file of components"},
    {WHOLE "start q = 1, p = z", 6, 18, "z"},
    {WHOLE "connnect spring.q, mass.p", 6, 1, "no statement begins with `connnect`"},
    /* composites */
    {"component c(r, p) {\n    storage m(p): p^2\n    connect m.p, p\n}\nuse c as one\n", 1, 13,
     "the port `r` is open inside"},
    {"component c(p) {\n    storage m(p): p^2\n}\nuse c as one\n", 2, 15,
     "the port `one_m.p` is open"},
    {"component c(p) {\n    storage m(p): p^2\n    connect m.p, p\n}\nuse c as one\n", 5, 10,
     "the port `one.p` is open"},
    {"component cell(p) {\n    storage m(p): p^2\n    connect m.p, p\n}\nuse cel as one\n", 5, 5,
     "no component is called `cel`: did you mean `cell`"},
    {"component c(p) {\n    storage m(p): p^2\n    connect m.p, p\n", 1, 11, "no closing `}`"},
    {"component c(p) {\n    storage m(p): p^2\n    step 1\n}\nuse c as one", 3, 5,
     "inside a component stand"},
    {"component c(p) {\n    use c as d\n    connect d.p, p\n}\nuse c as one", 0, 0,
     "does one use itself"},
    {"component c(p) {\n    storage m(p): p^2/k\n    connect m.p, p\n}\nuse c as one\n" SPRING
     "gyrator l(q, p): 1\nconnect spring.q, l.q\nconnect one.p, l.p",
     2, 23, "k"},
    {"component c(p) {\n    parameter k = 1\n    storage m(p): p^2/k\n    connect m.p, p\n}\n"
     "use c as one: j = 2\n" SPRING "gyrator l(q, p): 1\nconnect spring.q, l.q\nconnect one.p, l.p",
     6, 15, "expected a parameter of the component `one` = value; there are k"},
    /* matrices */
    {SPRING MASS "dirac d(a, b): J = [0, 1; 1, 0]", 3, 7, "rows 1 and 2 make or take power"},
    {SPRING MASS "dirac d(a, b): J = [0, 1; -1]", 3, 0, "2 rows of 2 entries"},
    {SPRING MASS "dirac d(a, b): J = [0, 1, 2; -1, 0, 0]", 3, 0, "2 rows of 2 entries"},
    {SPRING MASS "dirac d(a, b): J = [0, 1; -1, 0", 3, 0, "no closing `]`"},
    {SPRING MASS "dirac d(a, b): J = [0, 1; -1, ]", 3, 0, "an entry of the matrix is empty"},
    {SPRING MASS "dirac d(a, b): K = [0, 1; -1, 0]", 3, 16, "`J = [...]` says f = J e"},
    {SPRING MASS "dirac d(a, b): F = [1, 0; 0, 1]", 3, 0, "expected `,`"},
    {SPRING MASS "parameter r = 1\ndirac d(a, b): F = [r, 0; 0, 1], E = [0, 1; -1, 0]", 4, 15,
     "entries of F are numbers"},
    {SPRING MASS "dirac d(a, b): F = [1, 0; 0, 0], E = [0, 0; 0, 0]", 3, 7, "of no port"},
    {SPRING MASS
     "dirac d(a, b, c): F = [1, -1, 0; 1, 0, -1; 0, 0, 0], E = [0, 0, 0; 0, 0, 0; 1, 1, 1]",
     3, 7, "ties the efforts e.a, e.b, e.c"},
    {SPRING MASS "dirac d(a, b, c): J = [0, 1, 0; -1, 0, 0; 0, 0, 0]", 3, 7,
     "nothing flows at the port `c`"},
    {SPRING MASS "dirac d(a, entropy s): J = [0, 1; -1, 0]", 3, 7, "ports without entropy"},
    {SPRING MASS "dirac d(a): J = [0]", 3, 7, "two ports or more"},
    {SPRING MASS "dirac d(a, b): J = [0, 1; -1, 0]\nconnect spring.q, d.a", 0, 0, "is open"},
    /* files */
    {"include \"nowhere.clausius\"", 1, 9, "nowhere.clausius: cannot open"},
    {"include nowhere", 1, 9, "expected `\"`"},
    {"use \"damper.safetensors\" as damper", 1, 5, "load the file as a model"},
    {"use \"damper.safetensors\"", 1, 25, "expected `as`"},
};

static void names_the_place(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        cls_system *s = NULL;
        cls_error e = {0};
        cls_status status = cls_system_parse(mistakes[i].text, "bad.clausius", NULL, &s, &e);
        int right = status == CLS_SYSTEM && !s && strstr(e.message, mistakes[i].says) &&
                    (!mistakes[i].line || e.line == mistakes[i].line) &&
                    (!mistakes[i].column || e.column == mistakes[i].column);
        if (!right)
            fail_msg("mistake %zu (%s):\n%s\nexpected %d:%d %s", i, mistakes[i].text, e.message,
                     mistakes[i].line, mistakes[i].column, mistakes[i].says);
        cls_system_free(&s);
    }
}

static cls_system *parse(const char *text) {
    cls_system *s = NULL;
    cls_error e = {0};
    if (cls_system_parse(text, "good.clausius", NULL, &s, &e) != CLS_OK) fail_msg("%s", e.message);
    return s;
}

static double energy_at_start(const cls_system *s) {
    double z[16], row[64];
    cls_error e = {0};
    size_t k = 0;
    assert_int_equal(cls_system_start(s, NULL, z, &e), CLS_OK);
    assert_int_equal(cls_system_row(s, 0, z, row, &e), CLS_OK);
    while (strcmp(cls_system_column(s, k), "energy") != 0) k++;
    return row[k];
}

/* A gyrator of ratio 1 makes a coordinate; any other link makes a bracket. */
static void pairs_become_coordinates(void **state) {
    (void)state;
    cls_system *s = parse(WHOLE "start q = 1, p = 2");
    assert_int_equal(s->nq, 1);
    assert_int_equal(s->n, 1);
    assert_true(s->canonical);
    assert_string_equal(cls_system_state_name(s, 1), "p.q");
    assert_true(fabs(energy_at_start(s) - 2.5) < 1e-15);
    cls_system_free(&s);
    s = parse(SPRING MASS "gyrator link(q, p): 3\n" JOIN_Q JOIN_P);
    assert_int_equal(s->nq, 0);
    assert_int_equal(s->n, 2);
    assert_true(cls_is_constant(s->g, clsi_sparse_at(s->g, &s->bound.poisson, 0, 1), 3));
    assert_true(cls_is_constant(s->g, clsi_sparse_at(s->g, &s->bound.poisson, 1, 0), -3));
    cls_system_free(&s);
}

/* e_b = n e_a: a damper behind a gear of ratio n is a damper n^2 d. */
/* A start may call a momentum as its storage does, in the file and from outside. */
static void momenta_keep_their_names(void **state) {
    (void)state;
    cls_system *s = NULL;
    cls_error e;
    double z[2], value = 3;
    const char *name = "p";
    if (cls_system_parse(WHOLE "start q = 1, p = 2", "file", NULL, &s, &e))
        fail_msg("%s", e.message);
    assert_int_equal(cls_system_start(s, NULL, z, &e), CLS_OK);
    assert_true(z[0] == 1 && z[1] == 2);
    assert_int_equal(cls_system_start(s, &(cls_assignments){1, &name, &value}, z, &e), CLS_OK);
    assert_true(z[0] == 1 && z[1] == 3);
    name = "r";
    assert_int_equal(cls_system_start(s, &(cls_assignments){1, &name, &value}, z, &e), CLS_USAGE);
    cls_system_free(&s);
}

static void transformers_multiply(void **state) {
    (void)state;
    cls_system *s = parse(WHOLE AIR "resistive c(a, entropy s): 5\ntransformer w(a, b): 3\n"
                                    "connect mass.p, w.a\nconnect w.b, c.a\nconnect air.s, c.s\n"
                                    "start q = 0, p = 1, s = 0");
    cls_node one = cls_constant(s->g, 1), v = s->v[0], F;
    F = clsi_sparse_at(s->g, &s->bound.friction, 0, 0);
    (void)cls_substitute(s->g, 1, &F, 1, &v, &one, &F);
    assert_true(cls_is_constant(s->g, F, -45));
    cls_system_free(&s);
    s = parse(WHOLE AIR "resistive c(a, entropy s): 5\ntransformer w(a, b): 4\n"
                        "connect mass.p, w.b\nconnect w.a, c.a\nconnect air.s, c.s\n"
                        "start q = 0, p = 1, s = 0");
    v = s->v[0];
    one = cls_constant(s->g, 1);
    F = clsi_sparse_at(s->g, &s->bound.friction, 0, 0);
    (void)cls_substitute(s->g, 1, &F, 1, &v, &one, &F);
    assert_true(cls_is_constant(s->g, F, -5.0 / 16));
    cls_system_free(&s);
}

/* Friction along a difference: no force on what moves together, and opposite forces else. */
static void directions_are_differences(void **state) {
    (void)state;
    cls_system *s =
        parse(WHOLE AIR "storage m2(r): r^2\nresistive c(a, b, entropy s): 2 along a - b; 7 along "
                        "b on s\nconnect c.a, mass.p\nconnect c.b, m2.r\nconnect c.s, air.s");
    cls_node v[2] = {cls_constant(s->g, 3), cls_constant(s->g, 3)}, F[2];
    for (size_t j = 0; j < 2; j++) F[j] = clsi_sparse_at(s->g, &s->bound.friction, 0, j);
    (void)cls_substitute(s->g, 2, F, 2, s->v, v, F);
    assert_true(cls_is_constant(s->g, F[0], 0));
    assert_true(cls_is_constant(s->g, F[1], -21));
    v[1] = cls_constant(s->g, 0);
    for (size_t j = 0; j < 2; j++) F[j] = clsi_sparse_at(s->g, &s->bound.friction, 0, j);
    (void)cls_substitute(s->g, 2, F, 2, s->v, v, F);
    assert_true(cls_is_constant(s->g, F[0], -6));
    assert_true(cls_is_constant(s->g, F[1], 6));
    assert_int_equal(s->n_parts, 5); /* three storages, c1, c2 */
    cls_system_free(&s);
}

#define CHAIN                                                                                      \
    "parameter k = 2\n"                                                                            \
    "component cell(p, out) {\n"                                                                   \
    "    parameter m = 1, c = k*m\n"                                                               \
    "    storage mass(p): p^2/(2*m)\n"                                                             \
    "    storage spring(q): c*q^2/2\n"                                                             \
    "    junction between(q, p, out): {q, p} = -1,\n"                                              \
    "        {q, out} = 1\n"                                                                       \
    "    connect mass.p, between.p, p\n"                                                           \
    "    connect spring.q, between.q\n"                                                            \
    "    connect between.out, out\n"                                                               \
    "}\n"                                                                                          \
    "component pair(a, b) {\n"                                                                     \
    "    use cell as left: m = 3*k\n"                                                              \
    "    use cell as right\n"                                                                      \
    "    connect left.p, a\n"                                                                      \
    "    connect left.out, right.p\n"                                                              \
    "    connect right.out, b\n"                                                                   \
    "}\n"                                                                                          \
    "use pair as two\n"                                                                            \
    "storage wall(x): x^2/1000\nstorage hand(y): y^2\ngyrator grip(y, x): 2\n"                     \
    "connect two.b, wall.x, grip.x\nconnect hand.y, grip.y\nexternal pull(x): sin(t)\n"            \
    "connect pull.x, two.a\n"

/* Composites of composites: their own names, parameters from outside and inside. */
static void composites_are_unrolled(void **state) {
    (void)state;
    cls_system *s = parse(CHAIN);
    assert_int_equal(s->n, 6);
    const char *const names[] = {"two_left_p",  "two_left_q", "two_right_p",
                                 "two_right_q", "x",          "y"};
    for (size_t i = 0; i < 6; i++) assert_string_equal(s->momentum[i].name, names[i]);
    const char *const parameters[] = {"k", "two_left_m", "two_left_c", "two_right_m",
                                      "two_right_c"};
    const double values[] = {2, 6, 12, 1, 2};
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(s->parameter[i].name, parameters[i]);
        assert_true(s->parameter_value[i] == values[i]);
    }
    /* every state but the pulled one moves by a skew matrix */
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++) {
            cls_node sum = cls_add(s->g, clsi_sparse_at(s->g, &s->bound.poisson, i, j),
                                   clsi_sparse_at(s->g, &s->bound.poisson, j, i));
            assert_true(cls_is_constant(s->g, sum, 0));
        }
    assert_true(cls_is_constant(s->g, clsi_sparse_at(s->g, &s->bound.poisson, 1, 0), -1));
    assert_true(cls_is_constant(s->g, clsi_sparse_at(s->g, &s->bound.poisson, 1, 2), 1));
    assert_true(cls_is_constant(s->g, clsi_sparse_at(s->g, &s->bound.poisson, 3, 4), 1));
    cls_system_free(&s);
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* A mistake in an included file names that file; the text of the system holds all of it. */
static void files_include_files(void **state) {
    (void)state;
    char dir[] = "/tmp/clausius-ports-XXXXXX", path[128], part[128];
    cls_system *s = NULL;
    cls_error e = {0};
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/main.clausius", dir);
    snprintf(part, sizeof part, "%s/part.clausius", dir);
    write_file(path, "include \"part.clausius\"   # the mass\n" SPRING LINK JOIN_Q JOIN_P);
    write_file(part, "# a mass\n" MASS);
    if (cls_system_load(path, NULL, &s, &e) != CLS_OK) fail_msg("%s", e.message);
    assert_non_null(strstr(cls_system_text(s), "storage mass"));
    assert_null(strstr(cls_system_text(s), "include"));
    cls_system *again = parse(cls_system_text(s));
    assert_int_equal(again->nq, 1);
    cls_system_free(&again);
    cls_system_free(&s);
    write_file(part, "# a mass\nstorage mass(p): p^2/mm\n");
    assert_int_equal(cls_system_load(path, NULL, &s, &e), CLS_SYSTEM);
    assert_non_null(strstr(e.message, "part.clausius:2:22: "));
    write_file(part, "include \"main.clausius\"\n" MASS);
    assert_int_equal(cls_system_load(path, NULL, &s, &e), CLS_SYSTEM);
    assert_non_null(strstr(e.message, "is included already"));
    unlink(path);
    unlink(part);
    rmdir(dir);
}

/* Exergy is there where one environment is: E - theta0 S without the environment's own. */
static void exergy_needs_an_environment(void **state) {
    (void)state;
    cls_system *s = parse(WHOLE AIR "storage box(entropy s_b): exp(s_b)\n"
                                    "resistive w(entropy a, entropy b): 1\nconnect w.a, air.s\n"
                                    "connect w.b, box.s_b\nstart q = 1, p = 0, s = 9, s_b = 2");
    double z[8], row[32];
    size_t k = 0;
    assert_int_equal(s->n_outputs, 1);
    assert_int_equal(cls_system_start(s, NULL, z, NULL), CLS_OK);
    assert_int_equal(cls_system_row(s, 0, z, row, NULL), CLS_OK);
    while (strcmp(cls_system_column(s, k), "exergy") != 0) k++;
    assert_true(fabs(row[k] - (0.5 + exp(2) - 600)) < 1e-12);
    cls_system_free(&s);
    s = parse(WHOLE);
    assert_int_equal(s->n_outputs, 0);
    cls_system_free(&s);
}

/* Unknown components are parts, with the inputs that their own ports give them. */
static void unknowns_know_their_inputs(void **state) {
    (void)state;
    cls_system *s = parse("storage spring(q): unknown chebyshev(4)\n" MASS LINK JOIN_Q JOIN_P AIR
                          "storage box(entropy s_b): exp(s_b)\nresistive d(p, entropy s): unknown\n"
                          "resistive w(entropy a, entropy b): unknown network(8) of log(e.a/300)\n"
                          "connect w.b, air.s\nconnect w.a, box.s_b, d.s\nconnect d.p, mass.p");
    assert_int_equal(s->n_unknown, 3);
    assert_string_equal(clsi_part_inputs_of(s, "spring"), "q");
    assert_string_equal(clsi_part_inputs_of(s, "d"), "v.q; log(theta_b)");
    assert_string_equal(clsi_part_inputs_of(s, "w"), "log(theta_b/300)");
    assert_string_equal(s->unknown_field[2], "network(8)");
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_place),
        cmocka_unit_test(pairs_become_coordinates),
        cmocka_unit_test(momenta_keep_their_names),
        cmocka_unit_test(transformers_multiply),
        cmocka_unit_test(directions_are_differences),
        cmocka_unit_test(composites_are_unrolled),
        cmocka_unit_test(files_include_files),
        cmocka_unit_test(exergy_needs_an_environment),
        cmocka_unit_test(unknowns_know_their_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
