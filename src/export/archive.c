/* What an FMU is: files that are in memory as a zip archive, which appears whole or not at all
 * (base/zip.c, base/file.c). */
#include "export/export.h"

cls_status clsi_outputs_archive(const clsi_outputs *files, const char *path, cls_export_info *info,
                                cls_error *error) {
    clsi_file file = {0};
    clsi_zip zip;
    cls_status status = clsi_file_open(&file, path, error);
    if (status != CLS_OK) return status;
    clsi_zip_begin(&zip, file.stream);
    for (size_t k = 0; k < files->n; k++) {
        const clsi_output *f = &files->list[k];
        clsi_zip_add(&zip, f->name, 0, NULL, f->text.length, f->text.data);
        info->files++;
        info->bytes += f->text.length;
    }
    if (clsi_zip_end(&zip)) return clsi_file_commit(&file, error);
    clsi_file_discard(&file);
    return clsi_no_memory(error);
}
