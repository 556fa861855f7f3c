/* The statements that carry physics.
 *
 *   formula     L(q,v,S), H(q,p,S) or G(q,v,T): kept exactly as written, because the writing
 *               decides the discrete gradient (docs/physics/discrete-gradient.md)
 *   friction    F_ij on coordinate j, its work heats entropy i; several statements add
 *   heat        kappa_ij (T_j - T_i) into i; one expression for both directions, so symmetric
 *   external    a force that is constant once the parameters are known has the potential -F q and
 *               joins the energy (where there is a q); any other force stays a force and its work
 *               is counted
 *
 * Signs are not judged here (that friction dissipates is for the audit to find out). */
#include "expr/graph.h"
#include "system/language.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 1000000 };

/* [NAME =] in front of a formula: the length of NAME, or 0; the cursor moves behind the `=`. */
size_t clsi_optional_name(const clsi_reader *r, clsi_cursor *c, size_t *where) {
    clsi_cursor ahead = *c;
    size_t length = clsi_word_length(r, &ahead, 0);
    *where = ahead.at;
    ahead.at += length;
    if (!length || !clsi_accept(r, &ahead, "=")) return 0;
    *c = ahead;
    return length;
}

clsi_replacement *clsi_replacement_of(clsi_reader *r, const char *name, size_t length) {
    for (size_t i = 0; i < r->n_replacements; i++) {
        clsi_replacement *x = &r->replacements[i];
        if (strlen(x->part) != length || memcmp(x->part, name, length) != 0) continue;
        x->used = 1;
        return x;
    }
    return NULL;
}

void clsi_mark_learned(clsi_reader *r, cls_node formula) {
    cls_system *s = r->s;
    for (size_t i = 0; i < s->n_parameters && formula != CLS_NO_NODE; i++)
        if (cls_depends(s->g, formula, 1, &s->parameter_symbol[i])) s->parameter_learned[i] = 1;
}

/* A name for a part: one namespace with everything else. */
cls_status clsi_name_part(clsi_reader *r, size_t where, size_t length) {
    if (!length) return CLS_OK;
    cls_status status =
        clsi_declare(r, r->clean + where, length, CLSI_LABEL, r->s->n_parts, CLS_NO_NODE, where);
    return status == CLS_OK ? clsi_add_part(r, r->clean + where, length) : status;
}

cls_status clsi_name_label(clsi_reader *r, size_t where, size_t length, const char *what) {
    cls_system *s = r->s;
    size_t k = s->n_labels;
    if (!length) return CLS_OK;
    cls_status status =
        clsi_declare(r, r->clean + where, length, CLSI_LABEL, k, CLS_NO_NODE, where);
    if (status != CLS_OK) return status;
    if (!clsi_grow(&s->labels, &r->labels_capacity, k + 1, sizeof *s->labels) ||
        !(s->labels[k].name = clsi_strndup(r->clean + where, length)))
        return clsi_no_memory(r->error);
    s->labels[k].what = what;
    s->n_labels++;
    return CLS_OK;
}

/* ---- unknown parts ---- */

int clsi_is_unknown(const clsi_reader *r, clsi_cursor c) {
    return clsi_accept_word(r, &c, "unknown");
}

cls_status clsi_read_of(clsi_reader *r, clsi_cursor c, int learned, char **out) {
    clsi_text text = {0};
    cls_status status = CLS_OK;
    int any = CLSI_COORDINATE | CLSI_VELOCITY | CLSI_MOMENTUM | CLSI_ENTROPY | CLSI_TEMPERATURE |
              CLSI_PARAMETER | CLSI_INPUT;
    do {
        clsi_expression e;
        size_t end = clsi_item_end(r, &c);
        status = clsi_read_expression(r, c.at, end, &e);
        if (status == CLS_OK && learned) clsi_mark_learned(r, e.raw);
        if (status == CLS_OK) status = clsi_allow(r, &e, any, "what an unknown part is made of");
        if (status != CLS_OK) break;
        char *one = cls_print(r->s->g, e.bound);
        if (one) clsi_text_printf(&text, "%s%s", text.length ? "; " : "", one);
        if (!one) status = clsi_no_memory(r->error);
        cls_text_free(&one);
        c.at = end;
    } while (status == CLS_OK && clsi_accept(r, &c, ","));
    if (status == CLS_OK) status = clsi_expect_end(r, &c);
    if (status == CLS_OK && !(*out = clsi_text_take(&text))) status = clsi_no_memory(r->error);
    clsi_text_clear(&text);
    return status;
}

