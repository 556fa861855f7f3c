#include <clausius/random.h>
/* Pictures: axes by their laws, curves by the pixels they ink, files by their format, the choice of
 * panels, refusals. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/plot.h"
#include "tests/folder.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cls_table *make(size_t n, const char *const *names) {
    cls_table *t;
    cls_error error;
    if (cls_table_create(n, names, &t, &error)) fail_msg("%s", error.message);
    return t;
}

/* x = exp(-g t) cos t and what comes with it. */
static cls_table *oscillator(size_t rows, double h) {
    const char *const names[] = {"time", "x", "p.x", "S", "v.x", "T", "energy", "entropy"};
    cls_table *t = make(8, names);
    for (size_t i = 0; i < rows; i++) {
        double s = (double)i * h, x = exp(-0.05 * s) * cos(s), v = -exp(-0.05 * s) * sin(s);
        double heat = 1.5 - 0.5 * (x * x + v * v);
        double row[] = {s, x, v, log(heat), v, heat, 1.5 + 1e-15 * sin(s), log(heat)};
        assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
    }
    assert_int_equal(cls_table_set_note(t, "system", "damped-oscillator", NULL), CLS_OK);
    assert_int_equal(cls_table_set_note(t, "h", "0.01", NULL), CLS_OK);
    return t;
}

static char *plot_bytes(const cls_table *t, const cls_plot_options *o, const char *name,
                        size_t *length) {
    cls_error error = {0};
    char *data;
    if (cls_plot(1, &t, NULL, o, in_folder(name), &error)) fail_msg("%s", error.message);
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(clsi_read_file(in_folder(name), 1 << 26, &data, length, &error), CLS_OK);
    return data;
}

static double parse_label(const char *label) {
    static const char minus[] = "−";
    int negative = strncmp(label, minus, sizeof minus - 1) == 0;
    char *end;
    double value = strtod(label + (negative ? sizeof minus - 1 : 0), &end);
    assert_true(!*end);
    return negative ? -value : value;
}

static void check_axis(double lo, double hi, int most) {
    clsi_axis a = clsi_axis_make(lo, hi, most);
    double span = hi - lo, unit = pow(10, a.power) * a.mantissa;
    assert_true(a.mantissa == 1 || a.mantissa == 2 || a.mantissa == 5);
    assert_true(a.n_ticks >= 1 && a.n_ticks <= most + 2);
    assert_true(a.lo <= lo && a.lo > lo - 0.021 * span && a.hi >= hi && a.hi < hi + 0.021 * span);
    char before[32] = "";
    for (int i = 0; i < a.n_ticks; i++) {
        double tick = clsi_axis_tick(&a, i), size = fmax(fabs(lo), fabs(hi));
        char label[32];
        clsi_axis_label(&a, i, label);
        assert_true(tick >= a.lo - 1e-9 * span - 1e-15 * size);
        assert_true(tick <= a.hi + 1e-9 * span + 1e-15 * size);
        assert_string_not_equal(label, before);
        assert_true(strlen(label) <= strlen("−12345") + 1); /* fits beside the axis */
        /* label * 10^exponent + offset is the tick */
        double told = parse_label(label) * pow(10, a.exponent) + a.offset * unit;
        assert_true(fabs(told - tick) <= 1e-6 * unit + 4e-16 * size);
        strcpy(before, label);
    }
}

static void test_axes(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 3);
    for (int i = 0; i < 20000; i++) {
        double centre = cls_random_normal(&r) * pow(10, 40 * cls_random_uniform(&r) - 20);
        double span = fabs(centre) * pow(10, 14 * cls_random_uniform(&r) - 11.5);
        check_axis(centre - span, centre + span, 2 + (int)(6 * cls_random_uniform(&r)));
    }
    check_axis(0, 1, 5);
    check_axis(-1e-300, 1e-300, 5);
    check_axis(-1e299, 1e299, 5);
    clsi_axis a = clsi_axis_make(0.5 - 2.5e-9, 0.5 + 2.5e-9, 5);
    assert_string_equal(a.note, "×10⁻⁹ + 0.5");
    a = clsi_axis_make(0, 49.99, 6);
    assert_true(a.hi == 50);
    assert_string_equal(a.note, "");
}

