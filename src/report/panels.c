/* Which panels a picture has.
 *
 * Asked for by name: "x" is x against time, "x:v.x" is v.x against x, "log(x)" is x against time
 * with powers of ten on its axis; what is not positive has no place there. Not asked: every
 * coordinate against time (a coordinate is a column x for which there is a v.x; where there is
 * none, every column that does not follow from others counts), those of an array in one panel, the
 * phase portraits of the first two, the temperatures in one panel,
 * the entropy, model minus measurement beside a recording, and the energy error (E - W - E0)/|E0|, W
 * the work done on the system, E0 the first E - W of the same trajectory. Arrays of eight and more
 * are one picture each (spacetime.c), of each table, of its first motion: by name "u[*]", or not
 * asked, those that are no velocities, momenta or entropies of a temperature. Time is the column `time` or `t`, else
 * the first column (a training
 * log). */
#include "base/alike.h"
#include "base/locale.h"
#include "report/plot.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More coordinates than this share panels: a picture with thirty panels shows nothing. */
enum { MOST_COORDINATE_PANELS = 8, PORTRAITS = 2 };

typedef struct source {
    size_t n;
    const cls_table *const *tables;
    const char *const *labels;
    clsi_panels *panels;
    int strict; /* every table must have every column asked for */
} source;

static int time_column(const cls_table *t) {
    int time = clsi_table_time(t);
    return time >= 0 ? time : 0;
}

void clsi_panels_clear(clsi_panels *panels) {
    for (size_t i = 0; i < panels->n; i++) {
        clsi_panel *p = &panels->items[i];
        for (size_t k = 0; k < p->n_curves; k++) free(p->curves[k].owned);
        free(p->curves);
        free(p->names);
        free(p->elements);
    }
    free(panels->items);
    *panels = (clsi_panels){0};
}

static clsi_panel *new_panel(clsi_panels *panels, size_t n_names, const char *const *names) {
    if (!clsi_grow(&panels->items, &panels->room, panels->n + 1, sizeof *panels->items))
        return NULL;
    const char **copy = clsi_calloc(n_names, sizeof *copy);
    if (!copy) return NULL;
    memcpy(copy, names, n_names * sizeof *copy);
    clsi_panel *p = &panels->items[panels->n++];
    *p = (clsi_panel){.names = copy, .n_names = n_names};
    return p;
}

static clsi_curve *new_curve(clsi_panel *p, const cls_table *t, size_t table, size_t name) {
    if (!clsi_grow(&p->curves, &p->room, p->n_curves + 1, sizeof *p->curves)) return NULL;
    clsi_curve *c = &p->curves[p->n_curves++];
    int trajectory = cls_table_find(t, "trajectory");
    *c = (clsi_curve){.n = t->rows, .table = table, .name = name};
    c->x = t->columns[time_column(t)];
    if (trajectory >= 0) c->trajectory = t->columns[trajectory];
    return c;
}

/* Columns NAME.low and NAME.high are a band of NAME. */
static void find_band(const cls_table *t, const char *name, clsi_curve *c) {
    static const char *const ends[] = {"low", "high"};
    const double **sides[] = {&c->low, &c->high};
    for (int i = 0; i < 2; i++) {
        clsi_text text = {0};
        clsi_text_printf(&text, "%s.%s", name, ends[i]);
        int k = text.failed ? -1 : cls_table_find(t, text.data);
        clsi_text_clear(&text);
        if (k >= 0) *sides[i] = t->columns[k];
    }
    if (!c->low || !c->high) c->low = c->high = NULL;
}

/* Rows of an instrument beside those of a simulation, which says by which scheme it was made. */
static int is_measured(const source *s, const cls_table *t) {
    int simulated = 0;
    for (size_t i = 0; i < s->n; i++) simulated |= cls_table_note(s->tables[i], "scheme") != NULL;
    return simulated && !cls_table_note(t, "scheme");
}

