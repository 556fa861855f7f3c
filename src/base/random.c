/* xoshiro256** (Blackman, Vigna) seeded by splitmix64: the same sequence on every machine. */
#include "base/base.h"
#include <clausius/random.h>
#include <math.h>

static uint64_t rotate(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

void cls_random_seed(cls_random *r, uint64_t seed) {
    if (!r) return;
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        r->s[i] = z ^ (z >> 31);
    }
}

uint64_t cls_random_next(cls_random *r) {
    if (!r) return 0;
    uint64_t *s = r->s, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

double cls_random_uniform(cls_random *r) {
    if (!r) return NAN;
    return (double)(cls_random_next(r) >> 11) * 0x1p-53;
}

/* Box and Muller; the second number is thrown away so that the state is the whole state. */
double cls_random_normal(cls_random *r) {
    if (!r) return NAN;
    double radius = sqrt(-2 * log(1 - cls_random_uniform(r)));
    return radius * cos(2 * 3.14159265358979323846 * cls_random_uniform(r));
}

/* Philox 4x32-10: ten rounds of two multiplications; the counter is (at, stream, index), the key the
 * seed. Streams beyond 32 bits go into the key. */
static void philox(uint64_t seed, uint64_t stream, uint64_t at, uint32_t index, uint32_t out[4]) {
    uint32_t c[4] = {(uint32_t)at, (uint32_t)(at >> 32), (uint32_t)stream, index};
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32) ^ (uint32_t)(stream >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c[3] ^ k1, (uint32_t)a};
        for (int i = 0; i < 4; i++) c[i] = next[i];
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++) out[i] = c[i];
}

/* In (0, 1), 52 bits. */
static double open_unit(uint32_t high, uint32_t low) {
    uint64_t bits = ((uint64_t)high << 32 | low) >> 12;
    return ((double)bits + 0.5) * 0x1p-52;
}

double clsi_random_uniform_at(uint64_t seed, uint64_t stream, uint64_t at, uint32_t index) {
    uint32_t x[4];
    philox(seed, stream, at, index, x);
    return open_unit(x[0], x[1]);
}

double clsi_random_normal_at(uint64_t seed, uint64_t stream, uint64_t at, uint32_t index) {
    uint32_t x[4];
    philox(seed, stream, at, index, x);
    return sqrt(-2 * log(open_unit(x[0], x[1]))) *
           cos(2 * 3.14159265358979323846 * open_unit(x[2], x[3]));
}
