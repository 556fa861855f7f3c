/* A system drafted from the columns of a recording.
 *
 * Every column becomes what its unit says, else what its name says, else a coordinate: a temperature, a
 * velocity, an input or a coordinate. Around them stands the plainest system that has such columns and
 * can be learned as it is: a potential and a friction for every coordinate, a heat capacity and a leak to
 * the room for every temperature, a factor for every input. The temperature outdoors is that of the room; watts heat.
 * Amounts of substances have no inertia: their rates are unknown functions of all of them, without a law until
 * somebody writes the reactions. Where everything looks like an input something of it must be what moves.
 * What is a guess says so in the text; the draft is read as a system before it is given, so that what is given
 * loads. */
#include "base/base.h"
#include "base/locale.h"
#include "base/misuse.h"
#include <clausius/draft.h>
#include <clausius/graph.h>
#include <clausius/system.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 500 }; /* what a person can look at line by line, and more */

typedef enum role {
    COORDINATE,
    ANGLE,
    VELOCITY,
    TEMPERATURE,
    AMBIENT,
    INPUT,
    HEAT,
    AMOUNT, /* of a substance */
    CONSTANT,
    TIME,
    GROUP, /* the number of a motion */
    NAMED  /* v.x beside x: what systems call a velocity */
} role;

typedef struct column {
    const char *name, *unit; /* of the file; unit NULL: none */
    char variable[48];
    role role;
    int hidden; /* a coordinate of which only the velocity is measured */
    double first;
    cls_column_facts facts;
} column;

typedef struct draft {
    size_t n;
    column *c;
    const char *from, *next;
    double spacing, span; /* of times, in seconds where their unit is known; 0: not known */
    clsi_text *f;
} draft;

/* ---- what a column is ---- */

static int is_unit(const char *unit, const char *const *of) {
    double factor, divisor, offset;
    cls_error ignored;
    for (; unit && *of; of++)
        if (cls_unit_convert(unit, *of, &factor, &divisor, &offset, &ignored) == CLS_OK) return 1;
    return 0;
}

/* Whether a word stands in the name; a word of one or two letters must be all of it but digits. */
static int has_word(const char *name, const char *const *words) {
    char low[64];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof low; n++) low[n] = (char)tolower((unsigned char)name[n]);
    low[n] = 0;
    for (; *words; words++) {
        size_t length = strlen(*words);
        const char *at = strstr(low, *words);
        if (at && length > 2) return 1;
        if (at == low && strspn(low + length, "0123456789_") == n - length) return 1;
    }
    return 0;
}

static role role_of(const column *c) {
    static const char *const warm[] = {"K", NULL}, *const fast[] = {"m/s", "rad/s", NULL},
                             *const hot[] = {"W", "W/m2", NULL}, *const outside[] = {"N",  "N m",
                                                                                     "V",  "A",
                                                                                     "Pa", NULL};
    static const char *const amounts[] = {"mol", "mol/m3", NULL};
    static const char *const warm_names[] = {"temp", "t", "th", NULL};
    static const char *const ambient_names[] = {"ambient",
                                                "outdoor",
                                                "exter",
                                                "aussen",
                                                "au\xc3\x9f"
                                                "en",
                                                "umgebung",
                                                "surround",
                                                "environ",
                                                "outside",
                                                "weather",
                                                "t_amb",
                                                "tamb",
                                                "t_out",
                                                "tout",
                                                "to",
                                                NULL};
    static const char *const fast_names[] = {"vel",  "speed", "omega", "rpm", "dot",
                                             "rate", "v",     "w",     NULL};
    static const char *const outside_names[] = {"torque", "force", "volt",  "current", "pwm",
                                                "heater", "power", "input", "duty",    "load",
                                                "u",      "i",     "tau",   NULL};
    static const char *const angle_names[] = {"angle", "phi", "theta", "alpha", "psi", NULL};
    if (c->facts.constant) return CONSTANT;
    if (c->unit && (!strcmp(c->unit, "rad") || !strcmp(c->unit, "deg"))) return ANGLE;
    if (c->unit && !strcmp(c->unit, "%")) return INPUT;
    if (is_unit(c->unit, warm)) return has_word(c->name, ambient_names) ? AMBIENT : TEMPERATURE;
    if (is_unit(c->unit, hot)) return HEAT;
    if (is_unit(c->unit, fast)) return VELOCITY;
    if (is_unit(c->unit, outside)) return INPUT;
    if (is_unit(c->unit, amounts)) return AMOUNT;
    if (c->unit) return COORDINATE;
    if (c->facts.wraps || has_word(c->name, angle_names)) return ANGLE;
    if (has_word(c->name, outside_names)) return INPUT;
    if (has_word(c->name, fast_names)) return VELOCITY;
    return has_word(c->name, warm_names) ? TEMPERATURE : COORDINATE;
}

