/* What `reproduce -o DIR` keeps of a finished item: DIR/ITEM.json, the object of --json with how and when it
 * was run. An interrupted `--all` goes on behind the items that are there; the index shows them all. */
#include "cli/reproduce/reproduce.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int path_of(const cli_findings *f, const cli_item *item, char out[1024]) {
    int n = f->folder ? snprintf(out, 1024, "%s/%s.json", f->folder, item->name) : 0;
    return n > 0 && n < 1024;
}

/* Options that change what an item is: the same text, the same numbers. */
static void settings_of(const cli_findings *f, const cli_item *item, char out[128]) {
    int n = snprintf(out, 128, "%s", f->quick ? "quick" : "");
    int networks = !strncmp(item->name, "vnots-", 6), tables = !strncmp(item->name, "dtlm-t", 6);
    if (f->literal && networks)
        n += snprintf(out + n, 128 - (size_t)n, "%sliteral %llu", n ? ", " : "",
                      (unsigned long long)f->literal);
    if (f->wanted_trials && tables)
        n += snprintf(out + n, 128 - (size_t)n, "%strials %zu", n ? ", " : "", f->wanted_trials);
    if (f->only && tables)
        snprintf(out + n, 128 - (size_t)n, "%sonly %.40s", n ? ", " : "", f->only);
}

cls_status cli_keep_item(const cli_findings *f, json_t *result, double seconds, cls_error *error) {
    char path[1024], settings[128], made[32];
    time_t now = time(NULL);
    struct tm day;
    cli_output file;
    settings_of(f, f->item, settings);
    strftime(made, sizeof made, "%Y-%m-%d", gmtime_r(&now, &day));
    if (json_object_set_new(result, "settings", json_string(settings)) ||
        json_object_set_new(result, "seconds", json_real(seconds)) ||
        json_object_set_new(result, "made", json_string(made)))
        return cli_no_memory(error);
    if (!path_of(f, f->item, path)) return CLS_OK;
    cls_status status = cli_output_open(&file, path, 0, error);
    if (status) return status;
    if (json_dumpf(result, file.stream, JSON_INDENT(1) | JSON_PRESERVE_ORDER) ||
        fputc('\n', file.stream) == EOF)
        status = cli_fail(error, CLS_IO, "%s: cannot write: %s", path, strerror(errno));
    if (cli_json_failed()) status = cli_no_memory(error); /* the text may be cut short */
    return cli_output_close(&file, status, error);
}

json_t *cli_kept_item(const cli_findings *f, const cli_item *item) {
    char path[1024];
    json_t *kept = path_of(f, item, path) ? json_load_file(path, 0, NULL) : NULL;
    const char *name = json_string_value(json_object_get(kept, "item"));
    if (name && !strcmp(name, item->name) && json_is_array(json_object_get(kept, "cells")) &&
        json_is_array(json_object_get(kept, "figures")))
        return kept;
    json_decref(kept); /* not ours, or not whole: as if it were not there */
    return NULL;
}

int cli_kept_fits(const cli_findings *f, const cli_item *item, const json_t *kept) {
    char settings[128];
    const char *had = json_string_value(json_object_get(kept, "settings"));
    settings_of(f, item, settings);
    return had && !strcmp(had, settings);
}
