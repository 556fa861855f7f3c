/* What crosses the boundary of a system: inputs, heat sources, reservoirs, and the accounts of them.
 *
 *   input u [V]                     a function of time; its values come from data, unless a formula
 *                                   of t and parameters follows (`= ...`, or --set)
 *   reservoir Tr [K] = 293 + u      a temperature that the system cannot change
 *   heat source heater on T1: P     heat P per time into the entropy of T1
 *
 *   thermal noise on Tr: kB         frictions on Tr come with the noise that its temperature demands
 *
 * A heat exchange or a friction may name a reservoir where it would name a temperature. With the
 * external forces F, work W, heat Q received and R the entropy that the outside has gained:
 *
 *   W' = F.v + dE/dt (of an energy that contains t)        Q' = sum P_i + sum bath_ir (T_r - T_i) + sum F_r.v
 *   R' = -sum bath_ir (T_r - T_i)/T_r - sum F_r.v/T_r + sum max(-P_i, 0)/T_i
 *
 * so that E - W - Q is constant, and the entropy of system and outside never falls: a source that
 * heats brings no entropy (an electric heater), one that cools gives its heat away at the
 * temperature it takes it from. */
#include "system/language.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUTS = 200, MAX_RESERVOIRS = 200 };

/* ---- statements ---- */

/* The formula that --set gives an input, NULL when it gives none; a number is in *value. */
static const char *formula_set(const clsi_reader *r, const char *name, const double **value) {
    size_t i = clsi_set_at(r, name);
    *value = NULL;
    if (i == SIZE_MAX) return NULL;
    const char *formula = r->set->formulas ? r->set->formulas[i] : NULL;
    *value = formula ? NULL : &r->set->values[i];
    return formula;
}

static cls_status parse_set(clsi_reader *r, const char *name, const char *formula, cls_node *out) {
    cls_system *s = r->s;
    size_t n = s->n_parameters;
    const char **names = clsi_calloc(n + 1, sizeof *names);
    cls_node *nodes = clsi_calloc(n + 1, sizeof *nodes);
    cls_error inner = {0};
    cls_status status = names && nodes ? CLS_OK : clsi_no_memory(r->error);
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        names[i] = s->parameter[i].name;
        nodes[i] = r->parameter_constant[i];
    }
    if (status == CLS_OK) {
        names[n] = "t";
        nodes[n] = s->t;
        cls_scope scope = {n + 1, names, nodes};
        status = cls_parse(s->g, formula, &scope, NULL, 1, 1, out, &inner);
        if (status != CLS_OK) {
            inner.message[strcspn(inner.message, "\n")] = 0;
            status = clsi_fail(r->error, status == CLS_MEMORY ? status : CLS_USAGE,
                               "the input %s is set to '%.200s', which is no formula of t and "
                               "parameters: %.800s",
                               name, formula, inner.message);
        }
    }
    free(names);
    free(nodes);
    return status;
}

static cls_status add_input(clsi_reader *r, size_t where, size_t length, cls_node formula) {
    cls_system *s = r->s;
    char name[64];
    size_t k = s->nu;
    if (k == MAX_INPUTS) return clsi_at(r, where, "more than %d inputs", (int)MAX_INPUTS);
    if (length > 60) return clsi_at(r, where, "this name is longer than 60 letters");
    snprintf(name, sizeof name, "%.*s", (int)length, r->clean + where);
    if (!clsi_grow(&s->input, &r->input_capacity, k + 1, sizeof *s->input) ||
        !clsi_grow(&s->u, &r->u_capacity, k + 1, sizeof *s->u) ||
        !clsi_grow(&s->input_formula, &r->formula_capacity, k + 1, sizeof *s->input_formula))
        return clsi_no_memory(r->error);
    cls_node symbol = cls_symbol(s->g, name);
    cls_status status = clsi_declare(r, name, length, CLSI_INPUT, k, symbol, where);
    if (status != CLS_OK) return status;
    s->input[k] = (clsi_variable){cls_node_name(s->g, symbol), NULL, -INFINITY, INFINITY};
    s->u[k] = symbol;
    s->input_formula[k] = formula;
    s->nu++;
    const double *value;
    const char *given = formula_set(r, name, &value);
    if (value) s->input_formula[k] = cls_constant(s->g, *value);
    return given ? parse_set(r, name, given, &s->input_formula[k]) : CLS_OK;
}