/* Names against x_name, or against time where x_name is NULL, from every table. */
static cls_status add_panel(const source *s, const char *x_name, size_t n_names,
                            const char *const *names, cls_error *error) {
    clsi_panel *p = new_panel(s->panels, n_names, names);
    if (!p) return clsi_no_memory(error);
    p->portrait = x_name != NULL;
    p->x_name = x_name ? x_name : s->tables[0]->names[time_column(s->tables[0])];
    for (size_t i = 0; i < s->n; i++) {
        const cls_table *t = s->tables[i];
        int x = x_name ? cls_table_find(t, x_name) : time_column(t);
        if (x < 0 && s->strict) return clsi_no_column(t, s->labels[i], x_name, CLS_USAGE, error);
        for (size_t k = 0; k < n_names; k++) {
            int y = cls_table_find(t, names[k]);
            if (y < 0 && s->strict)
                return clsi_no_column(t, s->labels[i], names[k], CLS_USAGE, error);
            if (x < 0 || y < 0) continue;
            clsi_curve *c = new_curve(p, t, i, k);
            if (!c) return clsi_no_memory(error);
            c->x = t->columns[x];
            c->y = t->columns[y];
            if (!x_name) find_band(t, names[k], c);
            c->points = is_measured(s, t);
        }
    }
    return CLS_OK;
}

/* ---- arrays ---- */

/* Rows of the first motion. */
static size_t first_motion(const cls_table *t) {
    int k = cls_table_find(t, "trajectory");
    size_t n = 1;
    while (k >= 0 && n < t->rows && t->columns[k][n] == t->columns[k][0]) n++;
    return k >= 0 ? n : t->rows;
}

/* u[i], S[i][j], cell[i]_q, with the time of a grid and the name of the table where there are several. */
static void write_heading(const source *s, size_t table, const clsi_elements *span, clsi_field *f) {
    char when[40] = "";
    const cls_table *t = s->tables[table];
    const char *t_name = t->names[time_column(t)];
    if (f->axes == 2) clsi_snprintf(when, sizeof when, " at %.12s %.4g", t_name, f->time[f->row]);
    snprintf(f->heading, sizeof f->heading, "%.*s[i]%s%.40s%s%s%.40s",
             (int)(span->letters < 40 ? span->letters : 40), span->name, f->axes == 2 ? "[j]" : "",
             span->tail, when, s->n > 1 ? ", " : "", s->n > 1 ? s->labels[table] : "");
}

/* One panel of an array; of a grid at one time. */
static cls_status add_picture(const source *s, size_t table, size_t first,
                              const clsi_elements *span, size_t row, cls_error *error) {
    const cls_table *t = s->tables[table];
    clsi_panel *p = new_panel(s->panels, 1, (const char *const *)&t->names[first]);
    if (!p) return clsi_no_memory(error);
    int time = time_column(t);
    size_t n = clsi_span_count(span);
    p->x_name = t->names[time];
    if (!(p->elements = clsi_calloc(n, sizeof *p->elements))) return clsi_no_memory(error);
    for (size_t k = 0; k < n; k++) p->elements[k] = t->columns[clsi_span_column(t, span, k)];
    p->field = (clsi_field){.columns = p->elements,
                            .time = t->columns[time],
                            .rows = first_motion(t),
                            .row = row,
                            .axes = span->axes};
    memcpy(p->field.count, span->count, sizeof p->field.count);
    memcpy(p->field.low, span->low, sizeof p->field.low);
    write_heading(s, table, span, &p->field);
    return CLS_OK;
}

/* Pictures from number `begin` on have the same colours. */
static void share_colours(const source *s, size_t begin) {
    double least = INFINITY, most = -INFINITY, lo, hi;
    for (size_t i = begin; i < s->panels->n; i++) {
        clsi_field_range(&s->panels->items[i].field, &lo, &hi);
        least = fmin(least, lo);
        most = fmax(most, hi);
    }
    for (size_t i = begin; i < s->panels->n; i++) {
        s->panels->items[i].field.least = least;
        s->panels->items[i].field.most = most;
    }
}

/* The array that begins at column `first` of the first table, from every table that has it, in the same
 * colours: over time, or a grid in the beginning, in the middle and at the end. */
static cls_status add_field(const source *s, size_t first, const clsi_elements *span,
                            cls_error *error) {
    size_t begin = s->panels->n;
    cls_status status = CLS_OK;
    for (size_t k = 0; k < s->n; k++) {
        const cls_table *t = s->tables[k];
        clsi_elements found;
        int c = cls_table_find(t, s->tables[0]->names[first]);
        size_t rows = first_motion(t), times = span->axes == 2 ? rows < 3 ? rows : 3 : 1;
        if (c < 0 || !clsi_array_columns(t, (size_t)c, &found) || found.axes != span->axes)
            continue;
        for (size_t i = 0; i < times && !status; i++)
            status = add_picture(s, k, (size_t)c, &found,
                                 times > 1 ? i * (rows - 1) / (times - 1) : 0, error);
    }
    share_colours(s, begin);
    return status;
}

