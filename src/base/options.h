/* Rows of tables of options (clausius/options.h): values and ranges, whatever the struct. */
#ifndef CLSI_BASE_OPTIONS_H
#define CLSI_BASE_OPTIONS_H

#include <clausius/options.h>

/* Other than the default, and other than 0, which is never a wish that could fail to be met. */
int clsi_option_given(const cls_option *row, const void *options);
/* CLS_USAGE and a sentence where a number that was given is out of its range. */
cls_status clsi_options_in_range(size_t n, const cls_option *table, const void *options,
                                 cls_error *error);

#endif
