/* Lists in runs: pieces cover all numbers, each once and in a progression; a list written by macros is, compiled, the
 * list of its numbers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "expr/progressions.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 3000, LISTS = 60 };

static uint64_t seed = 1;

static uint32_t below(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* Runs of random strides and steps, up and down, with numbers between that are none. */
static size_t make_list(uint32_t *v) {
    size_t n = 0, pieces = 1 + below(6);
    for (size_t k = 0; k < pieces; k++) {
        size_t stride = 1 + below(9), length = below(400);
        uint32_t first[9], step[9];
        for (size_t j = 0; j < stride; j++) {
            first[j] = 4000 + below(3000);
            step[j] = below(9) - 4;
        }
        for (size_t i = 0; i < length; i++)
            v[n++] = first[i % stride] + (uint32_t)(i / stride) * step[i % stride];
        for (size_t i = below(5); i > 0; i--) v[n++] = below(9000);
    }
    return n;
}

static void pieces_are_progressions(void **unused) {
    (void)unused;
    uint32_t *v = malloc(2 * MOST * sizeof *v);
    unsigned char *seen = malloc(MOST);
    assert_non_null(v);
    assert_non_null(seen);
    for (int list = 0; list < LISTS; list++) {
        size_t n = make_list(v), stride = 1 + below(4), pieces = 0;
        for (size_t i = 0; i < n; i++) v[n + i] = below(30) ? 7 : 9;
        memset(seen, 0, MOST);
        for (size_t from = 0; from < stride && from < n; from++)
            for (size_t k = from, end; k < n; k = end, pieces++) {
                end = clsi_progressions_end(2, n, v, k, stride);
                assert_true(end > k && (end - k) % stride == 0);
                for (size_t i = k; i < end; i += stride) {
                    assert_true(i < n && !seen[i]++);
                    for (size_t j = 0; j < 2 && i >= k + 2 * stride; j++) {
                        const uint32_t *x = v + j * n;
                        assert_true(x[i] - x[i - stride] == x[k + stride] - x[k]);
                    }
                }
            }
        for (size_t i = 0; i < n; i++) assert_true(seen[i]);
        assert_int_equal(clsi_progressions_count(2, n, v, stride, MOST), pieces);
        if (pieces > 3) assert_true(clsi_progressions_count(2, n, v, stride, 2) > 2);
    }
    free(v);
    free(seen);
}

static void append_letter(void *context, clsi_text *out, uint32_t value) {
    (void)context;
    clsi_text_printf(out, "%u.5", (unsigned)value);
}

/* A program that compares the lists in runs with the same lists as numbers. */
static void macros_are_the_numbers(void **unused) {
    (void)unused;
    char folder[] = "/tmp/clausius-lists-XXXXXX", path[64], command[256];
    uint32_t *v = malloc(MOST * sizeof *v);
    clsi_text text = {0}, check = {0};
    size_t numbers = 0;
    assert_non_null(v);
    assert_non_null(mkdtemp(folder));
    clsi_text_append(&text, "#include <stdint.h>\n");
    clsi_append_row_macros(&text);
    for (int list = 0; list < LISTS; list++) {
        char name[16];
        int equal = list % 3 == 2;
        const char *type = list % 3 == 1 ? "int" : equal ? "double" : "uint32_t";
        size_t n = make_list(v);
        for (size_t i = 0; i < n && equal; i++) v[i] = v[i - i % 50] % 5;
        for (int runs = 0; runs < 2; runs++) {
            snprintf(name, sizeof name, "%c%d", runs ? 'r' : 'p', list);
            size_t before = text.length;
            clsi_append_list(&text, type, name, n, v, runs, equal ? append_letter : NULL, NULL);
            if (runs) numbers += text.length - before;
        }
        clsi_text_printf(&check,
                         "  if (sizeof r%d != sizeof p%d) return 1;\n"
                         "  for (unsigned i = 0; i < sizeof p%d / sizeof *p%d; i++)\n"
                         "    if (r%d[i] != p%d[i]) return 2;\n",
                         list, list, list, list, list, list);
    }
    assert_true(numbers < text.length / 3);
    clsi_text_printf(&text, "int main(void) {\n%s  return 0;\n}\n", check.data);
    snprintf(path, sizeof path, "%s/lists.c", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text.data, f) >= 0);
    assert_int_equal(fclose(f), 0);
    snprintf(command, sizeof command,
             "gcc -std=c99 -pedantic -Wall -Wextra -Werror %s -o %s/lists && %s/lists && rm -r %s",
             path, folder, folder, folder);
    assert_int_equal(system(command), 0);
    clsi_text_clear(&text);
    clsi_text_clear(&check);
    free(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_are_progressions),
                                       cmocka_unit_test(macros_are_the_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
