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

/* Rows of numbers become columns. */
HELP void LOOP(turn)(LOOP(numbers) * v) {
    for (int size = 1; size < WIDTH; size *= 2) {
        LOOP(numbers) w[WIDTH];
        for (int i = 0; i < WIDTH / 2; i++) {
            w[2 * i] = __builtin_shufflevector(v[i], v[i + WIDTH / 2], LOW_HALVES);
            w[2 * i + 1] = __builtin_shufflevector(v[i], v[i + WIDTH / 2], HIGH_HALVES);
        }
        memcpy(v, w, sizeof w);
    }
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

/* A row whose entries are in place, in the tables row i: x is one further there than the rows above. L x = b is solved
 * meanwhile, b is `sum`. Where a lane has neither factor nor entry the union may reach columns that the row has not: what happens
 * to them there is zero, and goes to where the next row begins. */
HELP const uint16_t *LOOP(reduce)(const view *w, size_t i, const uint16_t *place, lanes sum,
                                  LOOP(masks) * wrong) {
    size_t first = w->first[i], before = w->diagonal[i] - first;
    double *row = w->value + first * LANES;
    for (size_t k = 0; k < before; k++) {
        size_t above = w->column[first + k], j = w->diagonal[above], end = w->first[above + 1];
        lanes factor = LOOP(times)(at(row, k), at(w->value, j));
        put(row, k, factor);
        sum = minus(sum, factor, at(w->x, above));
        for (j++; j < end; j++, place++)
            put(row, *place, minus(at(row, *place), factor, at(w->value, j)));
    }
    put(w->x, i, sum);
    lanes pivot = at(row, before);
    EACH_PART {
        LOOP(numbers) d = pivot.part[p];
        wrong[p] |= (d == 0) | (d - d != 0);
        pivot.part[p] = 1 / d;
    }
    put(row, before, pivot);
    return place;
}

HELP void LOOP(clear)(const view *w, size_t i) {
    for (size_t k = w->first[i]; k < w->first[i + 1]; k++) zero(w->value, k);
}

/* Rows of separators as they are in the matrix. 1 when all entries are numbers. */
TARGET static int LOOP(open_walls)(const clsi_segments *s, const room *r, walls *o) {
    size_t n = behind_inside(s);
    const view w = view_of(s, r);
    long long wrong = 0;
    for (size_t i = 0; i < s->wide; i++) {
        size_t first = w.first[o->row + i], last = w.diagonal[o->row + i], ready = first;
        for (size_t k = w.from[o->row + i], end = w.from[o->row + i + 1]; k < end; k++) {
            size_t to = first + (w.target[k] & ~PARTLY);
            lanes v = LOOP(entry)(&w, k, (w.target[k] & PARTLY) != 0);
            EACH_PART for (int l = 0; l < WIDTH; l++) wrong |= (v.part[p] - v.part[p] != 0)[l];
            for (; to < last && ready <= to; ready++) zero(w.value, ready);
            if (to < last)
                put(w.value, to, v);
            else
                put(o->tail, i * n + (to - last), v);
        }
        o->at_entry[i] = first;
        o->ready[i] = ready;
    }
    return !wrong;
}

/* By the rows of the inside before `stop`, which are just made: what is read of them is in the cache. */
TARGET static void LOOP(reduce_walls)(const clsi_segments *s, const room *r, walls *o,
                                      size_t stop) {
    size_t slots = s->slots, n = behind_inside(s);
    const view w = view_of(s, r);
    for (size_t i = 0; i < s->wide; i++) {
        size_t k = o->at_entry[i], last = w.diagonal[o->row + i], open = o->ready[i];
        lanes sum = at(o->tail, s->wide * n + i);
        for (; k < last && w.column[k] < stop; k++) {
            size_t above = w.column[k], j = w.diagonal[above], end = w.first[above + 1];
            for (; open <= k; open++) zero(w.value, open);
            lanes factor = LOOP(times)(at(w.value, k), at(w.value, j));
            put(w.value, k, factor);
            sum = minus(sum, factor, at(w.x, above));
            size_t to = k + 1;
            for (j++; j < end; j++) {
                size_t c = w.column[j];
                if (c >= slots) {
                    size_t t = i * n + (c - slots);
                    put(o->tail, t, minus(at(o->tail, t), factor, at(w.value, j)));
                    continue;
                }
                while (to < last && w.column[to] < c) to++;
                if (to == last || w.column[to] != c) continue; /* a zero, see above */
                for (; open <= to; open++) zero(w.value, open);
                put(w.value, to, minus(at(w.value, to), factor, at(w.value, j)));
            }
        }
        put(o->tail, s->wide * n + i, sum);
        o->at_entry[i] = k;
        o->ready[i] = open;
    }
}

/* Rows [i, end), looked up one by one. */
HELP const uint16_t *LOOP(factor_rows)(const clsi_segments *s, const room *r, size_t i, size_t end,
                                       const double *b, const uint16_t *place, walls *o,
                                       LOOP(masks) * wrong) {
    const view all = view_of(s, r), *w = &all;
    for (; i < end; i++) {
        double *row = w->value + w->first[i] * LANES;
        LOOP(clear)(w, i);
        for (size_t k = w->from[i], last = w->from[i + 1]; k < last; k++) {
            lanes v = LOOP(entry)(w, k, (w->target[k] & PARTLY) != 0);
            EACH_PART wrong[p] |= v.part[p] - v.part[p] != 0;
            put(row, w->target[k] & ~PARTLY, v);
        }
        place = LOOP(reduce)(w, i, place, LOOP(right_side)(b, s->unknown + i * LANES), wrong);
        if (i % TURN == TURN - 1 || i + 1 == end) LOOP(reduce_walls)(s, r, o, i + 1);
    }
    return place;
}

/* Numbers of a block of periods from each lane's place on, a vector of lanes for each period. */
HELP void LOOP(fetch)(const double *from, const uint32_t *index, ptrdiff_t step, size_t block,
                      double *to, size_t apart) {
    from += step * (ptrdiff_t)(block * CLSI_BLOCK);
    EACH_PART for (size_t k = 0; k < CLSI_BLOCK; k += WIDTH) {
        LOOP(numbers) v[WIDTH];
        const double *at = step > 0 ? from + k : from - (k + WIDTH - 1);
        for (size_t l = 0; l < WIDTH; l++) {
            memcpy(&v[l], at + index[p * WIDTH + l], sizeof v[l]);
            CLSI_FETCH(at + index[p * WIDTH + l] + AHEAD * step);
        }
        LOOP(turn)(v);
        for (size_t l = 0; l < WIDTH; l++) {
            size_t period = step > 0 ? k + l : k + (WIDTH - 1 - l);
            memcpy(to + period * apart * LANES + p * WIDTH, &v[l], sizeof v[l]);
        }
    }
}

/* ... and back to where they belong. */
HELP void LOOP(bring)(double *to, const uint32_t *index, ptrdiff_t step, size_t block,
                      const double *from, size_t apart) {
    to += step * (ptrdiff_t)(block * CLSI_BLOCK);
    EACH_PART for (size_t k = 0; k < CLSI_BLOCK; k += WIDTH) {
        LOOP(numbers) v[WIDTH];
        double *at = step > 0 ? to + k : to - (k + WIDTH - 1);
        for (size_t l = 0; l < WIDTH; l++) {
            size_t period = step > 0 ? k + l : k + (WIDTH - 1 - l);
            memcpy(&v[l], from + period * apart * LANES + p * WIDTH, sizeof v[l]);
        }
        LOOP(turn)(v);
        for (size_t l = 0; l < WIDTH; l++) memcpy(at + index[p * WIDTH + l], &v[l], sizeof v[l]);
    }
}

/* Entries of the matrix and right sides of a block, side by side for each period. */
HELP void LOOP(fetch_block)(const clsi_segments *s, const double *a, const double *b, size_t block,
                            double *to) {
    const clsi_stretch *t = &s->stretch;
    size_t apart = t->entries + t->period;
    const uint32_t *source = s->source + s->from[t->begin] * LANES,
                   *unknown = s->unknown + t->begin * LANES;
    for (size_t k = 0; k < t->entries; k++)
        LOOP(fetch)(a, source + k * LANES, t->step[k], block, to + k * LANES, apart);
    for (size_t k = 0; k < t->period; k++) LOOP(fetch)
    (b, unknown + k * LANES, t->step[t->entries + k], block, to + (t->entries + k) * LANES, apart);
}

/* The tables are those of the first period, numbers are some periods further. */
HELP view LOOP(further)(view w, const clsi_stretch *t, size_t periods) {
    size_t size = w.first[t->begin + t->period] - w.first[t->begin];
    w.value += periods * size * LANES;
    w.x += periods * t->period * LANES;
    return w;
}

/* One period, whose numbers stand at `from`. */
HELP void LOOP(factor_period)(const clsi_segments *s, const view *w, const double *from,
                              LOOP(masks) * wrong) {
    const clsi_stretch *t = &s->stretch;
    const uint16_t *place = s->places + t->places;
    for (size_t i = t->begin; i < t->begin + t->period; i++) {
        double *row = w->value + w->first[i] * LANES;
        LOOP(clear)(w, i);
        for (size_t e = w->from[i]; e < w->from[i + 1]; e++) {
            lanes v = at(from, e - w->from[t->begin]);
            EACH_PART wrong[p] |= v.part[p] - v.part[p] != 0;
            put(row, w->target[e], v);
        }
        place = LOOP(reduce)(w, i, place, at(from, t->entries + (i - t->begin)), wrong);
    }
}

/* A block of periods by machine code, with rows of separators where it has these. */
HELP void LOOP(run_block)(const clsi_segments *s, const view *w, const room *r, size_t block,
                          walls *o, LOOP(masks) * wrong) {
    const clsi_stretch *t = &s->stretch;
    double *to[CLSI_STRETCH_WALLS + 1] = {0};
    for (size_t i = 0; i < t->n_walls; i++) {
        size_t done = block * CLSI_BLOCK * t->wall_size[i], more = CLSI_BLOCK * t->wall_size[i];
        to[i] = r->value + (t->wall_first[i] + done) * LANES;
        o->at_entry[i] = t->wall_first[i] + done + more;
        o->ready[i] = t->wall_ready[i] + done + more;
    }
    to[CLSI_STRETCH_WALLS] = o->tail;
    if (t->factor(w->value + s->first[t->begin] * LANES, w->x + t->begin * LANES, r->block, to,
                  CLSI_BLOCK))
        EACH_PART wrong[p] |= -1;
}

HELP void LOOP(factor_stretch)(const clsi_segments *s, const double *b, const room *r, walls *o,
                               LOOP(masks) * wrong) {
    const clsi_stretch *t = &s->stretch;
    size_t apart = t->entries + t->period;
    for (size_t block = 0; block < t->blocks; block++) {
        LOOP(fetch_block)(s, r->entry, b, block, r->block);
        view w = LOOP(further)(view_of(s, r), t, block * CLSI_BLOCK);
        if (t->factor) LOOP(run_block)(s, &w, r, block, o, wrong);
        for (size_t k = 0; k < CLSI_BLOCK && !t->factor; k++) {
            LOOP(factor_period)(s, &w, r->block + k * apart * LANES, wrong);
            w = LOOP(further)(w, t, 1);
        }
        if (!t->factor || !t->n_walls)
            LOOP(reduce_walls)(s, r, o, t->begin + (block + 1) * CLSI_BLOCK * t->period);
    }
}

/* 1 when all entries are numbers, and all pivots of all lanes numbers that are not zero. */
TARGET static int LOOP(factor_inside)(const clsi_segments *s, const double *b, const room *r,
                                      walls *o) {
    const clsi_stretch *t = &s->stretch;
    LOOP(masks) wrong[LOOP(PARTS)] = {0};
    const uint16_t *place = LOOP(factor_rows)(s, r, 0, t->begin, b, s->places, o, wrong);
    LOOP(factor_stretch)(s, b, r, o, wrong);
    place += t->n_places * t->blocks * CLSI_BLOCK;
    LOOP(factor_rows)(s, r, behind(t), s->slots, b, place, o, wrong);
    long long any = 0;
    EACH_PART for (int l = 0; l < WIDTH; l++) any |= wrong[p][l];
    return !any;
}

/* ---- solutions ---- */

HELP void LOOP(forward_row)(const view *w, size_t i, lanes sum) {
    for (size_t k = w->first[i], end = w->diagonal[i]; k < end; k++)
        sum = minus(sum, at(w->value, k), at(w->x, w->column[k]));
    put(w->x, i, sum);
}

TARGET static void LOOP(forward_inside)(const clsi_segments *s, const double *b, const room *r) {
    const view w = view_of(s, r);
    const clsi_stretch *t = &s->stretch;
    for (size_t i = 0; i < t->begin; i++)
        LOOP(forward_row)(&w, i, LOOP(right_side)(b, s->unknown + i * LANES));
    for (size_t n = 0; n < t->blocks * CLSI_BLOCK; n++) {
        const view now = LOOP(further)(w, t, n);
        if (n % CLSI_BLOCK == 0)
            for (size_t k = 0; k < t->period; k++) LOOP(fetch)
        (b, s->unknown + (t->begin + k) * LANES, t->step[t->entries + k], n / CLSI_BLOCK,
         r->block + k * LANES, t->period);
        for (size_t k = 0; k < t->period; k++)
            LOOP(forward_row)(&now, t->begin + k, at(r->block, n % CLSI_BLOCK * t->period + k));
    }
    for (size_t i = behind(t); i < s->slots; i++)
        LOOP(forward_row)(&w, i, LOOP(right_side)(b, s->unknown + i * LANES));
}

/* Of the rows of separators: `sum` (wide). */
TARGET static void LOOP(forward_walls)(const clsi_segments *s, const room *r, size_t row,
                                       double *sum) {
    const view w = view_of(s, r);
    size_t next[CLSI_WIDE_MOST];
    for (size_t i = 0; i < s->wide; i++) next[i] = w.first[row + i];
    for (size_t stop = TURN; stop < s->slots + TURN; stop += TURN)
        for (size_t i = 0; i < s->wide; i++) {
            size_t k = next[i], last = w.diagonal[row + i];
            lanes left = at(sum, i);
            for (; k < last && w.column[k] < stop; k++)
                left = minus(left, at(w.value, k), at(r->x, w.column[k]));
            put(sum, i, left);
            next[i] = k;
        }
}

/* `apart`: x of separators and the border, which is nowhere else. */
HELP lanes LOOP(back_row)(const view *w, size_t i, size_t slots, const double *apart) {
    size_t k = w->diagonal[i], end = w->first[i + 1];
    lanes sum = at(w->x, i), inverse = at(w->value, k);
    for (k++; k < end; k++) {
        size_t c = w->column[k];
        sum = minus(sum, at(w->value, k), at(c < slots ? w->x : apart, c));
    }
    sum = LOOP(times)(sum, inverse);
    put(w->x, i, sum);
    return sum;
}

/* Rows from `end` down to `i`. */
HELP void LOOP(back_rows)(const clsi_segments *s, const view *w, size_t i, size_t end, double *b) {
    while (end-- > i) {
        const uint32_t *unknown = s->unknown + end * LANES;
        lanes sum = LOOP(back_row)(w, end, s->slots, w->x);
        if (!(unknown[0] & PARTLY)) {
            EACH_PART for (int l = 0; l < WIDTH; l++) b[unknown[p * WIDTH + l]] = sum.part[p][l];
            continue;
        }
        for (size_t l = 0; l < LANES; l++)
            if (unknown[l] != CLSI_NOTHING) b[unknown[l] & ~PARTLY] = w->x[end * LANES + l];
    }
}

/* A block of periods from the last to the first: x, and side by side for LOOP(bring). */
HELP void LOOP(back_block)(const clsi_segments *s, const view *w, size_t block, double *to) {
    const clsi_stretch *t = &s->stretch;
    size_t n = (block + 1) * CLSI_BLOCK - 1, first = s->first[t->begin], begin = t->begin;
    if (t->back) {
        const view now = LOOP(further)(*w, t, n);
        t->back(now.value + first * LANES, now.x + begin * LANES,
                to + (CLSI_BLOCK - 1) * t->period * LANES, w->x + s->slots * LANES, CLSI_BLOCK);
        return;
    }
    for (size_t p = CLSI_BLOCK; p-- > 0; n--) {
        const view now = LOOP(further)(*w, t, n);
        for (size_t k = t->period; k-- > 0;)
            put(to, p * t->period + k, LOOP(back_row)(&now, begin + k, s->slots, w->x));
    }
}

TARGET static void LOOP(back_inside)(const clsi_segments *s, const room *r, double *b) {
    const view w = view_of(s, r);
    const clsi_stretch *t = &s->stretch;
    LOOP(back_rows)(s, &w, behind(t), s->slots, b);
    for (size_t block = t->blocks; block-- > 0;) {
        LOOP(back_block)(s, &w, block, r->block);
        for (size_t k = 0; k < t->period; k++) LOOP(bring)
        (b, s->unknown + (t->begin + k) * LANES, t->step[t->entries + k], block,
         r->block + k * LANES, t->period);
    }
    LOOP(back_rows)(s, &w, 0, t->begin, b);
}

static const segment_loops LOOP(loops) = {LOOP(factor_inside), LOOP(open_walls),
                                          LOOP(reduce_walls),  LOOP(forward_inside),
                                          LOOP(forward_walls), LOOP(back_inside)};

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
#undef LOW_HALVES
#undef HIGH_HALVES
