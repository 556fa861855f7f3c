/* JSON that is built piece by piece: the first piece for which there is no memory takes the whole
 * with it, so that one look at the end suffices. (jansson returns a status from every call.) */
#ifndef CLSI_JSON_H
#define CLSI_JSON_H

#include <jansson.h>

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

/* As json_loads, and says whether it was memory that was missing. */
static inline json_t *clsi_json_read(const char *text, int *no_memory) {
    json_error_t why;
    json_t *value = json_loads(text, 0, &why);
    if (!value && json_error_code(&why) == json_error_out_of_memory) *no_memory = 1;
    return value;
}

#endif
