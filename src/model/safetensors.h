/* The safetensors container: 8 bytes of header length (little endian), a JSON header, raw tensors.
 * Knows nothing of models; model.c puts meaning into it. */
#ifndef CLSI_SAFETENSORS_H
#define CLSI_SAFETENSORS_H

#include <clausius/status.h>
#include <stddef.h>

typedef struct clsi_tensor {
    char *name;
    size_t n;       /* numbers, one dimension */
    double *values; /* F64 */
} clsi_tensor;

typedef struct clsi_container {
    size_t n_notes;
    char **keys, **values; /* __metadata__, strings */
    size_t n_tensors;
    clsi_tensor *tensors;
} clsi_container;

/* A file whose note `format` is clausius-... 2 or later carries a checksum over all its other notes
 * and all its tensors; one that does not agree is CLS_DATA. Files of format 1 have none. */
#define CLSI_CHECKSUM "sha256"
cls_status clsi_container_read(const char *path, clsi_container *out, cls_error *error);
cls_status clsi_container_write(const char *path, const clsi_container *c, cls_error *error);
void clsi_container_clear(clsi_container *c);
const char *clsi_container_note(const clsi_container *c, const char *key); /* NULL if absent */
cls_status clsi_container_add_note(clsi_container *c, const char *key, const char *value,
                                   cls_error *error); /* copies */
cls_status clsi_container_add_tensor(clsi_container *c, const char *name, size_t n,
                                     const double *values, cls_error *error); /* copies */
/* Adds the checksum, as the last note. */
cls_status clsi_container_seal(clsi_container *c, cls_error *error);

/* SHA-256 of the names, notes and numbers, sorted by name, without the note that holds it. */
void clsi_container_sha256(const clsi_container *c, char hex[65]);
/* SHA-256 of a file's bytes as 64 hex digits. `stop` (may be NULL) is asked on the way: CLS_INTERRUPTED. */
cls_status clsi_sha256_file(const char *path, int (*stop)(void *owner), void *owner, char hex[65],
                            cls_error *error);

/* ---- provenance.c ---- */

/* For the provenance of a model: [{"file", "sha256"}, ...]; NULL when out of memory. Files that are being read
 * when `stop` (may be NULL) says so have no sum. */
struct json_t *clsi_data_files(size_t n_tables, const char *const *names, int (*stop)(void *owner),
                               void *owner);

#endif
