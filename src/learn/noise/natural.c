/* The terms that laws are usually written in, of the variables a part depends on.
 *
 * A polynomial in scaled inputs follows any smooth function, but spends many terms on what a law says
 * with one: x*y about a point that is not zero is four of them, cos(q) is five, T*log(T) six. Each costs
 * what the noise leaves of it. So beside the polynomials there is a second dictionary in the variables as
 * they are: powers and products, cosines of places, logarithms of what is positive, exponentials of
 * entropies, differences of places, their distance from the origin. noisy_natural.c asks which of the two the data prefer.
 *
 * The terms stand in the order of how simple they are; where there is no room for all, the last ones are
 * missing. */
#include "base/base.h"
#include "base/locale.h"
#include "learn/noise/noisy.h"
#include "learn/noise/terms.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_VARIABLES = CLSI_LAW_VARIABLES,
    MOST_PLACES = 4,
    DEGREE = 4,
    ALONE_DEGREE = 8,
    MOST_LENGTHS = CLSI_LAW_LENGTHS,
    LENGTH_TEXT = CLSI_LAW_LENGTH_TEXT
};
static const double TURNS = 0.3, FAR = 50; /* what a cosine needs to be seen; what no angle is */

typedef clsi_law_variable variable;

typedef struct list {
    clsi_text text;
    size_t n, most;
    size_t d;
    variable v[MOST_VARIABLES];
    int still, energy;        /* of places alone; the part is an energy */
    double nearest, farthest; /* squared distances of two or three places from the origin */
    size_t n_gaps, n_lengths; /* those between two places come first */
    char length[MOST_LENGTHS][LENGTH_TEXT]; /* from the ends of domains, or between two places */
} list;

/* ---- the variables ---- */

static int is_letter(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '\'';
}

/* 1: it is there; a name may be too long for it. */
static int write_text(char *to, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = clsi_vsnprintf(to, LENGTH_TEXT, format, args);
    va_end(args);
    return n > 0 && n < LENGTH_TEXT;
}

static int mentions(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at++)
        if ((at == text || !is_letter(at[-1])) && !is_letter(at[length])) return 1;
    return 0;
}

static void set_range(variable *v, const clsi_points *p, size_t k) {
    v->low = INFINITY, v->high = -INFINITY;
    for (size_t i = 0; i < p->n; i++) {
        v->low = fmin(v->low, p->z[k * p->n + i]);
        v->high = fmax(v->high, p->z[k * p->n + i]);
    }
}

static clsi_law_kind kind_of(const cls_system *s, size_t k) {
    if (s->ode || k < s->nq) return CLSI_LAW_PLACE;
    if (k < s->nq + s->n) return CLSI_LAW_MOVING;
    return s->formalism == CLS_THERMAL_LAGRANGIAN ? CLSI_LAW_HEAT : CLSI_LAW_ENTROPY;
}

/* Of all places that the part has, among the states. */
static void set_distances(const clsi_unknowns *us, const clsi_points *p, list *l) {
    l->nearest = INFINITY, l->farthest = 0;
    for (size_t i = 0; i < p->n; i++) {
        double sum = 0;
        for (size_t k = 0; k < p->nz; k++)
            for (size_t j = 0; j < l->d; j++)
                if (l->v[j].kind == CLSI_LAW_PLACE &&
                    strcmp(l->v[j].name, clsi_point_name(us->system, k)) == 0)
                    sum += p->z[k * p->n + i] * p->z[k * p->n + i];
        l->nearest = fmin(l->nearest, sum);
        l->farthest = fmax(l->farthest, sum);
    }
}

static int is_name(const char *text) {
    while (is_letter(*text)) text++;
    return !*text;
}

/* Declared inputs: states, lets or arguments of a function by their names; formulas of states where the part
 * is an energy (frictions and coefficients stay functions of the formula itself, v^2 say). */