/* ---- names ---- */

static int is_taken(const draft *d, const column *but, const char *name) {
    static const char *const words[] = {
        "t",   "pi",  "e",   "exp", "log", "sin", "cos", "tan",  "in", "of", "on", "and",  "for",
        "sum", "min", "max", "abs", "V",   "F",   "C",   "room", "S",  "L",  "H",  "time", NULL};
    for (size_t i = 0; words[i]; i++)
        if (!strcmp(words[i], name)) return 1;
    for (size_t i = 0; i < d->n; i++)
        if (&d->c[i] != but && !strcmp(d->c[i].variable, name)) return 1;
    return 0;
}

/* Letters, digits and _ of the name; with x in front where that is no name or one that means something. */
static void name_variable(const draft *d, column *c) {
    char name[32] = "";
    size_t n = 0;
    for (const char *s = c->name; *s && n + 1 < sizeof name; s++)
        if (isalnum((unsigned char)*s) || (*s == '_' && n)) name[n++] = *s;
    name[n] = 0;
    int bare = n && isalpha((unsigned char)name[0]) && c->role != VELOCITY;
    clsi_snprintf(c->variable, sizeof c->variable, "%s%s", bare ? "" : "x",
                  bare ? name
                  : n  ? name
                       : "1");
    for (int i = 2; is_taken(d, c, c->variable) && i < 1000; i++)
        clsi_snprintf(c->variable, sizeof c->variable, "%.31s_%d", n ? name : "x", i);
}

static column *nth(const draft *d, role a, role b, size_t k) {
    for (size_t i = 0; i < d->n; i++)
        if ((d->c[i].role == a || d->c[i].role == b) && k-- == 0) return &d->c[i];
    return NULL;
}

static size_t count(const draft *d, role a, role b) {
    size_t k = 0;
    for (size_t i = 0; i < d->n; i++) k += d->c[i].role == a || d->c[i].role == b;
    return k;
}

/* Every velocity belongs to a coordinate, in their order; one too many has a coordinate that nobody
 * measured. */
static column *coordinate(const draft *d, size_t k) {
    size_t measured = count(d, COORDINATE, ANGLE);
    return k < measured ? nth(d, COORDINATE, ANGLE, k) : nth(d, VELOCITY, VELOCITY, k);
}

static size_t coordinates(const draft *d) {
    size_t a = count(d, COORDINATE, ANGLE), b = count(d, VELOCITY, VELOCITY);
    return a > b ? a : b;
}

/* ---- the columns of a file ---- */

/* Numbers of motions: whole, without a unit, one up where the time begins again and nowhere else. */
static int numbers_motions(const cls_table *t, size_t i) {
    int time = cls_table_find(t, "time") >= 0 ? cls_table_find(t, "time") : cls_table_find(t, "t");
    const double *v = cls_table_column(t, i),
                 *at = time < 0 ? v : cls_table_column(t, (size_t)time);
    size_t changes = 0;
    if (time < 0 || (size_t)time == i || cls_table_find(t, "trajectory") >= 0) return 0;
    if (cls_table_unit(t, i) || v[0] != floor(v[0])) return 0;
    for (size_t r = 1; r < cls_table_rows(t); r++) {
        double up = at[r] <= at[r - 1];
        if (v[r] - v[r - 1] != up) return 0;
        changes += up > 0;
    }
    return changes > 0;
}

