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
    double time, largest, slopes; /* since it began: see look() */
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
            int changed = 0;
            for (unsigned i = byte(in) % 4; i-- > 0;) {
                size_t at = (size_t)(byte(in) << 8 | byte(in)) % size;
                char by = (char)byte(in);
                bytes[at] ^= by;
                changed |= by;
            }
            int taken = fmi2DeSerializeFMUstate(p->c, bytes, size, slot) == fmi2OK;
            PROMISE(taken || changed);
            if (taken) (void)fmi2SetFMUstate(p->c, *slot);
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

/* E = p^2/2 + U with U = exp(S) x^(-1/c), so that T = U. Along the play, the largest term, and
 * sum |z dE/dz|: times an epsilon, what rounding the states at both ends does to the energy. */
static void look(play *p) {
    double m = value_of(p, "p.x"), U = value_of(p, "T");
    double slopes = m * m + fabs(U / value_of(p, "c")) + fabs(U * value_of(p, "S"));
    p->largest = fmax(p->largest, fmax(m * m / 2, fabs(U)));
    p->slopes = fmax(p->slopes, isnan(slopes) ? INFINITY : slopes);
}

/* The first law as it is promised (docs/laws.md, 1): each end of the step within this of the energy at
 * the start. A gas of 6e21 N/m, where x has steps of 1e-16, cannot have its energy to less than 1e6 J. */
static double allowed(const play *p) {
    return 2 * (1e-12 * p->largest + DBL_EPSILON * p->slopes);
}

static void advance(play *p, input *in) {
    double H = number(in), before = value_of(p, "energy");
    if (!(fabs(H) <= 0.0625)) return; /* a long step takes long */
    look(p);
    if (fmi2DoStep(p->c, p->time, H, 1) != fmi2OK) return;
    p->time += H;
    look(p);
    double after = value_of(p, "energy");
    if (isfinite(before)) PROMISE(fabs(after - before) <= allowed(p));
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
