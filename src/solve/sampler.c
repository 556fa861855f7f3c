/* Which rows a batch has: groups of rows in random order, by a seed, all once per epoch.
 *
 * Of a feed (rows that do not stay in memory) the pieces are shuffled at the beginning of a pass, then the
 * groups of those that are loaded together. Every group of a load is drawn: its last batch reaches back over
 * some that were. The state is where a load begins, the random numbers before its groups were shuffled and how
 * many were drawn, so that a resumed run loads it again and goes on with the same rows. */
#include "solve/optimize.h"
#include "base/base.h"
#include <stdlib.h>

typedef struct clsi_sampled {
    size_t *piece;         /* (n_pieces) in the order of this pass */
    size_t begin;          /* the first piece of the load, in that order; n_pieces: none */
    cls_random before;     /* its groups were shuffled */
    uint64_t passes, done; /* that began; groups of the loads before this one in this pass */
    size_t room;           /* of the sampler's order */
    int again;             /* the load has to be made again */
} clsi_sampled;

/* Fisher and Yates. */
static void shuffle(cls_random *random, size_t n, size_t *order) {
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)(cls_random_uniform(random) * (double)i);
        size_t t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
}

static cls_status begin_feed(clsi_sampler *s) {
    size_t n = s->feed->n_pieces;
    clsi_sampled *f = s->fed = clsi_calloc(1, sizeof *f);
    if (f) f->piece = clsi_calloc(n + 1, sizeof *f->piece);
    if (!f || !f->piece) return CLS_MEMORY;
    for (size_t i = 0; i < n; i++) f->piece[i] = i;
    f->begin = n;
    s->n = s->at = 0;
    return CLS_OK;
}

cls_status clsi_sampler_begin(clsi_sampler *s, clsi_feed *feed, size_t n, uint64_t seed,
                              cls_error *error) {
    *s = (clsi_sampler){.n = n, .at = n, .feed = feed};
    cls_random_seed(&s->random, seed);
    if (feed) return begin_feed(s) == CLS_OK ? CLS_OK : clsi_no_memory(error);
    if (!(s->order = clsi_calloc(n + 1, sizeof(size_t)))) return clsi_no_memory(error);
    for (size_t i = 0; i < n; i++) s->order[i] = i;
    return CLS_OK;
}

/* ---- a feed ---- */

/* The pieces from `begin` on; groups again and again where there are fewer than a batch has. */
static cls_status load(clsi_sampler *s, size_t begin, size_t count) {
    clsi_sampled *f = s->fed;
    size_t left = s->feed->n_pieces - begin;
    size_t together = left < s->feed->together ? left : s->feed->together;
    f->begin = begin;
    f->before = s->random;
    s->at = s->n = 0;
    cls_status status = s->feed->load(s->feed->context, together, f->piece + begin, &s->n);
    if (status != CLS_OK) return status;
    size_t most = s->n > count ? s->n : count;
    if (!clsi_grow(&s->order, &f->room, most, sizeof *s->order)) return CLS_MEMORY;
    for (size_t i = 0; i < s->n; i++) s->order[i] = i;
    shuffle(&s->random, s->n, s->order);
    for (size_t i = s->n; i < most && s->n; i++) s->order[i] = s->order[i - s->n];
    return CLS_OK;
}

static cls_status next_load(clsi_sampler *s, size_t count) {
    clsi_sampled *f = s->fed;
    f->done += s->n;
    size_t begin = f->begin + s->feed->together;
    if (begin >= s->feed->n_pieces) {
        shuffle(&s->random, s->feed->n_pieces, f->piece);
        f->passes++;
        f->done = begin = 0;
    }
    return load(s, begin, count);
}

static const size_t *draw(clsi_sampler *s, size_t count) {
    clsi_sampled *f = s->fed;
    cls_status status = CLS_OK;
    size_t drawn = s->at;
    if (f->again && f->begin < s->feed->n_pieces) {
        status = load(s, f->begin, count);
        s->at = drawn;
    }
    f->again = 0;
    while (status == CLS_OK && s->at >= s->n) status = next_load(s, count);
    if (status != CLS_OK) return NULL;
    size_t first = s->at + count > s->n ? (s->n > count ? s->n - count : 0) : s->at;
    s->at = s->at + count > s->n ? s->n : s->at + count;
    if (f->passes == 1 && f->done + s->at > s->feed->used) s->feed->used = f->done + s->at;
    return s->order + first;
}

/* ---- both ---- */

/* From where the epoch begins; a rest too short for a batch is left out where all rows are there. */
const size_t *clsi_sampler_next(clsi_sampler *s, size_t count) {
    if (s->feed) return draw(s, count);
    if (s->at + count > s->n) {
        shuffle(&s->random, s->n, s->order);
        s->at = 0;
    }
    const size_t *rows = s->order + s->at;
    s->at += count;
    return rows;
}

static void keep_feed(clsi_sampler *s, clsi_archive *a) {
    clsi_sampled *f = s->fed;
    size_t n = s->feed->n_pieces;
    if (!a->reading && !f->again && f->begin == n) f->before = s->random;
    for (int k = 0; k < 4; k++) clsi_archive_word(a, &f->before.s[k]);
    clsi_archive_word(a, &f->passes);
    clsi_archive_word(a, &f->done);
    clsi_archive_word(a, &s->feed->used);
    clsi_archive_size(a, n, &f->begin);
    clsi_archive_size(a, SIZE_MAX / 2, &s->at);
    for (size_t i = 0; i < n; i++) clsi_archive_size(a, n - 1, &f->piece[i]);
    if (!a->reading) return;
    s->random = f->before;
    s->n = 0;
    f->again = 1;
}

void clsi_sampler_state(clsi_sampler *s, clsi_archive *a) {
    if (s->feed) {
        keep_feed(s, a);
        return;
    }
    for (int k = 0; k < 4; k++) clsi_archive_word(a, &s->random.s[k]);
    clsi_archive_size(a, s->n, &s->at);
    for (size_t i = 0; i < s->n; i++) clsi_archive_size(a, s->n - 1, &s->order[i]);
}

void clsi_sampler_end(clsi_sampler *s) {
    if (s->fed) free(s->fed->piece);
    free(s->fed);
    free(s->order);
}
