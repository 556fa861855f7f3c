/* Declarations: what there is (coordinate, position, momentum, entropy, temperature), how large it
 * is (parameter), and what is written often (let, part).
 *
 * An entropy always comes with its temperature, whichever of the two is declared: S1 with T1, s_a
 * with theta_a, or as `with` says. Domains wait until all parameters are known (a gas volume stays
 * above b). A parameter given by --set keeps that value whatever the file says. */
#include "system/language.h"
#include "system/pattern.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_COORDINATES = 1000000,
    MAX_ENTROPIES = 1000000,
    MAX_PARAMETERS = 1000000,
    MAX_LETS = 1000000
};

cls_status clsi_read_system(clsi_reader *r, clsi_cursor c) {
    if (r->has_title) return clsi_at(r, c.at, "the system already has a title");
    cls_status status = clsi_expect(r, &c, "\"", "`system`");
    if (status != CLS_OK) return status;
    const char *end = memchr(r->clean + c.at, '"', c.end - c.at);
    if (!end) return clsi_at(r, c.end, "the title has no closing `\"`");
    size_t length = (size_t)(end - (r->clean + c.at));
    if (length > 200) return clsi_at(r, c.at, "the title is longer than 200 letters");
    free(r->s->title);
    r->s->title = clsi_strndup(r->clean + c.at, length);
    if (!r->s->title) return clsi_no_memory(r->error);
    for (char *t = r->s->title; *t; t++)
        if (*t == '\n') *t = ' ';
    r->has_title = 1;
    c.at += length + 1;
    return clsi_expect_end(r, &c);
}

/* ---- coordinates, entropies, temperatures ---- */

static cls_status expected_name(clsi_reader *r, clsi_cursor *c, const char *after, size_t *length) {
    char found[48];
    *length = clsi_word_length(r, c, 0);
    if (*length) return CLS_OK;
    return clsi_at(r, c->at, "expected a name after %s, found %s", after, clsi_found(r, c, found));
}

static cls_status add_variable(clsi_reader *r, clsi_variable **list, size_t *capacity, size_t n,
                               const char *name, double low) {
    if (!clsi_grow(list, capacity, n + 1, sizeof **list)) return clsi_no_memory(r->error);
    name = cls_node_name(r->s->g, cls_symbol(r->s->g, name)); /* the graph's */
    (*list)[n] = (clsi_variable){name, NULL, low, INFINITY};
    return name && *name ? CLS_OK : clsi_no_memory(r->error);
}

/* Two texts one behind the other, the second not zero-terminated, as far as there is room: names come by the
 * hundred thousand, and snprintf was a sixth of declaring them. */
static void join(char *out, size_t size, const char *a, const char *b, size_t n) {
    size_t m = strlen(a);
    if (m > size - 1) m = size - 1;
    if (n > size - 1 - m) n = size - 1 - m;
    memcpy(out, a, m);
    memcpy(out + m, b, n);
    out[m + n] = 0;
}

static cls_status declare_symbol(clsi_reader *r, const char *prefix, const char *name,
                                 clsi_kind kind, size_t index, size_t where) {
    char full[96];
    join(full, sizeof full, prefix, name, strlen(name));
    return clsi_declare(r, full, strlen(full), kind, index, cls_symbol(r->s->g, full), where);
}

static cls_status add_position(clsi_reader *r, const char *name, size_t where) {
    cls_system *s = r->s;
    if (s->nq == MAX_COORDINATES)
        return clsi_at(r, where, "more than %d coordinates", (int)MAX_COORDINATES);
    cls_status status = declare_symbol(r, "", name, CLSI_COORDINATE, s->nq, where);
    if (status == CLS_OK)
        status = add_variable(r, &s->coordinate, &r->coordinate_capacity, s->nq, name, -INFINITY);
    if (status == CLS_OK) s->nq++;
    return status;
}

static cls_status add_momentum(clsi_reader *r, const char *momentum, const char *velocity,
                               clsi_role role, size_t where) {
    cls_system *s = r->s;
    if (s->n == MAX_COORDINATES)
        return clsi_at(r, where, "more than %d momenta", (int)MAX_COORDINATES);
    cls_status status = declare_symbol(r, "", velocity, CLSI_VELOCITY, s->n, where);
    if (status == CLS_OK) status = declare_symbol(r, "", momentum, CLSI_MOMENTUM, s->n, where);
    if (status == CLS_OK)
        status = add_variable(r, &s->momentum, &r->momentum_capacity, s->n, momentum,
                              role == CLSI_MOLE ? 0 : -INFINITY);
    if (status == CLS_OK) s->momentum[s->n++].role = role;
    return status;
}

