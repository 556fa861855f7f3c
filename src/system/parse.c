/* A .clausius file becomes a cls_system.
 *
 * Statements are found first (a line that begins with white space continues the one before), then
 * read in six passes: parameters, declarations, positions and momenta that stand alone (so that
 * coordinates come first), lets, physics, anchors. So a formula may stand
 * above the parameters it uses, and printed products begin with their parameters (nodes are sorted
 * by age). Cost: a few walks over the text and over each formula. The whole system is checked here;
 * what comes out can be simulated. */
#include "base/misuse.h"
#include "system/language.h"
#include "system/pattern.h"
#include "system/ports.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20, MAX_STATEMENTS = 10000000, MAX_NODES = 1 << 27, MAX_LENGTH = 1 << 30 };

typedef enum pass { PARAMETER, DECLARE, DECLARE_ALONE, LET, PHYSICS, ANCHOR } pass;

typedef struct keyword {
    const char *first, *second; /* second NULL for one word */
    pass when;
    cls_status (*read)(clsi_reader *r, clsi_cursor c);
    cls_status (*again)(clsi_reader *r, clsi_cursor c); /* when all names are known, or NULL */
    int turns; /* may be read on the text with arrays: TOP or also in loops */
} keyword;
enum { TOP = 1, LOOPS = 2 };

static const keyword keywords[] = {
    {"system", NULL, DECLARE, clsi_read_system, NULL, 0},
    {"coordinate", NULL, DECLARE, clsi_read_coordinates, NULL, TOP},
    {"position", NULL, DECLARE_ALONE, clsi_read_positions, NULL, TOP},
    {"momentum", NULL, DECLARE_ALONE, clsi_read_momenta, NULL, TOP},
    {"mole", NULL, DECLARE_ALONE, clsi_read_moles, NULL, TOP},
    {"internal", NULL, DECLARE_ALONE, clsi_read_internals, NULL, TOP},
    {"entropy", NULL, DECLARE, clsi_read_entropies, NULL, TOP},
    {"temperature", NULL, DECLARE, clsi_read_temperatures, NULL, TOP},
    {"parameter", NULL, PARAMETER, clsi_read_parameters, NULL, 0},
    {"input", NULL, PARAMETER, clsi_read_inputs, NULL, 0},
    {"reservoir", NULL, DECLARE, clsi_read_reservoir, clsi_set_reservoir, 0},
    {"let", NULL, LET, clsi_read_let, NULL, 0},
    {"part", NULL, LET, clsi_read_part, NULL, 0},
    {"function", NULL, LET, clsi_read_function_line, NULL, 0},
    {"total", "entropy", LET, clsi_read_total_entropy, NULL, 0},
    {"coefficient", NULL, LET, clsi_read_coefficient, NULL, 0},
    {"coupling", NULL, LET, clsi_read_coupling, NULL, 0},
    {"lagrangian", NULL, PHYSICS, clsi_read_lagrangian, NULL, TOP},
    {"hamiltonian", NULL, PHYSICS, clsi_read_hamiltonian, NULL, TOP},
    {"energy", NULL, PHYSICS, clsi_read_energy, NULL, TOP},
    {"thermal", "lagrangian", PHYSICS, clsi_read_thermal, NULL, TOP},
    {"rigid", "body", DECLARE_ALONE, clsi_read_body, clsi_set_body, 0},
    {"vertical", NULL, DECLARE_ALONE, clsi_read_vertical, clsi_set_vertical, 0},
    {"attitude", NULL, DECLARE_ALONE, clsi_read_attitude, clsi_set_attitude, 0},
    {"ode", NULL, DECLARE_ALONE, clsi_read_ode, NULL, 0},
    {"poisson", NULL, PHYSICS, clsi_read_poisson, NULL, LOOPS},
    {"algebra", NULL, PHYSICS, clsi_read_algebra, NULL, 0},
    {"friction", "operator", PHYSICS, clsi_read_operator, NULL, 0},
    {"friction", NULL, PHYSICS, clsi_read_friction, NULL, LOOPS},
    {"dissipation", NULL, PHYSICS, clsi_read_dissipation, NULL, 0},
    {"heat", "exchange", PHYSICS, clsi_read_heat, NULL, LOOPS},
    {"heat", "source", PHYSICS, clsi_read_source, NULL, LOOPS},
    {"thermal", "noise", PHYSICS, clsi_read_noise, NULL, 0},
    {"diffusion", NULL, PHYSICS, clsi_read_diffusion, NULL, LOOPS},
    {"reaction", NULL, PHYSICS, clsi_read_reaction, NULL, LOOPS},
    {"matter", "source", PHYSICS, clsi_read_matter_source, NULL, LOOPS},
    {"external", "force", PHYSICS, clsi_read_external_force, NULL, LOOPS},
    {"external", "potential", PHYSICS, clsi_read_external_potential, NULL, TOP},
    {"invariant", NULL, PHYSICS, clsi_read_invariant, NULL, TOP},
    {"output", NULL, PHYSICS, clsi_read_output, NULL, TOP},
    {"start", NULL, PHYSICS, clsi_read_start, NULL, LOOPS},
    {"step", NULL, PHYSICS, clsi_read_step, NULL, 0},
    {"until", NULL, PHYSICS, clsi_read_until, NULL, 0},
    {"anchor", NULL, ANCHOR, clsi_read_anchor, NULL, 0},
    {"data", NULL, ANCHOR, clsi_read_data, NULL, 0},
    {"picture", NULL, ANCHOR, clsi_read_picture, NULL, 0},
};
enum { N_KEYWORDS = sizeof keywords / sizeof *keywords };

