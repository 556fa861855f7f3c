/* Model files: what can be read can be written, and the second writing has the bytes of the first. */
#include "fuzz.h"
#include <clausius/model.h>

static size_t bytes_of(const char *path, char **out) {
    FILE *f = fopen(path, "rb");
    PROMISE(f);
    *out = malloc(1 << 20);
    PROMISE(*out);
    size_t n = fread(*out, 1, 1 << 20, f);
    fclose(f);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char one[96], two[96];
    if (size > 1 << 16) return 0;
    const char *path = fuzz_file(data, size, ".safetensors");
    cls_model *m = NULL, *back = NULL;
    cls_error error;
    snprintf(one, sizeof one, "%s.1", path);
    snprintf(two, sizeof two, "%s.2", path);
    if (cls_model_read(path, &m, &error) == CLS_OK && cls_model_write(m, one, &error) == CLS_OK) {
        if (cls_model_read(one, &back, &error) != CLS_OK) {
            fprintf(stderr, "%s\n", error.message);
            PROMISE(!"what was written can be read");
        }
        char *a, *b;
        PROMISE(cls_model_write(back, two, &error) == CLS_OK);
        size_t n = bytes_of(one, &a);
        PROMISE(n == bytes_of(two, &b) && memcmp(a, b, n) == 0);
        free(a);
        free(b);
    }
    cls_model_free(&m);
    cls_model_free(&back);
    unlink(path);
    unlink(one);
    unlink(two);
    return 0;
}