/* What the element of column c has in the place of the star of `asked`. */
static long index_of(const cls_table *t, const char *asked, size_t c) {
    long index[CLS_MOST_STARS];
    size_t n;
    return cls_means_element(asked, t->names[c], index, &n) && n == 1 ? index[0] : 1;
}

/* "T[1,*]" of each table: a picture over time of the columns that are meant in this way. */
static cls_status add_row(const source *s, const char *asked, int way, cls_error *error) {
    size_t begin = s->panels->n;
    for (size_t k = 0; k < s->n; k++) {
        const cls_table *t = s->tables[k];
        size_t n = 0, time = (size_t)time_column(t);
        clsi_panel *p = new_panel(s->panels, 1, &asked);
        if (!p || !(p->elements = clsi_calloc(t->n_columns, sizeof *p->elements)))
            return clsi_no_memory(error);
        p->x_name = t->names[time];
        p->field =
            (clsi_field){.time = t->columns[time], .rows = first_motion(t), .axes = 1, .low = {1}};
        for (size_t c = 0; c < t->n_columns; c++) {
            if (cls_means_element(asked, t->names[c], NULL, NULL) != way) continue;
            if (!n) p->field.low[0] = index_of(t, asked, c);
            p->elements[n++] = t->columns[c];
        }
        p->field.columns = p->elements;
        p->field.count[0] = n;
        snprintf(p->field.heading, sizeof p->field.heading, "%.60s%s%.40s", asked,
                 s->n > 1 ? ", " : "", s->n > 1 ? s->labels[k] : "");
        if (!n) return clsi_no_column(t, s->labels[k], asked, CLS_USAGE, error);
    }
    share_colours(s, begin);
    return CLS_OK;
}

/* Arrays by their names (cls_means_element): 1 and their panels, or 0. All of an array of eight and more columns is its
 * picture, a part of one a picture over time, few columns are curves. */
static int add_asked_field(const source *s, const char *asked, cls_status *status,
                           cls_error *error) {
    enum { CURVES = 8 }; /* at most, else a picture: spacetime.c */
    const cls_table *t = s->tables[0];
    const char *names[CURVES];
    clsi_elements span;
    size_t n = 0, whole = SIZE_MAX;
    int way = clsi_table_way(t, asked);
    if (!way) {
        if (!clsi_has_star(asked)) return 0;
        *status = clsi_no_column(t, s->labels[0], asked, CLS_USAGE, error);
        return 1;
    }
    for (size_t i = 0; i < t->n_columns; i++) {
        if (cls_means_element(asked, t->names[i], NULL, NULL) != way) continue;
        if (n < CURVES) names[n] = t->names[i];
        n++;
        if (clsi_array_columns(t, i, &span)) whole = i;
    }
    if (whole != SIZE_MAX && clsi_array_columns(t, whole, &span) == n)
        *status = add_field(s, whole, &span, error);
    else if (n < CURVES)
        *status = add_panel(s, NULL, n, names, error);
    else
        *status = add_row(s, asked, way, error);
    return 1;
}

static int has_column(const cls_table *t, const char *before, const char *name) {
    clsi_text text = {0};
    clsi_text_printf(&text, "%s%s", before, name);
    int found = !text.failed && cls_table_find(t, text.data) >= 0;
    clsi_text_clear(&text);
    return found;
}

/* Whether an array is drawn without being asked for: not what a picture of temperatures or positions
 * tells as well. S[1] has the temperature T[1], s_a[1] theta_a[1], or T[1], where the names go together. */
static int is_shown(const cls_table *t, const char *name) {
    if (!strncmp(name, "v.", 2) || !strncmp(name, "p.", 2)) return 0;
    if (name[0] != 'S' && name[0] != 's') return 1;
    return !has_column(t, "T", name + 1) && !has_column(t, "theta", name + 1) &&
           !has_column(t, "", name + 1);
}

/* The arrays of the first table, and `inside` marks their columns. */
static cls_status add_fields(const source *s, unsigned char *inside, cls_error *error) {
    const cls_table *t = s->tables[0];
    cls_status status = CLS_OK;
    clsi_elements span;
    for (size_t i = 0; i < t->n_columns && !status; i++) {
        size_t n = inside[i] ? 0 : clsi_array_columns(t, i, &span);
        for (size_t k = 0; k < n; k++) inside[clsi_span_column(t, &span, k)] = 1;
        if (n && is_shown(t, t->names[i])) status = add_field(s, i, &span, error);
    }
    return status;
}

