/* The fingerprint of a file: SHA-256 (FIPS 180-4, by libmd) of its bytes, as hexadecimal digits. A
 * model says with it which data it was learned from.
 *
 * Costs one pass through the file in blocks; memory does not grow with its length. It says that two
 * files are the same, not who made them: nothing is signed. libmd's own SHA256File is not used
 * because it loses the reason of a failure. */
#include "model/safetensors.h"
#include "base/base.h"
#include <errno.h>
#include <sha2.h>
#include <string.h>

cls_status clsi_sha256_file(const char *path, char hex[65], cls_error *error) {
    hex[0] = 0;
    FILE *in = fopen(path, "rb");
    if (!in) return clsi_cannot_open(path, errno, error);
    SHA2_CTX context;
    SHA256Init(&context);
    uint8_t block[65536];
    size_t got;
    while ((got = fread(block, 1, sizeof block, in)) > 0) SHA256Update(&context, block, got);
    int failed = ferror(in), reason = errno;
    fclose(in);
    if (failed) return clsi_fail(error, CLS_IO, "%s: cannot read: %s", path, strerror(reason));
    SHA256End(&context, hex);
    return CLS_OK;
}
