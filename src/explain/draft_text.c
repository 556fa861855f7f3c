/* The text of a draft: what the plainest system with such columns looks like, and what in it is a guess. */
#include "base/locale.h"
#include "explain/draft.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

static void write_head(const clsi_draft *d, const char *name) {
    clsi_text_printf(
        d->f,
        "# A draft from %s: what the columns are is a guess. Look at every line, change what "
        "is\n# wrong, put formulas that you know in the place of what is unknown%s%s\n",
        d->from, d->next ? ", then\n#     " : ".", d->next ? d->next : "");
    clsi_text_printf(d->f, "system \"");
    for (const char *c = name; *c; c++)
        clsi_text_append_n(d->f, *c == '-' || *c == '_' ? " " : c, 1);
    clsi_text_printf(d->f, "\"\n\n");
}

void clsi_draft_write_range(const clsi_draft *d, const clsi_draft_column *c) {
    clsi_text_printf(d->f, "   # column %s, from %.4g to %.4g\n", c->name, c->facts.min,
                     c->facts.max);
}

static void write_unit(const clsi_draft *d, const clsi_draft_column *c) {
    const char *unit = c->in ? c->in : c->unit;
    if (unit) clsi_text_printf(d->f, " [%s]", unit);
}

/* What comes from outside, and columns that are not used. */
void clsi_draft_write_inputs(const clsi_draft *d) {
    const clsi_draft_column *c;
    for (size_t k = 0; (c = clsi_draft_nth(d, INPUT, HEAT, k)); k++) {
        clsi_text_printf(d->f, "input       %s", c->variable);
        write_unit(d, c);
        clsi_draft_write_range(d, c);
    }
    if ((c = clsi_draft_nth(d, AMBIENT, AMBIENT, 0))) {
        clsi_text_printf(d->f,
                         "input       %s [K]   # taken as given; if it is part of what is to be "
                         "learned, write `temperature %s with entropy S_%s`\n",
                         c->variable, c->variable, c->variable);
    }
    for (size_t k = 0; (c = clsi_draft_nth(d, COUNTER, COUNTER, k)); k++)
        clsi_text_printf(d->f, "# column %s counts the rows: left out\n", c->name);
    for (size_t k = 0; (c = clsi_draft_nth(d, CONSTANT, CONSTANT, k)); k++)
        clsi_text_printf(d->f, "# column %s is %.6g all the time: left out\n", c->name,
                         c->facts.mean);
    for (size_t k = 0; (c = clsi_draft_nth(d, LEFT_OUT, LEFT_OUT, k)); k++)
        clsi_text_printf(d->f, "# column %s: %s; left out\n", c->name, c->why);
}

static void write_variables(const clsi_draft *d) {
    const clsi_draft_column *c;
    for (size_t k = 0; k < clsi_draft_coordinates(d); k++) {
        c = clsi_draft_coordinate(d, k);
        clsi_text_printf(d->f, "coordinate  %s", c->variable);
        if (!c->hidden && c->role == ANGLE && c->unit)
            clsi_text_append(d->f,
                             " [rad]"); /* that is what a cosine takes; degrees are converted */
        else if (!c->hidden)
            write_unit(d, c);
        if (c->role == ANGLE) clsi_text_printf(d->f, " angle");
        if (c->hidden)
            clsi_text_printf(d->f, "   # nobody measured it: only its velocity, column %s\n",
                             c->name);
        else
            clsi_draft_write_range(d, c);
    }
    for (size_t k = 0; (c = clsi_draft_nth(d, NAMED, NAMED, k)); k++)
        clsi_text_printf(d->f, "# column %s is the velocity of %s\n", c->name, c->name + 2);
    for (size_t k = 0; (c = clsi_draft_nth(d, TEMPERATURE, TEMPERATURE, k)); k++) {
        clsi_text_printf(d->f, "temperature %s with entropy S_%s [K]", c->variable, c->variable);
        clsi_draft_write_range(d, c);
    }
    if (!clsi_draft_count(d, TEMPERATURE, TEMPERATURE))
        clsi_text_printf(
            d->f, "temperature T_body with entropy S_body [K]   # nobody measured it: where the "
                  "heat of friction goes\n");
    clsi_draft_write_inputs(d);
}

/* What a first value of a column of temperatures is in kelvin; degC is the guess without a unit where
 * the numbers are no kelvins. */
