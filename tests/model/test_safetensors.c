/* The container: what was written is read to the bit, by us and by a stranger's reader; what was
 * not written by us is read or refused, never trusted; a failed write leaves nothing. SHA-256
 * against the vectors of FIPS 180-4. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include "model/safetensors.h"
#include "tests/folder.h"
#include <clausius/random.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char model[128]; /* the file most tests use */

static int begin(void **state) {
    if (make_folder(state)) return -1;
    snprintf(model, sizeof model, "%s/m.safetensors", folder);
    return 0;
}

static int end(void **state) {
    empty_folder();
    return remove_folder(state);
}

static void put_bytes(const char *path, const char *bytes, size_t n) {
    unlink(path); /* a file system may sync a file that is overwritten: slow, 20,000 times */
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static char *get_bytes(const char *path, size_t *n) {
    char *data;
    cls_error error;
    if (clsi_read_file(path, 1 << 24, &data, n, &error)) fail_msg("%s", error.message);
    return data;
}

static void note(clsi_container *c, const char *key, const char *value) {
    assert_int_equal(clsi_container_add_note(c, key, value, NULL), CLS_OK);
}

static void tensor(clsi_container *c, const char *name, size_t n, const double *values) {
    assert_int_equal(clsi_container_add_tensor(c, name, n, values, NULL), CLS_OK);
}

static void write_it(const char *path, const clsi_container *c) {
    cls_error error;
    if (clsi_container_write(path, c, &error)) fail_msg("%s", error.message);
}

static void assert_same(const clsi_container *a, const clsi_container *b) {
    assert_int_equal(a->n_notes, b->n_notes);
    for (size_t i = 0; i < a->n_notes; i++) {
        assert_string_equal(a->keys[i], b->keys[i]);
        assert_string_equal(a->values[i], b->values[i]);
    }
    assert_int_equal(a->n_tensors, b->n_tensors);
    for (size_t i = 0; i < a->n_tensors; i++) {
        const clsi_tensor *s = &a->tensors[i], *t = &b->tensors[i];
        assert_string_equal(s->name, t->name);
        assert_int_equal(s->n, t->n);
        if (s->n) assert_memory_equal(s->values, t->values, s->n * sizeof(double));
    }
}

/* Everything that can go wrong with numbers and with strings. */
static clsi_container difficult(void) {
    clsi_container c = {0};
    uint64_t bits[2] = {UINT64_C(0x7ff0dead0000beef), UINT64_C(0xfff8000000000001)};
    double v[8] = {0.1, -0.0, DBL_TRUE_MIN, -DBL_MAX, INFINITY, -INFINITY};
    memcpy(&v[6], bits, sizeof bits); /* a signalling and a quiet NaN with their payloads */
    note(&c, "format", "clausius-model 1");
    note(&c, "text", "two\nlines\t\"quoted\\\" \x01 \x7f {[,:");
    note(&c, "", "\"[[[[");
    note(&c, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\xa1", "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf");
    tensor(&c, "theta", 8, v);
    tensor(&c, "none", 0, NULL);
    tensor(&c, "a \"name\"", 3, (double[]){1, 2, 3});
    return c;
}

static void test_round_trip(void **state) {
    (void)state;
    clsi_container c = difficult(), back;
    write_it(model, &c);
    cls_error error;
    if (clsi_container_read(model, &back, &error)) fail_msg("%s", error.message);
    assert_same(&c, &back);
    assert_string_equal(clsi_container_note(&back, "format"), "clausius-model 1");
    assert_null(clsi_container_note(&back, "Format"));

    /* Equal containers are equal files, and the numbers begin at a multiple of 8. */
    char again[160];
    snprintf(again, sizeof again, "%s.again", model);
    write_it(again, &back);
    size_t n, m;
    char *first = get_bytes(model, &n), *second = get_bytes(again, &m);
    assert_int_equal(n, m);
    assert_memory_equal(first, second, n);
    assert_int_equal((n - 11 * 8) % 8, 0);
    const unsigned char tenth[8] = {0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f};
    assert_memory_equal(first + n - 11 * 8, tenth, 8); /* 0.1, little endian on any machine */
    free(first);
    free(second);
    clsi_container_clear(&c);
    clsi_container_clear(&back);
    assert_int_equal(empty_folder(), 2);
}

static void test_empty_and_large(void **state) {
    (void)state;
    clsi_container c = {0}, back;
    write_it(model, &c);
    assert_int_equal(clsi_container_read(model, &back, NULL), CLS_OK);
    assert_int_equal(back.n_notes + back.n_tensors, 0);
    enum { n = 100003 };
    double *v = malloc(n * sizeof *v);
    assert_non_null(v);
    cls_random r;
    cls_random_seed(&r, 5);
    for (size_t i = 0; i < n; i++) v[i] = cls_random_normal(&r);
    tensor(&c, "theta", n, v);
    write_it(model, &c);
    assert_int_equal(clsi_container_read(model, &back, NULL), CLS_OK);
    assert_same(&c, &back);
    free(v);
    clsi_container_clear(&c);
    clsi_container_clear(&back);
    empty_folder();
}

/* examples/read_model.py is written from the document alone and must see the same. */
static void test_independent_reader(void **state) {
    (void)state;
    clsi_container c = {0};
    const double v[] = {0.1, -0.0, DBL_TRUE_MIN, 1e300, -7};
    note(&c, "system_name", "piston \xc3\xa9\n\"x\"");
    tensor(&c, "scale", 1, v);
    tensor(&c, "theta", 5, v);
    write_it(model, &c);
    char command[512], line[256];
    snprintf(command, sizeof command, "/usr/bin/python3 %s/examples/read_model.py %s",
             CLSI_SOURCE_DIR, model);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    assert_non_null(fgets(line, sizeof line, out));
    assert_string_equal(line, "system_name: \"piston \\u00e9\\n\\\"x\\\"\"\n");
    for (size_t k = 0; k < 2; k++) {
        char expected[64];
        snprintf(expected, sizeof expected, "%s: %zu numbers\n", c.tensors[k].name, c.tensors[k].n);
        assert_non_null(fgets(line, sizeof line, out));
        assert_string_equal(line, expected);
        for (size_t i = 0; i < c.tensors[k].n; i++) {
            assert_non_null(fgets(line, sizeof line, out));
            double got = strtod(line, NULL);
            assert_memory_equal(&got, &v[i], sizeof got);
        }
    }
    assert_null(fgets(line, sizeof line, out));
    assert_int_equal(pclose(out), 0);
    clsi_container_clear(&c);
    empty_folder();
}

/* ---- Files from strangers ---- */

/* The read must be refused as a bad model, naming the file and leaving the container empty. */
static void assert_refused(const char *path, const char *word) {
    clsi_container c;
    cls_error error = {0};
    cls_status status = clsi_container_read(path, &c, &error);
    if (status != CLS_SYSTEM) fail_msg("status %d, expected a refusal: %s", status, word);
    assert_int_equal(error.status, CLS_SYSTEM);
    assert_true(strncmp(error.message, path, strlen(path)) == 0);
    if (!strstr(error.message, word)) fail_msg("no '%s' in: %s", word, error.message);
    for (const char *s = error.message; *s; s++) assert_true(*s >= ' ' && *s < 127);
    assert_true(!c.keys && !c.values && !c.tensors && c.n_notes + c.n_tensors == 0);
}

/* A file of this header with its right length, and `n` bytes of data. */
static void put_header(const char *header, size_t length, size_t n) {
    char *bytes = calloc(8 + length + n, 1);
    assert_non_null(bytes);
    for (int k = 0; k < 8; k++) bytes[k] = (char)(length >> 8 * k);
    memcpy(bytes + 8, header, length);
    put_bytes(model, bytes, 8 + length + n);
    free(bytes);
}

static void header_refused(const char *header, size_t data, const char *word) {
    put_header(header, strlen(header), data);
    assert_refused(model, word);
}

#define ONE(dtype, shape, offsets)                                                                 \
    "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define TWO(first, second)                                                                         \
    "{\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":" first "},"                         \
    "\"b\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":" second "}}"

static void test_hostile_headers(void **state) {
    (void)state;
    static const struct {
        const char *header;
        size_t data;
        const char *word;
    } cases[] = {
        {"[]", 0, "begin with '{'"},
        {" {}", 0, "begin with '{'"},
        {"{}x", 0, "not JSON"},
        {"{\"a\":", 0, "not JSON"},
        {"{\"__metadata__\":{\"\xff\":\"\"}}", 0, "not JSON"},
        {"{\"__metadata__\":{\"k\":\"\xed\xa0\x80\"}}", 0, "not JSON"},
        {"{\"__metadata__\":{\"k\":\"\\u0000\"}}", 0, "not JSON"},
        {"{\"__metadata__\":{\"k\":\"\",\"\\u006b\":\"\"}}", 0, "duplicate"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "duplicate"},
        {"{\"__metadata__\":[]}", 0, "object of strings"},
        {"{\"__metadata__\":{\"k\\u001b\":1}}", 0, "'k?' is not a string"},
        {"{\"a\":1}", 0, "exactly dtype"},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[0]}}", 0, "exactly dtype"},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[0],\"offsets\":[0,0]}}", 0, "data_offsets"},
        {ONE("\"F32\"", "[2]", "[0,8]"), 8, "F32, expected F64"},
        {ONE("64", "[1]", "[0,8]"), 8, "expected F64"},
        {ONE("\"F64\"", "[]", "[0,8]"), 8, "one dimension"},
        {ONE("\"F64\"", "[1,1]", "[0,8]"), 8, "one dimension"},
        {ONE("\"F64\"", "[-1]", "[0,8]"), 8, "one dimension"},
        {ONE("\"F64\"", "[1.0]", "[0,8]"), 8, "one dimension"},
        {ONE("\"F64\"", "[99999999999999999999]", "[0,8]"), 8, "not JSON"},
        {ONE("\"F64\"", "[2305843009213693953]", "[0,8]"), 8, "expected 8 each"}, /* * 8 == 8 */
        {ONE("\"F64\"", "[1]", "[0,7]"), 8, "expected 8 each"},
        {ONE("\"F64\"", "[1]", "[0,9]"), 9, "expected 8 each"},
        {ONE("\"F64\"", "[1]", "[0]"), 8, "[begin, end]"},
        {ONE("\"F64\"", "[1]", "[-8,0]"), 8, "[begin, end]"},
        {ONE("\"F64\"", "[1]", "[8,0]"), 8, "expected a range"},
        {ONE("\"F64\"", "[2]", "[0,16]"), 8, "expected a range"},
        {ONE("\"F64\"", "[1]", "[0,9223372036854775807]"), 8, "expected a range"},
        {ONE("\"F64\"", "[1]", "[0,8]"), 9, "1 bytes after the last"},
        {"{}", 1, "1 bytes after the last"},
        {TWO("[0,16]", "[8,24]"), 24, "overlap"},
        {TWO("[0,16]", "[0,16]"), 16, "overlap"},
        {TWO("[0,16]", "[24,40]"), 40, "hole"},
        {TWO("[8,24]", "[24,40]"), 40, "hole"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        header_refused(cases[i].header, cases[i].data, cases[i].word);
    put_header("{\0}", 3, 0);
    assert_refused(model, "not JSON");
    empty_folder();
}

