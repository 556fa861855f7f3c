/* What a model says of itself (how many members, which rows were kept back) is the same with little memory as with much, or the
 * model cannot be read: each allocation of the library and of its reader of JSON fails in its turn. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include "model/model.h"
#include "model/safetensors.h"
#include "tests/folder.h"
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static size_t count, fails_at;

static int is_allowed(void) {
    return ++count != fails_at;
}

int cls_allocation_hook(size_t bytes) {
    (void)bytes;
    return is_allowed();
}

static void *json_allocate(size_t size) {
    if (is_allowed()) return malloc(size);
    errno = ENOMEM; /* as malloc does */
    return NULL;
}

static const char *path_of(char path[128]) {
    snprintf(path, 128, "%s/m.safetensors", folder);
    return path;
}

static void write_model(const char *path) {
    const char *const notes[][2] = {
        {"format", "clausius-model 2"},
        {"system_name", "spring"},
        {"system", "parameter k = unknown near 3\ncoordinate q\nlagrangian v.q^2/2 - "
                   "k*q^2/2\nstart q = 1, v.q = 0\nstep 0.1\n"},
        {"set", "{\"k\": 2.5}"},
        {"unknown", "[]"},
        {"provenance",
         "{\"parameters\": [{\"name\": \"k\", \"value\": 2.5, \"error\": 0.1}], \"split\": [7.5], "
         "\"covariance\": [[0.01]], \"ensemble\": [[2.25], [2.75], [3.5]]}"}};
    clsi_container c = {0};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        assert_int_equal(clsi_container_add_note(&c, notes[i][0], notes[i][1], NULL), CLS_OK);
    assert_int_equal(clsi_container_add_tensor(&c, "theta", 0, NULL, NULL), CLS_OK);
    assert_int_equal(clsi_container_add_tensor(&c, "start", 0, NULL, NULL), CLS_OK);
    assert_int_equal(clsi_container_seal(&c, NULL), CLS_OK);
    assert_int_equal(clsi_container_write(path, &c, NULL), CLS_OK);
    clsi_container_clear(&c);
}

/* All that is asked, beside its answers with memory. */
static cls_status ask(const char *path) {
    cls_model *m = NULL;
    const char *name = NULL;
    double value = 0;
    char *text = NULL;
    cls_error error;
    cls_status status = cls_model_read(path, &m, &error);
    if (status == CLS_OK) {
        assert_int_equal(cls_model_doubt_count(m), 1);
        assert_int_equal(cls_model_member_count(m), 3);
        assert_true(cls_model_test_from(m) == 7.5);
        assert_int_equal(cls_model_can_vary(m), 0);
        status = cls_model_member(m, 1, &name, &value, &error);
    }
    if (status == CLS_OK) {
        assert_string_equal(name, "k");
        assert_true(value == 2.75);
        status = cls_model_show(m, &text, &error);
    }
    if (status == CLS_OK) assert_non_null(strstr(text, "k            = 2.5 +- 0.1"));
    cls_text_free(&text);
    cls_model_free(&m);
    return status;
}

static void a_model_tells_all_or_is_not_read(void **unused) {
    (void)unused;
    char path[128];
    write_model(path_of(path));
    json_set_alloc_funcs(json_allocate, free);
    for (fails_at = 1;; fails_at++) {
        count = 0;
        cls_status status = ask(path);
        if (count < fails_at) {
            assert_int_equal(status, CLS_OK);
            break;
        }
        if (status != CLS_MEMORY && status != CLS_OK)
            fail_msg("allocation %zu: %s", fails_at, cls_status_text(status));
    }
    assert_true(fails_at > 200);
    fails_at = 0;
    empty_folder();
    json_set_alloc_funcs(malloc, free);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        a_model_tells_all_or_is_not_read, make_folder, remove_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
