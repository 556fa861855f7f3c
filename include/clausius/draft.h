/* A system file drafted from the columns of a recording: for who has data and no system yet. */
#ifndef CLAUSIUS_DRAFT_H
#define CLAUSIUS_DRAFT_H

#include <clausius/status.h>
#include <clausius/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Columns become coordinates, temperatures, velocities and inputs by their units and names; `name` is the
 * title, `from` what the data are called, `next` (may be NULL) the command that its first lines say to run then.
 * The text loads as a system; the caller frees it (cls_text_free). CLS_DATA when there is nothing to make
 * a system of. */
CLS_API cls_status cls_draft(const cls_table *t, const char *name, const char *from,
                             const char *next, char **text, cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
