/* The loops of fronts.c over full blocks, in vectors of WIDTH numbers: tiles of ROWS rows and PARTS vectors stay in
 * registers. Compiled for each kind of machine that fronts.c names by TARGET, with names by LOOP. Every number
 * is a chain of a - b c in the order of elimination, or eight sums of every eighth product: the same bits for all. */

#define HELP static inline __attribute__((always_inline)) TARGET
typedef double LOOP(numbers) __attribute__((vector_size(WIDTH * sizeof(double))));
#define numbers LOOP(numbers)
enum { LOOP(EIGHT) = PAD / WIDTH }; /* vectors of eight numbers */

HELP numbers LOOP(load)(const double *p) {
    numbers v;
    memcpy(&v, p, sizeof v);
    return v;
}

HELP void LOOP(store)(double *p, numbers v) {
    memcpy(p, &v, sizeof v);
}

/* c -= a b, for `rows` rows and `parts` vectors of c; a(i, k) = a[i*ai + k*ak], rows of b and c at distances. */
HELP void LOOP(tile)(const int rows, const int parts, size_t depth, const double *a, size_t ai,
                     size_t ak, const double *b, size_t bk, double *c, size_t ci) {
    numbers sum[ROWS][PARTS];
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int p = 0; p < parts; p++) sum[i][p] =
            LOOP(load)(c + (size_t)i * ci + p * WIDTH);
    }
    for (size_t k = 0; k < depth; k++) {
        numbers row[PARTS];
        UNROLL for (int p = 0; p < parts; p++) row[p] = LOOP(load)(b + k * bk + p * WIDTH);
        UNROLL for (int i = 0; i < rows; i++) {
            double factor = a[(size_t)i * ai + k * ak];
            UNROLL for (int p = 0; p < parts; p++) sum[i][p] -= factor * row[p];
        }
    }
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int p = 0; p < parts; p++)
            LOOP(store)(c + (size_t)i * ci + p * WIDTH, sum[i][p]);
    }
}

/* A strip of `parts` vectors, m rows. */
HELP void LOOP(strip)(const int parts, size_t m, size_t depth, const double *a, size_t ai,
                      size_t ak, const double *b, size_t bk, double *c, size_t ci) {
    size_t i = 0;
    for (; i + ROWS <= m; i += ROWS)
        LOOP(tile)(ROWS, parts, depth, a + i * ai, ai, ak, b, bk, c + i * ci, ci);
    for (; i + 2 <= m; i += 2)
        LOOP(tile)(2, parts, depth, a + i * ai, ai, ak, b, bk, c + i * ci, ci);
    if (i < m) LOOP(tile)(1, parts, depth, a + i * ai, ai, ak, b, bk, c + i * ci, ci);
}

/* c (m, n) -= a (m, depth) b (depth, n); n a multiple of PAD. */
TARGET static void LOOP(subtract)(size_t m, size_t n, size_t depth, const double *a, size_t ai,
                                  size_t ak, const double *b, size_t bk, double *c, size_t ci) {
    size_t j = 0;
    for (; j + (size_t)PARTS * WIDTH <= n; j += (size_t)PARTS * WIDTH)
        LOOP(strip)(PARTS, m, depth, a, ai, ak, b + j, bk, c + j, ci);
    for (; j < n; j += PAD) LOOP(strip)(LOOP(EIGHT), m, depth, a, ai, ak, b + j, bk, c + j, ci);
}

/* a -= factor b, n a multiple of PAD. */
HELP void LOOP(take)(size_t n, double factor, const double *b, double *a) {
    for (size_t j = 0; j < n; j += WIDTH)
        LOOP(store)(a + j, LOOP(load)(a + j) - factor * LOOP(load)(b + j));
}

/* Row `to` loses its first columns, up to those of row `end`, and in them what is behind. */
HELP void LOOP(reduce)(size_t begin, size_t end, size_t wide, const double *a, double *to) {
    for (size_t k = begin; k < end; k++) {
        const double *row = a + k * wide;
        double factor = to[k] *= row[k];
        for (size_t j = k + 1; j < begin + PAD; j++) to[j] -= factor * row[j];
    }
}

/* L \ U of the pivots (n, wide), the diagonal inverted; nonzero: the row + 1 without a pivot. */
TARGET static size_t LOOP(pivots)(size_t n, size_t wide, double *a) {
    for (size_t begin = 0; begin < n; begin += PAD) {
        size_t end = begin + PAD < n ? begin + PAD : n, behind = begin + PAD;
        for (size_t i = begin; i < end; i++) {
            double *to = a + i * wide;
            LOOP(reduce)(begin, i, wide, a, to);
            for (size_t k = begin; k < i; k++)
                LOOP(take)(wide - behind, to[k], a + k * wide + behind, to + behind);
            if (!(fabs(to[i]) > 0 && isfinite(to[i]))) return i + 1;
            to[i] = 1 / to[i];
        }
        for (size_t i = end; i < n; i++) LOOP(reduce)(begin, end, wide, a, a + i * wide);
        if (end < n) LOOP(subtract)
        (n - end, wide - behind, PAD, a + end * wide + begin, wide, 1, a + begin * wide + behind,
         wide, a + end * wide + behind, wide);
    }
    return 0;
}

/* Rows right of the pivots (n, wide) become U; with `by` the transposed of those below them L. The pivots' own rows
 * are at distances ai (from row to row) and ak. */
