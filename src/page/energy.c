/* The motion, energy, entropy and exergy along it, and where the energy went.
 *
 * Exergy, the work that could still be had with surroundings at T0, is destroyed at the rate T0 times
 * that at which entropy is made (Gouy and Stodola). T0 is the lowest temperature at the start: the
 * coldest that this system could give heat to. */
#include "base/locale.h"
#include "page/page.h"
#include "system/system.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHARTS = 6, FEWEST_CELLS = 8, MESH = 36, MOST_MAPS = 4 };

static const double *column(const cls_table *t, const char *word) {
    int k = t ? cls_table_find(t, word) : -1;
    return k < 0 ? NULL : cls_table_column(t, (size_t)k);
}

static void chart(clsi_text *t, const cls_table *motion, const char *title, const char *label,
                  size_t n, const clsi_series *series) {
    clsi_chart c = {.title = title,
                    .x_label = "time",
                    .y_label = label,
                    .n = n,
                    .series = series,
                    .shade_from = NAN,
                    .shade_to = NAN};
    if (cls_table_rows(motion)) clsi_chart_write(t, &c);
}

/* y minus its first value, times a factor; the caller's. */
static double *change(clsi_text *t, const double *y, size_t n, double factor) {
    double *z = clsi_calloc(n + 1, sizeof *z);
    if (!z) t->failed = 1;
    for (size_t k = 0; z && k < n; k++) z[k] = factor * (y[k] - y[0]);
    return z;
}

/* How many columns from k on are the cells NAME[1], NAME[2], ... of a field in space; its name. */
static size_t cells_from(const cls_table *m, size_t k, char name[64]) {
    const char *word = cls_table_name(m, k), *bracket = strchr(word, '[');
    size_t n = 0, length = bracket ? (size_t)(bracket - word) : 0;
    if (!length || length > 63) return 0;
    snprintf(name, 64, "%.*s", (int)length, word);
    for (; k + n < cls_table_columns(m); n++) {
        char cell[96];
        snprintf(cell, sizeof cell, "%s[%zu]", name, n + 1);
        if (strcmp(cls_table_name(m, k + n), cell)) break;
    }
    return n >= FEWEST_CELLS ? n : 0;
}

/* A field over place and time, as a map. */
static void map(clsi_text *t, const cls_table *m, size_t first, size_t cells, const char *name) {
    const double *time = column(m, "time");
    size_t rows = cls_table_rows(m);
    char title[128];
    double z[MESH * MESH];
    if (rows < 2) return;
    for (size_t i = 0; i < MESH * MESH; i++) {
        size_t row = (2 * (i / MESH) + 1) * rows / (2 * MESH),
               cell = (2 * (i % MESH) + 1) * cells / (2 * MESH);
        z[i] = cls_table_column(m, first + cell)[row];
    }
    snprintf(title, sizeof title, "%s over place and time", name);
    clsi_surface s = {.title = title,
                      .x_label = "place (number of the cell)",
                      .y_label = "time",
                      .x0 = 0.5,
                      .x1 = (double)cells + 0.5,
                      .y0 = time[0],
                      .y1 = time[rows - 1],
                      .low = {0.5, time[0]},
                      .high = {(double)cells + 0.5, time[rows - 1]},
                      .n = MESH,
                      .z = z,
                      .note = ": time goes up."};
    if (s.y1 > s.y0) clsi_surface_write(t, &s);
}

static void channels(clsi_text *t, const cls_table *m) {
    const double *time = column(m, "time");
    size_t drawn = 0, maps = 0;
    char name[64];
    for (size_t k = 0, n; time && k < cls_table_columns(m); k += n ? n : 1) {
        n = cells_from(m, k, name);
        if (n && maps++ < MOST_MAPS) map(t, m, k, n, name);
    }
    for (size_t k = 0; time && k < cls_table_columns(m) && drawn < MOST_CHARTS; k++) {
        const char *word = cls_table_name(m, k);
        if (!strcmp(word, "time") || !strcmp(word, "energy") || !strcmp(word, "entropy") ||
            !strcmp(word, "trajectory"))
            continue;
        size_t cells = cells_from(m, k, name);
        if (cells) { /* a map has them */
            k += cells - 1;
            continue;
        }
        clsi_series s = {word, CLSI_LINE, cls_table_rows(m), time, cls_table_column(m, k), 0};
        chart(t, m, word, word, 1, &s);
        drawn++;
    }
}