static int take_declared(const cls_system *s, const clsi_unknown *u, const clsi_points *p,
                         list *l) {
    const clsi_learned *part = &u->learned;
    int energy = u->kind == CLSI_PART_FORMULA || u->kind == CLSI_PART_LET;
    for (size_t i = 0; i < part->d; i++) {
        variable v = {.kind = CLSI_LAW_PLACE, .low = part->low[i], .high = part->high[i]};
        if (!write_text(v.name, is_name(part->input[i]) ? "%s" : "(%s)", part->input[i])) return 0;
        if ((part->use || !energy) && !is_name(part->input[i])) return 0;
        if (!strncmp(v.name, "v.", 2) || !strncmp(v.name, "p.", 2)) v.kind = CLSI_LAW_MOVING;
        for (size_t k = 0; k < s->m && !s->ode; k++)
            if (s->temperature[k].name && !strcmp(v.name, s->temperature[k].name))
                v.kind = CLSI_LAW_HEAT;
        for (size_t k = 0; k < p->nz && !part->use; k++)
            if (!strcmp(v.name, clsi_point_name(s, k))) {
                v.kind = kind_of(s, k);
                set_range(&v, p, k);
            }
        if (l->still && v.kind != CLSI_LAW_PLACE) continue;
        if (l->d == MOST_VARIABLES) return 0;
        l->v[l->d++] = v;
    }
    return l->d > 0;
}

static int is_declared(const clsi_unknowns *us, const clsi_learned *part) {
    for (size_t k = 0; k < us->system->n_unknown; k++)
        if (!strcmp(us->system->unknown[k], part->part) && us->system->unknown_of[k]) return 1;
    return part->use > 0;
}

/* The variables of the states that the inputs of the part contain; 0: it has others as well, or too
 * many. */
static int find_variables(const clsi_unknowns *us, const clsi_unknown *u, const clsi_points *p,
                          list *l) {
    const cls_system *s = us->system;
    const clsi_learned *part = &u->learned;
    int potential = s->formalism == CLS_HAMILTONIAN && u->kind == CLSI_PART_LET;
    if (is_declared(us, part)) {
        if (!take_declared(s, u, p, l)) return 0;
        set_distances(us, p, l);
        return 1;
    }
    for (size_t k = 0; k < p->nz; k++) {
        variable v = {.kind = kind_of(s, k)};
        if (!write_text(v.name, "%s", clsi_point_name(s, k))) return 0;
        int used = 0;
        for (size_t i = 0; i < part->d; i++) used |= mentions(part->input[i], v.name);
        if (!used || (l->still && v.kind != CLSI_LAW_PLACE)) continue;
        if (l->d == MOST_VARIABLES || (potential && v.kind == CLSI_LAW_MOVING)) return 0;
        set_range(&v, p, k);
        l->v[l->d++] = v;
    }
    set_distances(us, p, l);
    for (size_t i = 0; i < part->d; i++) { /* a temperature of a hamiltonian is no variable */
        int known = 0;
        for (size_t k = 0; k < l->d; k++) known |= mentions(part->input[i], l->v[k].name);
        if (!known && !l->still) return 0;
    }
    return l->d > 0;
}

static size_t state_of(const cls_system *s, const clsi_points *p, const char *name) {
    size_t k = 0;
    while (k < p->nz && strcmp(clsi_point_name(s, k), name) != 0) k++;
    return k;
}

/* What is between two places: their sum or difference, where that is never near zero (parts of a line that keep their
 * order, pistons that both leave the middle). */
static void find_gaps(const cls_system *s, const clsi_points *p, list *l) {
    static const double NEAR = 0.05;
    static const struct {
        double a, b;
        const char *text;
    } kinds[] = {{1, 1, "(%s + %s)"}, {1, -1, "(%s - %s)"}, {-1, 1, "(%s - %s)"}};
    for (size_t i = 0; i < l->d && !s->ode; i++)
        for (size_t j = i + 1; j < l->d; j++) {
            size_t a = state_of(s, p, l->v[i].name), b = state_of(s, p, l->v[j].name);
            if (l->v[i].kind != CLSI_LAW_PLACE || l->v[j].kind != CLSI_LAW_PLACE) continue;
            for (size_t k = 0; k < 3 && a < p->nz && b < p->nz; k++) {
                double low = INFINITY, high = -INFINITY;
                for (size_t at = 0; at < p->n; at++) {
                    double x = kinds[k].a * p->z[a * p->n + at] + kinds[k].b * p->z[b * p->n + at];
                    low = fmin(low, x);
                    high = fmax(high, x);
                }
                if (low > NEAR * high && l->n_lengths < MOST_LENGTHS)
                    l->n_lengths +=
                        (size_t)write_text(l->length[l->n_lengths], kinds[k].text,
                                           l->v[k == 2 ? j : i].name, l->v[k == 2 ? i : j].name);
            }
        }
}

