/* The fingerprint of a file: SHA-256 (FIPS 180-4, by libmd) of its bytes, as hexadecimal digits. A
 * model says with it which data it was learned from.
 *
 * Costs one pass through the file in blocks; memory does not grow with its length. It says that two
 * files are the same, not who made them: nothing is signed. libmd's own SHA256File is not used
 * because it loses the reason of a failure. */
#include "model/safetensors.h"
#include "base/base.h"
#include "model/sha256.h"
#include <errno.h>
#include <sha2.h>
#include <string.h>

/* The order of bytes is that of the file, so that the sum is the same on any machine. */
static void sum_values(SHA2_CTX *context, const clsi_tensor *t) {
    for (size_t i = 0; i < t->n; i++) {
        uint64_t bits;
        uint8_t bytes[8];
        memcpy(&bits, &t->values[i], sizeof bits);
        for (int k = 0; k < 8; k++) bytes[k] = (uint8_t)(bits >> 8 * k);
        SHA256Update(context, bytes, sizeof bytes);
    }
}

static void sum_text(SHA2_CTX *context, const char *text) {
    SHA256Update(context, (const uint8_t *)text, strlen(text) + 1);
}

/* The least name behind `last` (NULL: of all), or NULL: names are unique, and the order in which a
 * reader found them does not count. Quadratic, in a handful of names. */
static const char *name_after(const clsi_container *c, int tensors, const char *last, size_t *at) {
    const char *found = NULL;
    for (size_t i = 0; i < (tensors ? c->n_tensors : c->n_notes); i++) {
        const char *name = tensors ? c->tensors[i].name : c->keys[i];
        if ((last && strcmp(name, last) <= 0) || (found && strcmp(name, found) >= 0)) continue;
        found = name;
        *at = i;
    }
    return found;
}

void clsi_container_sha256(const clsi_container *c, char hex[65]) {
    SHA2_CTX context;
    size_t at = 0;
    SHA256Init(&context);
    for (const char *name = NULL; (name = name_after(c, 0, name, &at));) {
        if (strcmp(name, CLSI_CHECKSUM) == 0) continue;
        sum_text(&context, name);
        sum_text(&context, c->values[at]);
    }
    for (const char *name = NULL; (name = name_after(c, 1, name, &at));) {
        sum_text(&context, name);
        sum_values(&context, &c->tensors[at]);
    }
    SHA256End(&context, hex);
}

enum { SHORT = 1 << 27 }; /* bytes that take half a second at most are summed, whoever waits */

static void add_bytes(SHA2_CTX *context, int fast, size_t n, const uint8_t *bytes) {
    size_t blocks = fast && context->bitcount[0] % 512 == 0 ? n / 64 : 0;
    clsi_sha256_blocks(context->state.st32, blocks, bytes);
    context->bitcount[0] += 512 * (uint64_t)blocks;
    SHA256Update(context, bytes + 64 * blocks, n - 64 * blocks);
}

cls_status clsi_sha256_file(const char *path, int (*stop)(void *owner), void *owner, char hex[65],
                            cls_error *error) {
    hex[0] = 0;
    FILE *in = fopen(path, "rb");
    if (!in) return clsi_cannot_open(path, errno, error);
    SHA2_CTX context;
    SHA256Init(&context);
    uint8_t block[1 << 14]; /* threads may have stacks of 64 kB */
    size_t got;
    uint64_t done = 0;
    int fast = clsi_sha256_is_fast(), stopped = 0;
    while (!stopped && (got = fread(block, 1, sizeof block, in)) > 0) {
        add_bytes(&context, fast, got, block);
        done += got;
        stopped = done > SHORT && stop && stop(owner);
    }
    int failed = ferror(in), reason = errno;
    fclose(in);
    if (stopped) return clsi_fail(error, CLS_INTERRUPTED, "%s: interrupted", path);
    if (failed) return clsi_fail(error, CLS_IO, "%s: cannot read: %s", path, strerror(reason));
    SHA256End(&context, hex);
    return CLS_OK;
}
