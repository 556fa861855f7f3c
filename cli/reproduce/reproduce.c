/* clausius reproduce: a paper's table or figure, run again; the paper's number, ours and a verdict
 * for each cell.
 *
 * A cell is judged against the number that a correct implementation must find
 * (docs/physics/dtel.md: the tables re-derived), to half a unit of its last digit; the paper's
 * printed number stands beside it. So a misprint of the paper does not fail, and a wrong scheme of
 * ours does, even where it happens to be nearer to the paper. */
#include "cli/reproduce/reproduce.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* With the processor seconds that an item was measured to take, whole and --quick, to two digits: for
 * --within, the order of --all and the list. 0: not measured, long. */
static const struct {
    const cli_item *item;
    double whole, quick;
} items[] = {
    {&cli_dtel_table_2, 6.1, 0.8}, {&cli_dtel_table_3, 0.06, 0.06}, {&cli_dtel_table_4, 0.06, 0.06},
    {&cli_dtel_forced, 0.1, 0.1},  {&cli_dtel_noether, 0.08, 0.08}, {&cli_vnots_piston_a, 0, 11},
    {&cli_vnots_piston_b, 0, 5.1}, {&cli_vnots_piston_c, 0, 23},    {&cli_ephs_graphs, 0.07, 0.07},
    {&cli_ephs_6_4, 15, 14},       {&cli_ephs_6_5, 7.9, 7.9},       {&cli_ephs_7_3, 4.1, 4.1},
    {&cli_ephs_7_4, 3.9, 3.5},     {&cli_ephs_7_5, 9.4, 9.7},       {&cli_qp_pendulum, 0.9, 0.8},
    {&cli_dtlm_table_2, 18000, 0}, {&cli_dtlm_table_3, 18000, 0},   {&cli_vnots_body_a, 0, 7},
    {&cli_vnots_body_b, 0, 6},     {&cli_vnots_body_c, 0, 11},      {&cli_dtlm_noise, 0, 0},
    {&cli_gfinn_gas, 0, 4.4},      {&cli_dgnet_noise, 0, 0},        {&cli_dgnet_real, 0, 0.8},
    {&cli_dgnet_bodies, 0, 0},     {&cli_dgnet_kdv, 0, 2.2},        {&cli_dgnet_ch, 0, 2.7},
    {&cli_spnn_pendulum, 0, 4.3},
};
enum { n_items = sizeof items / sizeof *items };

/* ---- what items use ---- */

void cli_add_cell(cli_findings *f, cli_cell cell, const char *row, ...) {
    va_list arguments;
    va_start(arguments, row);
    vsnprintf(cell.row, sizeof cell.row, row, arguments);
    va_end(arguments);
    if (f->n == f->capacity) {
        size_t capacity = f->capacity ? 2 * f->capacity : 64;
        cli_cell *cells = realloc(f->cells, capacity * sizeof *cells);
        f->full |= !cells;
        if (!cells) return;
        f->cells = cells;
        f->capacity = capacity;
    }
    f->cells[f->n++] = cell;
}

cls_status cli_short_run(const cli_motion *m, const char *scheme, cls_first_step first, double h,
                         uint64_t steps, cls_table **out, cls_error *error) {
    cls_simulate_options options = cls_simulate_defaults();
    options.scheme = scheme;
    options.h = h;
    options.first_step = first;
    cls_status status = cli_motion_table(m, &options, steps, 1, out, error);
    if (status && status != CLS_INTERRUPTED) (void)cli_prefix(error, "%s", scheme);
    return status;
}

const double *cli_series(const cls_table *t, const char *name) {
    int k = cls_table_find(t, name);
    if (k < 0) abort(); /* our mistake, not the user's */
    return cls_table_column(t, (size_t)k);
}

double cli_worse(double most, double error) {
    return isnan(most) || fabs(error) <= most ? most : fabs(error);
}

