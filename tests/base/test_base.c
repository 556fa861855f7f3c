/* base: error sentences, nearest words, texts, numbers, atomic files, random numbers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alike.h"
#include "tests/folder.h"
#include <clausius/random.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_fail(void **state) {
    (void)state;
    cls_error e = {.line = 3, .column = 4};
    assert_int_equal(clsi_fail(&e, CLS_DATA, "%s:%d: no", "a.csv", 7), CLS_DATA);
    assert_int_equal(e.status, CLS_DATA);
    assert_string_equal(e.message, "a.csv:7: no");
    assert_true(e.line == 0 && e.column == 0);
    assert_int_equal(clsi_fail(NULL, CLS_IO, "nobody listens"), CLS_IO);
    char *big = malloc(5001);
    assert_non_null(big);
    memset(big, 'x', 5000);
    big[5000] = 0;
    (void)clsi_fail(&e, CLS_USAGE, "%s", big);
    assert_int_equal(strlen(e.message), sizeof e.message - 1);
    free(big);
    assert_string_equal(cls_status_text(CLS_OK), "ok");
    assert_string_equal(cls_status_text((cls_status)99), "unknown status");
}

/* Medians by selection are those of the sorted list: ties, NaN (largest), orders that spoil pivots. */
static void test_medians(void **state) {
    (void)state;
    enum { N = 701 };
    double list[N], sorted[N];
    assert_true(clsi_median(0, list) == 0);
    for (size_t n = 1; n <= N; n += n < 12 ? 1 : 53)
        for (int kind = 0; kind < 6; kind++) {
            for (size_t i = 0; i < n; i++)
                list[i] = kind == 0   ? (double)(i * 7919 % 1009)
                          : kind == 1 ? (double)(i * 7919 % 3)
                          : kind == 2 ? (double)i
                          : kind == 3 ? -(double)i
                          : kind == 4 ? (double)(i < n / 2 ? i : n - i)
                                      : 1;
            if (kind == 0 && n > 4) list[1] = list[n - 1] = NAN, list[2] = -1e300;
            memcpy(sorted, list, n * sizeof *list);
            clsi_sort(n, sorted);
            for (size_t i = 1; i < n; i++)
                assert_true(sorted[i - 1] <= sorted[i] || isnan(sorted[i]));
            double expected = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
            assert_true(clsi_median(n, list) == expected || (isnan(expected) && n < 6));
            clsi_sort(n, list);
            assert_memory_equal(list, sorted, n * sizeof *list);
            assert_true(clsi_quantile(n, sorted, 0) == sorted[0]);
            if (n % 2) assert_true(clsi_quantile(n, sorted, 0.5) == sorted[n / 2]);
        }
}

static void test_nearest_word(void **state) {
    (void)state;
    const char *words[] = {"friction", "velocity", NULL, "v.x", "x"};
    assert_string_equal(cls_nearest_word("fricton", 5, words), "friction");
    assert_string_equal(cls_nearest_word("velocitx", 5, words), "velocity");
    assert_string_equal(cls_nearest_word("velocity", 5, words), "velocity");
    assert_string_equal(cls_nearest_word("v.y", 5, words), "v.x");
    assert_null(cls_nearest_word("y", 5, words)); /* all its letters would be wrong */
    assert_null(cls_nearest_word("temperature", 5, words));
    assert_null(cls_nearest_word("anything", 0, NULL));
}

static void test_texts(void **state) {
    (void)state;
    clsi_text t = {0};
    char *empty = clsi_text_take(&t);
    assert_string_equal(empty, "");
    free(empty);
    clsi_text_append(&t, "one");
    clsi_text_append_n(&t, " two three", 4);
    clsi_text_printf(&t, " %d%%", 3);
    assert_string_equal(t.data, "one two 3%");
    assert_int_equal(t.length, 10);
    for (int i = 0; i < 1000; i++) clsi_text_printf(&t, "%c", 'a' + i % 26);
    assert_int_equal(t.length, 1010);
    assert_int_equal(t.data[1009], 'a' + 999 % 26);
    char *text = clsi_text_take(&t);
    assert_int_equal(strlen(text), 1010);
    assert_true(!t.data && !t.length && !t.failed);
    free(text);
    clsi_text_append(&t, "x");
    t.failed = 1; /* as after running out of memory: sticky, and take gives nothing */
    clsi_text_append(&t, "y");
    assert_null(clsi_text_take(&t));
    assert_true(!t.data && !t.failed);
}

