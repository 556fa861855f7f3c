/* Data files as the commands read them: --map, --columns (--names where --columns chooses), --dt,
 * --array, --missing; and the columns told that a system does not know. */
#ifndef CLAUSIUS_CLI_TABLE_H
#define CLAUSIUS_CLI_TABLE_H

#include "cli.h"

/* The options of every command that reads data; NAMES is "columns" or "names". */
#define CLI_DATA_OPTIONS(NAMES)                                                                    \
    {"map", 0, "LIST", "which column is which, with units: \"x=position [mm], time=t [ms]\""},     \
        {NAMES, 0, "NAMES", "names for the columns of a file without header, \"time, x, v.x\""},   \
        {"dt", 0, "X", "the spacing of rows, for a file without a time column"},                   \
        {"array", 0, "NAME", "which array or group of an .npz, .h5 or .mat file"}, {               \
        "missing", 0, "WHAT",                                                                      \
            "rows with empty or nan cells: refuse (the file), drop (the row), keep"                \
    }

/* Reads a file as the command's options say. Columns get the names and units of the system (NULL:
 * none); what was done is reported as notices, unless --json or --quiet is given. `a` may be NULL. */
cls_status cli_read_table(const cli_arguments *a, const char *path, const cls_system *s,
                          cls_table **out, cls_error *error);
cls_status cli_write_table(const cls_table *t, const char *path,
                           cls_error *error); /* a signal ends it */
/* Times count from `begins`, the date of the first file that had one; "": this may be the first. */
cls_status cli_align(cls_table *t, char begins[48], cls_error *error);
/* The options alone, for the library. */
cls_status cli_read_options(const cli_arguments *a, const cls_system *s, cls_read_options *out,
                            cls_error *error);
/* A notice with the columns that the system does not know. */
void cli_tell_ignored(const cls_system *s, const char *path, const cls_table *t);

#endif
