/* Systems by chance: a seed gives the text of a system of some coordinates, entropies or temperatures,
 * reservoirs and inputs, with energies, frictions, exchanges, sources and forces taken from lists of
 * lawful formulas, and numbers over many decades. What a list does not contain nobody has tried, so a
 * formula that once broke a law stays in it. Used by test_sweep.c. */
#ifndef TESTS_CHANCE_H
#define TESTS_CHANCE_H

#include <clausius/random.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct chance {
    cls_random random;
    char text[8192];
    size_t used;
    int nq, m, nr, thermal, lagrangian;
} chance;

static inline void chance_write(chance *c, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(c->text + c->used, sizeof c->text - c->used, format, arguments);
    va_end(arguments);
    if (n > 0 && (size_t)n < sizeof c->text - c->used) c->used += (size_t)n;
}

static inline int chance_of(chance *c, int n) {
    return (int)(cls_random_next(&c->random) % (uint64_t)n);
}

/* 10^-decades .. 10^decades, mostly near the middle. */
static inline double chance_size(chance *c, double decades) {
    double u = 2 * cls_random_uniform(&c->random) - 1;
    return pow(10, decades * u * fabs(u));
}

static inline double chance_in(chance *c, double low, double high) {
    return low + (high - low) * cls_random_uniform(&c->random);
}

/* A formula of a list with X, Y, V, T, U in it (a coordinate, another one, a velocity, two temperatures) and # for a number. */
static inline void chance_formula(chance *c, const char *formula, int i, int k, int a, int b) {
    for (; *formula; formula++) {
        if (*formula == 'X')
            c->nq ? chance_write(c, "x%d", i) : chance_write(c, "0.3");
        else if (*formula == 'Y')
            c->nq ? chance_write(c, "x%d", k) : chance_write(c, "0.2");
        else if (*formula == 'V')
            c->nq ? chance_write(c, "v.x%d", i) : chance_write(c, "0.1");
        else if (*formula == 'T')
            chance_write(c, "T%d", a);
        else if (*formula == 'U')
            chance_write(c, "T%d", b);
        else if (*formula == 'S')
            chance_write(c, "S%d", a);
        else if (*formula == '#')
            chance_write(c, "%.6g", chance_size(c, 2));
        else
            chance_write(c, "%c", *formula);
    }
}

#define CHANCE_PICK(c, list) list[chance_of(c, (int)(sizeof list / sizeof *list))]

static const char *const chance_potentials[] = {"#*X^2/2",
                                                "#*X^4/4",
                                                "#*(1 - cos(X))",
                                                "#*(X - Y)^2/2",
                                                "#*(X - Y)^4/4",
                                                "#*log(cosh(X))",
                                                "#*(exp(X) - X)",
                                                "#*sqrt(1 + (X - Y)^2)",
                                                "#*cos(X - Y)",
                                                "-#*exp(-X^2)",
                                                "#*X*Y",
                                                "#*X^2*Y^2",
                                                "#/(1 + X^2)",
                                                "#*X^6",
                                                "#*sin(3*X)*cos(Y)",
                                                "#*(X^2 - 1)^2"};

/* of an entropy S, rising in it */
static const char *const chance_heats[] = {"#*exp(S/2)",
                                           "#*exp(S)",
                                           "#*exp(S)*(1 + 0.1*X^2)",
                                           "#*exp(S - 0.3*log(2 + sin(X)))",
                                           "#*exp(S)*exp(-0.2*X)",
                                           "#*(exp(S) + 0.1*exp(2*S))",
                                           "#*exp(S)/(1 + 0.5*X^2)",
                                           "#*log(1 + exp(S))"};

/* of a temperature T, a thermal lagrangian: T d2/dT2 > 0 */
static const char *const chance_gases[] = {"#*T*(log(T) - 1)",
                                           "#*T^2/2",
                                           "#*T^4",
                                           "#*T*(log((2 + sin(X))*T) - 1)",
                                           "#*(T*(log(T) - 1) + 0.1*T*X^2)",
                                           "#*(T*(log(T) - 1) - 0.1*X^2/T^0.5)",
                                           "#*T*(log((1 + X^2)^0.6*T) - 1)",
                                           "#*T^1.5"};

