/* Options as tables: of each options struct what is a number, a flag or a word, with its default, its
 * range and its doc line. The flags of the program, its help and its completion, the keywords of the
 * Python functions and what a model records are made from them, so that an option is written once. */
#ifndef CLAUSIUS_OPTIONS_H
#define CLAUSIUS_OPTIONS_H

#include <clausius/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cls_option_type {
    CLS_OPTION_SIZE,   /* size_t */
    CLS_OPTION_UINT64, /* uint64_t */
    CLS_OPTION_INT,    /* int */
    CLS_OPTION_FLAG,   /* int, 0 or 1 */
    CLS_OPTION_CHOICE, /* int, the place of a word in `words`, counted from 0 */
    CLS_OPTION_REAL,   /* double */
    CLS_OPTION_WORD    /* const char *, NULL when not given */
} cls_option_type;

/* For which loss and optimiser an option of learning means something; 0 in other tables. */
enum {
    CLS_OPTION_RESIDUAL = 1,
    CLS_OPTION_SHOOTING = 2,
    CLS_OPTION_DERIVATIVE = 4,
    CLS_OPTION_RECORDING = 8 /* unknown parameters, by multiple shooting */
};
enum {
    CLS_OPTION_LINEAR = 1,
    CLS_OPTION_LM = 2,
    CLS_OPTION_SPRING = 4,
    CLS_OPTION_LBFGS = 8,
    CLS_OPTION_ADAM = 16
};

typedef struct cls_option {
    const char *name; /* as a flag: "last-rate" */
    cls_option_type type;
    size_t offset;             /* in the struct */
    double initial, low, high; /* numbers: default and range, ends included; 0: not given */
    const char *words;         /* the words it takes, "a, b"; NULL: any */
    const char *value; /* what a help calls its value; NULL: a flag, or not for the command line */
    unsigned losses, optimizers;
    const char *doc; /* one line, no full stop */
} cls_option;

/* Of cls_learn_options, cls_identify_options, cls_simulate_options, cls_audit_options. */
CLS_API const cls_option *cls_learn_option_table(size_t *n);
CLS_API const cls_option *cls_identify_option_table(size_t *n);
CLS_API const cls_option *cls_simulate_option_table(size_t *n);
CLS_API const cls_option *cls_audit_option_table(size_t *n);

/* The value in `options` as a number; of a word 1 when it is given. */
CLS_API double cls_option_value(const cls_option *row, const void *options);

#ifdef __cplusplus
}
#endif

#endif
