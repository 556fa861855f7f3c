/* Reading back: what an exported directory or FMU is, from its own model card. */
#include "base/misuse.h"
#include "data/table.h"
#include "export/export.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef CLSI_HAVE_ZIP
#include <zip.h>
#endif

enum { LARGEST_CARD = 1 << 20 };

int cls_export_is_path(const char *path) {
    if (!path) return 0;
    size_t n = strlen(path);
    struct stat st;
    if (n > 4 && !strcmp(path + n - 4, ".fmu")) return 1;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static cls_status not_ours(const char *path, cls_error *error) {
    return clsi_fail(error, CLS_SYSTEM,
                     "%s: not something that `clausius export` wrote: it has no model card", path);
}

/* The file may come from anywhere: its lines as they may be shown on a terminal. */
static cls_status check_card(const char *path, char *card, char **text, cls_error *error) {
    int ours = strstr(card, "Written by clausius") != NULL;
    *text = ours ? clsi_shown_lines(card) : NULL;
    free(card);
    if (!ours) return not_ours(path, error);
    return *text ? CLS_OK : clsi_no_memory(error);
}

static cls_status show_directory(const char *path, char **text, cls_error *error) {
    clsi_text name = {0};
    char *card = NULL;
    size_t length;
    clsi_text_printf(&name, "%s/README.md", path);
    char *file = clsi_text_take(&name);
    if (!file) return clsi_no_memory(error);
    cls_status status = clsi_read_file(file, LARGEST_CARD, &card, &length, error);
    free(file);
    if (status == CLS_IO) return not_ours(path, error);
    return status == CLS_OK ? check_card(path, card, text, error) : status;
}

#ifdef CLSI_HAVE_ZIP
/* The card, then the names of the files. */
static cls_status read_archive(zip_t *archive, const char *path, char **text, cls_error *error) {
    static const char card[] = "documentation/README.md";
    zip_stat_t st;
    clsi_text out = {0};
    if (zip_stat(archive, card, 0, &st) != 0 || !(st.valid & ZIP_STAT_SIZE) ||
        st.size > LARGEST_CARD)
        return not_ours(path, error);
    zip_file_t *file = zip_fopen(archive, card, 0);
    char *data = clsi_calloc((size_t)st.size + 1, 1);
    int whole = file && data && zip_fread(file, data, st.size) == (zip_int64_t)st.size;
    if (file) zip_fclose(file);
    if (!whole) {
        free(data);
        return clsi_fail(error, CLS_IO, "%s: %s cannot be read", path, card);
    }
    clsi_text_append(&out, data);
    clsi_text_append(&out, "\n## Files\n\n");
    for (zip_int64_t k = 0; k < zip_get_num_entries(archive, 0); k++) {
        const char *name = zip_get_name(archive, (zip_uint64_t)k, 0);
        if (!name) out.failed = 1; /* libzip makes it anew: there was no memory */
        clsi_text_printf(&out, "    %s\n", name ? name : "");
    }
    free(data);
    data = clsi_text_take(&out);
    return data ? check_card(path, data, text, error) : clsi_no_memory(error);
}

static cls_status show_archive(const char *path, char **text, cls_error *error) {
    int code = 0;
    zip_t *archive = zip_open(path, ZIP_RDONLY, &code);
    if (!archive && code == ZIP_ER_NOENT)
        return clsi_fail(error, CLS_IO, "%s: there is no such file", path);
    if (!archive)
        return clsi_fail(error, CLS_SYSTEM, "%s: this is no zip archive, so no FMU", path);
    cls_status status = read_archive(archive, path, text, error);
    zip_discard(archive);
    return status;
}
#else
static cls_status show_archive(const char *path, char **text, cls_error *error) {
    (void)text;
    return clsi_fail(error, CLS_USAGE, "%s: this build has no libzip, which reads FMUs", path);
}
#endif

cls_status cls_export_show(const char *path, char **text, cls_error *error) {
    NEED(error, text);
    *text = NULL;
    NEED(error, path);
    struct stat st;
    *text = NULL;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return show_directory(path, text, error);
    return show_archive(path, text, error);
}
