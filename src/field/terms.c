/* Fields made of the user's own formulas: terms(1; v.x^2; v.x^2*T1^2).
 *
 *     phi(x) = sum_k theta_k e_k(x),      e_k any expression of the inputs by their names
 *
 * For knowledge of the kind "the friction is a constant plus something quadratic in v": few
 * parameters, each with a meaning, and the residual stays linear in them. The expressions are
 * compiled with their first and second derivatives, so rows are exact. Costs one program
 * run per term and sample (about 10 ns per operation). Terms that depend on each other are not refused: the
 * solver reports the directions that nothing sees. */
#include "base/base.h"
#include "field/linear_pairs.h"
#include <stdlib.h>
#include <string.h>

/* Small enough for the work and the results of one term's program to stand on a stack of 64 kB, where nothing
 * can fail. */
enum {
    MAX_TERMS = 100,
    MAX_WORK = 1000,
    MAX_FIRST = 1 + CLSI_FIELD_MAX_INPUTS,
    MAX_SECOND = CLSI_FIELD_MAX_INPUTS * (CLSI_FIELD_MAX_INPUTS + 1) / 2
};

/* Of one term. */
typedef struct programs {
    cls_program *first;  /* x -> value, slopes (d) */
    cls_program *pair;   /* u (d), w (d) -> discrete gradient (d) */
    cls_program *second; /* x -> second derivatives in (i <= j): [pair(i, j)] */
} programs;

typedef struct terms {
    size_t n, d;
    char **text, **name; /* (n) formulas, (d) inputs */
    programs *list;      /* (n) */
} terms;

static const terms *of(const clsi_field *f) {
    return f->data;
}

static size_t pair(size_t i, size_t j) {
    return i < j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j;
}

/* ---- creation ---- */

static void clear(clsi_field *f) {
    terms *t = f->data;
    for (size_t k = 0; t->text && k < t->n; k++) free(t->text[k]);
    for (size_t i = 0; t->name && i < t->d; i++) free(t->name[i]);
    for (size_t k = 0; t->list && k < t->n; k++) {
        cls_program_free(&t->list[k].first);
        cls_program_free(&t->list[k].pair);
        cls_program_free(&t->list[k].second);
    }
    free(t->text);
    free(t->name);
    free(t->list);
}

/* "a; b; c" into t->text; line breaks become blanks. */
static cls_status split(const char *arguments, terms *t, cls_error *error) {
    size_t n = 1;
    for (const char *c = arguments; *c; c++) n += *c == ';';
    if (n > MAX_TERMS)
        return clsi_fail(error, CLS_USAGE, "terms(...): %zu terms, at most %d are allowed", n,
                         (int)MAX_TERMS);
    if (!(t->text = clsi_calloc(n, sizeof *t->text))) return clsi_no_memory(error);
    for (const char *c = arguments; t->n < n; c += strcspn(c, ";") + 1) {
        char *text = t->text[t->n] = clsi_strndup(c, strcspn(c, ";"));
        if (!text) return clsi_no_memory(error);
        t->n++;
        for (char *k = text; *k; k++)
            if (*k == '\n') *k = ' ';
    }
    return CLS_OK;
}

static cls_status copy_names(const clsi_field *f, terms *t, cls_error *error) {
    if (!f->names) return clsi_fail(error, CLS_USAGE, "terms(...) needs inputs that have names");
    if (!(t->name = clsi_calloc(f->d, sizeof *t->name))) return clsi_no_memory(error);
    for (size_t i = 0; i < f->d; i++)
        if (!(t->name[i] = clsi_strdup(f->names[i]))) return clsi_no_memory(error);
    return CLS_OK;
}

/* What was meant where terms are separated as arguments are, or whose data lack the momenta. */
static const char *advice(const terms *t, const char *text) {
    int depth = 0, momenta = 0;
    for (const char *c = text; *c; c++) {
        depth += (*c == '(') - (*c == ')');
        if (*c == ',' && !depth) return "\nterms are separated by `;`, terms(1; q^2)";
    }
    for (size_t i = 0; i < t->d; i++) momenta |= strncmp(t->name[i], "p.", 2) == 0;
    return strstr(text, "p.") && !momenta ? "\nmomenta are no inputs here: the data have none. "
                                            "Write the kinetic energy as a formula and let the "
                                            "rest be unknown, p.q^2/2 + V"
                                          : "";
}