cls_status clsi_keep_unknown(clsi_reader *r, char *name, char *field, char *of, int positive) {
    cls_system *s = r->s;
    size_t n = s->n_unknown + 1;
    if (!clsi_grow(&s->unknown, &r->unknown_capacity, n, sizeof *s->unknown) ||
        !clsi_grow(&s->unknown_field, &r->unknown_field_capacity, n, sizeof *s->unknown_field) ||
        !clsi_grow(&s->unknown_of, &r->unknown_of_capacity, n, sizeof *s->unknown_of) ||
        !clsi_grow(&s->unknown_positive, &r->unknown_positive_capacity, n, 1)) {
        free(name);
        free(field);
        free(of);
        return clsi_no_memory(r->error);
    }
    s->unknown[s->n_unknown] = name;
    s->unknown_field[s->n_unknown] = field;
    s->unknown_positive[s->n_unknown] = (unsigned char)positive;
    s->unknown_of[s->n_unknown++] = of;
    return CLS_OK;
}

/* The first word of a form, or of a dictionary of formulas: something that is known. */
static cls_status check_form(clsi_reader *r, clsi_cursor c) {
    static const char *const forms[] = {"chebyshev", "monomial", "network",   "terms",
                                        "convex",    "auto",     "polynomial"};
    enum { N = sizeof forms / sizeof *forms };
    size_t n = clsi_word_length(r, &c, 1);
    char word[64];
    if (!n || n > 60 || clsi_lookup(r, r->clean + c.at, n, ~CLSI_LABEL)) return CLS_OK;
    snprintf(word, sizeof word, "%.*s", (int)n, r->clean + c.at);
    for (size_t i = 0; i < N; i++)
        if (strcmp(word, forms[i]) == 0) return CLS_OK;
    if (clsi_names_function(word)) return CLS_OK;
    const char *near = cls_nearest_word(word, N, forms);
    return clsi_at(r, c.at,
                   "`%s` is no form of what is learned%s%s%s: write chebyshev(4), monomial(3), "
                   "network(32, 32) or terms(1; v.x^2), or leave it out",
                   word, near ? " (did you mean `" : "", near ? near : "", near ? "`?)" : "");
}

cls_status clsi_read_unknown(clsi_reader *r, clsi_cursor c, size_t where, size_t length) {
    clsi_accept_word(r, &c, "unknown");
    clsi_accept_word(r, &c, "dissipative"); /* it always is: by form */
    int positive = clsi_accept_word(r, &c, "positive");
    clsi_skip_space(r, &c);
    size_t end = clsi_find_word(r, c.at, c.end, "of");
    clsi_cursor inputs = {end, c.end};
    int has_inputs = clsi_accept_word(r, &inputs, "of");
    if (!has_inputs) end = c.end;
    while (end > c.at && r->clean[end - 1] == ' ') end--;
    cls_status known = check_form(r, (clsi_cursor){c.at, end});
    if (known != CLS_OK) return known;
    if (!length)
        return clsi_at(r, where,
                       "an unknown part needs a name, so that it can be learned: for "
                       "example `friction F1 on T1: unknown`");
    char *of = NULL;
    cls_status status = has_inputs ? clsi_read_of(r, inputs, 1, &of) : CLS_OK;
    if (status != CLS_OK || clsi_replacement_of(r, r->clean + where, length)) {
        free(of);
        return status;
    }
    char *name = clsi_strndup(r->clean + where, length);
    char *field = end > c.at ? clsi_strndup(r->clean + c.at, end - c.at) : NULL;
    if (!name || (end > c.at && !field)) {
        free(name);
        free(field);
        free(of);
        return clsi_no_memory(r->error);
    }
    return clsi_keep_unknown(r, name, field, of, positive);
}