const char *clsi_draft_kelvin(const clsi_draft_column *c, double *value) {
    double factor = 1, divisor = 1, offset = 0;
    cls_error ignored;
    const char *unit = c->unit ? c->unit : c->facts.min < 150 ? "degC" : "K";
    if (cls_unit_convert(unit, "K", &factor, &divisor, &offset, &ignored) != CLS_OK) return unit;
    *value = c->first * factor / divisor + offset;
    return unit;
}

static void write_data(const clsi_draft *d, const char *variable, const clsi_draft_column *c) {
    clsi_text_printf(d->f, "data %s = \"%s%s%s%s\"%s\n", variable, c->name, c->unit ? " [" : "",
                     c->unit ? c->unit : "", c->unit ? "]" : "",
                     c->said_by_name ? "   # the unit by its name: a guess" : "");
}

/* Velocities beside positions were mostly computed from them, by filters that make them smaller. */
static void write_velocity(const clsi_draft *d, const char *of, const clsi_draft_column *c) {
    char seen[64];
    if (c->hidden) {
        clsi_snprintf(seen, sizeof seen, "v.%.48s", of);
        write_data(d, seen, c);
        return;
    }
    clsi_text_printf(
        d->f,
        "parameter gain_%s = unknown near 1 in (0.1, 10)   # is it that velocity, in these units? "
        "Then `data v.%s` is enough\noutput %s = gain_%s*v.%s\n",
        of, of, c->variable, of, of);
    write_data(d, c->variable, c);
}

void clsi_draft_write_columns(const clsi_draft *d) {
    const clsi_draft_column *c;
    double value = 0;
    for (size_t i = 0; i < d->n; i++) {
        c = &d->c[i];
        if (c->role == TIME && strcmp(c->name, "time") && strcmp(c->name, "t") &&
            strcmp(c->name, "trajectory"))
            write_data(d, "time", c);
        if (c->role == GROUP) write_data(d, "trajectory", c);
        for (size_t k = 0; c->role == NAMED && k < d->n; k++) {
            char own[64];
            clsi_snprintf(own, sizeof own, "v.%.48s", d->c[k].variable);
            if (!strcmp(d->c[k].name, c->name + 2) && strcmp(own, c->name)) write_data(d, own, c);
        }
    }
    for (size_t k = 0; k < clsi_draft_count(d, VELOCITY, VELOCITY); k++)
        write_velocity(d, clsi_draft_coordinate(d, k)->variable,
                       clsi_draft_nth(d, VELOCITY, VELOCITY, k));
    for (size_t i = 0; i < d->n; i++) {
        c = &d->c[i];
        if (c->role == TEMPERATURE || c->role == AMBIENT)
            clsi_text_printf(d->f, "data %s = \"%s [%s]\"%s\n", c->variable, c->name,
                             clsi_draft_kelvin(c, &value),
                             c->unit && !c->said_by_name ? "" : "   # the unit is a guess");
        else if ((c->role == COORDINATE || c->role == ANGLE || c->role == INPUT ||
                  c->role == HEAT || c->role == AMOUNT || c->role == RATE || c->role == OUTPUT) &&
                 (c->in || strcmp(c->name, c->variable)))
            write_data(d, c->variable, c);
    }
}

static const char *heated(const clsi_draft *d, size_t k) {
    const clsi_draft_column *c = clsi_draft_nth(d, TEMPERATURE, TEMPERATURE, k);
    return c ? c->variable : "T_body";
}

/* What heats is in watts: then heat capacities are in J/K. */
static const clsi_draft_column *watts(const clsi_draft *d) {
    static const char *const power[] = {"W", NULL};
    const clsi_draft_column *c;
    for (size_t k = 0; (c = clsi_draft_nth(d, HEAT, HEAT, k)); k++)
        if (clsi_draft_is_unit(c->unit, power)) return c;
    return NULL;
}

static double span_of(const clsi_draft *d, clsi_role of) {
    double span = 0;
    const clsi_draft_column *c;
    for (size_t k = 0; (c = clsi_draft_nth(d, of, of, k)); k++)
        span = fmax(span, c->facts.max - c->facts.min);
    return span > 0 ? span : 1;
}

/* Where heat capacities and leaks begin: at what the heater warms by as much as is seen, in a twentieth of
 * the time; without watts the capacity is the unit. */
