/* What a system is, as text for a person: variables, parameters, laws, equations of motion, LaTeX.
 *
 * Equations are derived from the formula with parameters as symbols and are the ones that are
 * simulated: the definitions of what is not in the state, then the rates
 *
 *   q' = K v,   p' = -K^T H_q + P v + sum_i F_i + external force,   
 *   T_i S_i' = -F_i.v + sum_j kappa_ij (T_j - T_i). */
#include "base/alike.h"
#include "base/misuse.h"
#include "system/system.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct page {
    const cls_system *s;
    clsi_text text;
    int latex;
} page;

/* ---- pieces ---- */

/* A number of n characters that is a short decimal to twelve digits (0.45, computed as
 * 0.44999999999999996): that one. 1 if it is. */
static int is_short(const char *text, size_t n, char out[CLSI_NUMBER]) {
    char own[CLSI_NUMBER] = "";
    double value;
    if (n < 12 || n >= sizeof own) return 0;
    memcpy(own, text, n);
    if (!clsi_read_double(own, &value) || !(value > 1e-9 && value < 1e9)) return 0;
    double unit = pow(10, 11 - floor(log10(value)));
    clsi_format_double(nearbyint(value * unit) / unit, out);
    return strlen(out) + 8 <= n;
}

/* The text of a formula, its numbers as a person would write them. */
static void put_readable(page *p, const char *text) {
    char rounded[CLSI_NUMBER];
    for (int inside = 0; *text;) { /* of a name */
        size_t n = inside ? 0 : strspn(text, "0123456789.");
        if (n && is_short(text, n, rounded) && text[n] != 'e')
            clsi_text_append(&p->text, rounded);
        else
            clsi_text_append_n(&p->text, text, n ? n : 1);
        inside = !n && (isalpha((unsigned char)*text) || strchr("_.[", *text) ||
                        (inside && isdigit((unsigned char)*text)));
        text += n ? n : 1;
    }
}

static void put_node(page *p, cls_node a) {
    char *text = p->latex ? cls_print_latex(p->s->g, a) : cls_print(p->s->g, a);
    if (text)
        put_readable(p, text);
    else
        p->text.failed = 1;
    cls_text_free(&text);
}

static void put_number(page *p, double value) {
    char text[32];
    if (isinf(value))
        snprintf(text, sizeof text, value < 0 ? "-inf" : "inf");
    else
        clsi_format_double(value, text);
    clsi_text_append(&p->text, text);
}

/* name [unit] in (low, high) */
static void put_variable(page *p, const clsi_variable *v, const char *before, int width) {
    clsi_text_printf(&p->text, "%s%-*s", before, width, v->name);
    if (v->unit) clsi_text_printf(&p->text, " [%s]", v->unit);
    if (v->angle) clsi_text_append(&p->text, " angle");
    if (!isfinite(v->low) && !isfinite(v->high)) return;
    clsi_text_append(&p->text, " in (");
    put_number(p, v->low);
    clsi_text_append(&p->text, ", ");
    put_number(p, v->high);
    clsi_text_append(&p->text, ")");
}

static int is_zero(const page *p, cls_node a) {
    return cls_is_constant(p->s->g, a, 0);
}

/* ---- summary ---- */

