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
#include "explain/draft.h"
#include "base/locale.h"
#include "base/misuse.h"
#include <clausius/draft.h>
#include <clausius/graph.h>
#include <clausius/system.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_COLUMNS = 500 }; /* what a person can look at line by line, and more */

/* ---- what a column is ---- */

int clsi_draft_is_unit(const char *unit, const char *const *of) {
    double factor, divisor, offset;
    cls_error ignored;
    for (; unit && *of; of++)
        if (cls_unit_convert(unit, *of, &factor, &divisor, &offset, &ignored) == CLS_OK) return 1;
    return 0;
}

/* Whether a word stands in the name; a word of one or two letters must be all of it but digits and indices, T[3]. */
static int has_word(const char *name, const char *const *words) {
    char low[64];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof low; n++) low[n] = (char)tolower((unsigned char)name[n]);
    low[n] = 0;
    for (; *words; words++) {
        size_t length = strlen(*words);
        const char *at = strstr(low, *words);
        if (at && length > 2) return 1;
        if (at == low && strspn(low + length, "0123456789_[]") == n - length) return 1;
    }
    return 0;
}

/* Whether one of the parts of the name between _ . - and blanks is one of the words, or begins with it. */
static int has_part(const char *name, const char *const *words, int begins) {
    static const char between[] = "_. -";
    for (const char *at = name; *at; at += strspn(at, between)) {
        size_t length = strcspn(at, between);
        for (size_t i = 0; words[i]; i++) {
            size_t n = strlen(words[i]);
            if ((begins ? n <= length : n == length) && !strncasecmp(at, words[i], n)) return 1;
        }
        at += length;
    }
    return 0;
}

static clsi_role role_of(const clsi_draft_column *c) {
    static const char *const warm[] = {"K", NULL}, *const fast[] = {"m/s", "rad/s", NULL},
                             *const hot[] = {"W", "W/m2", NULL}, *const outside[] = {"N",  "N m",
                                                                                     "V",  "A",
                                                                                     "Pa", NULL};
    static const char *const amounts[] = {"mol", "mol/m3", NULL}, *const steep[] = {"m/s^2", NULL};
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
    static const char *const fast_names[] = {"speed", "omega", "rpm", "dot", "v",
                                             "w",     "gx",    "gy",  "gz",  NULL};
    static const char *const fast_starts[] = {"vel", "rate", "gyr", NULL}; /* a level is none */
    static const char *const outside_names[] = {
        "torque", "force", "volt", "current", "pwm",    "heater", "power", "input", "duty", "load",
        "u",      "i",     "tau",  "f",       "thrust", "kraft",  "strom", "spann", NULL};
    static const char *const angle_names[] = {"angle", "phi", "theta", "alpha", "psi", NULL};
    if (c->facts.constant) return CONSTANT;
    if (c->unit && (!strcmp(c->unit, "rad") || !strcmp(c->unit, "deg"))) return ANGLE;
    if (c->unit && !strcmp(c->unit, "%")) return INPUT;
    if (clsi_draft_is_unit(c->unit, warm))
        return has_word(c->stem, ambient_names) ? AMBIENT : TEMPERATURE;
    if (clsi_draft_is_unit(c->unit, hot)) return HEAT;
    if (clsi_draft_is_unit(c->unit, fast)) return VELOCITY;
    if (clsi_draft_is_unit(c->unit, outside)) return INPUT;
    if (clsi_draft_is_unit(c->unit, amounts)) return AMOUNT;
    if (clsi_draft_is_unit(c->unit, steep)) return LEFT_OUT;
    if (c->unit) return COORDINATE;
    if (c->facts.wraps || has_word(c->stem, angle_names)) return ANGLE;
    if (has_word(c->stem, outside_names)) return INPUT;
    if (has_word(c->stem, fast_names) || has_part(c->stem, fast_starts, 1)) return VELOCITY;
    if (has_word(c->stem, warm_names)) return TEMPERATURE;
    return c->held ? INPUT : COORDINATE;
}

