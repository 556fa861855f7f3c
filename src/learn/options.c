/* The options of learning as one table (clausius/options.h). Programs and other languages make their
 * flags and keywords from it, a model records what was asked by it; what means nothing for a fit is
 * refused before it runs, because an option that is given is expected to matter. */
#include "base/options.h"
#include "base/base.h"
#include "learn/learner.h"
#include "model/json.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

#define AT(field)     offsetof(cls_learn_options, field)
#define ITERATIVE     (CLS_OPTION_LM | CLS_OPTION_SPRING | CLS_OPTION_LBFGS | CLS_OPTION_ADAM)
#define ANY_OPTIMIZER (CLS_OPTION_LINEAR | ITERATIVE)
#define ANY_LOSS                                                                                   \
    (CLS_OPTION_RESIDUAL | CLS_OPTION_SHOOTING | CLS_OPTION_DERIVATIVE | CLS_OPTION_RECORDING)

static const cls_option table[] = {
    {"field", CLS_OPTION_WORD, AT(field), 0, 0, 0, NULL, "FORM", ANY_LOSS, ANY_OPTIMIZER,
     "chebyshev(DEGREE), monomial(DEGREE), network(WIDTH, ...); else chosen"},
    {"loss", CLS_OPTION_WORD, AT(loss), 0, 0, 0,
     "residual, shooting, derivative, multiple-shooting", "NAME", ANY_LOSS, ANY_OPTIMIZER,
     "what is made small: the residual; simulations of windows (shooting), from free starts and "
     "with "
     "terms that the noise allows (multiple-shooting); else residual, multiple-shooting by noise"},
    {"scheme", CLS_OPTION_WORD, AT(scheme), 0, 0, 0, NULL, "NAME", ANY_LOSS, ANY_OPTIMIZER,
     "whose step is the residual: quadrature (order 4), or any scheme with fixed steps that "
     "simulates the system (data that it made are learned back exactly); of positions alone weak "
     "(order 8), discrete-gradient, leapfrog, euler. With shooting the scheme that simulates; else "
     "chosen"},
    {"window", CLS_OPTION_SIZE, AT(window), 0, 1, 1e9, NULL, "N", ANY_LOSS, ANY_OPTIMIZER,
     "intervals of the data in a window of the loss; else chosen"},
    {"substeps", CLS_OPTION_SIZE, AT(substeps), 0, 1, 1e6, NULL, "N", CLS_OPTION_SHOOTING,
     ANY_OPTIMIZER, "shooting: scheme steps in an interval of the data; else 1"},
    {"adjoint", CLS_OPTION_WORD, AT(adjoint), 0, 0, 0, "discrete, continuous", "NAME",
     CLS_OPTION_SHOOTING, ANY_OPTIMIZER,
     "shooting by lbfgs or adam: discrete (exact, the default) or continuous (an integration "
     "backwards, off by O(h^2): for comparison)"},
    {"optimizer", CLS_OPTION_WORD, AT(optimizer), 0, 0, 0,
     "auto, linear, lm, spring, lbfgs, adam, qp", "NAME", ANY_LOSS, ANY_OPTIMIZER,
     "how: one linear solve, Levenberg-Marquardt, subsampled natural gradients (spring), lbfgs, "
     "adam, or "
     "convex programs (qp); else chosen by the parts"},
    {"weights", CLS_OPTION_WORD, AT(weights), 0, 0, 0, "balanced, equal", "NAME", ANY_LOSS,
     ANY_OPTIMIZER, "of the residual: balanced (small friction counts) or equal; else balanced"},
    {"test", CLS_OPTION_REAL, AT(test), -1, 0, 0.9, NULL, NULL,
     CLS_OPTION_RESIDUAL | CLS_OPTION_RECORDING, ANY_OPTIMIZER,
     "share of the rows kept back to be predicted; else, of recordings, 0.2 where there are 200 "
     "rows"},
    {"average", CLS_OPTION_FLAG, AT(average), 0, 0, 1, NULL, NULL, ANY_LOSS, ANY_OPTIMIZER,
     "rows of equal times are averaged, not refused"},
    {"ensemble", CLS_OPTION_SIZE, AT(ensemble), 0, 2, 10000, NULL, "N", CLS_OPTION_RECORDING,
     ANY_OPTIMIZER,
     "recordings: fit N times more, to blocks of the rows drawn anew (bootstrap); simulate --bands "
     "shows them"},
    {"hold", CLS_OPTION_WORD, AT(hold), 0, 0, 0, NULL, "KIND", CLS_OPTION_RECORDING, ANY_OPTIMIZER,
     "inputs between their samples: zero (the last value), linear, or each its own (u=zero, "
     "Tout=linear); else as the data look"},
    {"seed", CLS_OPTION_UINT64, AT(seed), 1, 0, 0x1p64, NULL, "S", ANY_LOSS, ANY_OPTIMIZER,
     "the seed of everything random; else 1"},
    {"validate", CLS_OPTION_REAL, AT(validate), 0.1, 0, 0.5, NULL, "F", ANY_LOSS, ANY_OPTIMIZER,
     "the fraction of trajectories kept to validate; else 0.1"},
    {"max-windows", CLS_OPTION_UINT64, AT(max_windows), 0, 1, 0x1p53, NULL, "N", ANY_LOSS,
     ANY_OPTIMIZER, "at most so many windows of the data, spread evenly; else chosen"},
    {"epochs", CLS_OPTION_UINT64, AT(max_iterations), 0, 1, 0x1p53, NULL, "N", ANY_LOSS,
     ANY_OPTIMIZER, /* a bound, which one solve respects */
     "at most so many iterations; else what is usual for the optimizer"},
    {"restarts", CLS_OPTION_SIZE, AT(restarts), 1, 1, 1e6, NULL, "N",
     ANY_LOSS & ~(unsigned)CLS_OPTION_RECORDING, ITERATIVE,
     "begin so often from new parameters and keep the best; else 1"},
    {"patience", CLS_OPTION_UINT64, AT(patience), 100, 1, 0x1p53, NULL, "N", ANY_LOSS, ITERATIVE,
     "stop after so many reports without better validation; else 100"},
    {"batch", CLS_OPTION_UINT64, AT(batch), 0, 1, 0x1p53, NULL, "N", ANY_LOSS,
     CLS_OPTION_ADAM | CLS_OPTION_SPRING,
     "adam, spring: rows in a batch, a window has one for each equation; else chosen"},
    {"rate", CLS_OPTION_REAL, AT(rate), 0, 0, INFINITY, NULL, "R", ANY_LOSS, CLS_OPTION_ADAM,
     "adam begins with this rate; else 0.01"},
    {"last-rate", CLS_OPTION_REAL, AT(last_rate), 0, 0, INFINITY, NULL, "R", ANY_LOSS,
     CLS_OPTION_ADAM, "adam ends with this rate; else a thousandth of the first"},
    {"constant-rate", CLS_OPTION_FLAG, AT(constant_rate), 0, 0, 1, NULL, NULL, ANY_LOSS,
     CLS_OPTION_ADAM, "adam: the rate does not fall"},
    {"decay", CLS_OPTION_REAL, AT(decay), 0, 0, INFINITY, NULL, "D", ANY_LOSS, CLS_OPTION_ADAM,
     "adam: weight decay; else none"},
    {"last", CLS_OPTION_FLAG, AT(last), 0, 0, 1, NULL, NULL, CLS_OPTION_RESIDUAL, CLS_OPTION_ADAM,
     "adam: keep the last parameters, not the best"},
    {"anchor-weight", CLS_OPTION_REAL, AT(anchor_weight), 0, 0, INFINITY, NULL, "W", ANY_LOSS,
     ITERATIVE,
     "networks: weight of the anchors' mean square error beside that of the residual; else so much "
     "that they hold to a thousandth"},
    {"checkpoint", CLS_OPTION_WORD, AT(checkpoint), 0, 0, 0, NULL, NULL, ANY_LOSS, ANY_OPTIMIZER,
     "file that keeps the state of the training"},
    {"checkpoint-every", CLS_OPTION_REAL, AT(checkpoint_every), 10, 0, INFINITY, NULL, "SECONDS",
     ANY_LOSS, ANY_OPTIMIZER, "time between two checkpoints; else 10"},
    {"resume", CLS_OPTION_FLAG, AT(resume), 0, 0, 1, NULL, NULL, ANY_LOSS, ANY_OPTIMIZER,
     "go on from the checkpoint (MODEL.checkpoint), bit for bit"},
    {"time-limit", CLS_OPTION_REAL, AT(time_limit), 0, 0, INFINITY, NULL, "SECONDS", ANY_LOSS,
     ANY_OPTIMIZER, "stop then with the best there is; else never"},
    {"threads", CLS_OPTION_INT, AT(threads), 0, 1, 4096, NULL, "N", ANY_LOSS, ANY_OPTIMIZER,
     "threads, the result does not depend on it; else all cores"},
};

