/* The loops of segments.c over lanes, in vectors of WIDTH numbers; compiled for each kind of machine that
 * segments.c names by TARGET, with names by LOOP. */

enum { LOOP(PARTS) = LANES / WIDTH };
#define EACH_PART for (int p = 0; p < LOOP(PARTS); p++)
#define HELP      static inline __attribute__((always_inline)) TARGET
typedef double LOOP(numbers) __attribute__((vector_size(WIDTH * sizeof(double))));
typedef long long LOOP(masks) __attribute__((vector_size(WIDTH * sizeof(double))));
typedef struct LOOP(row) {
    LOOP(numbers) part[LOOP(PARTS)];
} LOOP(row);
#define lanes LOOP(row)
#define at    LOOP(at)
#define put   LOOP(put)
#define zero  LOOP(zero)
#define minus LOOP(minus)

/* Vector k. */
HELP lanes at(const double *from, size_t k) {
    lanes v;
    EACH_PART memcpy(&v.part[p], from + k * LANES + p * WIDTH, sizeof v.part[p]);
    return v;
}

HELP void put(double *to, size_t k, lanes v) {
    EACH_PART memcpy(to + k * LANES + p * WIDTH, &v.part[p], sizeof v.part[p]);
}

HELP void zero(double *to, size_t k) {
    put(to, k, (lanes){0});
}

/* sum - a b */
HELP lanes minus(lanes sum, lanes a, lanes b) {
    EACH_PART sum.part[p] -= a.part[p] * b.part[p];
    return sum;
}

HELP lanes LOOP(times)(lanes a, lanes b) {
    EACH_PART a.part[p] *= b.part[p];
    return a;
}

/* Numbers of a list, one for each lane. */
HELP lanes LOOP(gather)(const double *from, const uint32_t *index) {
    lanes v;
    EACH_PART v.part[p] = (LOOP(numbers))EACH_OF(from, index + p * WIDTH);
    return v;
}

/* An entry of the matrix, which not all lanes have where it is marked. */
HELP lanes LOOP(entry)(const view *w, size_t k, int partly) {
    const uint32_t *from = w->source + k * LANES;
    if (!partly) return LOOP(gather)(w->entry, from);
    double v[LANES];
    for (int l = 0; l < LANES; l++)
        v[l] = from[l] < w->n_entries ? w->entry[from[l]] : from[l] - w->n_entries;
    return at(v, 0);
}

/* ---- factors ---- */

HELP lanes LOOP(right_side)(const double *b, const uint32_t *unknown) {
    if (!(unknown[0] & PARTLY)) return LOOP(gather)(b, unknown);
    double v[LANES] = {0};
    for (int l = 0; l < LANES; l++)
        if (unknown[l] != CLSI_NOTHING) v[l] = b[unknown[l] & ~PARTLY];
    return at(v, 0);
}

/* Where a lane has neither factor nor entry the union may reach columns that the row has not: what
 * happens to them there is zero, and goes to where the next row begins. L x = b is solved meanwhile.
 * 1 when all entries are numbers, and all pivots of all lanes numbers that are not zero. */
TARGET static int LOOP(factor_inside)(const clsi_segments *s, const double *b, const room *r) {
    const view w = view_of(s, r);
    const uint16_t *place = s->places;
    double *x = r->x;
    LOOP(masks) wrong[LOOP(PARTS)] = {0};
    for (size_t i = 0, n = s->slots; i < n; i++) {
        size_t first = w.first[i], size = w.first[i + 1] - first, before = w.diagonal[i] - first;
        double *row = w.value + first * LANES;
        for (size_t k = 0; k < size; k++) zero(row, k);
        for (size_t k = w.from[i], end = w.from[i + 1]; k < end; k++) {
            lanes v = LOOP(entry)(&w, k, (w.target[k] & PARTLY) != 0);
            EACH_PART wrong[p] |= v.part[p] - v.part[p] != 0;
            put(row, w.target[k] & ~PARTLY, v);
        }
        lanes sum = LOOP(right_side)(b, s->unknown + i * LANES);
        for (size_t k = 0; k < before; k++) {
            size_t above = w.column[first + k], j = w.diagonal[above], end = w.first[above + 1];
            lanes factor = LOOP(times)(at(row, k), at(w.value, j));
            put(row, k, factor);
            sum = minus(sum, factor, at(x, above));
            for (j++; j < end; j++, place++)
                put(row, *place, minus(at(row, *place), factor, at(w.value, j)));
        }
        put(x, i, sum);
        lanes pivot = at(row, before);
        EACH_PART {
            LOOP(numbers) d = pivot.part[p];
            wrong[p] |= (d == 0) | (d - d != 0);
            pivot.part[p] = 1 / d;
        }
        put(row, before, pivot);
    }
    long long any = 0;
    EACH_PART for (int l = 0; l < WIDTH; l++) any |= wrong[p][l];
    return !any;
}

/* Rows of separators, a stretch of columns at a time: what all of them read of the inside is in the cache
 * then. `tail` (wide, n): what stands behind the inside. 1 when all entries are numbers. */
