/* Where the energy went: bands as wide as what crossed the boundary, into the system from the left and
 * out of it, or into its store, to the right. Both sides are equal, which is the first law. Of the middle
 * the part is light that can do no work any more: exergy destroyed (energy.c). */
#include "page/page.h"
#include <math.h>
#include <string.h>

enum { WIDTH = 560, HEIGHT = 190, TOP = 26, TALL = 120, LEFT = 150, MIDDLE = 250, RIGHT = 390 };

typedef struct flow {
    const char *words;
    double size;
    int style;
} flow;

static void band(clsi_text *t, const flow *f, double x0, double y0, double x1, double y1,
                 double tall) {
    double bend = (x0 + x1) / 2;
    clsi_text_printf(t,
                     "<path class=\"p flow f%d\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1fv%.1f"
                     "C%.1f %.1f %.1f %.1f %.1f %.1fz\"/>",
                     f->style, x0, y0, bend, y0, bend, y1, x1, y1, tall, bend, y1 + tall, bend,
                     y0 + tall, x0, y0 + tall);
}

/* One side, from the top; labels outside, kept apart. */
static void side(clsi_text *t, size_t n, const flow *flows, double total, int right) {
    double edge = TOP, inner = TOP, label = 0, gap = n > 1 ? 14 : 0;
    for (size_t i = 0; i < n; i++) {
        double tall = TALL * flows[i].size / total;
        double outer = right ? RIGHT : LEFT, middle = right ? MIDDLE + 22 : MIDDLE;
        band(t, &flows[i], right ? middle : outer, right ? inner : edge, right ? outer : middle,
             right ? edge : inner, fmax(tall, 1));
        label = fmax(edge + tall / 2 + 4, label + 26);
        clsi_text_printf(
            t,
            "<text x=\"%d\" y=\"%.1f\" text-anchor=\"%s\">%s</text><text class=\"strong\" "
            "x=\"%d\" y=\"%.1f\" text-anchor=\"%s\">%.4g</text>",
            right ? RIGHT + 8 : LEFT - 8, label - 6, right ? "start" : "end", flows[i].words,
            right ? RIGHT + 8 : LEFT - 8, label + 8, right ? "start" : "end", flows[i].size);
        edge += tall + gap;
        inner += tall;
    }
}

static void numbers(clsi_text *t, size_t n, const flow *flows, const char *words) {
    for (size_t i = 0; i < n; i++)
        clsi_text_printf(t, "<tr><td>%s</td><td>%s</td><td class=\"n\">%.6g</td></tr>", words,
                         flows[i].words, flows[i].size);
}

void clsi_sankey(clsi_text *t, double work, double heat, double stored, double lost, double T0) {
    flow in[3], out[3];
    size_t n_in = 0, n_out = 0;
    double total = 0, all = 0;
    if (work > 0) in[n_in++] = (flow){"work done on it", work, 0};
    if (heat > 0) in[n_in++] = (flow){"heat given to it", heat, 1};
    if (stored < 0) in[n_in++] = (flow){"out of its store", -stored, 2};
    if (stored > 0) out[n_out++] = (flow){"into its store", stored, 2};
    if (work < 0) out[n_out++] = (flow){"work done by it", -work, 0};
    if (heat < 0) out[n_out++] = (flow){"heat given away", -heat, 1};
    for (size_t i = 0; i < n_in; i++) total += in[i].size;
    for (size_t i = 0; i < n_out; i++) all += out[i].size;
    total = fmax(total, all);
    int crossed = isfinite(total) && total > 1e-9 * fmax(fabs(lost), 1e-300) && n_in && n_out;
    clsi_text_append(t, "<figure class=\"half\">");
    if (crossed) {
        clsi_text_printf(t,
                         "<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>Where the energy went"
                         "</title><desc>bands from the left, what came in, through the system to "
                         "the right, where it went; as wide as the energy</desc>",
                         WIDTH, HEIGHT);
        side(t, n_in, in, total, 0);
        side(t, n_out, out, total, 1);
        clsi_text_printf(t,
                         "<rect class=\"p f5\" x=\"%d\" y=\"%d\" width=\"22\" height=\"%d\"/><text "
                         "x=\"%d\" y=\"%d\" text-anchor=\"middle\">the system</text>",
                         MIDDLE, TOP, TALL, MIDDLE + 11, TOP - 10);
        if (lost > 0)
            clsi_text_printf(t,
                             "<rect class=\"spent\" x=\"%d\" y=\"%.1f\" width=\"22\" "
                             "height=\"%.1f\"/>",
                             MIDDLE, TOP + TALL - TALL * fmin(lost / total, 1),
                             TALL * fmin(lost / total, 1));
        clsi_text_append(t, "</svg>");
    }
    clsi_text_append(
        t, "<figcaption><strong>Where the energy went</strong>, from the start to the end "
           "of this motion");
    if (!crossed) clsi_text_append(t, ": nothing crossed its boundary, and it keeps what it had");
    if (lost > 0)
        clsi_text_printf(
            t,
            "%s %.4g of it can do no work any more, in surroundings at %.4g, the lowest "
            "temperature at the start%s",
            crossed ? ":" : ";", lost, T0, crossed ? " (the light part)" : "");
    clsi_text_append(t, ".</figcaption>");
    if (crossed) {
        clsi_text_append(
            t, "<details><summary>The numbers</summary><div class=\"scroll\" tabindex=\"0\" "
               "role=\"group\" aria-label=\"numbers of the energy\"><table><thead><tr><th "
               "scope=\"col\">side</th><th scope=\"col\">what</th><th scope=\"col\" "
               "class=\"n\">energy</th></tr></thead><tbody>");
        numbers(t, n_in, in, "from");
        numbers(t, n_out, out, "to");
        clsi_text_append(t, "</tbody></table></div></details>");
    }
    clsi_text_append(t, "</figure>\n");
}