static void test_growth(void **state) {
    (void)state;
    double *a = NULL;
    size_t room = 0;
    for (size_t i = 0; i < 1000; i++) {
        assert_true(clsi_grow(&a, &room, i + 1, sizeof *a));
        assert_true(room > i);
        a[i] = (double)i;
    }
    for (size_t i = 0; i < 1000; i++) assert_true(a[i] == (double)i);
    size_t before = room;
    assert_false(clsi_grow(&a, &room, SIZE_MAX / 4, sizeof *a));
    assert_false(clsi_grow(&a, &room, SIZE_MAX, 1));
    assert_int_equal(room, before);
    assert_true(a[999] == 999);
    free(a);
}

static void test_short_numbers(void **state) {
    (void)state;
    char text[32];
    clsi_format_double(0.1, text);
    assert_string_equal(text, "0.1");
    clsi_format_double(-3, text);
    assert_string_equal(text, "-3");
    cls_random r;
    cls_random_seed(&r, 5);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = cls_random_next(&r);
        double value;
        memcpy(&value, &bits, sizeof bits);
        if (!isfinite(value)) continue;
        clsi_format_double(value, text);
        assert_true(strtod(text, NULL) == value);
    }
}

static void test_commit(void **state) {
    (void)state;
    clsi_file f;
    cls_error e;
    for (int round = 0; round < 2; round++) { /* the second replaces the first */
        assert_int_equal(clsi_file_open(&f, in_folder("out"), &e), CLS_OK);
        assert_true(fprintf(f.stream, "round %d\n", round) > 0);
        fflush(f.stream);
        char *old;
        size_t n;
        cls_status status = clsi_read_file(in_folder("out"), 100, &old, &n, &e);
        if (round == 0) {
            assert_int_equal(status, CLS_IO); /* nothing under the name yet */
        } else {
            assert_int_equal(status, CLS_OK); /* still the first */
            assert_string_equal(old, "round 0\n");
        }
        free(old);
        assert_int_equal(clsi_file_commit(&f, &e), CLS_OK);
        assert_int_equal(files_in_folder(), 1);
    }
    char *data;
    size_t n;
    assert_int_equal(clsi_read_file(in_folder("out"), 8, &data, &n, &e), CLS_OK);
    assert_string_equal(data, "round 1\n");
    assert_int_equal(n, 8);
    free(data);
    assert_int_equal(clsi_read_file(in_folder("out"), 7, &data, &n, &e), CLS_DATA);
    assert_null(data);
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat(in_folder("out"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666 & ~mask);
    unlink(in_folder("out"));
}

static void test_discard(void **state) {
    (void)state;
    clsi_file f;
    cls_error e;
    assert_int_equal(clsi_file_open(&f, in_folder("out"), &e), CLS_OK);
    assert_true(fputs("half of it", f.stream) >= 0);
    clsi_file_discard(&f);
    assert_int_equal(files_in_folder(), 0);
    clsi_file_discard(&f); /* harmless twice */
}

static void test_bad_places(void **state) {
    (void)state;
    clsi_file f;
    cls_error e;
    assert_int_equal(clsi_file_open(&f, "/no/such/folder/out", &e), CLS_IO);
    assert_non_null(strstr(e.message, "/no/such/folder/out"));
    assert_non_null(strstr(e.message, strerror(ENOENT)));
    assert_int_equal(clsi_file_open(&f, folder, &e), CLS_IO);
    assert_non_null(strstr(e.message, strerror(EISDIR)));
    assert_int_equal(files_in_folder(), 0);
}

/* A link given as the output stays a link; its target is replaced. /dev/stdout once was not so
 * lucky: the temporary file was renamed over it. */
static void test_links_stay_links(void **state) {
    (void)state;
    char target[256], link[256];
    snprintf(target, sizeof target, "%s/target", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    FILE *old = fopen(target, "w");
    assert_non_null(old);
    fclose(old);
    assert_int_equal(symlink(target, link), 0);
    clsi_file f;
    assert_int_equal(clsi_file_open(&f, link, NULL), CLS_OK);
    fputs("new", f.stream);
    assert_int_equal(clsi_file_commit(&f, NULL), CLS_OK);
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_size, 3);
    assert_int_equal(files_in_folder(), 2);
    unlink(link);
    unlink(target);
}

static void test_full_device(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0) skip();
    clsi_file f;
    cls_error e;
    assert_int_equal(clsi_file_open(&f, "/dev/full", &e), CLS_OK);
    assert_true(fputs("x", f.stream) >= 0);
    assert_int_equal(clsi_file_commit(&f, &e), CLS_IO);
    assert_int_equal(e.status, CLS_IO);
    assert_non_null(strstr(e.message, strerror(ENOSPC)));
}

