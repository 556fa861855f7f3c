/* Files with arrays by both readers (src/system/pattern.h): the same declarations, formulas, motions, audits and
 * exported C; what one of them refuses, the other does not take. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include "tests/folder.h"
#include "tests/readers.h"

enum { STEPS = 3 };

/* ---- what is compared beside declarations and motions ---- */

static cls_audit *judged(const cls_system *s) {
    enum { POINTS = 64 };
    size_t columns = cls_system_column_count(s);
    const char **names = calloc(columns, sizeof *names);
    double *rows = calloc(columns * (STEPS + 1), sizeof *rows);
    for (size_t i = 0; i < columns; i++) names[i] = cls_system_column(s, i);
    cls_table *t = NULL;
    cls_audit *a = NULL;
    cls_audit_options o = cls_audit_defaults();
    cls_error error;
    o.samples = POINTS;
    size_t n = readers_move(s, NULL, STEPS, rows);
    assert_int_equal(cls_table_create(columns, names, &t, NULL), CLS_OK);
    for (size_t k = 0; k < n; k++)
        assert_int_equal(cls_table_append(t, rows + k * columns, NULL), CLS_OK);
    if (n == STEPS + 1) assert_int_equal(cls_audit_trajectory(s, t, &o, &a, &error), CLS_OK);
    cls_table_free(&t);
    free(names);
    free(rows);
    return a;
}

static const char *audits(const cls_system *x, const cls_system *y) {
    cls_audit *a = judged(x), *b = judged(y);
    const char *said = !a == !b ? NULL : "what can be audited";
    if (a && b && cls_audit_count(a) != cls_audit_count(b)) said = "the laws of an audit";
    for (size_t i = 0; a && b && !said && i < cls_audit_count(a); i++) {
        const cls_law *p = cls_audit_law(a, i), *q = cls_audit_law(b, i);
        if (strcmp(p->name, q->name) != 0 || strcmp(p->text, q->text) != 0 ||
            memcmp(&p->value, &q->value, sizeof p->value) != 0)
            said = "a law of an audit";
    }
    cls_audit_free(&a);
    cls_audit_free(&b);
    return said;
}

static char *exported(const cls_system *s) {
    cls_export_options o = cls_export_defaults();
    cls_export_info info;
    cls_error error;
    char dir[512], *all = NULL;
    clsi_text text = {0};
    o.prefix = "reader";
    snprintf(dir, sizeof dir, "%s", in_folder("c"));
    if (cls_export("c", s, NULL, &o, dir, &info, &error) == CLS_OK) {
        static const char *const ends[] = {"reader.c", "reader.h"};
        for (size_t i = 0; i < 2; i++) {
            char path[600], *one = NULL;
            size_t n;
            snprintf(path, sizeof path, "%s/%s", dir, ends[i]);
            assert_int_equal(clsi_read_file(path, 1 << 26, &one, &n, NULL), CLS_OK);
            clsi_text_append(&text, one);
            free(one);
        }
        all = clsi_text_take(&text);
    }
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
    return all;
}

static const char *exports(const cls_system *x, const cls_system *y) {
    char *a = exported(x), *b = exported(y);
    int same = readers_same_text(a, b);
    free(a);
    free(b);
    return same ? NULL : "exported C";
}

static const char *schemes(const cls_system *x, const cls_system *y) {
    const char *said = NULL;
    const cls_scheme_info *info;
    for (size_t i = 0; !said && (info = cls_scheme_at(i)); i++)
        said = readers_motions(x, y, info->name, STEPS);
    return said;
}

/* ---- systems ---- */

enum { LEAN, WRITTEN, REFUSED };

/* `how`: whether the lean reader takes it. */
static void both(const char *name, const char *text, const cls_assignments *set, int how) {
    cls_system *x = NULL, *y = NULL;
    cls_error lean = {0}, written = {0};
    cls_status a = clsi_system_parse_alone(text, "a", set, 1, &x, &lean);
    cls_status b = clsi_system_parse_alone(text, "a", set, 0, &y, &written);
    if ((how == LEAN) != (a == CLS_OK))
        fail_msg("%s: lean: %s; written out: %s", name, lean.message, written.message);
    if ((how == REFUSED) == (b == CLS_OK)) fail_msg("%s: written out: %s", name, written.message);
    if (x && y) {
        const char *said = readers_declare(x, y);
        if (!said) said = readers_show(x, y);
        if (!said) said = readers_motions(x, y, NULL, STEPS);
        if (!said && cls_system_state_count(x) <= 40) said = schemes(x, y);
        if (!said) said = audits(x, y);
        if (!said) said = exports(x, y);
        if (said) fail_msg("%s: the readers differ in %s", name, said);
    }
    cls_system_free(&x);
    cls_system_free(&y);
}

