/* Checkpoints: two lists of numbers or an error; what is read back from a writing is the same. */
#include "fuzz.h"
#include "solve/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 || size > 1 << 16) return 0;
    const char *path = fuzz_file(0, data, size);
    clsi_archive training, optimizer, a, b;
    cls_error error;
    int found = 0;
    if (clsi_checkpoint_read(path, "fuzz", &found, &training, &optimizer, &error) == CLS_OK) {
        PROMISE(clsi_checkpoint_write(path, "fuzz", &training, &optimizer, &error) == CLS_OK);
        PROMISE(clsi_checkpoint_read(path, "fuzz", &found, &a, &b, &error) == CLS_OK && found);
        PROMISE(a.n == training.n && memcmp(a.values, training.values, a.n * sizeof(double)) == 0);
        PROMISE(b.n == optimizer.n &&
                memcmp(b.values, optimizer.values, b.n * sizeof(double)) == 0);
        clsi_archive_clear(&a);
        clsi_archive_clear(&b);
    }
    clsi_archive_clear(&training);
    clsi_archive_clear(&optimizer);
    return 0;
}