static double capacity(const clsi_draft *d) {
    if (!watts(d) || !(d->span > 0)) return 1;
    return span_of(d, HEAT) * d->span / (20 * span_of(d, TEMPERATURE));
}

static double leak(const clsi_draft *d) {
    if (watts(d) && d->span > 0) return span_of(d, HEAT) / span_of(d, TEMPERATURE);
    return 0.01;
}

static void write_factor(const clsi_draft *d, const clsi_draft_column *c) {
    if (c == watts(d) && clsi_draft_count(d, TEMPERATURE, TEMPERATURE) == 1)
        return; /* all of it is heat of the one */
    clsi_text_printf(d->f, "parameter   b_%s = unknown near %s   # what a unit of %s does\n",
                     c->variable,
                     c->role == HEAT && watts(d)                     ? "1 in (0, inf)"
                     : c->role == HEAT || !clsi_draft_coordinates(d) ? "0.01 in (0, inf)"
                                                                     : "1",
                     c->variable);
}

/* Whether it may stay within a turn. */
static int within_turn(const clsi_draft_column *c) {
    double turn = c->unit && !strcmp(c->unit, "deg") ? 360 : 6.283185307179586;
    return !c->facts.wraps && c->facts.max - c->facts.min < turn;
}

/* Two angles. */
static int turn_two(const clsi_draft *d) {
    for (size_t k = 0; k < 2 && clsi_draft_coordinates(d) == 2; k++) {
        const clsi_draft_column *c = clsi_draft_coordinate(d, k);
        if (c->hidden || c->role != ANGLE) return 0;
    }
    return clsi_draft_coordinates(d) == 2;
}

/* Two things that swing, and nothing that drives them: one most likely hangs on the other. */
static int is_double_pendulum(const clsi_draft *d) {
    return turn_two(d) && !clsi_draft_count(d, INPUT, HEAT) &&
           within_turn(clsi_draft_coordinate(d, 0)) && within_turn(clsi_draft_coordinate(d, 1));
}

/* x and y are one body; else every coordinate is that of a body of its own, with a mass of its own and something between it
 * and the next. */
static int has_bodies(const clsi_draft *d) {
    size_t n = clsi_draft_coordinates(d);
    for (size_t k = 0; k < n; k++) {
        const clsi_draft_column *c = clsi_draft_coordinate(d, k);
        int axis = (c->variable[0] | 32) == 'y' || (c->variable[0] | 32) == 'z';
        if (c->hidden || (k && axis && !isalpha((unsigned char)c->variable[1]))) return 0;
    }
    return n > 1;
}

/* Many bodies: a potential of all of them, with everything between any two, is more than rows tell. Springs to what does
 * not move and to the next are what strings, frames and lattices have. */
static int is_chain(const clsi_draft *d) {
    return clsi_draft_coordinates(d) > 3 && has_bodies(d);
}

static void write_chain(const clsi_draft *d) {
    size_t n = clsi_draft_coordinates(d);
    clsi_text_append(d->f, "# Springs to what stands still (f) and between neighbours (k), in the "
                           "order of the columns; one that\n# hardens: + q*(a - b)^4/4. Dampers to "
                           "what stands still (c).\n");
    for (size_t k = 1; k <= n; k++) {
        clsi_text_printf(d->f, "parameter   f_%zu = unknown in (0, inf), ", k);
        if (k < n) clsi_text_printf(d->f, "k_%zu = unknown in (0, inf), ", k);
        clsi_text_printf(d->f, "c_%zu = unknown near 0.1 in (0, inf)\n", k);
    }
    for (size_t k = 0; k < n; k++) {
        const char *a = clsi_draft_coordinate(d, k)->variable;
        clsi_text_printf(d->f, "%sf_%zu*%s^2/2", k ? " + " : "let V = ", k + 1, a);
        if (k + 1 < n)
            clsi_text_printf(d->f, " + k_%zu*(%s - %s)^2/2", k + 1, a,
                             clsi_draft_coordinate(d, k + 1)->variable);
    }
    clsi_text_append(d->f, "\n");
}

