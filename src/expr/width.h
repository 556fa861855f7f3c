/* Vectors of WIDTH numbers for loops that are compiled once for each kind of machine (elementary_loops.h,
 * simulate/pack_loops.h), which name them by `vector` and `bits` (masks: all bits or none) before. No guard: it is included
 * for every width. TARGET: what the functions are compiled for; ALL(x): WIDTH times x. */
#define HELP static inline __attribute__((always_inline)) TARGET

typedef double vector __attribute__((vector_size(WIDTH * sizeof(double))));
typedef long long bits __attribute__((vector_size(WIDTH * sizeof(double))));

HELP vector load(const double *from) {
    vector v;
    memcpy(&v, from, sizeof v);
    return v;
}

HELP void store(double *to, vector v) {
    memcpy(to, &v, sizeof v);
}

HELP vector splat(double x) {
    return (vector)ALL(x);
}

HELP vector pick(bits mask, vector yes, vector no) {
    return (vector)((mask & (bits)yes) | (~mask & (bits)no));
}
