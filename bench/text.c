/* Text in and out beside bench/many: a library call on a file that the system has in its cache, measured as the peers are (read_csv, to_csv).
 *
 * A server, as steps.c:
 *     read PATH          processor seconds of cls_table_read, rows, columns
 *     write PATH OUT     the table at PATH (read before) by cls_table_write: processor seconds, rows, columns
 *     check PATH         every number of the CSV file against strtod: seconds, numbers, how many differ in a bit
 *     printf PATH OUT    the same table by fprintf %.17g: processor seconds, rows, columns
 *     strtod PATH        every number of the file by strtod, into one array: processor seconds, numbers, 1
 */
#include <clausius/clausius.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void answer(double began, const cls_table *t) {
    printf("%.9g %zu %zu\n", seconds() - began, cls_table_rows(t), cls_table_columns(t));
}

static cls_table *read_table(const char *path) {
    cls_table *t = NULL;
    cls_error error;
    if (cls_table_read(path, &t, &error) != CLS_OK) printf("error %s\n", error.message);
    return t;
}

static void ask_read(const char *path) {
    double began = seconds();
    cls_table *t = read_table(path);
    if (t) answer(began, t);
    cls_table_free(&t);
}

static void ask_write(const char *path, const char *out) {
    cls_error error;
    cls_table *t = read_table(path);
    if (!t) return;
    double began = seconds();
    if (cls_table_write(t, out, &error) != CLS_OK)
        printf("error %s\n", error.message);
    else
        answer(began, t);
    cls_table_free(&t);
}

static void ask_printf(const char *path, const char *out) {
    cls_table *t = read_table(path);
    FILE *file = t ? fopen(out, "w") : NULL;
    if (!file) return;
    double began = seconds();
    size_t n = cls_table_columns(t);
    for (size_t r = 0; r < cls_table_rows(t); r++)
        for (size_t c = 0; c < n; c++)
            fprintf(file, "%.17g%c", cls_table_column(t, c)[r], c + 1 < n ? ',' : '\n');
    fclose(file);
    answer(began, t);
    cls_table_free(&t);
}

/* The numbers below notes and header, line by line; with a table, how many are not its bits. */
static size_t by_strtod(FILE *file, const cls_table *t, double *numbers, size_t *wrong) {
    static char line[1 << 16];
    size_t n = 0, row = 0;
    while (fgets(line, sizeof line, file)) {
        char *at = line, *end;
        if (strchr("#\n", *line) || (strtod(at, &end), end == at)) continue;
        for (size_t c = 0;; c++, at = end + 1) {
            double x = strtod(at, &end);
            if (end == at) break;
            if (numbers) numbers[n] = x;
            if (t) *wrong += memcmp(&x, &cls_table_column(t, c)[row], sizeof x) != 0;
            n++;
            if (*end != ',') break;
        }
        row++;
    }
    return n;
}

static void ask_strtod(const char *path, int check) {
    cls_table *t = read_table(path);
    FILE *file = t ? fopen(path, "r") : NULL;
    double *numbers =
        check || !t ? NULL : malloc(cls_table_rows(t) * cls_table_columns(t) * sizeof *numbers);
    if (!file) return;
    size_t wrong = 0;
    double began = seconds();
    size_t n = by_strtod(file, check ? t : NULL, numbers, &wrong);
    printf("%.9g %zu %zu\n", seconds() - began, n, check ? wrong : 1);
    fclose(file);
    free(numbers);
    cls_table_free(&t);
}

int main(void) {
    static char line[4096], path[2048], out[2048], word[32];
    while (fgets(line, sizeof line, stdin)) {
        int n = sscanf(line, "%31s %2047s %2047s", word, path, out);
        if (n >= 2 && !strcmp(word, "read"))
            ask_read(path);
        else if (n == 3 && !strcmp(word, "write"))
            ask_write(path, out);
        else if (n == 3 && !strcmp(word, "printf"))
            ask_printf(path, out);
        else if (n >= 2 && (!strcmp(word, "check") || !strcmp(word, "strtod")))
            ask_strtod(path, *word == 'c');
        else
            printf("error what is \"%s\"?\n", word);
        fflush(stdout);
    }
}