cls_status clsi_add_momentum(clsi_reader *r, const char *momentum, const char *velocity,
                             size_t where) {
    return add_momentum(r, momentum, velocity, CLSI_MOTION, where);
}

static cls_status add_coordinate(clsi_reader *r, const char *name, size_t where) {
    cls_status status = add_position(r, name, where);
    char momentum[80], velocity[80];
    join(momentum, sizeof momentum, "p.", name, strlen(name));
    join(velocity, sizeof velocity, "v.", name, strlen(name));
    if (status == CLS_OK) status = clsi_add_momentum(r, momentum, velocity, where);
    if (status == CLS_OK) r->s->paired++;
    return status;
}

static cls_status add_entropy(clsi_reader *r, const char *entropy, const char *temperature,
                              size_t where) {
    cls_system *s = r->s;
    size_t i = s->m;
    if (i == MAX_ENTROPIES) return clsi_at(r, where, "more than %d entropies", (int)MAX_ENTROPIES);
    cls_status status = declare_symbol(r, "", entropy, CLSI_ENTROPY, i, where);
    if (status == CLS_OK) status = declare_symbol(r, "", temperature, CLSI_TEMPERATURE, i, where);
    if (status == CLS_OK)
        status = add_variable(r, &s->entropy, &r->entropy_capacity, i, entropy, -INFINITY);
    if (status != CLS_OK) return status;
    status = add_variable(r, &s->temperature, &r->temperature_capacity, i, temperature, 0);
    if (status == CLS_OK) s->m++;
    return status;
}

/* The other name of an entropy or temperature: from `with`, or by the first letter. */
cls_status clsi_other_name(clsi_reader *r, clsi_cursor *c, clsi_kind kind, const char *name,
                           char out[80]) {
    int from_entropy = kind == CLSI_ENTROPY;
    const char *other = from_entropy ? "temperature" : "entropy";
    if (clsi_accept_word(r, c, "with")) {
        size_t n;
        if (!clsi_accept_word(r, c, other))
            return clsi_at(r, c->at, "expected `%s` after `with`", other);
        cls_status status = expected_name(r, c, other, &n);
        if (status != CLS_OK) return status;
        snprintf(out, 80, "%.*s", (int)(n < 79 ? n : 79), r->clean + c->at);
        c->at += n;
        return CLS_OK;
    }
    if (from_entropy && (name[0] == 'S' || name[0] == 's')) {
        join(out, 80, name[0] == 'S' ? "T" : "theta", name + 1, strlen(name + 1));
    } else if (!from_entropy && name[0] == 'T') {
        snprintf(out, 80, "S%s", name + 1);
    } else if (!from_entropy && strncmp(name, "theta", 5) == 0) {
        snprintf(out, 80, "s%s", name + 5);
    } else {
        return clsi_at(r, c->at, "`%s` needs a name for its %s: write `%s %s with %s ...`", name,
                       other, from_entropy ? "entropy" : "temperature", name, other);
    }
    return CLS_OK;
}

static clsi_variable *variable_of(cls_system *s, clsi_kind kind, size_t index) {
    return kind == CLSI_COORDINATE ? &s->coordinate[index]
           : kind == CLSI_MOMENTUM ? &s->momentum[index]
           : kind == CLSI_ENTROPY  ? &s->entropy[index]
                                   : &s->temperature[index];
}

static size_t count_of(const cls_system *s, clsi_kind kind) {
    return kind == CLSI_COORDINATE ? s->nq : kind == CLSI_MOMENTUM ? s->n : s->m;
}

cls_status clsi_read_unit(clsi_reader *r, clsi_cursor *c, char **unit) {
    const char *end = memchr(r->clean + c->at, ']', c->end - c->at);
    if (!end) return clsi_at(r, c->at, "the unit has no closing `]`");
    size_t length = (size_t)(end - (r->clean + c->at));
    if (length > 40) return clsi_at(r, c->at, "the unit is longer than 40 letters");
    if (!(*unit = clsi_strndup(r->clean + c->at, length))) return clsi_no_memory(r->error);
    c->at += length + 1;
    return CLS_OK;
}

