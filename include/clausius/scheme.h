/* The schemes: what there is, of which order, and what each keeps exactly. */
#ifndef CLAUSIUS_SCHEME_H
#define CLAUSIUS_SCHEME_H

#include <clausius/status.h>
#include <clausius/system.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cls_scheme_info {
    const char *name;
    const char *doc;    /* one line */
    int order;          /* for a system with friction and entropy */
    int implicit;       /* solves equations in each step */
    const char *keeps;  /* what is kept exactly, "" for nothing */
    const char *source; /* paper and equation */
} cls_scheme_info;

CLS_API size_t cls_scheme_count(void);
CLS_API const cls_scheme_info *cls_scheme_at(size_t i);
CLS_API const cls_scheme_info *cls_scheme_find(const char *name); /* NULL when there is none */
/* 1 when it chooses its own steps between outputs: the error follows a tolerance then, not h. */
CLS_API int cls_scheme_is_adaptive(const char *name);
/* CLS_OK when the scheme makes sense for the system, else CLS_USAGE and why. */
CLS_API cls_status cls_scheme_applies(const char *name, const cls_system *s, cls_error *error);
/* "discrete-gradient" where it applies. */
CLS_API const char *cls_scheme_default(const cls_system *s);

#ifdef __cplusplus
}
#endif
#endif