/* The values of a panel become logarithms. */
static cls_status take_logarithms(clsi_panel *p, cls_error *error) {
    p->powers = 1;
    for (size_t k = 0; k < p->n_curves; k++) {
        clsi_curve *c = &p->curves[k];
        c->low = c->high = NULL;
        if (!(c->owned = clsi_calloc(c->n, sizeof *c->owned))) return clsi_no_memory(error);
        for (size_t i = 0; i < c->n; i++) c->owned[i] = c->y[i] > 0 ? log10(c->y[i]) : NAN;
        c->y = c->owned;
    }
    return CLS_OK;
}

/* "log(x)", unless a column is called just that: 1 and the panel, or 0. */
static int add_logarithm(const source *s, const char *asked, cls_status *status, cls_error *error) {
    const cls_table *t = s->tables[0];
    size_t length = strlen(asked);
    if (length < 6 || strncmp(asked, "log(", 4) || asked[length - 1] != ')') return 0;
    if (cls_table_find(t, asked) >= 0) return 0;
    char *name = clsi_strndup(asked + 4, length - 5);
    int y = name ? cls_table_find(t, name) : -1;
    if (!name)
        *status = clsi_no_memory(error);
    else if (y < 0)
        *status = clsi_no_column(t, s->labels[0], name, CLS_USAGE, error);
    else
        *status = add_panel(s, NULL, 1, (const char *const *)&t->names[y], error);
    free(name);
    if (*status == CLS_OK) *status = take_logarithms(&s->panels->items[s->panels->n - 1], error);
    return 1;
}

/* "x:v.x" names two columns of the first table, unless a column is called just that. */
static cls_status add_asked(const source *s, const char *asked, cls_error *error) {
    const cls_table *t = s->tables[0];
    const char *colon = strchr(asked, ':');
    cls_status status = CLS_OK;
    if (add_asked_field(s, asked, &status, error)) return status;
    if (add_logarithm(s, asked, &status, error)) return status;
    if (!colon || cls_table_find(t, asked) >= 0) return add_panel(s, NULL, 1, &asked, error);
    char *x_name = clsi_strndup(asked, (size_t)(colon - asked));
    if (!x_name) return clsi_no_memory(error);
    int x = cls_table_find(t, x_name);
    const char *y_name = colon + 1;
    status = x < 0 ? clsi_no_column(t, s->labels[0], x_name, CLS_USAGE, error)
                   : add_panel(s, t->names[x], 1, &y_name, error);
    free(x_name);
    return status;
}

static int is_coordinate(const cls_table *t, const char *name) {
    for (size_t i = 0; i < t->n_columns; i++)
        if (strncmp(t->names[i], "v.", 2) == 0 && strcmp(t->names[i] + 2, name) == 0) return 1;
    return 0;
}

static int is_band(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && (strcmp(dot, ".low") == 0 || strcmp(dot, ".high") == 0);
}

/* T, T1, T[1], T.gas, T_wall; not Torque. */
static int is_thermal(char letter, const char *name) {
    return !is_band(name) && name[0] == letter && !(name[1] && !strchr("0123456789._[", name[1]));
}

/* theta_e beside s_e, as storages have them. */
static int is_port(const cls_table *t, char kind, const char *name) {
    const char *heads[] = {"theta_", "s_"}, *own = heads[kind == 'S'], *other = heads[kind == 'T'];
    if (strncmp(name, own, strlen(own)) != 0) return 0;
    for (size_t i = 0; i < t->n_columns; i++)
        if (strncmp(t->names[i], other, strlen(other)) == 0 &&
            strcmp(t->names[i] + strlen(other), name + strlen(own)) == 0)
            return 1;
    return 0;
}

static int is_known(const cls_table *t, const char *name) {
    static const char *const known[] = {"trajectory", "energy", "entropy",
                                        "work",       "heat",   "entropy.outside"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0) return 1;
    return is_band(name) || is_thermal('S', name) || is_thermal('T', name) ||
           is_port(t, 'S', name) || is_port(t, 'T', name) || strncmp(name, "v.", 2) == 0 ||
           strncmp(name, "p.", 2) == 0 || strncmp(name, "mu.", 3) == 0;
}

