/* Ensembles in lanes: sixteen or thirty-two members make a step together.
 *
 * Newton's method of newton.inc and the step of step.inc, written for rows of numbers, one for each
 * member: residual and Jacobian come from the row programs (expr/rows.c), small systems are
 * factored for all members at once with their own pivots, members that have converged wait under a
 * mask. Only the usual way is here: a prediction from earlier solutions, full updates that are
 * accepted, an energy and an entropy that no rule objects to. A member for which anything else
 * happens makes this step over again by its own simulator, from the state before it. So the bits
 * are those of single motions, whatever the others do; tests compare them for every system.
 *
 * The limits that decide about the usual way are narrower than those of step.inc: a member that is
 * near one goes the single way, where the rule itself is.
 *
 * z states (nz), u unknowns (k), r residuals, d updates. Memory for one pack: that of the programs
 * in its lanes, and a simulator for each. Nothing is allocated after creation. */
#include "simulate/pack.h"
#include "base/base.h"
#include "expr/program.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

enum { MOST_LANES = CLSI_WIDE_LANES, MOST_UNKNOWNS = 8 };

#define EACH_LANE for (int l = 0; l < p->lanes; l++)

/* All bits or none, as wide as the numbers, so that loops over lanes are vectors. */
typedef long long flag;

struct pack_loops;

struct clsi_pack {
    clsi_stepper *sp;
    size_t n, members; /* states; lanes that have a member */
    size_t L;          /* lanes, the length of all rows */
    int k, owed, nz, lanes;
    cls_simulator *sim[MOST_LANES];
    cls_status status[MOST_LANES];
    cls_error *error; /* (L) */
    uint64_t steps;
    const struct pack_loops *loops;
    double *block, *work_residual, *work_next, *work_guard, *work_monitor, *work_guess;
    /* rows of L numbers: in the programs' work, ... */
    double *residual_in, *unknowns, *next_in, *guard_in, *monitor_in, *guess_in;
    const double **outputs, **residual_out, **next_out, **guard_out, **monitor_out, **guess_out;
    /* ... and our own */
    double *state, *next;          /* (2 n): the state, then what its sums owe */
    double *history[CLSI_HISTORY]; /* (k) solutions, newest first */
    double *least, *scale, *trial;
    double *factors, *pivots; /* (k k), (k) of the last Jacobian; pivots are bits */
    int moved[MOST_LANES];    /* by vectors of lanes: has any exchanged rows? */
    double *size, *before;
    double *defect, *step_entropy, *monitor, *energy_start, *energy_scale;
    double *highest, *largest_size;         /* of the entropy so far */
    flag length[MOST_LANES];                /* of the history */
    flag off[MOST_LANES], done[MOST_LANES]; /* off: the single way, or none; done: solved */
    flag out[MOST_LANES];                   /* that have failed */
    flag quiet[MOST_LANES];
    int measured; /* the monitor has seen the state of every member under way */
};

/* ---- what can be done ---- */

static int is_plain(const cls_program *p) {
    return !p || !p->n_fields;
}

int clsi_pack_applies(const clsi_stepper *sp) {
    const clsi_scheme *scheme = sp->scheme;
    size_t k = sp->n_unknowns;
    if (!scheme->build || scheme->n_composition || scheme->estimate || scheme->tableau ||
        !sp->residual)
        return 0;
    if (sp->options.first_step == CLS_FIRST_PAPER || sp->nu || sp->n_free || sp->s->n_units)
        return 0;
    if (clsi_account_count(sp->s) || k < 1 || k > MOST_UNKNOWNS) return 0;
    if (scheme->carries && !sp->monitor) return 0;
    if (sp->residual->n_outputs != k + sp->n_positive + k * k) return 0;
    if (clsi_program_rest_length(sp->residual) > 2000) return 0; /* whose Jacobian is kept */
    return is_plain(sp->residual) && is_plain(sp->next) && is_plain(sp->guard) &&
           is_plain(sp->monitor);
}

static const struct pack_loops *loops_of_machine(int lanes);
static int is_wide_machine(void);

/* Wide ones where there are two or more for every thread. */
size_t clsi_pack_lanes(clsi_stepper *sp, size_t members, int threads) {
    size_t wide = 2 * (size_t)CLSI_WIDE_LANES * (size_t)threads;
    return members >= wide && is_wide_machine() && clsi_stepper_widen(sp) ? CLSI_WIDE_LANES
                                                                          : CLSI_LANES;
}