/* NAME [unit] = formula, the last two optional. */
static cls_status read_input(clsi_reader *r, clsi_cursor *c, size_t first) {
    char found[48], *unit = NULL;
    size_t length = clsi_word_length(r, c, 0), where = c->at, end;
    if (!length)
        return clsi_at(r, where, "expected the name of an input, found %s",
                       clsi_found(r, c, found));
    c->at += length;
    cls_status status = clsi_accept(r, c, "[") ? clsi_read_unit(r, c, &unit) : CLS_OK;
    clsi_expression e = {.bound = CLS_NO_NODE};
    if (status == CLS_OK && clsi_accept(r, c, "=")) {
        end = clsi_item_end(r, c);
        status = clsi_read_expression(r, c->at, end, &e);
        if (status == CLS_OK)
            status = clsi_allow(r, &e, CLSI_PARAMETER | CLSI_TIME, "the formula of an input");
        c->at = end;
    }
    if (status == CLS_OK) status = add_input(r, where, length, e.bound);
    for (size_t i = first; unit && i < r->s->nu && status == CLS_OK; i++)
        if (!r->s->input[i].unit)
            status = clsi_keep_text(r, unit, strlen(unit), &r->s->input[i].unit);
    free(unit);
    return status;
}

cls_status clsi_read_inputs(clsi_reader *r, clsi_cursor c) {
    size_t first = r->s->nu;
    cls_status status;
    do {
        status = read_input(r, &c, first);
    } while (status == CLS_OK && clsi_accept(r, &c, ","));
    return status == CLS_OK ? clsi_expect_end(r, &c) : status;
}

/* The name, so that the physics has its place; the formula waits for the lets above it. */
cls_status clsi_read_reservoir(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    char found[48];
    size_t length = clsi_word_length(r, &c, 0), k = s->nr;
    if (!length || length > 60)
        return clsi_at(r, c.at, "expected `reservoir NAME = temperature`, found %s",
                       clsi_found(r, &c, found));
    if (k == MAX_RESERVOIRS)
        return clsi_at(r, c.at, "more than %d reservoirs", (int)MAX_RESERVOIRS);
    if (!clsi_grow(&s->reservoir, &r->reservoir_capacity, k + 1, sizeof *s->reservoir) ||
        !(s->reservoir[k] = clsi_strndup(r->clean + c.at, length)))
        return clsi_no_memory(r->error);
    s->nr++;
    return CLS_OK;
}

cls_status clsi_set_reservoir(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    size_t length = clsi_word_length(r, &c, 0), where = c.at, k = 0;
    char *unit = NULL;
    clsi_expression e;
    while (k < s->nr && (strlen(s->reservoir[k]) != length ||
                         memcmp(s->reservoir[k], r->clean + where, length) != 0))
        k++;
    c.at += length;
    cls_status status = clsi_accept(r, &c, "[") ? clsi_read_unit(r, &c, &unit) : CLS_OK;
    free(unit); /* for the reader of the file */
    if (status == CLS_OK) status = clsi_expect(r, &c, "=", "the reservoir's name");
    if (status == CLS_OK) status = clsi_read_expression(r, c.at, c.end, &e);
    if (status == CLS_OK)
        status = clsi_allow(r, &e, CLSI_PARAMETER | CLSI_TIME | CLSI_INPUT,
                            "the temperature of a reservoir");
    if (status == CLS_OK) status = clsi_add_let(r, where, length, &e);
    if (status != CLS_OK) return status;
    s->raw.reservoir[k] = r->let_symbol[s->n_lets - 1];
    s->bound.reservoir[k] = e.bound;
    return CLS_OK;
}