cls_status clsi_keep_text(clsi_reader *r, const char *text, size_t length, const char **out) {
    cls_system *s = r->s;
    if (!clsi_grow(&s->kept, &r->kept_capacity, s->n_kept + 1, sizeof *s->kept) ||
        !(s->kept[s->n_kept] = clsi_strndup(text, length)))
        return clsi_no_memory(r->error);
    *out = s->kept[s->n_kept++];
    return CLS_OK;
}

/* [unit], for every variable from `first` on that has none yet. */
static cls_status read_unit(clsi_reader *r, clsi_cursor *c, clsi_kind kind, size_t first,
                            size_t last) {
    char *unit = NULL;
    cls_status status = clsi_read_unit(r, c, &unit);
    const char *kept = NULL;
    for (size_t i = first; i < last && status == CLS_OK; i++) {
        clsi_variable *v = variable_of(r->s, kind, i);
        if (!v->unit && !kept) status = clsi_keep_text(r, unit, strlen(unit), &kept);
        if (!v->unit) v->unit = kept;
    }
    free(unit);
    return status;
}

static cls_status read_domain(clsi_reader *r, clsi_cursor *c, clsi_kind kind, size_t first,
                              size_t last) {
    cls_status status = clsi_expect(r, c, "(", "`in`");
    if (status != CLS_OK) return status;
    size_t begin = c->at, depth = 1;
    while (c->at < c->end && depth) {
        depth += r->clean[c->at] == '(';
        depth -= r->clean[c->at++] == ')';
    }
    if (depth) return clsi_at(r, c->at, "the interval has no closing `)`: write `in (low, high)`");
    for (size_t i = first; i < last; i++) {
        clsi_variable *v = variable_of(r->s, kind, i);
        if (v->has_domain) continue;
        v->has_domain = 1;
        if (!clsi_grow(&r->domains, &r->domains_capacity, r->n_domains + 1, sizeof *r->domains))
            return clsi_no_memory(r->error);
        r->domains[r->n_domains++] = (clsi_domain){kind, i, begin, c->at - 1, r->turning};
    }
    return CLS_OK;
}

static cls_status declare_one(clsi_reader *r, clsi_cursor *c, clsi_kind kind, const char *word,
                              int paired) {
    size_t length, where;
    cls_status status = expected_name(r, c, word, &length);
    if (status != CLS_OK) return status;
    char name[64], other[80];
    where = c->at;
    if (length > 60) return clsi_at(r, where, "this name is longer than 60 letters");
    join(name, sizeof name, "", r->clean + where, length);
    c->at += length;
    if (kind == CLSI_COORDINATE) {
        status = paired ? add_coordinate(r, name, where) : add_position(r, name, where);
    } else if ((status = clsi_check_free(r, name, length, kind, where)) != CLS_OK) {
        return status; /* before its other name is asked for */
    } else if ((status = clsi_other_name(r, c, kind, name, other)) == CLS_OK) {
        int straight = kind == CLSI_ENTROPY;
        status = add_entropy(r, straight ? name : other, straight ? other : name, where);
    }
    return status;
}

static cls_status read_variable(clsi_reader *r, clsi_cursor *c, clsi_kind kind, const char *word,
                                int paired, size_t first) {
    cls_status status = clsi_is_range(r, *c) ? clsi_declare_array(r, c, kind, paired)
                                             : declare_one(r, c, kind, word, paired);
    size_t last = count_of(r->s, kind);
    if (status == CLS_OK && clsi_accept(r, c, "[")) status = read_unit(r, c, kind, first, last);
    int angle = kind == CLSI_COORDINATE && clsi_accept_word(r, c, "angle");
    if (status == CLS_OK && clsi_accept_word(r, c, "in"))
        status = read_domain(r, c, kind, first, last);
    if (kind == CLSI_COORDINATE) angle |= clsi_accept_word(r, c, "angle");
    for (size_t i = first; i < last && angle && status == CLS_OK; i++)
        r->s->coordinate[i].angle = 1;
    return status;
}

static cls_status read_variables(clsi_reader *r, clsi_cursor c, clsi_kind kind, const char *word,
                                 int paired) {
    size_t first = count_of(r->s, kind);
    cls_status status = CLS_OK;
    do {
        status = read_variable(r, &c, kind, word, paired, first);
    } while (status == CLS_OK && clsi_accept(r, &c, ","));
    if (status != CLS_OK || clsi_at_end(r, &c)) return status;
    char found[48];
    return clsi_at(r, c.at, "expected `,`, `[unit]`, `in (low, high)` or the end, found %s",
                   clsi_found(r, &c, found));
}

