/* Terms that have constants inside, of the variables that a part depends on.
 *
 * Saturation x/(c + x), relaxation exp(c*x), powers that are no integers, softened distances: laws that no
 * short sum of fixed terms is, and polynomials spend many terms on. A term is a family of functions of a base
 * (a variable, a difference of places, the square of a distance), such a function times a variable or its
 * square, or a product of two exponentials or powers. What moves is even in its velocity.
 *
 * Each stands in the list with a grid of its constants, in units of the range that the data have. The order is
 * that of simplicity: to name what stands later costs more. */
#include "learn/noise/shapes.h"
#include "learn/noise/terms.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How a constant is measured: by 1/range, by its square, by where x begins, by the square of x, as a power, as
 * 1/x is, as a place in the range. */
typedef enum { NONE, RATE, SIGNED_RATE, SQUARE_RATE, ABOVE, SQUARE, POWER, INVERSE, PLACE } unit;

typedef struct family {
    const char *text;
    unit c, d;
    int even;             /* in x */
    int positive, growth; /* x is positive; may be a factor beside another one of these */
    int squared;          /* x is the square of a distance: what others are in x^2 */
} family;

static const family families[] = {
    {"x", NONE, NONE, 0, 0, 0, 0},
    {"x^2", NONE, NONE, 1, 0, 0, 0},
    {"exp(c*x)", SIGNED_RATE, NONE, 0, 0, 1, 0},
    {"x^c", POWER, NONE, 0, 1, 1, 0},
    {"x/(c + x)", ABOVE, NONE, 0, 0, 0, 0},
    {"1/(c + x)", ABOVE, NONE, 0, 0, 0, 0},
    {"log(c + x)", ABOVE, NONE, 0, 0, 0, 0},
    {"exp(c/x)", INVERSE, NONE, 0, 1, 0, 0},
    {"cos(c*x)", RATE, NONE, 0, 0, 0, 0},
    {"sin(c*x)", RATE, NONE, 0, 0, 0, 0},
    {"tanh(c*x)", RATE, NONE, 0, 0, 0, 0},
    {"exp(-c*x^2)", SQUARE_RATE, NONE, 1, 0, 0, 0},
    {"1/(c + x^2)", SQUARE, NONE, 1, 0, 0, 0},
    {"1/sqrt(c + x^2)", SQUARE, NONE, 1, 0, 0, 0},
    {"sqrt(c + x^2)", SQUARE, NONE, 1, 0, 0, 0},
    {"log(c + x^2)", SQUARE, NONE, 1, 0, 0, 0},
    {"(c + x^2)^d", SQUARE, POWER, 1, 0, 0, 0},
    {"tanh(d*(x - c))", PLACE, RATE, 0, 0, 0, 0},
    {"1/sqrt(c + x)", ABOVE, NONE, 0, 0, 0, 1},
    {"sqrt(c + x)", ABOVE, NONE, 0, 0, 0, 1},
    {"(c + x)^d", ABOVE, POWER, 0, 0, 0, 1},
    {"x/(c + x + d*x^2)", ABOVE, RATE, 0, 0, 0, 0},
};
enum { FAMILIES = sizeof families / sizeof *families, FIRST = 2, MOST_BASES = 16, MOST_GRID = 16 };

size_t clsi_shape_families(void) {
    return FAMILIES;
}

size_t clsi_shape_constants(size_t f) {
    return (size_t)(families[f].c != NONE) + (size_t)(families[f].d != NONE);
}

static const double rates[] = {0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 9, 14};
static const double squares[] = {0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.8, 1.6, 4};
static const double aboves[] = {0.03, 0.06, 0.1, 0.2, 0.35, 0.6, 1, 2, 4};
static const double powers[] = {-4,   -3,  -2,   -1.5, -1,  -0.75, -0.5, -0.25,
                                0.25, 0.5, 0.75, 1.25, 1.5, 2.5,   3.5};
static const double places[] = {0.1, 0.3, 0.5, 0.7, 0.9};
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- constants ---- */

