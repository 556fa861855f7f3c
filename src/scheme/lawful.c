/* lawful-rk4, lawful-rk6, lawful-rk8: explicit Runge-Kutta methods that keep both laws.
 *
 * With stages Y_i and K_i = h y'(Y_i), y = (q, p, S), a step is y1 = y0 + sum w_i K_i.
 *
 * Second law: the total entropy is a sum of states, and its rate is not negative wherever temperatures
 * are positive. So it does not fall over a step whose weights w_i are not negative.
 *
 * First law: of all weights with sum w_i = 1 those next to the method's own b_i that keep the energy,
 *     E(y1) - (work and heat that came in) = E(y0),
 * are taken (simulate/lawful.c): w_i = b_i (1 + lambda (g_i - g)/V) with the slopes g_i = E'(y1).K_i, their
 * mean g and variance V by the weights b_i. Because the step is off by O(h^p+1) the w_i are off by
 * O(h^p-1) and the state by O(h^p+1): the order is that of the method. Times are equally spaced, and what
 * is linear in the state and kept by the motion (momentum, amounts of matter) is kept.
 *
 * The methods: the classical one; seven stages of order 6 that were searched for here; and the eleven stages of
 * order 8 by Cooper and Verner 1972, whose five weights are those of Lobatto's quadrature. None of them has a
 * weight below zero. tests/simulate/test_lawful.c checks all 200 conditions of order 8.
 *
 * Seven stages of order 6 are solutions of 37 equations for 28 coefficients; the known families with weights
 * that are not negative (Butcher 1964) leave out two stages. This one is of a family with four free parameters
 * in which only the second stage has no weight, sum_j a_ij c_j = c_i^2/2 from the third on, and
 * sum_i b_i a_ij = b_j (1 - c_j). They were chosen for small conditions of orders 7 and 8, and for
 * b.A^6.1 = 1/5040, to which it comes by 0.12 %: what is linear is solved to next to order 7 (decision 410).
 * Solved to 38 digits. A stage is an explicit Euler step from somewhere, and nothing else is
 * built. */
#include "base/base.h"
#include "scheme/scheme.h"

static cls_status applies(const char *name, const cls_system *s, cls_error *error) {
    static const char *const states[] = {
        [CLSI_FORM_VELOCITY] = "velocities", [CLSI_FORM_THERMAL] = "velocities and temperatures"};
    if (s->has_entropy)
        return clsi_fail(
            error, CLS_USAGE,
            "the entropy of '%s' is a formula of its state, and %s keeps the second law of "
            "entropies that are states; take discrete-gradient, eem or rk4",
            s->name, name);
    if (s->form->kind != CLSI_FORM_PHASE)
        return clsi_fail(
            error, CLS_USAGE,
            "%s makes steps of momenta and entropies without solving equations, and the "
            "state of '%s' has %s; take discrete-gradient-4 or discrete-gradient-adaptive",
            name, s->name, states[s->form->kind]);
    return CLS_OK;
}

static cls_status applies_4(const cls_system *s, cls_error *error) {
    return applies("lawful-rk4", s, error);
}

static cls_status applies_6(const cls_system *s, cls_error *error) {
    return applies("lawful-rk6", s, error);
}

static cls_status applies_8(const cls_system *s, cls_error *error) {
    return applies("lawful-rk8", s, error);
}

