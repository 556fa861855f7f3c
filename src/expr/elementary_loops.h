/* The rows of elementary.c in vectors of WIDTH numbers; compiled for each kind of machine that elementary.c
 * names by TARGET, with names by LOOP. */

#define vector            LOOP(vector)
#define bits              LOOP(bits)
#define wrapping          LOOP(wrapping)
#define load              LOOP(load)
#define store             LOOP(store)
#define splat             LOOP(splat)
#define pick              LOOP(pick)
#define any               LOOP(any)
#define plus              LOOP(plus)
#define minus             LOOP(minus)
#define all_of            LOOP(all_of)
#define size_of           LOOP(size_of)
#define beyond            LOOP(beyond)
#define not_usual         LOOP(not_usual)
#define outside           LOOP(outside)
#define of_sixteen        LOOP(of_sixteen)
#define log_parts         LOOP(log_parts)
#define exp_sum           LOOP(exp_sum)
#define exp_parts         LOOP(exp_parts)
#define upper_half        LOOP(upper_half)
#define pow_of            LOOP(pow_of)
#define each_exp          LOOP(each_exp)
#define each_log          LOOP(each_log)
#define each_pow          LOOP(each_pow)
#define each_powi         LOOP(each_powi)
#define atanh_rest        LOOP(atanh_rest)
#define log_quotient      LOOP(log_quotient)
#define each_log_quotient LOOP(each_log_quotient)
#define sum15             LOOP(sum15)
#define exp_quotient      LOOP(exp_quotient)
#define each_exp_quotient LOOP(each_exp_quotient)
#define exp_from          LOOP(exp_from)
#define power_from        LOOP(power_from)
#define each_exp_from     LOOP(each_exp_from)
#define each_power_from   LOOP(each_power_from)
#define each_pow_from     LOOP(each_pow_from)

#include "expr/width.h"

/* Something is negative where a sample is unusual. */
HELP int any(bits off) {
    return __builtin_expect(NEGATIVE(off) != 0, 0);
}

/* Bits of numbers are added and subtracted as unsigned ones, which wrap. */
typedef unsigned long long wrapping __attribute__((vector_size(sizeof(bits))));

HELP bits plus(bits a, bits b) {
    return (bits)((wrapping)a + (wrapping)b);
}

HELP bits minus(bits a, bits b) {
    return (bits)((wrapping)a - (wrapping)b);
}

HELP bits all_of(long long k) {
    return (bits){0} + k;
}

HELP bits size_of(vector x) {
    return (bits)x & SIZE;
}

/* Negative where not |x| <= most. */
HELP bits beyond(vector x, double most) {
    return minus((bits)splat(most), size_of(x));
}

/* Negative where x is not a positive normal number. */
HELP bits not_usual(vector x) {
    return (bits)x | minus((bits)x, all_of(EXPONENT)) | minus(all_of(0x7fefffffffffffff), (bits)x);
}

/* Negative where not low < x < high, both positive. */
HELP bits outside(vector x, double low, double high) {
    bits below = plus((bits)splat(low), all_of(1)), above = minus((bits)splat(high), all_of(1));
    return (bits)x | minus((bits)x, below) | minus(above, (bits)x);
}

#define EACH(usual, unusual)                                                                       \
    do {                                                                                           \
        size_t i = 0;                                                                              \
        for (; i + WIDTH <= n; i += WIDTH) {                                                       \
            bits off;                                                                              \
            usual;                                                                                 \
            if (any(off))                                                                          \
                for (size_t s = i; s < i + WIDTH; s++)                                             \
                    if (off[s - i] < 0) r[s] = unusual;                                            \
        }                                                                                          \
        for (size_t s = i; s < n; s++) r[s] = unusual;                                             \
    } while (0)

/* ---- elementary.inc ---- */

HELP vector of_sixteen(const double *table, bits i) {
#if WIDTH == 8 && !defined(__clang__)
    return __builtin_shuffle(load(table), load(table + WIDTH), i);
#else
    vector taken;
    for (int s = 0; s < WIDTH; s++) taken[s] = table[i[s]];
    return taken;
#endif
}

HELP vector log_parts(vector x, vector *rest) {
    const double *c = clsi_k_log_terms;
    bits offset = minus((bits)x, all_of(0x3fe6800000000000)), i = (offset >> 48) & 15;
    bits of_k = (((offset >> 52) & 0xfff) ^ 0x800) + 0x4330000000000000;
    vector k = (vector)of_k - 4503599627372544.0;
    vector z = (vector)minus((bits)x, offset & ~(EXPONENT - 1));
    vector head = (vector)(plus((bits)z, all_of(0x80000000)) & ~0xffffffffll);
    vector v = of_sixteen(clsi_k_log_inverse, i);
    vector rh = head * v - 1, rl = (z - head) * v, r = rh + rl;
    vector t = k * 0x1.62e42fefa38p-1 + of_sixteen(clsi_k_log_high, i), u = t + r;
    vector low = (k * 0x1.ef35793c7673p-45 + of_sixteen(clsi_k_log_low, i)) + ((t - u) + r);
    vector half = -0.5 * rh, square = rh * half, high = u + square, r2 = r * r;
    low = low + (rl * (half - 0.5 * r) + ((u - high) + square));
    vector sum = ((c[0] + c[1] * r) + (c[2] + c[3] * r) * r2) +
                 ((c[4] + c[5] * r) + (c[6] + c[7] * r + c[8] * r2) * r2) * (r2 * r2);
    low = low + sum * (r2 * r);
    u = high + low;
    *rest = (high - u) + low;
    return u;
}

