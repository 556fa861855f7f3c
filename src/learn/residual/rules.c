/* Rules: how rows of the data become equations. A rule is one const descriptor; the step of every
 * scheme is a rule too (clsi_rule_of_scheme), with rows by src/scheme/between.c.
 *
 * Rules with weighted rates,  y(end) - y(begin) = sum_k w_k y'(z_k),  y = (p, S):
 *   quadrature       three neighbours or more, the parabola's weights; order 4, the default. Of rows that
 *                    are exact and far apart five or seven, one polynomial's weights; order 6 or 8
 *   midpoint         two neighbours and the mean of their states: what vnots-symmetric is for a
 *                    thermal lagrangian and implicit-midpoint for a hamiltonian; order 2
 *   gauss            two neighbours or more, nodes between them: systems with inputs; order 4 (nodes.c)
 *   vnots            scheme (25) as published: p' at the end, S' and q' at the beginning; order 1
 * The last two are the steps of these schemes; networks are learned with them by kernels.
 *
 * Rules of positions alone (positions.c): weak, discrete-gradient, leapfrog, euler. */
#include "base/base.h"
#include "learn/learn.h"
#include "scheme/scheme.h"
#include <string.h>

const clsi_rule clsi_rule_quadrature = {.name = "quadrature", .neighbours = 3, .composite = 1};
const clsi_rule clsi_rule_midpoint = {.name = "midpoint", .neighbours = 2, .means = 1};
const clsi_rule clsi_rule_gauss = {.name = "gauss", .neighbours = 2, .between = 1};
const clsi_rule clsi_rule_vnots = {.name = "vnots", .neighbours = 2, .means = 1, .split = 1};

/* Three Gauss points of an interval along an interpolation through eight positions. */
#define GAUSS 0.11270166537925831148
static const clsi_interval_rule weak = {
    .nodes = 3,
    .interpolated = 1,
    .place = {GAUSS, 0.5, 1 - GAUSS},
    .share = {5.0 / 18, 8.0 / 18, 5.0 / 18},
    .right = {5.0 / 18 * GAUSS, 4.0 / 18, 5.0 / 18 * (1 - GAUSS)},
    .left = {5.0 / 18 * (1 - GAUSS), 4.0 / 18, 5.0 / 18 * GAUSS},
    .rollout = "discrete-gradient-4"};
static const clsi_interval_rule pairs = {
    .nodes = 1, .paired = 1, .place = {0.5}, .share = {1}, .right = {0.5}, .left = {0.5}};
static const clsi_interval_rule leapfrog = {.nodes = 2,
                                            .at_ends = 1,
                                            .place = {0, 1},
                                            .share = {0.5, 0.5},
                                            .right = {0, 0.5},
                                            .left = {0.5, 0}};
static const clsi_interval_rule euler = {
    .nodes = 1, .place = {0}, .share = {1}, .right = {1}, .left = {0}};

const clsi_rule clsi_rule_weak = {.name = "weak", .neighbours = 3, .positions = &weak};
const clsi_rule clsi_rule_pairs = {
    .name = "discrete-gradient", .neighbours = 3, .positions = &pairs};
const clsi_rule clsi_rule_leapfrog = {.name = "leapfrog", .neighbours = 3, .positions = &leapfrog};
const clsi_rule clsi_rule_euler = {.name = "euler", .neighbours = 3, .positions = &euler};

clsi_rule clsi_rule_of_scheme(const clsi_scheme *scheme) {
    return (clsi_rule){.name = scheme->info.name, .neighbours = 2, .means = 1, .scheme = scheme};
}

/* symplectic-euler in positions is leapfrog. */
static const clsi_rule *find_position_rule(const char *name) {
    static const clsi_rule *const rules[] = {&clsi_rule_weak, &clsi_rule_pairs, &clsi_rule_leapfrog,
                                             &clsi_rule_euler};
    if (strcmp(name, "symplectic-euler") == 0) name = "leapfrog";
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(name, rules[i]->name) == 0) return rules[i];
    return NULL;
}

/* The rule with weighted rates that is the step of this scheme, or NULL. */
static const clsi_rule *weighted(const cls_system *s, const char *name) {
    if (strcmp(name, "vnots") == 0 && s->formalism != CLS_LAGRANGIAN) return &clsi_rule_vnots;
    const char *midpoint =
        s->formalism == CLS_THERMAL_LAGRANGIAN ? "vnots-symmetric" : "implicit-midpoint";
    if (s->formalism != CLS_LAGRANGIAN && strcmp(name, midpoint) == 0) return &clsi_rule_midpoint;
    return NULL;
}

cls_status clsi_rule_find(const cls_system *s, const char *name, int only_positions, clsi_rule *out,
                          cls_error *error) {
    if (!name) name = only_positions ? "weak" : "quadrature";
    const clsi_rule *rule = s->canonical && s->n ? find_position_rule(name) : NULL;
    if (rule && (only_positions || rule == &clsi_rule_weak)) {
        *out = *rule;
        return CLS_OK;
    }
    if (only_positions)
        return clsi_fail(
            error, CLS_USAGE,
            "the data have positions alone, of which '%s' makes no residual: there are "
            "weak (the default), discrete-gradient, leapfrog, symplectic-euler and "
            "euler; the loss shooting takes every scheme",
            name);
    if (strcmp(name, "quadrature") == 0) {
        *out = clsi_rule_quadrature;
        return CLS_OK;
    }
    cls_status status = cls_scheme_applies(name, s, error);
    if (status != CLS_OK) return status;
    rule = weighted(s, name);
    *out = rule ? *rule : clsi_rule_of_scheme(clsi_scheme_find(name));
    return CLS_OK;
}
