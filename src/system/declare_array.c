/* Declarations of arrays: `coordinate u[1..N] [m]` is one block of symbols.
 *
 * What an element has (a coordinate its velocity and its momentum, an entropy its temperature) is made in the order
 * that it has when the elements are declared one by one, so that symbols have the same numbers. */
#include "system/pattern.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 60 };

int clsi_is_range(const clsi_reader *r, clsi_cursor c) {
    if (!r->turning) return 0;
    clsi_skip_space(r, &c);
    size_t at = c.at + clsi_plain_word(r, c.at, c.end), close;
    if (at == c.at || at >= c.end || r->clean[at] != '[') return 0;
    close = clsi_array_closing(r, at, c.end);
    return close && clsi_find_dots(r, at + 1, close - 1) != SIZE_MAX;
}

/* The array at the cursor, which moves behind it, and its name. */
static cls_status read_range(clsi_reader *r, clsi_cursor *c, clsi_array *array, char name[64]) {
    size_t length, behind;
    clsi_skip_space(r, c);
    cls_status status =
        clsi_read_array(r->arrays, c->at, c->end, SIZE_MAX, &length, &behind, array);
    if (status != CLS_OK) return status;
    if (!length || length > LONGEST_NAME || clsi_plain_word(r, behind, c->end)) /* S[1..N]with */
        return clsi_at(r, c->at, "expected an array");
    memcpy(name, r->clean + c->at, length);
    name[length] = 0;
    c->at = behind;
    return CLS_OK;
}

static int same_range(const clsi_array *a, const clsi_array *b) {
    int same = a->n == b->n;
    for (size_t k = 0; k < a->n && same; k++)
        same = a->low[k] == b->low[k] && a->high[k] == b->high[k];
    return same;
}

/* Symbols for all elements, by stems and kinds; what they are comes after. */
static cls_status add_block(clsi_reader *r, const clsi_array *array, size_t where, size_t stems,
                            const char *const *stem, const clsi_kind *kind, const size_t *first,
                            const clsi_symbol_block **out) {
    clsi_symbol_block like = {.stems = stems, .indices = array->n};
    clsi_array_names what = {{0}, {0}};
    for (size_t k = 0; k < array->n; k++) {
        like.low[k] = array->low[k];
        like.high[k] = array->high[k];
    }
    for (size_t j = 0; j < stems; j++) {
        if (clsi_lookup(r, stem[j], strlen(stem[j]), ~CLSI_LABEL))
            return clsi_at(r, where, "`%s` means one thing", stem[j]);
        snprintf(like.stem[j], sizeof like.stem[j], "%s", stem[j]);
        what.kind[j] = kind[j];
        what.first[j] = first[j];
    }
    if (!clsi_grow(&r->blocks, &r->blocks_room, r->n_blocks + 1, sizeof *r->blocks))
        return clsi_no_memory(r->error);
    const clsi_symbol_block *b = *out = clsi_symbols(r->s->g, &like);
    if (!b && cls_graph_status(r->s->g, NULL) == CLS_MEMORY) return clsi_no_memory(r->error);
    if (!b || b->width > LONGEST_NAME + 1)
        return clsi_at(r, where, "these are declared one by one");
    r->blocks[r->n_blocks++] = what;
    return CLS_OK;
}

/* So many variables more, named by a stem of the block. */
static cls_status add_variables(clsi_reader *r, clsi_variable **list, size_t *capacity, size_t n,
                                const clsi_symbol_block *b, size_t stem, double low) {
    if (!clsi_grow(list, capacity, n + b->count, sizeof **list)) return clsi_no_memory(r->error);
    for (size_t k = 0; k < b->count; k++)
        (*list)[n + k] = (clsi_variable){
            .name = b->names + (k * b->stems + stem) * b->width, .low = low, .high = INFINITY};
    return CLS_OK;
}

static cls_status declare_positions(clsi_reader *r, const clsi_array *array, size_t where,
                                    const char *name, int paired) {
    cls_system *s = r->s;
    char velocity[80], momentum[80];
    const clsi_symbol_block *b = NULL;
    snprintf(velocity, sizeof velocity, "v.%s", name);
    snprintf(momentum, sizeof momentum, "p.%s", name);
    const char *const stem[] = {name, velocity, momentum};
    const clsi_kind kind[] = {CLSI_COORDINATE, CLSI_VELOCITY, CLSI_MOMENTUM};
    const size_t first[] = {s->nq, s->n, s->n};
    cls_status status = add_block(r, array, where, paired ? 3 : 1, stem, kind, first, &b);
    if (status == CLS_OK)
        status = add_variables(r, &s->coordinate, &r->coordinate_capacity, s->nq, b, 0, -INFINITY);
    if (status == CLS_OK) s->nq += b->count;
    if (status != CLS_OK || !paired) return status;
    status = add_variables(r, &s->momentum, &r->momentum_capacity, s->n, b, 2, -INFINITY);
    if (status != CLS_OK) return status;
    s->n += b->count;
    s->paired += b->count;
    return CLS_OK;
}