HELP vector exp_sum(vector r) {
    const double *c = clsi_k_exp_rests;
    vector r2 = r * r, r4 = r2 * r2;
    vector low = (c[0] + c[1] * r) + (c[2] + c[3] * r) * r2;
    vector middle = (c[4] + c[5] * r) + (c[6] + c[7] * r) * r2;
    vector high = (c[8] + c[9] * r) + c[10] * r2;
    return (low + (middle + high * r4) * r4) * r2;
}

HELP vector exp_parts(vector x, vector rest) {
    vector shifted = x * 0x1.71547652b82fep0 + 0x1.8p52, k = shifted - 0x1.8p52;
    vector r = (x - k * 0x1.62e42fefa38p-1) - (k * 0x1.ef35793c7673p-45 - rest);
    vector p = 1 + (r + exp_sum(r));
    return p * (vector)plus((bits)((wrapping)shifted << 52), (bits)splat(1));
}

HELP vector upper_half(vector x) {
    return (vector)((bits)x & ~0x7ffffffll);
}

HELP vector pow_of(vector x, vector y, bits *off) {
    vector rest, l = log_parts(x, &rest), lh = upper_half(l), yh = upper_half(y), p = yh * lh;
    *off = not_usual(x) | beyond(p, POW_MOST);
    return exp_parts(p, (y - yh) * lh + y * ((l - lh) + rest));
}

TARGET static void each_exp(size_t n, const double *a, double *r) {
    EACH(vector x = load(a + i); store(r + i, exp_parts(x, splat(0)));
         off = beyond(x, EXP_MOST), clsi_k_exp(a[s]));
}

TARGET static void each_log(size_t n, const double *a, double *r) {
    vector rest;
    EACH(vector x = load(a + i); store(r + i, log_parts(x, &rest));
         off = not_usual(x), clsi_k_log(a[s]));
}

/* A step of 0: one exponent for all. */
TARGET static void each_pow(size_t n, const double *a, const double *b, int step, double *r) {
    EACH(vector y = step ? load(b + i) : splat(*b);
         store(r + i, pow_of(load(a + i), y, &off)), clsi_k_pow(a[s], b[step ? s : 0]));
}

TARGET static void each_powi(size_t n, const double *a, int power, double *r) {
    unsigned most = (unsigned)power;
    EACH(
        vector x = load(a + i); vector y = most & 1u ? x : splat(1);
        for (unsigned m = most; m >>= 1;) {
            x *= x;
            if (m & 1u) y *= x;
        } store(r + i, y);
        off = (bits)splat(0), clsi_k_powi(a[s], power));
}

/* ---- quotients of log ---- */

HELP vector atanh_rest(vector y) {
    vector y2 = y * y;
    return ((1.0 / 3 + y * (1.0 / 5)) + y2 * (1.0 / 7 + y * (1.0 / 9))) +
           (y2 * y2) * ((1.0 / 11 + y * (1.0 / 13)) + y2 * (1.0 / 15 + y * (1.0 / 17)));
}

/* x is the end that is there twice, or either; the larger one first changes no bit but the sign of u. */
HELP vector log_quotient(int once, vector x, vector other, bits *off) {
    vector m = 0.5 * x + 0.5 * other, u = 0.5 * (x - other) / m, y = u * u;
    *off = not_usual(x) | not_usual(other) | (beyond(u, 0.1) - 1) | outside(m, 1e-290, INFINITY);
    if (once) return (1 + y * atanh_rest(y)) / m;
    return -(0.5 * m / x + 0.5 * u * atanh_rest(y)) / m / m;
}

TARGET static void each_log_quotient(const clsi_instruction *in, size_t n, const double *a,
                                     const double *b, double *r) {
    const double *x = in->j == 2 ? b : a, *other = in->j == 2 ? a : b;
    int once = in->i + in->j == 2;
    EACH(store(r + i, log_quotient(once, load(x + i), load(other + i), &off)),
         clsi_k_quotient_value(CLSI_K_LOG, in->i, in->j, a[s], b[s], 0));
}

/* ---- quotients of exp ---- */

