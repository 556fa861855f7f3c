/* C to JavaScript, for the C that this room writes. */
#ifndef CLSI_TRANSLATE_H
#define CLSI_TRANSLATE_H

#include "base/base.h"

cls_status clsi_translate(const char *source, clsi_text *out, cls_error *error);

/* shrink.c: what clsi_translate wrote, made small; functions that neither `roots` nor its own
 * declarations reach are left out. */
cls_status clsi_shrink(const char *module, const char *roots, clsi_text *out, cls_error *error);

#endif
