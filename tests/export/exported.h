/* An exported model, compiled and loaded: what the tests of the export share. */
#ifndef TESTS_EXPORTED_H
#define TESTS_EXPORTED_H

#include <clausius/clausius.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct exported {
    char directory[64];
    void *handle, *motion;
    size_t (*size)(void);
    void (*defaults)(void *m);
    int (*start)(void *m, double time, const double *state);
    int (*step)(void *m, double h);
    void (*row)(const void *m, double *row);
    double (*energy_error)(const void *m);
    const char *(*reason)(int status);
    int max_halvings; /* -1: the default */
} exported;

static inline void *symbol_of(const exported *x, const char *name) {
    void *symbol = dlsym(x->handle, name);
    if (!symbol) fail_msg("no %s in the exported C", name);
    return symbol;
}

/* ISO C has no cast from object to function. */
#define TAKE(x, member, name)                                                                      \
    do {                                                                                           \
        void *symbol = symbol_of(x, name);                                                         \
        memcpy(&(x)->member, &symbol, sizeof symbol);                                              \
    } while (0)

static inline void exported_close(exported *x) {
    char command[128];
    if (x->handle) dlclose(x->handle);
    free(x->motion);
    snprintf(command, sizeof command, "rm -rf %s", x->directory);
    if (system(command) != 0) fail_msg("%s", command);
}

/* Exports, compiles by `compiler` (with its flags) and loads; names begin with ex. */
static inline void exported_open_halved(exported *x, const cls_system *s, const cls_model *model,
                                        const char *scheme, int max_halvings,
                                        const char *compiler) {
    char command[512], library[96];
    cls_error error = {0};
    cls_export_options o = cls_export_defaults();
    *x = (exported){.max_halvings = max_halvings};
    o.max_halvings = max_halvings;
    strcpy(x->directory, "/tmp/clausius-export-XXXXXX");
    assert_non_null(mkdtemp(x->directory));
    o.prefix = "ex";
    o.scheme = scheme;
    if (cls_export("c", s, model, &o, x->directory, NULL, &error) != CLS_OK) {
        rmdir(x->directory);
        fail_msg("%s: %s", cls_system_name(s), error.message);
    }
    snprintf(library, sizeof library, "%s/ex.so", x->directory);
    snprintf(command, sizeof command, "%s -shared -fPIC -o %s %s/ex.c -lm", compiler, library,
             x->directory);
    if (system(command) != 0) fail_msg("%s: failed: %s", cls_system_name(s), command);
    x->handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!x->handle) fail_msg("%s", dlerror());
    TAKE(x, size, "ex_size");
    TAKE(x, defaults, "ex_defaults");
    TAKE(x, start, "ex_start");
    TAKE(x, step, "ex_step");
    TAKE(x, row, "ex_row");
    TAKE(x, energy_error, "ex_energy_error");
    TAKE(x, reason, "ex_reason");
    x->motion = malloc(x->size());
    assert_non_null(x->motion);
    x->defaults(x->motion);
}

static inline void exported_open(exported *x, const cls_system *s, const cls_model *model,
                                 const char *scheme, const char *compiler) {
    exported_open_halved(x, s, model, scheme, -1, compiler);
}

/* Both from the same start, with `times` the default step: every column of every `every`-th row has the
 * same bits, and where the library fails the export does. Returns the steps made. */
static inline uint64_t exported_compare_by(exported *x, const cls_system *s, const char *scheme,
                                           double times, uint64_t steps, uint64_t every) {
    size_t columns = cls_system_column_count(s);
    double *row = malloc(2 * columns * sizeof *row), *got = row + columns;
    double *state = malloc((cls_system_state_count(s) + 1) * sizeof *state);
    cls_error error = {0};
    cls_simulator *sim = NULL;
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = scheme;
    o.h = times * cls_system_default_step(s);
    if (x->max_halvings >= 0) o.max_halvings = x->max_halvings;
    assert_int_equal(cls_system_start(s, NULL, state, &error), CLS_OK);
    assert_int_equal(cls_simulator_create(s, &o, &sim, &error), CLS_OK);
    assert_int_equal(cls_simulator_start(sim, 0, state, &error), CLS_OK);
    double h = cls_simulator_info(sim).h;
    uint64_t k = 0;
    for (; k < steps; k++) {
        cls_status status = cls_simulator_advance(sim, 1, &error);
        int mine = x->step(x->motion, h);
        if ((status == CLS_OK) != (mine == 0))
            fail_msg("%s, step %llu: %s, but %s", cls_system_name(s), (unsigned long long)k,
                     status == CLS_OK ? "the library goes on" : error.message, x->reason(mine));
        if (status != CLS_OK) break;
        if (k % every && k + 1 < steps) continue;
        assert_int_equal(cls_simulator_row(sim, row, &error), CLS_OK);
        x->row(x->motion, got);
        for (size_t c = 0; c < columns; c++)
            if (memcmp(&row[c], &got[c], sizeof *row) != 0 &&
                !(row[c] != row[c] && got[c] != got[c]))
                fail_msg("%s by %s, step %llu, %s: %a, not %a", cls_system_name(s),
                         cls_simulator_info(sim).scheme, (unsigned long long)k,
                         cls_system_column(s, c), got[c], row[c]);
    }
    cls_simulator_free(&sim);
    free(row);
    free(state);
    return k;
}

static inline uint64_t exported_compare(exported *x, const cls_system *s, const char *scheme,
                                        uint64_t steps, uint64_t every) {
    return exported_compare_by(x, s, scheme, 1, steps, every);
}

#endif
