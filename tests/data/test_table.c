/* Tables in memory and in CSV files: round trips to the bit, every kind of file people have, every
 * refusal with file, line and column, nothing left behind when writing fails. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include "data/table.h"
#include "tests/folder.h"
#include <clausius/random.h>
#include <clausius/table.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the tests of refusals have written goes here. */
static int clear_folder(void **state) {
    empty_folder();
    return remove_folder(state);
}

static cls_status read_bytes(const char *bytes, size_t n, cls_table **t, cls_error *error) {
    const char *path = in_folder("in.csv");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    cls_status status = cls_table_read(path, t, error);
    unlink(path);
    return status;
}

static cls_table *good(const char *text) {
    cls_table *t;
    cls_error error = {0};
    cls_status status = read_bytes(text, strlen(text), &t, &error);
    if (status) fail_msg("%s", error.message);
    return t;
}

static void refused(const char *text, int line, int column, const char *says) {
    cls_table *t;
    cls_error error = {0};
    assert_int_equal(read_bytes(text, strlen(text), &t, &error), CLS_DATA);
    assert_null(t);
    assert_int_equal(error.line, line);
    assert_int_equal(error.column, column);
    char where[32];
    snprintf(where, sizeof where, "in.csv:%d: ", line);
    if (line) assert_non_null(strstr(error.message, where));
    if (!strstr(error.message, says)) fail_msg("expected \"%s\" in: %s", says, error.message);
}

static void test_bits_survive(void **state) {
    (void)state;
    const char *names[] = {"time", "a,b", "with \"quotes\"", "two words", "#hash", "1.5"};
    cls_table *t, *back;
    cls_error error;
    assert_int_equal(cls_table_create(6, names, &t, &error), CLS_OK);
    cls_random r;
    cls_random_seed(&r, 7);
    for (int i = 0; i < 20000; i++) {
        double row[6];
        for (int c = 0; c < 6; c++) do {
                uint64_t bits = cls_random_next(&r);
                memcpy(&row[c], &bits, sizeof bits);
            } while (row[c] - row[c] != 0); /* any finite double at all, denormals included */
        row[0] = i ? i : -0.0;
        assert_int_equal(cls_table_append(t, row, &error), CLS_OK);
    }
    assert_int_equal(cls_table_set_note(t, "system", "damped-oscillator", &error), CLS_OK);
    assert_int_equal(cls_table_set_note(t, "set", "k=1, m: 2", &error), CLS_OK);
    assert_int_equal(cls_table_write(t, in_folder("t.csv"), &error), CLS_OK);
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(cls_table_read(in_folder("t.csv"), &back, &error), CLS_OK);
    assert_int_equal(cls_table_rows(back), 20000);
    assert_int_equal(cls_table_columns(back), 6);
    for (size_t c = 0; c < 6; c++) {
        assert_string_equal(cls_table_name(back, c), names[c]);
        assert_memory_equal(cls_table_column(t, c), cls_table_column(back, c),
                            20000 * sizeof(double));
    }
    assert_string_equal(cls_table_note(back, "set"), "k=1, m: 2");
    assert_string_equal(cls_table_note(back, "system"), "damped-oscillator");
    unlink(in_folder("t.csv"));
    cls_table_free(&t);
    cls_table_free(&back);
    assert_null(t);
    cls_table_free(&t);
}

/* One column whose name could be taken for two, or for a number, or for a comment. */
static void test_single_column_names_survive(void **state) {
    (void)state;
    const char *names[] = {"a b", "1",   "#x", "a;b", "a\tb",
                           " x ", "nan", "\"", "x",   "\xef\xbb\xbfx"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cls_table *t, *back;
        cls_error error;
        assert_int_equal(cls_table_create(1, &names[i], &t, &error), CLS_OK);
        assert_int_equal(cls_table_append(t, &(double){i}, &error), CLS_OK);
        assert_int_equal(cls_table_write(t, in_folder("n.csv"), &error), CLS_OK);
        if (cls_table_read(in_folder("n.csv"), &back, &error)) fail_msg("%s", error.message);
        assert_int_equal(cls_table_columns(back), 1);
        assert_string_equal(cls_table_name(back, 0), names[i]);
        assert_true(cls_table_column(back, 0)[0] == (double)i);
        cls_table_free(&t);
        cls_table_free(&back);
    }
    unlink(in_folder("n.csv"));
}

