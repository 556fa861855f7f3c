/* Several files that appear together or not at all.
 *
 * All are written under temporary names first (base/file.c) and take their own only when the last
 * byte of the last one is on the disk. A directory that was made for them goes when that fails. */
#include "export/export.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

clsi_text *clsi_output_add(clsi_outputs *o, const char *name) {
    char *copy = clsi_strdup(name);
    if (!copy || !clsi_grow(&o->list, &o->capacity, o->n + 1, sizeof *o->list)) {
        free(copy);
        o->failed = 1;
        return &o->lost;
    }
    o->list[o->n] = (clsi_output){copy, {0}};
    return &o->list[o->n++].text;
}

void clsi_outputs_clear(clsi_outputs *o) {
    for (size_t k = 0; k < o->n; k++) {
        free(o->list[k].name);
        clsi_text_clear(&o->list[k].text);
    }
    free(o->list);
    clsi_text_clear(&o->lost);
    *o = (clsi_outputs){0};
}

static cls_status cannot(const char *path, cls_error *error) {
    return clsi_fail(error, CLS_IO, "%s: cannot write: %s; nothing was left behind", path,
                     strerror(errno));
}

static cls_status open_one(const char *directory, const clsi_output *one, clsi_file *file,
                           cls_error *error) {
    clsi_text path = {0};
    clsi_text_printf(&path, "%s/%s", directory, one->name);
    char *whole = clsi_text_take(&path);
    if (!whole) return clsi_no_memory(error);
    cls_status status = clsi_file_open(file, whole, error);
    size_t length = one->text.length;
    if (status == CLS_OK && fwrite(one->text.data, 1, length, file->stream) != length)
        status = cannot(whole, error);
    if (status == CLS_OK && (fflush(file->stream) || fsync(fileno(file->stream))))
        status = cannot(whole, error);
    free(whole);
    return status;
}

static cls_status write_all(const clsi_outputs *o, const char *directory, clsi_file *files,
                            cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t k = 0; k < o->n && status == CLS_OK; k++)
        status = open_one(directory, &o->list[k], &files[k], error);
    for (size_t k = 0; k < o->n && status == CLS_OK; k++)
        status = clsi_file_commit(&files[k], error);
    for (size_t k = 0; k < o->n; k++) clsi_file_discard(&files[k]);
    return status;
}

/* A folder that was made has a name that must survive a loss of power, too. */
static void sync_parent(const char *directory) {
    clsi_text path = {0};
    clsi_text_printf(&path, "%s/..", directory);
    char *whole = clsi_text_take(&path);
    int fd = whole ? open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(whole);
    if (fd < 0) return;
    (void)!fsync(fd);
    close(fd);
}

cls_status clsi_outputs_write(const clsi_outputs *o, const char *directory, cls_export_info *info,
                              cls_error *error) {
    int failed = o->failed;
    for (size_t k = 0; k < o->n; k++) failed |= o->list[k].text.failed || !o->list[k].text.data;
    clsi_file *files = clsi_calloc(o->n, sizeof *files);
    if (failed || !files) {
        free(files);
        return clsi_no_memory(error);
    }
    int made = mkdir(directory, 0777) == 0;
    if (!made && errno != EEXIST) {
        free(files);
        return cannot(directory, error);
    }
    cls_status status = write_all(o, directory, files, error);
    if (status != CLS_OK && made) rmdir(directory);
    if (status == CLS_OK && made) sync_parent(directory);
    for (size_t k = 0; k < o->n && status == CLS_OK; k++) {
        info->files++;
        info->bytes += o->list[k].text.length;
    }
    free(files);
    return status;
}
