/* Tiles as machine code: x86-64, written when the plan is made (vectors.c runs it).
 *
 * Problem: operation by operation each result of a tile is written to the first level of the cache and read from
 * there, and a tile of 256 cells is so short that loops end before they have begun. Here the arithmetic of a
 * group of operations between two functions (a piece, tiles.c) is one loop over the times of a tile, one vector of
 * cells at a time. A result is in a machine register while the piece reads it; scratch has what other pieces read,
 * and what is read again some cells later: such a vector is put together from the one at hand and the one
 * before (a load across what was just stored would wait for the store).
 *
 * Every vector is whole. At the ends of arrays some operations of a piece have nothing to compute: they compute
 * on whatever there is, and nobody reads it. What leaves the tile (results wanted in registers of the plan or as
 * outputs) is stored whole in between (`core`), and next to the ends cell by cell (`edge`). The operations are those of vectors.c in the
 * same order for each cell, rounded as there: same bits. */
#define _DEFAULT_SOURCE
#include "expr/tile_code.h"
#include "base/base.h"
#include "expr/tile_writer.h"
#include "expr/tiles.h"
#include <stdlib.h>
#include <string.h>

int clsi_fused_width(void) {
    if (clsi_native_supports(WHOLE)) return WHOLE;
    return clsi_native_supports(HALF) ? HALF : 0;
}

#if defined(__x86_64__) && defined(__linux__)
#include <sys/mman.h>

enum { NEAR = 16 }; /* of an end: there the edge makes what is stored of few cells */

/* ---- pieces ---- */

static int index_of(const clsi_fuser *f) {
    return (int)(f->piece - f->made->pieces);
}

static void put_tiles(clsi_fuser *f) {
    f->n_stores = 0;
    for (int m = 0; m < 32; m++) f->w.holds[m] = NOBODY;
    for (size_t i = f->piece->first; i < f->piece->first + f->piece->n; i++) f->where[i] = NOBODY;
    for (size_t i = f->piece->first; i < f->piece->first + f->piece->n; i++) clsi_fuse_tile(f, i);
    for (int k = 0; k < f->n_copies; k++)
        if (f->copy[k].piece == index_of(f)) clsi_fuse_copy(f, &f->plan->left[f->copy[k].left]);
}

static void put_core(clsi_fuser *f) {
    clsi_writer *w = &f->w;
    f->edge = 0;
    f->n_constants = 0;
    f->most = 0;
    f->vectors = 1;
    f->top = w->n_machine;
    f->piece->core_at = w->length;
    put_tiles(f); /* to see what it needs */
    w->length = f->piece->core_at;
    f->vectors = f->piece->vectors = 2 * f->most <= w->n_machine ? 2 : 1;
    clsi_fuse_constants(f);
    size_t again = w->length;
    put_tiles(f);
    unsigned char size = (unsigned char)(f->vectors * w->width * (int)sizeof(double));
    CODE(w, 0x48, 0x81, 0xc7, size, 0, 0, 0, 0x48, 0x81, 0xc6, size, 0, 0, 0); /* add rdi, rsi */
    CODE(w, 0x48, 0x81, 0xc2, size, 0, 0, 0);                                  /* add rdx, size */
    CODE(w, 0x49, 0xff, 0xc8, 0x0f, 0x85);                                     /* dec r8; jnz */
    clsi_code_put_number(w, (long long)again - (long long)(w->length + 4));
    CODE(w, 0xc5, 0xf8, 0x77, 0xc3); /* vzeroupper; ret */
}

static void put_piece(clsi_fuser *f) {
    clsi_writer *w = &f->w;
    f->unfit = 0;
    put_core(f);
    f->edge = 1;
    f->top = w->n_machine;
    f->vectors = 1;
    f->piece->edge_at = w->length;
    put_tiles(f);
    CODE(w, 0xc5, 0xf8, 0x77, 0xc3);
    if (f->unfit) f->piece->core_at = f->piece->edge_at = 0;
}

/* The piece is not made: others may copy. */
static void drop_copies(clsi_fuser *f) {
    for (int k = 0; k < f->n_copies; k++)
        if (f->copy[k].piece == index_of(f)) f->copy[k].piece = NOBODY;
}

