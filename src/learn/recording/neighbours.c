/* States of an array that no column says, from those beside them that some column does.
 *
 * Ten thermocouples sit on a rod of fifty cells. What lies between two of them is not anything: a field is smooth.
 * Elements of an array are points with their indices as coordinates, and the hidden ones lie on the smoothest function
 * through the others,
 *
 *     f(x) = sum_j c_j |x - x_j|^3 + a + b.x,     sum c = 0, sum c x = 0,
 *
 * which for one index is the natural cubic spline. (Where the known ones lie on a line of a plane there is no such
 * function: then |x - x_j| and a constant.) That is where a start begins, and what its prior is about: a start
 * may bend away from it by as much as the field itself bends from cell to cell,
 *
 *     d_(e-1) - 2 d_e + d_(e+1) = 0 +- size,      d = start - f,
 *
 * so that noise has no forty numbers to hide in, and what sensors see of the cells between them moves all of them.
 * Costs n^3 for n known elements at each time that is asked for. It does not know materials: where something jumps from
 * one element to the next the fit has to find it. */
#include "learn/recording/neighbours.h"
#include "base/base.h"
#include "system/dense.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIMENSIONS = 3, FEWEST = 3, MOST_KNOWN = 300 };

typedef struct clsi_element {
    const char *name, *rest; /* what stands behind the brackets */
    size_t length;           /* of the name before them */
    size_t n;                /* indices */
    double at[DIMENSIONS];   /* these */
    size_t state;            /* component of z that it says */
    size_t family;           /* the first element of the same array */
} element;

/* ---- which there are ---- */

/* T[3], u[2][7], cell[4].q: numbers in brackets that stand together. Zero: it has no such name. */
static int read_indices(const char *name, element *e) {
    const char *c = strchr(name, '[');
    if (!c) return 0;
    *e = (element){.name = name, .length = (size_t)(c - name)};
    while (*c == '[') {
        char *end;
        double value = strtod(c + 1, &end);
        if (end == c + 1 || *end != ']' || e->n == DIMENSIONS) return 0;
        e->at[e->n++] = value;
        c = end + 1;
    }
    e->rest = c;
    return !strchr(c, '[');
}

static int same_family(const element *a, const element *b) {
    return a->n == b->n && a->length == b->length && memcmp(a->name, b->name, a->length) == 0 &&
           strcmp(a->rest, b->rest) == 0;
}

static void add_element(clsi_neighbours *b, const char *name, size_t state) {
    element e;
    if (!read_indices(name, &e)) return;
    e.state = state;
    e.family = b->n_names;
    /* families stand together but for those whose elements were declared one by one */
    if (b->n_names && same_family(&b->element[b->n_names - 1], &e))
        e.family = b->element[b->n_names - 1].family;
    for (size_t i = 0; i < b->n_names && e.family == b->n_names;) {
        if (same_family(&b->element[i], &e)) e.family = i;
        size_t of = b->element[i].family;
        while (i < b->n_names && b->element[i].family == of) i++;
    }
    b->element[b->n_names++] = e;
}

/* Everything that a start can name: the states, or what says them. */
static void list_elements(const cls_system *s, clsi_neighbours *b) {
    for (size_t i = 0; i < s->nq; i++) add_element(b, s->coordinate[i].name, i);
    for (size_t j = 0; j < s->n; j++) add_element(b, cls_node_name(s->g, s->v[j]), s->nq + j);
    for (size_t j = 0; j < s->n; j++) add_element(b, s->momentum[j].name, s->nq + j);
    for (size_t i = 0; i < s->m; i++) add_element(b, s->temperature[i].name, s->nq + s->n + i);
    for (size_t i = 0; i < s->m; i++) add_element(b, s->entropy[i].name, s->nq + s->n + i);
}

/* ---- second differences ---- */

/* The element beside e in a direction; n_names: there is none. */
static size_t beside(const clsi_neighbours *b, size_t e, size_t direction, double by) {
    const element *own = &b->element[e];
    for (size_t i = own->family; i < b->n_names; i++) {
        const element *other = &b->element[i];
        int found = other->family == own->family;
        for (size_t d = 0; d < own->n && found; d++)
            found = other->at[d] == own->at[d] + (d == direction ? by : 0);
        if (found) return i;
    }
    return b->n_names;
}