/* What stands in an unknown formula's place until it is learned: unit masses, ideal heat. It gives
 * the system its variables; nothing may be simulated with it. */
static cls_node stand_in(const cls_system *s, cls_formalism formalism) {
    cls_graph *g = s->g;
    cls_node sum = cls_constant(g, 0), half = cls_constant(g, 0.5), two = cls_constant(g, 2);
    const cls_node *motion = formalism == CLS_HAMILTONIAN ? s->p : s->v;
    for (size_t j = 0; j < s->n; j++)
        sum = cls_add(g, sum, cls_mul(g, half, cls_pow(g, motion[j], two)));
    for (size_t i = 0; i < s->m; i++) {
        cls_node heat = cls_apply(g, CLS_FN_EXP, s->S[i]);
        if (formalism == CLS_LAGRANGIAN) heat = cls_neg(g, heat);
        if (formalism == CLS_THERMAL_LAGRANGIAN)
            heat = cls_mul(g, s->T[i],
                           cls_sub(g, cls_apply(g, CLS_FN_LOG, s->T[i]), cls_constant(g, 1)));
        sum = cls_add(g, sum, heat);
    }
    return sum;
}

/* ---- formulas ---- */

/* The first symbol from number i on that the expression does not contain, `count` when there is
 * none; out of memory: none. */
static size_t first_absent(const cls_graph *g, cls_node a, size_t i, size_t count,
                           const cls_node *symbols) {
    clsi_cone cone;
    if (!clsi_cone_mark(g, 1, &a, &cone)) {
        (void)clsi_graph_no_memory(g);
        i = count;
    }
    while (i < count && clsi_cone_has(&cone, symbols[i])) i++;
    clsi_cone_free(&cone);
    return i;
}

static cls_status require(clsi_reader *r, const clsi_expression *e, const char *what, size_t count,
                          const cls_node *symbols, const char *why) {
    for (size_t i = 0; i < count; i++)
        if ((i = first_absent(r->s->g, e->raw, i, count, symbols)) < count)
            return clsi_at(r, e->begin, "%s does not contain `%s`: %s", what,
                           cls_node_name(r->s->g, symbols[i]), why);
    return CLS_OK;
}

/* Is there an unknown part that may be a function of this variable? `of` is a list of formulas: one
 * that has the name in it somewhere is good enough, a model is looked at again when it is built. */
static int may_be_hidden(const cls_system *s, const char *name) {
    for (size_t i = 0; i < s->n_unknown; i++)
        if (!s->unknown_of[i] || strstr(s->unknown_of[i], name)) return 1;
    return 0;
}

/* Variables that only unknown parts bring: stand_in has them until these are learned. */
static int is_hidden(const clsi_reader *r, const clsi_expression *e, size_t count,
                     const cls_node *symbols) {
    clsi_cone cone; /* one walk for all of them */
    int hidden = 0;
    if (!r->s->n_unknown || !clsi_cone_create(r->s->g, 1, &e->raw, &cone)) return 0;
    for (size_t i = 0; i < count && !hidden; i++)
        hidden = !clsi_cone_at(&cone, symbols[i]) &&
                 may_be_hidden(r->s, cls_node_name(r->s->g, symbols[i]));
    clsi_cone_free(&cone);
    return hidden;
}

/* An energy may contain t, by itself or through an input that has a formula: what changes it from
 * outside is work. Of an input that comes from data nobody knows the rate. */
static cls_status allow_energy(clsi_reader *r, const clsi_expression *e, int kinds,
                               const char *what) {
    cls_system *s = r->s;
    int known = clsi_lacks(e, CLSI_INPUT) || !cls_depends(s->g, e->bound, s->nu, s->u);
    int time = CLSI_TIME | (known ? CLSI_INPUT : 0);
    cls_status status = clsi_allow(r, e, kinds | CLSI_PARAMETER | time, what);
    if (status == CLS_OK && !clsi_lacks(e, CLSI_TIME | CLSI_INPUT) &&
        cls_depends(s->g, e->bound, 1, &s->t))
        s->varies = s->has_work = 1;
    return status;
}