HELP vector sum15(const double *c, vector x) {
    vector x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
    vector low = ((c[0] + c[1] * x) + (c[2] + c[3] * x) * x2) +
                 ((c[4] + c[5] * x) + (c[6] + c[7] * x) * x2) * x4;
    vector high =
        ((c[8] + c[9] * x) + (c[10] + c[11] * x) * x2) + ((c[12] + c[13] * x) + c[14] * x2) * x4;
    return low + high * x8;
}

/* From the lower end, or from that which is there twice. */
HELP vector exp_quotient(int once, vector x, vector other, bits *off) {
    vector d = other - x;
    bits swap = (bits)d >> 63;
    if (once) x = pick(swap, other, x), d = (vector)size_of(d);
    vector rest = sum15(clsi_k_exp_terms, d), e = exp_parts(x, splat(0));
    *off = beyond(x, 700) | beyond(d, 0.5);
    return once ? e * (1 + d * rest) : e * rest;
}

TARGET static void each_exp_quotient(const clsi_instruction *in, size_t n, const double *a,
                                     const double *b, double *r) {
    const double *x = in->j == 2 ? b : a, *other = in->j == 2 ? a : b;
    int once = in->i + in->j == 2;
    EACH(store(r + i, exp_quotient(once, load(x + i), load(other + i), &off)),
         clsi_k_quotient_value(CLSI_K_EXP, in->i, in->j, a[s], b[s], 0));
}

/* ---- quotients and powers from values ---- */

HELP vector exp_from(int i, int j, vector a, vector b, vector v, bits *off) {
    vector d = b - a, rest = sum15(clsi_k_exp_terms, d), one = 1 + d * rest;
    *off = beyond(d, clsi_k_near_exp) | outside(v, 1e-290, 1e290);
    return v * (i == 2 ? rest : j == 2 ? one - rest : one);
}

HELP vector power_from(int twice, const double *o, double reach, vector a, vector b, vector v,
                       bits *off) {
    vector t = (b - a) / a, t2 = t * t, t4 = t2 * t2, w = v / a;
    vector low = (o[0] + o[1] * t) + (o[2] + o[3] * t) * t2;
    vector middle = (o[4] + o[5] * t) + (o[6] + o[7] * t) * t2;
    vector high = (o[8] + o[9] * t) + ((o[10] + o[11] * t) + o[12] * t2) * t2;
    low = low + (middle + high * t4) * t4;
    *off =
        outside(a, 1e-90, 1e90) | outside(v, 1e-100, 1e100) | beyond(t * reach, clsi_k_near_power);
    return twice ? w / a * low : w * low;
}

TARGET static void each_exp_from(const clsi_instruction *in, size_t n, const double *a,
                                 const double *b, const double *v, double *r) {
    int p = in->i, q = in->j;
    EACH(store(r + i, exp_from(p, q, load(a + i), load(b + i), load(v + i), &off)),
         clsi_k_quotient_from(CLSI_K_EXP, p, q, a[s], b[s], v[s], 0));
}

TARGET static void each_power_from(const clsi_instruction *in, size_t n, const double *a,
                                   const double *b, const double *v, double *r) {
    int p = in->i, q = in->j;
    double o[CLSI_K_BINOMIALS], c = in->exponent, reach = 2 + fabs(c);
    clsi_k_binomials(p, q, c, o);
    EACH(store(r + i, power_from(p + q > 2, o, reach, load(a + i), load(b + i), load(v + i), &off)),
         clsi_k_quotient_from(CLSI_K_POWER, p, q, a[s], b[s], v[s], c));
}

TARGET static void each_pow_from(int inverse, size_t n, const double *a, const double *b,
                                 const double *v, double *r) {
    EACH(vector w = load(v + i); vector p = inverse ? 1 / w : w / load(a + i); store(r + i, p);
         off = outside(w, 1e-290, 1e290) | outside(p, 1e-290, 1e290),
         clsi_k_pow_from(inverse, a[s], v[s], b[s]));
}

static const elementary_loops LOOP(loops) = {each_exp,      each_log,          each_pow,
                                             each_powi,     each_log_quotient, each_exp_quotient,
                                             each_exp_from, each_power_from,   each_pow_from};

#undef vector
#undef bits
#undef wrapping
#undef load
#undef store
#undef splat
#undef pick
#undef any
#undef plus
#undef minus
#undef all_of
#undef size_of
#undef beyond
#undef not_usual
#undef outside
#undef of_sixteen
#undef log_parts
#undef exp_sum
#undef exp_parts
#undef upper_half
#undef pow_of
#undef each_exp
#undef each_log
#undef each_pow
#undef each_powi
#undef atanh_rest
#undef log_quotient
#undef each_log_quotient
#undef sum15
#undef exp_quotient
#undef each_exp_quotient
#undef exp_from
#undef power_from
#undef each_exp_from
#undef each_power_from
#undef each_pow_from
#undef HELP
#undef EACH
#undef LOOP
#undef TARGET
#undef WIDTH
#undef ALL
#undef NEGATIVE
