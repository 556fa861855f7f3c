/* Where a model comes from: the files it was learned from, by name and fingerprint. */
#include "base/base.h"
#include "model/json.h"
#include "model/safetensors.h"

json_t *clsi_data_files(size_t n_tables, const char *const *names, int (*stop)(void *owner),
                        void *owner) {
    json_t *files = json_array();
    for (size_t i = 0; i < n_tables; i++) {
        char hash[65] = "";
        /* what was read once and cannot be read again (a pipe) has no fingerprint */
        cls_status status = clsi_sha256_file(names[i], stop, owner, hash, NULL);
        errno = 0;
        json_t *name = json_string(names[i]);
        if (!name && errno != ENOMEM)
            name = json_string("(its name is not UTF-8)"); /* the hash tells which it is */
        json_t *file = json_pack("{s:o, s:s}", "file", name, "sha256", hash);
        if (status == CLS_MEMORY) {
            json_decref(file);
            file = NULL;
        }
        clsi_json_add(&files, file);
    }
    return files;
}