static void built_in_systems(void **unused) {
    (void)unused;
    for (size_t i = cls_builtin_count(); cls_builtin_name(i); i++) {
        static const double sizes[] = {3, 5}; /* few: exports take most of the time */
        const char *text = cls_builtin_text(i), *size = "N";
        int walled = strcmp(cls_builtin_name(i), "building") == 0; /* has a room 5 */
        for (size_t k = walled ? 1 : 0; k < sizeof sizes / sizeof *sizes; k++)
            both(cls_builtin_name(i), text, &(cls_assignments){1, &size, &sizes[k], NULL}, LEAN);
    }
}

#define CHAIN                                                                                      \
    "parameter N = 5, k = 2, c = 0.3\ncoordinate u[1..N] [m] in (-9, 9)\nentropy s[1..N]\n"
#define STARTS "for i in 1..N: start u[i] = sin(i)/4, v.u[i] = 0.1*i, s[i] = -i/7\n"
#define WALLS  "let u[0] = 0\nlet u[N+1] = 0.1\n"
#define SPRINGS                                                                                    \
    "hamiltonian H = sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + sum(i in 0..N: k*(u[i+1] - "         \
    "u[i])^2/2)\n"
#define RUBS "for i in 1..N: friction on s[i]: u[i] <- -c*i*v.u[i]\n"

