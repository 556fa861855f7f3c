/* What learn.c and learn_qp.c share: `--optimizer qp`. */
#ifndef CLAUSIUS_CLI_LEARN_QP_H
#define CLAUSIUS_CLI_LEARN_QP_H

#include "cli.h"
#include <clausius/identify.h>

typedef struct cli_qp {
    cls_identified *id; /* NULL: another optimizer was used */
    cls_identify_info info;
} cli_qp;

/* The flags of qp, refused with another optimizer; strings are borrowed from the arguments. */
cls_status cli_qp_options(const cli_arguments *a, cls_identify_options *out, cls_error *error);
/* Identifies; the model is NULL for --literal. */
cls_status cli_qp_learn(const cli_arguments *a, const cls_learn_options *o, const cli_motion *m,
                        size_t n_tables, cls_table *const *tables, cli_qp *q, cls_model **model,
                        cls_learn_info *info, cls_error *error);
void cli_qp_print(const cli_qp *q, int with_formulas); /* on stderr */
json_t *cli_qp_json(const cli_qp *q);
void cli_qp_free(cli_qp *q);

#endif
