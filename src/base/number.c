/* Numbers as text and back, to the bit, in any locale.
 *
 * Reading: w 10^q with w of at most 19 digits, then
 *   small     at most 15 digits and |q| <= 22: one exact product or quotient
 *   general   Eisel and Lemire, "Number parsing at a gigabyte per second" (2021), algorithm 1: the
 *             product of w with 128 leading bits of 10^q decides all cases
 *   long      more than 19 digits: if w and w + 1 give the same double that is it; else strtod
 *             under the "C" locale, whose cost (a microsecond) nobody meets twice
 * About 25 ns for 17 digits (loaded machine). Hexadecimal floats go to strtod as well.
 *
 * Writing: the shortest decimal that reads back to the same bits and is the nearest of those, by
 * Giulietti, "The Schubfach way to render doubles" (2021), with the same table rounded up. About
 * 55 ns. The text is that of %g with just enough digits: 0.1, 200, 1e-05, 1e+16. */
#define _GNU_SOURCE
#include "base/base.h"
#include "base/locale.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct power {
    uint64_t high, low;
} power;

enum { FIRST_POWER = -343, LAST_POWER = 324 };

/* Computed by the build (tables/powers.c): high and low words, from FIRST_POWER on. */
extern const uint64_t clsi_powers_of_ten[LAST_POWER - FIRST_POWER + 1][2];

static power power_of_ten(int k) {
    const uint64_t *words = clsi_powers_of_ten[k - FIRST_POWER];
    return (power){words[0], words[1]};
}

typedef unsigned __int128 wide;

/* ---- reading ---- */

static double compose(uint64_t mantissa, int exponent, int negative) {
    uint64_t bits = mantissa | (uint64_t)exponent << 52 | (uint64_t)negative << 63;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* w 10^q for w > 0, rounded to nearest, ties to even. Overflow gives infinity. */
static double scale(uint64_t w, int q, int negative) {
    if (q < -342) return compose(0, 0, negative);
    if (q > 308) return compose(0, 0x7ff, negative);
    power p = power_of_ten(q);
    if (q < -27 || q > 55) p.high -= p.low-- == 0; /* the proof wants it rounded down there */
    int zeros = __builtin_clzll(w);
    w <<= zeros;
    wide first = (wide)w * p.high;
    uint64_t high = (uint64_t)(first >> 64), low = (uint64_t)first;
    if ((high & 0x1ff) == 0x1ff) {
        uint64_t more = (uint64_t)((wide)w * p.low >> 64);
        low += more;
        high += low < more;
    }
    int upper = (int)(high >> 63);
    uint64_t mantissa = high >> (upper + 9); /* 54 bits: the last one decides rounding */
    int exponent = ((217706 * q) >> 16) + 63 + upper - zeros + 1023;
    if (exponent <= 0) { /* subnormal */
        if (1 - exponent >= 64) return compose(0, 0, negative);
        mantissa >>= 1 - exponent;
        mantissa = (mantissa + (mantissa & 1)) >> 1;
        int normal = mantissa >> 52 != 0;
        return compose(mantissa & ((1ull << 52) - 1), normal, negative);
    }
    /* exactly between two doubles, possible only for small powers: to even */
    if (low <= 1 && q >= -4 && q <= 23 && (mantissa & 3) == 1 && mantissa << (upper + 9) == high)
        mantissa &= ~1ull;
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    if (mantissa >> 53) {
        mantissa = 1ull << 52;
        exponent++;
    }
    if (exponent >= 0x7ff) return compose(0, 0x7ff, negative);
    return compose(mantissa & ((1ull << 52) - 1), exponent, negative);
}

static int is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

static const uint64_t tens[] = {1ull,
                                10ull,
                                100ull,
                                1000ull,
                                10000ull,
                                100000ull,
                                1000000ull,
                                10000000ull,
                                100000000ull,
                                1000000000ull,
                                10000000000ull,
                                100000000000ull,
                                1000000000000ull,
                                10000000000000ull,
                                100000000000000ull,
                                1000000000000000ull,
                                10000000000000000ull,
                                100000000000000000ull,
                                1000000000000000000ull,
                                10000000000000000000ull};

/* The digits among the next eight bytes (Lemire), as a number: how many there are. No branch
 * depends on how many, because texts of doubles end after 15, 16 or 17 digits by chance. */
static inline unsigned eight_digits(const char *s, uint64_t *value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t y;
    memcpy(&y, s, 8);
    y ^= 0x3030303030303030ull;
    uint64_t others = ((y + 0x0606060606060606ull) | y) & 0xf0f0f0f0f0f0f0f0ull;
    unsigned n = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
    y = n ? y << (64 - 8 * n) : 0; /* zeros in front of them */
    y = y * 10 + (y >> 8);
    *value = ((y & 0x000000ff000000ffull) * 0x000f424000000064ull +
              (y >> 16 & 0x000000ff000000ffull) * 0x0000271000000001ull) >>
             32;
    return n;
#else
    unsigned n = 0;
    for (*value = 0; n < 8 && is_digit(s[n]); n++) *value = 10 * *value + (uint64_t)(s[n] - '0');
    return n;
#endif
}

static inline const char *digits(const char *s, uint64_t *w) {
    for (unsigned n = 8; n == 8; s += n) {
        uint64_t value;
        n = eight_digits(s, &value);
        *w = *w * tens[n] + value;
    }
    return s;
}

/* Before the mark there are few, and as many as in the row before. */
static inline const char *first_digits(const char *s, uint64_t *w) {
    for (int i = 0; i < 4; i++, s++) {
        if (!is_digit(*s)) return s;
        *w = *w * 10 + (uint64_t)(*s - '0');
    }
    return digits(s, w);
}

/* strtod, wherever the process is. The decimal mark is a point. */
static const char *by_library(const char *s, double *out) {
    char *end;
    locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!c) return NULL;
    *out = strtod_l(s, &end, c);
    freelocale(c);
    return end == s ? NULL : end;
}