/* The published algorithm (Blackman, Vigna): splitmix64 of seed 0 begins with
 * 0xe220a8397b1dcdaf; xoshiro256** with state 1,2,3,4 gives 11520, 0, 1509978240. */
static void test_random_is_the_published_one(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 0);
    assert_true(r.s[0] == 0xe220a8397b1dcdafu);
    assert_true(r.s[1] == 0x6e789e6aa1b965f4u);
    r = (cls_random){{1, 2, 3, 4}};
    assert_true(cls_random_next(&r) == 11520);
    assert_true(cls_random_next(&r) == 0);
    assert_true(cls_random_next(&r) == 1509978240u);
    cls_random a, b;
    cls_random_seed(&a, 42);
    cls_random_seed(&b, 43);
    assert_true(cls_random_next(&a) != cls_random_next(&b));
}

/* Within five standard errors; the seed is fixed, so this passes always or never. */
static void test_random_moments(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 1);
    int n = 200000;
    double u1 = 0, u2 = 0, g1 = 0, g2 = 0;
    for (int i = 0; i < n; i++) {
        double u = cls_random_uniform(&r), g = cls_random_normal(&r);
        assert_true(u >= 0 && u < 1 && isfinite(g));
        u1 += u;
        u2 += (u - 0.5) * (u - 0.5);
        g1 += g;
        g2 += g * g;
    }
    assert_float_equal(u1 / n, 0.5, 5 * sqrt(1.0 / 12 / n));
    assert_float_equal(u2 / n, 1.0 / 12, 5 * sqrt(1.0 / 180 / n));
    assert_float_equal(g1 / n, 0, 5 * sqrt(1.0 / n));
    assert_float_equal(g2 / n, 1, 5 * sqrt(2.0 / n));
}

/* The number between two others. */
static void read_in_row(const char *text, double expected) {
    char row[256] = "";
    double cells[3][2], *columns[] = {cells[0], cells[1], cells[2]};
    int n = snprintf(row, 160, " 1.5, %s ,-3\n", text);
    const char *end = clsi_scan_row(row, ',', '.', 3, columns, 1);
    if (!isfinite(expected)) {
        assert_null(end);
        return;
    }
    assert_true(end == row + n - 1 && cells[0][1] == 1.5 && cells[2][1] == -3);
    if (memcmp(&cells[1][1], &expected, sizeof expected))
        fail_msg("%s in a row: %a, expected %a", text, cells[1][1], expected);
    columns[1] = NULL;
    assert_true(clsi_scan_row(row, ',', '.', 3, columns, 0) == end && cells[2][0] == -3);
}

