/* Where names of arrays are looked for. */
#ifndef CLSI_PROBE_H
#define CLSI_PROBE_H

#include "base/base.h"
#include <stdint.h>

/* Places of a name in a table of 2^k names: first one beside those of its neighbours in an array (u[3] beside u[2]),
 * which are mostly asked for one after the other; then, where that is taken, anywhere. */
typedef struct clsi_probe {
    size_t slot, mask;
    uint64_t far;
} clsi_probe;
static inline clsi_probe clsi_probe_name(const char *s, size_t n, size_t slots) {
    size_t digits = 0, index = 0, scale = 1, last = n ? n - 1 : 0;
    clsi_probe p = {.mask = slots - 1};
    if (n && s[last] == ']')
        for (; digits < last && digits < 9; digits++, scale *= 10) {
            char c = s[last - 1 - digits];
            if (c < '0' || c > '9') break;
            index += scale * (size_t)(c - '0');
        }
    p.far = clsi_hash_text(s, n);
    p.slot = (digits ? clsi_hash_text(s, last - digits) + index : (size_t)p.far) & p.mask;
    return p;
}
/* Not the next one: neighbours fill whole stretches. All places come in turn (a generator of full period). */
static inline void clsi_probe_next(clsi_probe *p) {
    p->far = p->far * 6364136223846793005u + 1442695040888963407u;
    p->slot = (size_t)(p->far >> 32) & p->mask;
}

#endif