static cls_status read_known(clsi_reader *r, clsi_cursor c, cls_formalism formalism, int kinds,
                             const char *what, clsi_expression *e) {
    const cls_system *s = r->s;
    const cls_node *heat = formalism == CLS_THERMAL_LAGRANGIAN ? s->T : s->S;
    cls_status status = clsi_read_expression(r, c.at, c.end, e);
    if (status == CLS_OK) status = allow_energy(r, e, kinds, what);
    if (status != CLS_OK || r->skeleton) return status;
    if (is_hidden(r, e, s->m, heat) ||
        (formalism != CLS_HAMILTONIAN && is_hidden(r, e, s->n, s->v))) {
        cls_node other = stand_in(s, formalism);
        e->raw = cls_add(s->g, e->raw, other);
        e->bound = cls_add(s->g, e->bound, other);
    }
    if (formalism != CLS_HAMILTONIAN)
        status = require(r, e, what, s->n, s->v,
                         "a coordinate without kinetic energy has no equation of motion");
    if (status == CLS_OK)
        status =
            require(r, e, what, s->m, heat, "without it this entropy would have no temperature");
    return status;
}

static cls_status read_formula(clsi_reader *r, clsi_cursor c, cls_formalism formalism, int kinds,
                               const char *what) {
    cls_system *s = r->s;
    size_t where, length = clsi_optional_name(r, &c, &where);
    if (r->has_formula)
        return clsi_at(r, where,
                       "a second formula: a system has one lagrangian, hamiltonian or "
                       "thermal lagrangian");
    clsi_expression e = {c.at, c.end, CLS_NO_NODE, CLS_NO_NODE, CLS_NO_NODE};
    cls_status status;
    if (clsi_is_unknown(r, c)) {
        status = clsi_read_unknown(r, c, where, length);
        e.written = e.raw = e.bound = stand_in(s, formalism);
    } else {
        status = read_known(r, c, formalism, kinds, what, &e);
    }
    if (status == CLS_OK) status = clsi_name_part(r, where, length);
    if (status != CLS_OK) return status;
    if (length && !(s->formula_name = clsi_strndup(r->clean + where, length)))
        return clsi_no_memory(r->error);
    s->formalism = formalism;
    clsi_replacement *other = clsi_replacement_of(r, r->clean + where, length);
    if (other) clsi_mark_learned(r, e.raw);
    if (other) e.written = e.raw = e.bound = other->node(other->context, s, CLSI_PART_FORMULA, 0);
    s->written = e.written;
    s->raw.formula = e.raw;
    s->bound.formula = e.bound;
    r->has_formula = 1;
    r->formula_where = e.begin;
    return CLS_OK;
}

cls_status clsi_read_lagrangian(clsi_reader *r, clsi_cursor c) {
    return read_formula(r, c, CLS_LAGRANGIAN, CLSI_COORDINATE | CLSI_VELOCITY | CLSI_ENTROPY,
                        "a lagrangian");
}

cls_status clsi_read_hamiltonian(clsi_reader *r, clsi_cursor c) {
    return read_formula(r, c, CLS_HAMILTONIAN, CLSI_COORDINATE | CLSI_MOMENTUM | CLSI_ENTROPY,
                        "a hamiltonian");
}

cls_status clsi_read_thermal(clsi_reader *r, clsi_cursor c) {
    return read_formula(r, c, CLS_THERMAL_LAGRANGIAN,
                        CLSI_COORDINATE | CLSI_VELOCITY | CLSI_TEMPERATURE, "a thermal lagrangian");
}

/* ---- forces ---- */

static void add_to(cls_graph *g, cls_node *sum, cls_node term) {
    *sum = cls_add(g, *sum, term);
}

typedef cls_status (*take_force)(clsi_reader *r, size_t entropy, size_t coordinate,
                                 const clsi_expression *e);