#define FORCES                                                                                     \
    "forces that have a potential belong into the energy, `lagrangian m*v.x^2/2 - k*x^2/2`; a "    \
    "force "                                                                                       \
    "from outside is `external force: x <- u`, friction is `friction on T: x <- -c*v.x`"
#define FRICTIONS                                                                                  \
    "that is a friction, whose heat goes to a body or a reservoir: `reservoir T0 = 293`, "         \
    "`friction on T0: x <- -c*v.x`"
#define ENERGIES                                                                                   \
    "energies are written as a whole: `lagrangian m*v.x^2/2 - V`, `hamiltonian p.x^2/(2*m) + V`, " \
    "with `part V = ...` where a name helps"
#define STATES                                                                                     \
    "what moves is a `coordinate x` (with its velocity v.x), a `temperature T` or an `entropy "    \
    "S`; "                                                                                         \
    "a quantity that has only a rate is `ode x' = -k*x`"

/* Words that belong elsewhere, and those that people try first. */
static const struct {
    const char *word, *text;
} later[] = {
    {"unknown", "`unknown` stands in the place of a formula: `friction F1 on T1: unknown`, "
                "`part N = unknown`"},
    {"force", FORCES},
    {"torque", FORCES},
    {"load", FORCES},
    {"spring", FORCES},
    {"damping", FRICTIONS},
    {"damper", FRICTIONS},
    {"drag", FRICTIONS},
    {"resistance", FRICTIONS},
    {"potential", ENERGIES},
    {"kinetic", ENERGIES},
    {"mass", "a mass is a number, `parameter m = 1`, that stands in the energy: "
             "`lagrangian m*v.x^2/2 - V`"},
    {"constant", "a number with a name is a parameter: `parameter c = 1`"},
    {"const", "a number with a name is a parameter: `parameter c = 1`"},
    {"state", STATES},
    {"variable", STATES},
    {"var", STATES},
    {"equation", "equations follow from energies, frictions and heat exchanges; rates that have no "
                 "energy are `ode x' = -k*x`"},
};

typedef struct statement {
    const keyword *key; /* NULL: number body.at of those that are not written out */
    clsi_cursor body;
} statement;

static cls_status unknown_statement(clsi_reader *r, size_t where, size_t length) {
    char word[64];
    const char *words[N_KEYWORDS];
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), r->clean + where);
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (strcmp(word, later[i].word) == 0) return clsi_at(r, where, "%s", later[i].text);
    for (size_t i = 0; i < N_KEYWORDS; i++) words[i] = keywords[i].first;
    const char *near = cls_nearest_word(word, N_KEYWORDS, words);
    if (near)
        return clsi_at(r, where, "no statement begins with `%s`: did you mean `%s`?", word, near);
    return clsi_at(
        r, where,
        "no statement begins with `%s`: expected coordinate, position, momentum, "
        "mole, internal, entropy, temperature, parameter, let, part, function, lagrangian, "
        "hamiltonian, thermal "
        "lagrangian, energy, dissipation, friction operator, rigid body, vertical, "
        "attitude, poisson, algebra, friction, heat "
        "exchange, heat source, thermal noise, diffusion, reaction, matter source, reservoir, "
        "input, "
        "external, invariant, output, "
        "start, step, until, anchor, data, ode, or storage, resistive and the other "
        "components",
        word);
}

