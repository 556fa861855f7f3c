/* A file with arrays is read in two ways, lean and written out (src/system/pattern.h): both must give one system.
 * Shared by the test of it and by a fuzz target. */
#ifndef CLAUSIUS_TESTS_READERS_H
#define CLAUSIUS_TESTS_READERS_H

#include "system/system.h"
#include <clausius/clausius.h>
#include <stdlib.h>
#include <string.h>

static inline int readers_same_text(const char *a, const char *b) {
    return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

/* Names, units, ranges, starts; a sentence, or NULL. */
static inline const char *readers_declare(const cls_system *a, const cls_system *b) {
    size_t n = cls_system_state_count(a), columns = cls_system_column_count(a);
    char unit_a[64] = "", unit_b[64] = "";
    if (n != cls_system_state_count(b)) return "how many states";
    if (columns != cls_system_column_count(b)) return "how many columns";
    if (cls_system_formalism(a) != cls_system_formalism(b)) return "formalism";
    if (cls_system_coordinate_count(a) != cls_system_coordinate_count(b) ||
        cls_system_momentum_count(a) != cls_system_momentum_count(b) ||
        cls_system_entropy_count(a) != cls_system_entropy_count(b) ||
        cls_system_account_count(a) != cls_system_account_count(b) ||
        cls_system_input_count(a) != cls_system_input_count(b) ||
        cls_system_parameter_count(a) != cls_system_parameter_count(b))
        return "how many of a kind";
    for (size_t i = 0; i < n; i++) {
        const clsi_variable *x = clsi_state_variable(a, i), *y = clsi_state_variable(b, i);
        if (!readers_same_text(cls_system_state_name(a, i), cls_system_state_name(b, i)))
            return "the name of a state";
        if (!readers_same_text(x->unit, y->unit) || x->low != y->low || x->high != y->high ||
            x->angle != y->angle || x->role != y->role)
            return "the declaration of a state";
    }
    for (size_t i = 0; i < columns; i++) {
        const char *name = cls_system_column(a, i);
        if (!readers_same_text(name, cls_system_column(b, i))) return "the name of a column";
        if (cls_system_unit(a, name, unit_a) != cls_system_unit(b, name, unit_b) ||
            strcmp(unit_a, unit_b) != 0)
            return "the unit of a column";
    }
    for (size_t i = 0; i < cls_system_parameter_count(a); i++)
        if (!readers_same_text(cls_system_parameter_name(a, i), cls_system_parameter_name(b, i)) ||
            cls_system_parameter(a, i) != cls_system_parameter(b, i))
            return "a parameter";
    if (cls_system_default_step(a) != cls_system_default_step(b) ||
        cls_system_default_until(a) != cls_system_default_until(b) ||
        !readers_same_text(cls_system_data_map(a), cls_system_data_map(b)) ||
        !readers_same_text(cls_system_picture(a), cls_system_picture(b)))
        return "step, until, data or picture";
    return NULL;
}

/* What `show` prints of both. */
static inline const char *readers_show(const cls_system *a, const cls_system *b) {
    static const unsigned what[] = {CLS_SHOW_SUMMARY, CLS_SHOW_EQUATIONS, CLS_SHOW_PARTS,
                                    CLS_SHOW_EQUATIONS | CLS_SHOW_LATEX};
    const char *said = NULL;
    for (size_t i = 0; i < sizeof what / sizeof *what && !said; i++) {
        char *x = NULL, *y = NULL;
        cls_error error;
        cls_status one = cls_system_show(a, what[i], &x, &error);
        if (one != cls_system_show(b, what[i], &y, &error) || !readers_same_text(x, y))
            said = "what is shown";
        cls_text_free(&x);
        cls_text_free(&y);
    }
    return said;
}

/* The start and rows of `steps` steps, `columns` numbers each, behind it; how many rows there are. */
static inline size_t readers_move(const cls_system *s, const char *scheme, size_t steps,
                                  double *rows) {
    size_t columns = cls_system_column_count(s), made = 0;
    double *state = calloc(cls_system_state_count(s) + 1, sizeof *state);
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    cls_error error;
    o.h = 0.01;
    o.scheme = scheme;
    if (state && cls_system_start(s, NULL, state, &error) == CLS_OK &&
        cls_system_row(s, 0, state, rows, &error) == CLS_OK) {
        made = 1;
        if (cls_simulator_create(s, &o, &sim, &error) == CLS_OK &&
            cls_simulator_start(sim, 0, state, &error) == CLS_OK)
            while (made <= steps && cls_simulator_advance(sim, 1, &error) == CLS_OK &&
                   cls_simulator_row(sim, rows + made * columns, &error) == CLS_OK)
                made++;
    }
    cls_simulator_free(&sim);
    free(state);
    return made;
}

/* Motions to the bit; NaN is NaN. */
static inline const char *readers_motions(const cls_system *a, const cls_system *b,
                                          const char *scheme, size_t steps) {
    size_t columns = cls_system_column_count(a), n = columns * (steps + 1);
    double *x = calloc(2 * n + 1, sizeof *x), *y = x + n;
    const char *said = NULL;
    if (!x) return "memory";
    if (readers_move(a, scheme, steps, x) != readers_move(b, scheme, steps, y))
        said = "how far a motion goes";
    for (size_t i = 0; i < n && !said; i++)
        if (!(x[i] != x[i] && y[i] != y[i]) && memcmp(&x[i], &y[i], sizeof *x) != 0)
            said = "a motion";
    free(x);
    return said;
}

#endif