static void put_variables(page *p) {
    const cls_system *s = p->s;
    if (s->paired) clsi_text_append(&p->text, "\n  coordinates\n");
    for (size_t i = 0; i < s->nq; i++) {
        if (i == s->paired) clsi_text_append(&p->text, "\n  positions\n");
        put_variable(p, &s->coordinate[i], "    ", 11);
        if (i < s->paired)
            clsi_text_printf(&p->text, " with velocity v.%s, momentum p.%s", s->coordinate[i].name,
                             s->coordinate[i].name);
        clsi_text_append(&p->text, "\n");
    }
    static const struct {
        const char *title, *effort;
    } roles[] = {[CLSI_MOTION] = {"momenta", "velocity"},
                 [CLSI_MOLE] = {"amounts of matter", "chemical potential"},
                 [CLSI_INTERNAL] = {"internal variables", "force"}};
    for (size_t j = s->paired; j < s->n && !s->ode; j++) {
        clsi_role role = s->momentum[j].role;
        if (j == s->paired || s->momentum[j - 1].role != role)
            clsi_text_printf(&p->text, "\n  %s\n", roles[role].title);
        put_variable(p, &s->momentum[j], "    ", 11);
        clsi_text_printf(&p->text, " with %s %s\n", roles[role].effort,
                         cls_node_name(s->g, s->v[j]));
    }
    if (s->m) clsi_text_append(&p->text, "\n  entropies\n");
    for (size_t i = 0; i < s->m; i++) {
        put_variable(p, &s->entropy[i], "    ", 11);
        put_variable(p, &s->temperature[i], " with temperature ", 0);
        clsi_text_append(&p->text, "\n");
    }
    if (s->nu) clsi_text_append(&p->text, "\n  inputs\n");
    for (size_t i = 0; i < s->nu; i++) {
        put_variable(p, &s->input[i], "    ", 11);
        clsi_text_append(&p->text, s->input_formula[i] == CLS_NO_NODE ? "   (from data)" : " = ");
        if (s->input_formula[i] != CLS_NO_NODE) put_node(p, s->input_formula[i]);
        clsi_text_append(&p->text, "\n");
    }
    if (s->n_parameters) clsi_text_append(&p->text, "\n  parameters\n");
    for (size_t i = 0; i < s->n_parameters; i++) {
        const clsi_variable *x = &s->parameter[i];
        clsi_text_printf(&p->text, "    %-11s = ", x->name);
        if (s->parameter_unknown[i]) clsi_text_append(&p->text, "unknown, near ");
        put_number(p, s->parameter_value[i]);
        if (s->parameter_unknown[i] && (isfinite(x->low) || isfinite(x->high))) {
            clsi_text_append(&p->text, " in (");
            put_number(p, x->low);
            clsi_text_append(&p->text, ", ");
            put_number(p, x->high);
            clsi_text_append(&p->text, ")");
        }
        if (s->parameter[i].unit) clsi_text_printf(&p->text, " [%s]", s->parameter[i].unit);
        clsi_text_append(&p->text, "\n");
    }
}

static void put_friction(page *p) {
    const cls_system *s = p->s;
    const char *title = "\n  friction\n";
    for (size_t i = 0; i < s->m + s->nr; i++) CLSI_EACH(&s->raw.friction, i, e) {
            cls_node F = s->raw.friction.entries[e].node;
            size_t j = s->raw.friction.entries[e].column;
            if (is_zero(p, F)) continue;
            clsi_text_printf(&p->text, "%s    %s <- ", title, clsi_force_on(s, j));
            put_node(p, F);
            clsi_text_printf(&p->text, "   (heats %s)\n",
                             i < s->m ? s->entropy[i].name : s->reservoir[i - s->m]);
            title = "";
        }
}

/* V, or V(d) of a function. */
static const char *name_of(const cls_system *s, size_t i, char out[256]) {
    const clsi_function *f = clsi_function_find(s, s->unknown[i], strlen(s->unknown[i]));
    size_t used = (size_t)snprintf(out, 256, "%.60s", s->unknown[i]);
    for (size_t k = 0; f && k < f->n && used < 180; k++)
        used += (size_t)snprintf(out + used, 256 - used, "%s%.60s%s", k ? ", " : "(",
                                 f->argument[k], k + 1 == f->n ? ")" : "");
    return out;
}

static void put_unknowns(page *p) {
    const cls_system *s = p->s;
    if (s->n_unknown) clsi_text_append(&p->text, "\n  unknown parts\n");
    for (size_t i = 0; i < s->n_unknown; i++) {
        char name[256];
        clsi_text_printf(&p->text, "    %-11s = unknown%s%s%s%s%s\n", name_of(s, i, name),
                         s->unknown_positive[i] ? " positive" : "", s->unknown_field[i] ? " " : "",
                         s->unknown_field[i] ? s->unknown_field[i] : "",
                         s->unknown_of[i] ? " of " : "", s->unknown_of[i] ? s->unknown_of[i] : "");
    }
}