static cls_status find_keyword(clsi_reader *r, clsi_cursor c, statement *out) {
    char found[48];
    size_t where = c.at, length = clsi_word_length(r, &c, 0);
    char wanted[64] = "";
    if (!length)
        return clsi_at(r, where, "expected a statement, found %s", clsi_found(r, &c, found));
    for (size_t i = 0; i < N_KEYWORDS; i++) {
        const keyword *k = &keywords[i];
        clsi_cursor rest = c;
        if (!clsi_accept_word(r, &rest, k->first)) continue;
        if (!k->second || clsi_accept_word(r, &rest, k->second)) {
            *out = (statement){k, rest};
            return CLS_OK;
        }
        snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "%s%s",
                 *wanted ? "` or `" : "", k->second);
        where = rest.at;
    }
    if (!*wanted) return unknown_statement(r, where, length);
    const char *first = r->clean + c.at;
    c.at += length;
    clsi_cursor next = c;
    int heat = length == 8 && !strncmp(first, "external", 8) && clsi_accept_word(r, &next, "heat");
    return clsi_at(r, where, "expected `%s` after `%.*s`, found %s%s", wanted, (int)length, first,
                   clsi_found(r, &c, found),
                   heat ? "; heat from outside is `heat source NAME on T: ...`" : "");
}

int clsi_turned_key(const clsi_reader *r, clsi_cursor c, int inside, clsi_turned *out) {
    for (size_t i = 0; i < N_KEYWORDS; i++) {
        const keyword *k = &keywords[i];
        clsi_cursor rest = c;
        if (!clsi_accept_word(r, &rest, k->first)) continue;
        if (k->second && !clsi_accept_word(r, &rest, k->second)) continue;
        out->key = i;
        out->passes = 1u << k->when;
        out->body = rest;
        return inside ? k->turns == LOOPS : k->turns != 0;
    }
    return 0;
}

/* A word that statements are made of is no name of an index here: where it stands as a word, it would be one. */
int clsi_is_statement_word(const clsi_reader *r, clsi_cursor word) {
    static const char *const others[] = {"on", "in", "of", "with", "inf", "infinity", "unknown"};
    const char *text = r->clean + word.at;
    size_t n = word.end - word.at;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (clsi_word_is(others[i], text, n)) return 1;
    for (size_t i = 0; i < N_KEYWORDS; i++)
        if (clsi_word_is(keywords[i].first, text, n) ||
            (keywords[i].second && clsi_word_is(keywords[i].second, text, n)))
            return 1;
    return 0;
}

cls_status clsi_read_keyword(clsi_reader *r, size_t key, clsi_cursor body) {
    return keywords[key].read(r, body);
}

static int is_blank_line(const clsi_reader *r, size_t begin, size_t end) {
    while (begin < end && r->clean[begin] == ' ') begin++;
    return begin == end;
}

/* Those that are not written out, as far as they would stand in front of `at`. */
static cls_status add_turned(clsi_reader *r, size_t at, size_t *next, statement **list, size_t *n,
                             size_t *capacity) {
    const clsi_patterns *p = r->lean ? r->arrays->patterns : NULL;
    for (; p && *next < p->n_turned && p->turned[*next].flat <= at;
         *next = p->turned[*next].behind) {
        if (!clsi_grow(list, capacity, *n + 1, sizeof **list)) return clsi_no_memory(r->error);
        (*list)[(*n)++] = (statement){NULL, {*next, 0}};
    }
    return CLS_OK;
}