/* A coordinate `in (a, b)` is the length of what ends there: x - a and b - x are positive, and stand under logarithms
 * and roots where x itself does not. */
static void find_lengths(const cls_system *s, const clsi_points *p, list *l) {
    find_gaps(s, p, l);
    l->n_gaps = l->n_lengths;
    for (size_t j = 0; j < l->d; j++)
        for (size_t k = 0; k < s->nq && l->v[j].kind == CLSI_LAW_PLACE && !s->ode; k++) {
            const variable *v = &l->v[j];
            double low = s->coordinate[k].low, high = s->coordinate[k].high;
            if (strcmp(v->name, s->coordinate[k].name) != 0) continue;
            /* from zero on it is the place itself */
            if (isfinite(low) && low != 0 && v->low > low && l->n_lengths < MOST_LENGTHS)
                l->n_lengths += (size_t)write_text(l->length[l->n_lengths], "(%s %c %.15g)",
                                                   v->name, low < 0 ? '+' : '-', fabs(low));
            if (isfinite(high) && v->high < high && l->n_lengths < MOST_LENGTHS)
                l->n_lengths +=
                    (size_t)write_text(l->length[l->n_lengths], "(%.15g - %s)", high, v->name);
        }
}

/* ---- the terms ---- */

static void add(list *l, const char *format, const char *a, const char *b) {
    if (l->n == l->most) return;
    if (l->n++) clsi_text_append(&l->text, "; ");
    clsi_text_printf(&l->text, format, a, b);
}

static void add_monomial(list *l, const int *power) {
    int factors = 0;
    if (l->n == l->most) return;
    if (l->n++) clsi_text_append(&l->text, "; ");
    for (size_t i = 0; i < l->d; i++) {
        if (!power[i]) continue;
        clsi_text_printf(&l->text, factors++ ? "*%s" : "%s", l->v[i].name);
        if (power[i] > 1) clsi_text_printf(&l->text, "^%d", power[i]);
    }
}

/* All products of this degree, even in what moves. */
static void add_degree(list *l, int degree) {
    int power[MOST_VARIABLES] = {0};
    power[0] = degree;
    for (;;) {
        int moving = 0;
        for (size_t i = 0; i < l->d; i++) moving += l->v[i].kind == CLSI_LAW_MOVING ? power[i] : 0;
        if (moving % 2 == 0) add_monomial(l, power);
        /* the next one in the order x^2, x*y, y^2 */
        size_t i = l->d - 1;
        int tail = power[i];
        power[i] = 0;
        while (i > 0 && !power[i - 1]) i--;
        if (i == 0) return;
        power[i - 1]--;
        power[i] = tail + 1;
    }
}