/* Fills `names` (room for all columns) with those of a kind, in table order. */
static size_t gather(const cls_table *t, const unsigned char *inside, char kind,
                     const char **names) {
    size_t n = 0;
    for (size_t i = 0; i < t->n_columns; i++) {
        const char *name = t->names[i];
        if (inside[i] || (int)i == time_column(t)) continue;
        int moves = is_coordinate(t, name);
        if (kind == 'q'
                ? moves
                : !moves && (kind == '*' ? !is_known(t, name)
                                         : is_thermal(kind, name) || is_port(t, kind, name)))
            names[n++] = name;
    }
    return n;
}

/* The columns of an energy balance; work and heat may be NULL. */
typedef struct balance {
    const double *energy, *work, *heat;
} balance;

static double kept(const balance *b, size_t i) {
    return b->energy[i] - (b->work ? b->work[i] : 0) - (b->heat ? b->heat[i] : 0);
}

/* The energy without the work and heat that came in, relative to its start or (E0 = 0) not. */
static void fill_drift(clsi_curve *c, const balance *b, int relative) {
    double start = NAN;
    for (size_t i = 0; i < c->n; i++) {
        double e = kept(b, i);
        if (isnan(start) || (i && c->trajectory && c->trajectory[i] != c->trajectory[i - 1]))
            start = e;
        c->owned[i] = (e - start) / (relative ? fabs(start) : 1);
    }
}

/* An energy that starts at zero, to rounding, gives no scale. */
static int energy_has_scale(const clsi_curve *c, const balance *b) {
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < c->n; i++) {
        double e = fabs(kept(b, i));
        if (!i || (c->trajectory && c->trajectory[i] != c->trajectory[i - 1]))
            least = fmin(least, e);
        most = fmax(most, e);
    }
    return least > 1e-12 * most;
}

static cls_status add_drift(const source *s, cls_error *error) {
    static const char *const relative_name = "energy error, relative";
    static const char *const absolute_name = "energy error";
    clsi_panel *p = new_panel(s->panels, 1, &relative_name);
    if (!p) return clsi_no_memory(error);
    p->x_name = s->tables[0]->names[time_column(s->tables[0])];
    p->least_span = 4e-16;
    int relative = 1;
    for (int fill = 0; fill < 2; fill++) /* first decide, then fill: one scale for all tables */
        for (size_t i = 0, k = 0; i < s->n; i++) {
            const cls_table *t = s->tables[i];
            int e = cls_table_find(t, "energy"), w = cls_table_find(t, "work"),
                q = cls_table_find(t, "heat");
            if (e < 0) continue;
            const balance b = {t->columns[e], w < 0 ? NULL : t->columns[w],
                               q < 0 ? NULL : t->columns[q]};
            clsi_curve *c = fill ? &p->curves[k++] : new_curve(p, t, i, 0);
            if (!c) return clsi_no_memory(error);
            if (!fill) relative &= energy_has_scale(c, &b);
            if (!fill && !(c->owned = clsi_calloc(c->n, sizeof *c->owned)))
                return clsi_no_memory(error);
            c->y = c->owned;
            if (fill) fill_drift(c, &b, relative);
        }
    if (!relative) p->names[0] = absolute_name;
    return CLS_OK;
}

/* How many of the names from the first on are elements of one array; 1 for what is none. */
static size_t elements(size_t n, const char *const *names) {
    size_t k = 1, head = strcspn(names[0], "[");
    while (names[0][head] && k < n && strncmp(names[k], names[0], head + 1) == 0) k++;
    return k;
}

/* A panel for each array or single column, several of them where there are too many. */
static cls_status add_shared(const source *s, size_t n, const char *const *names,
                             cls_error *error) {
    size_t groups = 0, end = 0;
    for (size_t i = 0; i < n; i += elements(n - i, names + i)) groups++;
    size_t share = (groups + MOST_COORDINATE_PANELS - 1) / MOST_COORDINATE_PANELS;
    for (size_t i = 0; i < n; i = end) {
        for (size_t k = 0; k < share && end < n; k++) end += elements(n - end, names + end);
        cls_status status = add_panel(s, NULL, end - i, names + i, error);
        if (status) return status;
    }
    return CLS_OK;
}

static cls_status add_coordinates(const source *s, const unsigned char *inside, const char **names,
                                  cls_error *error) {
    const cls_table *t = s->tables[0];
    size_t n = gather(t, inside, 'q', names), portraits = n < PORTRAITS ? n : PORTRAITS;
    if (n == 0 && !s->panels->n) n = gather(t, inside, '*', names);
    cls_status status = add_shared(s, n, names, error);
    for (size_t i = 0; !status && i < portraits; i++) {
        clsi_text velocity = {0};
        clsi_text_printf(&velocity, "v.%s", names[i]);
        int v = velocity.failed ? -1 : cls_table_find(t, velocity.data);
        clsi_text_clear(&velocity);
        if (v < 0) return clsi_no_memory(error);
        status = add_panel(s, names[i], 1, (const char *const *)&t->names[v], error);
    }
    return status;
}