static void put_heat(page *p) {
    const cls_system *s = p->s;
    const char *title = "\n  heat exchange\n";
    for (size_t i = 0; i < s->m; i++) CLSI_EACH(&s->raw.conductance, i, e) {
            cls_node kappa = s->raw.conductance.entries[e].node;
            size_t j = s->raw.conductance.entries[e].column;
            if (j < i || is_zero(p, kappa)) continue;
            clsi_text_printf(&p->text, "%s    %s <-> %s: ", title, s->temperature[i].name,
                             s->temperature[j].name);
            put_node(p, kappa);
            clsi_text_append(&p->text, "\n");
            title = "";
        }
    for (size_t i = 0; i < s->m * s->nr; i++) {
        if (is_zero(p, s->raw.bath[i])) continue;
        clsi_text_printf(&p->text, "%s    %s <-> %s: ", title, s->temperature[i / s->nr].name,
                         s->reservoir[i % s->nr]);
        put_node(p, s->raw.bath[i]);
        clsi_text_append(&p->text, "\n");
        title = "";
    }
    title = "\n  heat sources\n";
    for (size_t i = 0; i < s->m; i++) {
        if (is_zero(p, s->raw.source[i])) continue;
        clsi_text_printf(&p->text, "%s    %s: ", title, s->temperature[i].name);
        put_node(p, s->raw.source[i]);
        clsi_text_append(&p->text, "\n");
        title = "";
    }
}

/* M over momenta and entropies, the upper triangle. */
static void put_operator(page *p) {
    const cls_system *s = p->s;
    size_t N = s->n + s->m;
    const char *title = "\n  friction operator\n";
    if (s->has_entropy) {
        clsi_text_append(&p->text, "\n  total entropy\n    ");
        put_node(p, s->raw.entropy);
        clsi_text_append(&p->text, "\n");
    }
    for (size_t a = 0; a < N && s->has_operator; a++)
        for (size_t b = a; b < N; b++) {
            cls_node entry = s->raw.friction_operator[a * N + b];
            if (is_zero(p, entry)) continue;
            const cls_node one = a < s->n ? s->p[a] : s->S[a - s->n];
            const cls_node two = b < s->n ? s->p[b] : s->S[b - s->n];
            clsi_text_printf(&p->text, "%s    {%s, %s} = ", title, cls_node_name(s->g, one),
                             cls_node_name(s->g, two));
            put_node(p, cls_simplify(s->g, entry));
            clsi_text_append(&p->text, "\n");
            title = "";
        }
}

static void put_external(page *p) {
    const cls_system *s = p->s;
    const char *title = "\n  external forces\n";
    if (!is_zero(p, s->raw.potential)) {
        clsi_text_printf(&p->text, "%s    potential ", title);
        put_node(p, s->raw.potential);
        clsi_text_append(&p->text, "   (in the energy)\n");
        title = "";
    }
    for (size_t j = 0; j < s->n; j++) {
        if (is_zero(p, s->raw.force[j])) continue;
        clsi_text_printf(&p->text, "%s    %s <- ", title, clsi_force_on(s, j));
        put_node(p, s->raw.force[j]);
        clsi_text_append(&p->text, "   (its work is counted)\n");
        title = "";
    }
}

static void put_laws(page *p) {
    const cls_system *s = p->s;
    if (s->ode)
        clsi_text_append(&p->text, "\n  laws\n    none is promised: there is no energy and no "
                                   "entropy in ordinary differential equations\n");
    else
        clsi_text_printf(&p->text, "\n  laws\n    energy      %s\n",
                         s->has_work && s->has_heat
                             ? "constant but for the work and the heat from outside"
                         : s->varies   ? "constant but for the work that changes its parameters"
                         : s->has_work ? "constant but for the work of the external forces"
                         : s->has_heat ? "constant but for the heat from outside"
                                       : "constant");
    if (cls_system_is_noisy(s))
        clsi_text_append(&p->text, "    entropy     of system and outside rises in the mean\n");
    else if (s->has_heat)
        clsi_text_append(&p->text, "    entropy     of system and outside never falls\n");
    else if (s->m)
        clsi_text_append(&p->text, "    entropy     never falls\n");
    for (size_t i = 0; i < s->n_invariants; i++) {
        clsi_text_printf(&p->text, "    %-11s = ", s->raw.invariants[i].name);
        put_node(p, s->raw.invariants[i].node);
        clsi_text_append(&p->text, "   constant\n");
    }
    if (s->n_outputs) clsi_text_append(&p->text, "\n  outputs\n");
    for (size_t i = 0; i < s->n_outputs; i++) {
        const char *unit = s->raw.outputs[i].unit;
        clsi_text_printf(&p->text, "    %-11s = ", s->raw.outputs[i].name);
        put_node(p, s->raw.outputs[i].node);
        clsi_text_printf(&p->text, unit ? "   [%s]\n" : "\n", unit);
    }
}