static const char *const chance_frictions[] = {
    "#",           "#*T",         "#*V^2",          "#*(0.01 + V^2)*T^2",   "#*sqrt(1 + V^2)",
    "#*exp(-X^2)", "#/(0.1 + T)", "#*T^0.5",        "#/sqrt(0.0001 + V^2)", "#*(1 + cos(X))",
    "#*X^2",       "#*exp(-T)",   "#*V^2/(1 + V^2)"};

static const char *const chance_conductances[] = {
    "#",     "#*T*U",     "#/(T*U)", "#*(1 + X^2)", "#*T^3 + #*U^3", "#*exp(-1/T - 1/U)",
    "#*V^2", "#/(1 + T)", "1000*#",  "1e6*#",       "#*sqrt(T*U)"};

static const char *const chance_signals[] = {"#*sin(3*t)", "#",          "-0.1*#",
                                             "#*cos(#*t)", "#*sin(t)^2", "#*exp(-t)"};

static inline void chance_energy(chance *c) {
    chance_write(c, c->thermal      ? "thermal lagrangian "
                    : c->lagrangian ? "lagrangian "
                                    : "hamiltonian ");
    int velocities = c->thermal || c->lagrangian;
    if (!c->nq) chance_write(c, "0");
    for (int i = 0; i < c->nq; i++) {
        double mass = chance_size(c, 2);
        const char *x = velocities ? "v.x" : "p.x";
        chance_write(c, "%s", i ? " + " : "");
        switch (chance_of(c, 5)) {
        case 0: chance_write(c, "%.6g*%s%d^2/2*(1 + 0.2*sin(x%d)^2)", mass, x, i, i); break;
        case 1: chance_write(c, "%.6g*(sqrt(1 + %s%d^2) - 1)", mass, x, i); break;
        case 2: chance_write(c, "%.6g*(%s%d^2/2 + %s%d^4/4)", mass, x, i, x, i); break;
        default: chance_write(c, "%.6g*%s%d^2/2", mass, x, i);
        }
    }
    for (int k = chance_of(c, 2 * c->nq + 1) + (c->nq > 0); c->nq && k > 0; k--) {
        chance_write(c, velocities ? " - (" : " + (");
        int i = chance_of(c, c->nq);
        chance_formula(c, CHANCE_PICK(c, chance_potentials), i, (i + 1) % c->nq, 0, 0);
        chance_write(c, ")");
    }
    for (int a = 1; a <= c->m; a++) {
        int i = c->nq ? chance_of(c, c->nq) : 0;
        chance_write(c, c->lagrangian ? "\n    - " : "\n    + ");
        chance_formula(c, c->thermal ? CHANCE_PICK(c, chance_gases) : CHANCE_PICK(c, chance_heats),
                       i, i, a, a);
    }
    chance_write(c, "\n");
}

/* A temperature of the system or a reservoir. */
static inline int chance_place(chance *c) {
    return 1 + chance_of(c, c->m + c->nr);
}