/* x <- expression, y <- expression */
static cls_status read_forces(clsi_reader *r, clsi_cursor c, size_t entropy, take_force take) {
    size_t seen[64], n_seen = 0;
    do {
        size_t j;
        clsi_expression e;
        cls_status status = clsi_read_coordinate(r, &c, &j);
        for (size_t k = 0; k < n_seen && status == CLS_OK; k++)
            if (seen[k] == j)
                status = clsi_at(r, c.at, "a second force on `%s` in one statement: add them",
                                 clsi_force_on(r->s, j));
        if (status == CLS_OK) status = clsi_expect(r, &c, "<-", "the coordinate");
        if (status != CLS_OK) return status;
        if (n_seen < sizeof seen / sizeof *seen) seen[n_seen++] = j;
        size_t end = clsi_item_end(r, &c);
        status = clsi_read_expression(r, c.at, end, &e);
        if (status == CLS_OK) status = take(r, entropy, j, &e);
        if (status != CLS_OK) return status;
        c.at = end;
    } while (clsi_accept(r, &c, ","));
    return clsi_expect_end(r, &c);
}

/* What stands in the file for the part whose name is there. */
static cls_status note_written(clsi_reader *r, size_t where, size_t length, size_t on,
                               cls_node formula) {
    cls_system *s = r->s;
    if (!length) return CLS_OK;
    char *part = clsi_strndup(r->clean + where, length);
    if (!part ||
        !clsi_grow(&s->as_written, &r->written_capacity, s->n_written + 1, sizeof *s->as_written)) {
        free(part);
        return clsi_no_memory(r->error);
    }
    s->as_written[s->n_written++] = (clsi_written){part, on, formula};
    return CLS_OK;
}

static cls_status take_friction(clsi_reader *r, size_t i, size_t j, const clsi_expression *e) {
    cls_system *s = r->s;
    cls_status status = note_written(r, r->written_where, r->written_length, j, e->raw);
    if (status != CLS_OK) return status;
    if (r->replaced) clsi_mark_learned(r, e->raw);
    if (r->replaced) return CLS_OK; /* read for its errors, and for its parameters */
    clsi_sparse_add(s->g, &s->raw.friction, i, j, e->raw);
    clsi_sparse_add(s->g, &s->bound.friction, i, j, e->bound);
    return CLS_OK;
}

/* `x <- unknown`: a friction on x alone. */
static cls_status read_only_coordinate(clsi_reader *r, clsi_cursor *c) {
    clsi_cursor rest = *c;
    size_t j;
    if (clsi_find_word(r, rest.at, rest.end, "unknown") == rest.end) return CLS_OK;
    if (clsi_is_unknown(r, rest) || clsi_is_friction_form(r, rest)) return CLS_OK;
    cls_status status = clsi_read_coordinate(r, &rest, &j);
    if (status == CLS_OK) status = clsi_expect(r, &rest, "<-", "the coordinate");
    if (status != CLS_OK || !clsi_is_unknown(r, rest)) return status;
    *c = rest;
    return note_written(r, r->written_where, r->written_length, j, CLS_NO_NODE);
}

/* The forces of what replaces the friction being read, on the momenta that it acts on. */
static cls_status put_forces(clsi_reader *r, size_t i) {
    cls_system *s = r->s;
    size_t *on = clsi_calloc(s->n + 1, sizeof *on);
    if (!on) return clsi_no_memory(r->error);
    size_t n = clsi_part_acts_on(s, r->replaced->part, on);
    for (size_t k = 0; k < n; k++) {
        cls_node force = r->replaced->node(r->replaced->context, s, CLSI_PART_FRICTION, on[k]);
        clsi_sparse_add(s->g, &s->raw.friction, i, on[k], force);
        clsi_sparse_add(s->g, &s->bound.friction, i, on[k], force);
    }
    free(on);
    return CLS_OK;
}