static void write_parameters(const clsi_draft *d) {
    size_t n = clsi_draft_coordinates(d), m = clsi_draft_count(d, TEMPERATURE, TEMPERATURE);
    const clsi_draft_column *c, *outside = clsi_draft_nth(d, AMBIENT, AMBIENT, 0);
    double room = 293.15;
    for (size_t k = 0; k < n; k++)
        clsi_text_printf(
            d->f, "parameter   m_%s = %s%s\n", clsi_draft_coordinate(d, k)->variable,
            k && has_bodies(d) && !is_chain(d) ? "unknown near 1 in (0, inf)" : "1",
            k ? ""
            : is_chain(d)
                ? "   # all alike; one that differs: unknown near 1 in (0, inf)"
                : "   # motions alone tell forces in units of a mass: give it if you know it");
    if (is_double_pendulum(d))
        clsi_text_append(d->f, "parameter   j = unknown near 0.1 in (-1, 1)   # how much one "
                               "carries the other: 0 where they hang side by side\n");
    for (size_t k = 0; k < m; k++)
        if (n || k || (watts(d) && m == 1))
            clsi_text_printf(d->f, "parameter   C_%s = unknown near %.1g in (1e-6, 1e12)\n",
                             heated(d, k), capacity(d));
        else
            clsi_text_printf(
                d->f,
                "parameter   C_%s = %.1g   # heats are told in units of a heat capacity: "
                "give it if you know it\n",
                heated(d, k), capacity(d));
    for (size_t k = 0; k < m; k++)
        clsi_text_printf(
            d->f, "parameter   g_%s = unknown near %.1g in (0, inf)   # what leaks to the room\n",
            heated(d, k), leak(d));
    if (m) (void)clsi_draft_kelvin(clsi_draft_nth(d, TEMPERATURE, TEMPERATURE, 0), &room);
    if (m && !outside)
        clsi_text_printf(d->f, "parameter   T_room = unknown near %.6g in (1, 1e4)\n", room);
    for (size_t k = 0; (c = clsi_draft_nth(d, INPUT, HEAT, k)); k++) write_factor(d, c);
    if (m)
        clsi_text_printf(d->f, "reservoir   room = %s\n", outside ? outside->variable : "T_room");
    clsi_text_printf(d->f, "\n");
}

/* One thing that turns is a pendulum first; within a turn it may be a disc on a spring, which is written but not
 * unknown: with both, a weight is found less exactly (decision 315). */
static int is_pendulum(const clsi_draft *d) {
    return clsi_draft_coordinates(d) == 1 && clsi_draft_coordinate(d, 0)->role == ANGLE;
}

static void write_pendulum(const clsi_draft *d) {
    const clsi_draft_column *c = clsi_draft_coordinate(d, 0);
    int spring = within_turn(c);
    clsi_text_printf(d->f,
                     "parameter k = unknown in (0, 1000), zero = unknown near 0   # a pendulum "
                     "that hangs at zero; else "
                     "write `part V of %s = unknown`\n",
                     c->variable);
    if (spring)
        clsi_text_printf(d->f,
                         "parameter c = 0   # a spring that twists: c = unknown in (0, 1000)\n");
    clsi_text_printf(d->f, "let V = -k*cos(%s - zero)", c->variable);
    if (spring) clsi_text_printf(d->f, " + c*(%s - zero)^2/2", c->variable);
    clsi_text_printf(d->f, "\n");
}

static void write_two_angles(const clsi_draft *d) {
    const char *a = clsi_draft_coordinate(d, 0)->variable,
               *b = clsi_draft_coordinate(d, 1)->variable;
    if (!is_double_pendulum(d)) {
        clsi_text_printf(d->f,
                         "parameter   k = unknown in (0, 1e6)   # two discs on a shaft; else write "
                         "`part V of %s, %s = unknown`\nlet V = k*(%s - %s)^2/2\n",
                         a, b, a, b);
        return;
    }
    clsi_text_append(
        d->f, "# One pendulum on another; two discs on a shaft: j = 0, V = k*(a - b)^2/2.\n");
    for (int k = 1; k <= 2; k++)
        clsi_text_printf(
            d->f, "parameter   k_%d = unknown in (0, 1000), zero_%d = unknown near 0\n", k, k);
    clsi_text_printf(d->f, "let V = -k_1*cos(%s - zero_1) - k_2*cos(%s - zero_2)\n", a, b);
}

/* Of the kinetic energy. */
static void write_carrying(const clsi_draft *d) {
    const char *a = clsi_draft_coordinate(d, 0)->variable,
               *b = clsi_draft_coordinate(d, 1)->variable;
    clsi_text_printf(d->f, " + j*sqrt(m_%s*m_%s)*cos(%s - zero_1 - (%s - zero_2))*v.%s*v.%s", a, b,
                     a, b, a, b);
}