static const double a4[4][4] = {{0}, {0.5}, {0, 0.5}, {0, 0, 1}};
static const double b4[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
static const double c4[4] = {0, 0.5, 0.5, 1};
static const clsi_tableau kutta = {4, a4[0], b4, c4};

static const double a6[7][7] = {
    {0},
    {0.1833802580850616971639},
    {0.08744209786365303166906, 0.1354097969732841305751},
    {0.09221372202632610116934, -0.4431359087949760583196, 0.7824498130950958887553},
    {0.2200779646410925433936, -0.1984377947507380350237, 0.06284254624078387734583,
     0.6088327123355255762279},
    {-0.07763977659268011315413, 0.4758682987107964722905, 0.1563270213189678019352,
     -0.09771154873414256994610, 0.3206562709064116238481},
    {0.2346654937968396209849, -0.5499734676140285888646, 0.4629052351979309910246,
     0.5829700269326376973244, -0.4352718617628294778429, 0.7047045734494497573736}};
static const double b6[7] = {0.07270994616084665344106, 0,
                             0.2906159069732100186215,  0.1863605193697432604329,
                             0.1406225717502608496940,  0.2353749885491139643610,
                             0.07431606719682525344952};
static const double c6[7] = {0,
                             0.1833802580850616971639,
                             0.2228518948369371622441,
                             0.4315276263264459316051,
                             0.6933154284666639619437,
                             0.7775002656093532149736,
                             1};
static const clsi_tableau seven = {7, a6[0], b6, c6};

#define R 4.58257569495584000658804719 /* sqrt(21) */
static const double a8[11][11] = {
    {0},
    {1.0 / 2},
    {1.0 / 4, 1.0 / 4},
    {1.0 / 7, (-7 - 3 * R) / 98, (21 + 5 * R) / 49},
    {(11 + R) / 84, 0, (18 + 4 * R) / 63, (21 - R) / 252},
    {(5 + R) / 48, 0, (9 + R) / 36, (-231 + 14 * R) / 360, (63 - 7 * R) / 80},
    {(10 - R) / 42, 0, (-432 + 92 * R) / 315, (633 - 145 * R) / 90, (-504 + 115 * R) / 70,
     (63 - 13 * R) / 35},
    {1.0 / 14, 0, 0, 0, (14 - 3 * R) / 126, (13 - 3 * R) / 63, 1.0 / 9},
    {1.0 / 32, 0, 0, 0, (91 - 21 * R) / 576, 11.0 / 72, (-385 - 75 * R) / 1152,
     (63 + 13 * R) / 128},
    {1.0 / 14, 0, 0, 0, 1.0 / 9, (-733 - 147 * R) / 2205, (515 + 111 * R) / 504,
     (-51 - 11 * R) / 56, (132 + 28 * R) / 245},
    {0, 0, 0, 0, (-42 + 7 * R) / 18, (-18 + 28 * R) / 45, (-273 - 53 * R) / 72, (301 + 53 * R) / 72,
     (28 - 28 * R) / 45, (49 - 7 * R) / 18}};
static const double b8[11] = {1.0 / 20, 0,          0,         0,          0,       0,
                              0,        49.0 / 180, 16.0 / 45, 49.0 / 180, 1.0 / 20};
static const double c8[11] = {
    0, 0.5, 0.5, (7 + R) / 14, (7 + R) / 14, 0.5, (7 - R) / 14, (7 - R) / 14, 0.5, (7 + R) / 14, 1};
static const clsi_tableau cooper_verner = {11, a8[0], b8, c8};

const clsi_scheme clsi_scheme_lawful_rk4 = {
    .info = {"lawful-rk4", "the classical Runge-Kutta method with weights that keep the energy", 4,
             0, "energy, entropy >= 0", "Kutta 1901; Calvo et al. 2006"},
    .applies = applies_4,
    .build = clsi_build_euler,
    .tableau = &kutta,
    .carries = 1};

const clsi_scheme clsi_scheme_lawful_rk6 = {
    .info = {"lawful-rk6", "Runge-Kutta method of order 6 with weights that keep the energy", 6, 0,
             "energy, entropy >= 0", "Calvo et al. 2006"},
    .applies = applies_6,
    .build = clsi_build_euler,
    .tableau = &seven,
    .carries = 1};

const clsi_scheme clsi_scheme_lawful_rk8 = {
    .info = {"lawful-rk8", "Runge-Kutta method of order 8 with weights that keep the energy", 8, 0,
             "energy, entropy >= 0", "Cooper, Verner 1972; Calvo et al. 2006"},
    .applies = applies_8,
    .build = clsi_build_euler,
    .tableau = &cooper_verner,
    .carries = 1};