/* "v.x" with a column "x" beside it: that one's number; -1: it is something else. */
static int velocity_of(const cls_table *t, const char *name) {
    return strncmp(name, "v.", 2) ? -1 : cls_table_find(t, name + 2);
}

static void look(draft *d, size_t i, const cls_table *t) {
    column *c = &d->c[i];
    const double *values = cls_table_column(t, i);
    c->name = cls_table_name(t, i);
    c->unit = cls_table_unit(t, i);
    c->first = 0;
    for (size_t r = 0; r < cls_table_rows(t); r++)
        if (isfinite(values[r])) {
            c->first = values[r];
            break;
        }
    int time = !strcmp(c->name, "time") || (!strcmp(c->name, "t") && cls_table_find(t, "time") < 0);
    c->role = time || !strcmp(c->name, "trajectory") ? TIME : role_of(c);
    if (c->role != TIME && velocity_of(t, c->name) >= 0) c->role = NAMED;
}

/* In seconds where the unit of the times is known. */
static void look_at_time(draft *d, const cls_time_facts *f, const column *c, size_t rows) {
    double factor = 1, divisor = 1, offset = 0;
    cls_error ignored;
    if (c->unit && cls_unit_convert(c->unit, "s", &factor, &divisor, &offset, &ignored) != CLS_OK)
        factor = divisor = 1;
    double span = f->known ? f->last - f->first : c->facts.max - c->facts.min;
    double mean = rows > 1 ? span / (double)(rows - 1) : 0, spacing = f->known ? f->spacing : mean;
    if (fabs(spacing - mean) < 0.01 * mean) spacing = mean; /* times that were rounded */
    d->span = span * factor / divisor;
    d->spacing = spacing * factor / divisor;
}

/* What everything else loses its heat to is not what has to be learned, if anything is left that is. */
static void check_ambient(draft *d) {
    size_t kept = nth(d, TEMPERATURE, TEMPERATURE, 0) ? 1 : 0;
    for (column *c; (c = nth(d, AMBIENT, AMBIENT, kept));) c->role = TEMPERATURE;
}

/* Something must move: voltages on their own are what rings, not what drives it. Amounts beside coordinates are
 * such. */
static void check_moving(draft *d) {
    int still = !coordinates(d) && !count(d, TEMPERATURE, AMOUNT);
    for (column *c; still && (c = nth(d, INPUT, INPUT, 0));) c->role = COORDINATE;
    for (column *c; coordinates(d) && (c = nth(d, AMOUNT, AMOUNT, 0));) c->role = COORDINATE;
}

static int is_chemistry(const draft *d) {
    return count(d, AMOUNT, AMOUNT) > 0;
}

