/* Writes the table of powers of ten that reading and writing of numbers share (number.c), at build
 * time: for k = -343 .. 324 the 128 leading bits of 10^k, rounded up,
 *
 *     ceil(10^k 2^(127 - floor(log2 10^k))),
 *
 * exact for 0 <= k <= 55. Long integers in base 2^32: 5^343 has 797 bits, its reciprocal is needed
 * to 128. Run by the build, never shipped. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LIMBS = 64, FIRST = -343, LAST = 324 };

typedef struct integer {
    uint32_t limb[LIMBS]; /* least first */
} integer;

static int bits(const integer *x) {
    for (int i = LIMBS - 1; i >= 0; i--)
        if (x->limb[i]) return 32 * i + 32 - __builtin_clz(x->limb[i]);
    return 0;
}

static void times(integer *x, uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t)x->limb[i] * factor;
        x->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static int bit(const integer *x, int i) {
    return i >= 0 && (x->limb[i / 32] >> (i % 32) & 1);
}

static void twice(integer *x, uint32_t low) {
    for (int i = LIMBS - 1; i > 0; i--) x->limb[i] = x->limb[i] << 1 | x->limb[i - 1] >> 31;
    x->limb[0] = x->limb[0] << 1 | low;
}

static int compare(const integer *a, const integer *b) {
    for (int i = LIMBS - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static void subtract(integer *a, const integer *b) {
    uint64_t borrow = 0;
    for (int i = 0; i < LIMBS; i++) {
        uint64_t d = (uint64_t)a->limb[i] - b->limb[i] - borrow;
        a->limb[i] = (uint32_t)d;
        borrow = d >> 63;
    }
}

static void print(uint64_t high, uint64_t low, int inexact) {
    if (inexact && ++low == 0) high++;
    printf("{0x%016llx, 0x%016llx},\n", (unsigned long long)high, (unsigned long long)low);
}

/* The leading 128 bits of 5^k, k >= 0. */
static void leading(const integer *x) {
    int n = bits(x), inexact = 0;
    uint64_t word[2] = {0, 0};
    for (int i = 0; i < 128; i++) word[i / 64] = word[i / 64] << 1 | (uint64_t)bit(x, n - 1 - i);
    for (int i = n - 129; i >= 0; i--) inexact |= bit(x, i);
    print(word[0], word[1], inexact);
}

/* The leading 128 bits of 1 / x, by long division: never exact, x is odd and above 1. */
static void reciprocal(const integer *x) {
    integer rest = {{1}};
    uint64_t word[2] = {0, 0};
    while (compare(&rest, x) < 0) twice(&rest, 0);
    for (int i = 0; i < 128; i++) {
        int one = compare(&rest, x) >= 0;
        if (one) subtract(&rest, x);
        word[i / 64] = word[i / 64] << 1 | (uint64_t)one;
        twice(&rest, 0);
    }
    print(word[0], word[1], 1);
}

int main(void) {
    puts("/* 10^k, 128 leading bits; made by src/base/tables/powers.c */\n"
         "#include <stdint.h>\n"
         "extern const uint64_t clsi_powers_of_ten[][2];\n"
         "const uint64_t clsi_powers_of_ten[][2] = {");
    for (int k = FIRST; k <= LAST; k++) {
        integer five = {{1}};
        for (int i = 0; i < (k < 0 ? -k : k); i++) times(&five, 5);
        if (k < 0)
            reciprocal(&five);
        else
            leading(&five);
    }
    puts("};");
    return ferror(stdout) != 0;
}
