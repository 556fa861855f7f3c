/* clausius schemes: the discretisations, with their order and what each keeps exactly. */
#include "cli.h"

static cls_status print_json(cls_error *error) {
    json_t *list = json_array();
    for (size_t i = 0; list && i < cls_scheme_count(); i++) {
        const cls_scheme_info *s = cls_scheme_at(i);
        json_array_append_new(list, json_pack("{s:s, s:i, s:b, s:s, s:s, s:s}", "name", s->name,
                                              "order", s->order, "implicit", s->implicit, "keeps",
                                              s->keeps, "doc", s->doc, "source", s->source));
    }
    return cli_print_json(json_pack("{s:o}", "schemes", list), error);
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    cli_grid g;
    if (cli_given(a, "json")) return print_json(error);
    cli_grid_begin(&g, "lrlll");
    cli_grid_cell(&g, "scheme");
    cli_grid_cell(&g, "order");
    cli_grid_cell(&g, "kind");
    cli_grid_cell(&g, "keeps exactly");
    cli_grid_cell(&g, "what it is");
    for (size_t i = 0; i < cls_scheme_count(); i++) {
        const cls_scheme_info *s = cls_scheme_at(i);
        cli_grid_cell(&g, "%s", s->name);
        if (s->order > 0)
            cli_grid_cell(&g, "%d", s->order);
        else
            cli_grid_cell(&g, "-");
        cli_grid_cell(&g, "%s", s->implicit ? "implicit" : "explicit");
        cli_grid_cell(&g, "%s", s->keeps[0] ? s->keeps : "-");
        cli_grid_cell(&g, "%s", s->doc);
    }
    return cli_grid_end(&g, stdout, error);
}

static const cli_option options[] = {
    {"json", 0, NULL, "one JSON object: {\"schemes\": [{\"name\", \"order\", \"implicit\", ...}]}"},
    {0},
};

const cli_command cli_schemes = {
    .name = "schemes",
    .doc = "the schemes, with order and what each keeps exactly",
    .usage = "[--json]",
    .examples = "  clausius schemes\n"
                "  clausius simulate pendulum --scheme leapfrog -o pendulum.csv\n",
    .options = options,
    .run = run,
};