cls_status clsi_read_heat_place(clsi_reader *r, clsi_cursor *c, const char *after, size_t *index) {
    const cls_system *s = r->s;
    size_t n = clsi_word_length(r, c, 0);
    for (size_t k = 0; k < s->nr && n; k++)
        if (strlen(s->reservoir[k]) == n && memcmp(s->reservoir[k], r->clean + c->at, n) == 0) {
            c->at += n;
            *index = s->m + k;
            return CLS_OK;
        }
    int kinds = CLSI_ENTROPY | CLSI_TEMPERATURE;
    if (!s->nr || (n && clsi_lookup(r, r->clean + c->at, n, kinds)))
        return clsi_read_entropy(r, c, after, index);
    char found[48], list[256];
    size_t used = strlen(clsi_list_names(r, kinds, list));
    for (size_t k = 0; k < s->nr && used < 180; k++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.40s", used ? ", " : "",
                                 s->reservoir[k]);
    return clsi_at(
        r, c->at,
        "expected an entropy, a temperature or a reservoir after %s, found %s; there are "
        "%s",
        after, clsi_found(r, c, found), list);
}

cls_status clsi_read_on(clsi_reader *r, clsi_cursor *c, const char *expected, size_t *where,
                        size_t *length) {
    clsi_skip_space(r, c);
    *where = c->at;
    *length = 0;
    if (clsi_accept_word(r, c, "on")) return CLS_OK;
    *length = clsi_word_length(r, c, 0);
    c->at += *length;
    return clsi_accept_word(r, c, "on") ? CLS_OK : clsi_at(r, c->at, "expected %s", expected);
}

/* heat source [NAME] on T: formula */
cls_status clsi_read_source(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    size_t i, where, length;
    cls_status status = clsi_read_on(
        r, &c, "`on` and the temperature that is heated: `heat source heater on T: ...`", &where,
        &length);
    if (status == CLS_OK) status = clsi_read_entropy(r, &c, "`on`", &i);
    if (status == CLS_OK) status = clsi_expect(r, &c, ":", "the temperature");
    if (status == CLS_OK) status = clsi_name_label(r, where, length, "a heat source");
    clsi_expression e;
    if (status == CLS_OK) status = clsi_read_expression(r, c.at, c.end, &e);
    if (status != CLS_OK) return status;
    s->raw.source[i] = cls_add(s->g, s->raw.source[i], e.raw);
    s->bound.source[i] = cls_add(s->g, s->bound.source[i], e.bound);
    s->has_heat = 1;
    return CLS_OK;
}

/* thermal noise on Tr: kB */
cls_status clsi_read_noise(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    char found[48];
    size_t place, where = c.at;
    double kB;
    if (!clsi_accept_word(r, &c, "on"))
        return clsi_at(r, c.at,
                       "expected `thermal noise on RESERVOIR: kB`, kB the Boltzmann constant in "
                       "the file's units, found %s",
                       clsi_found(r, &c, found));
    cls_status status = clsi_read_heat_place(r, &c, "`on`", &place);
    if (status == CLS_OK && place < s->m)
        status = clsi_at(r, where,
                         "thermal noise comes from a reservoir, whose temperature nothing "
                         "changes; `%s` belongs to an entropy of the system",
                         s->temperature[place].name);
    if (status == CLS_OK) status = clsi_expect(r, &c, ":", "the reservoir");
    if (status == CLS_OK) status = clsi_read_number(r, c.at, c.end, "the Boltzmann constant", &kB);
    if (status == CLS_OK && !(kB >= 0 && isfinite(kB)))
        status = clsi_at(r, c.at, "the Boltzmann constant is %g; it must not be negative", kB);
    if (status == CLS_OK && clsi_has_noise(s, place - s->m))
        status = clsi_at(r, where, "a second thermal noise on `%s`", s->reservoir[place - s->m]);
    if (status != CLS_OK) return status;
    s->boltzmann[place - s->m] = kB;
    return CLS_OK;
}

/* ---- accounts ---- */

int clsi_has_noise(const cls_system *s, size_t k) {
    return !isnan(s->boltzmann[k]);
}