/* Any text of digits against strtod, any double against itself: the same bits. */
static void test_numbers_to_the_bit(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 11);
    char text[128];
    for (int i = 0; i < 300000; i++) {
        double x, back;
        uint64_t bits = cls_random_next(&r);
        if (i % 3 == 0) /* near 1, where people are */
            bits = (bits & ~(0x7ffull << 52)) | (1000 + cls_random_next(&r) % 50) << 52;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        clsi_format_double(x, text);
        assert_true(strlen(text) <= 24);
        assert_true(clsi_read_double(text, &back));
        assert_memory_equal(&x, &back, sizeof x);
        back = strtod(text, NULL);
        assert_memory_equal(&x, &back, sizeof x);
        read_in_row(text, x);
        size_t n = 0;
        int digits = 1 + (int)(cls_random_next(&r) % 30), point = (int)(cls_random_next(&r) % 30);
        if (bits & 1) text[n++] = '-';
        for (int k = 0; k < digits; k++) {
            if (k == point) text[n++] = '.';
            text[n++] = (char)('0' + cls_random_next(&r) % 10);
        }
        snprintf(text + n, sizeof text - n, bits & 2 ? "e%d" : "",
                 (int)(cls_random_next(&r) % 700) - 350);
        double expected = strtod(text, NULL);
        if (!clsi_read_double(text, &back) || memcmp(&back, &expected, sizeof back))
            fail_msg("%s: %a, expected %a", text, back, expected);
        read_in_row(text, expected);
    }
}

/* No text of fewer digits reads back. */
static void test_digits_are_as_few_as_possible(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 12);
    char text[CLSI_NUMBER], other[64];
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = cls_random_next(&r);
        double x;
        if (i % 2) bits = (bits & ~(0x7ffull << 52)) | (1000 + cls_random_next(&r) % 50) << 52;
        if (i % 5 == 0) bits &= ~0ull << cls_random_next(&r) % 60; /* zeros at the end */
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x) || x == 0) continue;
        clsi_format_double(x, text);
        int digits = 0, zeros = 0;
        for (const char *c = text; *c && *c != 'e'; c++) {
            if (*c < '0' || *c > '9' || (!digits && *c == '0')) continue;
            digits++;
            zeros = *c == '0' ? zeros + 1 : 0;
        }
        digits -= zeros;
        if (digits < 2) continue;
        snprintf(other, sizeof other, "%.*e", digits - 2, x);
        if (strtod(other, NULL) == x) fail_msg("%s instead of %s", text, other);
    }
}