static void write_energy(const clsi_draft *d) {
    size_t n = clsi_draft_coordinates(d), m = clsi_draft_count(d, TEMPERATURE, TEMPERATURE),
           seen = 0;
    int two = turn_two(d), hangs = two || is_pendulum(d) || is_chain(d);
    if (two)
        write_two_angles(d);
    else if (is_chain(d))
        write_chain(d);
    else if (hangs)
        write_pendulum(d);
    for (size_t k = 0; k < n && !hangs; k++) {
        const clsi_draft_column *c = clsi_draft_coordinate(d, k);
        if (c->hidden) continue;
        clsi_text_printf(d->f, "%s%s", seen++ ? ", " : "part V of ", c->variable);
    }
    if (seen) clsi_text_printf(d->f, " = unknown   # the potential\n");
    clsi_text_printf(d->f, "thermal lagrangian ");
    for (size_t k = 0; k < n; k++)
        clsi_text_printf(d->f, "%sm_%s*v.%s^2/2", k ? " + " : "",
                         clsi_draft_coordinate(d, k)->variable,
                         clsi_draft_coordinate(d, k)->variable);
    if (is_double_pendulum(d)) write_carrying(d);
    if (seen || hangs) clsi_text_printf(d->f, " - V");
    for (size_t k = 0; k < m; k++)
        clsi_text_printf(d->f, "%sC_%s*%s*(log(%s/300) - 1)", n || k ? " + " : "", heated(d, k),
                         heated(d, k), heated(d, k));
    if (!m) clsi_text_printf(d->f, " + 1000*T_body*(log(T_body/300) - 1)");
    clsi_text_printf(d->f, "\n");
}

/* The joint of a pendulum, the damper between two carts. */
static void write_between(const clsi_draft *d, size_t k, const char *warm) {
    const char *a = clsi_draft_coordinate(d, k)->variable,
               *b = clsi_draft_coordinate(d, k + 1)->variable;
    clsi_text_printf(d->f,
                     "parameter   d_%zu = unknown near 0.1 in (0, inf)   # between %s and %s\n"
                     "friction between_%zu on %s: %s <- -d_%zu*(v.%s - v.%s), %s <- -d_%zu*(v.%s - "
                     "v.%s)\n",
                     k + 1, a, b, k + 1, warm, a, k + 1, a, b, b, k + 1, b, a);
}

static void write_flows(const clsi_draft *d) {
    size_t n = clsi_draft_coordinates(d), m = clsi_draft_count(d, TEMPERATURE, TEMPERATURE);
    const clsi_draft_column *c;
    for (size_t k = 0; k < n && is_chain(d); k++)
        clsi_text_printf(d->f, "friction on %s: %s <- -c_%zu*v.%s\n", heated(d, 0),
                         clsi_draft_coordinate(d, k)->variable, k + 1,
                         clsi_draft_coordinate(d, k)->variable);
    for (size_t k = 0; k < n && !is_chain(d); k++)
        clsi_text_printf(d->f, "friction F_%s on %s: %s <- unknown dry + viscous + quadratic\n",
                         clsi_draft_coordinate(d, k)->variable,
                         heated(d, k < m ? k
                                   : m   ? m - 1
                                         : 0),
                         clsi_draft_coordinate(d, k)->variable);
    for (size_t k = 0; k + 1 < n && has_bodies(d) && !is_chain(d); k++)
        write_between(d, k, heated(d, 0));
    for (size_t k = 0; (c = clsi_draft_nth(d, INPUT, HEAT, k)); k++) {
        if (c->role == HEAT && c == watts(d) && m == 1)
            clsi_text_printf(d->f, "heat source P_%s on %s: %s   # all of it is heat\n",
                             c->variable, heated(d, 0), c->variable);
        else if (n && c->role != HEAT)
            clsi_text_printf(
                d->f, "external force: %s <- b_%s*%s   # or does it heat, or move another?\n",
                clsi_draft_coordinate(d, k < n ? k : n - 1)->variable, c->variable, c->variable);
        else
            clsi_text_printf(d->f, "heat source P_%s on %s: b_%s*%s   # or does it heat another?\n",
                             c->variable,
                             heated(d, k < m ? k
                                       : m   ? m - 1
                                             : 0),
                             c->variable, c->variable);
    }
    for (size_t k = 0; k + 1 < m; k++)
        clsi_text_printf(
            d->f,
            "parameter k_%zu = unknown near 0.01 in (0, inf)\nheat exchange %s <-> %s: k_%zu\n",
            k + 1, heated(d, k), heated(d, k + 1), k + 1);
    for (size_t k = 0; k < m; k++)
        clsi_text_printf(d->f, "heat exchange %s <-> room: g_%s\n", heated(d, k), heated(d, k));
    clsi_text_printf(d->f, "\n");
}

