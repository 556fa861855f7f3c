/* Drafts of systems that are not bodies on lines and not rooms: a body that turns, a cell of a battery, matter that reacts.
 *
 * Each kind says which columns it takes (before the general rules look at them, find_columns in draft.c) and writes its
 * own text. What a recording of such a thing looks like:
 *
 *  - three angular velocities and no position: a gyroscope. Euler's equations couple them, so three separate coordinates
 *    explain nothing; the principal moments of inertia follow up to a common factor.
 *  - a current and a voltage that stays away from zero: a cell. The current is given; the voltage is what it answers with,
 *    open-circuit voltage less the losses of a resistance and of a resistance beside a capacitor, which heat it. */
#include "base/locale.h"
#include "explain/draft.h"
#include <math.h>
#include <string.h>
#include <strings.h>

static void leave_out(clsi_draft_column *c, const char *why) {
    c->role = LEFT_OUT;
    c->why = why;
}

/* ---- a body that turns ---- */

/* Accelerations and magnetic fields stand beside gyroscopes in files of inertial sensors. */
static int is_other_sensor(const clsi_draft_column *c) {
    static const char *const starts[] = {"acc", "mag", NULL};
    const char *s = c->stem;
    for (size_t i = 0; starts[i]; i++)
        if (!strncasecmp(s, starts[i], strlen(starts[i]))) return 1;
    return (*s == 'a' || *s == 'm') && s[1] >= 'x' && s[1] <= 'z' && !s[2];
}

static int is_turning(const clsi_draft_column *c) {
    static const char *const angular[] = {"rad/s", NULL};
    static const char *const starts[] = {"gyr", "omega", NULL};
    const char *s = c->stem;
    if (c->role != VELOCITY) return 0;
    if (c->unit) return clsi_draft_is_unit(c->unit, angular);
    for (size_t i = 0; starts[i]; i++)
        if (!strncasecmp(s, starts[i], strlen(starts[i]))) return 1;
    return (*s == 'g' || *s == 'w') && s[1] && !s[2];
}

static int takes_body(clsi_draft *d, const cls_table *t) {
    (void)t;
    size_t turning = 0;
    for (size_t i = 0; i < d->n; i++) {
        const clsi_draft_column *c = &d->c[i];
        turning += (size_t)is_turning(c);
        if ((c->role == VELOCITY && !is_turning(c)) || c->role == ANGLE || c->role == AMOUNT ||
            c->role == HEAT || c->role == NAMED || (c->role == COORDINATE && !is_other_sensor(c)))
            return 0;
    }
    if (turning != 3) return 0;
    for (size_t i = 0; i < d->n; i++) {
        clsi_draft_column *c = &d->c[i];
        if (is_turning(c))
            c->role = RATE;
        else if (c->role == COORDINATE)
            leave_out(c, "angular velocities alone tell how a body turns");
        else if (c->role == TEMPERATURE || c->role == AMBIENT)
            leave_out(c, "the heat of friction is too little to show there");
    }
    return 1;
}

static void write_torques(const clsi_draft *d) {
    const clsi_draft_column *u;
    size_t n = clsi_draft_count(d, INPUT, INPUT);
    for (size_t k = 0; (u = clsi_draft_nth(d, INPUT, INPUT, k)); k++)
        clsi_text_printf(d->f, "external force: L%zu <- b_%s*%s   # a torque%s\n", k % 3 + 1,
                         u->variable, u->variable, n == 3 ? "" : ": about which axis is a guess");
}