cls_status clsi_read_coordinates(clsi_reader *r, clsi_cursor c) {
    return read_variables(r, c, CLSI_COORDINATE, "`coordinate`", 1);
}

cls_status clsi_read_positions(clsi_reader *r, clsi_cursor c) {
    return read_variables(r, c, CLSI_COORDINATE, "`position`", 0);
}

/* Names separated by commas; the cursor stops behind the last. */
static cls_status read_names(clsi_reader *r, clsi_cursor *c, const char *word, clsi_cursor **names,
                             size_t *count) {
    size_t room = 0;
    *count = 0;
    do {
        size_t length;
        cls_status status = expected_name(r, c, word, &length);
        if (status != CLS_OK) return status;
        if (length > 60) return clsi_at(r, c->at, "this name is longer than 60 letters");
        if (!clsi_grow(names, &room, *count + 1, sizeof **names)) return clsi_no_memory(r->error);
        (*names)[(*count)++] = (clsi_cursor){c->at, c->at + length};
        c->at += length;
    } while (clsi_accept(r, c, ","));
    return CLS_OK;
}

/* States without a coordinate: how they are written, and what their effort is called. */
static const struct {
    const char *word, *many, *effort, *efforts, *prefix;
} roles[] = {[CLSI_MOTION] = {"`momentum`", "momenta", "velocity", "velocities", "v."},
             [CLSI_MOLE] = {"`mole`", "amounts", "potential", "chemical potentials", "mu."},
             [CLSI_INTERNAL] = {"`internal`", "variables", "force", "forces", "f."}};

/* momentum mu1, mu2 [unit] with velocity Omega1, Omega2 */
static cls_status read_momenta(clsi_reader *r, clsi_cursor c, clsi_role role, clsi_cursor **names,
                               clsi_cursor **velocities) {
    clsi_cursor unit;
    size_t n, n_v = 0, first = r->s->n;
    cls_status status = read_names(r, &c, roles[role].word, names, &n);
    if (status != CLS_OK) return status;
    const clsi_cursor *p = *names, *v = NULL;
    int has_unit = clsi_accept(r, &c, "[");
    unit = c;
    for (; has_unit && c.at < c.end && r->clean[c.at] != ']'; c.at++)
        ;
    if (has_unit && !clsi_accept(r, &c, "]"))
        return clsi_at(r, c.at, "the unit has no closing `]`");
    if (clsi_accept_word(r, &c, "with")) {
        if (!clsi_accept_word(r, &c, roles[role].effort))
            return clsi_at(r, c.at, "expected `%s` after `with`", roles[role].effort);
        status = read_names(r, &c, roles[role].effort, velocities, &n_v);
        v = *velocities;
        if (status == CLS_OK && n_v != n)
            status = clsi_at(r, v[0].at, "%zu %s for %zu %s: each needs its own", n_v,
                             roles[role].efforts, n, roles[role].many);
    }
    if (status == CLS_OK) status = clsi_expect_end(r, &c);
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        char momentum[64], velocity[64];
        const clsi_cursor *other = n_v ? &v[i] : &p[i];
        snprintf(momentum, sizeof momentum, "%.*s", (int)(p[i].end - p[i].at), r->clean + p[i].at);
        snprintf(velocity, sizeof velocity, "%s%.*s", n_v ? "" : roles[role].prefix,
                 (int)(other->end - other->at), r->clean + other->at);
        status = add_momentum(r, momentum, velocity, role, p[i].at);
    }
    if (status == CLS_OK && has_unit) status = read_unit(r, &unit, CLSI_MOMENTUM, first, r->s->n);
    return status;
}

static cls_status read_momenta_arrays(clsi_reader *r, clsi_cursor c, clsi_role role) {
    clsi_cursor unit;
    size_t first = r->s->n;
    cls_status status =
        clsi_declare_momenta_arrays(r, &c, role, roles[role].effort, roles[role].prefix, &unit);
    if (status == CLS_OK && unit.at) status = read_unit(r, &unit, CLSI_MOMENTUM, first, r->s->n);
    return status;
}

