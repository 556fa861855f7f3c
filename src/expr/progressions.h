/* Lists of whole numbers as progressions: what arrays of equal cells have for indices.
 *
 * A list of many numbers is a few runs of them, of which one with the stride p is p progressions in turn,
 *
 *     0, 3000, 1, 3001, 2, 3002, ...          (p = 2: v[k + p] - v[k] is the same as one run before)
 *
 * Loops are cut where runs end, so that what they read needs no table (emit_loops.c); a table that must be one is
 * written by macros, so that its text does not grow with its entries. Numbers are uint32_t, and differences count
 * modulo 2^32: a list of int is one, too. */
#ifndef CLSI_PROGRESSIONS_H
#define CLSI_PROGRESSIONS_H

#include "base/base.h"

/* Behind the longest progression v[k], v[k + stride], ... of n numbers: the next of its places, or beyond n. */
size_t clsi_progression_end(size_t n, const uint32_t *v, size_t k, size_t stride);
/* From one of its numbers to the next; 0 where there is one only, before `end`. */
int32_t clsi_progression_step(const uint32_t *v, size_t k, size_t stride, size_t end);
/* The same for lists (count, n) at once: they are cut together. */
size_t clsi_progressions_end(size_t count, size_t n, const uint32_t *lists, size_t k,
                             size_t stride);
/* How many pieces the lists are, at most `most` + 1. */
size_t clsi_progressions_count(size_t count, size_t n, const uint32_t *lists, size_t stride,
                               size_t most);

/* Writes number `value` of a list. */
typedef void clsi_append_entry(void *context, clsi_text *out, uint32_t value);
/* `static const TYPE name[] = {...};`. With `runs` by macros CLSI_ROW_... (clsi_append_row_macros) where that is
 * shorter, of numbers themselves (entry is NULL: of a type that is signed or not) or of equal entries. */
void clsi_append_list(clsi_text *out, const char *type, const char *name, size_t n,
                      const uint32_t *v, int runs, clsi_append_entry *entry, void *context);
/* What lists in runs are written with; text without them needs it not. */
void clsi_append_row_macros(clsi_text *out);

#endif
