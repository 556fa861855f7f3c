/* Where could a law break? Every built-in system, those of hostile.h, and every scheme that keeps the energy, with
 * parameters multiplied by 1e-6 .. 1e6 one at a time and in random pairs, steps from 1e-6 to 10 times
 * the default, starts near the boundaries of the domain, and models that nobody trained. Each run
 * holds both laws, as the judge sees them, or is refused with CLS_NUMERIC and a sentence
 * (docs/laws.md, 1 and 2).
 *
 * Systems are shared out to as many processes as there are processors; the runs do not depend on it.
 * CLAUSIUS_SWEEP = k makes every k-th run only; CLAUSIUS_SWEEP_SEED another choice of them. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#endif
#include "tests/audit/trial.h"
#include "tests/long/chance.h"
#include "tests/long/hostile.h"
#include "model/model.h"
#include "tests/learn/made_data.h"
#include <clausius/random.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 50, MOST = 32, PAIRS = 40, MODELS = 20, DECADES = 6, INTERNAL = 2000, MANY = 7 };

/* Fields in space are swept with few elements: their sizes are no parameters to multiply. */
static const struct smaller {
    const char *system, *names[2];
    double values[2];
    size_t n;
} smaller[] = {{"heat-rod", {"N"}, {8}, 1},       {"heat-plate", {"N"}, {3}, 1},
               {"elastic-string", {"N"}, {6}, 1}, {"elastic-beam", {"N"}, {6}, 1},
               {"fput", {"N"}, {8}, 1},           {"kdv", {"N"}, {12}, 1},
               {"burgers", {"N"}, {8}, 1},        {"cahn-hilliard", {"N"}, {12}, 1},
               {"allen-cahn", {"N"}, {12}, 1},    {"building", {"N", "M"}, {5, 5}, 2},
               {"battery-pack", {"N"}, {8}, 1},   {"viscoelastic-bar", {"N"}, {4}, 1},
               {"fuel-cell", {"N"}, {2}, 1}};

/* Seen by all processes. */
typedef struct shared {
    atomic_size_t next, count[3], unbuilt;
} shared;

typedef struct sweep {
    size_t thin, seed, count[3]; /* count: of the present system */
    const struct smaller *size;  /* of the present system, NULL: as it is */
    cls_random random;
    shared *all;
    int helper; /* a process that the test began */
} sweep;

/* One of so many, not always the same one. */
static int chosen(sweep *w) {
    return w->thin < 2 || cls_random_next(&w->random) % w->thin == 0;
}

static double number(const char *name, double otherwise) {
    const char *text = getenv(name);
    return text && *text ? atof(text) : otherwise;
}

/* A run that is refused was refused for a reason of arithmetic, which try_motion has seen to. */
static void motion(sweep *w, const cls_system *s, const double *start, const char *scheme, double h,
                   const char *what) {
    char why[640];
    int adaptive = strstr(scheme, "adaptive") != NULL;
    trial r = {.scheme = scheme, .h = h, .steps = STEPS, .every = 1};
    if (adaptive) r.steps = 10, r.internal = INTERNAL;
    verdict v = try_motion(s, start, r, why, sizeof why);
    w->count[v]++;
    if (v == BROKEN)
        printf("# broken: %s by %s, h = %g, %s: %s\n", cls_system_name(s), scheme, h, what, why);
    if (v == REFUSED && getenv("CLAUSIUS_SWEEP_VERBOSE"))
        printf("# refused: %s by %s, h = %g, %s: %s\n", cls_system_name(s), scheme, h, what, why);
    fflush(stdout);
}

/* A built-in system by its name, or one by its text. */
static cls_status open_system(const sweep *w, const char *name, cls_assignments set, cls_system **s,
                              cls_error *error) {
    const char *names[4];
    double values[4];
    size_t n = set.n;
    for (size_t i = 0; i < n; i++) names[i] = set.names[i], values[i] = set.values[i];
    for (size_t i = 0; w->size && i < w->size->n; i++, n++)
        names[n] = w->size->names[i], values[n] = w->size->values[i];
    cls_assignments all = {n, names, values};
    return strchr(name, '\n') ? cls_system_parse(name, "hostile.clausius", &all, s, error)
                              : cls_system_load(name, &all, s, error);
}