/* ---- memory ---- */

static double *carve(double **at, size_t n) {
    double *here = *at;
    *at += (n + 7) / 8 * 8; /* rows stand on cache lines */
    return here;
}

static size_t lanes_of(const cls_program *p) {
    return p ? clsi_lanes_size(p) + 8 : 0;
}

static size_t block_size(const clsi_pack *p) {
    const clsi_stepper *sp = p->sp;
    size_t k = (size_t)p->k, rows = 4 * p->n + (CLSI_HISTORY + 4 + k) * k + 16;
    return rows * p->L + lanes_of(sp->residual) + lanes_of(sp->next) + lanes_of(sp->guard) +
           lanes_of(sp->monitor) + lanes_of(sp->guess) + 512;
}

/* A program's work, with where its inputs begin and where its outputs are. */
static double *prepare(const cls_program *program, double **at, double **in, const double ***out,
                       const double ***list) {
    if (!program) return NULL;
    double *work = carve(at, clsi_lanes_size(program));
    clsi_lanes_prepare(program, work);
    *in = clsi_lanes_input(program, work, 0);
    *out = *list;
    for (size_t i = 0; i < cls_program_output_count(program); i++)
        *(*list)++ = clsi_lanes_output(program, work, i);
    return work;
}

static void carve_all(clsi_pack *p) {
    const clsi_stepper *sp = p->sp;
    double *at = p->block;
    size_t k = (size_t)p->k, L = p->L;
    p->state = carve(&at, 2 * p->n * L);
    p->next = carve(&at, 2 * p->n * L);
    for (int i = 0; i < CLSI_HISTORY; i++) p->history[i] = carve(&at, k * L);
    p->least = carve(&at, k * L);
    p->scale = carve(&at, k * L);
    p->trial = carve(&at, k * L);
    p->factors = carve(&at, k * k * L);
    p->pivots = carve(&at, k * L);
    p->size = carve(&at, L);
    p->before = carve(&at, L);
    p->defect = carve(&at, L);
    p->step_entropy = carve(&at, L);
    p->monitor = carve(&at, CLSI_MONITOR_INVARIANTS * L);
    p->energy_start = carve(&at, L);
    p->energy_scale = carve(&at, L);
    p->highest = carve(&at, L);
    p->largest_size = carve(&at, L);
    const double **list = p->outputs;
    p->work_residual = prepare(sp->residual, &at, &p->residual_in, &p->residual_out, &list);
    p->work_next = prepare(sp->next, &at, &p->next_in, &p->next_out, &list);
    p->work_guard = prepare(sp->guard, &at, &p->guard_in, &p->guard_out, &list);
    p->work_monitor = prepare(sp->monitor, &at, &p->monitor_in, &p->monitor_out, &list);
    p->work_guess = prepare(sp->guess, &at, &p->guess_in, &p->guess_out, &list);
    p->unknowns = p->residual_in + sp->n_base * L;
    double *of_step[] = {p->residual_in, p->next_in, p->guard_in, p->guess_in};
    for (size_t i = 0; i < sizeof of_step / sizeof *of_step; i++) /* the length of the step */
        for (size_t l = 0; of_step[i] && l < L; l++) of_step[i][(p->n + 2) * L + l] = sp->options.h;
}

static size_t count_outputs(const clsi_stepper *sp) {
    const cls_program *of[] = {sp->residual, sp->next, sp->guard, sp->monitor, sp->guess};
    size_t n = 0;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) n += cls_program_output_count(of[i]);
    return n;
}

cls_status clsi_pack_create(clsi_stepper *sp, clsi_pack **out, cls_error *error) {
    *out = NULL;
    clsi_pack *p = clsi_calloc(1, sizeof *p);
    if (!p) return clsi_no_memory(error);
    p->sp = sp;
    clsi_stepper_make_native(sp, 1);
    p->n = sp->nz;
    p->nz = (int)sp->nz;
    p->k = (int)sp->n_unknowns;
    p->owed = (int)sp->n_owed;
    p->L = clsi_lanes_row(sp->residual);
    p->lanes = (int)p->L;
    p->error = clsi_calloc(p->L, sizeof *p->error);
    p->outputs = clsi_calloc(count_outputs(sp), sizeof *p->outputs);
    p->loops = loops_of_machine(p->lanes);
    size_t size = block_size(p) * sizeof(double);
    p->block = clsi_aligned(size);
    cls_status status = p->error && p->outputs && p->block ? CLS_OK : clsi_no_memory(error);
    for (int i = 0; i < p->lanes && status == CLS_OK; i++)
        status = clsi_simulator_attach(sp, &p->sim[i], error);
    if (status != CLS_OK) {
        clsi_pack_free(&p);
        return status;
    }
    memset(p->block, 0, size);
    carve_all(p);
    *out = p;
    return CLS_OK;
}

