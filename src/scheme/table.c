/* The table of schemes: adding one is adding a file and a line here. */
#include "scheme/scheme.h"
#include "base/base.h"
#include "base/misuse.h"
#include <string.h>

#define CLSI_SCHEME_LIST(X)                                                                        \
    X(discrete_gradient)                                                                           \
    X(discrete_gradient_4)                                                                         \
    X(discrete_gradient_adaptive)                                                                  \
    X(langevin)                                                                                    \
    X(eem)                                                                                         \
    X(dtel)                                                                                        \
    X(vnots)                                                                                       \
    X(vnots_symmetric)                                                                             \
    X(cayley)                                                                                      \
    X(cayley_symmetric)                                                                            \
    X(leapfrog)                                                                                    \
    X(symplectic_euler)                                                                            \
    X(euler)                                                                                       \
    X(implicit_euler)                                                                              \
    X(implicit_midpoint)                                                                           \
    X(rk2)                                                                                         \
    X(rk3)                                                                                         \
    X(rk4)                                                                                         \
    X(lawful_rk4)                                                                                  \
    X(lawful_rk6)                                                                                  \
    X(lawful_rk8)                                                                                  \
    X(generic_euler)                                                                               \
    X(bdf)

#define CLSI_SCHEME_DECLARE(name) extern const clsi_scheme clsi_scheme_##name;
CLSI_SCHEME_LIST(CLSI_SCHEME_DECLARE)

static const clsi_scheme *const schemes[] = {
#define CLSI_SCHEME_ENTRY(name) &clsi_scheme_##name,
    CLSI_SCHEME_LIST(CLSI_SCHEME_ENTRY)};

size_t cls_scheme_count(void) {
    return sizeof schemes / sizeof *schemes;
}

const cls_scheme_info *cls_scheme_at(size_t i) {
    return i < cls_scheme_count() ? &schemes[i]->info : NULL;
}

const clsi_scheme *clsi_scheme_find(const char *name) {
    for (size_t i = 0; i < cls_scheme_count(); i++)
        if (strcmp(schemes[i]->info.name, name) == 0) return schemes[i];
    return NULL;
}

const cls_scheme_info *cls_scheme_find(const char *name) {
    if (!name) return NULL;
    const clsi_scheme *scheme = clsi_scheme_find(name);
    return scheme ? &scheme->info : NULL;
}

int cls_scheme_is_adaptive(const char *name) {
    if (!name) return 0;
    const clsi_scheme *scheme = clsi_scheme_find(name);
    return scheme && (scheme->estimate || !scheme->build); /* bdf has nothing to build */
}

/* Ordinary differential equations have rates and nothing else: the schemes that need no more. */
static int needs_rates_only(const clsi_scheme *scheme) {
    static const char *const plain[] = {
        "euler", "implicit-euler", "implicit-midpoint", "rk2", "rk3", "rk4", "bdf", "rates"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(scheme->info.name, plain[i]) == 0) return 1;
    return 0;
}

cls_status clsi_scheme_fits(const clsi_scheme *scheme, const cls_system *s, cls_error *error) {
    if (s->ode && !needs_rates_only(scheme))
        return clsi_fail(error, CLS_USAGE,
                         "%s keeps the laws of an energy, and %s is a system of ordinary "
                         "differential equations, which has none; take rk4, implicit-midpoint, "
                         "euler, implicit-euler, rk2 or bdf",
                         scheme->info.name, s->name);
    if (s->varies && !scheme->varies && scheme->build)
        return clsi_fail(error, CLS_USAGE,
                         "the energy of '%s' contains t, and %s is a scheme for energies that do "
                         "not; take discrete-gradient, implicit-midpoint, rk4 or bdf",
                         s->name, scheme->info.name);
    if (cls_system_is_noisy(s) && !scheme->noise && !scheme->drift)
        return clsi_fail(error, CLS_USAGE,
                         "frictions of '%s' come with thermal noise, which only the scheme "
                         "langevin makes, not %s; a Boltzmann constant of 0 leaves the noise out",
                         s->name, scheme->info.name);
    return scheme->applies ? scheme->applies(s, error) : CLS_OK;
}

cls_status cls_scheme_applies(const char *name, const cls_system *s, cls_error *error) {
    NEED(error, name);
    const clsi_scheme *scheme = clsi_scheme_find(name);
    if (scheme) return clsi_scheme_fits(scheme, s, error);
    const char *names[sizeof schemes / sizeof *schemes];
    for (size_t i = 0; i < cls_scheme_count(); i++) names[i] = schemes[i]->info.name;
    const char *near = cls_nearest_word(name, cls_scheme_count(), names);
    return clsi_fail(error, CLS_USAGE,
                     "there is no scheme '%s'%s%s%s; `clausius schemes` lists them", name,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'" : "");
}

const char *cls_scheme_default(const cls_system *s) {
    if (!s) return NULL;
    if (s->ode) return clsi_scheme_implicit_midpoint.info.name;
    return cls_system_is_noisy(s) ? clsi_scheme_langevin.info.name
                                  : clsi_scheme_discrete_gradient.info.name;
}