/* Rows of the states; of (nz): the element that says a state, n_names: none. */
static void add_rows(clsi_neighbours *b, size_t nz, const size_t *of) {
    size_t n = 0;
    for (size_t e = 0; e < nz; e++) {
        b->start[e] = n;
        if (of[e] == b->n_names) continue;
        size_t own = n++;
        b->column[own] = e;
        b->entry[own] = 0;
        for (size_t d = 0; d < b->element[of[e]].n; d++) {
            size_t low = beside(b, of[e], d, -1), high = beside(b, of[e], d, 1);
            if (low == b->n_names || high == b->n_names) continue;
            b->entry[own] -= 2;
            b->column[n] = b->element[low].state, b->entry[n++] = 1;
            b->column[n] = b->element[high].state, b->entry[n++] = 1;
        }
        if (b->entry[own] == 0) n = own; /* at an end */
    }
    b->start[nz] = n;
}

/* ---- life ---- */

static void choose_families(clsi_neighbours *b, const unsigned char *hidden,
                            int (*is_said)(void *, const char *), void *context, size_t *of) {
    for (size_t i = 0; i < b->n_names; i++) {
        size_t said = 0, family = b->element[i].family;
        if (family != i) continue;
        for (size_t k = i; k < b->n_names; k++)
            said += b->element[k].family == family && is_said(context, b->element[k].name);
        if (said < FEWEST || said > MOST_KNOWN) continue;
        for (size_t k = i; k < b->n_names; k++) {
            size_t e = b->element[k].state;
            if (b->element[k].family != family || of[e] != b->n_names) continue;
            of[e] = k;
            b->root[e] = b->element[family].state;
            if (!hidden[e]) continue;
            b->filled[e] = 1;
            b->n_filled++;
        }
    }
}

cls_status clsi_neighbours_create(const cls_system *s, const unsigned char *hidden,
                                  int (*is_said)(void *context, const char *name), void *context,
                                  clsi_neighbours **out, cls_error *error) {
    size_t nz = s->form->nz;
    clsi_neighbours *b = *out = clsi_calloc(1, sizeof *b);
    size_t *of = clsi_calloc(nz + 1, sizeof *of);
    if (b) {
        b->nz = nz;
        b->element = clsi_calloc(s->nq + 2 * s->n + 2 * s->m + 1, sizeof *b->element);
        b->filled = clsi_calloc(nz + 1, 1);
        b->start = clsi_calloc(nz + 1, sizeof *b->start);
        b->column = clsi_calloc((2 * DIMENSIONS + 1) * nz + 1, sizeof *b->column);
        b->entry = clsi_calloc((2 * DIMENSIONS + 1) * nz + 1, sizeof *b->entry);
        b->most = clsi_calloc(nz + 1, sizeof *b->most);
        b->root = clsi_calloc(nz + 1, sizeof *b->root);
    }
    int there = b && of && b->element && b->filled && b->start && b->column && b->entry &&
                b->most && b->root;
    if (there) {
        list_elements(s, b);
        for (size_t e = 0; e < nz; e++) of[e] = b->n_names;
        choose_families(b, hidden, is_said, context, of);
        if (b->n_filled) add_rows(b, nz, of);
    }
    free(of);
    if (!there || !b->n_filled) clsi_neighbours_free(out);
    return there ? CLS_OK : clsi_no_memory(error);
}

void clsi_neighbours_free(clsi_neighbours **neighbours) {
    clsi_neighbours *b = *neighbours;
    if (!b) return;
    free(b->element);
    free(b->filled);
    free(b->start);
    free(b->column);
    free(b->entry);
    free(b->most);
    free(b->root);
    free(b);
    *neighbours = NULL;
}

/* ---- values ---- */

static double distance(const element *a, const element *b) {
    double sum = 0;
    for (size_t d = 0; d < a->n; d++) sum += (a->at[d] - b->at[d]) * (a->at[d] - b->at[d]);
    return sqrt(sum);
}

/* |x - y|^3 with a line, or |x - y| with a constant. */
static double kernel(int cubic, const element *a, const element *b) {
    double r = distance(a, b);
    return cubic ? r * r * r : r;
}

