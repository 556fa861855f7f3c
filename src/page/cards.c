/* The figures that one looks for first, as a row of cards under the verdict. */
#include "base/locale.h"
#include "page/page.h"
#include <math.h>

static void card(clsi_text *t, int good, const char *number, const char *words) {
    clsi_text_printf(t, "<li class=\"%s\"><strong>%s</strong><span>%s</span></li>\n",
                     good > 0   ? "fine"
                     : good < 0 ? "poor"
                                : "",
                     number, words);
}

static void law_card(clsi_text *t, const clsi_subject *s) {
    size_t laws = 0, held = 0;
    char number[64];
    for (size_t i = 0; i < cls_audit_count(s->audit); i++) {
        const cls_law *l = cls_audit_law(s->audit, i);
        laws += !l->finding;
        held += !l->finding && l->passed;
    }
    snprintf(number, sizeof number, "%zu of %zu", held, laws);
    card(t, held == laws ? 1 : -1, number, "laws hold, by the judge");
}

void clsi_cards(clsi_text *t, const clsi_subject *s) {
    char number[64], words[160];
    size_t before = t->length;
    clsi_text_append(t, "<ul class=\"cards\">\n");
    size_t opened = t->length;
    if (s->audit) law_card(t, s);
    if (s->n_channels) {
        double worst = INFINITY;
        size_t followed = s->n_trials;
        size_t judged = 0;
        for (size_t i = 0; i < s->n_channels; i++) {
            if (s->channels[i].own) continue;
            worst = fmin(worst, s->channels[i].trivial / s->channels[i].rmse);
            judged++;
        }
        double unit = worst >= 1000 ? pow(10, floor(log10(worst)) - 2) : 0; /* three digits */
        clsi_snprintf(number, sizeof number,
                      worst < 1000  ? "%.3g times"
                      : worst < 1e6 ? "%.0f times"
                                    : "over 1e6 times",
                      unit > 0 ? unit * round(worst / unit) : worst);
        if (judged == 1)
            snprintf(words, sizeof words, "nearer than if the first value stayed");
        else
            snprintf(words, sizeof words,
                     "nearer than if the first value stayed, in the worst of %zu channels", judged);
        card(t, worst > 1 ? 1 : -1, number, words);
        snprintf(number, sizeof number, "%zu of %zu", followed, s->n_found);
        card(t, 0, number, "trajectories of the data followed in free run");
    }
    if (s->simulated) {
        clsi_snprintf(number, sizeof number, "%.1g", s->laws.energy_relative);
        snprintf(words, sizeof words, "relative energy error over %llu steps",
                 (unsigned long long)s->laws.steps);
        card(t, 0, number, words);
    }
    if (s->simulated && clsi_has_entropy(s)) {
        snprintf(number, sizeof number, "%llu", (unsigned long long)s->laws.entropy_falls);
        card(t, s->laws.entropy_falls ? -1 : 1, number, "steps in which the entropy fell");
    }
    if (t->length == opened && !t->failed)
        t->data[t->length = before] = 0;
    else
        clsi_text_append(t, "</ul>\n");
}