/* Energy, and what came in, in one picture; their difference, which ought to be round-off, in
 * another. */
static void first_law(clsi_text *t, const cls_table *m) {
    static const char *const words[] = {"energy", "work", "heat"}, *const labels[] = {
                                                                       "energy", "work done on it",
                                                                       "heat given to it"};
    const double *time = column(m, "time");
    size_t rows = cls_table_rows(m), n = 0;
    clsi_series s[3];
    double *kept[3] = {0}, *error = clsi_calloc(rows + 1, sizeof *error);
    if (!error) t->failed = 1;
    for (int i = 0; i < 3 && error; i++) {
        const double *y = column(m, words[i]);
        if (!y || !(kept[n] = change(t, y, rows, 1))) continue;
        for (size_t k = 0; k < rows; k++) error[k] += i ? -kept[n][k] : kept[n][k];
        s[n] = (clsi_series){labels[i], CLSI_LINE, rows, time, kept[n], i};
        n++;
    }
    if (n > 1) chart(t, m, "Energy since the start", "energy", n, s);
    if (n) {
        clsi_series e = {"error", CLSI_LINE, rows, time, error, 4};
        chart(t, m, "Energy error: its change less work and heat", "energy", 1, &e);
    }
    for (size_t i = 0; i < n; i++) free(kept[i]);
    free(error);
}

/* The lowest temperature of the first row; NAN without temperatures. */
static double surroundings(const clsi_subject *s) {
    double lowest = NAN;
    for (size_t i = 0; s->system && i < s->system->m; i++) {
        const double *T = column(s->motion, s->system->temperature[i].name);
        if (T && T[0] > 0 && !(T[0] >= lowest)) lowest = T[0];
    }
    return lowest;
}

static void second_law(clsi_text *t, const clsi_subject *s) {
    const double *time = column(s->motion, "time"), *S = column(s->motion, "entropy");
    size_t rows = cls_table_rows(s->motion);
    double T0 = surroundings(s);
    if (!S) return;
    char title[160];
    double *made = change(t, S, rows, 1), *lost = T0 > 0 ? change(t, S, rows, T0) : NULL;
    if (made) {
        clsi_snprintf(title, sizeof title,
                      "Entropy of everything since the start, where it is %.7g", rows ? S[0] : 0);
        clsi_series e = {"entropy made", CLSI_LINE, rows, time, made, 2};
        chart(t, s->motion, title, "entropy", 1, &e);
    }
    free(made);
    if (!lost) return;
    clsi_snprintf(title, sizeof title, "Exergy destroyed: %.4g times the entropy made", T0);
    clsi_series x = {"exergy destroyed", CLSI_LINE, rows, time, lost, 3};
    chart(t, s->motion, title, "energy", 1, &x);
    free(lost);
}

static double gained(const cls_table *m, const char *word) {
    const double *y = column(m, word);
    size_t rows = cls_table_rows(m);
    return y && rows ? y[rows - 1] - y[0] : 0;
}

static void balance(clsi_text *t, const clsi_subject *s) {
    double T0 = surroundings(s),
           made = column(s->motion, "entropy") ? gained(s->motion, "entropy") : 0;
    double lost = T0 > 0 ? T0 * made : 0;
    if (column(s->motion, "energy"))
        clsi_sankey(t, gained(s->motion, "work"), gained(s->motion, "heat"),
                    gained(s->motion, "energy"), lost, T0);
}

void clsi_energy(clsi_text *t, const clsi_subject *s) {
    clsi_text_append(t, "<div class=\"grid\">\n");
    if (!s->n_channels) channels(t, s->motion);
    if (column(s->motion, "time")) {
        first_law(t, s->motion);
        second_law(t, s);
    }
    clsi_text_append(t, "</div>\n");
    balance(t, s);
}