static const struct {
    const char *name, *text;
    int how;
} systems[] = {
    {"a chain", CHAIN WALLS SPRINGS RUBS STARTS, LEAN},
    {"all at the top of its formula", STARTS RUBS SPRINGS WALLS CHAIN, LEAN},
    {"lets of lets",
     CHAIN WALLS
     "let d[i] = u[i+1] - u[i]\nlet dd[j] = d[j] - d[j-1]\nlet w[i, m] = dd[i]*m\n"
     "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + sum(i in 1..N: w[i, i+1]^2/2)\n" STARTS,
     LEAN},
    {"sums in sums and in lets",
     CHAIN "let E[i] = sum(j in 1..N: (u[i] - u[j])^2/(1 + (i - j)^2))\n"
           "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i]) + E[i]) + "
           "sum(i in 1..N, j in 1..i-1: k*cos(u[i] - u[j])) + sum(i in 3..1: u[i])\n"
           "output total = sum(i in 1..N: sum(j in i..N: u[j]*i - j))\n"
           "invariant nothing = sum(i in 1..N: 0*u[i])\n" RUBS STARTS,
     LEAN},
    {"one name for many indices",
     CHAIN "let d[i] = sum(j in 1..2: u[i]*j) + sum(i in 1..2: i*c)\n"
           "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + sum(j in 1..N: d[j]^2)\n"
           "for k in 1..N: friction on s[k]: u[k] <- -k*v.u[k]\n" STARTS,
     LEAN},
    {"indices by mod, min and max",
     CHAIN
     "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + "
     "sum(i in 1..2*N: (u[1 + mod(i, N)] - u[min(i, N)])^2/2 + (u[max(1, N - i)] - "
     "u[1 + mod(-i, N)])^2/3)\n"
     "for i in 1..2^2, j in max(1, i-1)..min(N, i+1): heat exchange s[i] <-> s[1 + mod(j + 1, N)]: "
     "j/(i + 1)\n" RUBS STARTS,
     LEAN},
    {"blocks of lines, loops in loops",
     CHAIN WALLS SPRINGS
     "for i in 1..N:\n"
     "  friction on s[i]: u[i] <- -c*v.u[i]\n"
     "  for j in 1..i-1:\n"
     "    heat exchange s[i] <-> s[j]:\n"
     "      0.1*i\n"
     "\n"
     "    for k in j..j:\n"
     "      friction on s[k]: u[i] <- -0.1*(v.u[i] - v.u[k]), u[k] <- 0.1*(v.u[i] - v.u[k])\n"
     "  # a remark\n"
     "  start u[i] = i/(N + 1),\n"
     "        v.u[i] = 0, s[i] = 0\n",
     LEAN},
    {"a ring",
     "parameter N = 4\ncoordinate a[0..N-1 ring] angle\nentropy S[0..N-1 ring]\n"
     "hamiltonian sum(i in 0..N-1: p.a[i]^2/2 + exp(S[i]) + 1 - cos(a[i+1] - a[i-1]))\n"
     "for i in 0..N-1: heat exchange T[i] <-> T[i+1]: 0.1 + 0.01*i\n"
     "for i in 0..N-1: friction on S[i-1]: a[i+1] <- -0.1*v.a[i+1]\n"
     "for i in 0..N-1: start a[i] = i^2/3, p.a[i] = 1 - i, T[i] = 1 + i\n",
     LEAN},
    {"a grid of three indices",
     "parameter N = 2\nentropy S[1..N, 0..1, -1..0] with temperature Q[1..N, 0..1, -1..0] [J/K]\n"
     "hamiltonian sum(i in 1..N, j in 0..1, k in -1..0: (i + j - k)*exp(S[i,j,k]/2))\n"
     "for i in 1..N, j in 0..1: heat exchange Q[i,j,0] <-> Q[i][j][-1]: i\n"
     "for i in 1..N-1, j in 0..1, k in -1..0: heat exchange Q[i+1, j][k] <-> Q[i][j,k]: 2\n"
     "for i in 1..N, j in 0..1, k in -1..0: start S[i,j,k] = i + j + k\n",
     LEAN},
    {"temperatures",
     "parameter N = 3\ncoordinate x[1..N]\ntemperature T[1..N] [K] in (0, 900)\n"
     "thermal lagrangian sum(i in 1..N: v.x[i]^2/2 - (x[i] - i)^2/2 + T[i]*(log(T[i]) - 1))\n"
     "for i in 1..N: friction on T[i]: x[i] <- -(0.1 + v.x[i]^2)*v.x[i]\n"
     "for i in 2..N: heat exchange T[i] <-> T[i-1]: T[i]*T[i-1]\n"
     "for i in 1..N: start x[i] = 0, v.x[i] = i/N, T[i] = 1 + i/10\n",
     LEAN},
    {"a lagrangian",
     "parameter N = 3\ncoordinate x[1..N], y [m], z[2..3] [mm] in (-N, N)\nentropy Sa[1..2], "
     "sb[1..2, 1..1] with temperature theta[1..2, 1..1]\n"
     "lagrangian sum(i in 1..N: (1 + x[i]^2)*v.x[i]^2/2) + v.y^2/2 + v.z[2]^2/2 + v.z[3]^2 - "
     "sum(i in 1..2: exp(Sa[i]) + 2*exp(sb[i,1]/2)) - y^2/2\n"
     "for i in 1..2: friction on Ta[i]: x[i] <- -0.1*v.x[i], y <- -v.y, z[i+1] <- -v.z[i+1]\n"
     "for i in 1..2: heat exchange theta[i,1] <-> Ta[3-i]: 0.2\n"
     "start y = 1, v.y = 0\nfor i in 1..N: start x[i] = i, v.x[i] = 0\n"
     "for i in 1..2: start z[i+1] = 0.5, v.z[i+1] = 0, Sa[i] = 0, sb[i,1] = 1\n",
     LEAN},
    {"momenta and positions",
     "parameter N = 3, J = 2\nposition q[1..N]\nmomentum l[1..N], m [N m s] with velocity w[1..N], "
     "om\n"
     "hamiltonian sum(i in 1..N: l[i]^2/(2*J)) + m^2 + sum(i in 1..N: q[i]^2/2)\n"
     "for i in 1..N: poisson {q[i], l[i]} = 1\n"
     "for i in 1..N-1: poisson {l[i], l[i+1]} = 0.5*i\n"
     "for i in 1..N: start q[i] = 1, l[i] = i\nstart m = 1\n",
     WRITTEN},
    {"matter",
     "parameter N = 2, R = 1\nmole A[1..N], B[1..N]\nentropy S[1..N] with temperature T[1..N]\n"
     "hamiltonian sum(i in 1..N: exp(S[i] + A[i]*(log(A[i]) - 1) + B[i]*(log(B[i]) - 1)) + A[i])\n"
     "for i in 1..N:\n  reaction A[i] <-> 2 B[i] on T[i]: 0.1*i\n  matter source on A[i]: 0.1\n"
     "  heat source on S[i]: 0.2*t\n"
     "for i in 1..N-1: diffusion A[i] <-> A[i+1] on T[i]: 0.3\n"
     "for i in 1..N: start A[i] = 1, B[i] = 0.5, S[i] = 0.1\n",
     LEAN},
    {"parameters and inputs in arrays",
     "parameter N = 3, k[1..N] = 2, c[1..2] = 0.5\ninput f[1..N] = sin(t)\n"
     "coordinate x[1..N]\nentropy s[1..N]\n"
     "hamiltonian sum(i in 1..N: p.x[i]^2/2 + k[i]*x[i]^2/2 + exp(s[i]))\n"
     "for i in 1..N: external force: x[i] <- f[i]*i\n"
     "for i in 1..2: friction on s[i]: x[i+1] <- -c[i]*v.x[i+1]\n"
     "for i in 1..N: start x[i] = k[i]/3, v.x[i] = 0, s[i] = 0\n",
     LEAN},
    {"numbers of every kind",
     CHAIN "hamiltonian sum(i in 1..N: p.u[i]^2/(2*1e0) + exp(s[i])) + sum(i in -2..2: (u[i+3] - "
           "i)^2/2*.5)\n"
           "for i in -2..2: start u[3+i] = i*1.5e-1 - -i^2 + 2^-i, v.u[i+3] = -i^3/7 + 2^0.5*i - "
           "1/(i + 3), "
           "s[i+3] = cos(pi*i)^2 - log(i + 4)^3*(i - 2)^2/sqrt(7 - i) + 0*i - 0\n",
     LEAN},
    {"numbers with parameters",
     CHAIN SPRINGS WALLS "for i in 1..N: start u[i] = k*i/N, v.u[i] = mass*0 + c, s[i] = N - i\n"
                         "parameter mass = k^2\n",
     LEAN},
    {"functions composed of others",
     CHAIN "hamiltonian sum(i in 1..N: hypot(p.u[i], 1) + exp(s[i]) + softabs(u[i], 0.1*i) + "
           "norm(u[i], u[1], k) "
           "+ atan2(u[i], 2 + i) + ln(2 + u[i]^2) + softmax(u[i], i, 1) + sq(u[i] - i) + cbrt(i + "
           "u[i]^2))\n" RUBS STARTS,
     LEAN},
    {"functions of the file",
     CHAIN "function V(d) = k*d^2/2 + d^4/4\n"
           "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i]) + V(u[i] - i))\n" RUBS STARTS,
     WRITTEN},
    {"lets with an index in their names",
     CHAIN "for i in 1..N: let e[i] = u[i]^2\n"
           "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i]) + e[i])\n" RUBS STARTS,
     LEAN},
    {"lets that end at an edge",
     CHAIN
     "let a[i] = a[i-1] + k*u[i]\nlet a[0] = 2*k\nlet b[1, 2] = u[1]^2\nlet b[i, j] = "
     "b[i-1, j] + a[j]\n"
     "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i]) + a[i]^2) + a[0] + b[3, 2]\n" RUBS STARTS,
     LEAN},
    {"lets of sums",
     CHAIN "let E = sum(i in 1..N: u[i]^2/2)\nlet K[i] = E*i\npart P = sum(i in 1..N: u[i]^4)\n"
           "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i]) + K[i]) + P + E^2\n" RUBS STARTS,
     LEAN},
    {"frictions with names",
     CHAIN SPRINGS WALLS "for i in 1..N: friction F[i] on s[i]: u[i] <- -v.u[i]\n" STARTS, WRITTEN},
    {"components",
     "parameter N = 4\nfor i in 1..N: storage cell[i](entropy s[i]): exp(s[i])\nfor i in 1..N-1:\n"
     "  resistive wall[i](entropy a, entropy b): 0.2\n  connect cell[i].s[i], wall[i].a\n  connect "
     "cell[i+1].s[i+1], wall[i].b\n"
     "for i in 1..N: start s[i] = i/10\n",
     WRITTEN},
    {"reservoirs and sources",
     CHAIN SPRINGS WALLS RUBS
     "reservoir air = 1 + 0.1*t\nfor i in 1..N: heat exchange s[i] <-> air: 0.1*i\n"
     "for i in 1..N: heat source on theta[i]: i*t\nfor i in 2..N: external force: u[i] <- "
     "cos(i*t)\n"
     "external potential sum(i in 1..N: u[i]*i)\n" STARTS,
     LEAN},
    {"anchors, data and pictures",
     CHAIN SPRINGS WALLS RUBS "data u[1] = \"position [mm]\"\npicture masses u[1], u[2]\n" STARTS,
     LEAN},
};

