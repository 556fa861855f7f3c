/* clausius new: a commented system file to start from. The file appears complete or not at all
 * (temporary name, fsync, then link or rename), and an existing one is kept unless --force. */
#include "cli.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int good_name(const char *name) {
    if (!isalpha((unsigned char)name[0])) return 0;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_') return 0;
    return strlen(name) <= 100;
}

/* Where the title of the template stands: between the quotes of its `system "..."` line. */
static int find_title(const char *text, const char **begin, const char **end) {
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "system", 6)) continue;
        *begin = strchr(line, '"');
        *end = *begin ? strchr(*begin + 1, '"') : NULL;
        return *end != NULL;
    }
    return 0;
}

static void write_text(FILE *f, const char *text, const char *name) {
    const char *begin, *end;
    if (!find_title(text, &begin, &end)) {
        fputs(text, f);
        return;
    }
    fwrite(text, 1, (size_t)(begin + 1 - text), f);
    for (const char *c = name; *c; c++) fputc(*c == '-' || *c == '_' ? ' ' : *c, f);
    fputs(end, f);
}

static cls_status write_temporary(char *temporary, const char *name, cls_error *error) {
    int fd = mkstemp(temporary);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) {
        int reason = errno;
        if (fd >= 0) close(fd);
        if (fd >= 0) unlink(temporary);
        return cli_fail(error, reason == ENOMEM ? CLS_MEMORY : CLS_IO, "cannot write here (%s): %s",
                        temporary, strerror(reason));
    }
    mode_t mask = umask(0); /* mkstemp makes the file private; a new file follows the umask */
    umask(mask);
    write_text(f, cls_template_text(), name);
    int bad = fflush(f) || ferror(f) || fchmod(fd, 0666 & ~mask) || fsync(fd);
    int reason = errno;
    bad |= fclose(f) != 0;
    if (!bad) return CLS_OK;
    unlink(temporary);
    return cli_fail(error, CLS_IO, "cannot write %s.clausius: %s", name, strerror(reason));
}

/* link() refuses an existing name in one step, where asking first would leave a gap. */
static cls_status put_in_place(const char *temporary, const char *path, int force,
                               cls_error *error) {
    int bad = force ? rename(temporary, path) : link(temporary, path), reason = errno;
    if (bad || !force) unlink(temporary);
    if (!bad) return CLS_OK;
    if (reason == EEXIST)
        return cli_fail(error, CLS_IO, "%s exists; choose another name, or --force to replace it",
                        path);
    return cli_fail(error, CLS_IO, "cannot write %s: %s", path, strerror(reason));
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    const char *name = a->words[0];
    char path[128], temporary[128];
    if (!good_name(name))
        return cli_fail(error, CLS_USAGE,
                        "'%.100s' is not a good name: letters, digits, - and _, a letter first "
                        "(the ending .clausius is added)",
                        name);
    snprintf(path, sizeof path, "%s.clausius", name);
    snprintf(temporary, sizeof temporary, ".%s.XXXXXX", name);
    cls_status status = write_temporary(temporary, name, error);
    if (!status) status = put_in_place(temporary, path, cli_given(a, "force"), error);
    if (!status)
        fprintf(stderr, "wrote %s; try: clausius simulate %s -o %s.csv\n", path, path, name);
    return status;
}

static const cli_option options[] = {
    {"force", 0, NULL, "replace an existing file"},
    {0},
};

const cli_command cli_new = {
    .name = "new",
    .doc = "a commented system file to start from",
    .usage = "NAME [--force]",
    .examples = "  clausius new my-piston\n"
                "  clausius show my-piston.clausius --equations\n",
    .notes = "Writes NAME.clausius in the current directory.\n",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