const cls_option *cls_learn_option_table(size_t *n) {
    if (!n) return NULL;
    *n = sizeof table / sizeof *table;
    return table;
}

static const struct {
    const char *name;
    unsigned bit;
} losses[] = {{"residual", CLS_OPTION_RESIDUAL},
              {"shooting", CLS_OPTION_SHOOTING},
              {"derivative", CLS_OPTION_DERIVATIVE},
              {"multiple-shooting", CLS_OPTION_RECORDING}},
  optimizers[] = {{"linear", CLS_OPTION_LINEAR},
                  {"lm", CLS_OPTION_LM},
                  {"spring", CLS_OPTION_SPRING},
                  {"lbfgs", CLS_OPTION_LBFGS},
                  {"adam", CLS_OPTION_ADAM}};

/* "shooting", "lm, spring or adam" */
#define NAMES(list, mask, text)                                                                    \
    do {                                                                                           \
        size_t at = 0;                                                                             \
        for (size_t k = 0; k < sizeof(list) / sizeof *(list); k++)                                 \
            if ((mask) & (list)[k].bit)                                                            \
                at += (size_t)snprintf((text) + at, sizeof(text) - at, "%s%s", at ? ", " : "",     \
                                       (list)[k].name);                                            \
    } while (0)

cls_status clsi_options_mean(const clsi_learner *w, const char *optimizer, cls_error *error) {
    unsigned loss = 0, first = 0;
    const char *name = w->taken ? w->taken : w->o->loss ? w->o->loss : "residual";
    char text[96] = "";
    for (size_t k = 0; k < sizeof losses / sizeof *losses; k++)
        if (strcmp(losses[k].name, name) == 0) loss = losses[k].bit;
    for (size_t k = 0; k < sizeof optimizers / sizeof *optimizers; k++)
        if (strcmp(optimizers[k].name, optimizer) == 0) first = optimizers[k].bit;
    if (w->o->n_horizons && loss != CLS_OPTION_RECORDING)
        return clsi_fail(error, CLS_USAGE,
                         "--horizon means nothing for the loss %s (it is for multiple-shooting): "
                         "leave it out",
                         name);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const cls_option *row = &table[i];
        if (!clsi_option_given(row, w->o)) continue;
        if (row->offset == AT(max_iterations) && w->own_iterations) continue;
        /* the fits after that of the residual choose these two themselves; they do not restart */
        unsigned by = first;
        if (loss != CLS_OPTION_RESIDUAL && row->offset != AT(restarts))
            by |= CLS_OPTION_LM | CLS_OPTION_LBFGS;
        if (!(row->losses & loss)) {
            NAMES(losses, row->losses, text);
            return clsi_fail(error, CLS_USAGE,
                             "--%s means nothing for the loss %s (it is for %s): leave it out",
                             row->name, name, text);
        }
        if (!(row->optimizers & by)) {
            NAMES(optimizers, row->optimizers, text);
            return clsi_fail(error, CLS_USAGE,
                             "--%s means nothing here: the parameters are found by %s, and it is "
                             "for %s; leave it out, or name an optimizer",
                             row->name, optimizer, text);
        }
    }
    return CLS_OK;
}