static inline void chance_flows(chance *c) {
    for (int k = chance_of(c, 2 * c->nq + 1); c->nq && k > 0; k--) {
        int i = chance_of(c, c->nq), j = (i + 1) % c->nq, on = chance_place(c),
            pair = chance_of(c, 3);
        const char *formula = CHANCE_PICK(c, chance_frictions);
        pair = !pair && i != j;
        chance_write(c, "let f%zu = ", c->used);
        size_t name = c->used - strlen(" = ");
        while (c->text[name - 1] != 'f') name--;
        size_t length = strcspn(c->text + name, " ");
        char let[24];
        snprintf(let, sizeof let, "f%.*s", (int)length, c->text + name);
        chance_formula(c, formula, i, j, on, on);
        if (pair)
            chance_write(
                c, "\nfriction on T%d: x%d <- -%s*(v.x%d - v.x%d), x%d <- -%s*(v.x%d - v.x%d)\n",
                on, i, let, i, j, j, let, j, i);
        else
            chance_write(c, "\nfriction on T%d: x%d <- -%s*v.x%d\n", on, i, let, i);
    }
    int places = c->m + c->nr, links = places > 1 ? chance_of(c, 2 * places) : 0;
    for (int k = 0; k < links; k++) {
        int a = chance_place(c), b = chance_place(c), i = c->nq ? chance_of(c, c->nq) : 0;
        if (a == b || (a > c->m && b > c->m)) continue;
        chance_write(c, "heat exchange T%d <-> T%d: ", a, b);
        chance_formula(c, CHANCE_PICK(c, chance_conductances), i, i, a, b);
        chance_write(c, "\n");
    }
    if (c->m && !chance_of(c, 3)) {
        chance_write(c, "heat source on T%d: ", 1 + chance_of(c, c->m));
        chance_formula(c, CHANCE_PICK(c, chance_signals), 0, 0, 0, 0);
        chance_write(c, "\n");
    }
    if (c->nq && !chance_of(c, 3)) {
        chance_write(c, "external force: x%d <- ", chance_of(c, c->nq));
        chance_formula(c, CHANCE_PICK(c, chance_signals), 0, 0, 0, 0);
        chance_write(c, "\n");
    }
}

/* ---- networks of components ---- */

enum { CHANCE_JUNCTIONS = 12, CHANCE_PORTS = 400 };

/* The ports that meet at each storage or environment. */
typedef struct chance_junctions {
    char ports[CHANCE_JUNCTIONS][CHANCE_PORTS];
} chance_junctions;

static inline void chance_join(chance_junctions *j, int at, const char *component, int k,
                               const char *port) {
    size_t used = strlen(j->ports[at]);
    snprintf(j->ports[at] + used, CHANCE_PORTS - used, "%s%s%d.%s", used ? ", " : "", component, k,
             port);
}

/* Storages 0 .. n - 1 are springs and masses in pairs, then m bodies, then nr environments. */
static inline void chance_resistors(chance *c, chance_junctions *j) {
    static const char *const coefficients[] = {"#",     "#*e.s",         "#*(0.01 + e.a^2)",
                                               "100*#", "#/(0.1 + e.s)", "#*sqrt(1 + e.a^2)"};
    static const char *const walls[] = {"#", "1000*#", "#*e.a*e.b", "#/(e.a*e.b)", "1e6*#"};
    int places = c->m + c->nr, k = 0;
    for (int n = chance_of(c, 2 * c->nq + 1); n > 0 && c->nq; n--, k++) {
        int mass = chance_of(c, c->nq), other = chance_of(c, c->nq), to = chance_of(c, places);
        int pair = mass != other && chance_of(c, 2);
        chance_write(
            c, pair ? "resistive r%d(a, b, entropy s): " : "resistive r%d(a, entropy s): ", k);
        chance_formula(c, CHANCE_PICK(c, coefficients), 0, 0, 0, 0);
        chance_write(c, pair ? " along a - b\n" : "\n");
        chance_join(j, 2 * mass + 1, "r", k, "a");
        if (pair) chance_join(j, 2 * other + 1, "r", k, "b");
        chance_join(j, 2 * c->nq + to, "r", k, "s");
    }
    for (int n = chance_of(c, 2 * places); n > 0; n--) {
        int a = chance_of(c, places), b = chance_of(c, places);
        if (a == b) continue;
        chance_write(c, "resistive r%d(entropy a, entropy b): ", k);
        chance_formula(c, CHANCE_PICK(c, walls), 0, 0, 0, 0);
        chance_write(c, "\n");
        chance_join(j, 2 * c->nq + a, "r", k, "a");
        chance_join(j, 2 * c->nq + b, "r", k++, "b");
    }
}

