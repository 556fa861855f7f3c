/* Files that the program writes itself, as the library writes its own: whole under their name or not there,
 * whenever the process or the power ends. The bytes are synced before they get the name, the folder after. */
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMPORARY = 48, ATTEMPTS = 100 };

static cls_status cannot(const cli_output *o, int reason, cls_error *error) {
    if (reason == ENOMEM) return cli_no_memory(error);
    return cli_fail(error, CLS_IO, "%s: cannot write: %s", o->path, strerror(reason));
}

/* Devices and pipes are written to directly, and so is the file that a link to nowhere names. */
static int is_direct(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? !S_ISREG(st.st_mode) : lstat(path, &st) == 0;
}

static void open_temporary(cli_output *o) {
    size_t size = strlen(o->path) + TEMPORARY;
    if (!(o->temporary = malloc(size))) return;
    errno = EEXIST; /* what a killed process of the same number may have left */
    for (int k = 0; !o->stream && errno == EEXIST && k < ATTEMPTS; k++) {
        snprintf(o->temporary, size, "%s.tmp-%ld-%d", o->path, (long)getpid(), k);
        o->stream = fopen(o->temporary, "wbx");
    }
}

static void clear(cli_output *o) {
    free(o->temporary);
    free(o->path);
}

cls_status cli_output_open(cli_output *o, const char *path, int keep, cls_error *error) {
    *o = (cli_output){.keep = keep};
    errno = 0;
    if (!keep) o->path = realpath(path, NULL); /* a link stays a link */
    if (!o->path && errno != ENOMEM) o->path = strdup(path);
    if (!o->path) return cli_no_memory(error);
    if (strcmp(path, "-") == 0)
        o->stream = stdout;
    else if (!keep && is_direct(path))
        o->stream = fopen(path, "wb");
    else
        open_temporary(o);
    if (o->stream) return CLS_OK;
    cls_status status = cannot(o, errno, error);
    clear(o);
    return status;
}

/* The name itself must survive a loss of power. A file system that cannot sync folders has done what it
 * can. `room` is as long as the path and is written over. */
static void sync_folder(const char *path, char *room) {
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    memcpy(room, path, n);
    memcpy(room + n, ".", 2);
    int fd = open(room, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)!fsync(fd);
    close(fd);
}

/* Complete under its name, or an errno. link() refuses an existing name in one step, where asking first would
 * leave a gap. */
static int put_in_place(cli_output *o) {
    int bad = o->keep ? link(o->temporary, o->path) : rename(o->temporary, o->path), reason = errno;
    if (bad || o->keep) unlink(o->temporary);
    if (!bad) sync_folder(o->path, o->temporary);
    return bad ? reason : 0;
}

cls_status cli_output_close(cli_output *o, cls_status status, cls_error *error) {
    errno = EIO; /* the number of an earlier error of the stream is gone */
    int bad = status || ferror(o->stream) || fflush(o->stream), reason = errno;
    if (!bad && o->temporary && fsync(fileno(o->stream))) bad = 1, reason = errno;
    if (o->stream != stdout && fclose(o->stream) && !bad) bad = 1, reason = errno;
    if (o->temporary && bad) unlink(o->temporary);
    if (o->temporary && !bad) bad = reason = put_in_place(o);
    if (bad && !status)
        status = o->keep && reason == EEXIST
                     ? cli_fail(error, CLS_IO,
                                "%s exists; choose another name, or --force to replace it", o->path)
                     : cannot(o, reason, error);
    clear(o);
    return status;
}