static void write_body(const clsi_draft *d) {
    const clsi_draft_column *w[3], *u;
    for (size_t k = 0; k < 3; k++) w[k] = clsi_draft_nth(d, RATE, RATE, k);
    clsi_text_printf(d->f,
                     "# Three angular velocities: a body that turns about its centre of mass, seen "
                     "from the body.\nrigid body  L1, L2, L3 with velocity %s, %s, %s\n",
                     w[0]->variable, w[1]->variable, w[2]->variable);
    clsi_draft_write_inputs(d);
    clsi_text_append(
        d->f,
        "temperature T_body with entropy S_body [K]   # nobody measured it: where the heat of "
        "friction goes\n"
        "parameter   I1 = 1   # motions alone tell moments of inertia in units of one of them: "
        "give it if you know it\n"
        "parameter   I2 = unknown near 1.5 in (0, inf), I3 = unknown near 2 in (0, inf)   # axes "
        "that are not principal: add I12, I13, I23\n");
    for (int k = 1; k <= 3; k++)
        clsi_text_printf(d->f, "parameter   c%d = unknown near 0.01 in (0, inf)\n", k);
    for (size_t k = 0; (u = clsi_draft_nth(d, INPUT, INPUT, k)); k++)
        clsi_text_printf(d->f, "parameter   b_%s = unknown near 1   # what a unit of %s does\n",
                         u->variable, u->variable);
    clsi_text_append(d->f, "\nthermal lagrangian ");
    for (int k = 0; k < 3; k++) clsi_text_printf(d->f, "I%d*%s^2/2 + ", k + 1, w[k]->variable);
    clsi_text_append(d->f, "1000*T_body*(log(T_body/300) - 1)\nfriction F on T_body: ");
    for (int k = 0; k < 3; k++)
        clsi_text_printf(d->f, "%sL%d <- -c%d*%s", k ? ", " : "", k + 1, k + 1, w[k]->variable);
    clsi_text_append(d->f, "\n");
    write_torques(d);
    clsi_text_append(d->f, "\n");
    clsi_draft_write_columns(d);
    for (int k = 0; k < 3; k++)
        clsi_text_printf(d->f, "%s%s = %.9g", k ? ", " : "start ", w[k]->variable,
                         clsi_draft_first(w[k], "rad/s"));
    clsi_text_append(d->f, ", T_body = 300\n");
    clsi_draft_write_step(d);
}

/* ---- a cell ---- */

static int is_electric(const clsi_draft_column *c, const char *unit, const char *const *words) {
    const char *const units[] = {unit, NULL};
    if (c->unit) return clsi_draft_is_unit(c->unit, units);
    for (; *words; words++) {
        size_t n = strlen(*words); /* a single letter is the whole name */
        if (!strncasecmp(c->stem, *words, n) && (n > 1 || !c->stem[1])) return 1;
    }
    return 0;
}

static int is_current(const clsi_draft_column *c) {
    static const char *const words[] = {"current", "amp", "strom", "i", NULL};
    return (c->role == INPUT || c->role == COORDINATE) && is_electric(c, "A", words);
}

static int is_voltage(const clsi_draft_column *c) {
    static const char *const words[] = {"volt", "spannung", "u", "v", NULL};
    return (c->role == INPUT || c->role == COORDINATE || c->role == VELOCITY) &&
           is_electric(c, "V", words);
}

/* A voltage that is switched drives something; one that comes near zero is no cell's. */
static int is_of_cell(const clsi_draft_column *c) {
    return !c->held && c->facts.min > 0.4 * c->facts.max && c->facts.max > 0;
}

/* What a unit of the column is in this one; 1 where that is not known. */
static double unit_in(const clsi_draft_column *c, const char *unit) {
    double factor = 1, divisor = 1, offset = 0;
    cls_error ignored;
    if (!c->unit || cls_unit_convert(c->unit, unit, &factor, &divisor, &offset, &ignored) != CLS_OK)
        return 1;
    return factor / divisor;
}

/* How the voltage answers when the current jumps: the resistance, its sign that of the current. */
static double answer(const cls_table *t, size_t current, size_t voltage) {
    const double *i = cls_table_column(t, current), *v = cls_table_column(t, voltage);
    double both = 0, square = 0;
    for (size_t r = 1; r < cls_table_rows(t); r++) {
        double di = i[r] - i[r - 1], dv = v[r] - v[r - 1];
        if (isfinite(di) && isfinite(dv)) both += di * dv, square += di * di;
    }
    return square > 0 ? -both / square : 0;
}

/* What flows in the recording, from the least that was taken to the most. */
static double charge(const clsi_draft *d, const cls_table *t, size_t current) {
    const double *i = cls_table_column(t, current);
    double sum = 0, least = 0, most = 0;
    for (size_t r = 1; r < cls_table_rows(t); r++) {
        if (isfinite(i[r - 1])) sum += i[r - 1] * d->spacing;
        least = fmin(least, sum);
        most = fmax(most, sum);
    }
    return most - least;
}