static void systems_of_every_kind(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        both(systems[i].name, systems[i].text, NULL, systems[i].how);
}

/* What is refused is refused by both: the reader that says why comes second (parse.c). */
static const struct {
    const char *name, *text;
} refused[] = {
    {"an index outside", CHAIN "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i]) + u[i+1])\n"},
    {"an index that is no whole number", CHAIN SPRINGS WALLS "for i in 1..N: start u[i/2] = 0\n"},
    {"too many indices", CHAIN SPRINGS WALLS "for i in 1..N: start u[i, i] = 0\n"},
    {"a name that is not there", CHAIN "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i]) + y)\n"},
    {"a second start", CHAIN SPRINGS WALLS "for i in 1..2: start u[1] = 0\n"},
    {"a start that is not finite", CHAIN SPRINGS WALLS "for i in 0..1: start u[i+1] = 1/i\n"},
    {"a root of a negative number",
     CHAIN SPRINGS WALLS "for i in 1..2: start u[i] = (1 - i)^0.5/0\n"},
    {"a name twice", CHAIN "coordinate u[1..2]\n" SPRINGS},
    {"a name of an element twice", CHAIN SPRINGS "let u[1] = 2\n"},
    {"a velocity in a hamiltonian", CHAIN "hamiltonian sum(i in 1..N: v.u[i]^2/2 + exp(s[i]))\n"},
    {"words without a space",
     "entropy S[1..2]with temperature Q[1..2]\nhamiltonian sum(i in 1..2: exp(S[i]))\n"},
    {"an empty range", "coordinate u[1..0]\nhamiltonian 1\n"},
    {"two frictions of one name",
     CHAIN SPRINGS WALLS "for i in 1..N: friction F on s[i]: u[i] <- -v.u[i]\n"},
    {"a misspelt statement in a loop",
     CHAIN SPRINGS WALLS "for i in 1..N: frictoin on s[i]: u[i] <- 0\n"},
    {"a let that is defined by itself", CHAIN "let d[i] = d[i+1]\nhamiltonian d[1]\n"},
    {"lets within 41 lets", "coordinate x[1..2]\nlet d[i] = d[i-1] + d[i-1]*0\nhamiltonian sum(i "
                            "in 1..2: p.x[i]^2) + d[41]\n"},
    {"an array and a name alone", CHAIN "coordinate u\n" SPRINGS},
    {"a name alone and an array", "coordinate u\n" CHAIN SPRINGS},
    {"two brackets of two", "parameter N = 2\nmomentum l[1..N ring]\nhamiltonian sum(i in 1..N: "
                            "l[i]^2)\nfor i in 1..N: poisson {l[i], l[i+1]} = 1\n"},
    {"a colon that is missing", CHAIN "hamiltonian sum(i in 1..N p.u[i]^2/2 + exp(s[i]))\n"},
    {"a bracket that stays open", CHAIN "hamiltonian sum(i in 1..N: p.u[i^2/2 + exp(s[i]))\n"},
    {"a misspelt ring", "coordinate u[1..2 rign]\nhamiltonian p.u[1]^2\n"},
    {"parentheses that stay open", CHAIN "hamiltonian sum(i in 1..N: (p.u[i]^2/2 + exp(s[i]))\n"},
    {"arguments that are too few",
     CHAIN "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i]) + softabs(u[i]))\n"},
};

static void what_is_refused(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        both(refused[i].name, refused[i].text, NULL, REFUSED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_systems),
        cmocka_unit_test(systems_of_every_kind),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
