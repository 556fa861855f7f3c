/* A system file drafted from the columns of a recording (clausius new --from). */
#ifndef CLAUSIUS_CLI_DRAFT_H
#define CLAUSIUS_CLI_DRAFT_H

#include "cli.h"

/* The text, the caller's to free; it loads as a system. */
cls_status cli_draft(const cli_arguments *a, const char *path, const char *name, char **out,
                     cls_error *error);
/* The command that learns it, with the options that the file was read with. */
void cli_draft_next(const cli_arguments *a, const char *path, const char *name, FILE *f);

#endif