/* JSON objects have no order: the data's order counts. Blanks after the header are allowed. */
static void test_header_in_another_order(void **state) {
    (void)state;
    put_header(TWO("[16,32]", "[0,16]") "   ", strlen(TWO("[16,32]", "[0,16]")) + 3, 32);
    clsi_container c;
    assert_int_equal(clsi_container_read(model, &c, NULL), CLS_OK);
    assert_int_equal(c.n_tensors, 2);
    assert_string_equal(c.tensors[0].name, "b");
    assert_string_equal(c.tensors[1].name, "a");
    clsi_container_clear(&c);
    empty_folder();
}

/* What is expensive is refused before it costs: header lengths, nesting, many small values. */
static void test_bombs(void **state) {
    (void)state;
    static const uint64_t lengths[] = {0, 1, 11, 1 << 24, (1 << 24) + 1, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char bytes[18] = "........{}        ";
        for (int k = 0; k < 8; k++) bytes[k] = (char)(lengths[i] >> 8 * k);
        put_bytes(model, bytes, sizeof bytes);
        assert_refused(model, "a header of");
    }
    enum { n = (16 << 20) + 1 };
    char *header = malloc(n + 1);
    assert_non_null(header);
    memcpy(memset(header, ' ', n), "{}", 2);
    header[n] = 0;
    header_refused(header, 0, "a header of"); /* one byte too long, and all of it there */
    header[n - 1] = 0;
    clsi_container c;
    put_header(header, n - 1, 0);
    assert_int_equal(clsi_container_read(model, &c, NULL), CLS_OK);
    memcpy(memset(header, '[', n), "{\"a\":", 5);
    header[n - 1] = 0;
    header_refused(header, 0, "nested deeper");
    for (size_t i = 0; i < n; i++) header[i] = "[],"[i % 3];
    memcpy(header, "{\"a\":[", 6);
    header[n - 1] = 0;
    header_refused(header, 0, "more than 10000");
    free(header);
    /* A file that says it is huge: 2 GiB, but sparse. */
    put_header("{}", 2, 0);
    assert_int_equal(truncate(model, (off_t)1 << 31), 0);
    assert_refused(model, "bytes of numbers, expected at most");
    empty_folder();
}