/* Statements as ranges: from a line that begins with a letter to the next such line. */
static cls_status find_statements(clsi_reader *r, statement **list, size_t *n) {
    size_t capacity = 0, turned = 0;
    for (size_t at = 0; at < r->length;) {
        cls_status added = add_turned(r, at, &turned, list, n, &capacity);
        if (added != CLS_OK) return added;
        const char *newline = memchr(r->clean + at, '\n', r->length - at);
        size_t end = newline ? (size_t)(newline - r->clean) : r->length;
        if (!is_blank_line(r, at, end)) {
            if (r->clean[at] != ' ') {
                if (*n == MAX_STATEMENTS)
                    return clsi_at(r, at, "more than %d statements", (int)MAX_STATEMENTS);
                if (!clsi_grow(list, &capacity, *n + 1, sizeof **list))
                    return clsi_no_memory(r->error);
                (*list)[*n].key = keywords; /* found below */
                (*list)[(*n)++].body = (clsi_cursor){at, end};
            } else if (*n) {
                (*list)[*n - 1].body.end = end;
            } else {
                return clsi_at(r, at,
                               "a line that begins with white space continues a statement, "
                               "but there is none above it");
            }
        }
        at = end + 1;
    }
    cls_status status = add_turned(r, SIZE_MAX, &turned, list, n, &capacity);
    for (size_t i = 0; i < *n && status == CLS_OK; i++)
        if ((*list)[i].key) status = find_keyword(r, (*list)[i].body, &(*list)[i]);
    return status;
}

/* ---- after the declarations: symbols and room for the physics ---- */

static cls_node *zeros(cls_graph *g, size_t n) {
    cls_node *list = clsi_calloc(n, sizeof *list);
    for (size_t i = 0; list && i < n; i++) list[i] = cls_constant(g, 0);
    return list;
}

static int make_physics(const cls_system *s, clsi_physics *p) {
    cls_graph *g = s->g;
    size_t n = s->n, m = s->m;
    p->formula = p->potential = cls_constant(g, 0);
    p->force = zeros(g, n);
    p->source = zeros(g, m);
    p->bath = zeros(g, m * s->nr);
    p->reservoir = zeros(g, s->nr);
    if (!p->source || !p->bath || !p->reservoir) return 0;
    p->operator_force = zeros(g, n);
    p->operator_heat = zeros(g, m);
    if (!p->operator_force || !p->operator_heat || !p->force) return 0;
    int good =
        clsi_sparse_create(&p->kinematics, s->nq, n) & clsi_sparse_create(&p->poisson, n, n) &
        clsi_sparse_create(&p->friction, m + s->nr, n) & clsi_sparse_create(&p->conductance, m, m);
    for (size_t i = 0; i < s->paired && good; i++)
        clsi_sparse_set(g, &p->kinematics, i, i, cls_constant(g, 1));
    return good;
}

static void list_block(cls_system *s, const clsi_symbol_block *b, const clsi_array_names *what) {
    for (size_t j = 0; j < b->stems; j++) {
        cls_node *list = what->kind[j] == CLSI_COORDINATE ? s->q
                         : what->kind[j] == CLSI_VELOCITY ? s->v
                         : what->kind[j] == CLSI_MOMENTUM ? s->p
                         : what->kind[j] == CLSI_ENTROPY  ? s->S
                                                          : s->T;
        for (size_t k = 0; k < b->count; k++)
            list[what->first[j] + k] = b->first + (cls_node)(k * b->stems + j);
    }
}

static cls_status make_symbols(clsi_reader *r) {
    cls_system *s = r->s;
    size_t slots = s->nq + 2 * s->n + 2 * s->m;
    if (s->n == 0 && s->m == 0)
        return clsi_at(r, r->length,
                       "nothing moves here: a system needs a coordinate, `coordinate x`, or a "
                       "temperature, `temperature T`");
    s->q = clsi_calloc(s->nq, sizeof(cls_node));
    s->v = clsi_calloc(s->n, sizeof(cls_node));
    s->p = clsi_calloc(s->n, sizeof(cls_node));
    s->S = clsi_calloc(s->m, sizeof(cls_node));
    s->T = clsi_calloc(s->m, sizeof(cls_node));
    s->start = clsi_calloc(slots, sizeof(double));
    s->boltzmann = clsi_calloc(s->nr, sizeof(double));
    if (!s->boltzmann || !s->q || !s->v || !s->p || !s->S || !s->T || !s->start ||
        !make_physics(s, &s->raw) || !make_physics(s, &s->bound))
        return clsi_no_memory(r->error);
    s->canonical = s->nq == s->paired && s->n == s->paired;
    for (size_t i = 0; i < slots; i++) s->start[i] = NAN;
    for (size_t k = 0; k < s->nr; k++) s->boltzmann[k] = NAN;
    for (size_t i = 0; i < r->n_names; i++) {
        const clsi_name *n = &r->names[i];
        cls_node *list = n->kind == CLSI_COORDINATE    ? s->q
                         : n->kind == CLSI_VELOCITY    ? s->v
                         : n->kind == CLSI_MOMENTUM    ? s->p
                         : n->kind == CLSI_ENTROPY     ? s->S
                         : n->kind == CLSI_TEMPERATURE ? s->T
                                                       : NULL;
        if (list) list[n->index] = n->node;
    }
    for (size_t k = 0; k < r->n_blocks; k++) list_block(s, &s->g->blocks[k], &r->blocks[k]);
    return CLS_OK;
}

