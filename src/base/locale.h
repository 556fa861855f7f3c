/* Numbers in sentences and formulas, with a point wherever the process is. */
#ifndef CLSI_LOCALE_H
#define CLSI_LOCALE_H

#include <clausius/status.h>
#include <stdarg.h>
#include <stddef.h>

/* strtod and snprintf as they are under the "C" locale. */
double clsi_strtod(const char *s, char **end);
int clsi_snprintf(char *out, size_t size, const char *format, ...) CLS_PRINTF(3, 4);
int clsi_vsnprintf(char *out, size_t size, const char *format, va_list args);

#endif