static void test_points_are_widened(void **state) {
    (void)state;
    const double values[] = {0, 23, -1e-9, 1e200};
    for (int i = 0; i < 4; i++) {
        double lo = values[i], hi = values[i];
        clsi_axis_widen(&lo, &hi, 0);
        assert_true(lo < values[i] && hi > values[i]);
        check_axis(lo, hi, 5);
    }
    double lo = 0, hi = 1e-17;
    clsi_axis_widen(&lo, &hi, 4e-16);
    assert_float_equal(hi - lo, 4e-16, 1e-20);
}

enum { W = 200, H = 100 };

/* Draws the curve on W x H pixels with axes 0..1 and says which are inked. */
static void draw(const clsi_curve *c, int by_columns, unsigned char inked[H][W]) {
    cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24, W, H);
    cairo_t *cr = cairo_create(s);
    cairo_set_source_rgb(cr, 1, 1, 1);
    cairo_paint(cr);
    cairo_set_source_rgb(cr, 0, 0, 0);
    cairo_set_line_width(cr, 1.3);
    clsi_axis unit = {.lo = 0, .hi = 1};
    clsi_box box = {0, 0, W, H};
    assert_int_equal(clsi_curve_draw(cr, c, box, &unit, &unit, by_columns, NULL), CLS_OK);
    cairo_surface_flush(s);
    const unsigned char *data = cairo_image_surface_get_data(s);
    int stride = cairo_image_surface_get_stride(s);
    for (int j = 0; j < H; j++)
        for (int i = 0; i < W; i++) inked[j][i] = data[j * stride + 4 * i] < 200;
    cairo_destroy(cr);
    cairo_surface_destroy(s);
}

static void test_no_peak_is_lost(void **state) {
    (void)state;
    size_t n = 100000;
    double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    assert_true(x && y);
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)i / (double)n;
        y[i] = 0.1 + 0.05 * sin((double)i);
    }
    y[61250] = 0.95; /* one row of a hundred thousand */
    clsi_curve c = {.x = x, .y = y, .n = n};
    unsigned char inked[H][W];
    draw(&c, 1, inked);
    assert_true(inked[6][122] || inked[6][121] || inked[6][123]);
    assert_false(inked[6][100]);
    for (int i = 1; i < W - 1; i++) assert_true(inked[90][i]); /* the band is solid */
    free(x);
    free(y);
}

/* Leaving out what is drawn already must not change what is seen. */
static void test_retracing_changes_nothing(void **state) {
    (void)state;
    size_t n = 40000, few = 600;
    double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    assert_true(x && y);
    for (size_t i = 0; i < n; i++) {
        double a = 6.283185307179586 * (double)i / (double)few;
        x[i] = 0.5 + 0.4 * cos(a);
        y[i] = 0.5 + 0.4 * sin(a);
    }
    static unsigned char once[H][W], often[H][W];
    draw(&(clsi_curve){.x = x, .y = y, .n = few + 1}, 0, once);
    draw(&(clsi_curve){.x = x, .y = y, .n = n}, 0, often);
    int on = 0, differ = 0;
    for (int k = 0; k < H * W; k++) {
        on += once[k / W][k % W];
        differ += once[k / W][k % W] != often[k / W][k % W];
    }
    assert_true(on > 300);
    assert_true(differ < on / 50);
    free(x);
    free(y);
}

static void test_breaks(void **state) {
    (void)state;
    double x[] = {0.1, 0.9, 0.1, 0.9}, y[] = {0.1, 0.1, 0.9, 0.9}, which[] = {1, 1, 2, 2};
    unsigned char inked[H][W];
    clsi_curve c = {.x = x, .y = y, .n = 4};
    draw(&c, 0, inked);
    assert_true(inked[50][100] || inked[50][99] || inked[49][100] || inked[49][99]);
    c.trajectory = which;
    draw(&c, 0, inked);
    assert_true((inked[90][100] || inked[89][100]) && (inked[10][100] || inked[9][100]));
    for (int i = 0; i < W; i++) assert_false(inked[50][i]);
    double gap[] = {0.5, 0.5, NAN, 0.5};
    double along[] = {0.1, 0.3, 0.5, 0.9};
    draw(&(clsi_curve){.x = along, .y = gap, .n = 4}, 1, inked);
    assert_true(inked[49][40] || inked[50][40]);
    assert_true(inked[49][180] || inked[50][180]); /* a lonely point is a dot */
    for (int j = 0; j < H; j++) assert_false(inked[j][100]);
}

