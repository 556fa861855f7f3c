/* The options of learning as one table: name, type, default, range, doc line, and for which loss and
 * which optimiser each means something. Programs and other languages make their flags and keywords
 * from it (cls_learn_option_table); what means nothing for a fit is refused before it runs, because
 * somebody who gives an option expects it to matter. */
#include "base/base.h"
#include "learn/lesson.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

#define AT(field)     offsetof(cls_learn_options, field)
#define ITERATIVE     (CLS_OPTION_LM | CLS_OPTION_SPRING | CLS_OPTION_LBFGS | CLS_OPTION_ADAM)
#define ANY_OPTIMIZER (CLS_OPTION_LINEAR | ITERATIVE)
#define ANY_LOSS                                                                                   \
    (CLS_OPTION_RESIDUAL | CLS_OPTION_SHOOTING | CLS_OPTION_DERIVATIVE | CLS_OPTION_MULTIPLE)

static const cls_option table[] = {
    {"field", CLS_OPTION_WORD, AT(field), 0, 0, 0, NULL, ANY_LOSS, ANY_OPTIMIZER,
     "chebyshev(DEGREE), monomial(DEGREE), network(WIDTH, ...); else chosen"},
    {"loss", CLS_OPTION_WORD, AT(loss), 0, 0, 0,
     "residual, shooting, derivative, multiple-shooting", ANY_LOSS, ANY_OPTIMIZER,
     "what is made small; else residual, or by noise multiple-shooting"},
    {"scheme", CLS_OPTION_WORD, AT(scheme), 0, 0, 0, NULL, ANY_LOSS, ANY_OPTIMIZER,
     "whose step is the residual, or that simulates; else quadrature"},
    {"window", CLS_OPTION_SIZE, AT(window), 0, 1, 1e9, NULL, ANY_LOSS, ANY_OPTIMIZER,
     "intervals of the data in a window of the loss; else chosen"},
    {"substeps", CLS_OPTION_SIZE, AT(substeps), 0, 1, 1e6, NULL, CLS_OPTION_SHOOTING, ANY_OPTIMIZER,
     "scheme steps in an interval of the data; else 1"},
    {"adjoint", CLS_OPTION_WORD, AT(adjoint), 0, 0, 0, "discrete, continuous", CLS_OPTION_SHOOTING,
     ANY_OPTIMIZER, "derivatives of simulations; else discrete, which is exact"},
    {"optimizer", CLS_OPTION_WORD, AT(optimizer), 0, 0, 0,
     "auto, linear, lm, spring, lbfgs, adam, qp", ANY_LOSS, ANY_OPTIMIZER, "else chosen"},
    {"weights", CLS_OPTION_WORD, AT(weights), 0, 0, 0, "balanced, equal", ANY_LOSS, ANY_OPTIMIZER,
     "of the rows of the residual; else balanced"},
    {"seed", CLS_OPTION_UINT64, AT(seed), 1, 0, 0x1p64, NULL, ANY_LOSS, ANY_OPTIMIZER,
     "of the start parameters"},
    {"validate", CLS_OPTION_REAL, AT(validate), 0.1, 0, 0.5, NULL, ANY_LOSS, ANY_OPTIMIZER,
     "fraction of the trajectories kept for validation"},
    {"max-windows", CLS_OPTION_UINT64, AT(max_windows), 0, 1, 0x1p53, NULL, ANY_LOSS, ANY_OPTIMIZER,
     "at most so many windows of the data; else chosen"},
    {"epochs", CLS_OPTION_UINT64, AT(max_iterations), 0, 1, 0x1p53, NULL, ANY_LOSS, ANY_OPTIMIZER,
     "at most so many iterations; else what is usual for the optimizer"},
    {"time-limit", CLS_OPTION_REAL, AT(time_limit), 0, 0, INFINITY, NULL, ANY_LOSS, ANY_OPTIMIZER,
     "seconds"},
    {"rate", CLS_OPTION_REAL, AT(rate), 0, 0, INFINITY, NULL, ANY_LOSS, CLS_OPTION_ADAM,
     "at which adam begins; else 1e-2"},
    {"last-rate", CLS_OPTION_REAL, AT(last_rate), 0, 0, INFINITY, NULL, ANY_LOSS, CLS_OPTION_ADAM,
     "at which adam ends; else a thousandth of that"},
    {"constant-rate", CLS_OPTION_INT, AT(constant_rate), 0, 0, 1, NULL, ANY_LOSS, CLS_OPTION_ADAM,
     "the rate of adam stays"},
    {"last", CLS_OPTION_INT, AT(last), 0, 0, 1, NULL, CLS_OPTION_RESIDUAL, CLS_OPTION_ADAM,
     "the last parameters of adam are the result; else the best"},
    {"decay", CLS_OPTION_REAL, AT(decay), 0, 0, INFINITY, NULL, ANY_LOSS, CLS_OPTION_ADAM,
     "weight decay of adam"},
    {"batch", CLS_OPTION_UINT64, AT(batch), 0, 1, 0x1p53, NULL, ANY_LOSS,
     CLS_OPTION_ADAM | CLS_OPTION_SPRING, "rows in a batch of adam or spring; else chosen"},
    {"restarts", CLS_OPTION_SIZE, AT(restarts), 1, 1, 1e6, NULL, ANY_LOSS, ITERATIVE,
     "starts of the residual's iterations from different seeds"},
    {"patience", CLS_OPTION_UINT64, AT(patience), 100, 1, 0x1p53, NULL, ANY_LOSS, ITERATIVE,
     "a restart ends after so many reports without better validation"},
    {"anchor-weight", CLS_OPTION_REAL, AT(anchor_weight), 0, 0, INFINITY, NULL, ANY_LOSS, ITERATIVE,
     "of the mean square of the anchors' errors; else they hold to a thousandth"},
    {"threads", CLS_OPTION_INT, AT(threads), 0, 1, 4096, NULL, ANY_LOSS, ANY_OPTIMIZER,
     "the result does not depend on it; else all cores"},
};