/* What was asked that the other notes of a model do not say. Threads, checkpoints and the time limit
 * change nothing in what is learned; the parts have their fields beside them. */
json_t *clsi_options_asked(const cls_learn_options *o, const char *optimizer) {
    static const char *const elsewhere[] = {"field",      "optimizer", "seed",
                                            "checkpoint", "resume",    "checkpoint-every",
                                            "time-limit", "threads"};
    json_t *all = json_object();
    int iterative = strcmp(optimizer, "linear") != 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const cls_option *row = &table[i];
        double value = cls_option_value(row, o);
        int said = 0;
        for (size_t k = 0; k < sizeof elsewhere / sizeof *elsewhere; k++)
            said |= strcmp(row->name, elsewhere[k]) == 0;
        if (said || value == 0 || value < row->low) continue;
        if (!iterative && !(row->optimizers & CLS_OPTION_LINEAR)) continue;
        char key[32];
        snprintf(key, sizeof key, "%s", row->name);
        for (char *c = key; *c; c++)
            if (*c == '-') *c = '_';
        const char *word = row->type == CLS_OPTION_WORD
                               ? *(const char *const *)(const void *)((const char *)o + row->offset)
                               : NULL;
        clsi_json_put(&all, key,
                      word                           ? json_string(word)
                      : row->type == CLS_OPTION_REAL ? json_real(value)
                                                     : json_integer((json_int_t)value));
    }
    return all;
}