/* Whether a store of the times [begin, end) is made by the piece; the core stays clear of its ends. */
static int take_store(clsi_fuser *f, int64_t begin, int64_t end, int kept) {
    clsi_fused_piece *p = f->piece;
    int few = end - begin < CLSI_FUSED_FEW;
    if (few && begin - f->phase->begin > NEAR && f->phase->end - end > NEAR) return 0;
    if (p->n_stores == CLSI_FUSED_STORES) {
        f->unfit |= kept;
        return 0;
    }
    p->n_stores++;
    if (few) {
        if (begin - f->phase->begin <= NEAR)
            p->begin = end > p->begin ? end : p->begin;
        else
            p->end = begin < p->end ? begin : p->end;
    } else {
        p->begin = begin > p->begin ? begin : p->begin;
        p->end = end < p->end ? end : p->end;
    }
    return 1;
}

static void take_stores(clsi_fuser *f, size_t i) {
    const clsi_tile *tile = &f->plan->tiles[i];
    const clsi_vector_op *op = clsi_fuse_op(f, i);
    if (clsi_fuse_kept(f, i)) (void)take_store(f, tile->shift, tile->shift + op->n, 1);
    clsi_delivery *d = f->plan->deliveries + tile->deliveries;
    for (uint32_t k = 0; k < tile->n_deliveries; k++, d++) {
        int64_t begin = tile->shift + d->element;
        d->fused = (d->stride == 1 || d->n == 1) && take_store(f, begin, begin + d->n, 0);
        if (d->fused) continue;
        f->piece->loose = 1;
        f->stored[i] = 1;
    }
}

/* Outputs that are inputs (velocities among rates) go along with the first piece of their stage that is long enough:
 * a load and a store of a vector beside arithmetic, in place of a way over memory of their own. */
static void take_copies(clsi_fuser *f) {
    const clsi_plan *plan = f->plan;
    size_t phase = (size_t)(f->phase - plan->phases),
           first = phase < plan->phases_end[CLSI_STAGE_FIRST] ? 0 : plan->n_left_first;
    if (phase < plan->phases_end[CLSI_STAGE_EARLY]) return;
    for (int k = 0; k < f->n_copies; k++) {
        const clsi_left *run = &plan->left[f->copy[k].left];
        int here = first ? f->copy[k].left >= first : f->copy[k].left < plan->n_left_first;
        if (f->copy[k].piece == NOBODY && here && f->phase->begin <= 0 && run->n <= f->phase->end &&
            take_store(f, 0, run->n, 0))
            f->copy[k].piece = index_of(f);
    }
}

/* The stores of a piece, and whole vectors between; 0: not worth it. */
static int plan_piece(clsi_fuser *f) {
    clsi_fused_piece *p = f->piece;
    int64_t begin = f->phase->begin, end = f->phase->end, width = f->w.width;
    p->begin = begin;
    p->end = end;
    p->stores = (uint32_t)f->made->n_stores;
    f->unfit = 0;
    if (!clsi_tiles_native(f->plan, f->plan->tiles[p->first].op)) return 0;
    for (size_t i = p->first; i < p->first + p->n; i++) take_stores(f, i);
    take_copies(f);
    p->begin += (width - (p->begin - begin) % width) % width;
    p->end -= (p->end - begin) % width;
    if (!clsi_grow(&f->made->stores, &f->stores_room, p->stores + p->n_stores + 1,
                   sizeof *f->made->stores))
        f->w.failed = 1;
    if (f->unfit || f->w.failed || 2 * (p->end - p->begin) < end - begin) return 0;
    f->made->n_stores += p->n_stores;
    return 1;
}

/* What reads what in a group, and what is to be in scratch for others. */
static void find_readers(clsi_fuser *f, const clsi_phase *phase) {
    const clsi_tile *tiles = f->plan->tiles;
    for (size_t i = phase->first; i < phase->first + phase->n; i++) {
        const clsi_vector_op *op = clsi_fuse_op(f, i);
        for (int second = 0; second < 2; second++) {
            int64_t delay;
            int m = second ? clsi_fuse_local_maker(f, i, op->b, op->step_b, &delay)
                           : clsi_fuse_local_maker(f, i, op->a, op->step_a, &delay);
            if (m == NOBODY) continue;
            int same = tiles[m].piece == tiles[i].piece;
            if (!same || delay) f->stored[m] = 1;
            if (same && delay < f->w.width) f->last[m] = (uint32_t)i;
        }
    }
}

static void fuse_phase(clsi_fuser *f, clsi_phase *phase) {
    const clsi_tile *tiles = f->plan->tiles;
    f->phase = phase;
    find_readers(f, phase);
    phase->pieces = (uint32_t)f->made->n_pieces;
    for (uint32_t i = phase->first, end = i + phase->n, n; i < end && !f->w.failed; i += n) {
        for (n = 1; i + n < end && tiles[i + n].piece == tiles[i].piece;) n++;
        if (!clsi_grow(&f->made->pieces, &f->pieces_room, f->made->n_pieces + 1,
                       sizeof *f->made->pieces)) {
            f->w.failed = 1;
            return;
        }
        f->piece = &f->made->pieces[f->made->n_pieces++];
        *f->piece = (clsi_fused_piece){.first = i, .n = n};
        if (plan_piece(f)) put_piece(f);
        if (!f->piece->core_at) drop_copies(f);
        phase->n_pieces++;
    }
}