static void test_not_a_file(void **state) {
    (void)state;
    assert_refused(model, "cannot open");
    assert_refused(folder, "not a regular file");
    assert_refused("/dev/zero", "not a regular file");
    assert_int_equal(mkfifo(model, 0600), 0);
    assert_refused(model, "not a regular file"); /* and does not wait for a writer */
    empty_folder();
}

/* No part of a file is a file; neither is a file with something behind it. */
static void test_every_truncation(void **state) {
    (void)state;
    clsi_container c = difficult();
    write_it(model, &c);
    clsi_container_clear(&c);
    size_t n;
    char *bytes = get_bytes(model, &n);
    for (size_t i = 0; i < n; i++) {
        put_bytes(model, bytes, i);
        assert_refused(model, i < 10 ? "expected at least 10" : "damaged");
    }
    put_bytes(model, bytes, n + 1); /* the NUL of clsi_read_file */
    assert_refused(model, "1 bytes after the last");
    free(bytes);
    empty_folder();
}

/* A changed file is refused or is another container, which then survives a round trip. */
static void survive(const char *bytes, size_t n, size_t *read) {
    put_bytes(model, bytes, n);
    clsi_container c, back;
    cls_error error = {0};
    cls_status status = clsi_container_read(model, &c, &error);
    if (status) {
        assert_true(status == CLS_SYSTEM || status == CLS_DATA); /* malformed, or its checksum */
        assert_true(error.message[0] && !c.keys && !c.tensors);
        return;
    }
    ++*read;
    if (*read % 32 == 0) { /* writing syncs, which is slow */
        write_it(model, &c);
        assert_int_equal(clsi_container_read(model, &back, NULL), CLS_OK);
        assert_same(&c, &back);
        clsi_container_clear(&back);
    }
    clsi_container_clear(&c);
}