static cls_status declare_entropies(clsi_reader *r, const clsi_array *array, size_t where,
                                    const char *entropy, const char *temperature) {
    cls_system *s = r->s;
    const clsi_symbol_block *b = NULL;
    const char *const stem[] = {entropy, temperature};
    const clsi_kind kind[] = {CLSI_ENTROPY, CLSI_TEMPERATURE};
    const size_t first[] = {s->m, s->m};
    cls_status status = add_block(r, array, where, 2, stem, kind, first, &b);
    if (status == CLS_OK)
        status = add_variables(r, &s->entropy, &r->entropy_capacity, s->m, b, 0, -INFINITY);
    if (status == CLS_OK)
        status = add_variables(r, &s->temperature, &r->temperature_capacity, s->m, b, 1, 0);
    if (status == CLS_OK) s->m += b->count;
    return status;
}

cls_status clsi_declare_array(clsi_reader *r, clsi_cursor *c, clsi_kind kind, int paired) {
    clsi_array array, with;
    char name[64], other[80];
    size_t where = c->at;
    cls_status status = read_range(r, c, &array, name);
    if (status != CLS_OK) return status;
    if (kind == CLSI_COORDINATE) return declare_positions(r, &array, where, name, paired);
    clsi_cursor ahead = *c;
    if (clsi_accept_word(r, &ahead, "with")) {
        if (!clsi_accept_word(r, &ahead, kind == CLSI_ENTROPY ? "temperature" : "entropy"))
            return clsi_at(r, ahead.at, "expected the other name");
        status = read_range(r, &ahead, &with, other);
        if (status == CLS_OK && !same_range(&array, &with))
            status = clsi_at(r, where, "two ranges");
        *c = ahead;
    } else {
        status = clsi_other_name(r, c, kind, name, other);
    }
    if (status != CLS_OK) return status;
    int straight = kind == CLSI_ENTROPY;
    return declare_entropies(r, &array, where, straight ? name : other, straight ? other : name);
}

/* momentum q[1..N] with velocity U[1..N], mole A[1..N], B[1..N]: what read_momenta of declare.c reads, of arrays. */
static cls_status declare_momenta(clsi_reader *r, const clsi_array *array, size_t where,
                                  const char *momentum, const char *velocity, clsi_role role) {
    cls_system *s = r->s;
    const clsi_symbol_block *b = NULL;
    const char *const stem[] = {velocity, momentum};
    const clsi_kind kind[] = {CLSI_VELOCITY, CLSI_MOMENTUM};
    const size_t first[] = {s->n, s->n};
    cls_status status = add_block(r, array, where, 2, stem, kind, first, &b);
    if (status == CLS_OK)
        status = add_variables(r, &s->momentum, &r->momentum_capacity, s->n, b, 1,
                               role == CLSI_MOLE ? 0 : -INFINITY);
    if (status != CLS_OK) return status;
    for (size_t k = 0; k < b->count; k++) s->momentum[s->n + k].role = role;
    s->n += b->count;
    return CLS_OK;
}

enum { MOST_LISTED = 16 };

static cls_status read_ranges(clsi_reader *r, clsi_cursor *c, size_t *n, clsi_array *array,
                              char (*name)[64]) {
    cls_status status = CLS_OK;
    *n = 0;
    do {
        if (*n == MOST_LISTED) return clsi_at(r, c->at, "more than a few arrays");
        status = read_range(r, c, &array[*n], name[*n]);
        ++*n;
    } while (status == CLS_OK && clsi_accept(r, c, ","));
    return status;
}

cls_status clsi_declare_momenta_arrays(clsi_reader *r, clsi_cursor *c, clsi_role role,
                                       const char *effort, const char *prefix, clsi_cursor *unit) {
    clsi_array array[MOST_LISTED], with[MOST_LISTED];
    char name[MOST_LISTED][64], other[MOST_LISTED][64], velocity[80];
    size_t n, n_with = 0, where = c->at;
    cls_status status = read_ranges(r, c, &n, array, name);
    if (status != CLS_OK) return status;
    *unit = (clsi_cursor){0, 0};
    if (clsi_accept(r, c, "[")) {
        unit->at = c->at;
        unit->end = c->end;
        while (c->at < c->end && r->clean[c->at] != ']') c->at++;
        if (!clsi_accept(r, c, "]")) return clsi_at(r, c->at, "the unit has no closing `]`");
    }
    if (clsi_accept_word(r, c, "with")) {
        if (!clsi_accept_word(r, c, effort)) return clsi_at(r, c->at, "expected `%s`", effort);
        status = read_ranges(r, c, &n_with, with, other);
        if (status == CLS_OK && n_with != n) status = clsi_at(r, c->at, "two lists");
    }
    if (status == CLS_OK) status = clsi_expect_end(r, c);
    for (size_t k = 0; k < n && status == CLS_OK; k++) {
        if (n_with && !same_range(&array[k], &with[k])) return clsi_at(r, where, "two ranges");
        snprintf(velocity, sizeof velocity, "%s%.63s", n_with ? "" : prefix,
                 n_with ? other[k] : name[k]);
        status = declare_momenta(r, &array[k], where, name[k], velocity, role);
    }
    return status;
}
