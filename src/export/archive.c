/* A zip archive of files that are in memory, stored as they are: what an FMU is. No library is
 * needed, the same files give the same bytes, and the archive appears whole or not at all
 * (base/file.c). Layout: for each file a header and its bytes; then the directory, which repeats the
 * headers with their places; then the end record. All numbers are little-endian. */
#include "export/export.h"
#include <stdint.h>
#include <string.h>

enum { LOCAL = 30, CENTRAL = 46, END = 22 }; /* bytes of the records without names */

static void put(unsigned char *at, size_t bytes, uint64_t value) {
    for (size_t k = 0; k < bytes; k++) at[k] = (unsigned char)(value >> (8 * k));
}

/* The checksum of zip (CRC-32, reflected, 0xedb88320), a bit at a time: archives are small. */
static uint32_t checksum(const char *data, size_t n) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        crc ^= (unsigned char)data[i];
        for (int k = 0; k < 8; k++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    return ~crc;
}

/* What both records of a file share, from the version on: flags (UTF-8 names), stored, 1 January
 * 1980, checksum, sizes, length of the name. 26 bytes. */
static void describe(unsigned char *at, const clsi_output *file, uint32_t crc) {
    put(at, 2, 10);
    put(at + 2, 2, 1u << 11);
    put(at + 4, 2, 0);
    put(at + 6, 2, 0);
    put(at + 8, 2, 0x21);
    put(at + 10, 4, crc);
    put(at + 14, 4, file->text.length);
    put(at + 18, 4, file->text.length);
    put(at + 22, 2, strlen(file->name));
    put(at + 24, 2, 0);
}

static void append_archive(const clsi_outputs *files, clsi_text *out) {
    clsi_text directory = {0};
    unsigned char record[CENTRAL];
    for (size_t k = 0; k < files->n; k++) {
        const clsi_output *file = &files->list[k];
        uint32_t crc = checksum(file->text.data, file->text.length);
        memset(record, 0, sizeof record);
        put(record, 4, 0x02014b50);
        put(record + 4, 2, 3 << 8 | 10); /* made on Unix */
        describe(record + 6, file, crc);
        put(record + 38, 4, 0100644u << 16); /* a plain file */
        put(record + 42, 4, out->length);
        clsi_text_append_n(&directory, (const char *)record, CENTRAL);
        clsi_text_append(&directory, file->name);
        put(record, 4, 0x04034b50);
        describe(record + 4, file, crc);
        clsi_text_append_n(out, (const char *)record, LOCAL);
        clsi_text_append(out, file->name);
        clsi_text_append_n(out, file->text.data, file->text.length);
    }
    memset(record, 0, sizeof record);
    put(record, 4, 0x06054b50);
    put(record + 8, 2, files->n);
    put(record + 10, 2, files->n);
    put(record + 12, 4, directory.length);
    put(record + 16, 4, out->length);
    clsi_text_append_n(out, directory.data ? directory.data : "", directory.length);
    clsi_text_append_n(out, (const char *)record, END);
    out->failed |= directory.failed;
    clsi_text_clear(&directory);
}

cls_status clsi_outputs_archive(const clsi_outputs *files, const char *path, cls_export_info *info,
                                cls_error *error) {
    clsi_text out = {0};
    clsi_file file = {0};
    append_archive(files, &out);
    if (out.failed || !out.data) {
        clsi_text_clear(&out);
        return clsi_no_memory(error);
    }
    cls_status status = out.length > UINT32_MAX || files->n > UINT16_MAX
                            ? clsi_fail(error, CLS_USAGE, "%s: larger than a zip archive", path)
                            : clsi_file_open(&file, path, error);
    if (status == CLS_OK) {
        fwrite(out.data, 1, out.length, file.stream); /* the commit looks for errors */
        status = clsi_file_commit(&file, error);
    }
    for (size_t k = 0; k < files->n && status == CLS_OK; k++) {
        info->files++;
        info->bytes += files->list[k].text.length;
    }
    clsi_text_clear(&out);
    return status;
}