TARGET static int LOOP(factor_walls)(const clsi_segments *s, const room *r, size_t row,
                                     double *tail) {
    size_t slots = s->slots, wide = s->wide, n = 2 * wide + s->full;
    size_t at_entry[CLSI_WIDE_MOST], ready[CLSI_WIDE_MOST];
    const view w = view_of(s, r);
    long long wrong = 0;
    for (size_t i = 0; i < wide; i++) {
        size_t first = at_entry[i] = ready[i] = w.first[row + i], last = w.diagonal[row + i];
        for (size_t k = w.from[row + i], end = w.from[row + i + 1]; k < end; k++) {
            size_t to = first + (w.target[k] & ~PARTLY);
            lanes v = LOOP(entry)(&w, k, (w.target[k] & PARTLY) != 0);
            EACH_PART for (int l = 0; l < WIDTH; l++) wrong |= (v.part[p] - v.part[p] != 0)[l];
            for (; ready[i] <= to && ready[i] < last; ready[i]++) zero(w.value, ready[i]);
            if (to < last)
                put(w.value, to, v);
            else
                put(tail, i * n + (to - last), v);
        }
    }
    for (size_t stretch = STRETCH; stretch < slots + STRETCH; stretch += STRETCH)
        for (size_t i = 0; i < wide; i++) {
            size_t k = at_entry[i], last = w.diagonal[row + i], open = ready[i];
            for (; k < last && w.column[k] < stretch; k++) {
                size_t above = w.column[k], j = w.diagonal[above], end = w.first[above + 1];
                for (; open <= k; open++) zero(w.value, open);
                lanes factor = LOOP(times)(at(w.value, k), at(w.value, j));
                put(w.value, k, factor);
                size_t to = k + 1;
                for (j++; j < end; j++) {
                    size_t c = w.column[j];
                    if (c >= slots) {
                        size_t t = i * n + (c - slots);
                        put(tail, t, minus(at(tail, t), factor, at(w.value, j)));
                        continue;
                    }
                    while (to < last && w.column[to] < c) to++;
                    if (to == last || w.column[to] != c) continue; /* a zero, see above */
                    for (; open <= to; open++) zero(w.value, open);
                    put(w.value, to, minus(at(w.value, to), factor, at(w.value, j)));
                }
            }
            at_entry[i] = k;
            ready[i] = open;
        }
    return !wrong;
}

/* ---- solutions ---- */

TARGET static void LOOP(forward_inside)(const clsi_segments *s, const double *b, const room *r) {
    const view w = view_of(s, r);
    const uint32_t *unknown = s->unknown;
    double *x = r->x;
    for (size_t i = 0, n = s->slots; i < n; i++, unknown += LANES) {
        lanes sum = LOOP(right_side)(b, unknown);
        for (size_t k = w.first[i], end = w.diagonal[i]; k < end; k++)
            sum = minus(sum, at(w.value, k), at(x, w.column[k]));
        put(x, i, sum);
    }
}

/* Of the rows of separators: `sum` (wide). */
TARGET static void LOOP(forward_walls)(const clsi_segments *s, const room *r, size_t row,
                                       double *sum) {
    const view w = view_of(s, r);
    size_t next[CLSI_WIDE_MOST];
    for (size_t i = 0; i < s->wide; i++) next[i] = w.first[row + i];
    for (size_t stretch = STRETCH; stretch < s->slots + STRETCH; stretch += STRETCH)
        for (size_t i = 0; i < s->wide; i++) {
            size_t k = next[i], last = w.diagonal[row + i];
            lanes left = at(sum, i);
            for (; k < last && w.column[k] < stretch; k++)
                left = minus(left, at(w.value, k), at(r->x, w.column[k]));
            put(sum, i, left);
            next[i] = k;
        }
}

TARGET static void LOOP(back_inside)(const clsi_segments *s, const room *r, double *b) {
    const view w = view_of(s, r);
    double *x = r->x;
    for (size_t i = s->slots; i-- > 0;) {
        size_t k = w.diagonal[i], end = w.first[i + 1];
        const uint32_t *unknown = s->unknown + i * LANES;
        lanes sum = at(x, i), inverse = at(w.value, k);
        for (k++; k < end; k++) sum = minus(sum, at(w.value, k), at(x, w.column[k]));
        sum = LOOP(times)(sum, inverse);
        put(x, i, sum);
        if (!(unknown[0] & PARTLY)) {
            EACH_PART for (int l = 0; l < WIDTH; l++) b[unknown[p * WIDTH + l]] = sum.part[p][l];
            continue;
        }
        for (size_t l = 0; l < LANES; l++)
            if (unknown[l] != CLSI_NOTHING) b[unknown[l] & ~PARTLY] = x[i * LANES + l];
    }
}

static const segment_loops LOOP(loops) = {LOOP(factor_inside), LOOP(factor_walls),
                                          LOOP(forward_inside), LOOP(forward_walls),
                                          LOOP(back_inside)};

#undef EACH_PART
#undef HELP
#undef lanes
#undef at
#undef put
#undef zero
#undef minus
#undef LOOP
#undef TARGET
#undef WIDTH
#undef EACH_OF
