/* Units of measurement: what `[mm]` or `[degC]` means, for converting measured columns.
 *
 * A unit is a product of powers, `kg m^2/s^2`, `N*m`, `W/(m^2 K)`, with or without SI prefixes. Its
 * meaning is a factor to coherent SI units and seven exponents; degC and degF standing alone have an
 * offset as well. Angles and percent are plain numbers (rad = 1, deg = pi/180, % = 0.01). A letter
 * that several readings share has the SI reading (min is minutes, not milli-inches: names go before
 * prefixes). Names nobody knows (px, counts) are not refused: they convert to themselves only. */
#include "base/unit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct named_unit {
    const char *name;
    double factor, offset;
    signed char power[CLSI_DIMENSIONS]; /* kg m s A K mol cd */
    char prefixes;                      /* takes SI prefixes */
} named_unit;

#define PI 3.14159265358979323846

static const named_unit known[] = {
    {"1", 1, 0, {0}, 0},
    {"rad", 1, 0, {0}, 1},
    {"radian", 1, 0, {0}, 0},
    {"radians", 1, 0, {0}, 0},
    {"deg", PI / 180, 0, {0}, 0},
    {"degree", PI / 180, 0, {0}, 0},
    {"degrees", PI / 180, 0, {0}, 0},
    {"\xc2\xb0", PI / 180, 0, {0}, 0},
    {"rev", 2 * PI, 0, {0}, 0},
    {"turn", 2 * PI, 0, {0}, 0},
    {"%", 0.01, 0, {0}, 0},
    {"percent", 0.01, 0, {0}, 0},
    {"ppm", 1e-6, 0, {0}, 0},
    {"g", 1e-3, 0, {1}, 1},
    {"t", 1e3, 0, {1}, 0},
    {"lb", 0.45359237, 0, {1}, 0},
    {"m", 1, 0, {0, 1}, 1},
    {"meter", 1, 0, {0, 1}, 0},
    {"metre", 1, 0, {0, 1}, 0},
    {"meters", 1, 0, {0, 1}, 0},
    {"metres", 1, 0, {0, 1}, 0},
    {"in", 0.0254, 0, {0, 1}, 0},
    {"inch", 0.0254, 0, {0, 1}, 0},
    {"ft", 0.3048, 0, {0, 1}, 0},
    {"l", 1e-3, 0, {0, 3}, 1},
    {"L", 1e-3, 0, {0, 3}, 1},
    {"s", 1, 0, {0, 0, 1}, 1},
    {"sec", 1, 0, {0, 0, 1}, 0},
    {"secs", 1, 0, {0, 0, 1}, 0},
    {"second", 1, 0, {0, 0, 1}, 0},
    {"seconds", 1, 0, {0, 0, 1}, 0},
    {"msec", 1e-3, 0, {0, 0, 1}, 0},
    {"min", 60, 0, {0, 0, 1}, 0},
    {"minute", 60, 0, {0, 0, 1}, 0},
    {"minutes", 60, 0, {0, 0, 1}, 0},
    {"h", 3600, 0, {0, 0, 1}, 0},
    {"hr", 3600, 0, {0, 0, 1}, 0},
    {"hour", 3600, 0, {0, 0, 1}, 0},
    {"hours", 3600, 0, {0, 0, 1}, 0},
    {"d", 86400, 0, {0, 0, 1}, 0},
    {"day", 86400, 0, {0, 0, 1}, 0},
    {"days", 86400, 0, {0, 0, 1}, 0},
    {"Hz", 1, 0, {0, 0, -1}, 1},
    {"rpm", 2 * PI / 60, 0, {0, 0, -1}, 0},
    {"A", 1, 0, {0, 0, 0, 1}, 1},
    {"C", 1, 0, {0, 0, 1, 1}, 1},
    {"V", 1, 0, {1, 2, -3, -1}, 1},
    {"Ohm", 1, 0, {1, 2, -3, -2}, 1},
    {"ohm", 1, 0, {1, 2, -3, -2}, 1},
    {"F", 1, 0, {-1, -2, 4, 2}, 1},
    {"H", 1, 0, {1, 2, -2, -2}, 1},
    {"Wb", 1, 0, {1, 2, -2, -1}, 1},
    {"T", 1, 0, {1, 0, -2, -1}, 1},
    {"K", 1, 0, {0, 0, 0, 0, 1}, 1},
    {"degC", 1, 273.15, {0, 0, 0, 0, 1}, 0},
    {"deg C", 1, 273.15, {0, 0, 0, 0, 1}, 0},
    {"\xc2\xb0"
     "C",
     1,
     273.15,
     {0, 0, 0, 0, 1},
     0},
    {"\xe2\x84\x83", 1, 273.15, {0, 0, 0, 0, 1}, 0},
    {"celsius", 1, 273.15, {0, 0, 0, 0, 1}, 0},
    {"Celsius", 1, 273.15, {0, 0, 0, 0, 1}, 0},
    {"degF", 5.0 / 9, 459.67 * 5 / 9, {0, 0, 0, 0, 1}, 0},
    {"\xc2\xb0"
     "F",
     5.0 / 9,
     459.67 * 5 / 9,
     {0, 0, 0, 0, 1},
     0},
    {"mol", 1, 0, {0, 0, 0, 0, 0, 1}, 1},
    {"cd", 1, 0, {0, 0, 0, 0, 0, 0, 1}, 1},
    {"N", 1, 0, {1, 1, -2}, 1},
    {"lbf", 4.4482216152605, 0, {1, 1, -2}, 0},
    {"J", 1, 0, {1, 2, -2}, 1},
    {"cal", 4.184, 0, {1, 2, -2}, 1},
    {"eV", 1.602176634e-19, 0, {1, 2, -2}, 1},
    {"Wh", 3600, 0, {1, 2, -2}, 1},
    {"W", 1, 0, {1, 2, -3}, 1},
    {"Pa", 1, 0, {1, -1, -2}, 1},
    {"bar", 1e5, 0, {1, -1, -2}, 1},
    {"atm", 101325, 0, {1, -1, -2}, 0},
    {"psi", 6894.757293168, 0, {1, -1, -2}, 0},
    {"mmHg", 133.322387415, 0, {1, -1, -2}, 0},
};