/* The grid of one constant, at most MOST_GRID, and its bounds; 0: this function is not for this base. */
static size_t make_grid(unit u, const clsi_shape_base *b, double *grid, double *low, double *high) {
    double width = b->high - b->low, size = fmax(fabs(b->low), fabs(b->high));
    double factor = 1, shift = 0;
    const double *from = rates;
    size_t n = COUNT(rates);
    if (!(width > 0)) return 0;
    if (u == RATE || u == SIGNED_RATE) factor = 2 / width;
    if (u == SQUARE_RATE) factor = 1 / (size * size);
    if (u == INVERSE) factor = 2 / (1 / b->low - 1 / b->high);
    if (u == ABOVE) from = aboves, n = COUNT(aboves), factor = width, shift = -fmin(b->low, 0);
    if (u == SQUARE) from = squares, n = COUNT(squares), factor = size * size;
    if (u == POWER) from = powers, n = COUNT(powers);
    if (u == PLACE) from = places, n = COUNT(places), factor = width, shift = b->low;
    for (size_t k = 0; k < n; k++) grid[k] = shift + factor * from[k];
    *low = u == POWER ? -6 : u == PLACE ? b->low : shift + factor * from[0] / 8;
    *high = u == POWER ? 6 : u == PLACE ? b->high : shift + 8 * factor * from[n - 1];
    if (u != SIGNED_RATE && u != INVERSE) return n;
    n = n < MOST_GRID / 2 ? n : MOST_GRID / 2;
    for (size_t k = 0; k < n; k++) grid[n + k] = -grid[k];
    *low = -*high;
    return 2 * n;
}

static int fits(const family *f, const clsi_shape_base *b) {
    static const double LITTLE = 0.1;
    if (b->moving && !f->even) return 0;
    if (f->positive && !b->positive) return 0;
    if (b->squared ? f->even : f->squared) return 0; /* of x^2 on a line, of r^2 in the plane */
    if (b->squared && (f->c == RATE || f->d == RATE))
        return 0; /* nothing waves with the square of a distance */
    return f->c != ABOVE || b->low > -LITTLE * (b->high - b->low); /* fractions are of amounts */
}

/* ---- the list ---- */

static cls_status push(clsi_shapes *s, const clsi_shape *shape, cls_error *error) {
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 512;
        clsi_shape *list = clsi_realloc(s->list, room * sizeof *list);
        if (!list) return clsi_no_memory(error);
        s->list = list;
        s->room = room;
    }
    s->list[s->n++] = *shape;
    return CLS_OK;
}

/* All constants of a term's grid. */
static cls_status push_grid(clsi_shapes *s, clsi_shape shape, cls_error *error) {
    double grid[CLSI_SHAPE_CONSTANTS][2 * MOST_GRID];
    size_t count[CLSI_SHAPE_CONSTANTS] = {1, 1};
    shape.n_constants = 0;
    for (size_t i = 0; i < shape.n; i++) {
        const family *f = &families[shape.factor[i].family];
        const clsi_shape_base *b = &s->base[shape.factor[i].base];
        for (size_t k = 0; k < 2 && (k ? f->d : f->c) != NONE; k++) {
            size_t at = shape.n_constants++;
            count[at] = make_grid(k ? f->d : f->c, b, grid[at], &shape.low[at], &shape.high[at]);
            if (!count[at]) return CLS_OK;
        }
    }
    cls_status status = CLS_OK;
    for (size_t a = 0; a < count[0]; a++)
        for (size_t b = 0; b < count[1] && status == CLS_OK; b++) {
            shape.c[0] = grid[0][a];
            shape.c[1] = shape.n_constants > 1 ? grid[1][b] : 0;
            status = push(s, &shape, error);
        }
    return status;
}

/* Terms of a simplicity: functions of one base; times a variable; products of two that grow. */
static cls_status push_all(clsi_shapes *s, size_t n_variables, cls_error *error) {
    cls_status status = CLS_OK;
    size_t name = 1;
    for (size_t k = 0; k < s->n_plain && status == CLS_OK; k++)
        status = push(s, &(clsi_shape){.plain = k + 1, .name = name++}, error);
    name = name < 10 ? name : 10; /* with a constant is no less simple than a long product */
    for (size_t f = FIRST; f < FAMILIES; f++)
        for (size_t b = 0; b < s->n_bases && status == CLS_OK; b++)
            if (fits(&families[f], &s->base[b]))
                status =
                    push_grid(s, (clsi_shape){.n = 1, .factor = {{f, b}}, .name = name++}, error);
    for (size_t f = 0; f < FAMILIES; f++)
        for (size_t h = FIRST; h < FAMILIES; h++)
            for (size_t a = 0; a < n_variables; a++)
                for (size_t b = 0; b < n_variables && status == CLS_OK; b++) {
                    const family *p = &families[f], *q = &families[h];
                    int both = p->growth && q->growth && (a < b || (a != b && f != h));
                    if (a == b || (f >= FIRST && (!both || h < f)) || (f < FIRST && q->d != NONE))
                        continue;
                    if (!fits(p, &s->base[a]) || !fits(q, &s->base[b])) continue;
                    status = push_grid(
                        s, (clsi_shape){.n = 2, .factor = {{f, a}, {h, b}}, .name = name++}, error);
                }
    return status;
}