static cls_status find_columns(draft *d, const cls_table *t, cls_error *error) {
    d->n = cls_table_columns(t);
    if (d->n > MOST_COLUMNS)
        return clsi_fail(
            error, CLS_DATA,
            "%s has %zu columns; a draft is made of at most %d: keep those that belong "
            "together in a file of their own",
            d->from, d->n, MOST_COLUMNS);
    cls_time_facts times;
    cls_status status = cls_table_inspect_time(t, &times, error);
    d->c = clsi_calloc(d->n + 1, sizeof *d->c);
    if (!d->c) return clsi_no_memory(error);
    for (size_t i = 0; !status && i < d->n; i++) {
        status = cls_table_inspect_column(t, i, &d->c[i].facts, error);
        if (!status) look(d, i, t);
    }
    if (status) return status; /* a column without a name is not looked at */
    for (size_t i = 0, found = 0; i < d->n && !found; i++)
        if (d->c[i].role != TIME && numbers_motions(t, i)) d->c[i].role = GROUP, found = 1;
    /* without a column `time`: the first that rises from row to row */
    for (size_t i = 0; !times.known && i < d->n; i++)
        if (d->c[i].facts.rises) {
            d->c[i].role = TIME;
            break;
        }
    for (size_t i = 0; i < d->n; i++)
        if (d->c[i].role == TIME && strcmp(d->c[i].name, "trajectory"))
            look_at_time(d, &times, &d->c[i], cls_table_rows(t));
    check_ambient(d);
    check_moving(d);
    /* what a torque moves turns */
    static const char *const torque[] = {"N m", NULL}, *const torque_names[] = {"torque", "tau",
                                                                                NULL};
    for (size_t i = 0, turns = 0; i < 2 * d->n; i++) {
        column *c = &d->c[i % d->n];
        turns |= c->role == INPUT && (is_unit(c->unit, torque) || has_word(c->name, torque_names));
        if (turns && c->role == COORDINATE && !c->unit) c->role = ANGLE;
    }
    size_t extra = count(d, COORDINATE, ANGLE);
    for (size_t k = extra; k < count(d, VELOCITY, VELOCITY); k++)
        nth(d, VELOCITY, VELOCITY, k)->hidden = 1;
    for (size_t i = 0; i < d->n; i++)
        if (d->c[i].role < CONSTANT) name_variable(d, &d->c[i]);
    if (!coordinates(d) && !count(d, TEMPERATURE, AMOUNT))
        return clsi_fail(error, CLS_DATA,
                         "%s: no column that changes and is no input: nothing to make a system of; "
                         "name columns with --map or --columns",
                         d->from);
    return CLS_OK;
}

/* ---- the text ---- */