/* ---- plans ---- */

static void find_copies(clsi_fuser *f) {
    const clsi_plan *plan = f->plan;
    for (size_t k = 0; k < plan->n_left && f->n_copies < CLSI_FUSED_COPIES; k++) {
        uint32_t from = plan->outputs[plan->left[k].output], n = plan->left[k].n;
        if (n < CLSI_LONG || from < plan->n_constants || from + n > plan->ops[0].result) continue;
        f->copy[f->n_copies++] = (struct copy){k, NOBODY};
    }
}

static void mark_copies(clsi_fuser *f) {
    for (int i = 0; i < f->n_copies; i++)
        f->plan->left[f->copy[i].left].fused = f->copy[i].piece != NOBODY;
}

static int open_fuser(clsi_fuser *f) {
    size_t n = f->plan->n_ops;
    f->made = clsi_calloc(1, sizeof *f->made);
    f->place = clsi_calloc(n, sizeof *f->place);
    f->last = clsi_calloc(n, sizeof *f->last);
    f->where = clsi_calloc(n, sizeof *f->where);
    f->stored = clsi_calloc(n, 1);
    if (f->made) f->made->singles = clsi_calloc(n, sizeof *f->made->singles);
    if (!f->made || !f->made->singles || !f->place || !f->last || !f->where || !f->stored) return 0;
    for (size_t i = 0; i < n; i++) f->place[f->plan->tiles[i].op] = (uint32_t)i;
    find_copies(f);
    (void)clsi_code_find_pooled(&f->w, CLSI_NO_SIGN);
    for (size_t i = 0; i < n; i++) clsi_fuse_pool(f, i);
    clsi_code_put_pooled(&f->w);
    f->mender = f->w.length;
    clsi_fuse_mender(&f->w);
    return 1;
}

static void link_singles(clsi_fused *made, size_t n) {
    for (size_t k = 0; k < n; k++) {
        unsigned char *code = (unsigned char *)made->code + made->singles[k].at;
        if (made->singles[k].n) memcpy(&made->singles[k].run, &code, sizeof code);
    }
}

static void link_pieces(clsi_fused *made) {
    for (size_t k = 0; k < made->n_pieces; k++) {
        clsi_fused_piece *p = &made->pieces[k];
        unsigned char *core = (unsigned char *)made->code + p->core_at,
                      *edge = (unsigned char *)made->code + p->edge_at;
        if (!p->core_at) continue;
        memcpy(&p->core, &core, sizeof core);
        memcpy(&p->edge, &edge, sizeof edge);
    }
}

void clsi_plan_fuse(clsi_plan *plan, int width) {
    clsi_fuser f = {.plan = plan, .w = {.width = width, .n_machine = width == WHOLE ? 31 : 15}};
    int good = width && clsi_native_supports(width) && open_fuser(&f);
    for (size_t k = 0; k < plan->n_phases; k++) plan->phases[k].n_pieces = 0;
    for (size_t k = 0; k < plan->n_phases && good; k++)
        if (plan->phases[k].tiled)
            fuse_phase(&f, &plan->phases[k]);
        else
            clsi_fuse_singles(&f, &plan->phases[k]);
    good =
        good && !f.w.failed && clsi_code_executable(&f.w, &f.made->code, &f.made->size) == CLS_OK;
    if (good) {
        f.made->width = width;
        link_pieces(f.made);
        link_singles(f.made, plan->n_ops);
        mark_copies(&f);
        plan->fused = f.made;
    } else if (f.made) {
        clsi_fused_free(&f.made);
    }
    free(f.place);
    free(f.last);
    free(f.where);
    free(f.stored);
    free(f.w.bytes);
    free(f.w.pool);
}

void clsi_fused_free(clsi_fused **fused) {
    clsi_fused *f = *fused;
    if (!f) return;
    if (f->code) munmap(f->code, f->size);
    free(f->pieces);
    free(f->stores);
    free(f->singles);
    free(f);
    *fused = NULL;
}

#else

void clsi_plan_fuse(clsi_plan *plan, int width) {
    (void)plan, (void)width;
}

void clsi_fused_free(clsi_fused **fused) {
    *fused = NULL;
}

#endif