static void put_anchors(page *p) {
    const cls_system *s = p->s;
    if (s->n_anchors) clsi_text_append(&p->text, "\n  anchors (for learning)\n");
    for (size_t i = 0; i < s->n_anchors; i++) {
        clsi_text_append(&p->text, "    ");
        clsi_anchor_print(s, &s->anchors[i], &p->text);
        clsi_text_append(&p->text, "\n");
    }
}

/* A list with what is alike in it folded. */
static void put_items(page *p, const char *head, clsi_text *list) {
    if (list->failed) p->text.failed = 1;
    if (list->length) {
        clsi_text_append(&p->text, head);
        clsi_alike_items(&p->text, list->data);
    }
    clsi_text_clear(list);
}

static void list_start(const cls_system *s, clsi_text *out) {
    const cls_node *lists[] = {s->q, s->v, s->p, s->S, s->T};
    const size_t sizes[] = {s->nq, s->n, s->n, s->m, s->m};
    size_t slot = 0;
    for (int l = 0; l < 5; l++)
        for (size_t i = 0; i < sizes[l]; i++, slot++) {
            char value[CLSI_NUMBER];
            if (isnan(s->start[slot])) continue;
            clsi_format_double(s->start[slot], value);
            clsi_text_printf(out, "%s%s = %s", out->length ? ", " : "",
                             cls_node_name(s->g, lists[l][i]), value);
        }
}

static void put_times(page *p) {
    const cls_system *s = p->s;
    clsi_text_append(&p->text, "\n  step        ");
    put_number(p, s->step);
    clsi_text_append(&p->text, "\n  until       ");
    put_number(p, s->until);
    clsi_text_append(&p->text, "\n");
}

static int is_unknown(const cls_system *s, const char *name) {
    for (size_t i = 0; i < s->n_unknown; i++)
        if (strcmp(s->unknown[i], name) == 0) return 1;
    return 0;
}

static void put_formula(page *p) {
    const cls_system *s = p->s;
    clsi_text_append(&p->text, s->ode ? "" : "    ");
    for (size_t j = 0; s->ode && j < s->n; j++) {
        clsi_text_printf(&p->text, "    %s' = ", s->momentum[j].name);
        put_node(p, s->raw.force[j]);
        clsi_text_append(&p->text, j + 1 < s->n ? "\n" : "");
    }
    if (s->formula_name) clsi_text_printf(&p->text, "%s = ", s->formula_name);
    if (!s->ode) put_node(p, s->written);
    clsi_text_append(&p->text, "\n");
    for (size_t i = 0, use = 0, shown = 0; i < s->n_lets; i++) {
        if (use < s->n_uses &&
            s->uses[use].let == i) { /* a function is told once, where it is unknown */
            const clsi_function *f = &s->functions[s->uses[use++].function];
            if (!f->other) continue;
        }
        clsi_text_printf(&p->text, "    %s %s = ", shown++ ? "     " : "where", s->lets[i].name);
        if (is_unknown(s, s->lets[i].name))
            clsi_text_append(&p->text, "unknown");
        else
            put_node(p, s->lets[i].node);
        clsi_text_append(&p->text, "\n");
    }
}

static void put_summary(page *p) {
    const cls_system *s = p->s;
    clsi_text_printf(&p->text, "%s: %s\n\n  %s\n", s->name, s->title,
                     cls_formalism_name(cls_system_formalism(s)));
    put_formula(p);
    put_variables(p);
    put_unknowns(p);
    put_friction(p);
    put_heat(p);
    put_operator(p);
    if (!s->ode) put_external(p);
    put_laws(p);
    put_anchors(p);
    clsi_text state = {0}, start = {0};
    for (size_t i = 0; i < cls_system_state_count(s); i++)
        clsi_text_printf(&state, "%s%s", i ? ", " : "", cls_system_state_name(s, i));
    put_items(p, "\n  state       ", &state);
    list_start(s, &start);
    put_items(p, "\n  start       ", &start);
    put_times(p);
}