static cls_status check_set(clsi_reader *r) {
    char near[96], list[256];
    for (size_t i = 0; r->set && i < r->set->n; i++) {
        const char *name = r->set->names[i];
        int both = CLSI_PARAMETER | CLSI_INPUT;
        if (r->set->formulas && r->set->formulas[i]) {
            if (clsi_set_means(r, name, CLSI_INPUT)) continue;
            if (clsi_set_means(r, name, CLSI_PARAMETER))
                return clsi_fail(r->error, CLS_USAGE,
                                 "parameter %s cannot be set to '%.200s': it must be a number "
                                 "(only an input can be a formula of t)",
                                 name, r->set->formulas[i]);
        } else if (!isfinite(r->set->values[i]))
            return clsi_fail(r->error, CLS_USAGE,
                             "parameter %s cannot be set to %g: it must be a "
                             "finite number",
                             name, r->set->values[i]);
        if (clsi_set_means(r, name, both)) continue;
        clsi_list_names(r, both, list);
        return clsi_fail(r->error, CLS_USAGE, "%s has no parameter%s `%s`%s; %s%s", r->file,
                         r->s->nu ? " or input" : "", name,
                         clsi_suggest(r, name, strlen(name), both, near),
                         list[0] ? "it has " : "it has no parameters", list);
    }
    return CLS_OK;
}

static cls_status read_pass(clsi_reader *r, const statement *list, size_t n, pass when) {
    cls_status status = CLS_OK;
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        const keyword *k = list[i].key;
        if (!k) {
            status = clsi_read_turned(r, list[i].body.at, 1u << when);
            continue;
        }
        if (k->when == when) status = k->read(r, list[i].body);
        if (when == LET && k->again && status == CLS_OK) status = k->again(r, list[i].body);
    }
    return status;
}

static cls_status read_all(clsi_reader *r, statement **list) {
    size_t n = 0;
    cls_status status = clsi_clean_text(r);
    if (status == CLS_OK) status = clsi_read_arrays(r);
    if (status == CLS_OK && r->lean && clsi_has_ports(r))
        return clsi_at(r, 0, "components are written out");
    if (status == CLS_OK) status = clsi_read_ports(r, r->loader);
    if (status == CLS_OK) status = find_statements(r, list, &n);
    if (status == CLS_OK) {
        r->s->t = cls_symbol(r->s->g, "t");
        status = clsi_declare(r, "t", 1, CLSI_TIME, 0, r->s->t, 0);
    }
    if (status == CLS_OK) status = read_pass(r, *list, n, PARAMETER);
    if (status == CLS_OK) status = check_set(r);
    if (status == CLS_OK) status = read_pass(r, *list, n, DECLARE);
    if (status == CLS_OK) status = read_pass(r, *list, n, DECLARE_ALONE);
    if (status == CLS_OK) status = make_symbols(r);
    if (status == CLS_OK) status = clsi_read_domains(r);
    if (status == CLS_OK) status = read_pass(r, *list, n, LET);
    if (status == CLS_OK) status = read_pass(r, *list, n, PHYSICS);
    if (status == CLS_OK) status = clsi_read_rates(r);
    if (status == CLS_OK) status = clsi_check_functions(r);
    if (status == CLS_OK && !r->has_formula)
        status = clsi_at(r, r->length,
                         "no formula: write a lagrangian, a hamiltonian or a thermal "
                         "lagrangian");
    if (status == CLS_OK) status = read_pass(r, *list, n, ANCHOR);
    return status;
}

