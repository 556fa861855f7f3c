/* Columns of measured data: given other names, and those told that a system does not know. */
#ifndef CLAUSIUS_CLI_TABLE_H
#define CLAUSIUS_CLI_TABLE_H

#include "cli.h"

/* "x=position [mm], time=t": the system's name, then the column's, then a unit for the reader. */
typedef struct cli_renaming {
    size_t n;
    char **items;         /* owns the texts */
    char **names, **olds; /* (n) */
    int units;            /* how many have one */
} cli_renaming;
/* text NULL gives an empty list. */
cls_status cli_renaming_parse(const char *what, const char *text, cli_renaming *out,
                              cls_error *error);
void cli_renaming_free(cli_renaming *r);
/* Replaces the table by one with the new names. A column that has the name of a renamed one without
 * being it is left out. `path` is for the message when a column is missing. */
cls_status cli_rename(const cli_renaming *r, const char *path, cls_table **table, cls_error *error);
/* A notice with the columns that the system does not know. */
void cli_tell_ignored(const cls_system *s, const char *path, const cls_table *t);

#endif
