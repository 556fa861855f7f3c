/* Short formulas for what was learned.
 *
 * Each learned part is a function of few inputs. A dictionary of elementary terms of them (powers,
 * logarithms, exponentials, sines where units allow, lets of the file, products of two) is fitted to
 * its values, or for energies to its slopes, at states inside the range of the data. Candidates come
 * from an l1 path and from greedy selection; of up to four terms the best subset of them is taken,
 * beyond that terms are dropped one by one. The price of every drop is kept. With data the constants
 * of the chosen terms are fitted to the motions again, with their standard errors. The formulas go
 * into a system file in the place of what was unknown: frictions and conductances there are positive
 * by form. */
#ifndef CLAUSIUS_FORMULAS_H
#define CLAUSIUS_FORMULAS_H

#include <clausius/model.h>
#include <clausius/status.h>
#include <clausius/table.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cls_formulas_options {
    size_t size;
    size_t terms;     /* of each part; 0: as many as pay */
    double tolerance; /* a shorter formula is taken when its error is below this; 0: 1e-3 */
    uint64_t seed;
    /* Motions to fit the constants to; 0: none, constants are those of the learned functions. */
    size_t n_tables;
    const cls_table *const *tables;
    const char *const *names;
} cls_formulas_options;
CLS_API cls_formulas_options cls_formulas_defaults(void);

typedef struct cls_formula_term {
    const char *text; /* without its constant */
    const char *name; /* of the constant in the system file */
    const char *unit; /* of the constant, "" where the file has no units */
    double value;
    double error; /* standard error: of the fit to data, else of the fit to the learned function */
    double price; /* relative error of the part without this term, the others fitted again */
} cls_formula_term;

/* One length of a formula. */
typedef struct cls_formula_step {
    size_t terms;
    double error; /* relative, root mean square */
    const char *formula;
} cls_formula_step;

typedef struct cls_formula {
    const char *part;
    const char
        *what; /* "friction coefficient", "conductance", "energy", ...: what it is a formula of */
    const char *reason; /* why there is none, "" where there is one */
    const char *form;   /* "plain", or "positive": made so by (u + sqrt(u^2 + e^2))/2 */
    double constant;    /* that the terms do not have (the origin of an energy) */
    double error;       /* relative to the learned function, at states that nothing was fitted to */
    size_t n_terms, n_steps;
    const cls_formula_term *terms;
    const cls_formula_step *steps; /* longest first */
} cls_formula;

typedef struct cls_formulas cls_formulas;
CLS_API cls_status cls_formulas_find(const cls_model *model, const cls_formulas_options *options,
                                     cls_formulas **out, cls_error *error);
CLS_API void cls_formulas_free(cls_formulas **formulas);
CLS_API size_t cls_formulas_count(const cls_formulas *formulas);
CLS_API const cls_formula *cls_formulas_at(const cls_formulas *formulas, size_t i);
CLS_API int
cls_formulas_refitted(const cls_formulas *formulas); /* were constants fitted to data? */
/* For a person. Free with cls_text_free. */
CLS_API cls_status cls_formulas_show(const cls_formulas *formulas, char **text, cls_error *error);
/* The system file with the formulas in it; CLS_USAGE where a part has none. Free with cls_text_free. */
CLS_API cls_status cls_formulas_source(const cls_formulas *formulas, char **text, cls_error *error);
CLS_API cls_status cls_formulas_write(const cls_formulas *formulas, const char *path,
                                      cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