void clsi_pack_free(clsi_pack **pack) {
    clsi_pack *p = *pack;
    if (!p) return;
    for (int i = 0; i < p->lanes; i++) cls_simulator_free(&p->sim[i]);
    free(p->error);
    free(p->outputs);
    free(p->block);
    free(p);
    *pack = NULL;
}

/* ---- between lanes and simulators ---- */

static void put(const clsi_pack *p, double *rows, size_t n, int lane, const double *from) {
    for (size_t i = 0; i < n; i++) rows[i * p->L + (size_t)lane] = from[i];
}

static void get(const clsi_pack *p, const double *rows, size_t n, int lane, double *to) {
    for (size_t i = 0; i < n; i++) to[i] = rows[i * p->L + (size_t)lane];
}

/* What the simulator of member `from` has becomes lane `lane`. */
static void enter(clsi_pack *p, int lane, const cls_simulator *from) {
    size_t k = (size_t)p->k;
    p->measured = 0;
    put(p, p->state, 2 * p->n, lane, from->state);
    for (size_t i = 0; i < CLSI_HISTORY; i++)
        put(p, p->history[i], k, lane, clsi_history_at(from, 0, (int)i));
    p->length[lane] = from->history_length[0];
    p->defect[lane] = from->defect;
    p->step_entropy[lane] = from->step_entropy;
    put(p, p->monitor, CLSI_MONITOR_INVARIANTS, lane, from->monitor_out);
    p->energy_start[lane] = from->monitor_start[CLSI_MONITOR_ENERGY];
    p->energy_scale[lane] = from->energy_scale;
    p->highest[lane] = from->highest;
    p->largest_size[lane] = from->largest_size;
}

static void leave(const clsi_pack *p, int lane, cls_simulator *to) {
    size_t k = (size_t)p->k;
    get(p, p->state, 2 * p->n, lane, to->state);
    to->history_newest[0] = 0;
    for (size_t i = 0; i < CLSI_HISTORY; i++) get(p, p->history[i], k, lane, to->history + i * k);
    to->history_length[0] = (int)p->length[lane];
    to->defect = p->defect[lane];
    to->step_entropy = p->step_entropy[lane];
    to->highest = p->highest[lane];
    to->largest_size = p->largest_size[lane];
    get(p, p->monitor, CLSI_MONITOR_INVARIANTS, lane, to->monitor_out);
    to->steps = p->steps;
}

void clsi_pack_start(clsi_pack *p, size_t n, const double *starts) {
    p->members = n;
    p->steps = 0;
    int first = -1;
    for (int i = 0; i < p->lanes; i++) {
        p->status[i] = CLS_OK;
        if ((size_t)i >= n) continue;
        p->error[i] = (cls_error){0};
        p->status[i] = cls_simulator_start(p->sim[i], 0, starts + (size_t)i * p->n, &p->error[i]);
        if (p->status[i] == CLS_OK) enter(p, i, p->sim[i]);
        if (p->status[i] == CLS_OK && first < 0) first = i;
    }
    /* lanes without a member compute what a member does, for nobody */
    for (int i = 0; i < p->lanes && first >= 0; i++)
        if ((size_t)i >= n || p->status[i] != CLS_OK) enter(p, i, p->sim[first]);
    EACH_LANE p->out[l] = -(flag)(p->status[l] != CLS_OK);
}

static int is_under_way(const clsi_pack *p, int i) {
    return (size_t)i < p->members && p->status[i] == CLS_OK;
}

cls_status clsi_pack_row(clsi_pack *p, size_t i, double *to, cls_error *error) {
    leave(p, (int)i, p->sim[i]);
    return cls_simulator_row(p->sim[i], to, error);
}

cls_status clsi_pack_status(const clsi_pack *p, size_t i, cls_error *error) {
    if (p->status[i] != CLS_OK && error) *error = p->error[i];
    return p->status[i];
}

/* ---- the loops over lanes, for the machine at hand ---- */

