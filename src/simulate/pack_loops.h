/* The loops of pack.c over lanes, in vectors of WIDTH numbers, L of them in a row; compiled for each kind of machine that
 * pack.c names by TARGET, with names by LOOP. Comparisons give masks: all bits or none, as the flags are. */

#define vector LOOP(numbers)
#define bits   LOOP(masks)
#define load   LOOP(load)
#define store  LOOP(store)
#define splat  LOOP(splat)
#define pick   LOOP(pick)
#define LANES  for (size_t l = 0; l < L; l += WIDTH)

#include "expr/width.h"

HELP bits LOOP(flags)(const flag *from) {
    bits b;
    memcpy(&b, from, sizeof b);
    return b;
}

HELP void LOOP(set_flags)(flag *to, bits b) {
    memcpy(to, &b, sizeof b);
}

HELP vector LOOP(size)(vector x) {
    return (vector)((bits)x & 0x7fffffffffffffff);
}

HELP vector LOOP(larger)(vector a, vector b) {
    return pick(a > b, a, b);
}

HELP bits LOOP(finite)(vector x) {
    return LOOP(size)(x) <= splat(DBL_MAX);
}

HELP void LOOP(fill)(double *to, double x) {
    LANES store(to + l, splat(x));
}

HELP void LOOP(copy)(size_t rows, const double *from, double *to) {
    for (size_t i = 0; i < rows * L; i += WIDTH) store(to + i, load(from + i));
}

/* ---- the beginning of a step ---- */

/* States and time; what was received stays zero. */
TARGET static void LOOP(set_states)(const clsi_pack *p, const double *states, double *in,
                                    double t) {
    LOOP(copy)(p->n, states, in);
    LOOP(fill)(in + (p->n + 1) * L, t);
}

/* h stays, too. */
TARGET static void LOOP(set_inputs)(const clsi_pack *p, double *in, double t) {
    size_t nz = p->n;
    LOOP(set_states)(p, p->state, in, t);
    LOOP(copy)(1, p->defect, in + (nz + 3) * L);
    LOOP(copy)((size_t)p->owed, p->state + nz * L, in + (nz + 4) * L);
}

TARGET static void LOOP(set_unknowns)(const clsi_pack *p, double *in) {
    LOOP(copy)((size_t)p->k, p->unknowns, in + p->sp->n_base * L);
}

/* step_predict for those with three solutions or more; the others keep what is in u. */
TARGET static void LOOP(predict)(const clsi_pack *p, double *u) {
    double *const *h = p->history;
    LANES {
        bits length = LOOP(flags)(p->length + l), smooth = length == CLSI_HISTORY;
        for (size_t x = l; x < (size_t)p->k * L; x += L) {
            vector a = load(h[0] + x), b = load(h[1] + x), c = load(h[2] + x), d = load(h[3] + x),
                   e = load(h[4] + x), f = load(h[5] + x);
            vector by_three = a - (3 * (b - c) + d);
            vector by_five = a - (5 * (b - e) - 10 * (c - d) + f);
            smooth &= LOOP(size)(by_five) <= 0.1 * LOOP(size)(by_three) + 1e-12 * LOOP(size)(a);
        }
        for (size_t x = l; x < (size_t)p->k * L; x += L) {
            vector a = load(h[0] + x), b = load(h[1] + x), c = load(h[2] + x), d = load(h[3] + x),
                   e = load(h[4] + x);
            vector five = 5 * (a - d) - 10 * (b - c) + e, three = 3 * (a - b) + c;
            store(u + x, pick(length < 3, load(u + x), pick(smooth, five, three)));
        }
    }
}