double clsi_strtod(const char *s, char **end) {
    double value = 0;
    const char *stop = by_library(s, &value);
    if (end) *end = (char *)(stop ? stop : s);
    return stop ? value : 0;
}

/* The locale of this thread only; "C" is there already and takes no memory. */
int clsi_vsnprintf(char *out, size_t size, const char *format, va_list args) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c) return -1;
    locale_t before = uselocale(c);
    int n = vsnprintf(out, size, format, args);
    uselocale(before);
    freelocale(c);
    return n;
}

int clsi_snprintf(char *out, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = clsi_vsnprintf(out, size, format, args);
    va_end(args);
    return n;
}

/* More than 19 digits from `first` to `end` of the mantissa; the exponent (of ten) stands apart. */
static const char *many_digits(const char *first, char mark, const char *end, const char *after,
                               int64_t exponent, int negative, double *out) {
    uint64_t w = 0;
    int taken = 0, seen_mark = 0;
    int64_t q = exponent;
    for (const char *s = first; s < end; s++) {
        if (*s == mark) {
            seen_mark = 1;
            continue;
        }
        if (!taken && *s == '0') {
            q -= seen_mark;
            continue;
        }
        if (taken < 19) {
            w = w * 10 + (uint64_t)(*s - '0');
            taken++;
            q -= seen_mark;
        } else {
            q += !seen_mark;
        }
    }
    if (w == 0) {
        *out = negative ? -0.0 : 0.0;
        return after;
    }
    int power10 = q < -100000 ? -100000 : q > 100000 ? 100000 : (int)q;
    double below = scale(w, power10, negative), above = scale(w + 1, power10, negative);
    *out = below;
    if (below == above) return after;
    size_t n = (size_t)(after - first);
    char *copy = clsi_strndup(first, n);
    if (!copy) return NULL;
    for (char *c = copy; *c; c++) {
        if (*c == mark) *c = '.';
        if (*c == 'd' || *c == 'D') *c = 'e';
    }
    const char *stop = by_library(copy, out);
    if (negative) *out = -*out;
    free(copy);
    return stop ? after : NULL;
}