/* The same table in every dress. */
static void test_dialects(void **state) {
    (void)state;
    const char *files[] = {
        "time,x,v.x\n0,1,2\n0.5,-3,4e1\n",
        "time,x,v.x\r\n0,1,2\r\n0.5,-3,4e1\r\n",
        "\xef\xbb\xbftime,x,v.x\n0,1,2\n0.5,-3,4e1",
        ("# key: value\n#\n# a comment\n\n time , \"x\" , v.x \n 0 , 1 , 2 \n\n# "
         "c\n\"0.5\",-3,\t4e1\n"),
        "time;x;v.x\n0;1;2\n0.5;-3;40\n",
        "time\tx\tv.x\n0\t1\t2\n0.5\t -3\t40\t\n",
        "  time   x   v.x\n  0  1  2 \n\t0.5 -3 40\n",
        "#key:value\ntime,x,v.x\n+0,1.,2\n.5,-3E0,0x28\n   \n",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        cls_table *t = good(files[i]);
        assert_int_equal(cls_table_columns(t), 3);
        assert_int_equal(cls_table_rows(t), 2);
        assert_int_equal(cls_table_find(t, "time"), 0);
        assert_int_equal(cls_table_find(t, "x"), 1);
        assert_int_equal(cls_table_find(t, "v.x"), 2);
        assert_int_equal(cls_table_find(t, "y"), -1);
        const double *time = cls_table_column(t, 0), *x = cls_table_column(t, 1);
        const double *v = cls_table_column(t, 2);
        assert_true(time[0] == 0 && time[1] == 0.5 && x[0] == 1 && x[1] == -3);
        assert_true(v[0] == 2 && v[1] == 40);
        if (strstr(files[i], "key")) assert_string_equal(cls_table_note(t, "key"), "value");
        assert_null(cls_table_note(t, "a comment"));
        cls_table_free(&t);
    }
    cls_table *t = good("time,x\n"); /* a header alone is a table without rows */
    assert_int_equal(cls_table_rows(t), 0);
    cls_table_free(&t);
}

static void test_refusals(void **state) {
    (void)state;
    refused("", 0, 0, "no table in it");
    refused("# only: notes\n\n", 0, 0, "no table in it");
    refused("time,x,x\n", 1, 3, "columns 2 and 3 have the same name \"x\"");
    refused("time,,x\n", 1, 2, "column 2 has no name");
    refused("time,x,v.x\n0,1,2\n1,2\n", 3, 0, "2 cells, expected 3 as the header says; \"v.x\"");
    refused("time,x\n0,1\n1,2,3\n", 3, 0, "more cells than the 2 columns");
    refused("time,x\n0,1\n1,\n", 3, 2, "column \"x\": expected a finite number, found nothing");
    refused("time\tx\ty\n0\t\t3\n", 2, 2, "found nothing");
    refused("time,x\n0,nan\n", 2, 2, "column \"x\": expected a finite number, found \"nan\"");
    refused("time,x\n0,-inf\n", 2, 2, "found \"-inf\"");
    refused("time,x\n1e999,0\n", 2, 1, "found \"1e999\"");
    refused("time,x\n0,1.5x\n", 2, 2, "found \"1.5x\"");
    refused("time,x\n0,\"1\n", 2, 2, "column \"x\"");
    refused("time;x\n0.5;1,5\n", 2, 2, "the decimals above have a point");
    refused("time;x\n0;1,5\n1;1.234\n", 3, 2, "the decimals above have a comma");
    refused("time;x\n0;1\te\n", 2, 2, "found \"1\\te\"");
    refused("time,x\n0,a\x1b[31m\n", 2, 2, "found \"a\\x1b[31m\"");
    refused("time,x\r0,1\r", 1, 0, "a carriage return inside the line");
    refused("time x\n0 1 2\n", 2, 0, "more cells");
    refused("time x\n0 1-2\n", 2, 2, "found \"1-2\"");
}

