/* Times the two convex programs of `learn --optimizer qp` on CSV files with exact rates.
 * Usage: qp ROUNDS FILE...; one line per file: samples, processor seconds of the best round for the
 * whole identification (terms evaluated, rows absorbed, both programs solved, model built),
 * residuals of both programs, KKT residual, active inequalities. With ROUNDS = 0: the conductance
 * at every sample, one a line. */
#include <clausius/identify.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double processor(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const char *what, const cls_error *error) {
    fprintf(stderr, "bench/qp: %s: %s\n", what, error->message);
    return 1;
}

static void print_conductance(const cls_identified *id, const cls_table *t) {
    for (size_t i = 0; i < cls_table_rows(t); i++) {
        double z[10], M[4] = {0};
        for (size_t k = 0; k < 10; k++) z[k] = cls_table_column(t, 1 + k)[i];
        (void)cls_identified_at(id, z, NULL, NULL, M, NULL);
        printf("%.17g\n", -M[1]);
    }
}

int main(int argc, char **argv) {
    cls_error error = {0};
    cls_system *s;
    static const char *const unknown[] = {"E", "M"};
    if (argc < 3) return 2;
    if (cls_system_load("thermoelastic-double-pendulum", NULL, &s, &error))
        return fail("system", &error);
    for (int i = 2; i < argc; i++) {
        cls_table *table;
        cls_identify_info info = {0}, best = {0};
        double least = INFINITY;
        if (cls_table_read(argv[i], &table, &error)) return fail(argv[i], &error);
        int rounds = atoi(argv[1]);
        for (int k = 0; k < (rounds ? rounds : 1); k++) {
            cls_identified *id;
            cls_identify_options o = cls_identify_defaults();
            const cls_table *tables[] = {table};
            const char *names[] = {"in memory"}; /* a file would be hashed for the record */
            o.n_unknown = 2;
            o.unknown = unknown;
            double start = processor();
            if (cls_identify(s, NULL, 1, tables, names, &o, &id, &info, &error))
                return fail(argv[i], &error);
            double used = processor() - start;
            if (used < least) {
                least = used;
                best = info;
            }
            if (!rounds) print_conductance(id, table);
            cls_identified_free(&id);
        }
        if (!rounds) continue;
        printf("%zu %.9g %.17g %.17g %.3g %zu\n", best.samples, least, best.energy.residual,
               best.friction.residual, fmax(best.energy.kkt, best.friction.kkt),
               best.friction.active);
        cls_table_free(&table);
    }
    cls_system_free(&s);
    return 0;
}