int cls_system_is_noisy(const cls_system *s) {
    for (size_t k = 0; s && k < s->nr; k++)
        if (clsi_has_noise(s, k) && s->boltzmann[k] > 0) return 1;
    return 0;
}

size_t clsi_account_count(const cls_system *s) {
    return (s->has_work ? 1 : 0) + (s->has_heat ? 2 : 0);
}

clsi_account clsi_account_at(const cls_system *s, size_t k) {
    return (clsi_account)(s->has_work ? k : k + 1);
}

const char *clsi_account_name(clsi_account a) {
    static const char *const names[CLSI_ACCOUNTS] = {"work", "heat", "entropy.outside"};
    return names[a];
}

double clsi_received(const cls_system *s, const double *state) {
    const double *account = state + s->form->nz;
    const double *owed = account + s->form->nz + clsi_account_count(s);
    size_t n = (s->has_work ? 1 : 0) + (s->has_heat ? 1 : 0);
    double sum = 0, more = 0;
    for (size_t k = 0; k < n; k++) {
        sum += account[k];
        more += owed[k];
    }
    return sum + more;
}

double clsi_outside(const cls_system *s, const double *state) {
    return s->has_heat ? state[s->form->nz + clsi_account_count(s) - 1] : 0;
}

/* (|a| - a)/2 */
static cls_node negative_part(cls_graph *g, cls_node a) {
    cls_node size = cls_apply(g, CLS_FN_SQRT, cls_mul(g, a, a));
    return cls_mul(g, cls_constant(g, 0.5), cls_sub(g, size, a));
}

void clsi_account_rates(const cls_system *s, const clsi_crossing *at, cls_node *rates) {
    cls_graph *g = s->g;
    size_t n = s->n, m = s->m, nr = s->nr;
    for (int k = 0; k < CLSI_ACCOUNTS; k++) rates[k] = cls_constant(g, 0);
    for (size_t j = 0; j < n; j++)
        rates[CLSI_WORK] = cls_add(g, rates[CLSI_WORK], cls_mul(g, at->force[j], at->v[j]));
    rates[CLSI_WORK] = cls_add(g, rates[CLSI_WORK], at->varying);
    for (size_t i = 0; i < m; i++) {
        if (cls_is_constant(g, at->source[i], 0)) continue;
        cls_node taken = cls_div(g, negative_part(g, at->source[i]), at->T[i]);
        rates[CLSI_HEAT] = cls_add(g, rates[CLSI_HEAT], at->source[i]);
        rates[CLSI_OUTSIDE] = cls_add(g, rates[CLSI_OUTSIDE], taken);
    }
    for (size_t k = 0; k < nr; k++) {
        cls_node heat = cls_constant(g, 0); /* from this reservoir */
        for (size_t i = 0; i < m; i++)
            heat = cls_add(
                g, heat,
                cls_mul(g, at->bath[i * nr + k], cls_sub(g, at->reservoir[k], at->conducts[i])));
        CLSI_EACH(&s->bound.friction, m + k, e) {
            const clsi_entry *x = &s->bound.friction.entries[e];
            cls_node force = at->friction ? at->friction[e] : x->node;
            heat = cls_add(g, heat, cls_mul(g, force, at->v[x->column]));
        }
        rates[CLSI_HEAT] = cls_add(g, rates[CLSI_HEAT], heat);
        rates[CLSI_OUTSIDE] = cls_sub(g, rates[CLSI_OUTSIDE], cls_div(g, heat, at->reservoir[k]));
    }
}

cls_status clsi_inputs_known(const cls_system *s, cls_error *error) {
    for (size_t k = 0; k < s->nu; k++)
        if (s->input_formula[k] == CLS_NO_NODE)
            return clsi_fail(
                error, CLS_USAGE,
                "the input %s of %s has no values: give a file with its column "
                "(--inputs FILE), or a number or formula of t (--set \"%s=0.3*sin(t)\")",
                s->input[k].name, s->name, s->input[k].name);
    return CLS_OK;
}