/* The terms as nodes over x (d). */
static cls_status parse(const terms *t, cls_graph *g, const cls_node *x, cls_node *out,
                        cls_error *error) {
    cls_scope scope = {t->d, (const char *const *)t->name, x};
    for (size_t k = 0; k < t->n; k++) {
        cls_error inner = {0};
        cls_status status = cls_parse(g, t->text[k], &scope, NULL, 1, 1, &out[k], &inner);
        if (status != CLS_OK)
            return clsi_fail(error, CLS_USAGE, "terms(...), term %zu `%s`: %.400s%s", k + 1,
                             t->text[k], inner.message, advice(t, t->text[k]));
    }
    return CLS_OK;
}

static cls_status check_size(const terms *t, size_t k, const cls_program *p, cls_error *error) {
    if (cls_program_work_size(p) <= MAX_WORK) return CLS_OK;
    return clsi_fail(error, CLS_USAGE, "terms(...), term %zu `%.100s`: the formula is too long",
                     k + 1, t->text[k]);
}

static cls_status compile_point(cls_graph *g, const terms *t, size_t k, cls_node term,
                                const cls_node *x, cls_error *error) {
    size_t d = t->d;
    programs *p = &t->list[k];
    cls_node first[MAX_FIRST] = {term}, second[MAX_SECOND];
    cls_status status = cls_jacobian(g, 1, &term, d, x, first + 1);
    for (size_t i = 0; i < d && status == CLS_OK; i++)
        for (size_t j = 0; j <= i; j++) second[pair(i, j)] = cls_derivative(g, first[1 + j], x[i]);
    if (status == CLS_OK) status = cls_graph_status(g, error);
    if (status == CLS_OK) status = cls_program_create(g, d, x, 1 + d, first, &p->first, error);
    if (status == CLS_OK)
        status = cls_program_create(g, d, x, d * (d + 1) / 2, second, &p->second, error);
    if (status == CLS_OK) status = check_size(t, k, p->first, error);
    if (status == CLS_OK) status = check_size(t, k, p->second, error);
    return status;
}

/* A formula over u and w: the term's discrete gradient. */
static cls_status compile_pair(cls_graph *g, const terms *t, size_t k, cls_node term,
                               const cls_node *x, const cls_node *ends, cls_error *error) {
    size_t d = t->d;
    programs *p = &t->list[k];
    cls_node out[CLSI_FIELD_MAX_INPUTS];
    cls_status status = cls_discrete_gradient(g, term, d, x, ends, ends + d, out);
    if (status == CLS_OK) status = cls_program_create(g, 2 * d, ends, d, out, &p->pair, error);
    if (status == CLS_OK) status = check_size(t, k, p->pair, error);
    return status;
}

static cls_status compile(terms *t, cls_error *error) {
    cls_graph *g = NULL;
    size_t d = t->d;
    cls_node term[MAX_TERMS], x[CLSI_FIELD_MAX_INPUTS], ends[2 * CLSI_FIELD_MAX_INPUTS];
    t->list = clsi_calloc(t->n, sizeof *t->list);
    cls_status status = t->list ? cls_graph_create(NULL, &g, error) : clsi_no_memory(error);
    if (status != CLS_OK) return status;
    for (size_t i = 0; i < d; i++) {
        x[i] = cls_symbol(g, t->name[i]);
        ends[i] = cls_fresh_symbol(g, "u");
        ends[d + i] = cls_fresh_symbol(g, "w");
    }
    status = parse(t, g, x, term, error);
    for (size_t k = 0; k < t->n && status == CLS_OK; k++) {
        status = compile_point(g, t, k, term[k], x, error);
        if (status == CLS_OK) status = compile_pair(g, t, k, term[k], x, ends, error);
    }
    cls_graph_free(&g);
    return status;
}

static cls_status create(clsi_field *f, const char *arguments, cls_error *error) {
    terms *t = f->data = clsi_calloc(1, sizeof *t);
    if (!t) return clsi_no_memory(error);
    t->d = f->d;
    cls_status status = split(arguments, t, error);
    if (status == CLS_OK) status = copy_names(f, t, error);
    if (status == CLS_OK) status = compile(t, error);
    f->n_parameters = t->n;
    return status;
}

static void initialise(const clsi_field *f, cls_random *random, double *theta) {
    (void)random;
    memset(theta, 0, f->n_parameters * sizeof *theta);
}

/* ---- the interface ---- */

