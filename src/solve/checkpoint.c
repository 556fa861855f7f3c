/* Checkpoints: what a training needs to go on after a kill as if it had not been killed.
 *
 * A state is a list of doubles in an order fixed by the code that visits it; the same visit writes
 * and reads, so that the two cannot drift apart. Words of 64 bits are kept as two halves, which are
 * exact in a double. The file is a safetensors container with the tensors `training` and
 * `optimizer` and the notes `format`, `version` and `identity` (which problem, data and settings
 * the numbers belong to); a checkpoint with another identity is refused, because its numbers mean
 * nothing there.
 *
 * Costs a pass through the numbers and one file, renamed into its place. Does not promise the same
 * bits on another machine: the arithmetic of the residuals may differ there. */
#include "solve/checkpoint.h"
#include "base/base.h"
#include "model/safetensors.h"
#include <clausius/status.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT "clausius-checkpoint 2"
#define BEFORE "clausius-checkpoint 1" /* had no checksum */

/* ---- numbers in and out ---- */

void clsi_archive_doubles(clsi_archive *a, size_t n, double *values) {
    if (a->reading) {
        if (a->failed || n > a->n - a->at) {
            a->failed = 1;
            return;
        }
        memcpy(values, a->values + a->at, n * sizeof *values);
        a->at += n;
        return;
    }
    if (a->failed || !clsi_grow(&a->values, &a->capacity, a->n + n, sizeof *a->values)) {
        a->failed = 1;
        return;
    }
    memcpy(a->values + a->n, values, n * sizeof *values);
    a->n += n;
}

static int is_count(double x, double limit) {
    return x >= 0 && x <= limit && x == (double)(uint64_t)x;
}

void clsi_archive_word(clsi_archive *a, uint64_t *value) {
    double halves[] = {(double)(*value >> 32), (double)(*value & 0xffffffff)};
    clsi_archive_doubles(a, 2, halves);
    if (!a->reading || a->failed) return;
    if (is_count(halves[0], 0xffffffff) && is_count(halves[1], 0xffffffff))
        *value = (uint64_t)halves[0] << 32 | (uint64_t)halves[1];
    else
        a->failed = 1;
}

void clsi_archive_size(clsi_archive *a, size_t limit, size_t *value) {
    double number = (double)*value;
    clsi_archive_doubles(a, 1, &number);
    if (!a->reading || a->failed) return;
    if (is_count(number, (double)limit))
        *value = (size_t)number;
    else
        a->failed = 1;
}

void clsi_archive_flag(clsi_archive *a, int *value) {
    size_t flag = *value != 0;
    clsi_archive_size(a, 1, &flag);
    if (a->reading && !a->failed) *value = (int)flag;
}

int clsi_archive_whole(const clsi_archive *a) {
    return !a->failed && (!a->reading || a->at == a->n);
}

void clsi_archive_clear(clsi_archive *a) {
    free(a->values);
    *a = (clsi_archive){0};
}

/* ---- the file ---- */

cls_status clsi_checkpoint_write(const char *path, const char *identity,
                                 const clsi_archive *training, const clsi_archive *optimizer,
                                 cls_error *error) {
    if (training->failed || optimizer->failed) return clsi_no_memory(error);
    clsi_container c = {0};
    cls_status status = clsi_container_add_note(&c, "format", FORMAT, error);
    if (!status) status = clsi_container_add_note(&c, "version", cls_version(), error);
    if (!status) status = clsi_container_add_note(&c, "identity", identity, error);
    if (!status)
        status = clsi_container_add_tensor(&c, "training", training->n, training->values, error);
    if (!status)
        status = clsi_container_add_tensor(&c, "optimizer", optimizer->n, optimizer->values, error);
    if (!status) status = clsi_container_seal(&c, error);
    if (!status) status = clsi_container_write(path, &c, error);
    clsi_container_clear(&c);
    return status;
}

/* What cannot be read is damaged data, and no fault of a model: the training has to begin again. */
static cls_status read_whole(const char *path, clsi_container *c, cls_error *error) {
    cls_error why = {0};
    cls_status status = clsi_container_read(path, c, &why);
    if (status == CLS_MEMORY) return clsi_no_memory(error);
    if (!status) return CLS_OK;
    return clsi_fail(error, CLS_DATA,
                     "%.1500s. A damaged checkpoint is not resumed: remove it and learn without "
                     "--resume",
                     why.message);
}

static cls_status check(const char *path, const clsi_container *c, const char *identity,
                        cls_error *error) {
    const char *format = clsi_container_note(c, "format");
    const char *made = clsi_container_note(c, "identity");
    int whole = format && made && c->n_tensors == 2 && !strcmp(c->tensors[0].name, "training") &&
                !strcmp(c->tensors[1].name, "optimizer");
    if (!whole || (strcmp(format, FORMAT) != 0 && strcmp(format, BEFORE) != 0))
        return clsi_fail(error, CLS_SYSTEM, "%s is not a checkpoint of this version of clausius",
                         path);
    if (strcmp(made, identity) != 0)
        return clsi_fail(error, CLS_USAGE,
                         "%s is a checkpoint of another training and cannot be resumed here.\n"
                         "  it was:  %s\n"
                         "  this is: %s\n"
                         "Give the same data and options, or learn without resuming",
                         path, made, identity);
    return CLS_OK;
}

/* Takes the numbers out of the container. */
static void take(clsi_tensor *t, clsi_archive *a) {
    *a = (clsi_archive){.reading = 1, .n = t->n, .capacity = t->n, .values = t->values};
    t->values = NULL;
}

cls_status clsi_checkpoint_read(const char *path, const char *identity, int *found,
                                clsi_archive *training, clsi_archive *optimizer, cls_error *error) {
    clsi_container c = {0};
    *training = *optimizer = (clsi_archive){0};
    *found = access(path, F_OK) == 0 || errno != ENOENT;
    if (!*found) return CLS_OK;
    cls_status status = read_whole(path, &c, error);
    if (!status) status = check(path, &c, identity, error);
    if (!status) {
        take(&c.tensors[0], training);
        take(&c.tensors[1], optimizer);
    }
    clsi_container_clear(&c);
    return status;
}

cls_status clsi_checkpoint_head(const char *path, const char *identity, size_t n, double *values,
                                int *found, cls_error *error) {
    clsi_container c = {0};
    *found = 0;
    if (access(path, F_OK) != 0) return CLS_OK;
    cls_status status = read_whole(path, &c, error);
    const char *made = status ? NULL : clsi_container_note(&c, "identity");
    if (made && strcmp(made, identity) == 0) status = check(path, &c, identity, error);
    if (!status && made && strcmp(made, identity) == 0) {
        *found = c.tensors[0].n >= n;
        if (*found) memcpy(values, c.tensors[0].values, n * sizeof *values);
    }
    clsi_container_clear(&c);
    return status;
}