/* newton_least, and nobody is solved yet. */
TARGET static void LOOP(begin)(clsi_pack *p, double h) {
    const clsi_stepper *sp = p->sp;
    double tolerance = sp->options.tolerance, ulp = 0.5 * DBL_EPSILON / (fabs(h) * tolerance);
    size_t first = sp->s->form->kind == CLSI_FORM_THERMAL ? sp->s->nq + sp->s->n : p->n;
    vector low = splat(DBL_MIN / tolerance);
    LANES {
        LOOP(set_flags)(p->off + l, LOOP(flags)(p->out + l));
        LOOP(set_flags)(p->done + l, (bits)splat(0));
        store(p->before + l, splat(INFINITY));
        vector rest = splat(0);
        for (size_t i = 0; i < p->n; i++)
            if (!(sp->outside && i < sp->nz && sp->outside[i]))
                rest = LOOP(larger)(rest, LOOP(size)(load(p->state + i * L + l)));
        for (size_t i = 0; i < (size_t)p->k; i++) {
            size_t of = sp->of_state[i] < p->n ? sp->of_state[i] : p->n;
            vector z = splat(of < p->n);
            if (of < first && of < p->n)
                z = LOOP(larger)(LOOP(size)(load(p->state + of * L + l)), 1e-3 * rest);
            store(p->least + i * L + l, LOOP(larger)(ulp * z, low));
        }
    }
}

/* ---- Newton's method ---- */

/* newton_evaluate: off where the domain is left or something is not finite, unless done. */
TARGET static void LOOP(check_rows)(clsi_pack *p) {
    size_t k = (size_t)p->k, all = k + p->sp->n_positive;
    LANES {
        bits fine = (bits)splat(0) - 1;
        for (size_t i = 0; i < all; i++) {
            vector r = load(p->residual_out[i] + l);
            fine &= LOOP(finite)(r);
            if (i >= k) fine &= r > splat(0);
        }
        LOOP(set_flags)(p->off + l, LOOP(flags)(p->off + l) | (~fine & ~LOOP(flags)(p->done + l)));
    }
}

TARGET static void LOOP(check_guard)(clsi_pack *p) {
    const clsi_stepper *sp = p->sp;
    for (size_t i = 0; i < sp->n_guarded; i++) {
        const clsi_variable *q = clsi_state_variable(sp->s, sp->guarded[i]);
        LANES {
            vector x = load(p->guard_out[i] + l);
            bits outside = ~((x > splat(q->low)) & (x < splat(q->high)));
            LOOP(set_flags)
            (p->off + l, LOOP(flags)(p->off + l) | (outside & ~LOOP(flags)(p->done + l)));
        }
    }
}

HELP void LOOP(exchange)(bits which, vector *x, vector *y) {
    vector kept = *x;
    *x = pick(which, *y, kept);
    *y = pick(which, kept, *y);
}

/* Column c below the diagonal is eliminated. */
HELP void LOOP(eliminate)(size_t k, size_t c, vector *a) {
    for (size_t i = c + 1; i < k; i++) {
        vector f = a[i * k + c] = a[i * k + c] / a[c * k + c];
        for (size_t j = c + 1; j < k; j++)
            a[i * k + j] = pick(f == splat(0), a[i * k + j], a[i * k + j] - f * a[c * k + j]);
    }
}

HELP bits LOOP(unusable)(vector x) {
    return ~((LOOP(size)(x) > splat(0)) & LOOP(finite)(x));
}

/* clsi_lu_factor for lanes whose rows stay where they are, as they do at small steps; the lanes
 * that have no inverse. `moved`: lanes that would exchange rows. */
HELP bits LOOP(factor_still)(size_t k, vector *a, bits *moved) {
    bits bad = (bits)splat(0), move = (bits)splat(0);
    for (size_t c = 0; c < k; c++) {
        vector top = LOOP(size)(a[c * k + c]);
        bad |= LOOP(unusable)(top);
        for (size_t i = c + 1; i < k; i++) move |= LOOP(size)(a[i * k + c]) > top;
        LOOP(eliminate)(k, c, a);
    }
    *moved = move;
    return bad;
}

