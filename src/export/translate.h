/* C to JavaScript, for the C that this room writes. */
#ifndef CLSI_TRANSLATE_H
#define CLSI_TRANSLATE_H

#include "base/base.h"

cls_status clsi_translate(const char *source, clsi_text *out, cls_error *error);

#endif
