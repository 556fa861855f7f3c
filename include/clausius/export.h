/* Export: a system or a learned model as plain C, as a JavaScript module, as an FMU.
 *
 * What leaves is the step of a scheme with everything it needs: formulas, learned parts, Newton's
 * method, monitors. It is the same text as the library compiles (newton.inc, step.inc, lawful.inc,
 * kernels.inc), so exported C computes the same bits. Schemes that choose their own steps (bdf,
 * adaptive ones) cannot be exported. Nothing is left behind when writing fails. */
#ifndef CLAUSIUS_EXPORT_H
#define CLAUSIUS_EXPORT_H

#include <clausius/model.h>
#include <clausius/status.h>
#include <clausius/system.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cls_export_options {
    size_t size;         /* sizeof(cls_export_options) */
    const char *scheme;  /* NULL: cls_scheme_default */
    double h;            /* the default step; 0: the system's */
    const char *prefix;  /* of all names in C; NULL: made from the system's name */
    const char *source;  /* what the user called it: a built-in name or a path; NULL: the name */
    int fmi;             /* version of FMI: 2 or 3; 0: 2 */
    const double *start; /* (state_count) the default start; NULL: the system's own */
    const char *version; /* written into headers and cards; NULL: cls_version() */
    /* parameters that can be set at run time: "k, m", "none"; NULL: all that may change */
    const char *parameters;
    /* fmu: binaries beside that of this machine, "x86_64-windows, aarch64-linux", or "all" that a
     * compiler is found for; NULL: none */
    const char *platforms;
    /* weights of networks in single precision: half the table, another motion, the same laws */
    int single;
    const char *set; /* what --set gave, for the notes of rows and cards; NULL: nothing */
    /* a step that fails is made in halves up to this often in turn, 0 to 60; -1: as in
     * cls_simulate_defaults */
    int max_halvings;
} cls_export_options;

CLS_API cls_export_options cls_export_defaults(void);

/* The targets: "c" (a directory), "js" (a file .mjs), "fmu" (a file .fmu). */
CLS_API size_t cls_export_target_count(void);
CLS_API const char *cls_export_target_name(size_t i);
CLS_API const char *cls_export_target_doc(size_t i); /* one line */

/* What was written. */
typedef struct cls_export_info {
    char prefix[64];
    const char *scheme; /* borrowed from the table of schemes */
    size_t files, bytes;
    int binaries;        /* fmu: platforms that it has a binary for */
    double single_error; /* of weights in single precision: the header says it */
} cls_export_info;

/* `model` is NULL for a system; its system is s otherwise. */
CLS_API cls_status cls_export(const char *target, const cls_system *s, const cls_model *model,
                              const cls_export_options *options, const char *path,
                              cls_export_info *info, cls_error *error);

/* Is it a directory or a file .fmu? */
CLS_API int cls_export_is_path(const char *path);
/* What an export is, from its own model card, for a person; free with cls_text_free. */
CLS_API cls_status cls_export_show(const char *path, char **text, cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