static void add_specials(list *l) {
    size_t places = 0;
    for (size_t i = 0; i < l->d; i++) {
        const variable *v = &l->v[i];
        places += v->kind == CLSI_LAW_PLACE;
        if (v->kind == CLSI_LAW_PLACE && v->high - v->low > TURNS && v->high - v->low < FAR) {
            add(l, "cos(%s)", v->name, NULL);
            add(l, "sin(%s)", v->name, NULL);
        }
        if (v->kind == CLSI_LAW_ENTROPY && fmax(fabs(v->low), fabs(v->high)) < FAR)
            add(l, "exp(%s)", v->name, NULL);
        if (v->kind == CLSI_LAW_MOVING || v->kind == CLSI_LAW_ENTROPY || !(v->low > 0)) continue;
        add(l, "log(%s)", v->name, NULL);
        add(l, "%s*log(%s)", v->name, v->name);
        add(l, "1/%s", v->name, NULL);
    }
    for (size_t i = 0; i < l->d; i++)
        for (size_t j = 0; j < l->d; j++) {
            const variable *v = &l->v[i], *w = &l->v[j];
            if (i != j && v->kind == CLSI_LAW_HEAT && w->kind != CLSI_LAW_MOVING && w->low > 0)
                add(l, "%s*log(%s)", v->name, w->name);
            if (l->energy && v->kind == CLSI_LAW_HEAT && w->kind == CLSI_LAW_PLACE && w->low > 0)
                add(l, "%s/%s", v->name, w->name); /* springs that are entropies: rubber */
            if (i >= j || v->kind != CLSI_LAW_PLACE || w->kind != CLSI_LAW_PLACE ||
                places > MOST_PLACES)
                continue;
            add(l, "(%s - %s)^2", v->name, w->name);
            add(l, "cos(%s - %s)", v->name, w->name);
            add(l, "(%s - %s)^3", v->name, w->name);
            add(l, "(%s - %s)^4", v->name, w->name);
        }
}

/* Of lengths: what logarithms are of those that are variables themselves. */
static void add_lengths(list *l) {
    for (size_t k = 0; k < l->n_lengths; k++) {
        add(l, "log%s", l->length[k], NULL);
        add(l, "1/%s", l->length[k], NULL);
        for (size_t i = 0; i < l->d; i++)
            if (l->v[i].kind == CLSI_LAW_HEAT) add(l, "%s*log%s", l->v[i].name, l->length[k]);
    }
}

/* Two or three places: what turning does not change. */
static void add_distances(list *l) {
    static const char *const forms[] = {"%s", "%s^2", "sqrt%s", "1/sqrt%s", "log%s"};
    static const double NEAR = 0.05;
    clsi_text sum = {0};
    size_t places = 0;
    for (size_t i = 0; i < l->d; i++)
        if (l->v[i].kind == CLSI_LAW_PLACE)
            clsi_text_printf(&sum, "%s%s^2", places++ ? " + " : "(", l->v[i].name);
    clsi_text_append(&sum, ")");
    int away = l->nearest > NEAR * NEAR * l->farthest;
    for (size_t k = 0; k < (away ? 5 : 2) && sum.data && (places == 2 || places == 3); k++)
        add(l, forms[k], sum.data, NULL);
    clsi_text_clear(&sum);
}

/* Of one variable alone: the degrees that products stop before. */
static void add_high_powers(list *l) {
    for (int degree = DEGREE + 1; degree <= ALONE_DEGREE; degree++)
        for (size_t i = 0; i < l->d; i++) {
            int power[MOST_VARIABLES] = {0};
            power[i] = degree;
            if (l->v[i].kind != CLSI_LAW_MOVING || degree % 2 == 0) add_monomial(l, power);
        }
}

/* 0: not for this part. */
static int begin_list(const clsi_unknowns *us, size_t i, const clsi_points *p, int still, list *l) {
    const clsi_unknown *u = &us->list[i];
    l->still = still && u->kind == CLSI_PART_LET && clsi_is_energy(u);
    if (u->nonlinear || u->learned.exponential || u->learned.trunk > 0) return 0;
    if (!find_variables(us, u, p, l)) return 0;
    l->energy = clsi_is_energy(u);
    if (l->energy) find_lengths(us->system, p, l);
    return 1;
}

size_t clsi_law_variables(const clsi_unknowns *us, size_t i, const clsi_points *p, int still,
                          clsi_law_variable *out) {
    list l = {0};
    if (!begin_list(us, i, p, still, &l)) return 0;
    memcpy(out, l.v, l.d * sizeof *out);
    return l.d;
}

size_t clsi_law_lengths(const clsi_unknowns *us, size_t i, const clsi_points *p, int still,
                        char out[][CLSI_LAW_LENGTH_TEXT]) {
    list l = {0};
    if (!begin_list(us, i, p, still, &l)) return 0;
    memcpy(out, l.length, sizeof l.length);
    return l.n_lengths;
}