static cls_status read_role(clsi_reader *r, clsi_cursor c, clsi_role role) {
    if (clsi_is_range(r, c)) return read_momenta_arrays(r, c, role);
    clsi_cursor *names = NULL, *velocities = NULL;
    cls_status status = read_momenta(r, c, role, &names, &velocities);
    free(names);
    free(velocities);
    return status;
}

cls_status clsi_read_momenta(clsi_reader *r, clsi_cursor c) {
    return read_role(r, c, CLSI_MOTION);
}

cls_status clsi_read_moles(clsi_reader *r, clsi_cursor c) {
    return read_role(r, c, CLSI_MOLE);
}

cls_status clsi_read_internals(clsi_reader *r, clsi_cursor c) {
    return read_role(r, c, CLSI_INTERNAL);
}

cls_status clsi_read_entropies(clsi_reader *r, clsi_cursor c) {
    return read_variables(r, c, CLSI_ENTROPY, "`entropy`", 0);
}

cls_status clsi_read_temperatures(clsi_reader *r, clsi_cursor c) {
    return read_variables(r, c, CLSI_TEMPERATURE, "`temperature`", 0);
}

/* ---- domains ---- */

static cls_status read_bound(clsi_reader *r, size_t begin, size_t end, double *out) {
    clsi_cursor c = {begin, end};
    double sign = clsi_accept(r, &c, "-") ? -1 : 1;
    if (clsi_accept_word(r, &c, "inf") || clsi_accept_word(r, &c, "infinity")) {
        *out = sign * INFINITY;
        return clsi_expect_end(r, &c);
    }
    return clsi_read_number(r, begin, end, "the bound of a domain", out);
}

static cls_status read_domains(clsi_reader *r) {
    for (size_t i = 0; i < r->n_domains; i++) {
        const clsi_domain *d = &r->domains[i];
        if (r->lean) clsi_go_to_text(r, d->turning);
        clsi_cursor c = {d->begin, d->end};
        size_t comma = clsi_item_end(r, &c);
        double low, high;
        if (comma == d->end)
            return clsi_at(r, d->begin, "expected two bounds: write `in (low, high)`");
        cls_status status = read_bound(r, d->begin, comma, &low);
        if (status == CLS_OK) status = read_bound(r, comma + 1, d->end, &high);
        if (status != CLS_OK) return status;
        clsi_variable *v = variable_of(r->s, d->kind, d->index);
        if (!(low < high))
            return clsi_at(r, d->begin, "the domain of `%s` is empty: low %g must be below high %g",
                           v->name, low, high);
        if (d->kind == CLSI_TEMPERATURE && low < 0)
            return clsi_at(r, d->begin, "temperatures are positive: `%s` cannot reach down to %g",
                           v->name, low);
        v->low = low;
        v->high = high;
    }
    return CLS_OK;
}

cls_status clsi_read_domains(clsi_reader *r) {
    cls_status status = read_domains(r);
    if (r->lean) clsi_go_to_text(r, 0);
    return status;
}

/* ---- parameters and lets ---- */

static const double *value_set(const clsi_reader *r, const char *name) {
    size_t i = clsi_set_at(r, name);
    return i == SIZE_MAX ? NULL : &r->set->values[i];
}

/* What a file says of a parameter. */
typedef struct worth {
    double value, low, high; /* the guess, and bounds, of an unknown one */
    int unknown;             /* clsi_unknown_parameter */
    cls_node bound; /* the value with what is learned as symbols; CLS_NO_NODE: the number */
} worth;

/* The node in its place: what is learned, the formula of what is learned, or the number. */
static cls_node parameter_node(clsi_reader *r, const char *name, const worth *w) {
    clsi_replacement *other = clsi_replacement_of(r, name, strlen(name));
    cls_node any;
    if (other) return other->node(other->context, r->s, CLSI_PART_PARAMETER, 0);
    if (w->bound != CLS_NO_NODE && cls_symbols_of(r->s->g, 1, &w->bound, 1, &any) > 0)
        return w->bound;
    return cls_constant(r->s->g, w->value);
}