/* Halves between two doubles, the ends of the range, and what is not a number. */
static void test_number_edges(void **state) {
    (void)state;
    static const char *const texts[] = {"9007199254740993",
                                        "9007199254740993.00000000000000000000000000001",
                                        "4503599627370496.5",
                                        "2.4703282292062327e-324",
                                        "2.4703282292062328e-324",
                                        "4.9406564584124654e-324",
                                        "2.2250738585072011e-308",
                                        "2.2250738585072014e-308",
                                        "1.7976931348623157e308",
                                        "1.7976931348623158e308",
                                        "1.7976931348623159e308",
                                        "1e309",
                                        "0e999999999999",
                                        "1e-400",
                                        "123456789012345678901234567890",
                                        "0.000000000000000000000000000000000000001",
                                        "-0",
                                        "1.",
                                        ".5",
                                        "+3",
                                        "0x1.8p1",
                                        "1e23",
                                        "8.5e22",
                                        "6.631236846766476e-316"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double x, expected = strtod(texts[i], NULL);
        if (!clsi_read_double(texts[i], &x) || memcmp(&x, &expected, sizeof x))
            fail_msg("%s: %a, expected %a", texts[i], x, expected);
        read_in_row(texts[i], expected);
    }
    double x;
    static const char *const none[] = {"",    "-",  ".",  "e5",  "1e", "nan",
                                       "inf", " 1", "1 ", "1,5", "--1"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(clsi_read_double(none[i], &x));
    char text[32];
    static const struct {
        double value;
        const char *text;
    } said[] = {{0.1, "0.1"},
                {200, "200"},
                {1e-5, "1e-05"},
                {1e15, "1000000000000000"},
                {1e16, "1e+16"},
                {-0.0, "-0"},
                {5e-324, "5e-324"},
                {0.0001, "0.0001"},
                {1e23, "1e+23"},
                {12345.678, "12345.678"},
                {9007199254740992, "9007199254740992"}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        clsi_format_double(said[i].value, text);
        assert_string_equal(text, said[i].text);
    }
}

static void check_items(const char *list, const char *expected) {
    clsi_text out = {0};
    clsi_alike_items(&out, list);
    assert_false(out.failed);
    assert_string_equal(out.data ? out.data : "", expected);
    clsi_text_clear(&out);
}

/* Nine of a shape are folded, eight are not; names with digits are no elements; numbers may differ, words may not. */
static void test_what_is_alike(void **state) {
    (void)state;
    check_items("", "");
    check_items("a", "a");
    check_items("u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8]",
                "u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8]");
    check_items("t, u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], e",
                "t, u[0], ..., u[8], e");
    check_items("u1, u2, u3, u4, u5, u6, u7, u8, u9, u10",
                "u1, u2, u3, u4, u5, u6, u7, u8, u9, u10");
    check_items("x[1] = 1, x[2] = -2e-5, x[3] = 0.3, x[4] = 4, x[5] = 5, x[6] = 6, x[7] = 7, "
                "x[8] = 8, x[9] = -9, v = 1",
                "x[1] = 1, ..., x[9] = -9, v = 1");
    clsi_text out = {0};
    clsi_text lines = {0};
    for (int i = 1; i <= 10; i++) clsi_text_printf(&lines, "  a[%d] = b%d\n  c[%d] = d\n", i, i, i);
    clsi_text_append(&lines, "head\n\n  c[1] = d\n");
    clsi_alike_lines(&out, lines.data);
    char *put =
        strstr(out.data, "  c[1] = d\n  ...         (8 more like these two)\n  c[10] = d\n");
    assert_non_null(put);
    assert_non_null(strstr(out.data, "  a[7] = b7\n")); /* b1, b2, ... are names */
    assert_non_null(strstr(out.data, "head\n\n  c[1] = d\n"));
    clsi_text_clear(&out);
    clsi_text_clear(&lines);
}

static void test_names_of_elements(void **state) {
    (void)state;
    const char *names[] = {"x",       "u[1]",    "u[2]",      "u[3]",
                           "S[0][1]", "S[0][2]", "cell[1]_q", "cell[2]_q"};
    char out[200], flat[CLSI_ELEMENT_ROOM];
    assert_string_equal(clsi_array_hint("u[4]", 8, names, out), "`u` goes from 1 to 3");
    assert_string_equal(clsi_array_hint("u", 8, names, out), "`u` is an array: `u[1]` to `u[3]`");
    assert_string_equal(clsi_array_hint("u[2..3]", 8, names, out),
                        "`u` is an array: `u[1]` to `u[3]`");
    assert_string_equal(clsi_array_hint("S[1][1]", 8, names, out),
                        "`S` goes from `S[0][1]` to `S[0][2]`");
    assert_string_equal(clsi_array_hint("S[1]", 8, names, out), "`S` has 2 indices: `S[0][1]`");
    assert_string_equal(clsi_array_hint("cell[3]_q", 8, names, out), "`cell_q` goes from 1 to 2");
    assert_string_equal(clsi_array_hint("cell[3]_p", 8, names, out), "");
    assert_string_equal(clsi_array_hint("y", 8, names, out), "");
    assert_string_equal(clsi_array_hint("[3]", 8, names, out), "");
    assert_true(clsi_element_name("S[1, 2]", flat));
    assert_string_equal(flat, "S[1][2]");
    assert_true(clsi_element_name("S[*,*]", flat));
    assert_string_equal(flat, "S[*][*]");
    assert_false(clsi_element_name("speed [m/s, mean]", flat));
    assert_false(clsi_element_name("u[3]", flat));
    char longest[400];
    memset(longest, 'x', 399);
    memcpy(longest + 390, "[1,2]", 6);
    assert_false(clsi_element_name(longest, flat));
    assert_true(clsi_same_array("u[1]", "u[3]"));
    assert_false(clsi_same_array("u[1]", "v[1]"));
    assert_false(clsi_same_array("x", "x"));
}

/* u[*] is all of u, however many indices it has; a row of a grid; the name that an array has in a file. */
static void test_what_a_star_means(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *name;
        int how;
        long index[3];
    } cases[] = {
        {"u[*]", "u[-3]", 2, {-3}},
        {"T[*]", "T[1][2]", 2, {1, 2}},
        {"T[*,*]", "T[1][2]", 2, {1, 2}},
        {"T[ * , *]", "T[1, 2]", 2, {1, 2}},
        {"T[*][*]", "T[1][2]", 2, {1, 2}},
        {"T[1,*]", "T[1][2]", 2, {2}},
        {"T[1][*]", "T[1][2]", 2, {2}},
        {"T[*][2]", "T[0][2]", 2, {0}},
        {"v.T[*]", "v.T[1][2][3]", 2, {1, 2, 3}},
        {"cell[*]_q", "cell[12]_q", 2, {12}},
        {"layer[*]_s[*]", "layer[4]_s[5]", 2, {4, 5}},
        {"cell_q[*]", "cell[12]_q", 1, {12}},
        {"cell_q", "cell[12]_q", 1, {12}},
        {"v.cell_q[*,2]", "v.cell[12][2]_q", 1, {12}},
        {"u", "u[3]", 1, {3}},
        {"T", "T[3][4]", 1, {3, 4}},
        {"T[*][2]", "T[0][1]", 0, {0}},
        {"T[1]", "T[1][2]", 0, {0}},
        {"T[1][*]", "T[1]", 0, {0}},
        {"T[*,*]", "T[1]", 0, {0}},
        {"u[*]", "u", 0, {0}},
        {"u[*]", "u[]", 0, {0}},
        {"u[*", "u[1]", 0, {0}},
        {"u[3]", "u[3]", 0, {0}},
        {"cell[*]", "cell[1]_q", 0, {0}},
        {"cell_p[*]", "cell[1]_q", 0, {0}},
        {"cell", "cell[1]_q", 0, {0}},
        {"[*]", "[1]", 2, {1}},
        {"", "", 0, {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        long index[CLS_MOST_STARS] = {0};
        size_t n = 99;
        int how = cls_means_element(cases[i].pattern, cases[i].name, index, &n);
        if (how != cases[i].how) fail_msg("%s of %s: %d", cases[i].pattern, cases[i].name, how);
        assert_int_equal(n > 0, how > 0);
        for (size_t k = 0; k < n; k++) assert_int_equal(index[k], cases[i].index[k]);
    }
    assert_int_equal(cls_means_element(NULL, "u[1]", NULL, NULL), 0);
    assert_true(clsi_has_star("T[1,*]"));
    assert_false(clsi_has_star("a*b"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_alike),
        cmocka_unit_test(test_names_of_elements),
        cmocka_unit_test(test_what_a_star_means),
        cmocka_unit_test(test_fail),
        cmocka_unit_test(test_medians),
        cmocka_unit_test(test_nearest_word),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_numbers_to_the_bit),
        cmocka_unit_test(test_digits_are_as_few_as_possible),
        cmocka_unit_test(test_number_edges),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_short_numbers),
        cmocka_unit_test(test_commit),
        cmocka_unit_test(test_discard),
        cmocka_unit_test(test_bad_places),
        cmocka_unit_test(test_links_stay_links),
        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_random_is_the_published_one),
        cmocka_unit_test(test_random_moments),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
