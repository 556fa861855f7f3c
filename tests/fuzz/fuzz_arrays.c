/* NPY, NPZ, HDF5 and MAT files, by their first bytes: a table or an error. */
#include "fuzz.h"
#include <clausius/table.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4 || size > 1 << 16) return 0;
    int known = memcmp(data, "\x93NUM", 4) == 0 || memcmp(data, "PK\3\4", 4) == 0 ||
                memcmp(data, "\x89HDF", 4) == 0 || memcmp(data, "MATL", 4) == 0;
    if (!known) return 0; /* text: fuzz_csv */
    const char *path = fuzz_file(data, size, ".npz");
    cls_table *t = NULL;
    cls_read_options o = cls_read_defaults();
    cls_error error;
    o.dt = 0.1;
    if (cls_table_read_with(path, &o, &t, &error) == CLS_OK)
        PROMISE(cls_table_columns(t) > 0);
    else
        PROMISE(!t && error.message[0]);
    cls_table_free(&t);
    unlink(path);
    return 0;
}
