/* Values that stand alone, far from the rows before and behind them: a counter that slipped, a bit that fell
 * over. No model follows them, and what they are off by would be all that scores tell: a model that is right
 * to a hundredth lost against the mean. They are found by the data alone, the same ones for every model that
 * is scored. Fits of functions leave them out as well; their loss bounds the pull of what is not found here. */
#include "base/base.h"
#include "learn/shooting/multiple.h"
#include <math.h>
#include <string.h>

enum { NEIGHBOURS = 4, MOST = 3 }; /* at most one of so many values may be such */
static const double ALONE =
    10; /* times what rows usually are off from the mean of their neighbours */

/* How far value i of a channel is from the mean of its neighbours; NAN: one is missing. */
static double bend(const clsi_recording *d, size_t c, size_t i) {
    const double *y = d->y + i * d->ny + c;
    const clsi_channel *ch = &d->channel[c];
    return (clsi_difference(ch, y[0], y[-(ptrdiff_t)d->ny]) + clsi_difference(ch, y[0], y[d->ny])) /
           2;
}

static double usual_bend(const clsi_recording *d, size_t c, double *list) {
    size_t n = 0;
    for (size_t s = 0; s < d->n_segments; s++)
        for (size_t i = d->segment[s].first + 1; i + 1 < d->segment[s].end; i++) {
            double b = fabs(bend(d, c, i));
            if (isfinite(b)) list[n++] = b;
        }
    return n > 2 * NEIGHBOURS ? 1.48 * clsi_median(n, list) : INFINITY;
}

/* On the same side of three of the two before and the two behind: a step, which has two, is none. */
static int is_alone(const clsi_recording *d, size_t c, const clsi_segment *g, size_t i,
                    double limit) {
    int above = 0, below = 0, seen = 0;
    for (int k = -2; k <= 2; k++) {
        if (!k || (k < 0 && i < g->first + (size_t)-k) || (k > 0 && i + (size_t)k >= g->end))
            continue;
        double off = clsi_difference(&d->channel[c], d->y[i * d->ny + c],
                                     d->y[(size_t)((ptrdiff_t)i + k) * d->ny + c]);
        seen += isfinite(off) != 0;
        above += off > limit;
        below += off < -limit;
    }
    return seen >= 3 && (above >= 3 || below >= 3);
}

size_t clsi_wild_hide(const clsi_recording *d, unsigned char *wild, double *list, double *kept) {
    size_t all = 0;
    memset(wild, 0, d->n * d->ny);
    memcpy(kept, d->y, d->n * d->ny * sizeof *kept);
    for (size_t c = 0; c < d->ny; c++) {
        double limit =
            ALONE * fmax(usual_bend(d, c, list), fmax(d->channel[c].noise, d->channel[c].floor));
        size_t n = 0, values = 0;
        for (size_t s = 0; s < d->n_segments && isfinite(limit); s++)
            for (size_t i = d->segment[s].first; i < d->segment[s].end; i++) {
                values += isfinite(d->y[i * d->ny + c]) != 0;
                n += wild[i * d->ny + c] = (unsigned char)is_alone(d, c, &d->segment[s], i, limit);
            }
        if (MOST * n > values) n = 0; /* that is what it does */
        for (size_t i = 0; i < d->n && n; i++)
            if (wild[i * d->ny + c]) d->y[i * d->ny + c] = NAN;
        all += n;
    }
    return all;
}

void clsi_wild_tell(size_t alone, size_t n, const char *what, clsi_text *notes) {
    clsi_text_printf(notes, "%zu of %zu values stand alone, far from the rows beside them: %s\n",
                     alone, n, what);
}