/* clsi_lu_factor for all lanes; those that have no inverse. */
HELP bits LOOP(factor)(size_t k, vector *a, bits *pivot) {
    bits bad = (bits)splat(0);
    for (size_t c = 0; c < k; c++) {
        vector top = a[c * k + c];
        pivot[c] = (bits)splat(0) + (long long)c;
        for (size_t i = c + 1; i < k; i++) {
            vector other = a[i * k + c];
            bits larger = LOOP(size)(other) > LOOP(size)(top);
            pivot[c] = (larger & (long long)i) | (~larger & pivot[c]);
            top = pick(larger, other, top);
        }
        bad |= LOOP(unusable)(top);
        for (size_t i = c + 1; i < k; i++)
            for (size_t j = 0; j < k; j++)
                LOOP(exchange)(pivot[c] == (long long)i, &a[c * k + j], &a[i * k + j]);
        LOOP(eliminate)(k, c, a);
    }
    return bad;
}

HELP void LOOP(exchange_all)(size_t k, const bits *pivot, vector *b) {
    for (size_t c = 0; c < k; c++)
        for (size_t i = c + 1; i < k; i++) LOOP(exchange)(pivot[c] == (long long)i, &b[c], &b[i]);
}

/* clsi_lu_solve behind the exchanges */
HELP void LOOP(back)(size_t k, const vector *a, vector *b) {
    for (size_t i = 1; i < k; i++)
        for (size_t j = 0; j < i; j++) b[i] -= a[i * k + j] * b[j];
    for (size_t i = k; i-- > 0;) {
        for (size_t j = i + 1; j < k; j++) b[i] -= a[i * k + j] * b[j];
        b[i] /= a[i * k + i];
    }
}

/* newton_size: what is not finite is infinite. */
HELP vector LOOP(longest)(size_t k, const clsi_pack *p, size_t l, const vector *d) {
    vector most = splat(0);
    for (size_t i = 0; i < k; i++) {
        vector x = LOOP(size)(d[i]) / load(p->scale + i * L + l);
        most = pick(x <= most, most, pick(x <= splat(DBL_MAX), x, splat(INFINITY)));
    }
    return most;
}

/* newton_is_last */
HELP bits LOOP(is_last)(vector s, vector b, double tolerance) {
    vector ratio = s / b;
    ratio = pick(ratio < splat(1), ratio, splat(1));
    vector next = pick(b > splat(DBL_MAX), s * s, s * ratio * ratio);
    return (s <= splat(tolerance)) | ((s < splat(1e-5)) & (next <= splat(0.1 * tolerance))) |
           ((s < splat(1e-9)) & (s > 0.25 * b));
}

/* Lanes whose update is the last for certain, seen without a quotient: is_last with a margin for
 * the rounding of longest. */
HELP bits LOOP(surely_last)(size_t k, const clsi_pack *p, size_t l, const vector *d) {
    double tolerance = p->sp->options.tolerance, first = sqrt(0.1 * tolerance);
    if (first > 1e-5) first = 1e-5;
    vector limit =
        0.99 * pick(load(p->before + l) > splat(DBL_MAX), splat(first), splat(tolerance));
    bits sure = (bits)splat(0) - 1;
    for (size_t i = 0; i < k; i++) sure &= LOOP(size)(d[i]) <= limit * load(p->scale + i * L + l);
    return sure;
}

HELP int LOOP(any)(bits b) {
    return ANY(b);
}

/* The Jacobian of some lanes; those in which it is not finite. */
HELP bits LOOP(take_jacobian)(size_t k, const clsi_pack *p, size_t l, vector *a) {
    const double *const *J = p->residual_out + k + p->sp->n_positive;
    bits bad = (bits)splat(0);
    for (size_t i = 0; i < k * k; i++) {
        a[i] = load(J[i] + l);
        bad |= ~LOOP(finite)(a[i]);
    }
    return bad;
}

