/* clausius plot: pictures of trajectory files, SVG or PNG by the ending of the output. */
#include "cli.h"
#include "table.h"
#include <stdlib.h>
#include <string.h>

enum { max_files = 64 };

static const char *label_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static cls_status read_options(const cli_arguments *a, cls_plot_options *o, char ***columns,
                               cls_error *error) {
    uint64_t width = 0, height = 0;
    *o = cls_plot_defaults();
    o->title = cli_value(a, "title");
    cls_status status = cli_integer(a, "width", 1, &width, error);
    if (!status) status = cli_integer(a, "height", 1, &height, error);
    if (!status && (width > 20000 || height > 20000))
        status = cli_fail(error, CLS_USAGE, "--width and --height are at most 20000 pixels");
    if (!status && cli_given(a, "columns"))
        status = cli_words("--columns", cli_value(a, "columns"), &o->n_columns, columns, error);
    o->width = (int)width;
    o->height = (int)height;
    o->columns = (const char *const *)*columns;
    return status;
}

/* A model beside a recording knows which rows it was not learned from. */
static void mark_test(const cli_arguments *a, cls_plot_options *o) {
    for (size_t i = 0; i < a->n_words && a->n_words > 1 && !o->has_test; i++) {
        cls_model *m = NULL;
        if (!cls_model_is_path(a->words[i]) || cls_model_read(a->words[i], &m, NULL)) continue;
        o->test_from = cls_model_test_from(m);
        o->has_test = o->test_from == o->test_from;
        cls_model_free(&m);
    }
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    cls_table *tables[max_files] = {0};
    const char *labels[max_files] = {0};
    const char *out = cli_value(a, "output");
    cls_plot_options options;
    char **columns = NULL;
    if (!out)
        return cli_fail(error, CLS_USAGE, "say where the picture goes: -o OUT.svg or OUT.png");
    cls_status status = read_options(a, &options, &columns, error);
    if (!status) status = cli_trajectories(a, a->n_words, a->words, tables, error);
    for (size_t i = 0; i < a->n_words; i++) labels[i] = label_of(a->words[i]);
    if (!status) mark_test(a, &options);
    if (!status)
        status =
            cls_plot(a->n_words, (const cls_table *const *)tables, labels, &options, out, error);
    for (size_t i = 0; i < a->n_words; i++) cls_table_free(&tables[i]);
    free(columns);
    return status;
}

static const cli_option option_table[] = {
    {"output", 'o', "FILE", "the picture, .svg or .png"},
    {"columns", 0, "LIST",
     "panels: a column against time, x:v.x for a phase portrait, u[*] for an array, log(x) for "
     "powers of ten"},
    CLI_DATA_OPTIONS("names"),
    {"title", 0, "TEXT", "a title above the panels"},
    {"width", 0, "PIXELS", "width; else chosen from the number of panels"},
    {"height", 0, "PIXELS", "height; else chosen from the number of panels"},
    {0},
};

const cli_command cli_plot = {
    .name = "plot",
    .doc = "pictures of trajectories, phase portraits, energy and entropy",
    .usage = "TRAJECTORY|MODEL... -o OUT.svg|OUT.png [options]",
    .examples = "  clausius plot run.csv -o run.svg\n"
                "  clausius plot run.csv reference.csv -o both.png --columns \"x, x:v.x\"\n"
                "  clausius plot measured.csv learned.safetensors -o model.svg\n",
    .notes =
        "Several files are drawn over each other; a MODEL among them is simulated from the first\n"
        "row of the first file. Arrays of eight and more are pictures, one for each file.\n"
        "Without --columns: the state, a phase portrait, the energy error and the entropy.\n",
    .options = option_table,
    .min_words = 1,
    .max_words = max_files,
    .run = run,
};