cls_status clsi_read_friction(clsi_reader *r, clsi_cursor c) {
    char list[256];
    size_t i, where, length = 0;
    clsi_skip_space(r, &c);
    where = c.at;
    if (r->s->m + r->s->nr == 0)
        return clsi_at(r, where,
                       "friction makes heat: declare `entropy S` so that the heat has a "
                       "place to go");
    if (!clsi_accept_word(r, &c, "on")) {
        length = clsi_word_length(r, &c, 0);
        c.at += length;
        if (!clsi_accept_word(r, &c, "on"))
            return clsi_at(r, c.at,
                           "expected `on` and the entropy that takes the heat: `friction "
                           "on %s: ...`; there are %s",
                           r->s->m ? r->s->entropy[0].name : r->s->reservoir[0],
                           clsi_list_names(r, CLSI_ENTROPY, list));
    }
    cls_status status = clsi_read_heat_place(r, &c, "`on`", &i);
    if (status == CLS_OK) status = clsi_expect(r, &c, ":", "the entropy");
    if (status == CLS_OK && i >= r->s->m) r->s->has_heat = 1;
    if (status == CLS_OK) status = clsi_name_part(r, where, length);
    r->replaced = clsi_replacement_of(r, r->clean + where, length);
    r->written_where = where;
    r->written_length = length;
    if (status == CLS_OK) status = read_only_coordinate(r, &c);
    if (status == CLS_OK && clsi_is_friction_form(r, c)) {
        r->replaced = NULL;
        return clsi_read_friction_form(r, c, i, where, length);
    }
    if (status == CLS_OK)
        status = clsi_is_unknown(r, c) ? clsi_read_unknown(r, c, where, length)
                                       : read_forces(r, c, i, take_friction);
    if (status == CLS_OK && r->replaced) status = put_forces(r, i);
    r->replaced = NULL;
    return status;
}

cls_status clsi_read_heat(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    size_t i, j, where, length;
    clsi_cursor ahead = c;
    length = clsi_word_length(r, &ahead, 0);
    where = ahead.at;
    ahead.at += length;
    if (length && !clsi_accept(r, &ahead, "<->")) {
        c = ahead; /* the first word was a name */
    } else {
        length = 0;
    }
    cls_status status = clsi_read_heat_place(r, &c, "`heat exchange`", &i);
    if (status == CLS_OK) status = clsi_expect(r, &c, "<->", "the temperature");
    if (status == CLS_OK) status = clsi_read_heat_place(r, &c, "`<->`", &j);
    if (status == CLS_OK && i == j)
        status = clsi_at(r, c.at,
                         "heat flows between two different temperatures, this is `%s` "
                         "twice",
                         i < s->m ? s->temperature[i].name : s->reservoir[i - s->m]);
    if (status == CLS_OK && i >= s->m && j >= s->m)
        status = clsi_at(r, c.at, "heat between two reservoirs changes nothing in the system");
    if (status == CLS_OK) status = clsi_expect(r, &c, ":", "the second temperature");
    if (status == CLS_OK) status = clsi_name_part(r, where, length);
    clsi_expression e = {.raw = cls_constant(s->g, 0), .bound = cls_constant(s->g, 0)};
    if (status == CLS_OK)
        status = clsi_is_unknown(r, c) ? clsi_read_unknown(r, c, where, length)
                                       : clsi_read_expression(r, c.at, c.end, &e);
    if (status == CLS_OK && !clsi_is_unknown(r, c))
        status = note_written(r, where, length, 0, e.raw);
    if (status != CLS_OK) return status;
    clsi_replacement *other = clsi_replacement_of(r, r->clean + where, length);
    if (other) clsi_mark_learned(r, e.raw);
    if (other) e.raw = e.bound = other->node(other->context, s, CLSI_PART_HEAT, 0);
    if (i >= s->m || j >= s->m) {
        size_t place = i < j ? i * s->nr + j - s->m : j * s->nr + i - s->m;
        add_to(s->g, &s->raw.bath[place], e.raw);
        add_to(s->g, &s->bound.bath[place], e.bound);
        s->has_heat = 1;
        return CLS_OK;
    }
    const size_t both[2] = {i, j};
    for (int k = 0; k < 2; k++) {
        clsi_sparse_add(s->g, &s->raw.conductance, both[k], both[1 - k], e.raw);
        clsi_sparse_add(s->g, &s->bound.conductance, both[k], both[1 - k], e.bound);
    }
    return CLS_OK;
}

