/* The elementwise loops of network_pairs.c, included once for each instruction set with
 *
 *     LOOP(name)   the name of the function for this set
 *     TARGET       its target attribute
 *
 * Plain C: the compiler makes the vectors, and contraction is off, so all sets give the same bits.
 */

/* s = E/(1 + E), k = 1/(1 + E) = 1 - s, E = exp(-2 |z|), from a = tanh z where that has the digits.
 */
static TARGET void LOOP(sides)(size_t n, const double *z, const double *a, double *s, double *k) {
    int far = 0;
    for (size_t j = 0; j < n; j++) {
        s[j] = 0.5 - 0.5 * fabs(a[j]);
        far |= fabs(z[j]) > 2;
    }
    for (size_t j = 0; far && j < n; j++) {
        if (!(fabs(z[j]) > 2)) continue;
        double E = exp(-2 * fabs(z[j]));
        s[j] = E / (1 + E);
    }
    for (size_t j = 0; j < n; j++) k[j] = 1 - s[j];
}

/* phi and L of one pair; phi holds tanh(D) when this begins, D the difference of the sums. */
static TARGET void LOOP(quotients)(size_t n, const double *restrict D, const double *restrict zu,
                                   const double *restrict zw, const double *restrict su,
                                   const double *restrict sw, const double *restrict ku,
                                   const double *restrict kw, double *restrict phi,
                                   double *restrict L) {
    for (size_t j = 0; j < n; j++) {
        double x = D[j], t = phi[j], y = x * x;
        double same = su[j] * kw[j] + sw[j] * ku[j], other = ku[j] * kw[j] + su[j] * sw[j];
        double weight = 2 * (zu[j] * zw[j] > 0 ? same : other);
        double safe = x != 0 ? x : 1, top = x != 0 ? t : 1, inverse = 1 / safe;
        /* coth x - 1/x; the series leaves less than 1e-16 out at 0.3 */
        double near =
            x * (1.0 / 3 +
                 y * (-1.0 / 45 +
                      y * (2.0 / 945 +
                           y * (-1.0 / 4725 + y * (2.0 / 93555 + y * (-1382.0 / 638512875 +
                                                                      y * (4.0 / 18243225)))))));
        double far = (safe - top) / (safe * top);
        phi[j] = top * inverse * weight;
        L[j] = y < 0.09 ? near : far;
    }
}

/* What a pair gives its points through phi. */
static TARGET void LOOP(scatter)(size_t n, const double *adot, const double *c, const double *L,
                                 const double *au, const double *aw, double *eu, double *ew) {
    for (size_t j = 0; j < n; j++) {
        double f = adot[j] * c[j];
        eu[j] += f * (L[j] - au[j]);
        ew[j] -= f * (L[j] + aw[j]);
    }
}

static TARGET void LOOP(multiply)(size_t n, const double *x, const double *y, double *out) {
    for (size_t j = 0; j < n; j++) out[j] = x[j] * y[j];
}

static const pair_loops LOOP(loops) = {LOOP(sides), LOOP(quotients), LOOP(scatter), LOOP(multiply)};

#undef LOOP
#undef TARGET