double cli_max_distance(const cls_table *a, const cls_table *b, const char *column) {
    const double *x = cli_series(a, column), *y = cli_series(b, column);
    size_t rows = cls_table_rows(a) < cls_table_rows(b) ? cls_table_rows(a) : cls_table_rows(b);
    double most = 0;
    for (size_t k = 0; k < rows; k++) most = cli_worse(most, x[k] - y[k]);
    return most;
}

double cli_max_drift(const cls_table *a, const char *column, double origin, size_t first) {
    const double *x = cli_series(a, column);
    double most = 0;
    for (size_t k = first; k < cls_table_rows(a); k++) most = cli_worse(most, x[k] - origin);
    return most;
}

/* ---- judging ---- */

/* Half a unit of the last digit of a decimal text: 0.0005e-3 for "6.180e-3". */
static double half_unit(const char *text) {
    int decimals = 0, exponent = 0, after_point = 0;
    for (; *text && *text != 'e'; text++) {
        decimals += after_point;
        after_point |= *text == '.';
    }
    if (*text) exponent = atoi(text + 1);
    return 0.5 * pow(10, exponent - decimals);
}

/* A hair more than half a unit: the text itself is rounded to binary. */
static int agrees(double ours, const char *text, double tolerance) {
    double value = strtod(text, NULL);
    double room = tolerance > 0 ? tolerance * fabs(value) : half_unit(text) * (1 + 1e-9);
    return fabs(ours - value) <= room;
}

static int is_bound(const cli_cell *c) {
    return c->expected && (c->expected[0] == '<' || c->expected[0] == '>');
}

static double expected_value(const cli_cell *c) {
    return c->expected ? strtod(c->expected + (is_bound(c) ? 2 : 0), NULL) : NAN;
}

static int passes(const cli_cell *c) {
    if (!isfinite(c->ours)) return 0;
    if (!c->expected) return 1;
    if (c->expected[0] == '<') return c->ours <= expected_value(c);
    if (c->expected[0] == '>') return c->ours >= expected_value(c);
    return agrees(c->ours, c->expected, c->tolerance);
}

static int is_better(const cli_cell *c) {
    return c->beaten && c->ours < strtod(c->paper, NULL);
}

static const char *verdict(const cli_cell *c) {
    if (!passes(c)) return "OUT OF TOLERANCE";
    if (!c->paper) return c->expected ? "as expected" : "shown";
    if (agrees(c->ours, c->paper, 0)) return "as published";
    return is_better(c) ? "beaten" : "differs";
}

/* The verdict with its reason: what differs explains, unless ours is simply the better number. */
static void sentence(const cli_cell *c, char *out, size_t size) {
    const char *word = verdict(c), *why = !strcmp(word, "differs") ? c->differs : NULL;
    if (!passes(c) && c->expected)
        snprintf(out, size, "%s: expected %s", word, c->expected);
    else
        snprintf(out, size, "%s%s%s%s%s", word, why ? ": " : "", why ? why : "",
                 c->note ? "; " : "", c->note ? c->note : "");
}

static size_t failures(const cli_findings *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) n += !passes(&f->cells[i]);
    return n;
}

/* ---- printing ---- */

static json_t *cell_json(const cli_cell *c) {
    char text[512];
    const char *relation = !c->expected ? NULL : is_bound(c) ? c->expected : "=";
    size_t length = !relation ? 0 : is_bound(c) ? 2 : 1;
    sentence(c, text, sizeof text);
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:s, s:s}", "row", c->row, "column",
                     c->column, "paper", cli_json_real(c->paper ? strtod(c->paper, NULL) : NAN),
                     "ours", cli_json_real(c->ours), "expected", cli_json_real(expected_value(c)),
                     "relation", relation ? json_stringn(relation, length) : json_null(), "passed",
                     passes(c), "verdict", verdict(c), "note", text);
}