static const struct {
    const char *name;
    double factor;
} prefixes[] = {
    {"da", 1e1},        {"Y", 1e24}, {"Z", 1e21},  {"E", 1e18},  {"P", 1e15},
    {"T", 1e12},        {"G", 1e9},  {"M", 1e6},   {"k", 1e3},   {"h", 1e2},
    {"d", 1e-1},        {"c", 1e-2}, {"m", 1e-3},  {"u", 1e-6},  {"\xc2\xb5", 1e-6},
    {"\xce\xbc", 1e-6}, {"n", 1e-9}, {"p", 1e-12}, {"f", 1e-15}, {"a", 1e-18},
};

static const named_unit *find(const char *name, size_t n, int prefixed) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == n && memcmp(known[i].name, name, n) == 0 &&
            (!prefixed || known[i].prefixes))
            return &known[i];
    return NULL;
}

static const named_unit *lookup(const char *name, size_t n, double *prefix) {
    *prefix = 1;
    const named_unit *u = find(name, n, 0);
    for (size_t i = 0; !u && i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t m = strlen(prefixes[i].name);
        if (n <= m || memcmp(name, prefixes[i].name, m) != 0) continue;
        *prefix = prefixes[i].factor;
        u = find(name + m, n - m, 1);
    }
    return u;
}

static int name_ends(const char *s) {
    return !*s || strchr(" \t*/^().0123456789-+", *s) != NULL || !strncmp(s, "\xc2\xb7", 2) ||
           !strncmp(s, "\xc2\xb2", 2) || !strncmp(s, "\xc2\xb3", 2);
}

/* ^2, ^-1, **2, a superscript, or digits right behind the name (m2, s-1). */
static const char *read_power(const char *s, int *power) {
    *power = 1;
    if (!strncmp(s, "\xc2\xb2", 2) || !strncmp(s, "\xc2\xb3", 2)) {
        *power = s[1] == '\xb2' ? 2 : 3;
        return s + 2;
    }
    const char *at = s;
    if (*at == '^')
        at++;
    else if (at[0] == '*' && at[1] == '*')
        at += 2;
    int minus = *at == '-', paren = *at == '(';
    if (paren) minus = at[1] == '-', at++;
    const char *digit = at + minus;
    if (*digit < '1' || *digit > '9') return s;
    *power = minus ? -(*digit - '0') : *digit - '0';
    return digit + 1 + (paren && digit[1] == ')');
}

static void times(clsi_unit_meaning *u, const clsi_unit_meaning *by, int power) {
    u->factor *= pow(by->factor, power);
    for (int i = 0; i < CLSI_DIMENSIONS; i++) u->power[i] += power * by->power[i];
    u->factors++;
    if (u->factors == 1 && power == 1) u->offset = by->offset;
    if (u->factors > 1 || power != 1) u->offset = 0;
}

static const char *read_product(const char *s, int depth, clsi_unit_meaning *out);

