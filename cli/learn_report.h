/* What `clausius learn` says about a fit of recordings. */
#ifndef CLI_LEARN_REPORT_H
#define CLI_LEARN_REPORT_H

#include "cli.h"

/* The report, if there is one, and a verdict on a model whose runs stop. */
void cli_report_print(const cls_learn_info *i);
json_t *cli_report_json(const cls_learn_report *r);
/* Into the object of `learn --json`: verdict, free_runs, null_space, and of fits with a report loss_chosen, reason, noise, test and
 * found. */
void cli_report_keys(const cls_learn_info *i, json_t *o);

#endif