static json_t *as_json(const cli_item *item, const cli_findings *f) {
    json_t *cells = json_array();
    for (size_t i = 0; i < f->n; i++) json_array_append_new(cells, cell_json(&f->cells[i]));
    json_t *figures = json_array();
    for (size_t i = 0; i < f->n_figures; i++)
        json_array_append_new(figures,
                              json_pack("{s:o, s:s, s:s}", "file",
                                        json_sprintf("%s.svg", f->figures[i].name), "title",
                                        f->figures[i].title, "paper", f->figures[i].paper));
    return json_pack("{s:s, s:s, s:o, s:o, s:b}", "item", item->name, "doc", item->doc, "cells",
                     cells, "figures", figures, "passed", failures(f) == 0);
}

/* Ours in the notation of the expected number, with one digit more, so that its rounding shows. */
static void format_ours(const cli_cell *c, char out[32]) {
    const char *like = c->expected && !is_bound(c) ? c->expected : c->paper;
    const char *e = like ? strchr(like, 'e') : NULL;
    if (like && !e) {
        const char *point = strchr(like, '.');
        snprintf(out, 32, "%.*f", point ? (int)strlen(point) : 1, c->ours);
        return;
    }
    snprintf(out, 32, "%.*e", e && e > like + 2 ? (int)(e - like) - 1 : 2, c->ours);
    char *tail = strchr(out, 'e');
    if (!tail) return; /* nan, inf */
    int exponent = atoi(tail + 1);
    snprintf(tail, (size_t)(out + 32 - tail), "e%d", exponent);
}

static void print_cell(cli_grid *g, const cli_cell *c, int colour) {
    char ours[32], text[512];
    const char *paint = !colour ? "" : passes(c) ? CLI_GREEN : CLI_RED;
    format_ours(c, ours);
    sentence(c, text, sizeof text);
    cli_grid_cell(g, "%s", c->row);
    cli_grid_cell(g, "%s", c->column);
    cli_grid_cell(g, "%s", c->paper ? c->paper : "-");
    cli_grid_cell(g, "%s", c->expected ? c->expected : "-");
    cli_grid_cell(g, "%s", ours);
    cli_grid_cell(g, "%s%s%s", paint, text, colour ? CLI_PLAIN : "");
}

static cls_status print_table(const cli_item *item, const cli_findings *f, cls_error *error) {
    static const char *const heads[] = {"row", "column", "paper", "expected", "ours", "verdict"};
    size_t bad = failures(f), judged = 0;
    for (size_t i = 0; i < f->n; i++) judged += f->cells[i].expected != NULL;
    cli_grid g;
    printf("%s: %s\n\n%s\n", item->name, item->doc, item->text);
    cli_grid_begin(&g, "llrrrl");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) cli_grid_cell(&g, "%s", heads[i]);
    for (size_t i = 0; i < f->n; i++) print_cell(&g, &f->cells[i], cli_colour(stdout));
    cls_status status = cli_grid_end(&g, stdout, error);
    if (bad)
        printf("\n%zu of %zu cells are out of tolerance; %zu shown\n", bad, judged, f->n - judged);
    else
        printf("\n%zu cells judged, all within tolerance; %zu shown\n", judged, f->n - judged);
    for (size_t i = 0; i < f->n_figures; i++)
        printf("figure %s/%s.svg: %s. In the paper: %s\n", f->folder, f->figures[i].name,
               f->figures[i].title, f->figures[i].paper);
    if (f->folder && !f->n_figures) printf("%s draws no figure\n", item->name);
    return status;
}

/* ---- the command ---- */

static void format_seconds(double seconds, char out[32]) {
    if (!(seconds > 0))
        snprintf(out, 32, "long");
    else if (seconds < 100)
        snprintf(out, 32, "%.2g s", seconds);
    else if (seconds < 6000)
        snprintf(out, 32, "%.0f min", seconds / 60);
    else
        snprintf(out, 32, "%.2g h", seconds / 3600);
}