static int takes_cell(clsi_draft *d, const cls_table *t) {
    size_t current = d->n, voltage = d->n, others = 0;
    for (size_t i = 0; i < d->n; i++) {
        const clsi_draft_column *c = &d->c[i];
        if (is_current(c))
            current = current < d->n ? 2 * d->n : i;
        else if (is_voltage(c))
            voltage = voltage < d->n ? 2 * d->n : i;
        else
            others += c->role == ANGLE || c->role == VELOCITY || c->role == AMOUNT;
    }
    if (current >= d->n || voltage >= d->n || others || !is_of_cell(&d->c[voltage]) ||
        clsi_draft_count(d, TEMPERATURE, TEMPERATURE) > 1)
        return 0;
    double ampere = unit_in(&d->c[current], "A"), volt = unit_in(&d->c[voltage], "V");
    d->resistance = answer(t, current, voltage) * volt / ampere;
    d->charge = charge(d, t, current) * ampere;
    if (!(fabs(d->resistance) > 0) || !(d->charge > 0)) return 0;
    for (size_t i = 0; i < d->n; i++) {
        clsi_draft_column *c = &d->c[i];
        if (i == current || i == voltage) {
            c->role = i == current ? INPUT : OUTPUT;
            c->in = !c->unit ? NULL : i == current ? "A" : "V";
        } else if (c->role == COORDINATE || c->role == INPUT || c->role == HEAT)
            leave_out(c, "computed from the current, as a rule");
    }
    return 1;
}

/* Where a search for the heat begins: the losses warm it by what is seen, in a twentieth of the time. */
static double losses(const clsi_draft *d, const clsi_draft_column *i) {
    double most = fmax(fabs(i->facts.min), fabs(i->facts.max)) * unit_in(i, "A");
    return fabs(d->resistance) * most * most / 3;
}

static void write_cell_parameters(const clsi_draft *d, const clsi_draft_column *i,
                                  const clsi_draft_column *v, const clsi_draft_column *T) {
    double R = fabs(d->resistance), span = d->span > 0 ? d->span : 1;
    clsi_text_printf(d->f,
                     "parameter   Q = %.4g   # the charge that moves here [A s]: z goes over about "
                     "1\n"
                     "parameter   a0 = unknown near %.4g, a1 = unknown near 0.5, a2 = unknown near "
                     "0, a3 = unknown near 0, a4 = unknown near 0\n"
                     "parameter   R0 = unknown near %.3g in (0, inf)   # what answers at once\n"
                     "parameter   R1 = unknown near %.3g in (0, inf), C1 = unknown near %.3g in "
                     "(0, inf)   # what answers later, beside it\n",
                     d->charge, v->facts.mean * unit_in(v, "V"), R, R, span / (100 * R));
    if (!T) {
        clsi_text_append(d->f, "parameter   C_cell = 50, g = 0.1, T_room = 298.15   # no column "
                               "says how warm it is\n");
        return;
    }
    const clsi_draft_column *outside = clsi_draft_nth(d, AMBIENT, AMBIENT, 0);
    double rise = fmax(T->facts.max - T->facts.min, 1e-3), power = losses(d, i), first = 300;
    (void)clsi_draft_kelvin(T, &first);
    clsi_text_printf(d->f,
                     "parameter   C_cell = unknown near %.2g in (1e-6, 1e12), g = unknown near "
                     "%.2g in (0, inf)   # heat capacity, what leaks to the room\n",
                     power * span / (20 * rise), power / rise);
    if (!outside)
        clsi_text_printf(d->f, "parameter   T_room = unknown near %.6g in (1, 1e4)\n", first);
}

