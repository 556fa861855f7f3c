/* Units of measurement (unit.c). */
#ifndef CLSI_UNIT_H
#define CLSI_UNIT_H

#include "base/base.h"

enum { CLSI_DIMENSIONS = 7 }; /* kg m s A K mol cd */

typedef struct clsi_unit_meaning {
    double factor, offset; /* SI value = factor x + offset */
    int power[CLSI_DIMENSIONS];
    int factors;
} clsi_unit_meaning;
/* 1 when the text is a unit that we know. */
int clsi_unit_read(const char *text, clsi_unit_meaning *out);

/* x factor / divisor + offset. */
typedef struct clsi_conversion {
    double factor, divisor, offset;
} clsi_conversion;
/* From one unit to another; `to` NULL: to coherent SI. CLS_DATA with a sentence (without place) when
 * a unit is not known or the dimensions differ; equal texts always convert. */
cls_status clsi_unit_convert(const char *from, const char *to, clsi_conversion *out,
                             cls_error *error);
int clsi_conversion_is_none(const clsi_conversion *c);
/* The name of what a unit becomes without a wish: mm is m, degC is K. Unknown ones stay. */
const char *clsi_unit_coherent(const char *from, char out[96]);

#endif
