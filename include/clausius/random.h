/* Random numbers: xoshiro256** (Blackman and Vigna 2018) seeded by splitmix64; the same sequence on
 * every machine, so that a seed means the same starts everywhere. The state is all there is. */
#ifndef CLAUSIUS_RANDOM_H
#define CLAUSIUS_RANDOM_H

#include <clausius/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cls_random {
    uint64_t s[4];
} cls_random;

CLS_API void cls_random_seed(cls_random *r, uint64_t seed);
CLS_API uint64_t cls_random_next(cls_random *r);
CLS_API double cls_random_uniform(cls_random *r); /* in [0, 1), 53 bits; takes one number */
CLS_API double cls_random_normal(cls_random *r);  /* Box and Muller; takes two numbers */

#ifdef __cplusplus
}
#endif
#endif