static cls_status list(int json, cls_error *error) {
    cli_grid g;
    char whole[32], quick[32];
    if (json) {
        json_t *array = json_array();
        for (size_t i = 0; i < n_items; i++)
            json_array_append_new(array,
                                  json_pack("{s:s, s:s, s:f, s:f}", "name", items[i].item->name,
                                            "doc", items[i].item->doc, "processor_seconds",
                                            items[i].whole, "quick_seconds", items[i].quick));
        return cli_print_json(json_pack("{s:o}", "items", array), error);
    }
    cli_grid_begin(&g, "llrr");
    cli_grid_cell(&g, "item");
    cli_grid_cell(&g, "what");
    cli_grid_cell(&g, "on a core");
    cli_grid_cell(&g, "--quick");
    for (size_t i = 0; i < n_items; i++) {
        format_seconds(items[i].whole, whole);
        format_seconds(items[i].quick, quick);
        cli_grid_cell(&g, "%s", items[i].item->name);
        cli_grid_cell(&g, "%s", items[i].item->doc);
        cli_grid_cell(&g, "%s", whole);
        cli_grid_cell(&g, "%s", quick);
    }
    return cli_grid_end(&g, stdout, error);
}

static cls_status find_item(const char *name, const cli_item **out, cls_error *error) {
    const char *names[n_items];
    for (size_t i = 0; i < n_items; i++) {
        names[i] = items[i].item->name;
        *out = items[i].item;
        if (!strcmp(name, names[i])) return CLS_OK;
    }
    return cli_unknown(error, CLS_USAGE, "item of reproduce", name, n_items, names);
}

/* One call of the command. */
typedef struct call {
    cli_findings *f;
    json_t *all; /* what was found, item by item */
    int everything, again, broken;
    double within;
    cls_status first; /* why the first item was not run */
} call;

/* The result of one item that ran. */
static cls_status take_result(call *c, double seconds, cls_error *error) {
    cli_findings *f = c->f;
    json_t *result = as_json(f->item, f);
    cls_status status = result ? cli_keep_item(f, result, seconds, error) : cli_no_memory(error);
    if (!status && json_array_append(c->all, result)) status = cli_no_memory(error);
    json_decref(result);
    if (!status && !f->quiet) status = print_table(f->item, f, error);
    if (!status && !f->quiet) printf("%s took %.1f s\n", f->item->name, seconds);
    c->broken |= failures(f) > 0;
    return status;
}

static cls_status run_item(call *c, const cli_item *item, cls_error *error) {
    double start = cli_seconds();
    c->f->item = item;
    cls_status status = item->run(c->f, error);
    if (!status && c->f->full) status = cli_no_memory(error);
    if (!status) status = take_result(c, cli_seconds() - start, error);
    cli_forget_curves(c->f);
    c->f->n = c->f->n_figures = 0;
    return status;
}

/* With --all what one item lacks (published data, say) does not end the others. */
static cls_status note_failure(call *c, const cli_item *item, cls_status status, cls_error *error) {
    if (status == CLS_INTERRUPTED || status == CLS_MEMORY) return status;
    fprintf(stderr, "%s: not run: %s\n", item->name, error->message);
    if (!c->first) c->first = status;
    json_t *entry = json_pack("{s:s, s:s, s:s, s:b}", "item", item->name, "doc", item->doc, "error",
                              error->message, "passed", 0);
    return json_array_append_new(c->all, entry) ? cli_no_memory(error) : CLS_OK;
}

/* Finished by an earlier call with the same options: not run again. */
static int take_kept(call *c, const cli_item *item) {
    json_t *kept = c->again ? NULL : cli_kept_item(c->f, item);
    int fits = kept && cli_kept_fits(c->f, item, kept) && !json_array_append(c->all, kept);
    int passed = json_is_true(json_object_get(kept, "passed"));
    if (fits) c->broken |= !passed;
    if (fits && !c->f->quiet)
        printf("%s: %s, %zu cells; kept in %s since %s (--again runs it again)\n", item->name,
               passed ? "holds" : "OUT OF TOLERANCE",
               json_array_size(json_object_get(kept, "cells")), c->f->folder,
               json_string_value(json_object_get(kept, "made")));
    json_decref(kept);
    return fits;
}

