/* The figures of the papers, drawn from our runs.
 *
 * A figure has the axes of the paper's; what the paper's curves do is said in words beside it, for
 * its pictures are not ours to copy. */
#include "cli/reproduce/reproduce.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- drawing ---- */

cls_status cli_draw_figure(cli_findings *f, const cli_figure *figure, size_t n,
                           const cls_table *const *tables, const char *const *labels,
                           cls_error *error) {
    char path[1024];
    cls_plot_options o = cls_plot_defaults();
    if (!f->folder) return CLS_OK;
    if (f->n_figures == cli_most_figures) abort(); /* our mistake, not the user's */
    while (figure->columns[o.n_columns]) o.n_columns++;
    o.columns = figure->columns;
    o.title = figure->title;
    snprintf(path, sizeof path, "%.900s/%s.svg", f->folder, figure->name);
    cls_status status = cls_plot(n, tables, labels, &o, path, error);
    if (!status) f->figures[f->n_figures++] = *figure;
    return status;
}

void cli_keep_curve(cli_findings *f, const char *label, cls_table **t) {
    if (f->folder && label && f->n_curves < cli_most_curves) {
        char *text = f->label_texts[f->n_curves];
        snprintf(text, sizeof f->label_texts[0], "%s",
                 label); /* the caller's may be gone when it is drawn */
        f->labels[f->n_curves] = text;
        f->curves[f->n_curves++] = *t;
        *t = NULL;
    }
    cls_table_free(t);
}

void cli_forget_curves(cli_findings *f) {
    while (f->n_curves) cls_table_free(&f->curves[--f->n_curves]);
}

cls_status cli_draw_curves(cli_findings *f, const cli_figure *figure, cls_error *error) {
    return cli_draw_figure(f, figure, f->n_curves, (const cls_table *const *)f->curves, f->labels,
                           error);
}

static cls_status errors_of(const cls_table *t, const cls_table *truth, size_t n,
                            const char *const *columns, cls_table **out, cls_error *error) {
    static const char *const names[] = {"time", "energy - E0", "mean |error|"};
    const double *time = cli_series(t, "time"), *E = cli_series(t, "energy");
    cls_status status = cls_table_create(3, names, out, error);
    for (size_t k = 0; !status && k < cls_table_rows(t); k++) {
        double row[3] = {time[k], E[k] - E[0], 0};
        for (size_t c = 0; c < n; c++)
            row[2] +=
                fabs(cli_series(t, columns[c])[k] - cli_series(truth, columns[c])[k]) / (double)n;
        status = cls_table_append(*out, row, error);
    }
    return status;
}

cls_status cli_draw_errors(cli_findings *f, const cli_figure *figure, size_t n,
                           const char *const *columns, cls_error *error) {
    cls_table *tables[cli_most_curves] = {0};
    cls_status status = CLS_OK;
    for (size_t i = 0; !status && i < f->n_curves; i++)
        status = errors_of(f->curves[i], f->curves[0], n, columns, &tables[i], error);
    if (!status)
        status = cli_draw_figure(f, figure, f->n_curves, (const cls_table *const *)tables,
                                 f->labels, error);
    for (size_t i = 0; i < f->n_curves; i++) cls_table_free(&tables[i]);
    return status;
}

/* ---- the folder ---- */

/* Those that it is in as well; only a failure of the last one is reported. */
static int make_all(const char *path) {
    char part[4096];
    for (const char *end = *path ? strchr(path + 1, '/') : NULL; end; end = strchr(end + 1, '/')) {
        size_t n = (size_t)(end - path);
        if (n >= sizeof part) return -1;
        memcpy(part, path, n);
        part[n] = 0;
        (void)mkdir(part, 0777);
    }
    return mkdir(path, 0777);
}

cls_status cli_make_folder(const char *path, cls_error *error) {
    struct stat facts;
    if (make_all(path) && errno != EEXIST)
        return cli_fail(error, CLS_IO, "-o %s: cannot make this directory: %s", path,
                        strerror(errno));
    if (stat(path, &facts) || !S_ISDIR(facts.st_mode))
        return cli_fail(error, CLS_IO, "-o %s is not a directory: name one, or a new name", path);
    if (access(path, W_OK | X_OK))
        return cli_fail(error, CLS_IO, "-o %s: cannot write there: %s", path, strerror(errno));
    return CLS_OK;
}