static void test_binary_and_long_lines(void **state) {
    (void)state;
    cls_table *t;
    cls_error error;
    assert_int_equal(read_bytes("time,x\n0,1\n\0\0", 13, &t, &error), CLS_DATA);
    assert_non_null(strstr(error.message, "in.csv:3: a zero byte"));
    size_t n = 3 << 20;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, 'a', n);
    memcpy(text, "time\n0\n", 7);
    assert_int_equal(read_bytes(text, n, &t, &error), CLS_DATA);
    assert_non_null(strstr(error.message, "in.csv:3"));
    assert_non_null(strstr(error.message, "found \"aaa"));
    assert_null(t);
    memset(text + 7, ' ', n - 9); /* longer than a block, and a good line */
    memcpy(text + n - 2, "7\n", 2);
    assert_int_equal(read_bytes(text, n, &t, &error), CLS_OK);
    assert_int_equal(cls_table_rows(t), 2);
    assert_true(cls_table_column(t, 0)[1] == 7);
    cls_table_free(&t);
    free(text);
}

/* A file of 300,000 rows; 0 where it is not built in. */
static int write_many(const char *path, size_t rows, int told) {
    const char *names[] = {"time", "x"};
    cls_writer *w;
    cls_error error;
    cls_status status = cls_writer_open(path, 0, NULL, NULL, 2, names, &w, &error);
    if (status == CLS_USAGE) return 0;
    assert_int_equal(status, CLS_OK);
    if (told) assert_int_equal(cls_writer_expect(w, rows, &error), CLS_OK);
    for (size_t i = 0; i < rows; i++)
        assert_int_equal(cls_writer_row(w, (double[]){(double)i, 1.0 / (double)(i + 1)}, NULL), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(cls_writer_commit(&w, &error), CLS_OK);
    assert_null(w);
    return 1;
}

/* Rows that straddle the blocks of writer and reader come out whole. */
static void test_many_blocks(void **state) {
    (void)state;
    static const char *const files[] = {"b.csv", "b.npz", "b.h5", "b.npz", "b.h5"};
    size_t rows = 300000; /* about 6 MB of text: six blocks */
    for (size_t f = 0; f < 5; f++) {
        const char *path = in_folder(files[f]);
        cls_error error;
        cls_table *t;
        if (!write_many(path, rows, f < 3)) continue;
        assert_int_equal(cls_table_read(path, &t, &error), CLS_OK);
        assert_int_equal(cls_table_rows(t), rows);
        for (size_t i = 0; i < rows; i++) {
            assert_true(cls_table_column(t, 0)[i] == (double)i);
            assert_true(cls_table_column(t, 1)[i] == 1.0 / (double)(i + 1));
        }
        cls_table_free(&t);
        unlink(path);
    }
}

/* How many rows a file has is guessed from its first ones: wrong by ten times, both ways. */
static void test_rows_of_other_lengths(void **state) {
    (void)state;
    enum { HALF = 40000 };
    for (int longer = 0; longer < 2; longer++) {
        const char *path = in_folder("lengths.csv");
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        fputs("a,b,c\n", f);
        for (int i = 0; i < 2 * HALF; i++) {
            if ((i < HALF) == longer)
                fprintf(f, "%.17g,%.17g,%d\n", 0.1 + i, -1.0 / (i + 3), i);
            else
                fprintf(f, "%d,%d,%d\n", i % 7, i % 5, i);
        }
        assert_int_equal(fclose(f), 0);
        cls_table *t;
        assert_int_equal(cls_table_read(path, &t, NULL), CLS_OK);
        assert_int_equal(cls_table_rows(t), 2 * HALF);
        for (int i = 0; i < 2 * HALF; i++) {
            int is_long = (i < HALF) == longer;
            assert_true(cls_table_column(t, 0)[i] == (is_long ? 0.1 + i : i % 7));
            assert_true(cls_table_column(t, 1)[i] == (is_long ? -1.0 / (i + 3) : i % 5));
            assert_true(cls_table_column(t, 2)[i] == i);
        }
        cls_table_free(&t);
        unlink(path);
    }
}

static int after_two(void *count) {
    return ++*(int *)count > 2;
}

/* Whoever is asked says no at the third block: there is no file, and the one before is as it was. */
static void test_writing_can_be_stopped(void **state) {
    (void)state;
    static const char *const files[] = {"s.csv", "s.npz", "s.h5"};
    enum { ROWS = 500000 };
    double *x = calloc(ROWS, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < ROWS; i++) x[i] = 1.0 / (double)(i + 3);
    const char *names[] = {"a", "b"};
    const double *columns[] = {x, x};
    cls_error error;
    for (size_t f = 0; f < 6; f++) {
        const char *path = in_folder(files[f % 3]);
        cls_table *t;
        assert_int_equal(cls_table_borrow(2, names, f < 3 ? ROWS : 7, columns, &t, &error), CLS_OK);
        if (f >= 3 && cls_table_write(t, path, &error) == CLS_OK) { /* there was one before */
            cls_table_free(&t);
            assert_int_equal(cls_table_borrow(2, names, ROWS, columns, &t, &error), CLS_OK);
        }
        int asked = 0;
        cls_write_options o = cls_write_defaults();
        o.stop = after_two;
        o.context = &asked;
        cls_status status = cls_table_write_with(t, path, &o, &error);
        cls_table_free(&t);
        if (status == CLS_USAGE) continue; /* built without it */
        assert_int_equal(status, CLS_INTERRUPTED);
        assert_int_equal(asked, 3);
        assert_non_null(strstr(error.message, "interrupted while writing"));
        if (f < 3) {
            assert_int_equal(access(path, F_OK), -1);
            continue;
        }
        assert_int_equal(cls_table_read(path, &t, &error), CLS_OK);
        assert_int_equal(cls_table_rows(t), 7);
        cls_table_free(&t);
        unlink(path);
    }
    free(x);
}

/* Of arrays exactly as many rows come as were told; nothing is left where they do not. */
static void test_other_rows_than_told(void **state) {
    (void)state;
    const char *names[] = {"x"}, *path = in_folder("b.npz");
    cls_writer *w;
    cls_error error;
    assert_int_equal(cls_writer_open(path, 0, NULL, NULL, 1, names, &w, &error), CLS_OK);
    assert_int_equal(cls_writer_expect(w, 2, &error), CLS_OK);
    assert_int_equal(cls_writer_expect(w, 2, &error), CLS_USAGE);
    assert_int_equal(cls_writer_row(w, (double[]){1}, &error), CLS_OK);
    assert_int_equal(cls_writer_commit(&w, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "2 rows were said to come, there are 1"));
    assert_int_equal(cls_writer_open(path, 0, NULL, NULL, 1, names, &w, &error), CLS_OK);
    assert_int_equal(cls_writer_expect(w, 0, &error), CLS_OK);
    assert_int_equal(cls_writer_row(w, (double[]){1}, &error), CLS_USAGE);
    cls_writer_discard(&w);
    assert_int_equal(access(path, F_OK), -1);
}

/* Ranges of rows, however they are cut, give every row of arrays once. */
static void test_ranges_of_arrays(void **state) {
    (void)state;
    static const char *const files[] = {"r.npz", "r.h5"};
    size_t rows = 300000, got;
    static double time[4096];
    for (size_t f = 0; f < 2; f++) {
        const char *path = in_folder(files[f]);
        cls_reader *r;
        cls_error error;
        if (!write_many(path, rows, 1)) continue;
        assert_int_equal(cls_reader_open(path, NULL, &r, &error), CLS_OK);
        assert_int_equal(clsi_reader_size(r), rows);
        for (size_t part = 3; part-- > 0;) { /* from the last one to the first */
            size_t at = part * 100001, end = part == 2 ? rows : at + 100001;
            assert_int_equal(clsi_reader_seek(r, at, end, &error), CLS_OK);
            do {
                assert_int_equal(clsi_reader_place(r), at);
                assert_int_equal(cls_reader_next(r, 4096, (double *[]){time, NULL}, &got, &error),
                                 CLS_OK);
                for (size_t i = 0; i < got; i++) assert_true(time[i] == (double)at++);
            } while (got);
            assert_int_equal(at, end);
        }
        cls_reader_close(&r);
        unlink(path);
    }
}

/* Arrays bring columns by the hundred thousand; what no file has is refused before memory is. */
/* Ranges of bytes, however they are cut, give every row once: also with notes, blank lines and CR. */
static void test_ranges(void **state) {
    (void)state;
    char path[] = "/tmp/clausius-ranges-XXXXXX";
    int fd = mkstemp(path);
    FILE *out = fdopen(fd, "w");
    assert_non_null(out);
    fputs("# a note\nx,y\n", out);
    for (int i = 0; i < 500; i++) {
        fprintf(out, "%d,%g%s\n", i, 0.1 * i * i, i % 3 ? "" : "\r");
        if (i % 7 == 0) fputs(i % 2 ? "\n" : "# between\n", out);
    }
    fclose(out);
    for (size_t n = 1; n < 40; n += 3) {
        double next = 0;
        for (size_t k = 0; k < n; k++) {
            cls_reader *r;
            double x[7], y[7], *columns[] = {x, y};
            size_t got = 1;
            assert_int_equal(cls_reader_open(path, NULL, &r, NULL), CLS_OK);
            size_t begin = (size_t)clsi_reader_place(r),
                   bytes = (size_t)clsi_reader_size(r) - begin;
            assert_int_equal(
                clsi_reader_seek(r, begin + bytes * k / n, begin + bytes * (k + 1) / n, NULL),
                CLS_OK);
            while (got) {
                assert_int_equal(cls_reader_next(r, 7, columns, &got, NULL), CLS_OK);
                for (size_t i = 0; i < got; i++) assert_true(x[i] == next++);
            }
            cls_reader_close(&r);
        }
        assert_true(next == 500);
    }
    unlink(path);
}

static void test_columns_limit(void **state) {
    (void)state;
    clsi_text text = {0};
    for (int i = 0; i < 20000; i++) clsi_text_printf(&text, "%sc%d", i ? "," : "", i);
    cls_table *t = good(text.data);
    assert_int_equal(cls_table_columns(t), 20000);
    cls_table_free(&t);
    clsi_text_clear(&text);
    cls_error error = {0};
    const char *name = "c";
    assert_int_equal(cls_table_create(4000001, &name, &t, &error), CLS_USAGE);
    assert_null(t);
    assert_non_null(strstr(error.message, "at most 4000000"));
}

static void test_bad_names_and_notes(void **state) {
    (void)state;
    cls_table *t;
    cls_error error;
    const char *twice[] = {"x", "x"}, *empty[] = {""}, *lines[] = {"a\nb"}, *fine[] = {"x"};
    assert_int_equal(cls_table_create(2, twice, &t, &error), CLS_USAGE);
    assert_null(t);
    assert_int_equal(cls_table_create(1, empty, &t, &error), CLS_USAGE);
    assert_int_equal(cls_table_create(1, lines, &t, NULL), CLS_USAGE);
    assert_int_equal(cls_table_create(0, NULL, &t, &error), CLS_USAGE);
    assert_int_equal(cls_table_create(1, fine, &t, &error), CLS_OK);
    assert_int_equal(cls_table_set_note(t, "a b", "v", &error), CLS_USAGE);
    assert_int_equal(cls_table_set_note(t, "a", "v\nw", &error), CLS_USAGE);
    assert_int_equal(cls_table_set_note(t, "a", "1", &error), CLS_OK);
    assert_int_equal(cls_table_set_note(t, "a", "2", &error), CLS_OK);
    assert_string_equal(cls_table_note(t, "a"), "2");
    cls_table_free(&t);
}

static void test_writing_fails(void **state) {
    (void)state;
    const char *names[] = {"x"}, *keys[] = {"k"}, *values[] = {"two\nlines"};
    cls_writer *w;
    cls_error error;
    assert_int_equal(cls_writer_open("/no/such/place/a.csv", 0, NULL, NULL, 1, names, &w, &error),
                     CLS_IO);
    assert_null(w);
    assert_non_null(strstr(error.message, "No such file"));
    assert_int_equal(cls_writer_open(in_folder("a.csv"), 1, keys, values, 1, names, &w, &error),
                     CLS_USAGE);
    assert_int_equal(cls_writer_open(in_folder("a.csv"), 0, NULL, NULL, 1, names, &w, &error), 0);
    assert_int_equal(cls_writer_row(w, (double[]){1}, &error), CLS_OK);
    cls_writer_discard(&w);
    assert_null(w);
    assert_int_equal(files_in_folder(), 0);
}

static void test_full_device(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0) skip();
    const char *names[] = {"x"};
    cls_writer *w;
    cls_error error;
    assert_int_equal(cls_writer_open("/dev/full", 0, NULL, NULL, 1, names, &w, &error), CLS_OK);
    assert_int_equal(cls_writer_row(w, (double[]){1}, &error), CLS_OK);
    assert_int_equal(cls_writer_commit(&w, &error), CLS_IO);
    assert_null(w);
    assert_non_null(strstr(error.message, "No space left"));
    /* A long run learns it on the way, not only at the end. */
    assert_int_equal(cls_writer_open("/dev/full", 0, NULL, NULL, 1, names, &w, &error), CLS_OK);
    cls_status status = CLS_OK;
    for (int i = 0; i < 200000 && !status; i++)
        status = cls_writer_row(w, (double[]){1.0 / 3}, &error);
    assert_int_equal(status, CLS_IO);
    assert_non_null(strstr(error.message, "No space left"));
    cls_writer_discard(&w);
}