static void write_cell(const clsi_draft *d) {
    const clsi_draft_column *i = clsi_draft_nth(d, INPUT, INPUT, 0),
                            *v = clsi_draft_nth(d, OUTPUT, OUTPUT, 0),
                            *T = clsi_draft_nth(d, TEMPERATURE, TEMPERATURE, 0),
                            *outside = clsi_draft_nth(d, AMBIENT, AMBIENT, 0);
    const char *warm = T ? T->variable : "T_cell", *out = d->resistance > 0 ? "" : "-",
               *in = d->resistance > 0 ? "-" : "";
    double first = 298.15;
    clsi_text_printf(
        d->f,
        "# A current and a voltage that stays away from zero: a cell. Its open-circuit voltage is "
        "a "
        "polynomial of the\n# charge that was taken, which is the integral of %s: nobody has to "
        "measure it. By how the voltage answers,\n# a positive %s %s the cell.\n",
        i->variable, i->variable, d->resistance > 0 ? "discharges" : "charges");
    clsi_draft_write_inputs(d);
    write_cell_parameters(d, i, v, T);
    clsi_text_printf(d->f,
                     "momentum    q with velocity U_open   # what is left, from 0 at the start\n"
                     "momentum    q1 with velocity U1      # of the capacitor beside R1\n"
                     "entropy     S with temperature %s\n"
                     "reservoir   room = %s\n\n"
                     "let z = q/Q\n"
                     "hamiltonian Q*(a0*z + a1*z^2/2 + a2*z^3/3 + a3*z^4/4 + a4*z^5/5) + "
                     "q1^2/(2*C1) + C_cell*300*exp(S/C_cell)\n"
                     "external force: q <- %s%s, q1 <- %s%s\n"
                     "friction on S: q1 <- -U1/R1\n"
                     "heat source ohmic on %s: R0*%s^2\n"
                     "heat exchange %s <-> room: g\n"
                     "output %s%s = U_open - U1 %s R0*%s\n\n",
                     warm, outside ? outside->variable : "T_room", in, i->variable, out,
                     i->variable, warm, i->variable, warm, v->variable, v->in ? " [V]" : "",
                     d->resistance > 0 ? "-" : "+", i->variable);
    clsi_draft_write_columns(d);
    if (T) (void)clsi_draft_kelvin(T, &first);
    clsi_text_printf(d->f, "start q = 0, q1 = 0, %s = %.9g\n", warm, first);
    clsi_draft_write_step(d);
}

/* ---- matter that reacts ---- */

static int takes_chemistry(clsi_draft *d, const cls_table *t) {
    (void)t;
    return clsi_draft_count(d, AMOUNT, AMOUNT) > 0;
}

static void write_chemistry(const clsi_draft *d) {
    const clsi_draft_column *c;
    clsi_text_append(d->f, "# Rates as functions of everything that is there: no law is promised. "
                           "Who knows the reactions "
                           "writes\n# `mole`, an energy and `reaction A + B <-> C on T: k` "
                           "instead, and atoms and both "
                           "laws are kept\n# (docs/guide/17-matter.md).\n");
    for (size_t k = 0; (c = clsi_draft_nth(d, TEMPERATURE, AMOUNT, k)); k++) {
        clsi_text_printf(d->f, "part rate_%s of ", c->variable);
        for (size_t j = 0; clsi_draft_nth(d, TEMPERATURE, AMOUNT, j); j++)
            clsi_text_printf(d->f, "%s%s", j ? ", " : "",
                             clsi_draft_nth(d, TEMPERATURE, AMOUNT, j)->variable);
        for (size_t j = 0; clsi_draft_nth(d, INPUT, HEAT, j); j++)
            clsi_text_printf(d->f, ", %s", clsi_draft_nth(d, INPUT, HEAT, j)->variable);
        clsi_text_append(d->f, " = unknown");
        clsi_draft_write_range(d, c);
    }
    for (size_t k = 0; (c = clsi_draft_nth(d, INPUT, HEAT, k)); k++)
        clsi_text_printf(d->f, "input %s\n", c->variable);
    for (size_t k = 0; (c = clsi_draft_nth(d, TEMPERATURE, AMOUNT, k)); k++)
        clsi_text_printf(d->f, "ode %s' = rate_%s\n", c->variable, c->variable);
    clsi_draft_write_columns(d);
    for (size_t k = 0; (c = clsi_draft_nth(d, TEMPERATURE, AMOUNT, k)); k++) {
        double value = c->first;
        if (c->role == TEMPERATURE) (void)clsi_draft_kelvin(c, &value);
        clsi_text_printf(d->f, "%s%s = %.9g", k ? ", " : "start ", c->variable, value);
    }
    clsi_text_append(d->f, "\n");
    clsi_draft_write_step(d);
}

const clsi_draft_kind clsi_draft_body = {takes_body, write_body},
                      clsi_draft_cell = {takes_cell, write_cell},
                      clsi_draft_chemistry = {takes_chemistry, write_chemistry};
