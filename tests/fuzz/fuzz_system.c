/* System files: whatever parses can be shown, started and stepped twice, or is refused. Showing and stepping take ten
 * times as long as reading: the fuzzer does it with every eighth input, chosen by its bytes, the corpus test with all. */
#include "fuzz.h"
#include <clausius/clausius.h>
#include <math.h>

static void show_and_step(const cls_system *s) {
    char *shown = NULL;
    cls_error error;
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
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1500) return 0;
    char *text = fuzz_text(data, size);
    cls_system *s = NULL;
    cls_error error;
    if (!strstr(text, "include")) { /* opens files */
        cls_status status = cls_system_parse(text, "fuzz", NULL, &s, &error);
        PROMISE((status == CLS_OK) == (s != NULL));
    }
    if (s && fuzz_chosen(data, size, 8)) show_and_step(s);
    cls_system_free(&s);
    free(text);
    return 0;
}