/* ---- names ---- */

static int is_taken(const clsi_draft *d, const clsi_draft_column *but, const char *name) {
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
static void name_variable(const clsi_draft *d, clsi_draft_column *c) {
    char name[32] = "";
    size_t n = 0;
    for (const char *s = c->stem; *s && n + 1 < sizeof name; s++) {
        if (isalnum((unsigned char)*s) || (*s == '_' && n)) name[n++] = *s;
        if (s[0] == ']' && s[1] == '[') name[n++] = '_'; /* T[1][11] and T[11][1] */
    }
    name[n] = 0;
    int bare = n && isalpha((unsigned char)name[0]) && c->role != VELOCITY;
    clsi_snprintf(c->variable, sizeof c->variable, "%s%s", bare ? "" : "x",
                  bare ? name
                  : n  ? name
                       : "1");
    for (int i = 2; is_taken(d, c, c->variable) && i < 1000; i++)
        clsi_snprintf(c->variable, sizeof c->variable, "%.31s_%d", n ? name : "x", i);
}

clsi_draft_column *clsi_draft_nth(const clsi_draft *d, clsi_role a, clsi_role b, size_t k) {
    for (size_t i = 0; i < d->n; i++)
        if ((d->c[i].role == a || d->c[i].role == b) && k-- == 0) return &d->c[i];
    return NULL;
}

size_t clsi_draft_count(const clsi_draft *d, clsi_role a, clsi_role b) {
    size_t k = 0;
    for (size_t i = 0; i < d->n; i++) k += d->c[i].role == a || d->c[i].role == b;
    return k;
}

/* Every velocity belongs to a coordinate, in their order; one too many has a coordinate that nobody
 * measured. */
clsi_draft_column *clsi_draft_coordinate(const clsi_draft *d, size_t k) {
    size_t measured = clsi_draft_count(d, COORDINATE, ANGLE);
    return k < measured ? clsi_draft_nth(d, COORDINATE, ANGLE, k)
                        : clsi_draft_nth(d, VELOCITY, VELOCITY, k);
}

size_t clsi_draft_coordinates(const clsi_draft *d) {
    size_t a = clsi_draft_count(d, COORDINATE, ANGLE), b = clsi_draft_count(d, VELOCITY, VELOCITY);
    return a > b ? a : b;
}

/* ---- units at the end of names: time_s, x_mm, omega_rad_s ---- */

/* What an end of a name says as a unit; NULL: nothing. Where the file does not name its time so, an end of one letter is
 * rather an index (theta_m of a motor, T_s of a surface). */
static const char *unit_at_end(const char *end, int single) {
    static const struct {
        const char *end, *unit;
    } ends[] = {{"s", "s"},        {"min", "min"},     {"h", "h"},       {"ms", "ms"},
                {"us", "us"},      {"m", "m"},         {"cm", "cm"},     {"mm", "mm"},
                {"um", "um"},      {"rad", "rad"},     {"deg", "deg"},   {"V", "V"},
                {"mV", "mV"},      {"A", "A"},         {"mA", "mA"},     {"N", "N"},
                {"kN", "kN"},      {"Nm", "N m"},      {"N_m", "N m"},   {"K", "K"},
                {"C", "degC"},     {"degC", "degC"},   {"W", "W"},       {"kW", "kW"},
                {"Pa", "Pa"},      {"kPa", "kPa"},     {"bar", "bar"},   {"rpm", "rpm"},
                {"m_s", "m/s"},    {"mps", "m/s"},     {"mm_s", "mm/s"}, {"rad_s", "rad/s"},
                {"rads", "rad/s"}, {"deg_s", "deg/s"}, {"dps", "deg/s"}, {"mol", "mol"},
                {"pct", "%"},      {"percent", "%"}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!strcmp(end, ends[i].end) && (single || end[1])) return ends[i].unit;
    return NULL;
}

/* The longest end behind a _ that is a unit becomes it. */
static void split_name(clsi_draft_column *c, int single) {
    clsi_snprintf(c->stem, sizeof c->stem, "%.63s", c->name);
    for (char *at = strchr(c->stem, '_'); at && !c->unit; at = strchr(at + 1, '_')) {
        const char *unit = at > c->stem ? unit_at_end(at + 1, single) : NULL;
        if (!unit) continue;
        c->unit = unit;
        c->said_by_name = 1;
        *at = 0;
        break;
    }
}

static int is_time(const char *stem) {
    static const char *const names[] = {"time", "timestamp", "zeit", NULL};
    for (size_t i = 0; names[i]; i++)
        if (!strcasecmp(stem, names[i])) return 1;
    return !strcmp(stem, "t"); /* T is a temperature */
}

/* The column of times by its name: -1 where none has such a name. */
static int find_time(const cls_table *t) {
    int at = cls_table_find(t, "time") >= 0 ? cls_table_find(t, "time") : cls_table_find(t, "t");
    for (size_t i = 0; i < cls_table_columns(t) && at < 0; i++) {
        clsi_draft_column c = {.name = cls_table_name(t, i), .unit = cls_table_unit(t, i)};
        split_name(&c, 1);
        if (is_time(c.stem)) at = (int)i;
    }
    return at;
}

/* Does a column of times have its unit at the end of its name? */
static int has_units_in_names(const cls_table *t) {
    for (size_t i = 0; i < cls_table_columns(t); i++) {
        clsi_draft_column c = {.name = cls_table_name(t, i), .unit = cls_table_unit(t, i)};
        split_name(&c, 1);
        if (c.said_by_name && is_time(c.stem)) return 1;
    }
    return 0;
}

/* ---- the columns of a file ---- */

/* Numbers of motions: whole, without a unit, one up where the time begins again and nowhere else. */
static int numbers_motions(const cls_table *t, size_t i) {
    int time = find_time(t);
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

/* Numbers of rows: one up in each. */
static int counts_rows(const cls_table *t, size_t i) {
    const double *v = cls_table_column(t, i);
    size_t n = cls_table_rows(t), up = 0;
    for (size_t r = 1; r < n; r++) up += v[r] - v[r - 1] == 1;
    return n > 2 && !cls_table_unit(t, i) && up == n - 1;
}

/* "v.x" with a column "x" beside it: that one's number; -1: it is something else. */
static int velocity_of(const cls_table *t, const char *name) {
    return strncmp(name, "v.", 2) ? -1 : cls_table_find(t, name + 2);
}

/* Four rows of five are as the one before, and what changes, changes by more than steps of a coarse sensor. */
static int is_held(const cls_table *t, size_t i, const cls_column_facts *f) {
    const double *v = cls_table_column(t, i);
    double n = (double)cls_table_rows(t), jumps = 0, sum = 0;
    for (size_t r = 1; r < cls_table_rows(t); r++)
        if (v[r] != v[r - 1]) jumps++, sum += fabs(v[r] - v[r - 1]);
    return jumps > 0 && jumps <= 0.2 * n && sum >= 0.05 * jumps * (f->max - f->min);
}

static void look(clsi_draft *d, size_t i, const cls_table *t, int units_in_names) {
    clsi_draft_column *c = &d->c[i];
    const double *values = cls_table_column(t, i);
    c->name = cls_table_name(t, i);
    c->unit = cls_table_unit(t, i);
    split_name(c, units_in_names);
    c->first = 0;
    for (size_t r = 0; r < cls_table_rows(t); r++)
        if (isfinite(values[r])) {
            c->first = values[r];
            break;
        }
    c->held = is_held(t, i, &c->facts);
    int time = find_time(t) == (int)i;
    c->role = time || !strcmp(c->name, "trajectory") ? TIME : role_of(c);
    if (c->role == LEFT_OUT) c->why = "an acceleration, which follows from the motion";
    if (c->role != TIME && velocity_of(t, c->name) >= 0) c->role = NAMED;
}

/* In seconds where the unit of the times is known. */
static void look_at_time(clsi_draft *d, const cls_time_facts *f, const clsi_draft_column *c,
                         const double *v, size_t rows) {
    double factor = 1, divisor = 1, offset = 0;
    cls_error ignored;
    if (c->unit && cls_unit_convert(c->unit, "s", &factor, &divisor, &offset, &ignored) != CLS_OK)
        factor = divisor = 1;
    double span = f->known ? f->last - f->first : c->facts.max - c->facts.min;
    double mean = rows > 1 ? span / (double)(rows - 1) : 0, sum = 0, steps = 0;
    for (size_t r = 1; r < rows && !c->facts.rises;
         r++) /* it begins again: of every motion alone */
        if (v[r] > v[r - 1]) sum += v[r] - v[r - 1], steps++;
    if (!f->known && steps > 0) mean = sum / steps;
    double spacing = f->known ? f->spacing : mean;
    if (fabs(spacing - mean) < 0.01 * mean) spacing = mean; /* times that were rounded */
    d->span = span * factor / divisor;
    d->spacing = spacing * factor / divisor;
}

/* Air and rooms are what is outside where something else in the file changes much more; else they may be what is heated. */
static void find_room(clsi_draft *d) {
    static const char *const names[] = {"room", "raum", "zimmer", "air", "luft", NULL};
    double widest = 0;
    clsi_draft_column *c;
    for (size_t k = 0; (c = clsi_draft_nth(d, TEMPERATURE, TEMPERATURE, k)); k++)
        widest = fmax(widest, c->facts.max - c->facts.min);
    for (size_t k = 0; (c = clsi_draft_nth(d, TEMPERATURE, TEMPERATURE, k)) &&
                       !clsi_draft_count(d, AMBIENT, AMBIENT);
         k++)
        if (has_word(c->stem, names) && c->facts.max - c->facts.min < 0.25 * widest)
            c->role = AMBIENT;
}

/* What everything else loses its heat to is not what has to be learned, if anything is left that is. */
static void check_ambient(clsi_draft *d) {
    find_room(d);
    size_t kept = clsi_draft_nth(d, TEMPERATURE, TEMPERATURE, 0) ? 1 : 0;
    for (clsi_draft_column *c; (c = clsi_draft_nth(d, AMBIENT, AMBIENT, kept));)
        c->role = TEMPERATURE;
}

/* What is switched, or is called so, drives the others. */
static int drives(const clsi_draft_column *c) {
    static const char *const names[] = {"in",  "input", "drive", "src", "source", "set",
                                        "cmd", "ref",   "gen",   "ein", NULL};
    return c->held || has_part(c->stem, names, 0);
}

/* Something must move: voltages on their own are what rings, not what drives it, but for those that drive. Amounts
 * beside coordinates are such. */
static void check_moving(clsi_draft *d) {
    int still = !clsi_draft_coordinates(d) && !clsi_draft_count(d, TEMPERATURE, AMOUNT);
    size_t driving = 0, all = clsi_draft_count(d, INPUT, INPUT);
    for (size_t i = 0; i < d->n; i++) driving += d->c[i].role == INPUT && drives(&d->c[i]);
    for (size_t i = 0; i < d->n && still; i++)
        if (d->c[i].role == INPUT && (driving == all || !drives(&d->c[i])))
            d->c[i].role = COORDINATE;
    clsi_draft_column *c;
    while (clsi_draft_coordinates(d) && (c = clsi_draft_nth(d, AMOUNT, AMOUNT, 0)))
        c->role = COORDINATE;
}

/* The kinds, in the order in which they are tried. */
static const clsi_draft_kind *const kinds[] = {&clsi_draft_body, &clsi_draft_cell,
                                               &clsi_draft_chemistry};

static void find_kind(clsi_draft *d, const cls_table *t) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && !d->kind; k++)
        if (kinds[k]->takes(d, t)) d->kind = kinds[k];
}