static int is_size(const sweep *w, const char *parameter) {
    for (size_t i = 0; w->size && i < w->size->n; i++)
        if (!strcmp(w->size->names[i], parameter)) return 1;
    return 0;
}

/* All steps from 1e-6 to 10 times the default, every scheme. */
static void all_steps(sweep *w, const cls_system *s, const double *start, const char *what) {
    for (size_t i = 0; i < cls_scheme_count(); i++) {
        const cls_scheme_info *scheme = cls_scheme_at(i);
        if (!keeps_energy(scheme) || cls_scheme_applies(scheme->name, s, NULL) != CLS_OK) continue;
        for (int decade = -6; decade <= 1; decade++)
            if (chosen(w))
                motion(w, s, start, scheme->name, pow(10, decade) * cls_system_default_step(s),
                       what);
    }
}

/* The system with some parameters set; a start that it does not have is no run. */
static void with(sweep *w, const char *name, cls_assignments set) {
    cls_system *s = NULL;
    cls_error error = {0};
    double start[MOST];
    char what[200] = "";
    for (size_t i = 0; i < set.n; i++) {
        size_t used = strlen(what);
        snprintf(what + used, sizeof what - used, "%s%s = %g", i ? ", " : "", set.names[i],
                 set.values[i]);
    }
    if (open_system(w, name, set, &s, &error) || cls_system_state_count(s) > MOST ||
        cls_system_start(s, NULL, start, &error)) {
        atomic_fetch_add(&w->all->unbuilt, 1);
        if (!(strlen(error.message) >= 20)) fail_msg("%s, %s: %s", name, what, error.message);
    } else {
        all_steps(w, s, start, what);
    }
    cls_system_free(&s);
}

static void parameters(sweep *w, const char *name) {
    cls_system *s = NULL;
    cls_error error = {0};
    if (open_system(w, name, (cls_assignments){0}, &s, &error)) fail_msg("%s", error.message);
    size_t n = cls_system_parameter_count(s);
    with(w, name, (cls_assignments){0});
    for (size_t i = 0; i < n; i++)
        for (int decade = -DECADES; decade <= DECADES; decade += 2) {
            const char *names[] = {cls_system_parameter_name(s, i)};
            double value[] = {pow(10, decade) * cls_system_parameter(s, i)};
            if (!is_size(w, names[0])) with(w, name, (cls_assignments){1, names, value});
        }
    for (int k = 0; k < PAIRS && n > 1; k++) {
        const char *names[2];
        double values[2];
        size_t first = cls_random_next(&w->random) % n;
        size_t second = (first + 1 + cls_random_next(&w->random) % (n - 1)) % n;
        for (int j = 0; j < 2; j++) {
            size_t i = j ? second : first;
            names[j] = cls_system_parameter_name(s, i);
            values[j] = cls_system_parameter(s, i) *
                        pow(10, DECADES * (2 * cls_random_uniform(&w->random) - 1));
        }
        if (!is_size(w, names[0]) && !is_size(w, names[1]))
            with(w, name, (cls_assignments){2, names, values});
    }
    cls_system_free(&s);
}

/* Starts within 1e-1 .. 1e-9 of where the simulator begins to refuse one: from the start of the file
 * along each component, by bisection; where it refuses none, far out. */
