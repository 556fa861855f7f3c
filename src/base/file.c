/* Files read whole, and files that appear only when they are complete. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE */
#endif
#include "base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMPORARY = 48 }; /* room for ".tmp-PID-N" */

static void temporary_name(clsi_file *f, unsigned attempt) {
    snprintf(f->temporary, strlen(f->path) + TEMPORARY, "%s.tmp-%ld-%u", f->path, (long)getpid(),
             attempt);
}

cls_status clsi_cannot_open(const char *path, int reason, cls_error *error) {
    if (reason == ENOMEM) return clsi_no_memory(error);
    return clsi_fail(error, CLS_IO, "%s: cannot open: %s", path, strerror(reason));
}

/* A fifo that nobody writes would be waited for without end. */
cls_status clsi_check_regular(const char *path, cls_error *error) {
    struct stat st;
    if (stat(path, &st) != 0)
        return clsi_fail(error, CLS_IO, "%s: cannot open: %s", path, strerror(errno));
    if (S_ISREG(st.st_mode)) return CLS_OK;
    return clsi_fail(error, CLS_IO, "%s: cannot open: not an ordinary file", path);
}

cls_status clsi_read_file(const char *path, size_t limit, char **data, size_t *length,
                          cls_error *error) {
    *data = NULL;
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!in) return clsi_cannot_open(path, errno, error);
    clsi_text text = {0};
    char block[8192];
    size_t got;
    while ((got = fread(block, 1, sizeof block, in)) > 0 && text.length + got <= limit)
        clsi_text_append_n(&text, block, got);
    int failed = ferror(in), reason = errno;
    if (in != stdin) fclose(in);
    if (failed || got) {
        clsi_text_clear(&text);
        if (failed) return clsi_fail(error, CLS_IO, "%s: cannot read: %s", path, strerror(reason));
        return clsi_fail(error, CLS_DATA, "%s: larger than %zu bytes, the limit here", path, limit);
    }
    *length = text.length;
    *data = clsi_text_take(&text);
    return *data ? CLS_OK : clsi_no_memory(error);
}

/* The folder of a path, as a path that ends in "/." and fits where the temporary name fits. */
static void folder_of(const char *path, char *out) {
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    memcpy(out, path, n);
    memcpy(out + n, ".", 2);
}

/* In the same directory as the file will be, so that rename is atomic. Where the file system can do
 * it (O_TMPFILE) the file has no name before it is complete, so that nothing is left behind however
 * the process ends. Made with open, not mkstemp, so that the file gets the permissions the user's
 * umask says. */
static int open_temporary(clsi_file *f) {
    size_t n = strlen(f->path) + TEMPORARY;
    f->temporary = clsi_malloc(n);
    if (!f->temporary) {
        errno = ENOMEM;
        return -1;
    }
#ifdef O_TMPFILE
    folder_of(f->path, f->temporary);
    int nameless = access("/proc/self/fd", X_OK) == 0
                       ? open(f->temporary, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666)
                       : -1;
    f->nameless = nameless >= 0;
    if (f->nameless) return nameless;
#endif
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        temporary_name(f, attempt);
        int fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

/* A complete file without a name gets its own where nothing has it, so that a kill leaves all or nothing; else the
 * temporary one, because a link cannot replace and a rename can. */
static int give_name(clsi_file *f, int fd) {
    char source[32];
    snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
    f->placed = linkat(AT_FDCWD, source, AT_FDCWD, f->path, AT_SYMLINK_FOLLOW) == 0;
    if (f->placed) return 1;
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        temporary_name(f, attempt);
        if (linkat(AT_FDCWD, source, AT_FDCWD, f->temporary, AT_SYMLINK_FOLLOW) == 0) {
            f->nameless = 0;
            return 1;
        }
        if (errno != EEXIST) return 0;
    }
    return 0;
}

/* The new name itself must survive a loss of power: the directory is synced too. A file system that
 * cannot sync directories has done what it can. */