static cls_status take_external(clsi_reader *r, size_t unused, size_t j, const clsi_expression *e) {
    cls_system *s = r->s;
    cls_node any;
    (void)unused;
    if (j >= s->paired || cls_symbols_of(s->g, 1, &e->bound, 1, &any) > 0 ||
        cls_depends(s->g, e->raw, s->nu, s->u)) {
        add_to(s->g, &s->raw.force[j], e->raw);
        add_to(s->g, &s->bound.force[j], e->bound);
        s->has_work = 1;
    } else {
        add_to(s->g, &s->raw.potential, cls_mul(s->g, cls_neg(s->g, e->raw), s->q[j]));
        add_to(s->g, &s->bound.potential, cls_mul(s->g, cls_neg(s->g, e->bound), s->q[j]));
    }
    return CLS_OK;
}

cls_status clsi_read_external_force(clsi_reader *r, clsi_cursor c) {
    size_t length = clsi_word_length(r, &c, 0), where = c.at;
    c.at += length;
    cls_status status = clsi_expect(r, &c, ":", length ? "the name" : "`external force`");
    if (status == CLS_OK) status = clsi_name_label(r, where, length, "an external force");
    return status == CLS_OK ? read_forces(r, c, 0, take_external) : status;
}

cls_status clsi_read_external_potential(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    clsi_expression e;
    size_t where, length = clsi_optional_name(r, &c, &where);
    cls_status status = clsi_read_expression(r, c.at, c.end, &e);
    if (status == CLS_OK) status = allow_energy(r, &e, CLSI_COORDINATE, "an external potential");
    if (status == CLS_OK) status = clsi_name_label(r, where, length, "an external potential");
    if (status != CLS_OK) return status;
    add_to(s->g, &s->raw.potential, e.raw);
    add_to(s->g, &s->bound.potential, e.bound);
    return CLS_OK;
}

/* ---- invariants and outputs: columns of their own ---- */

static cls_status add_named(clsi_reader *r, clsi_named **list, size_t *capacity, size_t n,
                            size_t where, size_t length, cls_node node) {
    if (!clsi_grow(list, capacity, n + 1, sizeof **list)) return clsi_no_memory(r->error);
    (*list)[n] = (clsi_named){.name = clsi_strndup(r->clean + where, length), .node = node};
    return (*list)[n].name ? CLS_OK : clsi_no_memory(r->error);
}

/* `NAME =`, or `NAME [unit] =`. */
static cls_status read_column_name(clsi_reader *r, clsi_cursor *c, const char *word, size_t *where,
                                   size_t *length, char **unit) {
    clsi_cursor ahead = *c;
    *unit = NULL;
    if ((*length = clsi_optional_name(r, c, where))) return CLS_OK;
    *length = clsi_word_length(r, &ahead, 0);
    *where = ahead.at;
    ahead.at += *length;
    cls_status status =
        *length && clsi_accept(r, &ahead, "[") ? clsi_read_unit(r, &ahead, unit) : CLS_OK;
    if (status == CLS_OK && (!*unit || !clsi_accept(r, &ahead, "=")))
        status = clsi_at(r, *where, "expected `%s NAME = formula`, or `%s NAME [unit] = formula`",
                         word, word);
    if (status != CLS_OK) {
        free(*unit);
        *unit = NULL;
    }
    *c = ahead;
    return status;
}

static cls_status read_column(clsi_reader *r, clsi_cursor c, const char *word, size_t *n,
                              clsi_named **raw, size_t *raw_capacity, clsi_named **bound,
                              size_t *capacity) {
    size_t where, length;
    char *unit;
    cls_status status = read_column_name(r, &c, word, &where, &length, &unit);
    if (status != CLS_OK) return status;
    if (*n == MAX_COLUMNS) status = clsi_at(r, where, "more than %d of these", (int)MAX_COLUMNS);
    clsi_expression e;
    if (status == CLS_OK) status = clsi_read_expression(r, c.at, c.end, &e);
    if (status == CLS_OK)
        status = clsi_declare(r, r->clean + where, length, CLSI_LABEL, *n, CLS_NO_NODE, where);
    if (status == CLS_OK) status = add_named(r, raw, raw_capacity, *n, where, length, e.raw);
    if (status != CLS_OK) {
        free(unit);
        return status;
    }
    (*raw)[*n].unit = unit;
    status = add_named(r, bound, capacity, *n, where, length, e.bound);
    if (status == CLS_OK) {
        ++*n;
    } else {
        free((*raw)[*n].name);
        free(unit);
    }
    return status;
}