static void boundaries(sweep *w, const char *name) {
    cls_system *s = NULL;
    cls_simulator *sim = NULL;
    double start[MOST], there[MOST];
    cls_error error = {0};
    if (open_system(w, name, (cls_assignments){0}, &s, &error)) fail_msg("%s", error.message);
    assert_int_equal(cls_system_start(s, NULL, start, NULL), CLS_OK);
    assert_int_equal(cls_simulator_create(s, NULL, &sim, NULL), CLS_OK);
    size_t n = cls_system_state_count(s) - cls_system_account_count(s);
    for (size_t i = 0; i<n; i += n> MANY ? n / MANY : 1) /* elements are alike */
        for (int side = -1; side <= 1; side += 2) {
            double inside = 0, outside = 1e3;
            memcpy(there, start, sizeof start);
            for (int k = 0; k < 60; k++) {
                double middle = k ? (inside + outside) / 2 : outside;
                there[i] = start[i] + side * middle;
                if (cls_simulator_start(sim, 0, there, NULL) == CLS_OK)
                    inside = middle;
                else
                    outside = middle;
            }
            for (double near = 1e-1; near > 1e-10; near *= 1e-2) {
                char what[100];
                there[i] = start[i] + side * inside * (1 - near);
                snprintf(what, sizeof what, "%s = %.12g", cls_system_state_name(s, i), there[i]);
                if (cls_simulator_start(sim, 0, there, NULL) == CLS_OK)
                    all_steps(w, s, there, what);
            }
        }
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* Models of the piston with parameters that nobody trained: polynomials a little to ten times off, and
 * networks from nothing. */
static void models(sweep *w, const char *form, int from_nothing) {
    const char *const parts[] = {"G", "F1", "F2"};
    cls_system *piston = load_system("adiabatic-piston");
    cls_table *data = make_data(piston, 4, piston_box, 40, 10, 0.02, 6);
    cls_learn_info info;
    cls_error error = {0};
    double start[MOST];
    cls_model *m = NULL;
    const char *name = "made here";
    cls_learn_options o = cls_learn_defaults();
    o.unknown = parts;
    o.n_unknown = 3;
    o.field = form;
    o.max_iterations = 5; /* the shape is wanted */
    o.restarts = 1;
    if (cls_learn(piston, NULL, 1, (const cls_table *const *)&data, &name, &o, &m, &info, &error))
        fail_msg("%s", error.message);
    double *kept = malloc(m->n_theta * sizeof *kept);
    assert_non_null(kept);
    memcpy(kept, m->theta, m->n_theta * sizeof *kept);
    assert_int_equal(cls_system_start(piston, NULL, start, NULL), CLS_OK);
    for (int k = 0; k < MODELS; k++) {
        double size = pow(10, 4 * cls_random_uniform(&w->random) - 3);
        char what[100];
        for (size_t i = 0; i < m->n_theta; i++)
            m->theta[i] = (from_nothing ? 0 : kept[i]) + size * cls_random_normal(&w->random);
        if (clsi_model_build(m, &error)) fail_msg("%s", error.message);
        snprintf(what, sizeof what, "%s, parameters by %g", form, size);
        all_steps(w, cls_model_system(m), start, what);
    }
    free(kept);
    cls_model_free(&m);
    cls_table_free(&data);
    cls_system_free(&piston);
}

/* ---- one system each ---- */

static void built_in(sweep *w, size_t k) {
    const char *name = cls_builtin_name(k);
    w->size = NULL;
    for (size_t i = 0; i < sizeof smaller / sizeof *smaller; i++)
        if (!strcmp(smaller[i].system, name)) w->size = &smaller[i];
    parameters(w, name);
    boundaries(w, name);
    printf("# %s", name);
}

/* Fields in space stand behind those that are counted. */
static size_t all_built_in(void) {
    size_t n = cls_builtin_count();
    while (cls_builtin_name(n)) n++;
    return n;
}

static void built_in_or_model(sweep *w, size_t k) {
    static const char *const forms[] = {"chebyshev(2, constant)", "network(8, 8)"};
    size_t n = all_built_in();
    if (k < n) {
        built_in(w, k);
        return;
    }
    models(w, forms[k - n], k > n);
    printf("# %s", forms[k - n]);
}

static void of_nobody(sweep *w, size_t k) {
    parameters(w, hostile[k]);
    boundaries(w, hostile[k]);
    printf("# %.*s", (int)strcspn(hostile[k], "\n"), hostile[k]);
}

/* Systems by chance, in hundreds: each over a few hundred steps by every scheme, and thinned. A text
 * that is no system (an energy without one of its entropies, say) is counted as not there. */
enum { HUNDREDS = 40 };

static void one_by_chance(sweep *w, chance *c) {
    cls_system *s = NULL;
    cls_error error = {0};
    double start[MOST];
    char why[640];
    if (cls_system_parse(c->text, "chance.clausius", NULL, &s, &error) ||
        cls_system_start(s, NULL, start, &error)) {
        atomic_fetch_add(&w->all->unbuilt, 1);
        if (getenv("CLAUSIUS_SWEEP_VERBOSE")) printf("# no system: %s\n", error.message);
        cls_system_free(&s);
        return;
    }
    for (size_t i = 0; i < cls_scheme_count(); i++) {
        const cls_scheme_info *scheme = cls_scheme_at(i);
        if (!keeps_energy(scheme) || cls_scheme_applies(scheme->name, s, NULL) != CLS_OK) continue;
        uint64_t every = 1 + 6 * (cls_random_next(&c->random) % 2);
        trial r = {
            .scheme = scheme->name, .h = cls_system_default_step(s), .steps = 350, .every = every};
        if (strstr(scheme->name, "adaptive")) r.steps = 14, r.every = 1, r.internal = INTERNAL;
        verdict v = try_motion(s, start, r, why, sizeof why);
        w->count[v]++;
        if (v == BROKEN) printf("# broken by %s: %s\n%s\n", scheme->name, why, c->text);
        if (v == REFUSED && getenv("CLAUSIUS_SWEEP_VERBOSE"))
            printf("# refused by %s: %s\n%s\n", scheme->name, why, c->text);
        fflush(stdout);
    }
    cls_system_free(&s);
}

static void by_chance(sweep *w, size_t k) {
    chance c;
    for (size_t i = 0; i < 100; i++) {
        chance_system(&c, (w->seed * HUNDREDS + k) * 100 + i);
        if (chosen(w)) one_by_chance(w, &c);
    }
    printf("# a hundred systems by chance");
}

/* CLAUSIUS_SWEEP_SYSTEM="burgers building": of the built-in ones only these. */
static int is_wanted(size_t k, void (*one)(sweep *, size_t)) {
    const char *only = getenv("CLAUSIUS_SWEEP_SYSTEM");
    if (!only) return 1;
    if (one == of_nobody) return strstr(hostile[k], only) != NULL;
    if (one == by_chance) return strstr(only, "chance") != NULL;
    return one == built_in_or_model && k < all_built_in() && strstr(only, cls_builtin_name(k));
}

/* Takes systems as long as there are any; each has random numbers of its own. */
static void work(sweep *w, size_t n, void (*one)(sweep *, size_t)) {
    for (size_t k; (k = atomic_fetch_add(&w->all->next, 1)) < n;) {
        if (!is_wanted(k, one)) continue;
        memset(w->count, 0, sizeof w->count);
        cls_random_seed(&w->random, w->seed * 1000 + k);
        one(w, k);
        printf(": %zu held, %zu refused, %zu broken\n", w->count[HELD], w->count[REFUSED],
               w->count[BROKEN]);
        fflush(stdout);
        for (int v = 0; v < 3; v++) atomic_fetch_add(&w->all->count[v], w->count[v]);
        assert_true(w->count[HELD] > 0 || w->thin > 1);
    }
}

static void share_out(sweep *w, size_t n, void (*one)(sweep *, size_t)) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (w->helper) return; /* one that failed has come to the next test */
    memset(w->all, 0, sizeof *w->all);
    fflush(stdout);
    for (long i = 0; i < processors; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid) continue;
        w->helper = 1;
        work(w, n, one);
        _exit(0);
    }
    int failed = 0;
    for (int status; wait(&status) > 0;) failed += status != 0;
    printf("# %zu runs held both laws, %zu were refused, %zu broke one; %zu starts do not exist\n",
           w->all->count[HELD], w->all->count[REFUSED], w->all->count[BROKEN], w->all->unbuilt);
    assert_int_equal(failed, 0);
    assert_int_equal(w->all->count[BROKEN], 0);
    /* refusing is no way to hold the laws */
    int part = w->thin > 1 || getenv("CLAUSIUS_SWEEP_SYSTEM");
    assert_true(w->all->count[REFUSED] < w->all->count[HELD] || part);
}

static void every_system(void **state) {
    share_out(*state, all_built_in() + 2, built_in_or_model);
}

static void systems_of_nobody(void **state) {
    share_out(*state, N_HOSTILE, of_nobody);
}

static void systems_by_chance(void **state) {
    share_out(*state, HUNDREDS, by_chance);
}

int main(void) {
    sweep w = {.thin = (size_t)number("CLAUSIUS_SWEEP", 1),
               .seed = (size_t)number("CLAUSIUS_SWEEP_SEED", 1),
               .all = mmap(NULL, sizeof *w.all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                           -1, 0)};
    if (w.all == MAP_FAILED) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(every_system, &w),
                                       cmocka_unit_test_prestate(systems_of_nobody, &w),
                                       cmocka_unit_test_prestate(systems_by_chance, &w)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
