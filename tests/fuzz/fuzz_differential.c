/* One formula, five ways to its value: the program over one point, over a block of points in vectors,
 * in lanes, as machine code for one point and for lanes, and again after substituting every symbol by
 * itself: the same bits. Machine code asks the system for pages: the fuzzer does it with every 16th. */
#include "expr/program.h"
#include "fuzz.h"
#include <clausius/graph.h>

enum { N = 9 };

/* The sign and the payload of a NaN are nobody's promise. */
static void same(double a, double b) {
    PROMISE((a != a && b != b) || memcmp(&a, &b, sizeof a) == 0);
}

static void one_by_one(const cls_program *p, const double *in, const double *out) {
    double *work = calloc(cls_program_work_size(p) + 1, sizeof *work), value;
    PROMISE(work);
    cls_program_prepare(p, work);
    for (int i = 0; i < N; i++) {
        cls_program_run(p, work, (double[]){in[i], in[N + i]}, &value);
        same(value, out[i]);
    }
    free(work);
}

static void in_lanes(const cls_program *p, const double *in, const double *out) {
    double *work = calloc(clsi_lanes_size(p), sizeof *work);
    PROMISE(work);
    clsi_lanes_prepare(p, work);
    for (size_t k = 0; k < 2; k++)
        for (size_t l = 0; l < CLSI_LANES; l++) clsi_lanes_input(p, work, k)[l] = in[k * N + l % N];
    clsi_lanes_early(p, CLSI_LANES, work);
    clsi_lanes_late(p, CLSI_LANES, work);
    for (size_t l = 0; l < CLSI_LANES; l++) same(clsi_lanes_output(p, work, 0)[l], out[l % N]);
    free(work);
}

static void evaluate(cls_program *p, uint64_t seed, int native) {
    double in[2 * N], out[N];
    for (int i = 0; i < 2 * N; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        in[i] = (double)(int64_t)seed / 0x1p61;
    }
    PROMISE(cls_program_run_many(p, N, N, in, out) == CLS_OK);
    one_by_one(p, in, out);
    if (!native) return;
    in_lanes(p, in, out);
    clsi_program_make_native(p, 0);
    clsi_program_make_native(p, 1);
    one_by_one(p, in, out);
    in_lanes(p, in, out);
}

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
        cls_node same_node = a;
        PROMISE(cls_substitute(g, 1, &a, 2, nodes, nodes, &same_node) != CLS_OK || same_node == a);
        if (cls_program_create(g, 2, nodes, 1, &a, &p, NULL) == CLS_OK)
            evaluate(p, seed, fuzz_chosen(data, size, 16));
        cls_program_free(&p);
    }
    cls_graph_free(&g);
    free(text);
    return 0;
}