const cls_option *cls_learn_option_table(size_t *n) {
    *n = sizeof table / sizeof *table;
    return table;
}

static double value_of(const cls_option *row, const cls_learn_options *o) {
    const char *at = (const char *)o + row->offset;
    switch (row->type) {
    case CLS_OPTION_SIZE: return (double)*(const size_t *)(const void *)at;
    case CLS_OPTION_UINT64: return (double)*(const uint64_t *)(const void *)at;
    case CLS_OPTION_INT: return *(const int *)(const void *)at;
    case CLS_OPTION_REAL: return *(const double *)(const void *)at;
    case CLS_OPTION_WORD: return *(const char *const *)(const void *)at != NULL;
    }
    return 0;
}

/* 0 is never a wish that a fit could fail to meet. */
static int is_given(const cls_option *row, const cls_learn_options *o) {
    double value = value_of(row, o);
    return value != row->initial && value != 0;
}

cls_status clsi_options_in_range(const cls_learn_options *o, cls_error *error) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double value = value_of(&table[i], o);
        if (table[i].type == CLS_OPTION_WORD || !is_given(&table[i], o)) continue;
        if (!(value >= table[i].low && value <= table[i].high))
            return clsi_fail(error, CLS_USAGE, "%s is a number from %g to %g, not %g",
                             table[i].name, table[i].low, table[i].high, value);
    }
    return CLS_OK;
}

static const struct {
    const char *name;
    unsigned bit;
} losses[] = {{"residual", CLS_OPTION_RESIDUAL},
              {"shooting", CLS_OPTION_SHOOTING},
              {"derivative", CLS_OPTION_DERIVATIVE},
              {"multiple-shooting", CLS_OPTION_MULTIPLE}},
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

cls_status clsi_options_mean(const clsi_lesson *w, const char *optimizer, cls_error *error) {
    unsigned loss = 0, by = 0;
    const char *name = w->o->loss ? w->o->loss : "residual";
    char text[96] = "";
    for (size_t k = 0; k < sizeof losses / sizeof *losses; k++)
        if (strcmp(losses[k].name, name) == 0) loss = losses[k].bit;
    for (size_t k = 0; k < sizeof optimizers / sizeof *optimizers; k++)
        if (strcmp(optimizers[k].name, optimizer) == 0) by = optimizers[k].bit;
    /* the fits after that of the residual choose these two themselves */
    if (loss != CLS_OPTION_RESIDUAL) by |= CLS_OPTION_LM | CLS_OPTION_LBFGS;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const cls_option *row = &table[i];
        if (!is_given(row, w->o)) continue;
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