/* The coefficients c (n + 1 + dimensions) of the function through the values c. Zero: there is none. */
static int interpolate(size_t n, const element *const *known, int cubic, double *M, size_t *pivot,
                       double *c) {
    size_t more = cubic ? 1 + known[0]->n : 1, all = n + more;
    memset(M, 0, all * all * sizeof *M);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) M[i * all + j] = kernel(cubic, known[i], known[j]);
        for (size_t d = 0; d < more; d++)
            M[i * all + n + d] = M[(n + d) * all + i] =
                d ? known[i]->at[d - 1] - known[0]->at[d - 1] : 1;
    }
    for (size_t d = 0; d < more; d++) c[n + d] = 0;
    if (clsi_lu_factor(all, M, pivot) || !(clsi_lu_quality(all, M) > 1e-12)) return 0;
    clsi_lu_solve(all, M, pivot, c);
    return 1;
}

static double value_at(size_t n, const element *const *known, int cubic, const double *c,
                       const element *at) {
    double sum = c[n];
    for (size_t d = 0; d < at->n && cubic; d++) sum += c[n + 1 + d] * (at->at[d] - known[0]->at[d]);
    for (size_t j = 0; j < n; j++) sum += c[j] * kernel(cubic, at, known[j]);
    return sum;
}

typedef struct room {
    const element **known;
    double *M, *c, *value;
    size_t *pivot;
} room;

static size_t fill_family(const clsi_neighbours *b, size_t family, size_t n,
                          const clsi_known_value *known, room *r, unsigned char *done,
                          clsi_known_value *more) {
    size_t there = 0, made = 0;
    for (size_t i = family; i < b->n_names; i++) {
        if (b->element[i].family != family) continue;
        for (size_t k = 0; k < n; k++)
            if (strcmp(known[k].name, b->element[i].name) == 0 && there < MOST_KNOWN) {
                r->value[there] = known[k].value;
                r->known[there++] = &b->element[i];
            }
    }
    if (there < FEWEST) return 0;
    int cubic = 1;
    memcpy(r->c, r->value, there * sizeof *r->c);
    if (!interpolate(there, r->known, 1, r->M, r->pivot, r->c)) {
        cubic = 0;
        memcpy(r->c, r->value, there * sizeof *r->c);
        if (!interpolate(there, r->known, 0, r->M, r->pivot, r->c)) return 0;
    }
    for (size_t i = family; i < b->n_names; i++) {
        const element *e = &b->element[i];
        if (e->family != family || !b->filled[e->state] || done[e->state]) continue;
        done[e->state] = 1;
        more[made++] = (clsi_known_value){e->name, value_at(there, r->known, cubic, r->c, e)};
    }
    return made;
}

size_t clsi_neighbours_fill(const clsi_neighbours *b, size_t n, const clsi_known_value *known,
                            clsi_known_value *more) {
    size_t most = n < MOST_KNOWN ? n : MOST_KNOWN, all = most + 1 + DIMENSIONS, made = 0;
    room r = {.known = clsi_calloc(most + 1, sizeof *r.known),
              .M = clsi_calloc(all * all + all + most + 1, sizeof *r.M),
              .pivot = clsi_calloc(all, sizeof *r.pivot)};
    unsigned char *done = clsi_calloc(b->nz + 1, 1);
    int there = r.known && r.M && r.pivot && done;
    if (there) {
        r.c = r.M + all * all;
        r.value = r.c + all;
        for (size_t i = 0; i < b->n_names; i++)
            if (b->element[i].family == i)
                made += fill_family(b, i, n, known, &r, done, more + made);
    }
    free(r.known);
    free(r.M);
    free(r.pivot);
    free(done);
    return there ? made : SIZE_MAX;
}

void clsi_neighbours_weigh(clsi_neighbours *b, const double *z) {
    for (size_t e = 0; e < b->nz; e++) {
        double sum = 0;
        for (size_t i = b->start[e]; i < b->start[e + 1]; i++) sum += b->entry[i] * z[b->column[i]];
        if (isfinite(sum)) b->most[b->root[e]] = fmax(b->most[b->root[e]], fabs(sum));
    }
}

double clsi_neighbours_size(const clsi_neighbours *b, size_t e) {
    return b->start[e + 1] > b->start[e] ? b->most[b->root[e]] : 0;
}