static cls_status add_parameter(clsi_reader *r, size_t where, size_t length, worth w,
                                size_t unit_begin, size_t unit_end) {
    cls_system *s = r->s;
    size_t k = s->n_parameters;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), r->clean + where);
    const double *given = value_set(r, name);
    if (given) w = (worth){*given, -INFINITY, INFINITY, 0, CLS_NO_NODE};
    if (!clsi_grow(&s->parameter_unknown, &r->unknown_parameter_capacity, k + 1, 1) ||
        !clsi_grow(&s->parameter_learned, &r->learned_capacity, k + 1, 1) ||
        !clsi_grow(&s->parameter, &r->parameter_capacity, k + 1, sizeof *s->parameter) ||
        !clsi_grow(&s->parameter_value, &r->value_capacity, k + 1, sizeof(double)) ||
        !clsi_grow(&s->parameter_symbol, &r->symbol_capacity, k + 1, sizeof(cls_node)) ||
        !clsi_grow(&r->parameter_constant, &r->constant_capacity, k + 1, sizeof(cls_node)))
        return clsi_no_memory(r->error);
    cls_node symbol = cls_symbol(s->g, name);
    cls_status status = clsi_declare(r, name, length, CLSI_PARAMETER, k, symbol, where);
    if (status != CLS_OK) return status;
    s->parameter[k] = (clsi_variable){cls_node_name(s->g, symbol), NULL, w.low, w.high};
    s->parameter_value[k] = w.value;
    s->parameter_symbol[k] = symbol;
    r->parameter_constant[k] = parameter_node(r, name, &w);
    s->parameter_learned[k] = 0;
    s->parameter_unknown[k] =
        clsi_replacement_of(r, name, strlen(name)) ? 0 : (unsigned char)w.unknown;
    s->n_parameters++;
    if (unit_end <= unit_begin) return CLS_OK;
    return clsi_keep_text(r, r->clean + unit_begin, unit_end - unit_begin, &s->parameter[k].unit);
}

static cls_status read_bound(clsi_reader *r, size_t begin, size_t end, double *out);

/* The middle of an interval: by logarithms where both ends are positive. */
static double middle_of(double low, double high) {
    if (isinf(low) && isinf(high)) return 1;
    if (isinf(high)) return low < 1 ? 1 : 2 * low;
    if (isinf(low)) return high > 1 ? 1 : 2 * high - 1;
    return low > 0 ? sqrt(low * high) : (low + high) / 2;
}

/* unknown [near VALUE] [in (low, high)] */
static cls_status read_unknown_parameter(clsi_reader *r, clsi_cursor c, worth *w) {
    size_t near = clsi_find_word(r, c.at, c.end, "near"), in = clsi_find_word(r, c.at, c.end, "in");
    cls_status status = CLS_OK;
    *w = (worth){NAN, -INFINITY, INFINITY, 1, CLS_NO_NODE};
    clsi_accept_word(r, &c, "unknown");
    if (clsi_accept_word(r, &c, "near")) {
        size_t end = in > near ? in : c.end;
        w->unknown = CLSI_UNKNOWN_NEAR;
        status = clsi_read_number(r, c.at, end, "the value that a parameter is near to", &w->value);
        c.at = end;
    }
    if (status == CLS_OK && clsi_accept_word(r, &c, "in")) {
        status = clsi_expect(r, &c, "(", "`in`");
        size_t end = c.end, comma;
        while (end > c.at && r->clean[end - 1] != ')') end--;
        clsi_cursor inside = {c.at, end ? end - 1 : 0};
        if (status == CLS_OK && end == c.at)
            status = clsi_at(r, c.at, "the interval has no closing `)`: write `in (low, high)`");
        comma = status == CLS_OK ? clsi_item_end(r, &inside) : 0;
        if (status == CLS_OK && comma == inside.end)
            status = clsi_at(r, c.at, "expected two bounds: write `in (low, high)`");
        if (status == CLS_OK) status = read_bound(r, inside.at, comma, &w->low);
        if (status == CLS_OK) status = read_bound(r, comma + 1, inside.end, &w->high);
        if (status == CLS_OK && !(w->low < w->high))
            status = clsi_at(r, inside.at, "the interval is empty: low %g must be below high %g",
                             w->low, w->high);
        c.at = end;
    }
    if (status == CLS_OK) status = clsi_expect_end(r, &c);
    if (status == CLS_OK && isnan(w->value)) w->value = middle_of(w->low, w->high);
    if (status == CLS_OK && !(w->value > w->low && w->value < w->high))
        status = clsi_at(r, near, "the value %g is not in (%g, %g)", w->value, w->low, w->high);
    return status;
}

