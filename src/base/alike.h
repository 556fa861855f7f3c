/* What is alike but for its indices is said once: arrays have thousands of elements, and nobody reads
 * a thousand equal lines. */
#ifndef CLSI_ALIKE_H
#define CLSI_ALIKE_H

#include "base/base.h"

/* From so many on, pieces of one shape are the first, "..." and the last. */
enum { CLSI_ALIKE_FROM = 9 };

/* Lines, in each stretch of lines that are indented alike; one that is very long is cut. */
void clsi_alike_lines(clsi_text *out, const char *lines);
/* "u[1], u[2], u[3], s[1], ..." as "u[1], ..., u[30], s[1], ..., s[30]". */
void clsi_alike_items(clsi_text *out, const char *list);
/* The same of names, cut behind `room` letters or so. */
void clsi_alike_names(clsi_text *out, size_t n, const char *const *names, size_t room);

/* S[1, 2] as S[1][2], as elements are called: 1 and that name in `out`, 0 where nothing is to change. */
enum { CLSI_ELEMENT_ROOM = 160 };
int clsi_element_name(const char *name, char out[CLSI_ELEMENT_ROOM]);
/* Whether elements of an array are meant, u[*]: a star inside brackets. */
int clsi_has_star(const char *name);

/* Whether both are elements of one array. */
int clsi_same_array(const char *a, const char *b);

/* What is wrong with a name that is not among `names`, in the words of arrays: "`u` goes from 1 to 30" of
 * u[31], "`u` is an array: `u[1]` to `u[30]`" of u, u[*] and u[2..5]. "" where that is not it. */
const char *clsi_array_hint(const char *name, size_t n, const char *const *names, char out[200]);

#endif