cls_status clsi_read_invariant(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    return read_column(r, c, "invariant", &s->n_invariants, &s->raw.invariants,
                       &r->raw_invariants_capacity, &s->bound.invariants, &r->invariants_capacity);
}

cls_status clsi_read_output(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    return read_column(r, c, "output", &s->n_outputs, &s->raw.outputs, &r->raw_outputs_capacity,
                       &s->bound.outputs, &r->outputs_capacity);
}

/* ---- start, step, until ---- */

/* The place of a variable in cls_system.start, and of the variable it excludes (v.x and p.x). */
static size_t start_slot(const cls_system *s, const clsi_name *n, size_t *rival) {
    size_t i = n->index, moving = s->nq, thermal = moving + 2 * s->n;
    *rival = SIZE_MAX;
    switch (n->kind) {
    case CLSI_VELOCITY: *rival = moving + s->n + i; return moving + i;
    case CLSI_MOMENTUM: *rival = moving + i; return moving + s->n + i;
    case CLSI_ENTROPY: *rival = thermal + s->m + i; return thermal + i;
    case CLSI_TEMPERATURE: *rival = thermal + i; return thermal + s->m + i;
    default: return i;
    }
}

static cls_status read_start_item(clsi_reader *r, clsi_cursor *c) {
    cls_system *s = r->s;
    char found[48], near[96], list[256];
    int kinds = CLSI_COORDINATE | CLSI_VELOCITY | CLSI_MOMENTUM | CLSI_ENTROPY | CLSI_TEMPERATURE;
    size_t length = clsi_word_length(r, c, 1), where = c->at, rival;
    const clsi_name *n = length ? clsi_lookup(r, r->clean + where, length, kinds) : NULL;
    if (!n)
        return clsi_at(r, where,
                       "expected a coordinate, velocity, momentum, entropy or "
                       "temperature, found %s%s; there are %s",
                       clsi_found(r, c, found),
                       clsi_suggest(r, r->clean + where, length, kinds, near),
                       clsi_list_names(r, CLSI_COORDINATE | CLSI_MOMENTUM | CLSI_ENTROPY, list));
    size_t slot = start_slot(s, n, &rival);
    if (!isnan(s->start[slot])) return clsi_at(r, where, "`%s` has a start already", n->name);
    if (rival != SIZE_MAX && !isnan(s->start[rival]))
        return clsi_at(r, where, "`%s` follows from what was given before it: give one of the two",
                       n->name);
    c->at += length;
    cls_status status = clsi_expect(r, c, "=", "the variable");
    if (status != CLS_OK) return status;
    size_t end = clsi_item_end(r, c);
    status = clsi_read_number(r, c->at, end, "a start value", &s->start[slot]);
    c->at = end;
    return status;
}

cls_status clsi_read_start(clsi_reader *r, clsi_cursor c) {
    cls_status status;
    do {
        status = read_start_item(r, &c);
    } while (status == CLS_OK && clsi_accept(r, &c, ","));
    return status == CLS_OK ? clsi_expect_end(r, &c) : status;
}

static cls_status read_positive(clsi_reader *r, clsi_cursor c, const char *what, double *out) {
    clsi_skip_space(r, &c);
    if (*out > 0) return clsi_at(r, c.at, "%s is given twice", what);
    cls_status status = clsi_read_number(r, c.at, c.end, what, out);
    if (status == CLS_OK && !(*out > 0))
        status = clsi_at(r, c.at, "%s must be positive, this is %g", what, *out);
    return status;
}

cls_status clsi_read_step(clsi_reader *r, clsi_cursor c) {
    return read_positive(r, c, "the step", &r->s->step);
}

cls_status clsi_read_until(clsi_reader *r, clsi_cursor c) {
    return read_positive(r, c, "the end time", &r->s->until);
}