static cls_status find_columns(clsi_draft *d, const cls_table *t, cls_error *error) {
    d->n = cls_table_columns(t);
    if (d->n > MOST_COLUMNS)
        return clsi_fail(
            error, CLS_DATA,
            "%s has %zu columns; a draft is made of at most %d: keep those that belong "
            "together in a file of their own",
            d->from, d->n, MOST_COLUMNS);
    cls_time_facts times;
    cls_status status = cls_table_inspect_time(t, &times, error);
    int units_in_names = has_units_in_names(t);
    d->c = clsi_calloc(d->n + 1, sizeof *d->c);
    if (!d->c) return clsi_no_memory(error);
    for (size_t i = 0; !status && i < d->n; i++) {
        status = cls_table_inspect_column(t, i, &d->c[i].facts, error);
        if (!status) look(d, i, t, units_in_names);
    }
    if (status) return status; /* a column without a name is not looked at */
    for (size_t i = 0, found = 0; i < d->n && !found; i++)
        if (d->c[i].role != TIME && numbers_motions(t, i)) d->c[i].role = GROUP, found = 1;
    int timed = find_time(t) >= 0;
    for (size_t i = 0; timed && i < d->n; i++)
        if (d->c[i].role != TIME && counts_rows(t, i)) d->c[i].role = COUNTER;
    /* without a name that says it: the first that rises from row to row */
    for (size_t i = 0; !timed && i < d->n; i++)
        if (d->c[i].facts.rises) {
            d->c[i].role = TIME;
            break;
        }
    for (size_t i = 0; i < d->n; i++)
        if (d->c[i].role == TIME && strcmp(d->c[i].name, "trajectory"))
            look_at_time(d, &times, &d->c[i], cls_table_column(t, i), cls_table_rows(t));
    check_ambient(d);
    check_moving(d);
    find_kind(d, t);
    /* what a torque moves turns */
    static const char *const torque[] = {"N m", NULL}, *const torque_names[] = {"torque", "tau",
                                                                                NULL};
    for (size_t i = 0, turns = 0; i < 2 * d->n; i++) {
        clsi_draft_column *c = &d->c[i % d->n];
        turns |= c->role == INPUT &&
                 (clsi_draft_is_unit(c->unit, torque) || has_word(c->stem, torque_names));
        if (turns && c->role == COORDINATE && !c->unit) c->role = ANGLE;
    }
    size_t extra = clsi_draft_count(d, COORDINATE, ANGLE);
    for (size_t k = extra; k < clsi_draft_count(d, VELOCITY, VELOCITY); k++)
        clsi_draft_nth(d, VELOCITY, VELOCITY, k)->hidden = 1;
    for (size_t i = 0; i < d->n; i++)
        if (d->c[i].role < CONSTANT) name_variable(d, &d->c[i]);
    if (!d->kind && !clsi_draft_coordinates(d) && !clsi_draft_count(d, TEMPERATURE, AMOUNT))
        return clsi_fail(error, CLS_DATA,
                         "%s: no column that changes and is no input: nothing to make a system of; "
                         "name columns with --map or --columns",
                         d->from);
    return CLS_OK;
}

cls_status cls_draft(const cls_table *t, const char *name, const char *from, const char *next,
                     char **text, cls_error *error) {
    NEED(error, text);
    *text = NULL;
    NEED(error, t);
    NEED(error, name);
    NEED(error, from);
    clsi_text f = {0};
    clsi_draft d = {.from = from, .next = next, .f = &f};
    cls_system *s = NULL;
    cls_error inner = {0};
    unsigned long before = clsi_failures();
    cls_status status = find_columns(&d, t, error);
    status =
        clsi_failed_since(before, status, error); /* units that cannot be converted are no units */
    if (!status) clsi_draft_write(&d, name);
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
