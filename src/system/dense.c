/* LU factors: dense.inc compiled here, and what only the library asks of them. */
#include "system/dense.h"
#include <float.h>
#include <math.h>

#define CLSI_DENSE /* seen by other files */
#include "system/dense.inc"

double clsi_lu_quality(size_t n, const double *lu) {
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs(lu[i * n + i]);
        if (d < low) low = d;
        if (d > high) high = d;
    }
    return high > 0 ? low / high : 0;
}
