/* Reports: one self-contained HTML page about systems, learned models and trajectories.
 *
 * No network, readable without JavaScript; the same inputs give the same bytes. Names and texts
 * from files are hostile input: they are escaped. */
#ifndef CLAUSIUS_REPORT_H
#define CLAUSIUS_REPORT_H

#include <clausius/model.h>
#include <clausius/status.h>
#include <clausius/system.h>
#include <clausius/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the page is about: a system (known formulas), a model, or a trajectory of a system. */
typedef struct cls_report_subject {
    const char *name;            /* what the user calls it */
    const cls_system *system;    /* of the model, where there is one; NULL: a bare trajectory */
    const cls_model *model;      /* or NULL */
    const cls_table *trajectory; /* NULL: the default motion is simulated */
    const double *start;         /* of that motion (state_count); NULL: the system's own */
} cls_report_subject;

typedef struct cls_report_options {
    size_t size;         /* sizeof(cls_report_options) */
    const char *title;   /* NULL: made from the subjects */
    const char *command; /* how the model, or the page, was made; NULL: left out */
    int script;          /* 1: the first subject can be tried in the page, if it can be exported */
    double seconds;      /* that learning took; 0: left out */
} cls_report_options;
CLS_API cls_report_options cls_report_defaults(void);

/* n >= 1 subjects side by side; each is simulated from the first row of every trajectory of the
 * data, at the data's own times, and compared with it. */
CLS_API cls_status cls_report_html(size_t n, const cls_report_subject *subjects, size_t n_data,
                                   const cls_table *const *data, const char *const *names,
                                   const cls_report_options *options, char **html,
                                   cls_error *error); /* free with cls_text_free */
/* The numbers of the page as one JSON object. */
CLS_API cls_status cls_report_json(size_t n, const cls_report_subject *subjects, size_t n_data,
                                   const cls_table *const *data, const char *const *names,
                                   const cls_report_options *options, char **json,
                                   cls_error *error);
/* cls_report_html into a file that appears only when it is complete. */
CLS_API cls_status cls_report_write(size_t n, const cls_report_subject *subjects, size_t n_data,
                                    const cls_table *const *data, const char *const *names,
                                    const cls_report_options *options, const char *path,
                                    cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
