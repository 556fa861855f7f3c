/* NPY, NPZ, HDF5 and MAT files, by their first bytes: a table or an error. What is parsed here (NPY) or
 * by a library that is trusted to survive (NPZ) is loaded in this process, where coverage is seen;
 * HDF5 and MAT, whose code is not ours, in the child that contains their crashes: a process each, so
 * the fuzzer does it with every 256th. */
#include "data/arrays.h"
#include "fuzz.h"
#include <sys/mman.h>

static int begins(const uint8_t *data, const char *magic) {
    return memcmp(data, magic, 4) == 0;
}

static void load_here(const clsi_loader_kind *kind, const char *path) {
    clsi_arrays a = {0};
    cls_error error = {0};
    if (!kind->load) return;
    PROMISE(!cls_table_create(1, (const char *const[]){"notes"}, &a.notes, &error));
    if (kind->load(path, &a, &error) != CLS_OK) PROMISE(error.message[0]);
    for (size_t i = 0; i < a.n; i++) PROMISE(a.list[i].name);
    clsi_arrays_free(&a);
}

/* The libraries open files themselves, in another process: one without a disk and a name. */
static void load_apart(const uint8_t *data, size_t size) {
    int file = memfd_create("fuzz", 0);
    char path[32];
    PROMISE(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    cls_table *t = NULL;
    cls_read_options o = cls_read_defaults();
    cls_error error;
    o.dt = 0.1;
    if (cls_table_read_with(path, &o, &t, &error) == CLS_OK)
        PROMISE(cls_table_columns(t) > 0);
    else
        PROMISE(!t && error.message[0]);
    cls_table_free(&t);
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4 || size > 1 << 16) return 0;
    const char *path = fuzz_file(0, data, size);
    if (begins(data, "\x93NUM"))
        load_here(&clsi_load_npy, path);
    else if (begins(data, "PK\3\4"))
        load_here(&clsi_load_npz, path);
    else if ((begins(data, "\x89HDF") || begins(data, "MATL")) && fuzz_chosen(data, size, 256))
        load_apart(data, size);
    return 0;
}
