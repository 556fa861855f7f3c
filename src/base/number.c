/* Numbers from text, to the bit, in any locale (to text: shortest.c).
 *
 * w 10^q with w of at most 19 digits, then
 *   small     q = 0 and w < 2^53: as it is
 *   general   Eisel and Lemire, "Number parsing at a gigabyte per second" (2021), algorithm 1: the
 *             product of w with 128 leading bits of 10^q decides all cases
 *   long      more than 19 digits: if w and w + 1 give the same double that is it; else strtod
 *             under the "C" locale, whose cost (a microsecond) nobody meets twice
 * Hexadecimal floats go to strtod as well. Rows of plain numbers are read without a call in between (clsi_scan_row). */
#define _GNU_SOURCE
#include "base/tens.h"
#include "base/base.h"
#include "base/locale.h"
#include "base/powers.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline double from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double compose(uint64_t mantissa, int exponent, int negative) {
    return from_bits(mantissa | (uint64_t)exponent << 52 | (uint64_t)negative << 63);
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

/* Eight digits, the first in the lowest byte, as a number (Lemire). */
static inline uint64_t number_of(uint64_t y) {
    y = y * 10 + (y >> 8);
    return ((y & 0x000000ff000000ffull) * 0x000f424000000064ull +
            (y >> 16 & 0x000000ff000000ffull) * 0x0000271000000001ull) >>
           32;
}

/* Eight bytes as digits; bits are set in those that are none. */
static inline uint64_t others_of(const char *s, uint64_t *y) {
    memcpy(y, s, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    *y = __builtin_bswap64(*y);
#endif
    *y ^= 0x3030303030303030ull;
    return ((*y + 0x0606060606060606ull) | *y) & 0xf0f0f0f0f0f0f0f0ull;
}

/* Appends the digits at s to w: where they end. Branches decide where, because the processor guesses them and goes on
 * to the next number meanwhile; sums, which it would have to wait for, were slower by a quarter. */
static inline const char *digits(const char *s, uint64_t *w) {
    for (uint64_t y;; s += 8) {
        uint64_t others = others_of(s, &y);
        if (others) {
            unsigned n = (unsigned)__builtin_ctzll(others) / 8;
            *w = *w * tens[n] + number_of(y << (56 - 8 * n) << 8);
            return s + n;
        }
        *w = *w * 100000000 + number_of(y);
    }
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

const char *clsi_scan_double(const char *s, char mark, double *out) {
    const char *begin = s;
    int negative = *s == '-';
    s += negative || *s == '+';
    if (s[0] == '0' && (s[1] | 32) == 'x') return by_library(begin, out);
    const char *first = s;
    uint64_t w = 0;
    int64_t exponent = 0;
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
    if (*s >= 'D') s = read_exponent(s, &exponent);
    if (count > 19) { /* zeros in front do not count */
        for (const char *c = first; *c == '0' || *c == mark; c++) count -= *c == '0';
        if (count > 19) return many_digits(first, mark, end, s, exponent, negative, out);
    }
    if (w == 0) {
        *out = negative ? -0.0 : 0.0;
        return s;
    }
    int64_t q = exponent - (int64_t)fraction;
    if (q == 0 && w >> 53 == 0) {
        *out = negative ? -(double)w : (double)w;
        return s;
    }
    *out = scale(w, q < -400 ? -400 : q > 400 ? 400 : (int)q, negative);
    return s;
}

/* ---- rows ---- */

/* w 10^-n for 0 < w and n <= 27, where powers are exact or nearly so and no result is subnormal: scale without its cases. */
static inline double shift(uint64_t w, int n, int negative) {
    power p = power_of_ten(-n);
    int zeros = __builtin_clzll(w);
    w <<= zeros;
    wide first = (wide)w * p.high;
    uint64_t high = (uint64_t)(first >> 64), low = (uint64_t)first;
    if (UNLIKELY((high & 0x1ff) == 0x1ff)) {
        uint64_t more = (uint64_t)((wide)w * p.low >> 64);
        low += more;
        high += low < more;
    }
    int upper = (int)(high >> 63);
    uint64_t mantissa = high >> (upper + 9);
    uint64_t exponent = (uint64_t)(((-217706 * n) >> 16) + 63 + upper - zeros + 1022);
    if (UNLIKELY(low <= 1) && n <= 4 && (mantissa & 3) == 1 && mantissa << (upper + 9) == high)
        mantissa &= ~1ull;
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    uint64_t bits =
        (exponent << 52) + mantissa; /* its leading one, or carry, goes to the exponent */
    return from_bits(bits | (uint64_t)negative << 63);
}

/* The number at s as most are: digits, perhaps a mark and digits behind it. */
static inline __attribute__((always_inline)) const char *scan_plain(const char *s, char mark,
                                                                    double *out) {
    const char *begin = s, *point;
    int negative = *s == '-';
    s += negative;
    uint64_t w = (unsigned char)(*s - '0');
    size_t whole = 1, n = 0;
    if (UNLIKELY(w > 9)) return clsi_scan_double(begin, mark, out);
    for (; is_digit(s[whole]) && whole < 19; whole++) w = 10 * w + (uint64_t)(s[whole] - '0');
    s += whole;
    whole = w ? whole : 0; /* zeros in front do not count */
    if (*s == mark) {
        point = s + 1;
        s = digits(point, &w);
        n = (size_t)(s - point);
    }
    int letter = (unsigned char)((*s | 32) - 'a') < 26; /* an exponent, or 0x */
    if (UNLIKELY(whole + n > 19 || is_digit(*s) || letter))
        return clsi_scan_double(begin, mark, out);
    if (w == 0) {
        *out = negative ? -0.0 : 0.0;
    } else if (n == 0 && w >> 53 == 0) {
        *out = negative ? -(double)w : (double)w;
    } else {
        *out = shift(w, (int)n, negative);
    }
    return s;
}

/* What separates is known where this is called, so each loop has its own. */
static inline __attribute__((always_inline)) const char *
row_of(const char *s, char separator, char mark, size_t n, double *const *columns, size_t at) {
    for (size_t i = 0; i < n; i++) {
        double spare, *cell = columns[i] ? columns[i] + at : &spare;
        while (*s == ' ' || (*s == '\t' && separator != '\t')) s++;
        s = scan_plain(s, mark, cell);
        if (!s || !isfinite(*cell)) return NULL;
        if (i + 1 == n) break;
        if (separator == ' ') {
            if (*s != ' ' && *s != '\t') return NULL;
        } else {
            while (*s == ' ') s++;
            if (*s != separator) return NULL;
        }
        s++;
    }
    return s;
}

const char *clsi_scan_row(const char *s, char separator, char mark, size_t n,
                          double *const *columns, size_t at) {
    if (separator == ',') return row_of(s, ',', '.', n, columns, at);
    return row_of(s, separator, mark, n, columns, at);
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
