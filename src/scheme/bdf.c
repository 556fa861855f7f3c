/* bdf: the reference solution, by SUNDIALS CVODE at tight tolerance. There is no residual to build:
 * the simulator integrates y' = rate(z) (simulate/reference.c). */
#include "scheme/scheme.h"

const clsi_scheme clsi_scheme_bdf = {.info = {"bdf",
                                              "reference solution by CVODE at tight tolerance", 5,
                                              1, "", "Hindmarsh et al. 2005"}};