static cls_status read_parameter(clsi_reader *r, clsi_cursor *c) {
    size_t length, where, end, value_end, unit_end = 0;
    cls_status status = expected_name(r, c, "`parameter`", &length);
    if (status != CLS_OK) return status;
    where = c->at;
    if (r->s->n_parameters == MAX_PARAMETERS)
        return clsi_at(r, where, "more than %d parameters", (int)MAX_PARAMETERS);
    c->at += length;
    status = clsi_expect(r, c, "=", "the parameter's name");
    if (status != CLS_OK) return status;
    value_end = end = clsi_item_end(r, c);
    const char *open = memchr(r->clean + c->at, '[', end - c->at);
    if (open) {
        value_end = (size_t)(open - r->clean);
        const char *close = memchr(open, ']', end - value_end);
        if (!close) return clsi_at(r, value_end, "the unit has no closing `]`");
        clsi_cursor rest = {(size_t)(close - r->clean) + 1, end};
        if ((status = clsi_expect_end(r, &rest)) != CLS_OK) return status;
        unit_end = (size_t)(close - r->clean);
        if (unit_end - value_end > 41)
            return clsi_at(r, value_end, "the unit is longer than 40 letters");
    }
    worth w = {0, -INFINITY, INFINITY, 0, CLS_NO_NODE};
    clsi_expression e;
    if (clsi_is_unknown(r, *c)) {
        status = read_unknown_parameter(r, (clsi_cursor){c->at, value_end}, &w);
    } else {
        status = clsi_read_number(r, c->at, value_end, "the value of a parameter", &w.value);
        if (status == CLS_OK) status = clsi_read_expression(r, c->at, value_end, &e);
        if (status == CLS_OK) w.bound = e.bound;
    }
    if (status == CLS_OK) status = add_parameter(r, where, length, w, value_end + 1, unit_end);
    c->at = end;
    return status;
}

cls_status clsi_read_parameters(clsi_reader *r, clsi_cursor c) {
    cls_status status;
    do {
        status = read_parameter(r, &c);
    } while (status == CLS_OK && clsi_accept(r, &c, ","));
    return status == CLS_OK ? clsi_expect_end(r, &c) : status;
}

/* `of A, B` between a part's name and its `=`: what it is a function of. */
static cls_status read_inputs(clsi_reader *r, clsi_cursor *c, size_t where, size_t length) {
    cls_system *s = r->s;
    const char *equals = memchr(r->clean + c->at, '=', c->end - c->at);
    size_t end = equals ? (size_t)(equals - r->clean) : c->end;
    size_t first = c->at, last = end;
    char *text = NULL;
    cls_status status = clsi_read_of(r, (clsi_cursor){c->at, end}, 0, &text);
    if (status == CLS_MEMORY) return status;
    if (status != CLS_OK) { /* whoever learns the part says what is missing */
        while (first < last && strchr(" \n", r->clean[first])) first++;
        while (last > first && strchr(" \n", r->clean[last - 1])) last--;
        text = clsi_strndup(r->clean + first, last - first);
        for (char *at = text; at && (at = strchr(at, ',')); at++) *at = ';';
        if (r->error) r->error->message[0] = '\0';
    }
    c->at = end;
    char *part = clsi_strndup(r->clean + where, length);
    if (!part || !text ||
        !clsi_grow(&s->part_inputs, &r->part_inputs_capacity, s->n_part_inputs + 1,
                   sizeof *s->part_inputs)) {
        free(part);
        free(text);
        return clsi_no_memory(r->error);
    }
    s->part_inputs[s->n_part_inputs++] = (clsi_part_inputs){part, text};
    return CLS_OK;
}

/* Takes the name. */
static cls_status keep_let(clsi_reader *r, char *name, const clsi_expression *e) {
    cls_system *s = r->s;
    size_t k = s->n_lets;
    if (!name || !clsi_grow(&s->lets, &r->lets_capacity, k + 1, sizeof *s->lets) ||
        !clsi_grow(&r->let_symbol, &r->let_symbol_capacity, k + 1, sizeof(cls_node)) ||
        !clsi_grow(&r->let_raw, &r->let_raw_capacity, k + 1, sizeof(cls_node)) ||
        !clsi_grow(&r->let_kinds, &r->let_kinds_capacity, k + 1, sizeof(int))) {
        free(name);
        return clsi_no_memory(r->error);
    }
    s->lets[k] = (clsi_named){.name = name, .node = e->written};
    r->let_symbol[k] = cls_symbol(s->g, name);
    r->let_raw[k] = e->raw;
    r->let_kinds[k] = r->lean ? clsi_kinds_of(r, e->written) : ~0;
    s->n_lets++;
    return CLS_OK;
}