static void evaluate(const clsi_field *f, const double *theta, size_t n, const double *x,
                     double *value, double *gradient, double *scratch) {
    (void)scratch;
    const terms *t = of(f);
    double work[MAX_WORK], out[MAX_FIRST];
    if (value) memset(value, 0, n * sizeof *value);
    if (gradient) memset(gradient, 0, n * f->d * sizeof *gradient);
    for (size_t k = 0; k < t->n; k++) {
        cls_program_prepare(t->list[k].first, work);
        for (size_t s = 0; s < n; s++) {
            cls_program_run(t->list[k].first, work, x + s * f->d, out);
            if (value) value[s] += theta[k] * out[0];
            for (size_t i = 0; gradient && i < f->d; i++)
                gradient[s * f->d + i] += theta[k] * out[1 + i];
        }
    }
}

static void rows(const clsi_field *f, const double *theta, size_t n, const double *x,
                 const double *a, const double *b, size_t stride, double *to, double *scratch) {
    (void)theta, (void)scratch;
    const terms *t = of(f);
    double work[MAX_WORK], out[MAX_FIRST];
    for (size_t k = 0; k < t->n; k++) {
        cls_program_prepare(t->list[k].first, work);
        for (size_t s = 0; s < n; s++) {
            cls_program_run(t->list[k].first, work, x + s * f->d, out);
            double sum = a && a[s] != 0 ? a[s] * out[0] : 0; /* 0 times inf is 0 here */
            for (size_t i = 0; b && i < f->d; i++)
                if (b[s * f->d + i] != 0) sum += b[s * f->d + i] * out[1 + i];
            to[s * stride + k] += sum;
        }
    }
}

static void second_rows(const clsi_field *f, const double *theta, size_t n, const double *x,
                        size_t i, size_t j, const double *c, size_t stride, double *to,
                        double *scratch) {
    (void)theta, (void)scratch;
    const terms *t = of(f);
    double work[MAX_WORK], out[MAX_SECOND];
    for (size_t k = 0; k < t->n; k++) {
        cls_program_prepare(t->list[k].second, work);
        for (size_t s = 0; s < n; s++) {
            cls_program_run(t->list[k].second, work, x + s * f->d, out);
            to[s * stride + k] += c[s] * out[pair(i, j)];
        }
    }
}

static void reverse(const clsi_field *f, const double *theta, size_t n, const double *x,
                    const double *a, const double *b, double *out, double *scratch) {
    rows(f, theta, n, x, a, b, 0, out, scratch); /* stride 0: all samples into one row */
}

static size_t scratch_size(const clsi_field *f, size_t n) {
    (void)f, (void)n;
    return 0;
}

static void discrete_row(const clsi_field *f, const double *u, const double *w, const double *b,
                         double *row) {
    const terms *t = of(f);
    double work[MAX_WORK], out[MAX_FIRST], ends[2 * CLSI_FIELD_MAX_INPUTS];
    memcpy(ends, u, f->d * sizeof *ends);
    memcpy(ends + f->d, w, f->d * sizeof *ends);
    for (size_t k = 0; k < t->n; k++) {
        cls_program_prepare(t->list[k].pair, work);
        cls_program_run(t->list[k].pair, work, ends, out);
        for (size_t i = 0; i < f->d; i++)
            if (b[i] != 0) row[k] += b[i] * out[i];
    }
}

CLSI_LINEAR_PAIRS_OPEN(discrete_row)

static const clsi_field_pairs discrete = CLSI_LINEAR_PAIRS(discrete_row);

static cls_node expression(const clsi_field *f, cls_graph *g, const cls_node *x,
                           const cls_node *theta) {
    const terms *t = of(f);
    cls_node node[MAX_TERMS], sum = cls_constant(g, 0);
    if (parse(t, g, x, node, NULL) != CLS_OK) return CLS_NO_NODE;
    for (size_t k = 0; k < t->n; k++) sum = cls_add(g, sum, cls_mul(g, theta[k], node[k]));
    return sum;
}

const clsi_field_kind clsi_field_terms = {.name = "terms",
                                          .doc = "formulas of the system's variables",
                                          .linear = 1,
                                          .raw = 1,
                                          .create = create,
                                          .clear = clear,
                                          .initialise = initialise,
                                          .evaluate = evaluate,
                                          .rows = rows,
                                          .second_rows = second_rows,
                                          .reverse = reverse,
                                          .scratch = scratch_size,
                                          .expression = expression,
                                          .pairs = &discrete};
