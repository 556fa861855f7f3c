/* Pictures in a build without cairo (-DCLAUSIUS_CAIRO=OFF): refused, with the reason. */
#include "base/misuse.h"
#include "base/base.h"
#include <clausius/plot.h>

cls_plot_options cls_plot_defaults(void) {
    return (cls_plot_options){.size = sizeof(cls_plot_options)};
}

static cls_status refuse(const char *path, cls_error *error) {
    return clsi_fail(error, CLS_USAGE,
                     "%s: this build draws no pictures, it was made without cairo; the program "
                     "`clausius plot` does, and so does matplotlib",
                     path);
}

cls_status cls_plot(size_t n, const cls_table *const *tables, const char *const *labels,
                    const cls_plot_options *options, const char *path, cls_error *error) {
    NEED(error, path);
    (void)n, (void)tables, (void)labels, (void)options;
    return refuse(path, error);
}

cls_status cls_bond_graph(const cls_system *s, const char *path, cls_error *error) {
    NEED(error, path);
    NEED(error, s);
    (void)s;
    return refuse(path, error);
}