double clsi_draft_first(const clsi_draft_column *c, const char *unit) {
    double factor, divisor, offset;
    cls_error ignored;
    if (!c->unit || cls_unit_convert(c->unit, unit, &factor, &divisor, &offset, &ignored) != CLS_OK)
        return c->first;
    return c->first * factor / divisor + offset;
}

/* In the unit that the draft has it in. */
static double first_of(const clsi_draft_column *c) {
    if (c->hidden) return 0;
    return c->role == ANGLE ? clsi_draft_first(c, "rad") : c->first;
}

/* Until: a whole number of steps, which are known to six digits. */
void clsi_draft_write_step(const clsi_draft *d) {
    if (!(d->spacing > 0 && d->span > 0)) return;
    double unit = pow(10, floor(log10(d->spacing)) - 5), step = round(d->spacing / unit) * unit,
           steps = round(d->span / d->spacing), end = steps * step;
    int fits = fabs(end - d->span) <= 1e-9 * d->span || fabs(d->span / d->spacing - steps) > 0.01;
    clsi_text_printf(d->f, "step  %.6g\nuntil %.*g\n", d->spacing, fits ? 6 : 12,
                     fits ? d->span : end);
}

static void write_start(const clsi_draft *d) {
    size_t n = clsi_draft_coordinates(d), m = clsi_draft_count(d, TEMPERATURE, TEMPERATURE);
    double value = 300;
    clsi_text_printf(d->f, "start ");
    for (size_t k = 0; k < n; k++) {
        const clsi_draft_column *c = clsi_draft_coordinate(d, k);
        clsi_text_printf(d->f, "%s%s = %.9g, v.%s = 0", k ? ", " : "", c->variable, first_of(c),
                         c->variable);
    }
    for (size_t k = 0; k < m; k++) {
        (void)clsi_draft_kelvin(clsi_draft_nth(d, TEMPERATURE, TEMPERATURE, k), &value);
        clsi_text_printf(d->f, "%s%s = %.9g", n || k ? ", " : "", heated(d, k), value);
    }
    if (!m) clsi_text_printf(d->f, ", T_body = 300");
    clsi_text_printf(d->f, "\n");
    clsi_draft_write_step(d);
}

/* One temperature that loses heat is the least there is; real things mostly have a heavier part behind. */
static void write_behind(const clsi_draft *d) {
    if (clsi_draft_coordinates(d) || !clsi_draft_count(d, TEMPERATURE, TEMPERATURE)) return;
    double value = 300;
    (void)clsi_draft_kelvin(clsi_draft_nth(d, TEMPERATURE, TEMPERATURE, 0), &value);
    clsi_text_printf(
        d->f,
        "\n# If the fit stays poor: a body behind it that nobody measured (a wall, a housing). "
        "Remove "
        "the\n# marks, and add C_wall*T_wall*(log(T_wall/300) - 1) to the thermal lagrangian.\n"
        "# temperature T_wall with entropy S_wall [K]\n"
        "# parameter C_wall = unknown near %.1g in (1e-6, 1e12), k_wall = unknown near %.1g in (0, "
        "inf), g_wall = unknown near %.1g in (0, inf)\n# heat exchange %s <-> T_wall: k_wall\n# "
        "heat exchange T_wall <-> room: g_wall\n# start T_wall = %.9g\n",
        10 * capacity(d), leak(d), leak(d), heated(d, 0), value);
}

void clsi_draft_write(const clsi_draft *d, const char *name) {
    write_head(d, name);
    if (d->kind) {
        d->kind->write(d);
        return;
    }
    write_variables(d);
    write_parameters(d);
    write_energy(d);
    write_flows(d);
    clsi_draft_write_columns(d);
    write_start(d);
    write_behind(d);
}
