/* One formula, three ways to its value: the program over one point, the program over a block of
 * points in vectors, and again after substituting every symbol by itself: the same bits. */
#include "fuzz.h"
#include <clausius/graph.h>

enum { N = 9 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 8 || size > 1000) return 0;
    uint64_t seed;
    memcpy(&seed, data, sizeof seed);
    char *text = fuzz_text(data + 8, size - 8);
    cls_graph *g = NULL;
    PROMISE(cls_graph_create(NULL, &g, NULL) == CLS_OK);
    const char *names[] = {"x", "y"};
    cls_node nodes[2] = {cls_symbol(g, "x"), cls_symbol(g, "y")}, a;
    cls_scope scope = {.n = 2, .names = names, .nodes = nodes};
    cls_program *p = NULL;
    if (cls_parse(g, text, &scope, NULL, 1, 1, &a, NULL) == CLS_OK) {
        cls_node same = a;
        PROMISE(cls_substitute(g, 1, &a, 2, nodes, nodes, &same) != CLS_OK || same == a);
        if (cls_program_create(g, 2, nodes, 1, &a, &p, NULL) == CLS_OK) {
            double in[2 * N], out[N], one[2], value;
            for (int i = 0; i < 2 * N; i++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                in[i] = (double)(int64_t)seed / 0x1p61;
            }
            PROMISE(cls_program_run_many(p, N, N, in, out) == CLS_OK);
            double *work = calloc(cls_program_work_size(p) + 1, sizeof *work);
            PROMISE(work);
            cls_program_prepare(p, work);
            for (int i = 0; i < N; i++) {
                one[0] = in[i];
                one[1] = in[N + i];
                cls_program_run(p, work, one, &value);
                /* the sign and the payload of a NaN are nobody's promise */
                PROMISE((value != value && out[i] != out[i]) ||
                        memcmp(&value, &out[i], sizeof value) == 0);
            }
            free(work);
        }
        cls_program_free(&p);
    }
    cls_graph_free(&g);
    free(text);
    return 0;
}