TARGET static void LOOP(sides)(size_t n, size_t wide, const double *pivots, size_t ai, size_t ak,
                               int by, double *a) {
    for (size_t begin = 0; begin < n; begin += PAD) {
        size_t end = begin + PAD < n ? begin + PAD : n;
        LOOP(subtract)
        (end - begin, wide, begin, pivots + begin * ai, ai, ak, a, wide, a + begin * wide, wide);
        for (size_t i = begin; i < end; i++) {
            double *to = a + i * wide, inverse = pivots[i * ai + i * ak];
            for (size_t k = begin; k < i; k++)
                LOOP(take)(wide, pivots[i * ai + k * ak], a + k * wide, to);
            for (size_t j = 0; j < wide && by; j++) to[j] *= inverse;
        }
    }
}

/* sum += x (n) times the rows of a (n, wide) */
HELP void LOOP(add_rows)(size_t n, size_t wide, const double *a, const double *x, double *sum) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4, a += 4 * wide)
        for (size_t j = 0; j < wide; j += WIDTH) {
            numbers v = LOOP(load)(sum + j);
            UNROLL for (size_t k = 0; k < 4; k++) v += x[i + k] * LOOP(load)(a + k * wide + j);
            LOOP(store)(sum + j, v);
        }
    for (; i < n; i++, a += wide)
        for (size_t j = 0; j < wide; j += WIDTH)
            LOOP(store)(sum + j, LOOP(load)(sum + j) + x[i] * LOOP(load)(a + j));
}

/* x (rows) -= a (rows, n) y, in eight sums each; rows of a at distances `apart`, n a multiple of PAD. */
HELP void LOOP(few_products)(const size_t rows, size_t n, size_t apart, const double *a,
                             const double *y, double *x) {
    numbers sum[4][LOOP(EIGHT)] = {{{0}}};
    for (size_t j = 0; j < n; j += PAD) {
        UNROLL for (int p = 0; p < LOOP(EIGHT); p++) {
            numbers v = LOOP(load)(y + j + p * WIDTH);
            UNROLL for (size_t k = 0; k < rows; k++) sum[k][p] +=
                LOOP(load)(a + k * apart + j + p * WIDTH) * v;
        }
    }
    UNROLL for (size_t k = 0; k < rows; k++) {
        double of[PAD];
        UNROLL for (int p = 0; p < LOOP(EIGHT); p++) LOOP(store)(of + p * WIDTH, sum[k][p]);
        x[k] -= ((of[0] + of[4]) + (of[2] + of[6])) + ((of[1] + of[5]) + (of[3] + of[7]));
    }
}

HELP void LOOP(subtract_products)(size_t rows, size_t n, size_t apart, const double *a,
                                  const double *y, double *x) {
    size_t i = 0;
    for (; i + 4 <= rows; i += 4) LOOP(few_products)(4, n, apart, a + i * apart, y, x + i);
    for (; i < rows; i++) LOOP(few_products)(1, n, apart, a + i * apart, y, x + i);
}

/* L x = b in the place of b, for the unknowns of a block and what they mean for its rows. */
TARGET static void LOOP(forward)(const clsi_fronts *f, const clsi_front *x, const room *r) {
    const double *pivots = r->value + x->pivots;
    const uint32_t *row = f->row + x->row;
    double *own = r->x + x->first, *rows = r->rows;
    size_t wide = padded(x->size);
    for (size_t begin = 0; begin < x->size; begin += PAD) {
        size_t end = begin + PAD < x->size ? begin + PAD : x->size;
        if (begin) LOOP(subtract_products)
        (end - begin, begin, wide, pivots + begin * wide, own, own + begin);
        for (size_t k = begin; k < end; k++)
            for (size_t i = k + 1; i < end; i++) own[i] -= pivots[i * wide + k] * own[k];
    }
    for (size_t j = 0; j < x->wide; j += WIDTH) LOOP(store)(rows + j, (numbers){0});
    LOOP(add_rows)(x->size, x->wide, r->value + x->below, own, rows);
    for (size_t i = 0; i < x->rows; i++) r->x[row[i]] -= rows[i];
}

/* U x = b, the same from behind. */
TARGET static void LOOP(back)(const clsi_fronts *f, const clsi_front *x, const room *r) {
    const double *pivots = r->value + x->pivots;
    const uint32_t *row = f->row + x->row;
    double *own = r->x + x->first, *rows = r->rows, *u = r->own;
    size_t wide = padded(x->size);
    for (size_t i = 0; i < x->rows; i++) rows[i] = r->x[row[i]];
    for (size_t i = x->rows; i < x->wide; i++) rows[i] = 0;
    for (size_t i = 0; i < wide; i++) u[i] = i < x->size ? own[i] : 0;
    LOOP(subtract_products)(x->size, x->wide, x->wide, r->value + x->right, rows, u);
    for (size_t begin = wide; begin > 0;) {
        size_t behind = begin, end = behind < x->size ? behind : x->size;
        begin -= PAD;
        if (behind < wide) LOOP(subtract_products)
        (end - begin, wide - behind, wide, pivots + begin * wide + behind, u + behind, u + begin);
        for (size_t i = end; i-- > begin;) {
            u[i] *= pivots[i * wide + i];
            for (size_t k = begin; k < i; k++) u[k] -= pivots[k * wide + i] * u[i];
        }
    }
    for (size_t i = 0; i < x->size; i++) own[i] = u[i];
}

TARGET static void LOOP(solve)(const clsi_fronts *f, const room *r) {
    for (size_t k = 0; k < f->n_fronts; k++) LOOP(forward)(f, &f->front[k], r);
    for (size_t k = f->n_fronts; k-- > 0;) LOOP(back)(f, &f->front[k], r);
}

static const front_loops LOOP(loops) = {LOOP(pivots), LOOP(sides), LOOP(subtract), LOOP(solve)};
#undef HELP
#undef numbers
#undef LOOP
#undef TARGET
#undef WIDTH
#undef ROWS
#undef PARTS