static void test_reading_fails(void **state) {
    (void)state;
    cls_table *t;
    cls_error error;
    assert_int_equal(cls_table_read(in_folder("absent.csv"), &t, &error), CLS_IO);
    assert_non_null(strstr(error.message, "absent.csv"));
    assert_int_equal(cls_table_read(folder, &t, &error), CLS_IO);
    assert_null(t);
}

/* A table over columns of somebody else: the same pointers, nothing freed, no rows appended. */
static void test_borrowed(void **state) {
    (void)state;
    const char *names[] = {"time", "q"};
    double time[] = {0, 1, 2}, q[] = {3, 4, 5}, row[] = {3, 6};
    const double *columns[] = {time, q};
    cls_table *t;
    cls_error error = {0};
    assert_int_equal(cls_table_borrow(2, names, 3, columns, &t, &error), CLS_OK);
    assert_int_equal(cls_table_rows(t), 3);
    assert_ptr_equal(cls_table_column(t, 1), q);
    assert_int_equal(cls_table_append(t, row, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "borrowed"));
    cls_table_free(&t);
    assert_null(t);
    assert_true(q[2] == 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_survive),
        cmocka_unit_test(test_single_column_names_survive),
        cmocka_unit_test(test_dialects),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_binary_and_long_lines),
        cmocka_unit_test(test_many_blocks),
        cmocka_unit_test(test_rows_of_other_lengths),
        cmocka_unit_test(test_writing_can_be_stopped),
        cmocka_unit_test(test_other_rows_than_told),
        cmocka_unit_test(test_ranges_of_arrays),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_columns_limit),
        cmocka_unit_test(test_bad_names_and_notes),
        cmocka_unit_test(test_writing_fails),
        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_reading_fails),
        cmocka_unit_test(test_borrowed),
    };
    return cmocka_run_group_tests(tests, make_folder, clear_folder);
}