/* The update of some lanes, by factors that are kept for `judge`; those that have none. */
HELP bits LOOP(take_update)(size_t k, clsi_pack *p, size_t l, vector *d) {
    vector a[MOST_UNKNOWNS * MOST_UNKNOWNS];
    bits pivot[MOST_UNKNOWNS], moved, bad = LOOP(take_jacobian)(k, p, l, a);
    for (size_t i = 0; i < k; i++) d[i] = load(p->residual_out[i] + l);
    bits lost = LOOP(factor_still)(k, a, &moved);
    p->moved[l / WIDTH] = LOOP(any)(moved);
    if (p->moved[l / WIDTH]) {
        LOOP(take_jacobian)(k, p, l, a);
        lost = LOOP(factor)(k, a, pivot);
        LOOP(exchange_all)(k, pivot, d);
        for (size_t i = 0; i < k; i++) store(p->pivots + i * L + l, (vector)pivot[i]);
    }
    for (size_t i = 0; i < k * k; i++) store(p->factors + i * L + l, a[i]);
    LOOP(back)(k, a, d);
    return bad | lost;
}

HELP int LOOP(update_of)(size_t k, clsi_pack *p, double *u) {
    bits open = (bits)splat(0);
    LANES {
        vector d[MOST_UNKNOWNS];
        bits bad = LOOP(take_update)(k, p, l, d);
        for (size_t i = 0; i < k; i++)
            store(p->scale + i * L + l,
                  LOOP(larger)(LOOP(size)(load(u + i * L + l)), load(p->least + i * L + l)));
        bits done = LOOP(flags)(p->done + l), off = LOOP(flags)(p->off + l) | (bad & ~done),
             last = LOOP(surely_last)(k, p, l, d);
        if (LOOP(any)(~(last | done | off))) {
            vector size = LOOP(longest)(k, p, l, d);
            last = LOOP(is_last)(size, load(p->before + l), p->sp->options.tolerance);
            off |= ~LOOP(finite)(size) & ~done;
            if (p->sp->heat) off |= (size > 0.25 * load(p->before + l)) & ~(last | done);
            store(p->size + l, size); /* for judge, where an update was not the last */
        }
        for (size_t i = 0; i < k; i++) {
            vector x = load(u + i * L + l);
            store(u + i * L + l, pick(done | off, x, x - d[i]));
        }
        LOOP(set_flags)(p->off + l, off);
        LOOP(set_flags)(p->done + l, done | last);
        open |= ~(done | last | off);
    }
    return LOOP(any)(open);
}

/* After a full update that was not the last: the simplified update must be shorter. The factors of
 * the Jacobian are still there. */
HELP int LOOP(judge_of)(size_t k, clsi_pack *p) {
    bits open = (bits)splat(0);
    LANES {
        vector a[MOST_UNKNOWNS * MOST_UNKNOWNS], d[MOST_UNKNOWNS];
        bits pivot[MOST_UNKNOWNS];
        for (size_t i = 0; i < k * k; i++) a[i] = load(p->factors + i * L + l);
        for (size_t i = 0; i < k; i++) d[i] = load(p->residual_out[i] + l);
        for (size_t i = 0; i < k; i++) pivot[i] = (bits)load(p->pivots + i * L + l);
        if (p->moved[l / WIDTH]) LOOP(exchange_all)(k, pivot, d);
        LOOP(back)(k, a, d);
        vector size = load(p->size + l);
        bits worse = ~(LOOP(longest)(k, p, l, d) <= 0.75 * size);
        LOOP(set_flags)(p->off + l, LOOP(flags)(p->off + l) | (worse & ~LOOP(flags)(p->done + l)));
        store(p->before + l, size);
        open |= ~(LOOP(flags)(p->done + l) | LOOP(flags)(p->off + l));
    }
    return LOOP(any)(open);
}

