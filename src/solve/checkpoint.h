/* solve, inside: the state of a computation as a list of numbers, and a file that keeps it. */
#ifndef CLSI_CHECKPOINT_H
#define CLSI_CHECKPOINT_H

#include <clausius/status.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers in a fixed order, written or read by the same calls: with `reading` 0 they are appended,
 * with 1 they are taken back. `failed` is sticky; check it once at the end. Initialise with {0}. */
typedef struct clsi_archive {
    int reading, failed;
    size_t n, capacity, at; /* at: the next to be read */
    double *values;
} clsi_archive;
void clsi_archive_doubles(clsi_archive *a, size_t n, double *values);
void clsi_archive_word(clsi_archive *a, uint64_t *value); /* all 64 bits */
/* A number that is at most `limit`; one that is not fails the reading. */
void clsi_archive_size(clsi_archive *a, size_t limit, size_t *value);
void clsi_archive_flag(clsi_archive *a, int *value); /* 0 or 1 */
/* Nothing failed and, when reading, nothing is left. */
int clsi_archive_whole(const clsi_archive *a);
void clsi_archive_clear(clsi_archive *a);

/* The file: two archives (training, optimiser) and a text that says what they belong to. Written
 * atomically: a process killed at any time leaves the last whole one. */
cls_status clsi_checkpoint_write(const char *path, const char *identity,
                                 const clsi_archive *training, const clsi_archive *optimizer,
                                 cls_error *error);
/* Both archives ready to be read (the caller clears them). Another identity is an error, and so is
 * a file of another kind. *found = 0 when there is no file: then nothing is read. */
cls_status clsi_checkpoint_read(const char *path, const char *identity, int *found,
                                clsi_archive *training, clsi_archive *optimizer, cls_error *error);

/* The first n numbers of the training, if the file is there and has this identity: else *found = 0.
 */
cls_status clsi_checkpoint_head(const char *path, const char *identity, size_t n, double *values,
                                int *found, cls_error *error);

#endif