/* ---- equations ---- */

/* One line `left = right`; `rate` is the symbol whose time derivative stands on the left, times
 * `factor` where there is one. */
static void put_equation(page *p, const char *factor, cls_node rate, const char *left,
                         cls_node right) {
    clsi_text_append(&p->text, p->latex ? "  " : "    ");
    if (factor) {
        put_node(p, cls_symbol(p->s->g, factor));
        clsi_text_append(&p->text, p->latex ? "\\," : " ");
    }
    if (left) {
        clsi_text_append(&p->text, left);
    } else {
        clsi_text_append(&p->text, p->latex ? "\\frac{d}{dt} " : "d/dt ");
        put_node(p, rate);
    }
    clsi_text_append(&p->text, p->latex ? " &= " : " = ");
    put_node(p, right);
    clsi_text_append(&p->text, p->latex ? " \\\\\n" : "\n");
}

static void put_definition(page *p, cls_node symbol, cls_node value) {
    if (symbol == value) return;
    char *name = p->latex ? cls_print_latex(p->s->g, symbol) : cls_print(p->s->g, symbol);
    if (!name) p->text.failed = 1;
    put_equation(p, NULL, symbol, name ? name : "", value);
    cls_text_free(&name);
}

/* The gradient of a total entropy in the place of its symbols. */
static cls_node with_entropy(const cls_system *s, cls_node a) {
    size_t n = s->n + s->m;
    if (s->has_entropy)
        (void)cls_substitute(s->g, 1, &a, n, s->dS, s->entropy_slope + s->nq + n + s->nq, &a);
    return a;
}

/* What brackets and frictions, entry by entry, do to the momenta; over what works against them. */
static void add_frictions(const page *p, cls_node *rate) {
    const cls_system *s = p->s;
    for (size_t j = 0; j < s->n; j++) rate[j] = cls_neg(s->g, rate[j]);
    for (size_t i = 0; i < s->m + s->nr && s->n; i++) CLSI_EACH(&s->raw.friction, i, e) {
            const clsi_entry *x = &s->raw.friction.entries[e];
            rate[x->column] = cls_add(s->g, rate[x->column], x->node);
        }
}

static cls_node rate_of_momentum(const page *p, cls_node sum, size_t j) {
    const cls_system *s = p->s;
    sum = cls_add(s->g, sum, with_entropy(s, s->raw.operator_force[j]));
    return cls_simplify(s->g, cls_add(s->g, sum, s->raw.force[j]));
}

static cls_node heat_into(const page *p, size_t i) {
    const cls_system *s = p->s;
    cls_node sum = with_entropy(s, s->raw.operator_heat[i]);
    CLSI_EACH(&s->raw.friction, i, e) {
        const clsi_entry *x = &s->raw.friction.entries[e];
        sum = cls_sub(s->g, sum, cls_mul(s->g, x->node, s->v[x->column]));
    }
    sum = cls_simplify(s->g, sum);
    CLSI_EACH(&s->raw.conductance, i, e) {
        const clsi_entry *x = &s->raw.conductance.entries[e];
        cls_node drop = cls_sub(s->g, s->T[x->column], s->T[i]);
        sum = cls_add(s->g, sum, cls_mul(s->g, x->node, drop));
    }
    for (size_t k = 0; k < s->nr; k++)
        sum = cls_add(
            s->g, sum,
            cls_mul(s->g, s->raw.bath[i * s->nr + k], cls_sub(s->g, s->raw.reservoir[k], s->T[i])));
    return cls_add(s->g, sum, s->raw.source[i]);
}

static cls_status put_rates(page *p, const clsi_form *f) {
    const cls_system *s = p->s;
    cls_node *rate_q = clsi_calloc(s->nq + s->n, sizeof *rate_q), *against = rate_q + s->nq;
    if (!rate_q) return CLS_MEMORY;
    const clsi_place own = {.t = s->t};
    cls_status status = clsi_brackets_at(s, &s->raw, &own, f->energy_q, rate_q, against);
    for (size_t i = 0; i < s->nq && status == CLS_OK; i++)
        put_equation(p, NULL, s->q[i], NULL, cls_simplify(s->g, rate_q[i]));
    if (status == CLS_OK) add_frictions(p, against);
    for (size_t j = 0; j < s->n && status == CLS_OK; j++)
        put_equation(p, NULL, s->p[j], NULL, rate_of_momentum(p, against[j], j));
    for (size_t i = 0; i < s->m; i++)
        put_equation(p, s->temperature[i].name, s->S[i], NULL, heat_into(p, i));
    free(rate_q);
    return status;
}

