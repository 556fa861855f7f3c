/* System files: whatever parses can be shown, started and stepped twice, or is refused. */
#include "fuzz.h"
#include <clausius/clausius.h>
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1500) return 0;
    char *text = fuzz_text(data, size), *shown = NULL;
    cls_system *s = NULL;
    cls_error error;
    if (!strstr(text, "include") && cls_system_parse(text, "fuzz", NULL, &s, &error) == CLS_OK) {
        if (cls_system_show(s, CLS_SHOW_SUMMARY | CLS_SHOW_EQUATIONS, &shown, &error) == CLS_OK)
            PROMISE(shown && *shown);
        cls_text_free(&shown);
        size_t n = cls_system_state_count(s), columns = cls_system_column_count(s);
        double *state = calloc(n + columns + 2, sizeof *state), *row = state + n + 1;
        cls_simulate_options o = cls_simulate_defaults();
        o.h = 0.01;
        cls_simulator *sim = NULL;
        PROMISE(state);
        if (n < 20 && cls_system_start(s, NULL, state, &error) == CLS_OK &&
            cls_simulator_create(s, &o, &sim, &error) == CLS_OK &&
            cls_simulator_start(sim, 0, state, &error) == CLS_OK &&
            cls_simulator_advance(sim, 2, &error) == CLS_OK) {
            PROMISE(fabs(cls_simulator_time(sim) - 0.02) < 1e-12);
            (void)cls_simulator_row(sim, row, &error);
        }
        cls_simulator_free(&sim);
        free(state);
    } else {
        PROMISE(!s);
    }
    cls_system_free(&s);
    free(text);
    return 0;
}