/* A recording and a simulation at its times: what the one says more than the other. */
static int has_residuals(const source *s) {
    if (s->n != 2 || !is_measured(s, s->tables[0])) return 0;
    const cls_table *a = s->tables[0], *b = s->tables[1];
    const double *x = a->columns[time_column(a)], *y = b->columns[time_column(b)];
    if (a->rows != b->rows) return 0;
    for (size_t i = 0; i < a->rows; i++)
        if (!(fabs(x[i] - y[i]) <= 1e-9 * fmax(1, fabs(x[i])))) return 0;
    return 1;
}

/* Model minus measurement, of the columns that both have, in panels of their own. */
static cls_status add_residuals(const source *s, size_t n, const char *const *names,
                                cls_error *error) {
    const cls_table *t = s->tables[0], *m = s->tables[1];
    for (size_t k = 0; k < n && k < MOST_COORDINATE_PANELS; k++) {
        int a = cls_table_find(t, names[k]), b = cls_table_find(m, names[k]);
        if (a < 0 || b < 0) continue;
        clsi_panel *p = new_panel(s->panels, 1, &names[k]);
        if (!p) return clsi_no_memory(error);
        p->x_name = t->names[time_column(t)];
        p->residual = 1;
        clsi_curve *c = new_curve(p, t, 1, 0);
        if (!c || !(c->owned = clsi_calloc(c->n, sizeof *c->owned))) return clsi_no_memory(error);
        for (size_t i = 0; i < c->n; i++) c->owned[i] = m->columns[b][i] - t->columns[a][i];
        c->y = c->owned;
        c->points = 1;
    }
    return CLS_OK;
}

/* Whether the column of every table is zero throughout. */
static int is_zero(const source *s, const char *name) {
    for (size_t k = 0; k < s->n; k++) {
        int c = cls_table_find(s->tables[k], name);
        for (size_t i = 0; c >= 0 && i < s->tables[k]->rows; i++)
            if (s->tables[k]->columns[c][i] != 0) return 0;
    }
    return 1;
}

static cls_status add_chosen(const source *s, cls_error *error) {
    static const char *const entropy = "entropy";
    const cls_table *t = s->tables[0];
    const char **names = clsi_calloc(t->n_columns, sizeof *names);
    unsigned char *inside = clsi_calloc(t->n_columns, 1);
    cls_status status = names && inside ? add_fields(s, inside, error) : clsi_no_memory(error);
    if (!status) status = add_coordinates(s, inside, names, error);
    size_t n = status ? 0 : gather(t, inside, 'T', names);
    if (!status && n) status = add_panel(s, NULL, n, names, error);
    n = status ? 0 : gather(t, inside, 'S', names);
    int told = cls_table_find(t, entropy) >= 0;
    if (!status && told && !is_zero(s, entropy)) /* zero: mechanics */
        status = add_panel(s, NULL, 1, &entropy, error);
    else if (!status && !told && n)
        status = add_panel(s, NULL, n, names, error);
    if (!status && cls_table_find(t, "energy") >= 0) status = add_drift(s, error);
    if (!status && has_residuals(s)) {
        n = gather(t, inside, 'q', names);
        if (!n) n = gather(t, inside, '*', names);
        status = add_residuals(s, n, names, error);
        n = gather(t, inside, 'T', names);
        if (!status) status = add_residuals(s, n, names, error);
    }
    free(names);
    free(inside);
    return status;
}

cls_status clsi_panels_make(size_t n, const cls_table *const *tables, const char *const *labels,
                            const cls_plot_options *options, clsi_panels *out, cls_error *error) {
    *out = (clsi_panels){0};
    source s = {n, tables, labels, out, options->n_columns > 0};
    cls_status status = CLS_OK;
    for (size_t i = 0; !status && i < options->n_columns; i++)
        status = add_asked(&s, options->columns[i], error);
    if (!status && !options->n_columns) status = add_chosen(&s, error);
    if (!status && !out->n)
        status = clsi_fail(error, CLS_DATA, "%s: no column to draw but time", labels[0]);
    if (status) clsi_panels_clear(out);
    return status;
}
