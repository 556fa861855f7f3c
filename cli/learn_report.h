/* What `clausius learn` says about a fit of recordings. */
#ifndef CLI_LEARN_REPORT_H
#define CLI_LEARN_REPORT_H

#include "cli.h"

void cli_report_print(const cls_learn_report *r);
json_t *cli_report_json(const cls_learn_report *r);

#endif
