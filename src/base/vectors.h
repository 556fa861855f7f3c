/* Vectors of eight doubles in the extensions of C compilers, and functions of which the loader
 * picks the version for the machine. Include it in .c files only: its names are short.
 *
 * Contraction is off everywhere, so all versions give the same bits. Vectors are passed between
 * functions that are always inlined: there is no ABI to change (and -Wno-psabi is given). */
#ifndef CLSI_VECTORS_H
#define CLSI_VECTORS_H

#include <string.h>

/* (Sanitizers and the loader's choice do not get along.) */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(CLSI_NO_CLONES)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES
#endif
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

/* A loop whose results do not overlap what they are computed from. */
#if defined(__clang__)
#define APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define APART _Pragma("GCC ivdep")
#endif

enum { CLSI_VECTOR = 8 };
typedef double vector __attribute__((vector_size(CLSI_VECTOR * sizeof(double))));
typedef long long bits __attribute__((vector_size(CLSI_VECTOR * sizeof(double))));

INLINE vector load(const double *p) {
    vector v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void store(double *p, vector v) {
    memcpy(p, &v, sizeof v);
}

INLINE vector splat(double x) {
    return (vector){x, x, x, x, x, x, x, x};
}

INLINE vector pick(bits mask, vector yes, vector no) {
    return (vector)((mask & (bits)yes) | (~mask & (bits)no));
}

#endif
