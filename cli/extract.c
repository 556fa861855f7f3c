/* clausius extract: a learned component out of its model, into a file of its own that another
 * system can `use`. */
#include "cli.h"

static cls_status run(const cli_arguments *a, cls_error *error) {
    const char *component = cli_value(a, "component"), *out = cli_value(a, "output");
    cls_model *m = NULL;
    if (!component) return cli_fail(error, CLS_USAGE, "say which component: --component damper");
    if (!out || !cls_model_is_path(out))
        return cli_fail(error, CLS_USAGE, "say where it goes: -o FILE.safetensors");
    cls_status status = cls_model_read(a->words[0], &m, error);
    if (!status) status = cls_model_extract(m, component, out, error);
    if (!status && !cli_given(a, "quiet"))
        fprintf(stderr, "%s of %s written to %s\nin a system file:\n  use \"%s\" as %s\n",
                component, a->words[0], out, out, component);
    cls_model_free(&m);
    return status;
}

static const cli_option options[] = {
    {"component", 0, "NAME", "the component, a storage or a resistive one that was learned"},
    {"output", 'o', "FILE", "the component's own file, .safetensors"},
    {"quiet", 0, NULL, "nothing on stderr"},
    {0},
};

const cli_command cli_extract = {
    .name = "extract",
    .doc = "a learned component, to be used in other systems",
    .usage = "MODEL --component NAME -o FILE",
    .examples = "  clausius extract learned.safetensors --component damper -o damper.safetensors\n",
    .notes =
        "In the other system's file: use \"damper.safetensors\" as damper. Its ports are "
        "connected\n"
        "like those of any component; ports and units must fit. simulate tells when the motion\n"
        "leaves the range that the component was learned in.\n",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
