#include "base/options.h"
#include "base/base.h"
#include <stdint.h>
#include <math.h>

double cls_option_value(const cls_option *row, const void *options) {
    if (!row || !options) return NAN;
    const void *at = (const char *)options + row->offset;
    switch (row->type) {
    case CLS_OPTION_SIZE: return (double)*(const size_t *)at;
    case CLS_OPTION_UINT64: return (double)*(const uint64_t *)at;
    case CLS_OPTION_INT:
    case CLS_OPTION_FLAG:
    case CLS_OPTION_CHOICE: return *(const int *)at;
    case CLS_OPTION_REAL: return *(const double *)at;
    case CLS_OPTION_WORD: return *(const char *const *)at != NULL;
    }
    return 0;
}

int clsi_option_given(const cls_option *row, const void *options) {
    double value = cls_option_value(row, options);
    return value != row->initial && value != 0;
}

cls_status clsi_options_in_range(size_t n, const cls_option *table, const void *options,
                                 cls_error *error) {
    for (size_t i = 0; i < n; i++) {
        double value = cls_option_value(&table[i], options);
        if (table[i].type == CLS_OPTION_WORD || !clsi_option_given(&table[i], options)) continue;
        if (!(value >= table[i].low && value <= table[i].high))
            return clsi_fail(error, CLS_USAGE, "%s is a number from %g to %g, not %g",
                             table[i].name, table[i].low, table[i].high, value);
    }
    return CLS_OK;
}