/* The page of what this call found and of what earlier ones left in the folder, in our order. */
static cls_status write_index(const call *c, cls_error *error) {
    json_t *shown = json_array();
    for (size_t i = 0; i < n_items; i++) {
        size_t k;
        json_t *own, *found = NULL;
        json_array_foreach(c->all, k,
                           own) if (!strcmp(json_string_value(json_object_get(own, "item")),
                                            items[i].item->name)) found = own;
        json_t *kept = found ? json_incref(found) : cli_kept_item(c->f, items[i].item);
        if (kept) json_array_append_new(shown, kept);
    }
    cls_status status = cli_write_index(c->f->folder, shown, error);
    json_decref(shown);
    return status;
}

static cls_status do_item(call *c, const cli_item *item, cls_error *error) {
    if (c->everything && c->f->folder && take_kept(c, item)) return CLS_OK;
    cls_status status = run_item(c, item, error);
    if (status && c->everything) status = note_failure(c, item, status, error);
    if (!status && c->f->folder) status = write_index(c, error);
    if (!status && !c->f->quiet && c->everything) putchar('\n');
    return status;
}

static double usual(const call *c, size_t i) {
    double seconds = c->f->quick ? items[i].quick : items[i].whole;
    return seconds > 0 ? seconds : INFINITY;
}

/* What is quick comes first, so that an interrupted run has most of it. */
static cls_status do_everything(call *c, cls_error *error) {
    size_t order[n_items];
    cls_status status = CLS_OK;
    for (size_t i = 0; i < n_items; i++) {
        size_t k = i;
        for (; k && usual(c, order[k - 1]) > usual(c, i); k--) order[k] = order[k - 1];
        order[k] = i;
    }
    for (size_t i = 0; !status && i < n_items; i++) {
        const cli_item *item = items[order[i]].item;
        if (isinf(c->within) || usual(c, order[i]) <= c->within)
            status = do_item(c, item, error);
        else if (!c->f->quiet && isfinite(usual(c, order[i])))
            printf("%s: left out, it takes about %.0f s of a core\n", item->name,
                   usual(c, order[i]));
        else if (!c->f->quiet)
            printf("%s: left out, it takes long\n", item->name);
    }
    if (!status && c->f->folder) status = write_index(c, error);
    if (status == CLS_INTERRUPTED && c->f->folder)
        (void)cli_fail(
            error, status,
            "interrupted; %s keeps what is finished, the same command goes on from there",
            c->f->folder);
    return status;
}

/* One object for one item, a list of them for several. */
static cls_status print_json(json_t *all, int broken, cls_error *error) {
    json_t *object = json_array_size(all) == 1
                         ? json_incref(json_array_get(all, 0))
                         : json_pack("{s:O, s:b}", "items", all, "passed", !broken);
    return cli_print_json(object, error);
}

static cls_status run_items(const cli_arguments *a, call *c, cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t i = 0; !status && i < a->n_words; i++) {
        const cli_item *item = NULL;
        status = find_item(a->words[i], &item, error);
        if (!status && i && !c->f->quiet) putchar('\n');
        if (!status) status = do_item(c, item, error);
    }
    if (!status && c->everything) status = do_everything(c, error);
    if (!status && c->f->quiet) status = print_json(c->all, c->broken || c->first, error);
    if (!status) status = c->first;
    return !status && c->broken ? CLS_CHECK : status;
}

