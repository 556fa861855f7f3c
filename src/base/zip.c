/* Zip archives, written as a stream: files stored as they are, the same files give the same bytes, and no
 * library is needed. Layout: for each file a header and its bytes; then the directory, which repeats the
 * headers with their places; then the end record. All numbers are little-endian. What does not fit into 32
 * bits stands in the records of Zip64, which are written only then. A place can be kept for a file whose bytes
 * come later, in any order: its header, which has the checksum, is written last. Errors of writing are seen by
 * whoever closes the stream. */
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
        z->table[0][i] = c;
    }
    for (size_t k = 1; k < 8; k++) /* the same with k zero bytes behind */
        for (size_t i = 0; i < 256; i++) {
            uint32_t c = z->table[k - 1][i];
            z->table[k][i] = z->table[0][c & 255] ^ c >> 8;
        }
}

/* Eight bytes at a time (Kounavis and Berry 2005): four times as fast as one by one. */
uint32_t clsi_zip_checksum(const clsi_zip *z, uint32_t crc, const void *bytes, size_t n) {
    const unsigned char *data = bytes;
    const uint32_t(*t)[256] = z->table;
    crc = ~crc;
    for (; n >= 8; n -= 8, data += 8) {
        uint32_t low = crc ^ ((uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
                              (uint32_t)data[3] << 24);
        crc = t[7][low & 255] ^ t[6][low >> 8 & 255] ^ t[5][low >> 16 & 255] ^ t[4][low >> 24] ^
              t[3][data[4]] ^ t[2][data[5]] ^ t[1][data[6]] ^ t[0][data[7]];
    }
    for (size_t i = 0; i < n; i++) crc = t[0][(crc ^ data[i]) & 255] ^ crc >> 8;
    return ~crc;
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

static int is_large(uint64_t place, uint64_t size) {
    return size >= LARGE || place >= LARGE;
}

/* The header of a file goes out, its place in the directory is noted. */
static void send_header(clsi_zip *z, const char *name, uint64_t place, uint64_t size,
                        uint32_t crc) {
    unsigned char record[CENTRAL] = {0}, more[MORE] = {0};
    int large = is_large(place, size);
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
    z->n++;
}

void clsi_zip_add(clsi_zip *z, const char *name, size_t n_head, const void *head, size_t n,
                  const void *data) {
    uint32_t crc = clsi_zip_checksum(z, clsi_zip_checksum(z, 0, head, n_head), data, n);
    send_header(z, name, z->offset, (uint64_t)n_head + n, crc);
    send(z, head, n_head);
    send(z, data, n);
}

uint64_t clsi_zip_keep(clsi_zip *z, const char *name, uint64_t size) {
    uint64_t place = z->offset;
    z->offset += LOCAL + strlen(name) + (is_large(place, size) ? MORE - 8 : 0) + size;
    return place;
}

void clsi_zip_fill(clsi_zip *z, const char *name, uint64_t place, uint64_t size, uint32_t crc) {
    uint64_t end = z->offset;
    z->offset = place;
    fseeko(z->stream, (off_t)place, SEEK_SET);
    send_header(z, name, place, size, crc);
    z->offset = end;
    fseeko(z->stream, (off_t)end, SEEK_SET);
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
