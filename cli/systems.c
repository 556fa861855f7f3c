/* clausius systems: the built-in systems, one line each. */
#include "cli.h"

static cls_status print_json(cls_error *error) {
    json_t *list = json_array();
    for (size_t i = 0; list && cls_builtin_name(i); i++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "name", cls_builtin_name(i), "title",
                                              cls_builtin_title(i)));
    return cli_print_json(json_pack("{s:o}", "systems", list), error);
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    cli_grid g;
    if (cli_given(a, "json")) return print_json(error);
    cli_grid_begin(&g, "ll");
    for (size_t i = 0; cls_builtin_name(i); i++) {
        cli_grid_cell(&g, "%s", cls_builtin_name(i));
        cli_grid_cell(&g, "%s", cls_builtin_title(i));
    }
    return cli_grid_end(&g, stdout, error);
}

static const cli_option options[] = {
    {"json", 0, NULL, "one JSON object: {\"systems\": [{\"name\", \"title\"}]}"},
    {0},
};

const cli_command cli_systems = {
    .name = "systems",
    .doc = "the built-in systems, one line each",
    .usage = "[--json]",
    .examples = "  clausius systems\n"
                "  clausius show pendulum --source > my-pendulum.clausius\n",
    .options = options,
    .run = run,
};