static inline void chance_network(chance *c) {
    chance_junctions j = {0};
    if (!c->m) c->m = 1;
    for (int i = 0; i < c->nq; i++) {
        chance_write(c, "storage spring%d(q%d): %.6g*q%d^2/2 + %.6g*q%d^4\n", i, i,
                     chance_size(c, 2), i, chance_of(c, 2) * chance_size(c, 1), i);
        chance_write(c, "storage mass%d(p%d): %.6g*p%d^2/2\ngyrator link%d(a, b): %s\n", i, i,
                     chance_size(c, 2), i, i, chance_of(c, 2) ? "1" : "1 + 0.3*sin(a)");
        char port[16];
        snprintf(port, sizeof port, "q%d", i);
        chance_join(&j, 2 * i, "spring", i, port);
        chance_join(&j, 2 * i, "link", i, "a");
        port[0] = 'p';
        chance_join(&j, 2 * i + 1, "mass", i, port);
        chance_join(&j, 2 * i + 1, "link", i, "b");
    }
    for (int a = 0; a < c->m + c->nr; a++) {
        char port[16];
        snprintf(port, sizeof port, "s%d", a);
        double C = chance_size(c, 2);
        if (a < c->m)
            chance_write(c, "storage body%d(entropy s%d): %.6g*exp(s%d/%.6g)\n", a, a, C, a, C);
        else if (chance_of(c, 3))
            chance_write(c, "environment air%d(entropy s%d): %.6g\nstart s%d = 0\n", a, a, C, a);
        else
            chance_write(c, "environment air%d(entropy s%d): %.6g*(1.5 + sin(t))\n", a, a, C);
        chance_join(&j, 2 * c->nq + a, a < c->m ? "body" : "air", a, port);
    }
    chance_resistors(c, &j);
    for (int k = 0; k < 2 * c->nq + c->m + c->nr; k++)
        chance_write(c, "%s %s\n", strchr(j.ports[k], ',') ? "connect" : "free", j.ports[k]);
    for (int i = 0; i < c->nq; i++)
        chance_write(c, "start q%d = %.6g, p%d = %.6g\n", i, chance_in(c, -2, 2), i,
                     chance_in(c, -2, 2));
    for (int a = 0; a < c->m; a++) chance_write(c, "start s%d = %.6g\n", a, chance_in(c, -1, 3));
    chance_write(c, "step %.6g\n", 0.03 * chance_size(c, 2));
}

/* The text, in c->text. */
static inline void chance_system(chance *c, uint64_t seed) {
    cls_random_seed(&c->random, seed);
    c->used = 0;
    c->nq = chance_of(c, 4);
    c->m = chance_of(c, 5);
    if (!c->nq && !c->m) c->m = 2;
    c->nr = chance_of(c, 3) * chance_of(c, 2);
    c->thermal = c->m && chance_of(c, 2);
    c->lagrangian = c->nq && !c->thermal && !chance_of(c, 3);
    if (!c->m && !c->nr && c->nq) c->nr = 1;
    chance_write(c, "system \"by chance, %llu\"\n", (unsigned long long)seed);
    if (!chance_of(c, 4)) {
        chance_network(c);
        return;
    }
    for (int i = 0; i < c->nq; i++) chance_write(c, "coordinate x%d\n", i);
    for (int a = 1; a <= c->m; a++)
        chance_write(c, c->thermal ? "temperature T%d\n" : "entropy S%d\n", a);
    for (int r = c->m + 1; r <= c->m + c->nr; r++) {
        double T = chance_size(c, 2);
        chance_write(c, "reservoir T%d = %.6g*(1 + %g*sin(%g*t))\n", r, T, 0.2 * chance_of(c, 5),
                     chance_size(c, 1));
    }
    chance_energy(c);
    chance_flows(c);
    chance_write(c, "start");
    for (int i = 0; i < c->nq; i++)
        chance_write(c, "%s x%d = %.6g, %s.x%d = %.6g", i ? "," : "", i, chance_in(c, -2, 2),
                     c->thermal || c->lagrangian ? "v" : "p", i, chance_in(c, -2, 2));
    for (int a = 1; a <= c->m; a++) {
        double at = c->thermal ? chance_size(c, 3) : chance_in(c, -3, 3);
        chance_write(c, "%s %c%d = %.6g", a > 1 || c->nq ? "," : "", c->thermal ? 'T' : 'S', a, at);
    }
    chance_write(c, "\nstep %.6g\n", 0.03 * chance_size(c, 2));
}

#endif
