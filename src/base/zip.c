/* Zip archives, written as a stream: files stored as they are, the same files give the same bytes, and no
 * library is needed. Layout: for each file a header and its bytes; then the directory, which repeats the
 * headers with their places; then the end record. All numbers are little-endian. What does not fit into 32
 * bits stands in the records of Zip64, which are written only then. Errors of writing are seen by whoever
 * closes the stream. */
#include "base/base.h"
#include <stdlib.h>
#include <string.h>

enum { LOCAL = 30, CENTRAL = 46, END = 22, END64 = 56, LOCATOR = 20, MORE = 28 };
static const uint64_t LARGE = 0xffffffffu;

static void put(unsigned char *at, size_t bytes, uint64_t value) {
    for (size_t k = 0; k < bytes; k++) at[k] = (unsigned char)(value >> (8 * k));
}

void clsi_zip_begin(clsi_zip *z, FILE *stream) {
    *z = (clsi_zip){.stream = stream};
    for (uint32_t i = 0; i < 256; i++) { /* CRC-32, reflected, 0xedb88320 */
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        z->table[i] = c;
    }
}

static uint32_t checksum(const clsi_zip *z, uint32_t crc, const unsigned char *data, size_t n) {
    for (size_t i = 0; i < n; i++) crc = z->table[(crc ^ data[i]) & 255] ^ crc >> 8;
    return crc;
}

/* What both records of a file share, from the version on: flags (UTF-8 names), stored, 1 January
 * 1980, checksum, sizes, length of the name, of the numbers of Zip64. 26 bytes. */
static void describe(unsigned char *at, const char *name, uint32_t crc, uint64_t size,
                     size_t more) {
    put(at, 2, more ? 45 : 10);
    put(at + 2, 2, 1u << 11);
    put(at + 4, 2, 0);
    put(at + 6, 2, 0);
    put(at + 8, 2, 0x21);
    put(at + 10, 4, crc);
    put(at + 14, 4, more ? LARGE : size);
    put(at + 18, 4, more ? LARGE : size);
    put(at + 22, 2, strlen(name));
    put(at + 24, 2, more);
}

static void send(clsi_zip *z, const void *data, size_t n) {
    if (n) fwrite(data, 1, n, z->stream);
    z->offset += n;
}

void clsi_zip_add(clsi_zip *z, const char *name, size_t n_head, const void *head, size_t n,
                  const void *data) {
    unsigned char record[CENTRAL] = {0}, more[MORE] = {0};
    uint64_t size = (uint64_t)n_head + n, place = z->offset;
    uint32_t crc = ~checksum(z, checksum(z, LARGE, head, n_head), data, n);
    int large = size >= LARGE || place >= LARGE;
    put(more, 2, 1);
    put(more + 4, 8, size);
    put(more + 12, 8, size);
    put(more + 20, 8, place);
    put(more + 2, 2, 24);
    put(record, 4, 0x02014b50);
    put(record + 4, 2, 3 << 8 | (large ? 45 : 10)); /* made on Unix */
    describe(record + 6, name, crc, size, large ? MORE : 0);
    put(record + 38, 4, 0100644u << 16); /* a plain file */
    put(record + 42, 4, large ? LARGE : place);
    clsi_text_append_n(&z->directory, (const char *)record, CENTRAL);
    clsi_text_append(&z->directory, name);
    clsi_text_append_n(&z->directory, (const char *)more, large ? MORE : 0);
    put(record, 4, 0x04034b50);
    describe(record + 4, name, crc, size, large ? MORE - 8 : 0);
    put(more + 2, 2, 16);
    send(z, record, LOCAL);
    send(z, name, strlen(name));
    send(z, more, large ? MORE - 8 : 0);
    send(z, head, n_head);
    send(z, data, n);
    z->n++;
}

int clsi_zip_end(clsi_zip *z) {
    unsigned char record[END64] = {0};
    uint64_t place = z->offset, length = z->directory.length;
    int fine = !z->directory.failed, large = place + length >= LARGE || z->n >= 0xffff;
    send(z, z->directory.data ? z->directory.data : "", z->directory.length);
    clsi_text_clear(&z->directory);
    if (large) {
        uint64_t here = z->offset;
        put(record, 4, 0x06064b50);
        put(record + 4, 8, END64 - 12);
        put(record + 12, 2, 3 << 8 | 45);
        put(record + 14, 2, 45);
        put(record + 24, 8, z->n);
        put(record + 32, 8, z->n);
        put(record + 40, 8, length);
        put(record + 48, 8, place);
        send(z, record, END64);
        memset(record, 0, sizeof record);
        put(record, 4, 0x07064b50);
        put(record + 8, 8, here);
        put(record + 16, 4, 1);
        send(z, record, LOCATOR);
        memset(record, 0, sizeof record);
    }
    put(record, 4, 0x06054b50);
    put(record + 8, 2, large ? 0xffff : z->n);
    put(record + 10, 2, large ? 0xffff : z->n);
    put(record + 12, 4, large ? LARGE : length);
    put(record + 16, 4, large ? LARGE : place);
    send(z, record, END);
    return fine;
}