/* ---- bases ---- */

static void set_range(const clsi_shapes *s, clsi_shape_base *b, size_t n, const double *x) {
    cls_program *program = NULL;
    b->low = INFINITY, b->high = -INFINITY;
    if (cls_program_create(s->g, s->d, s->x, 1, &b->node, &program, NULL) != CLS_OK) return;
    double *work = clsi_calloc(cls_program_work_size(program) + 1, sizeof *work), value;
    if (work) cls_program_prepare(program, work);
    for (size_t i = 0; i < n && work; i++) {
        cls_program_run(program, work, x + i * s->d, &value);
        b->low = fmin(b->low, value);
        b->high = fmax(b->high, value);
    }
    free(work);
    cls_program_free(&program);
}

static cls_status add_base(clsi_shapes *s, const cls_scope *scope, clsi_text *text,
                           clsi_shape_base what, size_t n, const double *x, cls_error *error) {
    clsi_shape_base *b = &s->base[s->n_bases];
    *b = what;
    if (!(b->text = clsi_text_take(text))) return clsi_no_memory(error);
    s->n_bases++;
    cls_status status = cls_parse(s->g, b->text, scope, NULL, 1, 1, &b->node, error);
    if (status == CLS_OK) set_range(s, b, n, x);
    return status;
}

/* Variables, lengths, and what is made of places; factors of products are of the first two kinds. */
static cls_status add_bases(clsi_shapes *s, const cls_scope *scope, size_t n_variables,
                            const clsi_law_variable *v, size_t n_lengths,
                            char length[][CLSI_LAW_LENGTH_TEXT], size_t n, const double *x,
                            cls_error *error) {
    cls_status status = CLS_OK;
    clsi_text text = {0}, sum = {0};
    size_t n_places = 0;
    for (size_t i = 0; i < n_variables && status == CLS_OK; i++) {
        clsi_text_append(&text, v[i].name);
        clsi_shape_base what = {.moving = v[i].kind == CLSI_LAW_MOVING, .positive = v[i].low > 0};
        status = add_base(s, scope, &text, what, n, x, error);
        if (v[i].kind == CLSI_LAW_PLACE)
            clsi_text_printf(&sum, "%s%s^2", n_places++ ? " + " : "", v[i].name);
    }
    for (size_t i = 0; i < n_lengths && status == CLS_OK; i++) {
        clsi_text_append(&text, length[i]);
        status = add_base(s, scope, &text, (clsi_shape_base){.positive = 1}, n, x, error);
    }
    for (size_t i = 0; i < n_variables; i++)
        for (size_t j = i + 1; j < n_variables && status == CLS_OK; j++) {
            if (v[i].kind != CLSI_LAW_PLACE || v[j].kind != CLSI_LAW_PLACE ||
                s->n_bases + 1 >= MOST_BASES)
                continue;
            clsi_text_printf(&text, "%s - %s", v[i].name, v[j].name);
            status = add_base(s, scope, &text, (clsi_shape_base){0}, n, x, error);
        }
    if (status == CLS_OK && (n_places == 2 || n_places == 3) && s->n_bases < MOST_BASES)
        status =
            add_base(s, scope, &sum, (clsi_shape_base){.positive = 1, .squared = 1}, n, x, error);
    clsi_text_clear(&sum);
    clsi_text_clear(&text);
    return status;
}

/* "terms(a; b)" as nodes. */
static cls_status add_plain(clsi_shapes *s, const cls_scope *scope, const char *spec,
                            cls_error *error) {
    const char *rest = strchr(spec, '(') + 1;
    size_t n = 1, length;
    for (const char *c = rest; *c; c++) n += *c == ';';
    if (!(s->plain = clsi_calloc(n, sizeof *s->plain))) return clsi_no_memory(error);
    cls_status status = CLS_OK;
    while (s->n_plain < n && status == CLS_OK) {
        const char *term = clsi_terms_next(&rest, &length);
        char *text = clsi_strndup(term, length);
        if (!text) return clsi_no_memory(error);
        status = cls_parse(s->g, text, scope, NULL, 1, 1, &s->plain[s->n_plain++], error);
        free(text);
    }
    return status;
}