static void write_head(const draft *d, const char *name) {
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

static void write_range(const draft *d, const column *c) {
    clsi_text_printf(d->f, "   # column %s, from %.4g to %.4g\n", c->name, c->facts.min,
                     c->facts.max);
}

static void write_unit(const draft *d, const column *c) {
    if (c->unit) clsi_text_printf(d->f, " [%s]", c->unit);
}

static void write_variables(const draft *d) {
    const column *c;
    for (size_t k = 0; k < coordinates(d); k++) {
        c = coordinate(d, k);
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
            write_range(d, c);
    }
    for (size_t k = 0; (c = nth(d, NAMED, NAMED, k)); k++)
        clsi_text_printf(d->f, "# column %s is the velocity of %s\n", c->name, c->name + 2);
    for (size_t k = 0; (c = nth(d, TEMPERATURE, TEMPERATURE, k)); k++) {
        clsi_text_printf(d->f, "temperature %s with entropy S_%s [K]", c->variable, c->variable);
        write_range(d, c);
    }
    if (!count(d, TEMPERATURE, TEMPERATURE))
        clsi_text_printf(
            d->f, "temperature T_body with entropy S_body [K]   # nobody measured it: where the "
                  "heat of friction goes\n");
    for (size_t k = 0; (c = nth(d, INPUT, HEAT, k)); k++) {
        clsi_text_printf(d->f, "input       %s", c->variable);
        write_unit(d, c);
        write_range(d, c);
    }
    if ((c = nth(d, AMBIENT, AMBIENT, 0))) {
        clsi_text_printf(d->f,
                         "input       %s [K]   # taken as given; if it is part of what is to be "
                         "learned, write `temperature %s with entropy S_%s`\n",
                         c->variable, c->variable, c->variable);
    }
    for (size_t k = 0; (c = nth(d, CONSTANT, CONSTANT, k)); k++)
        clsi_text_printf(d->f, "# column %s is %.6g all the time: left out\n", c->name,
                         c->facts.mean);
}

/* What a first value of a column of temperatures is in kelvin; degC is the guess without a unit where
 * the numbers are no kelvins. */
static const char *kelvin(const column *c, double *value) {
    double factor = 1, divisor = 1, offset = 0;
    cls_error ignored;
    const char *unit = c->unit ? c->unit : c->facts.min < 150 ? "degC" : "K";
    if (cls_unit_convert(unit, "K", &factor, &divisor, &offset, &ignored) != CLS_OK) return unit;
    *value = c->first * factor / divisor + offset;
    return unit;
}

static void write_data(const draft *d, const char *variable, const column *c) {
    clsi_text_printf(d->f, "data %s = \"%s%s%s%s\"\n", variable, c->name, c->unit ? " [" : "",
                     c->unit ? c->unit : "", c->unit ? "]" : "");
}

/* Velocities beside positions were mostly computed from them, by filters that make them smaller. */
static void write_velocity(const draft *d, const char *of, const column *c) {
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

static void write_columns(const draft *d) {
    const column *c;
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
    for (size_t k = 0; k < count(d, VELOCITY, VELOCITY); k++)
        write_velocity(d, coordinate(d, k)->variable, nth(d, VELOCITY, VELOCITY, k));
    for (size_t i = 0; i < d->n; i++) {
        c = &d->c[i];
        if (c->role == TEMPERATURE || c->role == AMBIENT)
            clsi_text_printf(d->f, "data %s = \"%s [%s]\"%s\n", c->variable, c->name,
                             kelvin(c, &value), c->unit ? "" : "   # the unit is a guess");
        else if ((c->role == COORDINATE || c->role == ANGLE || c->role == INPUT ||
                  c->role == HEAT || c->role == AMOUNT) &&
                 strcmp(c->name, c->variable))
            write_data(d, c->variable, c);
    }
}

static const char *heated(const draft *d, size_t k) {
    const column *c = nth(d, TEMPERATURE, TEMPERATURE, k);
    return c ? c->variable : "T_body";
}

/* What heats is in watts: then heat capacities are told in J/K. */
static const column *watts(const draft *d) {
    static const char *const power[] = {"W", NULL};
    const column *c;
    for (size_t k = 0; (c = nth(d, HEAT, HEAT, k)); k++)
        if (is_unit(c->unit, power)) return c;
    return NULL;
}

static double span_of(const draft *d, role of) {
    double span = 0;
    const column *c;
    for (size_t k = 0; (c = nth(d, of, of, k)); k++) span = fmax(span, c->facts.max - c->facts.min);
    return span > 0 ? span : 1;
}

/* Where heat capacities and leaks begin: at what the heater warms by as much as is seen, in a twentieth of
 * the time; without watts the capacity is the unit. */
static double capacity(const draft *d) {
    if (!watts(d) || !(d->span > 0)) return 1;
    return span_of(d, HEAT) * d->span / (20 * span_of(d, TEMPERATURE));
}

static double leak(const draft *d) {
    if (watts(d) && d->span > 0) return span_of(d, HEAT) / span_of(d, TEMPERATURE);
    return 0.01;
}

static void write_factor(const draft *d, const column *c) {
    if (c == watts(d) && count(d, TEMPERATURE, TEMPERATURE) == 1)
        return; /* all of it is heat of the one */
    clsi_text_printf(d->f, "parameter   b_%s = unknown near %s   # what a unit of %s does\n",
                     c->variable,
                     c->role == HEAT && watts(d)          ? "1 in (0, inf)"
                     : c->role == HEAT || !coordinates(d) ? "0.01 in (0, inf)"
                                                          : "1",
                     c->variable);
}

static void write_parameters(const draft *d) {
    size_t n = coordinates(d), m = count(d, TEMPERATURE, TEMPERATURE);
    const column *c, *outside = nth(d, AMBIENT, AMBIENT, 0);
    double room = 293.15;
    for (size_t k = 0; k < n; k++)
        clsi_text_printf(
            d->f, "parameter   m_%s = 1%s\n", coordinate(d, k)->variable,
            k ? "" : "   # motions alone tell forces in units of a mass: give it if you know it");
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
    if (m) (void)kelvin(nth(d, TEMPERATURE, TEMPERATURE, 0), &room);
    if (m && !outside)
        clsi_text_printf(d->f, "parameter   T_room = unknown near %.6g in (1, 1e4)\n", room);
    for (size_t k = 0; (c = nth(d, INPUT, HEAT, k)); k++) write_factor(d, c);
    if (m)
        clsi_text_printf(d->f, "reservoir   room = %s\n", outside ? outside->variable : "T_room");
    clsi_text_printf(d->f, "\n");
}

/* One thing that turns is a pendulum first. */
static int is_pendulum(const draft *d) {
    return coordinates(d) == 1 && coordinate(d, 0)->role == ANGLE;
}

static void write_energy(const draft *d) {
    size_t n = coordinates(d), m = count(d, TEMPERATURE, TEMPERATURE), seen = 0;
    if (is_pendulum(d))
        clsi_text_printf(
            d->f,
            "parameter k = unknown in (0, 1000), zero = unknown near 0   # a pendulum that "
            "hangs at "
            "zero; else write `part V of %s = unknown`\nlet V = -k*cos(%s - zero)\n",
            coordinate(d, 0)->variable, coordinate(d, 0)->variable);
    for (size_t k = 0; k < n && !is_pendulum(d); k++) {
        const column *c = coordinate(d, k);
        if (c->hidden) continue;
        clsi_text_printf(d->f, "%s%s", seen++ ? ", " : "part V of ", c->variable);
    }
    if (seen) clsi_text_printf(d->f, " = unknown   # the potential\n");
    clsi_text_printf(d->f, "thermal lagrangian ");
    for (size_t k = 0; k < n; k++)
        clsi_text_printf(d->f, "%sm_%s*v.%s^2/2", k ? " + " : "", coordinate(d, k)->variable,
                         coordinate(d, k)->variable);
    if (seen || is_pendulum(d)) clsi_text_printf(d->f, " - V");
    for (size_t k = 0; k < m; k++)
        clsi_text_printf(d->f, "%sC_%s*%s*(log(%s/300) - 1)", n || k ? " + " : "", heated(d, k),
                         heated(d, k), heated(d, k));
    if (!m) clsi_text_printf(d->f, " + 1000*T_body*(log(T_body/300) - 1)");
    clsi_text_printf(d->f, "\n");
}

static void write_flows(const draft *d) {
    size_t n = coordinates(d), m = count(d, TEMPERATURE, TEMPERATURE);
    const column *c;
    for (size_t k = 0; k < n; k++)
        clsi_text_printf(d->f, "friction F_%s on %s: %s <- unknown dry + viscous\n",
                         coordinate(d, k)->variable,
                         heated(d, k < m ? k
                                   : m   ? m - 1
                                         : 0),
                         coordinate(d, k)->variable);
    for (size_t k = 0; (c = nth(d, INPUT, HEAT, k)); k++) {
        if (c->role == HEAT && c == watts(d) && m == 1)
            clsi_text_printf(d->f, "heat source P_%s on %s: %s   # all of it is heat\n",
                             c->variable, heated(d, 0), c->variable);
        else if (n && c->role != HEAT)
            clsi_text_printf(
                d->f, "external force: %s <- b_%s*%s   # or does it heat, or move another?\n",
                coordinate(d, k < n ? k : n - 1)->variable, c->variable, c->variable);
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

/* In the unit that the draft has it in. */
static double first_of(const column *c) {
    double factor, divisor, offset;
    cls_error ignored;
    if (c->hidden) return 0;
    if (c->role != ANGLE || !c->unit ||
        cls_unit_convert(c->unit, "rad", &factor, &divisor, &offset, &ignored) != CLS_OK)
        return c->first;
    return c->first * factor / divisor + offset;
}

static void write_step(const draft *d) {
    if (d->spacing > 0 && d->span > 0)
        clsi_text_printf(d->f, "step  %.6g\nuntil %.6g\n", d->spacing, d->span);
}

static void write_start(const draft *d) {
    size_t n = coordinates(d), m = count(d, TEMPERATURE, TEMPERATURE);
    double value = 300;
    clsi_text_printf(d->f, "start ");
    for (size_t k = 0; k < n; k++) {
        const column *c = coordinate(d, k);
        clsi_text_printf(d->f, "%s%s = %.9g, v.%s = 0", k ? ", " : "", c->variable, first_of(c),
                         c->variable);
    }
    for (size_t k = 0; k < m; k++) {
        (void)kelvin(nth(d, TEMPERATURE, TEMPERATURE, k), &value);
        clsi_text_printf(d->f, "%s%s = %.9g", n || k ? ", " : "", heated(d, k), value);
    }
    if (!m) clsi_text_printf(d->f, ", T_body = 300");
    clsi_text_printf(d->f, "\n");
    write_step(d);
}

/* One temperature that loses heat is the least there is; real things mostly have a heavier part behind. */
static void write_behind(const draft *d) {
    if (coordinates(d) || !count(d, TEMPERATURE, TEMPERATURE)) return;
    double value = 300;
    (void)kelvin(nth(d, TEMPERATURE, TEMPERATURE, 0), &value);
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

static void write_chemistry(const draft *d) {
    const column *c;
    clsi_text_append(d->f, "# Rates as functions of everything that is there: no law is promised. "
                           "Who knows the reactions "
                           "writes\n# `mole`, an energy and `reaction A + B <-> C on T: k` "
                           "instead, and atoms and both "
                           "laws are kept\n# (docs/guide/17-matter.md).\n");
    for (size_t k = 0; (c = nth(d, TEMPERATURE, AMOUNT, k)); k++) {
        clsi_text_printf(d->f, "part rate_%s of ", c->variable);
        for (size_t j = 0; nth(d, TEMPERATURE, AMOUNT, j); j++)
            clsi_text_printf(d->f, "%s%s", j ? ", " : "", nth(d, TEMPERATURE, AMOUNT, j)->variable);
        for (size_t j = 0; nth(d, INPUT, HEAT, j); j++)
            clsi_text_printf(d->f, ", %s", nth(d, INPUT, HEAT, j)->variable);
        clsi_text_append(d->f, " = unknown");
        write_range(d, c);
    }
    for (size_t k = 0; (c = nth(d, INPUT, HEAT, k)); k++)
        clsi_text_printf(d->f, "input %s\n", c->variable);
    for (size_t k = 0; (c = nth(d, TEMPERATURE, AMOUNT, k)); k++)
        clsi_text_printf(d->f, "ode %s' = rate_%s\n", c->variable, c->variable);
    write_columns(d);
    for (size_t k = 0; (c = nth(d, TEMPERATURE, AMOUNT, k)); k++) {
        double value = c->first;
        if (c->role == TEMPERATURE) (void)kelvin(c, &value);
        clsi_text_printf(d->f, "%s%s = %.9g", k ? ", " : "start ", c->variable, value);
    }
    clsi_text_append(d->f, "\n");
    write_step(d);
}

static void write_text(const draft *d, const char *name) {
    write_head(d, name);
    if (is_chemistry(d)) {
        write_chemistry(d);
        return;
    }
    write_variables(d);
    write_parameters(d);
    write_energy(d);
    write_flows(d);
    write_columns(d);
    write_start(d);
    write_behind(d);
}

cls_status cls_draft(const cls_table *t, const char *name, const char *from, const char *next,
                     char **text, cls_error *error) {
    NEED(error, text);
    *text = NULL;
    NEED(error, t);
    NEED(error, name);
    NEED(error, from);
    clsi_text f = {0};
    draft d = {.from = from, .next = next, .f = &f};
    cls_system *s = NULL;
    cls_error inner = {0};
    unsigned long before = clsi_failures();
    cls_status status = find_columns(&d, t, error);
    status =
        clsi_failed_since(before, status, error); /* units that cannot be converted are no units */
    if (!status) write_text(&d, name);
    if (!status && !(*text = clsi_text_take(&f))) status = clsi_no_memory(error);
    if (!status && (status = cls_system_parse(*text, "draft", NULL, &s, &inner)) != CLS_OK) {
        (void)clsi_fail(
            error, status == CLS_MEMORY ? status : CLS_DATA,
            "%s: no system can be drafted from these columns: rename them with --map, or write one "
            "(%.900s)",
            from, inner.message);
        status = status == CLS_MEMORY ? status : CLS_DATA;
        cls_text_free(text);
    }
    cls_system_free(&s);
    clsi_text_clear(&f);
    free(d.c);
    return status;
}