static cls_status finish(clsi_reader *r) {
    cls_system *s = r->s;
    cls_error inner = {0};
    s->says_step = s->step != 0;
    s->says_until = s->until != 0;
    if (!s->says_step) s->step = 0.01;
    if (!s->says_until) s->until = 10;
    clsi_default_attitudes(s);
    if (r->skeleton) return cls_graph_status(s->g, r->error);
    cls_status status = clsi_form_create(s, &s->bound, NULL, &s->form, &inner);
    if (status == CLS_OK && (r->loose || s->has_entropy)) {
        status = clsi_check_operator(r);
        if (status == CLS_OK) status = clsi_check_entropy(r);
        if (status != CLS_OK) return status;
    }
    if (status == CLS_OK) status = clsi_system_build_rows(s, &inner);
    if (status == CLS_OK) status = clsi_system_build_duals(s, &inner);
    if (status == CLS_OK) return CLS_OK;
    if (status == CLS_MEMORY) return clsi_no_memory(r->error);
    return clsi_at(r, r->formula_where, "the equations of motion cannot be derived: %s",
                   inner.message);
}

static void reader_clear(clsi_reader *r) {
    for (size_t i = 0; i < r->n_names; i++) free(r->names[i].name);
    free(r->names);
    free(r->name_table);
    free(r->symbol_names);
    free(r->scope_names);
    free(r->scope_nodes);
    free(r->let_symbol);
    free(r->let_raw);
    free(r->let_kinds);
    free(r->parameter_constant);
    clsi_replacer_free(&r->lets);
    clsi_replacer_free(&r->parameters);
    free(r->domains);
    free(r->loose);
    free(r->rates);
    free(r->blocks);
    free(r->clean);
    clsi_loops_free(&r->arrays);
}

/* "dir/my-gas.clausius" -> "my-gas" */
static char *stem_of(const char *file) {
    const char *slash = strrchr(file, '/'), *stem = slash ? slash + 1 : file;
    size_t n = strlen(stem);
    if (n > 9 && strcmp(stem + n - 9, ".clausius") == 0) n -= 9;
    return clsi_strndup(stem, n);
}

/* `lean`: what is repeated is read once (pattern.h), where the file has any of that: then it stays 1. */
static cls_status parse_once(const char *text, const char *file, const cls_assignments *set,
                             size_t n, clsi_replacement *replacements, int skeleton,
                             const clsi_loader *loader, int *lean, cls_system **out,
                             cls_error *error) {
    *out = NULL;
    size_t length = strlen(text);
    if (length > MAX_BYTES)
        return clsi_fail(error, CLS_SYSTEM, "%s: larger than 1 MB: a system file is a page or two",
                         file);
    cls_system *s = clsi_calloc(1, sizeof *s);
    if (!s) return clsi_no_memory(error);
    clsi_reader r = {.file = file,
                     .text = text,
                     .length = length,
                     .set = set,
                     .error = error,
                     .s = s,
                     .replacements = replacements,
                     .n_replacements = n,
                     .skeleton = skeleton,
                     .loader = loader,
                     .lean = *lean};
    statement *list = NULL;
    s->name = stem_of(file);
    s->title = clsi_strdup(s->name ? s->name : "");
    s->text = clsi_strndup(text, length);
    /* arrays and learned parts are larger than what people write, and of known size */
    cls_graph_limits limits = {.max_nodes = MAX_NODES, .max_length = MAX_LENGTH};
    cls_status status = s->name && s->title && s->text ? cls_graph_create(&limits, &s->g, error)
                                                       : clsi_no_memory(error);
    if (status == CLS_OK) status = read_all(&r, &list);
    if (status == CLS_OK) status = finish(&r);
    *lean = r.lean;
    free(list);
    reader_clear(&r);
    if (status == CLS_OK) {
        *out = s;
    } else {
        cls_system_free(&s);
    }
    return status;
}

/* A file with arrays is read without writing them out; what is wrong with it is said by reading it again, written
 * out. Something learned in the place of a part is asked for in one reading. */
static cls_status parse_twice(const char *text, const char *file, const cls_assignments *set,
                              size_t n, clsi_replacement *replacements, int skeleton,
                              const clsi_loader *loader, cls_system **out, cls_error *error) {
    int lean = n == 0;
    if (!file) file = "system";
    cls_status status =
        parse_once(text, file, set, n, replacements, skeleton, loader, &lean, out, error);
    if (status == CLS_OK || status == CLS_MEMORY || !lean) return status;
    if (error) *error = (cls_error){0};
    lean = 0;
    return parse_once(text, file, set, n, replacements, skeleton, loader, &lean, out, error);
}

