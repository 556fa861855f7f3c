/* Calls of an FMU in any order, with any values, references and kept states: an answer each time, and
 * after every step that was answered with fmi2OK the energy as it was. The sources are those of
 * `clausius export fmu ideal-gas-piston` (tools/fuzz makes them); the input is a list of calls. */
#include "fuzz.h"
#include <float.h>
#include <math.h>

#include "fmi2.c"

enum { MOST_CALLS = 64, MOST_KEPT = 4 };

typedef struct input {
    const uint8_t *at, *end;
} input;

static unsigned byte(input *in) {
    return in->at < in->end ? *in->at++ : 0;
}

/* Plain values more often than any bits. */
static double number(input *in) {
    unsigned kind = byte(in);
    double x = (kind & 127) / 64.0;
    if (kind & 128) {
        uint8_t bits[8];
        for (int i = 0; i < 8; i++) bits[i] = (uint8_t)byte(in);
        memcpy(&x, bits, sizeof x);
    }
    return x;
}

typedef struct play {
    fmi2Component c;
    fmi2FMUstate kept[MOST_KEPT];
    double time;
} play;

static void get_and_set(play *p, input *in) {
    unsigned n = byte(in) % 6, kind = byte(in) % 4;
    fmi2ValueReference vr[6];
    double x[6] = {0}, dx[6] = {0};
    for (unsigned i = 0; i < n; i++) {
        vr[i] = byte(in) % 24;
        x[i] = kind == 1 || kind == 2 ? number(in) : 0;
    }
    if (kind == 0) (void)fmi2GetReal(p->c, vr, n, x);
    if (kind == 1) (void)fmi2SetReal(p->c, vr, n, x);
    if (kind == 2) (void)fmi2GetDirectionalDerivative(p->c, vr, n / 2, vr + n / 2, n / 2, x, dx);
    if (kind == 3) (void)fmi2GetContinuousStates(p->c, x, n), (void)fmi2GetDerivatives(p->c, dx, n);
}

static void keep_and_restore(play *p, input *in) {
    unsigned kind = byte(in) % 4;
    fmi2FMUstate *slot = &p->kept[byte(in) % MOST_KEPT];
    size_t size = 0;
    if (kind == 0) (void)fmi2GetFMUstate(p->c, slot);
    if (kind == 1 && *slot) (void)fmi2SetFMUstate(p->c, *slot);
    if (kind == 2) (void)fmi2FreeFMUstate(p->c, slot);
    if (kind == 3 && *slot && fmi2SerializedFMUstateSize(p->c, *slot, &size) == fmi2OK) {
        char *bytes = malloc(size);
        PROMISE(bytes);
        if (fmi2SerializeFMUstate(p->c, *slot, bytes, size) == fmi2OK) {
            for (unsigned i = byte(in) % 4; i-- > 0;)
                bytes[(byte(in) << 8 | byte(in)) % size] ^= (char)byte(in);
            if (fmi2DeSerializeFMUstate(p->c, bytes, size, slot) == fmi2OK)
                (void)fmi2SetFMUstate(p->c, *slot);
        }
        free(bytes);
    }
}

static double value_of(play *p, const char *name) {
    fmi2ValueReference vr = 0;
    double x = NAN;
    while (vr < FMU_VARIABLES && strcmp(ideal_gas_piston_variables[vr], name)) vr++;
    PROMISE(vr < FMU_VARIABLES);
    return fmi2GetReal(p->c, &vr, 1, &x) == fmi2OK ? x : NAN;
}

/* What the last bits of the state are in energy: a gas of 1e21 N/m, where x has steps of 1e-16, cannot have it to more. */
static double round_off(play *p) {
    double sum = fabs(value_of(p, "der(p.x)") * value_of(p, "x")) +
                 fabs(value_of(p, "v.x") * value_of(p, "p.x")) +
                 fabs(value_of(p, "T") * value_of(p, "S"));
    return isfinite(sum) ? 4 * DBL_EPSILON * sum : INFINITY;
}

static void advance(play *p, input *in) {
    fmi2ValueReference energy = FMU_OUTPUT;
    while (energy < FMU_VARIABLES && strcmp(ideal_gas_piston_variables[energy], "energy")) energy++;
    double before = 0, after = 0, H = number(in);
    if (!(fabs(H) <= 0.0625)) return; /* a long step takes long */
    int known = fmi2GetReal(p->c, &energy, 1, &before) == fmi2OK;
    double rounding = known ? round_off(p) : 0;
    if (fmi2DoStep(p->c, p->time, H, 1) != fmi2OK) return;
    p->time += H;
    if (known && fmi2GetReal(p->c, &energy, 1, &after) == fmi2OK && isfinite(before))
        PROMISE(fabs(after - before) <= 1e-9 * (1 + fabs(before)) + rounding + round_off(p));
}

static void change_mode(play *p, input *in) {
    fmi2EventInfo info;
    fmi2Boolean a, b;
    switch (byte(in) % 10) {
    case 0: (void)fmi2SetupExperiment(p->c, 0, 0, p->time = number(in), 0, 0); break;
    case 1: (void)fmi2EnterInitializationMode(p->c); break;
    case 2: (void)fmi2ExitInitializationMode(p->c); break;
    case 3: (void)fmi2EnterEventMode(p->c); break;
    case 4: (void)fmi2EnterContinuousTimeMode(p->c); break;
    case 5: (void)fmi2NewDiscreteStates(p->c, &info); break;
    case 6: (void)fmi2CompletedIntegratorStep(p->c, 1, &a, &b); break;
    case 7: (void)fmi2SetTime(p->c, number(in)); break;
    case 8: (void)fmi2Reset(p->c); break;
    default: (void)fmi2Terminate(p->c); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > 2000) return 0;
    input in = {data, data + size};
    fmi2CallbackFunctions callbacks = {0};
    play p = {0};
    unsigned how = byte(&in);
    p.c = fmi2Instantiate("fuzz", how & 1 ? fmi2CoSimulation : fmi2ModelExchange,
                          ideal_gas_piston_token, "", &callbacks, 0, 0);
    PROMISE(p.c);
    if (how & 2) { /* as a master begins */
        (void)fmi2SetupExperiment(p.c, 0, 0, 0, 0, 0);
        (void)fmi2EnterInitializationMode(p.c);
        (void)fmi2ExitInitializationMode(p.c);
    }
    for (int i = 0; i < MOST_CALLS && in.at < in.end; i++) switch (byte(&in) % 4) {
        case 0: get_and_set(&p, &in); break;
        case 1: keep_and_restore(&p, &in); break;
        case 2: advance(&p, &in); break;
        default: change_mode(&p, &in); break;
        }
    for (int i = 0; i < MOST_KEPT; i++) (void)fmi2FreeFMUstate(p.c, &p.kept[i]);
    fmi2FreeInstance(p.c);
    return 0;
}
