/* Files with arrays by both readers (src/system/pattern.h): what the lean one takes, the one that writes out takes, and
 * they give the same system, to the bits of its motion. Showing and stepping: every eighth input, the corpus test all. */
#include "fuzz.h"
#include "tests/readers.h"

/* A motion of many is long. */
enum { MOST = 24 };

static void compare(const cls_system *a, const cls_system *b, int thorough) {
    const char *said = readers_declare(a, b);
    if (!said && cls_system_state_count(a) <= MOST && thorough) said = readers_show(a, b);
    if (!said && cls_system_state_count(a) <= MOST)
        said = readers_motions(a, b, NULL, thorough ? 2 : 0);
    if (said) fprintf(stderr, "the readers differ in %s\n", said);
    PROMISE(!said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1500) return 0;
    char *text = fuzz_text(data, size);
    cls_system *a = NULL, *b = NULL;
    cls_error error;
    if (strstr(text, "..") && !strstr(text, "include") && /* opens files */
        clsi_system_parse_alone(text, "fuzz", NULL, 1, &a, &error) == CLS_OK) {
        PROMISE(clsi_system_parse_alone(text, "fuzz", NULL, 0, &b, &error) == CLS_OK);
        compare(a, b, fuzz_chosen(data, size, 8));
    }
    cls_system_free(&a);
    cls_system_free(&b);
    free(text);
    return 0;
}
