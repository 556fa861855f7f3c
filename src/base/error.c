/* Error sentences, status names, and the nearest known word. */
#include "base/base.h"
#include "base/locale.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What is said to be wrong with the input right after an allocation failed is not its fault: a name
 * that could not be kept is not "unknown". The allocation left ENOMEM behind. */
static int is_for_want_of_memory(cls_status status) {
    if (errno != ENOMEM || status == CLS_MEMORY || status == CLS_CHECK || status == CLS_INTERRUPTED)
        return 0;
    errno = 0; /* once: the next sentence is about something else */
    return 1;
}

cls_status clsi_fail(cls_error *error, cls_status status, const char *format, ...) {
    if (is_for_want_of_memory(status)) {
        status = CLS_MEMORY;
        format = "out of memory";
    }
    if (!error) return status;
    va_list args;
    va_start(args, format);
    clsi_vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    error->status = status;
    error->line = error->column = 0;
    return status;
}

cls_status clsi_no_memory(cls_error *error) {
    return clsi_fail(error, CLS_MEMORY, "out of memory");
}

const char *cls_status_text(cls_status status) {
    switch (status) {
#define CLSI_STATUS_CASE(name, number, text)                                                       \
    case CLS_##name: return text;
        CLS_STATUS_LIST(CLSI_STATUS_CASE)
#undef CLSI_STATUS_CASE
    }
    return "unknown status";
}

const char *cls_version(void) {
    return CLSI_VERSION;
}

/* Levenshtein distance with words cut at 63 letters: long enough for any name we suggest. */
static size_t edit_distance(const char *a, const char *b) {
    size_t n = strnlen(a, 63), m = strnlen(b, 63), row[64];
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

const char *cls_nearest_word(const char *word, size_t n, const char *const *words) {
    if (!word || (n && !words)) return NULL;
    size_t length = strlen(word), allowed = length / 3 ? length / 3 : 1, best = allowed + 1;
    const char *found = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!words[i]) continue;
        size_t distance = edit_distance(word, words[i]);
        if (distance < best && distance < strlen(words[i])) {
            best = distance;
            found = words[i];
        }
    }
    return found;
}
