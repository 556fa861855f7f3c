/* Lines of a text file, read in blocks of 1 MB, of the whole file where that is smaller, or of a few
 * lines that are longer. A signal that comes
 * while a pipe is waited for is noticed: read returns, and the caller's `stop` is called. */
#include "base/locale.h"
#include "data/source.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

cls_status clsi_lines_bad(const clsi_lines *l, int column, cls_error *error, const char *format,
                          ...) {
    char sentence[1536];
    va_list args;
    va_start(args, format);
    clsi_vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    (void)clsi_fail(error, CLS_DATA, "%s:%d: %s", l->name, l->line, sentence);
    if (error) {
        error->line = l->line;
        error->column = column;
    }
    return CLS_DATA;
}

/* How long the file is, and what a block has room for: one byte more than a small file has, to see its end. */
static void measure(clsi_lines *l) {
    struct stat st;
    l->room = CLSI_BLOCK;
    if (fstat(l->file, &st) || !S_ISREG(st.st_mode)) return;
    if (st.st_size < CLSI_BLOCK) l->room = st.st_size < 4096 ? 4096 : (size_t)st.st_size + 1;
    if (l->file != STDIN_FILENO)
        l->size = (uint64_t)st.st_size; /* that may be read from its middle */
}

cls_status clsi_lines_open(clsi_lines *l, const char *path, const cls_read_options *o,
                           cls_error *error) {
    *l = (clsi_lines){.name = path, .file = STDIN_FILENO};
    if (o) l->stop = o->stop, l->context = o->context;
    if (strcmp(path, "-") == 0)
        l->name = "standard input";
    else if ((l->file = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        return clsi_cannot_open(path, errno, error);
    measure(l);
    l->block = clsi_calloc(l->room + CLSI_PADDING, 1);
    if (l->block) return CLS_OK;
    clsi_lines_close(l);
    return clsi_no_memory(error);
}

void clsi_lines_close(clsi_lines *l) {
    if (l->file > STDIN_FILENO) close(l->file);
    free(l->block);
    *l = (clsi_lines){.file = -1};
}

/* A header and two rows, by which the dialect of a file is known. */
static int has_lines(const clsi_lines *l) {
    const char *s = l->block, *stop = l->block + l->end;
    for (int n = 0; n < 3; n++) {
        s = memchr(s, '\n', (size_t)(stop - s));
        if (!s) return 0;
        s++;
    }
    return 1;
}

static cls_status fill(clsi_lines *l, cls_error *error) {
    while (!l->ended && l->end < l->room) {
        if (l->stop && l->stop(l->context))
            return clsi_fail(error, CLS_INTERRUPTED, "interrupted while reading %s", l->name);
        ssize_t got = read(l->file, l->block + l->end, l->room - l->end);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return clsi_fail(error, CLS_IO, "%s: cannot read: %s", l->name, strerror(errno));
        l->ended = got == 0;
        l->end += (size_t)got;
        if (l->ended && l->at + l->end < l->size) /* a row that is cut may look like one */
            return clsi_fail(error, CLS_IO,
                             "%s: became shorter while it was read: it ended after %llu of %llu "
                             "bytes; read it again when it is written",
                             l->name, (unsigned long long)(l->at + l->end),
                             (unsigned long long)l->size);
    }
    memset(l->block + l->end, 0, CLSI_PADDING);
    return CLS_OK;
}

cls_status clsi_lines_fill(clsi_lines *l, cls_error *error) {
    memmove(l->block, l->block + l->begin, l->end - l->begin);
    l->at += l->begin;
    l->end -= l->begin;
    l->begin = 0;
    cls_status status = fill(l, error);
    while (!status && !l->ended && l->room < CLSI_LINE_LIMIT && !has_lines(l) &&
           !memchr(l->block, 0, l->end)) { /* no text: /dev/zero is not read any further */
        char *more = clsi_realloc(l->block, 2 * l->room + CLSI_PADDING);
        if (!more) return clsi_no_memory(error);
        l->block = more;
        l->room *= 2;
        status = fill(l, error);
    }
    return status;
}

cls_status clsi_lines_seek(clsi_lines *l, uint64_t from, cls_error *error) {
    char *line;
    if (from == l->at + l->begin) return CLS_OK;
    uint64_t before = from ? from - 1 : 0; /* the end of the line before */
    if (lseek(l->file, (off_t)before, SEEK_SET) < 0)
        return clsi_fail(error, CLS_IO, "%s: cannot seek: %s", l->name, strerror(errno));
    l->at = before;
    l->begin = l->end = 0;
    l->ended = 0;
    cls_status status = clsi_lines_fill(l, error);
    return from && status == CLS_OK ? clsi_lines_next(l, &line, error) : status;
}

/* What begins as files of compressors do is named, with the way round. */
static cls_status refuse_compressed(const clsi_lines *l, size_t n, const char *start,
                                    cls_error *error) {
    static const struct {
        const char *begins, *name, *cat;
    } kinds[] = {{"\x1f\x8b", "gzip", "zcat"},
                 {"\x28\xb5\x2f\xfd", "zstd", "zstdcat"},
                 {"\xfd\x37zXZ", "xz", "xzcat"},
                 {"BZh91AY&SY", "bzip2", "bzcat"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].begins);
        if (n >= length && memcmp(start, kinds[i].begins, length) == 0)
            return clsi_fail(error, CLS_DATA,
                             "%s: compressed by %s: unpack it, or give what `%s` writes by a pipe, "
                             "with - in the place of the file",
                             l->name, kinds[i].name, kinds[i].cat);
    }
    return CLS_OK;
}

cls_status clsi_lines_next(clsi_lines *l, char **line, cls_error *error) {
    *line = NULL;
    char *stop = memchr(l->block + l->begin, '\n', l->end - l->begin);
    if (!stop && !l->ended) {
        cls_status status = clsi_lines_fill(l, error);
        if (status) return status;
        stop = memchr(l->block + l->begin, '\n', l->end - l->begin);
    }
    l->line++;
    if (!stop && l->ended && l->begin == l->end) return CLS_OK;
    int whole = stop || l->ended;
    if (!stop) stop = l->block + l->end;
    char *start = l->block + l->begin;
    cls_status known =
        l->line == 1 ? refuse_compressed(l, (size_t)(stop - start), start, error) : CLS_OK;
    if (known != CLS_OK) return known;
    if (memchr(start, 0, (size_t)(stop - start)))
        return clsi_lines_bad(l, 0, error, "a zero byte: this is not a text file");
    if (!whole)
        return clsi_lines_bad(l, 0, error, "this line is longer than %d bytes; is it a CSV file?",
                              CLSI_LINE_LIMIT);
    size_t next = (size_t)(stop - l->block) + 1;
    l->begin = next < l->end ? next : l->end;
    if (stop > start && stop[-1] == '\r') stop--;
    if (memchr(start, '\r', (size_t)(stop - start)))
        return clsi_lines_bad(l, 0, error,
                              "a carriage return inside the line; lines end in LF or CR LF");
    *stop = 0;
    *line = start;
    return CLS_OK;
}
