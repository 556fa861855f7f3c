/* A folder of a test program's own, made before its tests and removed after them. Include after
 * cmocka. */
#ifndef CLAUSIUS_TESTS_FOLDER_H
#define CLAUSIUS_TESTS_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static inline int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/clausius-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

/* Every test cleans up after itself: a stray file fails here. */
static inline int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static inline const char *in_folder(const char *name) {
    static char path[sizeof folder + 256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* How many files there are, hidden ones too; removes them if asked to. */
static inline size_t walk_folder(int removing) {
    DIR *d = opendir(folder);
    assert_non_null(d);
    size_t n = 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        n++;
        if (removing) assert_int_equal(unlink(in_folder(e->d_name)), 0);
    }
    closedir(d);
    return n;
}

static inline size_t files_in_folder(void) {
    return walk_folder(0);
}

static inline size_t empty_folder(void) {
    return walk_folder(1);
}

#endif