/* An option of some items is for one of those that are named. */
static cls_status check_option(const cli_arguments *a, const char *option, const char *prefix,
                               cls_error *error) {
    if (!cli_given(a, option) || cli_given(a, "all")) return CLS_OK;
    for (size_t i = 0; i < a->n_words; i++)
        if (!strncmp(a->words[i], prefix, strlen(prefix))) return CLS_OK;
    return cli_fail(error, CLS_USAGE, "--%s is for the items %s..., and none of them is named",
                    option, prefix);
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    const cli_item *item = NULL;
    uint64_t trials = 0;
    cls_status status = CLS_OK;
    cli_findings f = {.quick = cli_given(a, "quick"),
                      .quiet = cli_given(a, "json"),
                      .folder = cli_value(a, "output"),
                      .only = cli_value(a, "only")};
    call c = {&f, NULL, cli_given(a, "all"), cli_given(a, "again"), 0, INFINITY, CLS_OK};
    if (c.everything && a->n_words)
        return cli_fail(error, CLS_USAGE, "--all runs every item: name none, or leave it out");
    if (!c.everything && (cli_given(a, "within") || c.again))
        return cli_fail(error, CLS_USAGE, "--%s is for --all", c.again ? "again" : "within");
    if (!a->n_words && !c.everything) return list(f.quiet, error);
    for (size_t i = 0; !status && i < a->n_words; i++)
        status = find_item(a->words[i], &item, error);
    if (!status) status = check_option(a, "literal", "vnots-", error);
    if (!status) status = check_option(a, "trials", "dtlm", error);
    if (!status) status = check_option(a, "only", "dtlm", error);
    if (!status) status = cli_integer(a, "literal", 1, &f.literal, error);
    if (!status) status = cli_integer(a, "trials", 1, &trials, error);
    if (!status) status = cli_real(a, "within", &c.within, error);
    if (!status && f.folder) status = cli_make_folder(f.folder, error);
    if (status) return status;
    f.wanted_trials = (size_t)trials;
    cli_catch_signals();
    c.all = json_array();
    status = run_items(a, &c, error);
    json_decref(c.all);
    free(f.trials);
    free(f.cells);
    return status;
}

static const cli_option options[] = {
    {"quick", 0, NULL,
     "less of what takes long (no h = 1e-4 in dtel-table-2, fewer data to learn)"},
    {"literal", 0, "STEPS",
     "vnots items: learn by the paper's own method as well, in so many steps (piston 50000 there, "
     "body 10000)"},
    {"trials", 0, "N", "dtlm tables: so many trials instead of the paper's 15"},
    {"only", 0, "SYSTEM", "dtlm tables: one system, mass-spring, pendulum or 2-body"},
    {"output", 'o', "DIR",
     "in this directory, made if it is not there: the paper's figures from our runs, index.html "
     "with every table and figure of the papers and the verdicts of this and earlier calls; what "
     "is "
     "finished, from which an interrupted run goes on (--all, dtlm tables, vnots --literal)"},
    {"all", 0, NULL,
     "every item, the quick ones first; one that cannot run (no published data) is said, and the "
     "rest go on; those that -o DIR has already are not run again"},
    {"within", 0, "SECONDS", "with --all: leave out items that take longer on one core"},
    {"again", 0, NULL, "with --all: run also what -o DIR has already"},
    {"json", 0, NULL,
     "one JSON object: {\"item\", \"cells\": [...], \"passed\"}; of several items {\"items\": "
     "[...]}"},
    {0},
};

const cli_command cli_reproduce = {
    .name = "reproduce",
    .doc = "a paper's table or figure: the paper's number, ours, a verdict per cell",
    .usage = "[ITEM...] [options]",
    .examples = "  clausius reproduce\n"
                "  clausius reproduce dtel-table-3\n"
                "  clausius reproduce dtel-table-2 --quick --json\n"
                "  clausius reproduce vnots-piston-c\n"
                "  clausius reproduce vnots-piston-b --literal 50000 -o literal\n"
                "  clausius reproduce dtlm-table-2 dtlm-table-3 -o trials\n"
                "  clausius reproduce --all --quick --within 60 -o papers\n",
    .notes =
        "Without ITEM it lists the items. Verdicts: `as published`, `beaten` (the same error,\n"
        "smaller), `differs` with the reason (a misprint, a loose reference), `as expected`\n"
        "for numbers that are not in the paper, and OUT OF TOLERANCE. A cell is in tolerance\n"
        "when it agrees with the expected number to half a unit of its last digit.\n"
        "Several items in one call share what they have in common: dtlm-table-2 and\n"
        "dtlm-table-3 come from the same trainings.\n"
        "Exit code 1 when a cell is out of tolerance.\n",
    .options = options,
    .min_words = 0,
    .max_words = n_items,
    .run = run,
};
