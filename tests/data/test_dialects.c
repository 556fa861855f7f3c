/* CSV as instruments write it, names and units: the same numbers from every dress, and what cannot be
 * meant is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/unit.h"
#include "tests/folder.h"
#include <clausius/random.h>
#include <clausius/table.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static cls_status read_text(const char *text, const cls_read_options *o, cls_table **t,
                            cls_error *error) {
    FILE *f = fopen(in_folder("in.csv"), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
    cls_status status = cls_table_read_with(in_folder("in.csv"), o, t, error);
    unlink(in_folder("in.csv"));
    return status;
}

static cls_table *good(const char *text, const cls_read_options *o) {
    cls_table *t;
    cls_error error = {0};
    if (read_text(text, o, &t, &error)) fail_msg("%s", error.message);
    return t;
}

static void refused(const char *text, const cls_read_options *o, cls_status with,
                    const char *says) {
    cls_table *t;
    cls_error error = {0};
    cls_status status = read_text(text, o, &t, &error);
    if (status != with || !strstr(error.message, says))
        fail_msg("expected %d and \"%s\", got %d: %s", with, says, status, error.message);
    assert_null(t);
}

static int remarked(const cls_table *t, const char *says) {
    for (size_t i = 0; i < cls_table_remark_count(t); i++)
        if (strstr(cls_table_remark(t, i), says)) return 1;
    return 0;
}

/* Each of these is the table t, x, v with the rows (0, 1, 2) and (0.5, -3, 40). */
static void test_dresses(void **state) {
    (void)state;
    static const struct {
        const char *text, *units; /* one letter per column, - for none */
    } files[] = {
        {"% t x v\r\n 0 1 2 \r\n 0.5e+000 -3 40\r\n", "---"},
        {"%t x v\n0 1 2\n0.5 -3 40\n", "---"},
        {"# t, x, v\n0, 1, 2\n0.5, -3, 40\n", "---"},
        {"! t x v\n0 1 2\n0.5 -3 4.0D+1\n", "---"},
        {"// t x v\n0 1 2\n0.5 -3 40\n", "---"},
        {"Run 7, by hand\nt,x,v\n0,1,2\n0.5,-3,40\n", "---"},
        {"Logger 3000\nSerial: 17\n\nt;x;v\n0;1;2\n0,5;-3;40\n", "---"},
        {"t,x,v\ns,m,m/s\n0,1,2\n0.5,-3,40\n", "smx"},
        {"t;x;v\n[s];[m];[m/s]\n0;1;2\n0,5;-3;40\n", "smx"},
        {"Title\nt\tx\tv\n(s)\t(m)\t(m/s)\n0\t1\t2\n0,5\t-3\t40\n", "smx"},
        {"t [s],x [m],v [m/s]\n0,1,2\n0.5,-3,40\n", "smx"},
        {"t (s), x (m), v (m/s)\n0,1,2\n0.5,-3,40\n", "smx"},
        {"t/s,x/m,v/(m/s)\n0,1,2\n0.5,-3,40\n", "smx"},
        {"t / s;x / m;v / (m/s)\n0;1;2\n0,5;-3;40\n", "smx"},
        {"% t/s x/m v\n0 1 2\n0.5 -3 40\n", "sm-"},
        {"\"t [s]\";\"x [m]\";v_[m/s]\n0;1;2\n0,5;-3;40\n", "smx"},
        {"\xef\xbb\xbft;x;v\r\n0;1,0;2\r\n0,5;-3;4,0e1\r\n", "---"},
        {"sep=;\nt;x;v\n0;1;2\n0,5;-3;40\n", "---"},
        {"t;x;v;\n0;1;2;\n0,5;-3;40;\n", "---"},
        {"t,x,v\n0,1,2\n\"0,5\",\"-3\",40\n", "---"},
        {"t x v\n0,0 1,0 2,0\n0,5 -3,0 40,0\n", "---"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        cls_table *t = good(files[i].text, NULL);
        if (cls_table_columns(t) != 3 || cls_table_rows(t) != 2) fail_msg("%s", files[i].text);
        static const char *const names[] = {"time", "x", "v"};
        static const double values[3][2] = {{0, 0.5}, {1, -3}, {2, 40}};
        for (size_t c = 0; c < 3; c++) {
            assert_string_equal(cls_table_name(t, c), names[c]);
            assert_memory_equal(cls_table_column(t, c), values[c], sizeof values[c]);
            char u = files[i].units[c];
            const char *unit = u == 's' ? "s" : u == 'm' ? "m" : u == 'x' ? "m/s" : NULL;
            if (unit)
                assert_string_equal(cls_table_unit(t, c), unit);
            else
                assert_null(cls_table_unit(t, c));
        }
        cls_table_free(&t);
    }
}

/* Quotients stay names where the time is not written as one, and where no unit stands behind the stroke. */
static void test_quotients(void **state) {
    (void)state;
    cls_table *t = good("t,P/V,x/m\n0,1,2\n0.5,-3,40\n", NULL);
    assert_string_equal(cls_table_name(t, 1), "P/V");
    assert_string_equal(cls_table_name(t, 2), "x/m");
    cls_table_free(&t);
    t = good("t/s,dx/dt,(a/b,/m\n0,1,2,3\n0.5,-3,40,4\n", NULL);
    static const char *const names[] = {"time", "dx/dt", "(a/b", "/m"};
    for (size_t i = 0; i < 4; i++) assert_string_equal(cls_table_name(t, i), names[i]);
    cls_table_free(&t);
    cls_read_options o = {.size = sizeof o, .map = "q=phi/deg"};
    t = good("t/s,phi/deg\n0,90\n1,45\n", &o);
    assert_string_equal(cls_table_name(t, 1), "q");
    cls_table_free(&t);
}

/* Fewer names than columns: they are those of the last ones, and that is said. */
static void test_names_found(void **state) {
    (void)state;
    cls_table *t = good("%o v\r\n  0 5 1.25 0.5 \r\n  0 5.5 1.5 0.25 \r\n", NULL);
    assert_int_equal(cls_table_columns(t), 4);
    assert_string_equal(cls_table_name(t, 0), "column1");
    assert_string_equal(cls_table_name(t, 2), "o");
    assert_true(remarked(t, "2 names for 4 columns"));
    cls_table_free(&t);
    t = good("1\t2\t\n3\t4\t\n", NULL);
    assert_int_equal(cls_table_columns(t), 2);
    assert_true(remarked(t, "no header"));
    cls_table_free(&t);
    cls_read_options o = cls_read_defaults();
    o.columns = "x, \"a, b\" [mm]";
    o.dt = 0.5;
    t = good("1 2\n3 4\n5 6\n", &o);
    assert_string_equal(cls_table_name(t, 0), "time");
    assert_string_equal(cls_table_name(t, 2), "a, b");
    assert_string_equal(cls_table_unit(t, 2), "mm");
    assert_true(cls_table_column(t, 0)[2] == 1.0);
    assert_int_equal(cls_table_remark_count(t), 0);
    cls_table_free(&t);
    o.columns = "x";
    refused("1 2\n", &o, CLS_DATA, "has 2 columns, and 1 names are given");
    o.columns = "x, time";
    refused("1 2\n", &o, CLS_USAGE, "--dt says it twice");
    o = (cls_read_options){.size = 3};
    refused("1 2\n", &o, CLS_USAGE, "cls_read_defaults");
}

/* Times from dt begin anew in every trajectory, also when the reader gives small chunks. */
static void test_times_made(void **state) {
    (void)state;
    FILE *f = fopen(in_folder("in.csv"), "w");
    assert_non_null(f);
    fputs("trajectory,x\n1,1\n1,2\n1,3\n2,4\n2,5\n", f);
    fclose(f);
    cls_read_options o = cls_read_defaults();
    o.dt = 0.25;
    cls_reader *r;
    cls_error error;
    assert_int_equal(cls_reader_open(in_folder("in.csv"), &o, &r, &error), CLS_OK);
    assert_int_equal(cls_table_columns(cls_reader_head(r)), 3);
    static const double expected[] = {0, 0.25, 0.5, 0, 0.25};
    double time[2], x[2];
    size_t rows = 1, seen = 0;
    while (rows) {
        assert_int_equal(cls_reader_next(r, 2, (double *[]){time, NULL, x}, &rows, &error), CLS_OK);
        for (size_t i = 0; i < rows; i++, seen++) {
            assert_true(time[i] == expected[seen]);
            assert_true(x[i] == (double)seen + 1);
        }
    }
    assert_int_equal(seen, 5);
    cls_reader_close(&r);
    unlink(in_folder("in.csv"));
}

static void test_map_converts(void **state) {
    (void)state;
    cls_system *s;
    cls_error error;
    const char *text = "coordinate x [m]\ntemperature T [K]\n"
                       "thermal lagrangian G = v.x^2/2 + T*(log(T) - 1)\n"
                       "data x = \"position [mm]\", time = \"clock [ms]\"\n"
                       "start x = 0, v.x = 1, T = 300\n";
    if (cls_system_parse(text, "s.clausius", NULL, &s, &error)) fail_msg("%s", error.message);
    cls_read_options o = cls_read_defaults();
    o.system = s;
    cls_table *t = good("clock,position,Temp (degC),speed\n0,35,20,1\n250,70,21,2\n", &o);
    assert_string_equal(cls_table_name(t, 0), "time");
    assert_true(cls_table_column(t, 0)[1] == 0.25);
    assert_true(cls_table_column(t, 1)[0] == 0.035 && cls_table_column(t, 1)[1] == 0.07);
    assert_true(cls_table_column(t, 2)[0] == 20); /* Temp is no column of the system */
    cls_table_free(&t);
    o.map = "T=Temp, v.x=speed [km/h]";
    t = good("clock,position,Temp (degC),speed\n0,35,20,36\n250,70,21,72\n", &o);
    assert_true(cls_table_column(t, (size_t)cls_table_find(t, "T"))[0] == 293.15);
    double v = cls_table_column(t, (size_t)cls_table_find(t, "v.x"))[1];
    assert_true(fabs(v - 20) < 1e-14);
    assert_true(remarked(t, "T: Temp [degC] read in [K] (times 1 + 273.15)"));
    cls_table_free(&t);
    o.map = "x=clock [s]";
    refused("clock,position\n0,1\n", &o, CLS_DATA, "[s] (s) cannot become [m] (m)");
    o.map = "x=positon";
    refused("clock,position\n0,1\n", &o, CLS_DATA, "did you mean \"position\"?");
    o.map = "x=Position [mm]";
    refused("clock,Position (m)\n0,1\n", &o, CLS_DATA, "the list says [mm]");
    o.map = "T=temp";
    t = good("clock,temp\n0,21\n1,22\n", &o);
    assert_true(remarked(t, "if that is degC"));
    cls_table_free(&t);
    cls_system_free(&s);
    assert_int_equal(cls_system_parse("coordinate x\nlagrangian v.x^2/2\ndata y = \"a\"\n", "s",
                                      NULL, &s, &error),
                     CLS_SYSTEM);
    assert_non_null(strstr(error.message, "`y` is not a variable"));
}

static void test_map_without_system(void **state) {
    (void)state;
    cls_read_options o = cls_read_defaults();
    o.map = "x=y, y=x";
    cls_table *t = good("x,y\n1,2\n", &o);
    assert_string_equal(cls_table_name(t, 0), "y");
    assert_true(cls_table_column(t, 0)[0] == 1);
    cls_table_free(&t);
    o.map = "phi [rad] = \"angle, left\" [deg]";
    t = good("\"angle, left\",phi\n180,7\n", &o);
    assert_int_equal(cls_table_columns(t), 1); /* the old phi gave its name away */
    assert_true(fabs(cls_table_column(t, 0)[0] - acos(-1)) < 1e-15);
    cls_table_free(&t);
    o.map = "x=a [px]";
    t = good("a\n3\n4\n", &o);
    assert_true(cls_table_column(t, 0)[0] == 3);
    assert_true(remarked(t, "[px] is not known"));
    cls_table_free(&t);
    static const char *const wrong[] = {"x", "x=a, x=b", "x=", "x=a [mm", "=a"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        o.map = wrong[i];
        refused("a,b\n3,4\n", &o, CLS_USAGE, "--map");
    }
}

static void test_units(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
        double value, becomes;
    } good_ones[] = {
        {"mm", "m", 35, 0.035},
        {"degC", "K", 0, 273.15},
        {"degF", "degC", 212, 100},
        {"km/h", "m/s", 36, 10},
        {"kW h", "J", 1, 3.6e6},
        {"N*m", "J", 2, 2},
        {"kg m^2/s^2", "J", 2, 2},
        {"W/(m^2 K)", "W/m^2/K", 1, 1},
        {"rpm", "rad/s", 60, 6.283185307179586},
        {"\xc2\xb0/s", "rad/s", 180, 3.141592653589793},
        {"min", "s", 2, 120},
        {"\xc2\xb5s", "s", 1, 1e-6},
        {"cm3", "l", 1000, 1},
        {"J/degC", "J/K", 3, 3},
        {"s-1", "Hz", 4, 4},
        {"m\xc2\xb2", "cm^2", 1, 1e4},
        {"%", "1", 50, 0.5},
        {"px", "px", 5, 5},
    };
    for (size_t i = 0; i < sizeof good_ones / sizeof *good_ones; i++) {
        double f, d, o;
        cls_error error;
        if (cls_unit_convert(good_ones[i].from, good_ones[i].to, &f, &d, &o, &error))
            fail_msg("%s: %s", good_ones[i].from, error.message);
        double got = good_ones[i].value * f / d + o;
        if (!(fabs(got - good_ones[i].becomes) <= 1e-12 * (1 + fabs(good_ones[i].becomes))))
            fail_msg("%s to %s: %.17g", good_ones[i].from, good_ones[i].to, got);
    }
    static const char *const bad[][2] = {{"m", "s"},  {"N", "J"},  {"px", "m"}, {"m", "px"},
                                         {"(m", "m"}, {"m/", "m"}, {"", "m"},   {"m^", "m"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(cls_unit_convert(bad[i][0], bad[i][1], NULL, NULL, NULL, NULL), CLS_DATA);
}

static void test_missing_cells(void **state) {
    (void)state;
    const char *text = "t,x\n0,1\n1,nan\n2,\n3,NA\n4,5\n";
    cls_read_options o = cls_read_defaults();
    refused(text, &o, CLS_DATA, "in.csv:3: column \"x\": expected a finite number, found \"nan\"");
    o.drop_missing = 1;
    cls_table *t = good(text, &o);
    assert_int_equal(cls_table_rows(t), 2);
    assert_true(cls_table_column(t, 1)[1] == 5);
    assert_true(remarked(t, "3 rows with missing cells left out"));
    cls_table_free(&t);
}

/* Nothing that a terminal would obey comes out of names and notes; Latin-1 becomes UTF-8. */
static void test_text_is_shown(void **state) {
    (void)state;
    cls_table *t = good("# note: a\x1b[31mb\xc2\x9b\n\"x\x1b]0;\x07\",T [\xb0"
                        "C],\xc3\xa4\n1,2,3\n",
                        NULL);
    assert_string_equal(cls_table_note(t, "note"), "a\\x1b[31mb\\x9b");
    assert_string_equal(cls_table_name(t, 0), "x\\x1b]0;\\x07");
    assert_string_equal(cls_table_unit(t, 1), "\xc2\xb0"
                                              "C");
    assert_string_equal(cls_table_name(t, 2), "\xc3\xa4");
    cls_table_free(&t);
}

/* Notes are found by hash: half a million take a second at most, where a search would take hours. */
static void test_many_notes(void **state) {
    (void)state;
    clsi_text text = {0};
    for (int i = 0; i < 200000; i++) clsi_text_printf(&text, "# k%d: %d\n", i, i);
    clsi_text_append(&text, "# k77: again\nx\n1\n");
    clock_t begin = clock();
    cls_table *t = good(text.data, NULL);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    assert_int_equal(cls_table_note_count(t), 200000);
    assert_string_equal(cls_table_note(t, "k77"), "again");
    assert_string_equal(cls_table_note(t, "k199999"), "199999");
    assert_true(seconds < 20); /* 310 when it was quadratic */
    cls_table_free(&t);
    clsi_text_clear(&text);
}

static int stop_soon(void *calls) {
    return ++*(int *)calls > 2;
}

static void test_interrupt(void **state) {
    (void)state;
    clsi_text text = {0};
    for (int i = 0; i < 700000; i++) clsi_text_append(&text, "1,2,3\n");
    int calls = 0;
    cls_read_options o = cls_read_defaults();
    o.stop = stop_soon;
    o.context = &calls;
    refused(text.data, &o, CLS_INTERRUPTED, "interrupted while reading");
    clsi_text_clear(&text);
}

/* Somebody writes the file anew while it is read: the row in which it ends then looks like a row. */
static int cut_soon(void *calls) {
    if (++*(int *)calls == 3) assert_int_equal(truncate(in_folder("in.csv"), 6 * 200000 - 3), 0);
    return 0;
}

static void test_shorter_while_read(void **state) {
    (void)state;
    clsi_text text = {0};
    for (int i = 0; i < 700000; i++) clsi_text_append(&text, "1,2,3\n");
    int calls = 0;
    cls_read_options o = cls_read_defaults();
    o.stop = cut_soon;
    o.context = &calls;
    refused(text.data, &o, CLS_IO, "became shorter while it was read");
    assert_true(calls >= 3);
    clsi_text_clear(&text);
}

/* A made signal with known noise, one outlier, a gap, a duplicate and a wrapped angle. */
static void test_inspect(void **state) {
    (void)state;
    const char *names[] = {"time", "x", "angle", "coarse", "still"};
    cls_table *t;
    cls_error error;
    cls_random r;
    cls_random_seed(&r, 3);
    assert_int_equal(cls_table_create(5, names, &t, &error), CLS_OK);
    for (int i = 0; i < 2000; i++) {
        double noise = 0, time = i * 0.01 + (i >= 1000 ? 0.05 : 0);
        for (int k = 0; k < 12; k++) noise += cls_random_uniform(&r);
        noise = 0.01 * (noise - 6);
        if (i == 1500) time -= 0.01;
        double turn = 3 * time, two_pi = 2 * acos(-1);
        double row[] = {time, sin(time) + noise + (i == 700 ? 0.5 : 0),
                        turn - two_pi * floor(turn / two_pi), nearbyint(20 * sin(time)) / 20, 4};
        assert_int_equal(cls_table_append(t, row, &error), CLS_OK);
    }
    cls_time_facts f;
    assert_int_equal(cls_table_inspect_time(t, &f, &error), CLS_OK);
    assert_int_equal(f.gaps, 2);
    assert_int_equal(f.duplicates, 1);
    assert_int_equal(f.missing, 6);
    assert_true(fabs(f.spacing - 0.01) < 1e-12 && f.jitter < 1e-12);
    cls_column_facts x[5];
    for (size_t c = 0; c < 5; c++)
        assert_int_equal(cls_table_inspect_column(t, c, &x[c], &error), CLS_OK);
    assert_true(x[1].noise > 0.008 && x[1].noise < 0.012);
    assert_int_equal(x[1].outliers, 1);
    assert_int_equal(x[2].wraps, 9); /* 60.15 rad are nine turns */
    assert_true(x[3].quantum > 0.049 && x[3].quantum < 0.051 && x[3].noise > 0.014);
    assert_true(x[4].constant && !x[4].outliers);
    assert_int_equal(cls_table_inspect_column(t, 5, &x[0], &error), CLS_USAGE);
    cls_table_free(&t);
}

/* ---- dates and times of day ---- */

/* Each of these has rows at 0, 30.5 and 86400 seconds, x = 1, 2, 3. */
static void test_stamps(void **state) {
    (void)state;
    static const char *const files[] = {
        "stamp,x\n2026-02-28 12:00:00,1\n2026-02-28 12:00:30.5,2\n2026-03-01 12:00:00,3\n",
        "Time,x\n2024-02-28T12:00:00Z,1\n2024-02-28T12:00:30.5Z,2\n2024-02-29T12:00:00Z,3\n",
        "when;x\n31.12.2025 12:00;1\n31.12.2025 12:00:30,5;2\n01.01.2026 12:00;3\n",
        "Date,Time,x\n28/02/2026,12:00:00,1\n28/02/2026,12:00:30.5,2\n01/03/2026,12:00:00,3\n",
        "Date\tTime\tx\n2/28/2026\t12:00\t1\n2/28/2026\t12:00:30.5\t2\n3/1/2026\t12:00\t3\n",
        "\"d\",x\n\"28-Feb-2026 11:00:00 AM\",1\n\"28-Feb-2026 11:00:30.5 AM\",2\n"
        "\"01-Mar-2026 11:00:00 AM\",3\n",
        "t,x\n2026-02-28T23:30:00+01:00,1\n2026-02-28T22:30:30.5Z,2\n2026-03-01T22:30:00Z,3\n",
        "Logger 7\nsite,roof\n\nstamp,note,x\n2026-02-28 12:00:00,\"a, b\",1\n"
        "2026-02-28 12:00:30.5,ok,2\n2026-03-01 12:00:00,ok,3\n",
        "2026/02/28 12:00:00,1\n2026/02/28 12:00:30.5,2\n2026/03/01 12:00:00,3\n",
    };
    cls_read_options plain = cls_read_defaults();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        cls_table *t = good(files[i], &plain);
        int time = cls_table_find(t, "time");
        if (time < 0) time = cls_table_find(t, "t");
        if (time < 0 || cls_table_columns(t) != 2 || cls_table_rows(t) != 3)
            fail_msg("file %zu: %zu columns, %zu rows", i, cls_table_columns(t), cls_table_rows(t));
        const double *at = cls_table_column(t, (size_t)time);
        const double *x = cls_table_column(t, (size_t)!time);
        if (at[0] != 0 || at[1] != 30.5 || at[2] != 86400 || x[0] != 1 || x[2] != 3)
            fail_msg("file %zu: times %.17g %.17g %.17g", i, at[0], at[1], at[2]);
        assert_string_equal(cls_table_unit(t, (size_t)time), "s");
        assert_non_null(cls_table_note(t, "begins"));
        cls_table_free(&t);
    }
    cls_table *t = good("clock,x\n00:00:01.25,1\n00:01:00,2\n", &plain); /* as it stands there */
    assert_true(cls_table_column(t, 0)[0] == 1.25 && cls_table_column(t, 0)[1] == 60);
    assert_null(cls_table_note(t, "begins"));
    cls_table_free(&t);
}

static void test_stamps_that_nobody_can_read(void **state) {
    (void)state;
    cls_read_options plain = cls_read_defaults();
    refused("d,x\n1/2/2026,1\n3/4/2026,2\n", &plain, CLS_DATA,
            "in.csv:2: column \"d\": no row tells whether the day or the month comes first in "
            "\"1/2/2026\"");
    refused("# by: us\nx,d\n\n1,5/5/2026\n# a note\n2,3/4/2026\n", &plain, CLS_DATA,
            "in.csv:6: column \"d\": no row tells whether the day or the month comes first in "
            "\"3/4/2026\"");
    refused("d,x\n2026-01-01 10:00:00,1\n2026-01-01 10:00:01,1\n2026-02-30 10:00:00,2\n", &plain,
            CLS_DATA, "in.csv:4: column \"d\": expected a date or a time");
    refused("d,x\n2026-01-01 10:00:00,1\n2026-01-01 10:61:00,2\n", &plain, CLS_DATA,
            "in.csv:3: column \"d\"");
    refused("t,x\na,b\n1,2\n2,3\n", &plain, CLS_DATA,
            "in.csv:2: column"); /* nor is a row a header */
    refused("x,y\nyes,no\nno,yes\n", &plain, CLS_DATA, "no column has numbers");
    refused("time,x\n1O.5,2\n3,3\n", &plain, CLS_DATA, "found \"1O.5\""); /* a slip is no text */
    refused("time,x,y\n0,1,\n1,2,3\n", &plain, CLS_DATA,
            "found nothing"); /* a cell is missing, not a column */
    cls_table *t = good("time,x,y\n0,1,\n1,2,\n", &plain);
    assert_true(cls_table_columns(t) == 2 && remarked(t, "column \"y\": empty, left out"));
    cls_table_free(&t);
    t = good("time,x,label\n0,1,a\n1,2,b\n", &plain);
    assert_int_equal(cls_table_columns(t), 2);
    assert_true(remarked(t, "column \"label\": text, left out"));
    cls_table_free(&t);
}

/* Two loggers that were started at different times lie side by side. */
static void test_stamps_of_two_files(void **state) {
    (void)state;
    cls_read_options plain = cls_read_defaults();
    cls_error error = {0};
    cls_table *a = good("at,x\n2025-12-31 23:00:00,1\n2025-12-31 23:00:10,2\n", &plain);
    cls_table *b = good("at,u\n2026-01-01 00:00:00.25,1\n2026-01-01 00:00:10.25,2\n", &plain);
    assert_int_equal(cls_table_align(b, cls_table_note(a, "begins"), &error), CLS_OK);
    assert_true(cls_table_column(b, 0)[0] == 3600.25 && cls_table_column(b, 0)[1] == 3610.25);
    assert_string_equal(cls_table_note(b, "begins"), cls_table_note(a, "begins"));
    assert_int_equal(cls_table_align(b, NULL, &error), CLS_OK); /* nothing to do */
    assert_true(cls_table_column(b, 0)[0] == 3600.25);
    cls_table_free(&a);
    cls_table_free(&b);
}

static void test_time_in_any_case(void **state) {
    (void)state;
    cls_read_options plain = cls_read_defaults();
    cls_table *t = good("Time (ms),x\n0,1\n10,2\n", &plain);
    assert_string_equal(cls_table_name(t, 0), "time");
    cls_table_free(&t);
    t = good("TIME,t,x\n5,0,1\n7,1,2\n", &plain); /* there is one already */
    assert_string_equal(cls_table_name(t, 0), "TIME");
    cls_table_free(&t);
    plain.map = "time=Time [ms]";
    t = good("Time,x\n0,1\n10,2\n", &plain);
    assert_true(fabs(cls_table_column(t, 0)[1] - 0.01) <= 1e-15);
    cls_table_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stamps),
        cmocka_unit_test(test_stamps_that_nobody_can_read),
        cmocka_unit_test(test_stamps_of_two_files),
        cmocka_unit_test(test_time_in_any_case),
        cmocka_unit_test(test_dresses),
        cmocka_unit_test(test_quotients),
        cmocka_unit_test(test_names_found),
        cmocka_unit_test(test_times_made),
        cmocka_unit_test(test_map_converts),
        cmocka_unit_test(test_map_without_system),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_missing_cells),
        cmocka_unit_test(test_text_is_shown),
        cmocka_unit_test(test_many_notes),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_shorter_while_read),
        cmocka_unit_test(test_inspect),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