static cls_status put_equations(page *p, int with_formula, cls_error *error) {
    const cls_system *s = p->s;
    clsi_form *f = NULL;
    /* With parameters as symbols a mass matrix may be fuller than it is with their values. */
    cls_status status = clsi_form_create(s, &s->raw, &s->form->kind, &f, error);
    if (status != CLS_OK && status != CLS_MEMORY)
        status = clsi_form_create(s, &s->bound, &s->form->kind, &f, error);
    if (status != CLS_OK) return status;
    if (p->text.length) clsi_text_append(&p->text, "\n");
    if (p->latex) {
        clsi_text_append(&p->text, "\\begin{align*}\n");
    } else {
        if (with_formula) {
            clsi_text_printf(&p->text, "  %s\n", cls_formalism_name(cls_system_formalism(s)));
            put_formula(p);
            clsi_text_append(&p->text, "\n");
        }
        clsi_text_append(&p->text, "  equations of motion\n");
    }
    if (p->latex && !s->ode) {
        static const char *const letter[] = {"L", "H", "G"};
        put_equation(p, NULL, CLS_NO_NODE, letter[s->formalism], s->raw.formula);
    }
    for (size_t j = 0; j < s->n; j++) put_definition(p, s->p[j], f->p[j]);
    for (size_t j = 0; j < s->n && !s->ode; j++) put_definition(p, s->v[j], f->v[j]);
    for (size_t i = 0; i < s->m; i++) put_definition(p, s->S[i], f->S[i]);
    for (size_t i = 0; i < s->m; i++) put_definition(p, s->T[i], f->T[i]);
    if (!s->ode) put_equation(p, NULL, CLS_NO_NODE, p->latex ? "E" : "energy", f->energy);
    status = put_rates(p, f);
    if (p->latex) clsi_text_append(&p->text, "\\end{align*}\n");
    clsi_form_free(&f);
    if (status != CLS_OK) return clsi_no_memory(error);
    return cls_graph_status(s->g, error);
}

/* For a person: of a thousand lines that differ in their indices the first and the last. */
static void fold(clsi_text *text) {
    clsi_text folded = {.failed = text->failed};
    clsi_alike_lines(&folded, text->data);
    clsi_text_clear(text);
    *text = folded;
}

/* Alone: one name per line, for scripts. */
static void put_parts(page *p) {
    const cls_system *s = p->s;
    const char *indent = p->text.length ? "    " : "";
    if (p->text.length) clsi_text_append(&p->text, "\n  parts\n");
    for (size_t i = 0; i < s->n_parts; i++)
        clsi_text_printf(&p->text, "%s%s\n", indent, s->parts[i]);
}

cls_status cls_system_show(const cls_system *s, unsigned what, char **text, cls_error *error) {
    NEED(error, text);
    *text = NULL;
    NEED(error, s);
    cls_system *view;
    cls_status status = clsi_system_view(s, &view, error);
    if (status != CLS_OK) return status;
    page p = {view, {0}, 0};
    if (what & CLS_SHOW_SUMMARY) put_summary(&p);
    if (what & CLS_SHOW_EQUATIONS) status = put_equations(&p, !(what & CLS_SHOW_SUMMARY), error);
    if (p.text.length) fold(&p.text);
    if (status == CLS_OK && (what & CLS_SHOW_LATEX)) {
        p.latex = 1;
        status = put_equations(&p, 1, error);
        p.latex = 0;
    }
    if (status == CLS_OK && (what & CLS_SHOW_PARTS)) put_parts(&p);
    if (what & CLS_SHOW_SOURCE) clsi_text_append(&p.text, s->text);
    clsi_system_view_free(&view);
    if (status != CLS_OK) {
        clsi_text_clear(&p.text);
        return status;
    }
    *text = clsi_text_take(&p.text);
    return *text ? CLS_OK : clsi_no_memory(error);
}
