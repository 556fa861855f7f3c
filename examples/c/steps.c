/* How large may the step be? Runs a system with several schemes at growing steps and prints what
 * each does to the energy and to the entropy.
 *
 *     ./steps [SYSTEM]        a built-in name or a .clausius file; adiabatic-piston when not given
 *
 * Shows the three objects of a simulation: a system is loaded once, a simulator joins it to a
 * scheme and a step, a state is an array of doubles. A step that cannot be made is an answer here,
 * not an error: its row says why. */
#include <clausius/clausius.h>
#include <stdio.h>
#include <stdlib.h>

/* Runs the system to its usual end and prints one row. */
static void run(const cls_system *system, const double *start, const char *scheme, double h) {
    cls_error error = {0};
    cls_simulator *sim = NULL;
    cls_simulate_options options = cls_simulate_defaults();
    options.scheme = scheme;
    options.h = h;
    options.monitor = 1; /* watch energy and entropy at every step */

    cls_status status = cls_simulator_create(system, &options, &sim, &error);
    if (!status) status = cls_simulator_start(sim, 0, start, &error);
    if (!status) {
        double steps = cls_system_default_until(system) / h;
        status = cls_simulator_advance(sim, (uint64_t)(steps + 0.5), &error);
    }
    if (status) {
        printf("%-18s %6g  %.60s\n", scheme, h, error.message);
    } else {
        cls_simulate_info info = cls_simulator_info(sim);
        printf("%-18s %6g %13.2e %14llu %8llu\n", scheme, h, info.energy_relative,
               (unsigned long long)info.entropy_falls, (unsigned long long)info.steps);
    }
    cls_simulator_free(&sim);
}

int main(int argc, char **argv) {
    static const char *const schemes[] = {"discrete-gradient", "vnots", "rk4"};
    static const double steps[] = {0.01, 0.1, 0.4};
    cls_error error = {0};
    cls_system *system = NULL;
    cls_status status =
        cls_system_load(argc > 1 ? argv[1] : "adiabatic-piston", NULL, &system, &error);
    double *start = status ? NULL : calloc(cls_system_state_count(system), sizeof *start);
    if (!status && !start) return CLS_MEMORY;
    if (!status) status = cls_system_start(system, NULL, start, &error); /* the file's own start */
    if (!status) {
        printf("%-18s %6s %13s %14s %8s\n", "scheme", "h", "energy error", "entropy falls",
               "steps");
        for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
            for (size_t j = 0; j < sizeof steps / sizeof *steps; j++)
                run(system, start, schemes[i], steps[j]);
    } else {
        fprintf(stderr, "%s\n", error.message);
    }
    free(start);
    cls_system_free(&system);
    return (int)status; /* the numbers are the exit codes of the program, too */
}
