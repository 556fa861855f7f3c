/* JSON that is built piece by piece: the first piece for which there is no memory takes the whole
 * with it, so that one look at the end suffices. (jansson returns a status from every call.) */
#ifndef CLSI_JSON_H
#define CLSI_JSON_H

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

static inline void clsi_json_put(json_t **object, const char *key, json_t *value) {
    if (*object && json_object_set_new(*object, key, value) == 0) return;
    if (!*object) json_decref(value);
    json_decref(*object);
    *object = NULL;
}

static inline void clsi_json_add(json_t **list, json_t *value) {
    if (*list && json_array_append_new(*list, value) == 0) return;
    if (!*list) json_decref(value);
    json_decref(*list);
    *list = NULL;
}

/* As json_loadb, and says whether it was memory that was missing. The reader of jansson may go on
 * after a failed allocation, with a text cut short, and forgets errno at the next number: a second
 * reading that differs tells. `why` may be NULL. */
static inline json_t *clsi_json_read(const char *text, size_t length, int *no_memory,
                                     json_error_t *why) {
    errno = 0;
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES, why);
    json_t *again = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    int same = value ? json_equal(value, again) : !again;
    json_decref(again);
    if (errno != ENOMEM && same) return value;
    *no_memory = 1;
    json_decref(value);
    errno = ENOMEM; /* for clsi_fail, behind callers that take NULL for a note that is none */
    return NULL;
}

/* As json_dumps, whose text may be cut short when memory runs out: then NULL. */
static inline char *clsi_json_text(const json_t *value, size_t flags) {
    errno = 0;
    char *text = json_dumps(value, flags);
    if (errno != ENOMEM) return text;
    free(text);
    return NULL;
}

#endif