/* e+12, E-3, D+03 (Fortran) at s: the end, or s when there is none. */
static const char *read_exponent(const char *s, int64_t *exponent) {
    *exponent = 0;
    if ((*s | 32) != 'e' && (*s | 32) != 'd') return s;
    const char *at = s + 1;
    int minus = *at == '-';
    at += minus || *at == '+';
    if (!is_digit(*at)) return s;
    int64_t e = 0;
    for (; is_digit(*at); at++)
        if (e < 1000000000) e = 10 * e + (*at - '0');
    *exponent = minus ? -e : e;
    return at;
}

static const double exact_powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

const char *clsi_scan_double(const char *s, char mark, double *out) {
    const char *begin = s;
    int negative = *s == '-';
    s += negative || *s == '+';
    if (s[0] == '0' && (s[1] | 32) == 'x') return by_library(begin, out);
    const char *first = s;
    uint64_t w = 0;
    int64_t exponent;
    s = first_digits(s, &w);
    size_t count = (size_t)(s - first);
    size_t fraction = 0;
    if (*s == mark) {
        const char *point = ++s;
        s = digits(s, &w);
        fraction = (size_t)(s - point);
        count += fraction;
    }
    if (!count) return NULL;
    const char *end = s;
    s = read_exponent(s, &exponent);
    if (count > 19) { /* zeros in front do not count */
        for (const char *c = first; *c == '0' || *c == mark; c++) count -= *c == '0';
        if (count > 19) return many_digits(first, mark, end, s, exponent, negative, out);
    }
    if (w == 0) {
        *out = negative ? -0.0 : 0.0;
        return s;
    }
    int64_t q = exponent - (int64_t)fraction;
    if (count < 16 && q >= -22 && q <= 22) { /* not by w < 2^53: chance would decide at 16 digits */
        double x = (double)w;
        x = q < 0 ? x / exact_powers[-q] : x * exact_powers[q];
        *out = negative ? -x : x;
        return s;
    }
    *out = scale(w, q < -400 ? -400 : q > 400 ? 400 : (int)q, negative);
    return s;
}

int clsi_read_double(const char *text, double *out) {
    char padded[128] = "";
    size_t n = strlen(text);
    const char *end;
    if (n + 8 < sizeof padded) {
        memcpy(padded, text, n);
        end = clsi_scan_double(padded, '.', out);
        return end == padded + n;
    }
    if (!is_digit(text[0]) && !strchr("+-.", text[0])) return 0; /* not inf, nan or blanks */
    end = by_library(text, out);
    return end == text + n;
}

/* ---- writing ---- */

/* digits 10^exponent */
typedef struct decimal {
    uint64_t digits;
    int exponent;
} decimal;

/* The product with a power, rounded to odd: what is below the last bit is not forgotten. */
static uint64_t round_to_odd(power g, uint64_t c) {
    wide x = (wide)g.low * c, y = (wide)g.high * c;
    uint64_t low = (uint64_t)y, high = (uint64_t)(y >> 64), carry = (uint64_t)(x >> 64);
    low += carry;
    high += low < carry;
    return high | (low > 1);
}