typedef struct pack_loops {
    void (*set_states)(const clsi_pack *p, const double *states, double *in, double t);
    void (*set_inputs)(const clsi_pack *p, double *in, double t);
    void (*set_unknowns)(const clsi_pack *p, double *in);
    void (*predict)(const clsi_pack *p, double *u);
    void (*begin)(clsi_pack *p, double h);
    void (*check_rows)(clsi_pack *p);
    void (*check_guard)(clsi_pack *p);
    int (*update)(clsi_pack *p, double *u);
    int (*judge)(clsi_pack *p);
    int (*find_quiet)(clsi_pack *p);
    void (*take_next)(clsi_pack *p);
    void (*settle)(clsi_pack *p, int heats);
    int (*any_off)(const clsi_pack *p);
    void (*commit)(clsi_pack *p, const double *u, int any);
} pack_loops;

/* Entropy that a step makes, of its size, above which round-off does not matter (step.inc). */
static const double QUIET = 1e-13;

/* Vectors are as wide as the machine's: GCC 12 takes comparisons of wider ones apart. */
#define LOOP(name) name##_plain
#define TARGET
#define L     16
#define WIDTH 2
#define ALL(x)                                                                                     \
    { x, x }
#define ANY(b) (((b)[0] | (b)[1]) != 0)
#include "simulate/pack_loops.h"
#if defined(__x86_64__) && defined(__GNUC__)
#define LOOP(name) name##_avx2
#define TARGET     __attribute__((target("avx2")))
#define L          16
#define WIDTH      4
#define ALL(x)                                                                                     \
    { x, x, x, x }
#define ANY(b) (!_mm256_testz_si256((__m256i)(b), (__m256i)(b)))
#include "simulate/pack_loops.h"
#define LOOP(name) name##_avx512
#define TARGET     __attribute__((target("avx512f")))
#define L          16
#define WIDTH      8
#define ALL(x)                                                                                     \
    { x, x, x, x, x, x, x, x }
#define ANY(b) (_mm512_test_epi64_mask((__m512i)(b), (__m512i)(b)) != 0)
#include "simulate/pack_loops.h"
#define LOOP(name) name##_wide
#define TARGET     __attribute__((target("avx512f")))
#define L          32
#define WIDTH      8
#define ALL(x)                                                                                     \
    { x, x, x, x, x, x, x, x }
#define ANY(b) (_mm512_test_epi64_mask((__m512i)(b), (__m512i)(b)) != 0)
#include "simulate/pack_loops.h"

static int is_wide_machine(void) {
    return __builtin_cpu_supports("avx512f") != 0;
}

static const pack_loops *loops_of_machine(int lanes) {
    if (lanes == CLSI_WIDE_LANES) return &loops_wide;
    if (__builtin_cpu_supports("avx512f")) return &loops_avx512;
    return __builtin_cpu_supports("avx2") ? &loops_avx2 : &loops_plain;
}
#else
static int is_wide_machine(void) {
    return 0;
}

static const pack_loops *loops_of_machine(int lanes) {
    (void)lanes;
    return &loops_plain;
}
#endif

/* ---- Newton's method ---- */

static void evaluate(clsi_pack *p) {
    const clsi_stepper *sp = p->sp;
    if (sp->guard) {
        if (clsi_lanes_borrows(sp->guard))
            clsi_lanes_borrow(sp->guard, p->work_guard, p->work_residual);
        else
            p->loops->set_unknowns(p, p->guard_in);
        clsi_lanes_late(sp->guard, p->L, p->work_guard);
        p->loops->check_guard(p);
    }
    clsi_lanes_first(sp->residual, p->L, p->work_residual);
    p->loops->check_rows(p);
}

/* The early instructions have the base inputs, the unknowns a prediction. */
static void solve(clsi_pack *p) {
    const clsi_stepper *sp = p->sp;
    /* longer ones are measured by heat capacities (newton_is_noise), each by its own step */
    int open = 1,
        most = sp->heat && sp->options.max_iterations > 4 ? 4 : sp->options.max_iterations;
    evaluate(p);
    for (int i = 0; i < most && open; i++) {
        clsi_lanes_rest(sp->residual, p->L, p->work_residual);
        if (!p->loops->update(p, p->unknowns)) return;
        evaluate(p);
        open = p->loops->judge(p);
    }
    EACH_LANE p->off[l] |= ~p->done[l];
}

/* ---- the step ---- */

/* Whose next step owes what the equations are left at (step_owe); 1 when there is one. */
static int find_quiet(clsi_pack *p) {
    if (p->sp->scheme->carries) return p->loops->find_quiet(p);
    EACH_LANE p->quiet[l] = -1; /* nobody has measured */
    return 1;
}