cls_status clsi_shapes_create(const clsi_unknowns *us, const clsi_unknowns *named, size_t i,
                              const clsi_points *p, int still, size_t n, const double *x,
                              clsi_shapes **out, cls_error *error) {
    const clsi_learned *l = &named->list[i].learned;
    clsi_law_variable v[CLSI_LAW_VARIABLES];
    char length[CLSI_LAW_LENGTHS][CLSI_LAW_LENGTH_TEXT];
    size_t n_variables = clsi_law_variables(us, i, p, still, v);
    *out = NULL;
    if (!n_variables) return CLS_OK;
    size_t n_lengths = clsi_law_lengths(us, i, p, still, length);
    clsi_shapes *s = clsi_calloc(1, sizeof *s);
    if (!s) return clsi_no_memory(error);
    s->d = l->d;
    s->x = clsi_calloc(l->d + 1, sizeof *s->x);
    s->base = clsi_calloc(MOST_BASES + 1, sizeof *s->base);
    cls_status status =
        s->x && s->base ? cls_graph_create(NULL, &s->g, error) : clsi_no_memory(error);
    cls_scope scope = {l->d, (const char *const *)l->input, s->x};
    for (size_t k = 0; k < l->d && status == CLS_OK; k++) s->x[k] = cls_symbol(s->g, l->input[k]);
    if (status == CLS_OK) status = add_plain(s, &scope, l->field->spec, error);
    if (status == CLS_OK)
        status = add_bases(s, &scope, n_variables, v, n_lengths, length, n, x, error);
    if (status == CLS_OK) status = push_all(s, n_variables + n_lengths, error);
    if (status == CLS_OK)
        *out = s;
    else
        clsi_shapes_free(&s);
    return status;
}

void clsi_shapes_free(clsi_shapes **shapes) {
    clsi_shapes *s = *shapes;
    if (!s) return;
    for (size_t i = 0; i < s->n_bases; i++) free(s->base[i].text);
    cls_graph_free(&s->g);
    free(s->x);
    free(s->plain);
    free(s->base);
    free(s->list);
    free(s);
    *shapes = NULL;
}

/* ---- formulas ---- */

/* The term over symbols of its constants. */
static cls_node open_node(const clsi_shapes *s, const clsi_shape *shape, const cls_node *constant) {
    if (shape->plain) return s->plain[shape->plain - 1];
    cls_node product = CLS_NO_NODE;
    for (size_t i = 0, at = 0; i < shape->n; i++) {
        const family *f = &families[shape->factor[i].family];
        const char *names[] = {"x", "c", "d"};
        cls_node nodes[] = {s->base[shape->factor[i].base].node, constant[0], constant[0]}, one;
        if (f->c != NONE) nodes[1] = constant[at++];
        if (f->d != NONE) nodes[2] = constant[at++];
        cls_scope scope = {3, names, nodes};
        if (cls_parse(s->g, f->text, &scope, NULL, 1, 1, &one, NULL) != CLS_OK) return CLS_NO_NODE;
        product = i ? cls_mul(s->g, product, one) : one;
    }
    return product;
}

static void make_constants(const clsi_shapes *s, cls_node *constant) {
    constant[0] = cls_symbol(s->g, "c'");
    constant[1] = cls_symbol(s->g, "d'");
}

cls_node clsi_shape_node(const clsi_shapes *s, const clsi_shape *shape, size_t k) {
    cls_node constant[CLSI_SHAPE_CONSTANTS], number[CLSI_SHAPE_CONSTANTS], node, out;
    make_constants(s, constant);
    node = open_node(s, shape, constant);
    if (node != CLS_NO_NODE && k < shape->n_constants)
        node = cls_derivative(s->g, node, constant[k]);
    for (size_t i = 0; i < CLSI_SHAPE_CONSTANTS; i++) number[i] = cls_constant(s->g, shape->c[i]);
    if (node == CLS_NO_NODE ||
        cls_substitute(s->g, 1, &node, CLSI_SHAPE_CONSTANTS, constant, number, &out) != CLS_OK)
        return CLS_NO_NODE;
    return out;
}

char *clsi_shape_text(const clsi_shapes *s, const clsi_shape *shape, size_t k) {
    cls_node node = clsi_shape_node(s, shape, k);
    return node == CLS_NO_NODE ? NULL : cls_print(s->g, node);
}

cls_status clsi_shape_program(const clsi_shapes *s, const clsi_shape *shape, cls_program **out,
                              cls_error *error) {
    cls_node inputs[CLSI_FIELD_MAX_INPUTS + CLSI_SHAPE_CONSTANTS];
    memcpy(inputs, s->x, s->d * sizeof *inputs);
    make_constants(s, inputs + s->d);
    cls_node node = open_node(s, shape, inputs + s->d);
    *out = NULL;
    if (node == CLS_NO_NODE) return clsi_no_memory(error);
    return cls_program_create(s->g, s->d + CLSI_SHAPE_CONSTANTS, inputs, 1, &node, out, error);
}
