/* Numbers to text: the shortest decimal that reads back to the same bits and is the nearest of those,
 * by Giulietti, "The Schubfach way to render doubles" (2021), with the table of powers that number.c
 * reads by. The text is that of %g with just enough digits: 0.1, 200, 1e-05, 1e+16.
 *
 * How many digits a number has is chance (15, 16 or 17), so no branch depends on it: all seventeen are
 * made, eight at a time in one word, moved to their place as a block, and cut. About 25 ns. */
#include "base/tens.h"
#include "base/base.h"
#include "base/powers.h"
#include <string.h>

/* digits 10^exponent */
typedef struct decimal {
    uint64_t digits;
    int exponent;
} decimal;

/* The product with a power, rounded to odd: what is below the last bit is not forgotten. */
static inline uint64_t round_to_odd(power g, uint64_t c) {
    wide x = (wide)g.low * c, y = (wide)g.high * c;
    uint64_t low = (uint64_t)y, high = (uint64_t)(y >> 64), carry = (uint64_t)(x >> 64);
    low += carry;
    high += low < carry;
    return high | (low > 1);
}

static inline decimal shortest(uint64_t significand, int biased) {
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
    uint64_t s = value / 4, t = s / 10;
    int down = lower <= 40 * t, up = 40 * t + 40 <= upper; /* one digit less */
    int fits = s >= 10 && down != up;
    int below = lower <= 4 * s, above = 4 * s + 4 <= upper;
    uint64_t middle = 4 * s + 2;
    int nearer = value > middle || (value == middle && (s & 1));
    uint64_t whole = s + (uint64_t)(below != above ? above : nearer);
    return (decimal){fits ? t + (uint64_t)up : whole, k + fits};
}

static inline int digit_count(uint64_t x) {
    int n = (64 - __builtin_clzll(x | 1)) * 1233 >> 12;
    return n + (x >= tens[n]);
}

/* Eight digits of x, the first in the lowest byte. */
static inline uint64_t eight_digits(uint64_t x) {
    uint64_t fours = x / 10000, twos, ones;
    fours |= (x - 10000 * fours) << 32;
    twos = (fours * 5243 >> 19) & 0x0000007f0000007full;
    twos |= (fours - 100 * twos) << 16;
    ones = (twos * 103 >> 10) & 0x000f000f000f000full;
    return ones | (twos - 10 * ones) << 8;
}

enum { DIGITS = 24, ROOM = 48 }; /* the last seventeen; room to copy as many from each */

static inline void put_word(char *out, uint64_t bytes) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    bytes |= 0x3030303030303030ull;
    memcpy(out, &bytes, 8);
#else
    for (int i = 0; i < 8; i++) out[i] = (char)('0' + (bytes >> 8 * i & 15));
#endif
}

/* Seventeen digits of x, right-aligned in out[0..DIGITS): how many of them are zeros at the end. */
static inline int put_digits(char *out, uint64_t x) {
    uint64_t high = x / 100000000, top = high / 100000000;
    uint64_t last = eight_digits(x - 100000000 * high),
             middle = eight_digits(high - 100000000 * top);
    out[DIGITS - 17] = (char)('0' + top);
    put_word(out + 8, middle);
    put_word(out + 16, last);
    if (last) return __builtin_clzll(last) / 8;
    return middle ? 8 + __builtin_clzll(middle) / 8 : 16;
}

static size_t put_special(char *out, uint64_t fraction, int negative) {
    const char *word = fraction ? (negative ? "-nan" : "nan") : negative ? "-inf" : "inf";
    size_t n = strlen(word);
    memcpy(out, word, n);
    return n;
}

/* d.ddde-07 of n digits */
static size_t put_scientific(char *out, const char *digits, int n, int e) {
    out[0] = digits[0];
    out[1] = '.';
    memcpy(out + 2, digits + 1, 16);
    char *at = out + (n > 1 ? n + 1 : 1);
    *at++ = 'e';
    *at++ = e < 0 ? '-' : '+';
    if (e < 0) e = -e;
    if (e >= 100) *at++ = (char)('0' + e / 100);
    *at++ = (char)('0' + e / 10 % 10);
    *at++ = (char)('0' + e % 10);
    return (size_t)(at - out);
}

static inline size_t put_fixed(char *out, const char *digits, int n, int e) {
    if (e < 0) { /* 0.00ddd */
        memcpy(out, "0.0000", 6);
        memcpy(out + 1 - e, digits, 17);
        return (size_t)(1 - e + n);
    }
    if (n <= e + 1) { /* ddd000 */
        memcpy(out, digits, 17);
        memset(out + n, '0', (size_t)(e + 1 - n));
        return (size_t)(e + 1);
    }
    memcpy(out, digits, 16); /* dd.ddd */
    memcpy(out + e + 2, digits + e + 1, 16);
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
    *out = '-';
    out += sign;
    if (!biased && !fraction) {
        *out = '0';
        return sign + 1;
    }
    decimal d = shortest(fraction, biased);
    char text[ROOM];
    int all = digit_count(d.digits), n = all - put_digits(text, d.digits), e = d.exponent + all - 1;
    const char *first = text + DIGITS - all;
    if (e < -4 || (e >= 16 && e >= n)) return sign + put_scientific(out, first, n, e);
    return sign + put_fixed(out, first, n, e);
}

void clsi_format_double(double value, char out[CLSI_NUMBER]) {
    char text[CLSI_NUMBER_ROOM];
    size_t n = clsi_write_double(value, text);
    memcpy(out, text, n);
    out[n] = 0;
}
