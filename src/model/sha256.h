/* model, inside: blocks of SHA-256 by instructions of the processor. */
#ifndef CLSI_SHA256_H
#define CLSI_SHA256_H

#include <stddef.h>
#include <stdint.h>

int clsi_sha256_is_fast(void);
/* n blocks of 64 bytes; only where clsi_sha256_is_fast. */
void clsi_sha256_blocks(uint32_t state[8], size_t n, const uint8_t *bytes);

#endif