static void test_mutations(void **state) {
    (void)state;
    clsi_container c = difficult();
    write_it(model, &c);
    clsi_container_clear(&c);
    size_t n, read = 0;
    char *bytes = get_bytes(model, &n), *changed = malloc(n);
    assert_non_null(changed);
    cls_random r;
    cls_random_seed(&r, 20000);
    enum { rounds = 20000 };
    for (int i = 0; i < rounds; i++) {
        memcpy(changed, bytes, n);
        size_t changes = 1 + cls_random_next(&r) % 3;
        for (size_t k = 0; k < changes; k++) {
            size_t at = cls_random_next(&r) % n, from = cls_random_next(&r) % n;
            /* Any byte, one bit, or a byte that occurs elsewhere: the last keeps JSON likely. */
            switch (cls_random_next(&r) % 3) {
            case 0: changed[at] = (char)cls_random_next(&r); break;
            case 1: changed[at] = (char)(changed[at] ^ 1 << cls_random_next(&r) % 8); break;
            default: changed[at] = bytes[from];
            }
        }
        survive(changed, n, &read);
    }
    assert_true(read > rounds / 20 && read < rounds); /* both ways are taken */
    free(bytes);
    free(changed);
    empty_folder();
}

/* ---- Writing ---- */

static void write_refused(clsi_container *c, const char *word) {
    cls_error error = {0};
    assert_int_equal(clsi_container_write(model, c, &error), CLS_SYSTEM);
    assert_true(strncmp(error.message, model, strlen(model)) == 0);
    if (!strstr(error.message, word)) fail_msg("no '%s' in: %s", word, error.message);
    assert_int_equal(empty_folder(), 0);
    clsi_container_clear(c);
}