/* Few unknowns are written out, where vectors are registers. */
TARGET static int LOOP(update)(clsi_pack *p, double *u) {
    switch (p->k) {
    case 1: return LOOP(update_of)(1, p, u);
    case 2: return LOOP(update_of)(2, p, u);
#if WIDTH > 2
    case 3: return LOOP(update_of)(3, p, u);
    case 4: return LOOP(update_of)(4, p, u);
#endif
    default: return LOOP(update_of)((size_t)p->k, p, u);
    }
}

TARGET static int LOOP(judge)(clsi_pack *p) {
    switch (p->k) {
    case 1: return LOOP(judge_of)(1, p);
    case 2: return LOOP(judge_of)(2, p);
#if WIDTH > 2
    case 3: return LOOP(judge_of)(3, p);
    case 4: return LOOP(judge_of)(4, p);
#endif
    default: return LOOP(judge_of)((size_t)p->k, p);
    }
}

/* ---- the end of a step ---- */

/* Whose next step owes what the equations are left at; 1 when there is one. */
TARGET static int LOOP(find_quiet)(clsi_pack *p) {
    bits any = (bits)splat(0);
    LANES {
        bits quiet =
            load(p->step_entropy + l) <= QUIET * load(p->monitor + CLSI_MONITOR_SIZE * L + l);
        LOOP(set_flags)(p->quiet + l, quiet);
        any |= quiet;
    }
    return LOOP(any)(any);
}

/* step_take_next without the state: p->next. */
TARGET static void LOOP(take_next)(clsi_pack *p) {
    const clsi_stepper *sp = p->sp;
    size_t n = p->n;
    LANES {
        bits fine = (bits)splat(0) - 1;
        for (size_t i = 0; i < n; i++) {
            vector to = load(p->next_out[i] + l), owes = splat(0);
            if (sp->books) { /* step_add */
                vector state = load(p->state + i * L + l),
                       d = to + load(p->state + (n + i) * L + l);
                vector sum = state + d, taken = sum - state;
                owes = (state - (sum - taken)) + (d - taken);
                to = sum;
            }
            if (i < (size_t)p->owed)
                owes = (vector)((bits)load(p->residual_out[i] + l) & LOOP(flags)(p->quiet + l));
            store(p->next + i * L + l, to);
            store(p->next + (n + i) * L + l, owes);
            fine &= LOOP(finite)(to);
        }
        for (size_t g = 0; g < sp->n_guarded; g++) {
            const clsi_variable *q = clsi_state_variable(sp->s, sp->guarded[g]);
            vector x = load(p->next + sp->guarded[g] * L + l);
            fine &= (x > splat(q->low)) & (x < splat(q->high));
        }
        LOOP(set_flags)(p->off + l, LOOP(flags)(p->off + l) | ~fine);
    }
}

/* step_carried after the solve: where nothing is unusual, the defect for the next step and what was
 * measured; else off. */
TARGET static void LOOP(settle)(clsi_pack *p, int heats) {
    LANES {
        vector energy = load(p->monitor_out[CLSI_MONITOR_ENERGY] + l),
               beta = load(p->monitor_out[CLSI_MONITOR_BETA] + l),
               size = load(p->monitor_out[CLSI_MONITOR_SIZE] + l);
        vector before = load(p->monitor + CLSI_MONITOR_ENERGY * L + l),
               start = load(p->energy_start + l);
        vector produced = load(p->monitor_out[CLSI_MONITOR_ENTROPY] + l) -
                          load(p->monitor + CLSI_MONITOR_ENTROPY * L + l);
        vector scale = load(p->energy_scale + l), limit = 0.25e-13 * scale,
               had = load(p->defect + l), zero = splat(0),
               fall = load(p->highest + l) - load(p->monitor_out[CLSI_MONITOR_ENTROPY] + l);
        vector given = heats ? had : zero, missing = start - energy;
        bits usual = (LOOP(size)((energy - before) - given) <= limit) & (fall <= 1e-15 * size) &
                     (scale > zero) & (LOOP(size)(missing) <= limit) &
                     (LOOP(size)(start - before) <= limit) & ~((had < zero) & (produced < zero)) &
                     LOOP(finite)(produced) &
                     LOOP(finite)(beta + load(p->monitor_out[CLSI_MONITOR_HOT] + l));
        bits real = (beta > zero) & (produced > 1e-14 * size);
        vector least = pick(real, -0.5 * produced / beta, zero),
               defect = LOOP(larger)(missing, least);
        if (p->owed) defect = pick(~real & (missing <= 5e-15 * scale), zero, defect);
        store(p->trial + l, defect); /* k >= 1 rows are free here */
        store(p->size + l, produced);
        LOOP(set_flags)(p->off + l, LOOP(flags)(p->off + l) | ~usual);
    }
}

