/* Powers of ten in 128 bits, for numbers from text (number.c) and to text (shortest.c). */
#ifndef CLSI_POWERS_H
#define CLSI_POWERS_H

#include <stdint.h>

typedef struct power {
    uint64_t high, low;
} power;

enum { FIRST_POWER = -343, LAST_POWER = 324 };

/* Computed by the build (tables/powers.c): high and low words, from FIRST_POWER on. */
extern const uint64_t clsi_powers_of_ten[LAST_POWER - FIRST_POWER + 1][2];

static inline power power_of_ten(int k) {
    const uint64_t *words = clsi_powers_of_ten[k - FIRST_POWER];
    return (power){words[0], words[1]};
}

typedef unsigned __int128 wide;

#endif