static void test_what_cannot_be_read_is_not_written(void **state) {
    (void)state;
    static const char *const bad[] = {
        "Stra\xdf"
        "e",                /* Latin-1 */
        "\xc0\x80",         /* an overlong NUL */
        "\xe0\x9f\xbf",     /* overlong */
        "\xed\xa0\x80",     /* a surrogate */
        "\xf4\x90\x80\x80", /* above U+10FFFF */
        "\xf0\x9f\x8c",     /* cut off */
        "\x80",
        "\xff",
    };
    clsi_container c = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        note(&c, "key", bad[i]);
        write_refused(&c, "note 'key' is not UTF-8 at byte");
        note(&c, bad[i], "value");
        write_refused(&c, "name of note");
        tensor(&c, bad[i], 0, NULL);
        write_refused(&c, "name of tensor");
    }
    note(&c, "key", "1");
    note(&c, "key", "2");
    write_refused(&c, "'key' twice");
    tensor(&c, "theta", 0, NULL);
    tensor(&c, "theta", 0, NULL);
    write_refused(&c, "'theta' twice");
    tensor(&c, "__metadata__", 0, NULL);
    write_refused(&c, "'__metadata__' twice");
    char key[16];
    for (int i = 0; i < 10001; i++) {
        snprintf(key, sizeof key, "%d", i);
        note(&c, key, "");
    }
    write_refused(&c, "more than 10000");
    char *longest = malloc((16 << 20) + 1);
    assert_non_null(longest);
    memset(longest, 'x', 16 << 20);
    longest[16 << 20] = 0;
    note(&c, "key", longest);
    free(longest);
    write_refused(&c, "longer than 16 MB");
}

/* A full disk: an error, the old file as it was, no temporary file. */
static void test_full_disk(void **state) {
    (void)state;
    clsi_container small = difficult(), large = {0}, back;
    double v[4096] = {0};
    tensor(&large, "theta", 4096, v);
    cls_error error = {0};
    char link[160];
    snprintf(link, sizeof link, "%s/full", folder);
    assert_int_equal(symlink("/dev/full", link), 0);
    assert_int_equal(clsi_container_write(link, &small, &error), CLS_IO);
    assert_non_null(strstr(error.message, "nothing was left behind"));
    assert_int_equal(clsi_container_write(link, &large, &error), CLS_IO);
    assert_int_equal(empty_folder(), 1); /* the link */

    write_it(model, &small);
    struct rlimit old, tight;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = old;
    tight.rlim_cur = 8192;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    cls_status status = clsi_container_write(model, &large, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, CLS_IO);
    assert_int_equal(clsi_container_read(model, &back, NULL), CLS_OK);
    assert_same(&small, &back);
    assert_int_equal(empty_folder(), 1);
    clsi_container_clear(&small);
    clsi_container_clear(&large);
    clsi_container_clear(&back);
}

/* ---- SHA-256 ---- */

static void assert_hash(size_t n, const char *bytes, const char *expected) {
    char hex[65];
    put_bytes(model, bytes, n);
    assert_int_equal(clsi_sha256_file(model, NULL, NULL, hex, NULL), CLS_OK);
    assert_string_equal(hex, expected);
}

static void test_sha256(void **state) {
    (void)state;
    enum { million = 1000000 };
    char *a = malloc(million);
    assert_non_null(a);
    memset(a, 'a', million);
    assert_hash(0, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_hash(3, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_hash(million, a, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    for (long i = 0; i < million; i++) a[i] = (char)(i * i % 251);
    assert_hash(65535, a, "3c71be9af9e023e2fe4dcaef5c19b108e46fd16364a1b3863c2a15a3ee3f0a29");
    assert_hash(131072 + 64, a, "a23a4900c106eeaa2c81480261c752858898c8918834c62bd18653a68d4f0a37");
    free(a);
    char hex[65] = "x";
    cls_error error;
    empty_folder();
    assert_int_equal(clsi_sha256_file(model, NULL, NULL, hex, &error), CLS_IO);
    assert_string_equal(hex, "");
    assert_non_null(strstr(error.message, strerror(ENOENT)));
    assert_int_equal(clsi_sha256_file(folder, NULL, NULL, hex, &error), CLS_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_empty_and_large),
        cmocka_unit_test(test_independent_reader),
        cmocka_unit_test(test_hostile_headers),
        cmocka_unit_test(test_header_in_another_order),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_not_a_file),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_what_cannot_be_read_is_not_written),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_sha256),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