TARGET static int LOOP(any_off)(const clsi_pack *p) {
    bits off = (bits)splat(0);
    LANES off |= LOOP(flags)(p->off + l);
    return LOOP(any)(off);
}

/* For those that are not off. */
HELP void LOOP(take)(size_t rows, const flag *off, const double *from, double *to) {
    for (size_t i = 0; i < rows * L; i += L) LANES
    store(to + i + l, pick(LOOP(flags)(off + l), load(to + i + l), load(from + i + l)));
}

HELP void LOOP(commit_states)(clsi_pack *p, int any) {
    double *before = p->state;
    if (any) {
        LOOP(take)(2 * p->n, p->off, p->next, p->state);
        return;
    }
    p->state = p->next;
    p->next = before;
}

/* The step of those that are not off becomes theirs. any: somebody is. */
TARGET static void LOOP(commit)(clsi_pack *p, const double *u, int any) {
    size_t k = (size_t)p->k;
    double *oldest = p->history[CLSI_HISTORY - 1];
    LOOP(commit_states)(p, any);
    LOOP(copy)(k, u, oldest); /* those that are off are entered again */
    for (int i = CLSI_HISTORY - 1; i > 0; i--) p->history[i] = p->history[i - 1];
    p->history[0] = oldest;
    LANES {
        bits length = LOOP(flags)(p->length + l);
        LOOP(set_flags)(p->length + l, length - (length < CLSI_HISTORY));
    }
    if (!p->sp->scheme->carries) return;
    LOOP(take)(1, p->off, p->trial, p->defect);
    LOOP(take)(1, p->off, p->size, p->step_entropy);
    for (size_t i = 0; i < CLSI_MONITOR_INVARIANTS; i++)
        LOOP(take)(1, p->off, p->monitor_out[i], p->monitor + i * L);
    LANES {
        bits off = LOOP(flags)(p->off + l);
        vector entropy = load(p->monitor_out[CLSI_MONITOR_ENTROPY] + l),
               size = load(p->monitor_out[CLSI_MONITOR_SIZE] + l), highest = load(p->highest + l),
               largest = load(p->largest_size + l);
        store(p->highest + l, pick(off, highest, LOOP(larger)(entropy, highest)));
        store(p->largest_size + l, pick(off, largest, LOOP(larger)(size, largest)));
    }
}

static const pack_loops LOOP(loops) = {
    LOOP(set_states), LOOP(set_inputs),  LOOP(set_unknowns), LOOP(predict), LOOP(begin),
    LOOP(check_rows), LOOP(check_guard), LOOP(update),       LOOP(judge),   LOOP(find_quiet),
    LOOP(take_next),  LOOP(settle),      LOOP(any_off),      LOOP(commit)};

#undef LANES
#undef HELP
#undef vector
#undef bits
#undef load
#undef store
#undef splat
#undef pick
#undef LOOP
#undef TARGET
#undef WIDTH
#undef ALL
#undef L
#undef ANY