/* Without heat the defect is found by its own rule, member by member. */
static void settle_single(clsi_pack *p) {
    EACH_LANE {
        cls_simulator *sim = p->sim[l];
        if (p->off[l] || !is_under_way(p, l)) continue;
        get(p, p->next, 2 * p->n, l, sim->state);
        for (size_t i = 0; i < CLSI_MONITOR_INVARIANTS; i++)
            sim->monitor_out[i] = p->monitor_out[i][l];
        sim->step_entropy = p->size[l];
        sim->steps = p->steps;
        sim->defect = p->defect[l];
        p->off[l] = -(flag)(clsi_simulator_balance(sim) != CLSI_FINE);
        p->trial[l] = sim->defect;
    }
}

static void measure(clsi_pack *p, double t) {
    const clsi_stepper *sp = p->sp;
    p->loops->set_states(p, p->next, p->monitor_in, t);
    clsi_lanes_early(sp->monitor, p->L, p->work_monitor);
    clsi_lanes_late(sp->monitor, p->L, p->work_monitor);
    int heats = sp->scheme->carries && sp->s->m;
    p->loops->settle(p, heats);
    if (!heats) settle_single(p);
}

/* The single way, from the state before the step. */
static void go_alone(clsi_pack *p, int l) {
    p->status[l] = cls_simulator_advance(p->sim[l], 1, &p->error[l]);
    p->out[l] = -(flag)(p->status[l] != CLS_OK);
}

/* Unknowns to begin with: those that have made fewer than three steps take the cold guess. */
static void guess(clsi_pack *p, double t) {
    const clsi_stepper *sp = p->sp;
    int cold = 0;
    EACH_LANE cold |= p->length[l] < 3;
    if (cold) {
        p->loops->set_inputs(p, p->guess_in, t);
        clsi_lanes_early(sp->guess, p->L, p->work_guess);
        for (size_t i = 0; i < (size_t)p->k; i++)
            memcpy(p->unknowns + i * p->L, p->guess_out[i], p->L * sizeof(double));
    }
    p->loops->predict(p, p->unknowns);
}

/* From the unknowns. */
static void find_next(clsi_pack *p, double t) {
    const clsi_stepper *sp = p->sp;
    if (clsi_lanes_borrows(sp->next))
        clsi_lanes_borrow(sp->next, p->work_next, p->work_residual);
    else {
        p->loops->set_inputs(p, p->next_in, t);
        p->loops->set_unknowns(p, p->next_in);
        clsi_lanes_early(sp->next, p->L, p->work_next);
    }
    clsi_lanes_late(sp->next, p->L, p->work_next);
}

static void step(clsi_pack *p) {
    const clsi_stepper *sp = p->sp;
    double h = sp->options.h, t = (double)p->steps * h;
    p->loops->set_inputs(p, p->residual_in, t);
    guess(p, t);
    if (sp->guard && !clsi_lanes_borrows(sp->guard)) {
        p->loops->set_inputs(p, p->guard_in, t);
        clsi_lanes_early(sp->guard, p->L, p->work_guard);
    }
    if (p->measured)
        clsi_lanes_early_from(sp->residual, p->work_residual, sp->monitor, p->work_monitor);
    else
        clsi_lanes_early(sp->residual, p->L, p->work_residual);
    p->loops->begin(p, h);
    solve(p);
    find_next(p, t);
    if (p->owed && find_quiet(p)) clsi_lanes_first(sp->residual, p->L, p->work_residual);
    p->loops->take_next(p);
    if (sp->scheme->carries) measure(p, t);
    int any = p->loops->any_off(p);
    for (int l = 0; l < p->lanes && any; l++)
        if (p->off[l] && is_under_way(p, l)) leave(p, l, p->sim[l]);
    p->loops->commit(p, p->unknowns, any);
    p->measured = sp->scheme->carries; /* unless somebody enters */
    for (int l = 0; l < p->lanes && any; l++) {
        if (!p->off[l] || !is_under_way(p, l)) continue;
        go_alone(p, l);
        enter(p, l, p->sim[l]);
    }
    p->steps++;
}

void clsi_pack_advance(clsi_pack *p, uint64_t n) {
    int any = 0;
    EACH_LANE any |= is_under_way(p, l);
    for (uint64_t i = 0; i < n && any; i++) step(p);
}