static const char *read_factor(const char *s, int depth, clsi_unit_meaning *one) {
    *one = (clsi_unit_meaning){.factor = 1};
    if (*s == '(') {
        s = depth < 8 ? read_product(s + 1, depth + 1, one) : NULL;
        return s && *s == ')' ? s + 1 : NULL;
    }
    if (*s == '1' && name_ends(s + 1)) return s + 1;
    size_t n = 0;
    while (!name_ends(s + n)) n++;
    double prefix;
    if (!strncmp(s, "deg C", 5)) n = 5;
    const named_unit *u = n ? lookup(s, n, &prefix) : NULL;
    if (!u) return NULL;
    one->factor = prefix * u->factor;
    one->offset = u->offset;
    for (int i = 0; i < CLSI_DIMENSIONS; i++) one->power[i] = u->power[i];
    return s + n;
}

static const char *read_product(const char *s, int depth, clsi_unit_meaning *out) {
    int sign = 1;
    *out = (clsi_unit_meaning){.factor = 1};
    for (;;) {
        clsi_unit_meaning one;
        int power;
        while (*s == ' ' || *s == '\t') s++;
        if (!(s = read_factor(s, depth, &one))) return NULL;
        s = read_power(s, &power);
        times(out, &one, sign * power);
        const char *at = s;
        while (*at == ' ' || *at == '\t') at++;
        if (!*at || *at == ')') return at;
        sign = *at == '/' ? -1 : 1;
        if (*at == '/' || *at == '*' || *at == '.')
            at++;
        else if (!strncmp(at, "\xc2\xb7", 2))
            at += 2;
        else if (at == s)
            return NULL;
        s = at;
    }
}

int clsi_unit_read(const char *text, clsi_unit_meaning *out) {
    while (*text == ' ' || *text == '\t') text++;
    const char *end = *text ? read_product(text, 0, out) : NULL;
    return end && !*end && isfinite(out->factor) && out->factor > 0;
}

static int same_text(const char *a, const char *b) {
    for (;; a++, b++) {
        while (*a == ' ') a++;
        while (*b == ' ') b++;
        if (*a != *b) return 0;
        if (!*a) return 1;
    }
}

static void describe(const clsi_unit_meaning *u, char out[96]) {
    static const char *const names[] = {"kg", "m", "s", "A", "K", "mol", "cd"};
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < CLSI_DIMENSIONS; i++) {
        if (!u->power[i]) continue;
        used += (size_t)snprintf(out + used, 96 - used, "%s%s", used ? " " : "", names[i]);
        if (u->power[i] != 1) used += (size_t)snprintf(out + used, 96 - used, "^%d", u->power[i]);
    }
    if (!used) snprintf(out, 96, "a number");
}

/* x / (1/f) is rounded once where 1/f is an integer: 35 mm is 0.035 m, to the bit. */
static void ratio(double factor, clsi_conversion *out) {
    double inverse = nearbyint(1 / factor);
    out->factor = factor;
    out->divisor = 1;
    if (factor < 1 && inverse < 1e15 && fabs(inverse * factor - 1) < 1e-15) {
        out->factor = 1;
        out->divisor = inverse;
    }
}

cls_status clsi_unit_convert(const char *from, const char *to, clsi_conversion *out,
                             cls_error *error) {
    clsi_unit_meaning a, b = {.factor = 1};
    *out = (clsi_conversion){1, 1, 0};
    if (to && same_text(from, to)) return CLS_OK;
    if (!clsi_unit_read(from, &a))
        return clsi_fail(error, CLS_DATA,
                         "the unit [%s] is not known%s%s%s; units are products of SI units such as "
                         "mm, kg m/s^2, degC, deg/s, %%, min",
                         from, to ? " and is not the wanted [" : "", to ? to : "", to ? "]" : "");
    if (to && !clsi_unit_read(to, &b))
        return clsi_fail(error, CLS_DATA, "the unit [%s] is not known, so [%s] cannot become it",
                         to, from);
    if (to && memcmp(a.power, b.power, sizeof a.power) != 0) {
        char is[96], wants[96];
        describe(&a, is);
        describe(&b, wants);
        return clsi_fail(error, CLS_DATA, "[%s] (%s) cannot become [%s] (%s)", from, is, to, wants);
    }
    ratio(a.factor / b.factor, out);
    out->offset = (a.offset - b.offset) / b.factor;
    return CLS_OK;
}

int clsi_conversion_is_none(const clsi_conversion *c) {
    return c->factor == 1 && c->divisor == 1 && c->offset == 0;
}

const char *clsi_unit_coherent(const char *from, char out[96]) {
    clsi_unit_meaning u;
    if (!clsi_unit_read(from, &u)) return from;
    describe(&u, out);
    int angle = 1;
    for (int i = 0; i < CLSI_DIMENSIONS; i++) angle &= !u.power[i];
    const char *name = out;
    if (angle) name = strchr(from, '%') || strstr(from, "pp") ? "1" : "rad";
    if (!strcmp(out, "kg m s^-2")) name = "N";
    if (!strcmp(out, "kg m^2 s^-2")) name = "J";
    if (!strcmp(out, "kg m^2 s^-3")) name = "W";
    return name;
}
