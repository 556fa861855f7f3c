/* The judge: laws recomputed from the system's definition alone. It never sees a scheme or a
 * simulator; it reads states. */
#ifndef CLAUSIUS_AUDIT_H
#define CLAUSIUS_AUDIT_H

#include <clausius/status.h>
#include <clausius/system.h>
#include <clausius/table.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cls_law {
    char name[64]; /* "energy", "entropy", "invariant g", "dissipation", ... */
    int passed;
    int finding;    /* reported, never judged: not a law */
    double value;   /* what was measured */
    double limit;   /* what it may be at most (or at least: see `text`) */
    char text[256]; /* a sentence for a person: what was measured and where the worst is */
} cls_law;

typedef struct cls_audit cls_audit;

typedef struct cls_audit_options {
    size_t size;
    double energy_limit;    /* relative energy drift allowed, 1e-12 */
    double invariant_limit; /* relative drift of invariants allowed, 1e-12 */
    /* how far a row may lie below the highest entropy before it, relative to sum |S_i|; 2e-15 */
    double entropy_limit;
    double beyond;  /* state laws are also checked in a box this much larger than the data's; 2 */
    size_t samples; /* points in that box (a fixed low-discrepancy sequence); 4096 */
    double order_expected; /* 0: the order is reported, not judged */
} cls_audit_options;

CLS_API cls_audit_options cls_audit_defaults(void);

/* Judges a trajectory: the table needs time and the system's state columns (any complete set:
 * q with v.q or p.q, S or T). Laws along the path: energy, entropy, invariants, domain; laws of the
 * definition over the data's range and beyond it: dissipation sign, heat exchange sign, momentum at
 * rest, mass matrix positive, heat capacity positive, temperature positive. "momentum at rest" and
 * "convexity" are findings: they are reported and not judged; so are work and heat where the rows are too far
 * apart for their rates. Convexity is reported where there are
 * momenta and entropies: `value` is the smallest eigenvalue over the data of a thermal lagrangian's
 * Hessian in (v, T), of a hamiltonian's in (p, S). */
CLS_API cls_status cls_audit_trajectory(const cls_system *s, const cls_table *t,
                                        const cls_audit_options *options, cls_audit **out,
                                        cls_error *error);
/* Adds the observed order from the same motion at steps h, h/2, h/4 (states at common times). */
CLS_API cls_status cls_audit_order(cls_audit *a, const cls_system *s, const cls_table *h1,
                                   const cls_table *h2, const cls_table *h4, cls_error *error);
CLS_API void cls_audit_free(cls_audit **a);
CLS_API int cls_audit_passed(const cls_audit *a);
CLS_API size_t cls_audit_count(const cls_audit *a);
CLS_API const cls_law *cls_audit_law(const cls_audit *a, size_t i);

#ifdef __cplusplus
}
#endif
#endif
