/* Units: a conversion there and back is the number itself, to round-off. */
#include "fuzz.h"
#include <clausius/table.h>
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 200) return 0;
    char *text = fuzz_text(data, size), *to = strchr(text, '\n');
    double a[3], b[3];
    if (to) {
        *to++ = 0;
        if (cls_unit_convert(text, to, &a[0], &a[1], &a[2], NULL) == CLS_OK) {
            PROMISE(cls_unit_convert(to, text, &b[0], &b[1], &b[2], NULL) == CLS_OK);
            double x = 3 * a[0] / a[1] + a[2], y = x * b[0] / b[1] + b[2];
            double scale = 3 + fabs(b[2]) + fabs(a[2] * b[0] / b[1]);
            PROMISE(!isfinite(x) || x == 0 || fabs(x) < 1e-280 || fabs(x) > 1e280 ||
                    fabs(y - 3) <= 1e-12 * scale);
        }
    } else {
        (void)cls_unit_convert(text, NULL, &a[0], &a[1], &a[2], NULL);
    }
    free(text);
    return 0;
}
