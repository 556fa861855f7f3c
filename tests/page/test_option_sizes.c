/* Programs that were compiled with an older header hand over shorter structs of options: nothing
 * behind their size is read, and the defaults stand for it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <clausius/clausius.h>
#include <clausius/export.h>
#include <clausius/invariants.h>
#include <clausius/report.h>
#include <clausius/table.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Everything behind `field` is garbage that breaks what reads it. */
#define SHORTEN(o, field)                                                                          \
    do {                                                                                           \
        size_t end = offsetof(__typeof__(o), field) + sizeof(o).field;                             \
        memset((char *)&(o) + end, 0x11, sizeof(o) - end);                                         \
        (o).size = end;                                                                            \
    } while (0)

static cls_system *load(const char *name) {
    cls_error e;
    cls_system *s;
    if (cls_system_load(name, NULL, &s, &e)) fail_msg("%s", e.message);
    return s;
}

static void reports(void **state) {
    (void)state;
    cls_system *s = load("pendulum");
    cls_error e;
    cls_report_subject subject = {.name = "pendulum", .system = s};
    cls_report_options o = cls_report_defaults();
    char *json = NULL;
    o.title = "short";
    SHORTEN(o, title);
    if (cls_report_json(1, &subject, 0, NULL, NULL, &o, &json, &e)) fail_msg("%s", e.message);
    assert_non_null(json);
    cls_text_free(&json);
    cls_system_free(&s);
}

static void exports(void **state) {
    (void)state;
    cls_system *s = load("pendulum");
    cls_error e;
    char path[64];
    cls_export_options o = cls_export_defaults();
    snprintf(path, sizeof path, "/tmp/clausius_sizes_%ld.mjs", (long)getpid());
    o.scheme = "leapfrog";
    SHORTEN(o, scheme);
    if (cls_export("js", s, NULL, &o, path, NULL, &e)) fail_msg("%s", e.message);
    remove(path);
    cls_system_free(&s);
}

static void invariants(void **state) {
    (void)state;
    cls_system *s = load("mass-spring");
    cls_error e;
    cls_invariants *found;
    cls_invariants_options o = cls_invariants_defaults();
    SHORTEN(o, states);
    if (cls_invariants_find(s, NULL, &o, &found, &e)) fail_msg("%s", e.message);
    cls_invariants_free(&found);
    cls_system_free(&s);
}

static void tables(void **state) {
    (void)state;
    cls_error e;
    cls_table *t;
    char path[64];
    snprintf(path, sizeof path, "/tmp/clausius_sizes_%ld.csv", (long)getpid());
    FILE *f = fopen(path, "w");
    fputs("1,2\n3,4\n", f);
    fclose(f);
    cls_read_options o = cls_read_defaults();
    o.columns = "time, x";
    SHORTEN(o, columns);
    if (cls_table_read_with(path, &o, &t, &e)) fail_msg("%s", e.message);
    assert_string_equal(cls_table_name(t, 1), "x");
    cls_write_options w = cls_write_defaults();
    SHORTEN(w, size);
    if (cls_table_write_with(t, path, &w, &e)) fail_msg("%s", e.message);
    cls_table_free(&t);
    remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reports), cmocka_unit_test(exports),
                                       cmocka_unit_test(invariants), cmocka_unit_test(tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
