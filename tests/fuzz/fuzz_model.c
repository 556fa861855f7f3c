/* Model files: what can be read can be written, and the second writing has the bytes of the first. */
#include "fuzz.h"
#include <clausius/model.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 || size > 1 << 16) return 0;
    const char *path = fuzz_file(0, data, size), *one = fuzz_file(1, NULL, 0),
               *two = fuzz_file(2, NULL, 0);
    cls_model *first = NULL, *back = NULL;
    cls_error error;
    if (cls_model_read(path, &first, &error) == CLS_OK &&
        cls_model_write(first, one, &error) == CLS_OK) {
        if (cls_model_read(one, &back, &error) != CLS_OK) {
            fprintf(stderr, "%s\n", error.message);
            PROMISE(!"what was written can be read");
        }
        size_t n, m;
        PROMISE(cls_model_write(back, two, &error) == CLS_OK);
        const char *a = fuzz_bytes(1, &n), *b = fuzz_bytes(2, &m);
        PROMISE(n == m && memcmp(a, b, n) == 0);
    }
    cls_model_free(&first);
    cls_model_free(&back);
    return 0;
}