cls_status clsi_add_let(clsi_reader *r, size_t where, size_t length, const clsi_expression *e) {
    size_t k = r->s->n_lets;
    if (k == MAX_LETS) return clsi_at(r, where, "more than %d lets", (int)MAX_LETS);
    cls_status status = keep_let(r, clsi_strndup(r->clean + where, length), e);
    if (status != CLS_OK) return status;
    return clsi_declare(r, r->clean + where, length, CLSI_LET, k, r->let_symbol[k], where);
}

cls_status clsi_add_use_let(clsi_reader *r, const char *name, size_t where,
                            const clsi_expression *e) {
    size_t k = r->s->n_lets;
    cls_status status = keep_let(r, clsi_strdup(name), e);
    if (status != CLS_OK) return status;
    return clsi_insert_name(r, name, strlen(name), CLSI_LET, k, r->let_symbol[k], where);
}

typedef enum let_kind { LET, PART, COEFFICIENT, COUPLING, FUNCTION } let_kind;

static cls_status read_let(clsi_reader *r, clsi_cursor c, let_kind kind) {
    cls_system *s = r->s;
    static const char *const words[] = {"`let`", "`part`", "`coefficient`", "`coupling`",
                                        "`function`"};
    size_t length, where;
    int is_part = kind != LET;
    cls_status status = expected_name(r, &c, words[kind], &length);
    if (status != CLS_OK) return status;
    where = c.at;
    c.at += length;
    clsi_part_kind as = kind == COEFFICIENT ? CLSI_PART_HEAT
                        : kind == COUPLING  ? CLSI_PART_COUPLING
                                            : CLSI_PART_LET;
    if (is_part && clsi_accept(r, &c, "(")) return clsi_read_function(r, c, where, length, as);
    if (kind == FUNCTION)
        return clsi_at(r, c.at, "a function has arguments: write `function %.*s(d) = ...`",
                       (int)length, r->clean + where);
    if (is_part && clsi_accept_word(r, &c, "of")) status = read_inputs(r, &c, where, length);
    if (status == CLS_OK) status = clsi_expect(r, &c, "=", "the name");
    /* what stands for an unknown part: one, which is nothing as a term of an energy and leaves a
     * factor's other variables in place; nothing for a coefficient that need not be positive */
    clsi_cursor ahead = c;
    int one = is_part && clsi_accept_word(r, &ahead, "unknown") &&
              (kind == PART || clsi_accept_word(r, &ahead, "positive"));
    cls_node zero = cls_constant(s->g, one);
    clsi_expression e = {.written = zero, .raw = zero, .bound = zero};
    if (status == CLS_OK)
        status = is_part && clsi_is_unknown(r, c) ? clsi_read_unknown(r, c, where, length)
                                                  : clsi_read_expression(r, c.at, c.end, &e);
    if (status != CLS_OK) return status;
    const char *name = r->clean + where;
    clsi_replacement *other = is_part ? clsi_replacement_of(r, name, length) : NULL;
    if (other) clsi_mark_learned(r, e.raw);
    if (other) e.written = e.raw = other->node(other->context, s, as, 0);
    status = clsi_add_let(r, where, length, &e);
    return status == CLS_OK && is_part ? clsi_add_part(r, name, length) : status;
}

cls_status clsi_read_let(clsi_reader *r, clsi_cursor c) {
    return read_let(r, c, LET);
}

cls_status clsi_read_function_line(clsi_reader *r, clsi_cursor c) {
    return read_let(r, c, FUNCTION);
}

cls_status clsi_read_part(clsi_reader *r, clsi_cursor c) {
    return read_let(r, c, PART);
}

/* A part that is not negative; learned, it is positive by form. */
cls_status clsi_read_coefficient(clsi_reader *r, clsi_cursor c) {
    return read_let(r, c, COEFFICIENT);
}

/* A coefficient that may have either sign: what a matrix has off its diagonal. */
cls_status clsi_read_coupling(clsi_reader *r, clsi_cursor c) {
    return read_let(r, c, COUPLING);
}