static decimal shortest(uint64_t significand, int biased) {
    uint64_t c = biased ? significand | 1ull << 52 : significand;
    int q = (biased ? biased : 1) - 1075;
    if (q <= 0 && q > -53 && (c & ((1ull << -q) - 1)) == 0) return (decimal){c >> -q, 0};
    uint64_t odd = c & 1;
    int closer = significand == 0 && biased > 1; /* the neighbour below is half as far */
    int k = (q * 1262611 - (closer ? 524031 : 0)) >> 22;
    int h = q + ((-k * 1741647) >> 19) + 1;
    power g = power_of_ten(-k);
    uint64_t lower = round_to_odd(g, (4 * c - 2 + (uint64_t)closer) << h) + odd;
    uint64_t value = round_to_odd(g, (4 * c) << h);
    uint64_t upper = round_to_odd(g, (4 * c + 2) << h) - odd;
    uint64_t s = value / 4;
    if (s >= 10) {
        uint64_t t = s / 10;
        int down = lower <= 40 * t, up = 40 * t + 40 <= upper;
        if (down != up) return (decimal){t + (uint64_t)up, k + 1};
    }
    int down = lower <= 4 * s, up = 4 * s + 4 <= upper;
    if (down != up) return (decimal){s + (uint64_t)up, k};
    uint64_t middle = 4 * s + 2;
    return (decimal){s + (value > middle || (value == middle && (s & 1))), k};
}

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343"
    "53637383940414243444546474849505152535455565758596061626364656667686970"
    "71727374757677787980818283848586878889909192939495969798"
    "99";

static int digit_count(uint64_t x) {
    int n = (64 - __builtin_clzll(x | 1)) * 1233 >> 12;
    return n + (x >= tens[n]);
}

/* n digits of x, right-aligned in out[0..n). */
static void put_digits(char *out, uint64_t x, int n) {
    while (n >= 2) {
        n -= 2;
        memcpy(out + n, pairs + 2 * (x % 100), 2);
        x /= 100;
    }
    if (n) out[0] = (char)('0' + x % 10);
}

static size_t put_special(char *out, uint64_t fraction, int negative) {
    const char *word = fraction ? (negative ? "-nan" : "nan") : negative ? "-inf" : "inf";
    size_t n = strlen(word);
    memcpy(out, word, n);
    return n;
}

/* d.ddde-07 */
static size_t put_scientific(char *out, uint64_t x, int n, int e) {
    put_digits(out + 1, x, n);
    out[0] = out[1];
    out[1] = '.';
    char *at = out + (n > 1 ? n + 1 : 1);
    *at++ = 'e';
    *at++ = e < 0 ? '-' : '+';
    if (e < 0) e = -e;
    if (e >= 100) *at++ = (char)('0' + e / 100);
    memcpy(at, pairs + 2 * (e % 100), 2);
    return (size_t)(at + 2 - out);
}

static size_t put_fixed(char *out, uint64_t x, int n, int e) {
    if (e < 0) { /* 0.00ddd */
        memcpy(out, "0.0000", 6);
        put_digits(out + 1 - e, x, n);
        return (size_t)(1 - e + n);
    }
    if (n <= e + 1) { /* ddd000 */
        put_digits(out, x, n);
        memset(out + n, '0', (size_t)(e + 1 - n));
        return (size_t)(e + 1);
    }
    put_digits(out + 1, x, n); /* dd.ddd */
    memmove(out, out + 1, (size_t)e + 1);
    out[e + 1] = '.';
    return (size_t)n + 1;
}

size_t clsi_write_double(double value, char *out) {
    uint64_t bits, fraction;
    memcpy(&bits, &value, sizeof bits);
    fraction = bits & ((1ull << 52) - 1);
    int biased = (int)(bits >> 52 & 0x7ff), negative = (int)(bits >> 63);
    if (biased == 0x7ff) return put_special(out, fraction, negative);
    size_t sign = (size_t)negative;
    if (negative) *out++ = '-';
    if (!biased && !fraction) {
        *out = '0';
        return sign + 1;
    }
    decimal d = shortest(fraction, biased);
    while (d.digits % 10 == 0) { /* rare but for small integers */
        d.digits /= 10;
        d.exponent++;
    }
    int n = digit_count(d.digits), e = d.exponent + n - 1;
    if (e < -4 || (e >= 16 && e >= n)) return sign + put_scientific(out, d.digits, n, e);
    return sign + put_fixed(out, d.digits, n, e);
}

void clsi_format_double(double value, char out[32]) {
    out[clsi_write_double(value, out)] = 0;
}