static void test_svg(void **state) {
    (void)state;
    cls_table *t = oscillator(2000, 0.02);
    cls_plot_options o = cls_plot_defaults();
    o.title = "A <title> & \"quotes\" \xff\x01 µ";
    size_t n, m;
    char *a = plot_bytes(t, &o, "a.svg", &n);
    assert_int_equal(strncmp(a, "<?xml", 5), 0);
    assert_non_null(strstr(a, "<svg"));
    assert_non_null(strstr(a + n - 10, "</svg>"));
    if (system("command -v xmllint >/dev/null") == 0) {
        char command[400];
        snprintf(command, sizeof command, "xmllint --noout %s", in_folder("a.svg"));
        assert_int_equal(system(command), 0);
    }
    char *b = plot_bytes(t, &o, "a.svg", &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    unlink(in_folder("a.svg"));
    free(a);
    free(b);
    cls_table_free(&t);
}

static uint32_t big_endian(const char *s) {
    const unsigned char *u = (const unsigned char *)s;
    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static void test_png(void **state) {
    (void)state;
    cls_table *t = oscillator(500, 0.05);
    cls_plot_options o = cls_plot_defaults();
    o.width = 640;
    o.height = 480;
    size_t n, m;
    char *a = plot_bytes(t, &o, "a.png", &n), *b = plot_bytes(t, &o, "a.png", &m);
    assert_memory_equal(a, "\x89PNG\r\n\x1a\n", 8);
    assert_int_equal(big_endian(a + 16), 640);
    assert_int_equal(big_endian(a + 20), 480);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    unlink(in_folder("a.png"));
    free(a);
    free(b);
    cls_table_free(&t);
}

/* The size of a picture is bounded by its pixels, not by the rows. */
static void test_long_runs_stay_small(void **state) {
    (void)state;
    cls_table *t = oscillator(200000, 0.05);
    size_t n;
    free(plot_bytes(t, NULL, "long.svg", &n));
    assert_true(n < 400000);
    unlink(in_folder("long.svg"));
    cls_table_free(&t);
}

static void test_chosen_panels(void **state) {
    (void)state;
    cls_table *t = oscillator(100, 0.1);
    cls_plot_options o = cls_plot_defaults();
    const char *label = "t";
    clsi_panels p;
    assert_int_equal(clsi_panels_make(1, (const cls_table *const *)&t, &label, &o, &p, NULL), 0);
    const char *expected[] = {"x", "v.x", "T", "entropy", "energy error, relative"};
    assert_int_equal(p.n, 5);
    for (size_t i = 0; i < 5; i++) assert_string_equal(p.items[i].names[0], expected[i]);
    assert_true(p.items[1].portrait);
    assert_string_equal(p.items[1].x_name, "x");
    const clsi_curve *drift = &p.items[4].curves[0];
    assert_true(drift->y[0] == 0);
    for (size_t i = 0; i < 100; i++)
        assert_float_equal(drift->y[i], 1e-15 / 1.5 * sin(0.1 * (double)i), 3e-16);
    clsi_panels_clear(&p);
    cls_table_free(&t);
}

/* Small arrays share a panel; temperatures are found as elements and beside the entropies of
 * storages; what follows from others (mu., p.) is not drawn. */
static void test_panels_of_arrays_and_storages(void **state) {
    (void)state;
    const char *const names[] = {"time",    "H[1]",  "H[2]", "O",    "T[1]",
                                 "T[2]",    "S[1]",  "S[2]", "mu.O", "s_d",
                                 "theta_d", "theta", "T_e",  "p.q",  "Torque"};
    cls_table *t = make(15, names);
    for (int i = 0; i < 5; i++) {
        double row[15];
        for (int k = 0; k < 15; k++) row[k] = i + k;
        assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
    }
    cls_plot_options o = cls_plot_defaults();
    const char *label = "t";
    clsi_panels p;
    assert_int_equal(clsi_panels_make(1, (const cls_table *const *)&t, &label, &o, &p, NULL), 0);
    const struct {
        const char *first;
        size_t n;
    } expected[] = {{"H[1]", 2}, {"O", 1}, {"theta", 1}, {"Torque", 1}, {"T[1]", 4}, {"S[1]", 3}};
    assert_int_equal(p.n, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(p.items[i].names[0], expected[i].first);
        assert_int_equal(p.items[i].n_names, expected[i].n);
    }
    clsi_panels_clear(&p);
    cls_table_free(&t);
}

/* Arrays of one index over time, of two at three times; from each table, in the same colours; of many
 * motions the first; an entropy is not drawn where its temperature is. */
static void test_arrays_are_pictures(void **state) {
    (void)state;
    enum { N = 9, ROWS = 5 };
    static char text[3 + 5 * N][24];
    const char *names[3 + 5 * N] = {"trajectory", "time"};
    size_t n = 2;
    for (int k = 0; k < 5 * N; k++, n++) {
        static const char *const forms[] = {"soc[%d]", "S[%d]", "T[%d]", "cell[%d]_q", "w[%d][%d]"};
        if (k < 4 * N)
            snprintf(text[n], sizeof *text, forms[k / N], k % N + 3);
        else
            snprintf(text[n], sizeof *text, forms[4], k % N / 3, k % 3);
        names[n] = text[n];
    }
    names[n++] = "entropy";
    cls_table *t = make(n, names);
    for (int i = 0; i < 2 * ROWS; i++) {
        double row[3 + 5 * N] = {i / ROWS, i % ROWS};
        for (int k = 0; k < 5 * N; k++) row[2 + k] = i < ROWS ? 100 * i + k : 1e6;
        row[n - 1] = 0;
        assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
    }
    const cls_table *both[] = {t, t};
    const char *const labels[] = {"a", "b"};
    cls_plot_options o = cls_plot_defaults();
    clsi_panels p;
    assert_int_equal(clsi_panels_make(1, both, labels, &o, &p, NULL), CLS_OK);
    const char *const headings[] = {
        "soc[i]",           "T[i]", "cell[i]_q", "w[i][j] at time 0", "w[i][j] at time 2",
        "w[i][j] at time 4"};
    assert_int_equal(p.n, 6);
    for (size_t i = 0; i < 6; i++) assert_string_equal(p.items[i].field.heading, headings[i]);
    const clsi_field *f = &p.items[2].field;
    assert_true(f->rows == ROWS && f->count[0] == N && f->low[0] == 3);
    assert_true(f->least == 3 * N && f->most == 100 * (ROWS - 1) + 4 * N - 1);
    f = &p.items[4].field;
    assert_true(f->row == 2 && f->count[0] == 3 && f->count[1] == 3 && f->low[1] == 0);
    assert_true(f->least == 4 * N && f->most == 100 * (ROWS - 1) + 5 * N - 1);
    clsi_panels_clear(&p);
    const char *const asked[] = {"cell[*]_q"}, *const wrong[] = {"cell[*]"};
    o.n_columns = 1;
    o.columns = asked;
    assert_int_equal(clsi_panels_make(2, both, labels, &o, &p, NULL), CLS_OK);
    assert_int_equal(p.n, 2);
    assert_string_equal(p.items[1].field.heading, "cell[i]_q, b");
    clsi_panels_clear(&p);
    static const struct {
        const char *asked, *heading;
        size_t panels, count;
    } others[] = {{"cell_q", "cell[i]_q, a", 2, N},
                  {"w[*,*]", "w[i][j] at time 0, a", 6, 3},
                  {"w[*]", "w[i][j] at time 0, a", 6, 3}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        o.columns = &others[i].asked;
        assert_int_equal(clsi_panels_make(2, both, labels, &o, &p, NULL), CLS_OK);
        assert_int_equal(p.n, others[i].panels);
        assert_string_equal(p.items[0].field.heading, others[i].heading);
        assert_int_equal(p.items[0].field.count[0], others[i].count);
        clsi_panels_clear(&p);
    }
    const char *const row[] = {"w[*,0]"}; /* three columns are three curves of each table */
    o.columns = row;
    assert_int_equal(clsi_panels_make(2, both, labels, &o, &p, NULL), CLS_OK);
    assert_true(p.n == 1 && p.items[0].n_curves == 6);
    clsi_panels_clear(&p);
    o.columns = wrong;
    assert_int_equal(clsi_panels_make(2, both, labels, &o, &p, NULL), CLS_USAGE);
    cls_table_free(&t);
}

/* log(x): logarithms between whole powers of ten, labelled by them; what is not positive is a gap.
 */
static void test_powers_of_ten(void **state) {
    (void)state;
    const char *const names[] = {"time", "error"};
    cls_table *t = make(2, names);
    const double values[] = {1e-12, 3e-7, 0, -1, 0.5};
    for (int i = 0; i < 5; i++)
        assert_int_equal(cls_table_append(t, (double[]){i, values[i]}, NULL), CLS_OK);
    cls_plot_options o = cls_plot_defaults();
    const char *label = "t", *const asked[] = {"log(error)"}, *const wrong[] = {"log(eror)"};
    clsi_panels p;
    o.n_columns = 1;
    o.columns = asked;
    assert_int_equal(clsi_panels_make(1, (const cls_table *const *)&t, &label, &o, &p, NULL), 0);
    assert_string_equal(p.items[0].names[0], "error");
    const double *y = p.items[0].curves[0].y;
    assert_true(p.items[0].powers && isnan(y[2]) && isnan(y[3]));
    assert_float_equal(y[0], -12, 1e-14);
    clsi_panels_clear(&p);
    clsi_axis a = clsi_axis_make_powers(-11.9, -0.3, 6);
    char text[32];
    assert_true(a.lo == -12 && a.hi == 0 && a.n_ticks <= 6);
    clsi_axis_label(&a, 0, text);
    assert_string_equal(text, "10⁻¹⁰");
    assert_true(clsi_axis_tick(&a, 0) == -10);
    o.columns = wrong;
    cls_error error;
    assert_int_equal(clsi_panels_make(1, (const cls_table *const *)&t, &label, &o, &p, &error),
                     CLS_USAGE);
    assert_non_null(strstr(error.message, "did you mean \"error\""));
    cls_table_free(&t);
}

/* The drift is counted without the work done on the system and anew for every trajectory. */
static void test_drift(void **state) {
    (void)state;
    const char *const names[] = {"trajectory", "time", "energy", "work", "a", "b"};
    cls_table *t = make(6, names);
    for (int i = 0; i < 20; i++) {
        double work = 0.25 * (i % 10), start = i < 10 ? 2 : 4;
        double row[] = {i / 10, i % 10, start + work + (i % 10 == 9 ? 1 : 0), work, 1, 2};
        assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
    }
    cls_plot_options o = cls_plot_defaults();
    const char *label = "t";
    clsi_panels p;
    assert_int_equal(clsi_panels_make(1, (const cls_table *const *)&t, &label, &o, &p, NULL), 0);
    assert_int_equal(p.n, 3); /* no coordinates: a and b, each on its own, and the drift */
    assert_string_equal(p.items[0].names[0], "a");
    const double *y = p.items[2].curves[0].y;
    for (int i = 0; i < 20; i++) assert_float_equal(y[i], i == 9 ? 0.5 : i == 19 ? 0.25 : 0, 1e-15);
    clsi_panels_clear(&p);
    cls_table_free(&t);
}

static void refused(size_t n, const cls_table *const *tables, const cls_plot_options *o,
                    const char *path, cls_status status, const char *says) {
    cls_error error = {0};
    const char *labels[] = {"first.csv", "second.csv"};
    assert_int_equal(cls_plot(n, tables, labels, o, path, &error), status);
    assert_int_equal(error.status, status);
    if (!strstr(error.message, says)) fail_msg("expected \"%s\" in: %s", says, error.message);
}

static void test_refusals(void **state) {
    (void)state;
    const char *const other[] = {"time", "y"}, *const alone[] = {"time"};
    cls_table *t = oscillator(10, 0.1), *empty = oscillator(0, 1), *u = make(2, other);
    cls_table *only = make(1, alone);
    assert_int_equal(cls_table_append(u, (double[]){0, 1}, NULL), CLS_OK);
    assert_int_equal(cls_table_append(only, (double[]){0}, NULL), CLS_OK);
    const cls_table *const two[] = {t, u}, *const none[] = {empty}, *const bare[] = {only};
    const char *columns[] = {"entropi"}, *portrait[] = {"x:v.y"}, *left[] = {"q:x"}, *x[] = {"x"};
    cls_plot_options o = cls_plot_defaults();
    refused(0, two, &o, in_folder("a.svg"), CLS_USAGE, "at least one table");
    refused(1, two, &o, in_folder("a.pdf"), CLS_USAGE, "expected an ending .svg or .png");
    refused(1, none, &o, in_folder("a.svg"), CLS_DATA, "first.csv has no rows");
    refused(1, bare, &o, in_folder("a.svg"), CLS_DATA, "no column to draw but time");
    refused(1, two, &o, "/no/such/folder/a.svg", CLS_IO, "No such file");
    o.n_columns = 1;
    o.columns = columns;
    refused(1, two, &o, in_folder("a.svg"), CLS_USAGE, "did you mean \"entropy\"?");
    o.columns = portrait;
    refused(1, two, &o, in_folder("a.svg"), CLS_USAGE, "no column \"v.y\"; did you mean \"v.x\"?");
    o.columns = left;
    refused(1, two, &o, in_folder("a.svg"), CLS_USAGE, "no column \"q\"");
    o.columns = x;
    refused(2, two, &o, in_folder("a.svg"), CLS_USAGE, "second.csv has no column \"x\"");
    o.width = -1;
    refused(1, two, &o, in_folder("a.svg"), CLS_USAGE, "width -1");
    assert_int_equal(files_in_folder(), 0);
    cls_table *all[] = {t, empty, u, only};
    for (int i = 0; i < 4; i++) cls_table_free(&all[i]);
}

static void test_full_device(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0) skip();
    cls_table *t = oscillator(10, 0.1);
    const char *ends[] = {"full.svg", "full.png"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(symlink("/dev/full", in_folder(ends[i])), 0);
        refused(1, (const cls_table *const *)&t, NULL, in_folder(ends[i]), CLS_IO, "No space left");
        unlink(in_folder(ends[i]));
    }
    cls_table_free(&t);
}

/* Values that have no place in a picture do not break it: none finite, one row, constant, huge. */
static void test_odd_values(void **state) {
    (void)state;
    const char *const names[] = {"time", "a", "b", "c", "\xe9t\xe9"};
    cls_table *t = make(5, names);
    for (int rows = 1; rows <= 3; rows++) {
        double row[] = {rows - 1, NAN, 7, rows % 2 ? 1e308 : -1e308, rows == 2 ? INFINITY : 1e299};
        assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
        size_t n;
        free(plot_bytes(t, NULL, "odd.svg", &n));
        assert_true(n > 1000);
    }
    unlink(in_folder("odd.svg"));
    cls_table_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_points_are_widened),
        cmocka_unit_test(test_no_peak_is_lost),
        cmocka_unit_test(test_retracing_changes_nothing),
        cmocka_unit_test(test_breaks),
        cmocka_unit_test(test_svg),
        cmocka_unit_test(test_png),
        cmocka_unit_test(test_long_runs_stay_small),
        cmocka_unit_test(test_chosen_panels),
        cmocka_unit_test(test_panels_of_arrays_and_storages),
        cmocka_unit_test(test_arrays_are_pictures),
        cmocka_unit_test(test_powers_of_ten),
        cmocka_unit_test(test_drift),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_odd_values),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
