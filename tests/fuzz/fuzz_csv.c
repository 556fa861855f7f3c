/* Tables as text: what can be read can be written, and reads back to the same bits and names. */
#include "fuzz.h"
#include <clausius/table.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size && strchr("\x93\x89PM", data[0])) return 0; /* files of arrays: fuzz_arrays */
    const char *path = fuzz_file(0, data, size), *again = fuzz_file(1, NULL, 0);
    cls_table *t = NULL, *u = NULL;
    cls_error error;
    if (cls_table_read(path, &t, &error) == CLS_OK && cls_table_rows(t) &&
        cls_table_write(t, again, &error) == CLS_OK) {
        if (cls_table_read(again, &u, &error) != CLS_OK) {
            fprintf(stderr, "%s\n", error.message);
            PROMISE(!"what was written can be read");
        }
        PROMISE(cls_table_columns(t) == cls_table_columns(u) &&
                cls_table_rows(t) == cls_table_rows(u));
        for (size_t c = 0; c < cls_table_columns(t); c++) {
            PROMISE(strcmp(cls_table_name(t, c), cls_table_name(u, c)) == 0);
            PROMISE(memcmp(cls_table_column(t, c), cls_table_column(u, c),
                           cls_table_rows(t) * sizeof(double)) == 0);
        }
    }
    cls_table_free(&t);
    cls_table_free(&u);
    return 0;
}
