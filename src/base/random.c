/* xoshiro256** (Blackman, Vigna) seeded by splitmix64: the same sequence on every machine. */
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