static cls_status reads(const char *text, const char *file, const cls_assignments *set,
                        const clsi_loader *loader) {
    cls_system *s = NULL;
    cls_status status = parse_twice(text, file, set, 0, NULL, 0, loader, &s, NULL);
    cls_system_free(&s);
    return status;
}

/* A file that is read as it stands, and not with what --set gives: that is a wrong --set, and the message names what is
 * at fault, as far as one value alone is. */
static cls_status blame_set(const char *text, const char *file, const cls_assignments *set,
                            const clsi_loader *loader, cls_status status, cls_error *error) {
    enum { MOST = 8 }; /* each costs a reading */
    clsi_text names = {0};
    size_t fault = SIZE_MAX;
    cls_assignments rest = {0};
    if (reads(text, file, NULL, loader) != CLS_OK) return status;
    for (size_t i = 0; i < set->n && set->n <= MOST && fault == SIZE_MAX; i++) {
        rest.n = 1;
        rest.names = set->names + i;
        rest.values = set->values + i;
        rest.formulas = set->formulas ? set->formulas + i : NULL;
        if (reads(text, file, &rest, loader) != CLS_OK) fault = i;
    }
    for (size_t i = 0; i < set->n && i < MOST; i++)
        if (fault == SIZE_MAX || fault == i)
            clsi_text_printf(&names, "%s%s=%.6g", names.length ? ", " : "", set->names[i],
                             set->values[i]);
    if (names.failed) return clsi_no_memory(error);
    if (error) {
        char said[sizeof error->message];
        snprintf(said, sizeof said, "%s", error->message);
        snprintf(error->message, sizeof error->message, "--set %.200s%s: %.*s", names.data,
                 fault == SIZE_MAX && set->n > MOST ? ", ..." : "", (int)sizeof said - 220, said);
        error->status = CLS_USAGE;
    }
    clsi_text_clear(&names);
    return CLS_USAGE;
}

static cls_status parse(const char *text, const char *file, const cls_assignments *set, size_t n,
                        clsi_replacement *replacements, int skeleton, const clsi_loader *loader,
                        cls_system **out, cls_error *error) {
    cls_status status = parse_twice(text, file, set, n, replacements, skeleton, loader, out, error);
    if (status != CLS_SYSTEM || !set || !set->n || n) return status;
    return blame_set(text, file ? file : "system", set, loader, status, error);
}

cls_status clsi_system_parse_alone(const char *text, const char *file, const cls_assignments *set,
                                   int lean, cls_system **out, cls_error *error) {
    return parse_once(text, file, set, 0, NULL, 0, NULL, &lean, out, error);
}

cls_status cls_system_parse(const char *text, const char *file, const cls_assignments *set,
                            cls_system **out, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, text);
    return parse(text, file, set, 0, NULL, 0, NULL, out, error);
}

cls_status clsi_system_parse_with(const char *text, const char *file, const cls_assignments *set,
                                  size_t n, clsi_replacement *replacements, int skeleton,
                                  cls_system **out, cls_error *error) {
    return parse(text, file, set, n, replacements, skeleton, NULL, out, error);
}

cls_status clsi_no_such_part(const cls_system *s, const char *name, cls_error *error) {
    if (clsi_label_of(s, name))
        return clsi_fail(error, CLS_USAGE,
                         "'%s' of %s is %s, which cannot be unknown as a whole: write `part m = "
                         "unknown` or `parameter k = unknown` and use it in its formula",
                         name, s->name, clsi_label_of(s, name));
    const char *near = cls_nearest_word(name, s->n_parts, (const char *const *)s->parts);
    return clsi_fail(
        error, CLS_USAGE, "%s has no part '%s'%s%s%s; `clausius show %s --parts` lists them",
        s->name, name, near ? "; did you mean '" : "", near ? near : "", near ? "'" : "", s->name);
}

cls_status clsi_replacements_used(const cls_system *s, size_t n, const clsi_replacement *list,
                                  cls_error *error) {
    for (size_t i = 0; i < n; i++)
        if (!list[i].used) return clsi_no_such_part(s, list[i].part, error);
    return CLS_OK;
}

cls_status clsi_system_parse_using(const char *text, const char *file, const cls_assignments *set,
                                   const clsi_loader *loader, cls_system **out, cls_error *error) {
    return parse(text, file, set, 0, NULL, 0, loader, out, error);
}
