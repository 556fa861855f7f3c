/* clausius learn --optimizer qp: its flags, its report.
 *
 * The report says of each program what the solver certifies (rank, condition, active set, residual
 * of the optimality conditions, duality gap), and in words what the data cannot tell. A literal
 * result keeps no law by form, so that its formulas are printed and no model is written. */
#include "learn_qp.h"
#include <math.h>
#include <string.h>

static const char *const rate_names[] = {"auto", "measured", "weak", "local"};

cls_status cli_qp_options(const cli_arguments *a, cls_identify_options *out, cls_error *error) {
    const char *optimizer = cli_value(a, "optimizer");
    size_t n;
    const cls_option *own = cls_identify_option_table(&n);
    *out = cls_identify_defaults();
    for (size_t i = 0; i < n; i++)
        if (cli_given(a, own[i].name) && (!optimizer || strcmp(optimizer, "qp")))
            return cli_fail(error, CLS_USAGE, "--%s belongs to --optimizer qp", own[i].name);
    return cli_table(a, cls_identify_option_table, out, error);
}

/* What the summary of learn has room for. */
static void summarise(const cli_qp *q, int literal, cls_learn_info *info) {
    const cls_identify_info *f = &q->info;
    *info = (cls_learn_info){.parameters = f->energy.terms + f->friction.terms,
                             .samples = f->equations,
                             .loss_initial = NAN,
                             .loss_final =
                                 f->energy.unknowns ? f->energy.residual : f->friction.residual,
                             .loss_validation = NAN,
                             .seconds = f->seconds,
                             .rank = f->energy.rank + f->friction.rank,
                             .nullity = f->energy.nullity + f->friction.nullity,
                             .condition = fmax(f->energy.condition, f->friction.condition),
                             .kkt = fmax(f->energy.kkt, f->friction.kkt),
                             .rollout = NAN};
    snprintf(info->optimizer, sizeof info->optimizer, literal ? "qp --literal" : "qp");
}

cls_status cli_qp_learn(const cli_arguments *a, const cls_learn_options *o, const cli_motion *m,
                        size_t n_tables, cls_table *const *tables, cli_qp *q, cls_model **model,
                        cls_learn_info *info, cls_error *error) {
    cls_identify_options options;
    cls_status status = cli_qp_options(a, &options, error);
    if (status) return status;
    options.n_unknown = o->n_unknown;
    options.unknown = o->unknown;
    status = cls_identify(m->system, &m->set.list, n_tables, (const cls_table *const *)tables,
                          a->words + 1, &options, &q->id, &q->info, error);
    if (status) return status;
    *model = cls_identified_take_model(q->id);
    summarise(q, options.literal, info);
    return CLS_OK;
}

/* ---- the report ---- */

static void print_program(const char *name, const cls_convex_info *c) {
    if (!c->unknowns) return;
    fprintf(stderr, "  %-11s %zu of %zu terms, rank %zu, condition %.3g, residual %.3g\n", name,
            c->terms, c->unknowns, c->rank, c->condition, c->residual);
    fprintf(stderr,
            "              %zu rows, %zu conditions, %zu of %zu inequalities active; KKT "
            "%.1e, gap %.1e\n",
            c->rows, c->conditions, c->active, c->inequalities, c->kkt, c->gap);
}

void cli_qp_print(const cli_qp *q, int with_formulas) {
    const cls_identify_info *f = &q->info;
    fprintf(stderr, "  rates       %s", rate_names[f->rates]);
    if (f->points > 1)
        fprintf(stderr, ", windows of %zu points, noise about %.2g of the spread", f->points,
                f->noise);
    if (f->gaps) fprintf(stderr, ", %zu gap%s", f->gaps, f->gaps == 1 ? "" : "s");
    fputs("\n", stderr);
    print_program("energy", &f->energy);
    print_program("friction", &f->friction);
    if (f->temperature_error > 0)
        fprintf(stderr, "  temperature off by at most %.3g where measured\n", f->temperature_error);
    cli_print_lines(stderr, "null space", 0, cls_identified_words(q->id));
    if (with_formulas) cli_print_lines(stderr, "found", 0, cls_identified_formulas(q->id));
}

static json_t *program_json(const cls_convex_info *c) {
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:f}", "rows",
                     (json_int_t)c->rows, "unknowns", (json_int_t)c->unknowns, "terms",
                     (json_int_t)c->terms, "conditions", (json_int_t)c->conditions, "inequalities",
                     (json_int_t)c->inequalities, "active", (json_int_t)c->active, "rank",
                     (json_int_t)c->rank, "null_space", (json_int_t)c->nullity, "condition",
                     cli_json_real(c->condition), "residual", cli_json_real(c->residual), "kkt",
                     cli_json_real(c->kkt), "gap", cli_json_real(c->gap), "seconds", c->seconds);
}

json_t *cli_qp_json(const cli_qp *q) {
    const cls_identify_info *f = &q->info;
    json_t *terms = json_array();
    for (size_t i = 0; terms && i < cls_identified_terms(q->id); i++) {
        const char *part;
        double x;
        const char *term = cls_identified_term(q->id, i, &part, &x);
        json_array_append_new(terms, json_pack("{s:s, s:s, s:o}", "part", part, "term", term,
                                               "coefficient", cli_json_real(x)));
    }
    return json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "rates",
                     rate_names[f->rates], "equations", (json_int_t)f->equations, "points",
                     (json_int_t)f->points, "gaps", (json_int_t)f->gaps, "noise",
                     cli_json_real(f->noise), "reversible", cli_json_real(f->reversible),
                     "first_law", cli_json_real(f->first_law), "temperature_error",
                     cli_json_real(f->temperature_error), "energy", program_json(&f->energy),
                     "friction", program_json(&f->friction), "null_space",
                     cls_identified_words(q->id), "terms", terms);
}

void cli_qp_free(cli_qp *q) {
    cls_identified_free(&q->id);
}
