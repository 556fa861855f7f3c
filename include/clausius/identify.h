/* Identification of metriplectic systems by two convex programs (`learn --optimizer qp`).
 *
 *     q' = K E_p,  p' = -K^T E_q + P E_p,  S_i' = (1/T_i) sum_j k_ij (T_j - T_i),   T = E_S
 *
 * The energy is a sum of dictionary terms with unknown coefficients, so is each unknown conductance
 * k >= 0. First the energy, from the reversible equations, the first law sum T_l S_l' = 0 and the
 * measured temperatures; then the conductances with the temperatures found. Both are least squares
 * with linear constraints: one solve each, with a certificate. Whatever the coefficients are, the
 * result has M dE = 0 and M >= 0 at every state, because k(T_j - T_i) is put into that form. */
#ifndef CLAUSIUS_IDENTIFY_H
#define CLAUSIUS_IDENTIFY_H

#include <clausius/model.h>
#include <clausius/status.h>
#include <clausius/system.h>
#include <clausius/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the time derivatives come from. */
typedef enum cls_rates {
    CLS_RATES_AUTO,     /* measured where the data has columns d.NAME for the state, else weak */
    CLS_RATES_MEASURED, /* columns d.q, d.p.q, d.S */
    CLS_RATES_WEAK,     /* integrated against test functions: no derivative of the data */
    CLS_RATES_LOCAL     /* derivatives of polynomials fitted to neighbouring points */
} cls_rates;

typedef struct cls_identify_options {
    size_t size;
    size_t n_unknown; /* the formula or parts of it, and heat exchanges; 0: what the file says */
    const char *const *unknown;
    /* "E: polynomial(2), lambda_a; M: polynomial(1; s_a, s_b)"; NULL: the file's, else polynomials
     * of order 2 in the state for energies, of order 1 for conductances */
    const char *dictionary;
    const char *symmetries; /* "J, P": invariants of the file that the energy must keep; or NULL */
    cls_rates rates;
    double sparse; /* terms that contribute less than this to every kind of row are left out; 0 */
    int literal;   /* the paper's (3.10) and (3.11): no model, see cls_identified_at */
} cls_identify_options;

CLS_API cls_identify_options cls_identify_defaults(void);

/* The certificate of one program: minimise |A x - b|^2, C x = d, E x >= e. */
typedef struct cls_convex_info {
    size_t rows, unknowns, conditions, inequalities;
    size_t terms; /* unknowns that are left after sparsity */
    size_t rank, nullity, active;
    double condition;
    double residual; /* root mean square, in characteristic units */
    double kkt, gap; /* optimality conditions and duality gap, relative */
    double seconds;
} cls_convex_info;

typedef struct cls_identify_info {
    size_t samples;   /* rows of the data */
    size_t equations; /* places at which the equations were written: samples or windows */
    size_t gaps;      /* places left out because rows are missing */
    size_t points;    /* of a window; 1 for measured rates */
    cls_rates rates;
    double noise;             /* estimated, relative to the spread of the states; the largest */
    double reversible;        /* root mean square of the rows of q and p alone */
    double first_law;         /* of sum T_l S_l' = 0 */
    double temperature_error; /* largest |E_S - T| where T is measured */
    double seconds;
    cls_convex_info energy, friction;
} cls_identify_info;

typedef struct cls_identified cls_identified;

/* As cls_learn. A null space is no failure: cls_identified_words describes it. A temperature scale
 * that nothing fixes is one. */
CLS_API cls_status cls_identify(const cls_system *system, const cls_assignments *set,
                                size_t n_tables, const cls_table *const *tables,
                                const char *const *names, const cls_identify_options *options,
                                cls_identified **out, cls_identify_info *info, cls_error *error);
CLS_API void cls_identified_free(cls_identified **id);
/* The model, the caller's from now on; NULL for --literal, whose result keeps no law by form. */
CLS_API cls_model *cls_identified_take_model(cls_identified *id);
/* The null space in words, one line for each direction; "": all is identifiable. */
CLS_API const char *cls_identified_words(const cls_identified *id);
/* Energy and operator as formulas. */
CLS_API const char *cls_identified_formulas(const cls_identified *id);
/* Terms and coefficients: of the energy first, then of conductances (literal: entries of M). */
CLS_API size_t cls_identified_terms(const cls_identified *id);
CLS_API const char *cls_identified_term(const cls_identified *id, size_t i, const char **part,
                                        double *coefficient);
/* At a state (q, p, S): rates, dE/dz (nz each) and the block M_SS (m, m); any may be NULL. */
CLS_API cls_status cls_identified_at(const cls_identified *id, const double *state, double *rates,
                                     double *gradient, double *friction, cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