static void sync_folder(clsi_file *f) {
    folder_of(f->path, f->temporary);
    int fd = open(f->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)!fsync(fd);
    close(fd);
}

/* What cannot be replaced by a rename is written directly: devices, pipes, and whatever is reached
 * through /dev or /proc (/dev/stdout is a link to the file behind standard output). */
static int is_direct(const char *path) {
    struct stat st;
    if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0) return 1;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* Where a link leads, from the folder that it stands in. */
static char *link_target(const char *path, size_t size) {
    size_t room = (size > 0 ? size : 4096) + 1;
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    char *target = clsi_malloc(folder + room);
    ssize_t n = target ? readlink(path, target + folder, room) : -1;
    if (n < 0 || (size_t)n >= room) {
        free(target);
        return NULL;
    }
    target[folder + (size_t)n] = 0;
    if (target[folder] == '/')
        memmove(target, target + folder, (size_t)n + 1);
    else
        memcpy(target, path, folder);
    return target;
}

/* A link stays a link: the file it points to is the one that is replaced, or made. */
static char *final_path(const char *path) {
    struct stat st;
    char *now = clsi_strdup(path);
    for (int i = 0; now && i < 40 && lstat(now, &st) == 0 && S_ISLNK(st.st_mode); i++) {
        errno = 0;
        char *next = link_target(now, (size_t)st.st_size);
        if (!next && errno != ENOMEM) break;
        free(now);
        now = next;
    }
    return now;
}

cls_status clsi_file_open(clsi_file *f, const char *path, cls_error *error) {
    *f = (clsi_file){0};
    if (!(f->path = final_path(path))) return clsi_no_memory(error);
    if (strcmp(path, "-") == 0) {
        f->stream = stdout;
    } else if (is_direct(path)) {
        f->stream = fopen(path, "wb");
    } else {
        int fd = open_temporary(f);
        f->stream = fd < 0 ? NULL : fdopen(fd, "wb");
        if (fd >= 0 && !f->stream) close(fd);
    }
    if (f->stream) return CLS_OK;
    int reason = errno;
    cls_status status =
        reason == ENOMEM ? clsi_no_memory(error)
                         : clsi_fail(error, CLS_IO, "%s: cannot write: %s", path, strerror(reason));
    clsi_file_discard(f);
    return status;
}

cls_status clsi_file_commit(clsi_file *f, cls_error *error) {
    int bad = ferror(f->stream), reason = EIO;
    if (bad && f->stream != stdout) { /* the error's own number is gone: it comes again */
        clearerr(f->stream);
        if (fputc('\n', f->stream) == EOF || fflush(f->stream) != 0) reason = errno;
    }
    if (!bad && fflush(f->stream) != 0) bad = 1, reason = errno;
    if (!bad && f->temporary && fsync(fileno(f->stream)) != 0) bad = 1, reason = errno;
    if (!bad && f->nameless && !give_name(f, fileno(f->stream))) bad = 1, reason = errno;
    if (f->stream != stdout && fclose(f->stream) != 0 && !bad) bad = 1, reason = errno;
    f->stream = NULL;
    if (!bad && f->temporary && !f->placed && rename(f->temporary, f->path) != 0)
        bad = 1, reason = errno;
    cls_status status = CLS_OK;
    if (bad) {
        if (f->placed) unlink(f->path);
        status = clsi_fail(error, CLS_IO, "%s: cannot write: %s; nothing was left behind", f->path,
                           strerror(reason));
    } else if (f->temporary) {
        sync_folder(f);
        free(f->temporary);
        f->temporary = NULL;
    }
    clsi_file_discard(f);
    return status;
}

void clsi_file_discard(clsi_file *f) {
    if (f->stream && f->stream != stdout) fclose(f->stream);
    if (f->temporary && !f->nameless) unlink(f->temporary);
    free(f->temporary);
    free(f->path);
    *f = (clsi_file){0};
}