/* Is the place told by its distances from the ends of its domain? */
static int has_length(const list *l, const variable *v) {
    int found = 0;
    for (size_t k = l->n_gaps; k < l->n_lengths; k++) found |= mentions(l->length[k], v->name);
    return found;
}

static void add_first_of(const list *l, const variable *a, clsi_text *t) {
    if (a->kind == CLSI_LAW_MOVING) clsi_text_printf(t, ";%s^2;", a->name);
    if (a->kind == CLSI_LAW_HEAT) clsi_text_printf(t, ";%s*log(%s);", a->name, a->name);
    if (a->kind == CLSI_LAW_ENTROPY)
        clsi_text_printf(t, ";%s;%s^2;exp(%s);", a->name, a->name, a->name);
    if (a->kind == CLSI_LAW_PLACE && !has_length(l, a))
        clsi_text_printf(t, ";%s;%s^2;", a->name, a->name);
    for (size_t k = 0; k < l->n_lengths && a->kind == CLSI_LAW_HEAT; k++)
        clsi_text_printf(t, ";%s*log%s;", a->name, l->length[k]);
}

/* Where a search begins: is this term one of those without which an energy moves nothing and warms nothing? Masses,
 * heat capacities, forces that are constant or grow with the place or with temperature; those of gases where a place is
 * a length; of an energy of entropies what gives them temperatures. */
static int is_first(const list *l, const char *term, size_t length) {
    char *text = clsi_strndup(term, length);
    clsi_text t = {0};
    int found = 0;
    for (size_t i = 0; i < l->d; i++) {
        const variable *a = &l->v[i];
        int moving = a->kind == CLSI_LAW_MOVING, heat = a->kind == CLSI_LAW_HEAT;
        add_first_of(l, a, &t);
        for (size_t j = 0; j < l->d; j++) {
            const variable *b = &l->v[j];
            if (i == j || moving != (b->kind == CLSI_LAW_MOVING)) continue;
            if ((heat && b->kind == CLSI_LAW_HEAT) || has_length(l, a) || has_length(l, b))
                continue;
            clsi_text_printf(&t, ";%s*%s;", a->name, b->name);
        }
    }
    for (const char *at = t.data; at && text && (at = strstr(at, text)) && !found; at++)
        found = at[-1] == ';' && at[length] == ';';
    clsi_text_clear(&t);
    free(text);
    return found;
}

void clsi_natural_first(const clsi_unknowns *us, size_t i, const clsi_points *p, int still,
                        unsigned char *keep) {
    const clsi_learned *part = &us->list[i].learned;
    list l = {0};
    int energy = clsi_is_energy(&us->list[i]) && begin_list(us, i, p, still, &l);
    const char *rest = strchr(part->field->spec, '(') + 1;
    for (size_t k = 0, length; k < part->field->n_parameters; k++) {
        const char *term = clsi_terms_next(&rest, &length);
        keep[k] = (unsigned char)(energy ? is_first(&l, term, length) : k == 0);
    }
}

cls_status clsi_natural_terms(const clsi_unknowns *us, size_t i, const clsi_points *p, int still,
                              size_t most, char **spec, cls_error *error) {
    const clsi_unknown *u = &us->list[i];
    list l = {.most = most};
    *spec = NULL;
    if (!begin_list(us, i, p, still, &l)) return CLS_OK;
    clsi_text_append(&l.text, "terms(");
    const unsigned char *first = clsi_field_powers(u->learned.field, 0);
    int constant = first != NULL;
    for (size_t k = 0; k < u->learned.d && first; k++) constant &= first[k] == 0;
    if (constant) add(&l, "1", NULL, NULL);
    for (int degree = 1; degree <= 2; degree++) add_degree(&l, degree);
    add_specials(&l);
    add_lengths(&l);
    if (l.nearest < l.farthest) add_distances(&l);
    for (int degree = 3; degree <= DEGREE; degree++) add_degree(&l, degree);
    add_high_powers(&l);
    clsi_text_append(&l.text, ")");
    *spec = clsi_text_take(&l.text);
    return *spec ? CLS_OK : clsi_no_memory(error);
}
