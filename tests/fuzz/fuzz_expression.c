/* Formulas: parse, print, parse again gives the same node; simplified and differentiated they stay
 * nodes; printing as LaTeX and compiling end. */
#include "fuzz.h"
#include <clausius/graph.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 2000) return 0;
    char *text = fuzz_text(data, size);
    cls_graph *g = NULL;
    cls_error error;
    PROMISE(cls_graph_create(NULL, &g, &error) == CLS_OK);
    const char *names[] = {"x", "y", "v.x", "T"};
    cls_node nodes[4], a, b;
    for (int i = 0; i < 4; i++) nodes[i] = cls_symbol(g, names[i]);
    cls_scope scope = {.n = 4, .names = names, .nodes = nodes};
    if (cls_parse(g, text, &scope, NULL, 1, 1, &a, &error) == CLS_OK) {
        char *printed = cls_print(g, a), *latex = cls_print_latex(g, a);
        PROMISE(printed && latex);
        if (printed[0] != '<' && !strstr(printed, "inf") && !strstr(printed, "nan")) {
            if (cls_parse(g, printed, &scope, NULL, 1, 1, &b, &error) == CLS_OK)
                PROMISE(a == b);
            else
                PROMISE(strstr(error.message, "deep") || strstr(error.message, "large"));
        }
        cls_text_free(&printed);
        cls_text_free(&latex);
        cls_node slope = cls_derivative(g, cls_simplify(g, a), nodes[0]), out[2] = {a, slope};
        cls_program *p = NULL;
        if (cls_graph_status(g, NULL) == CLS_OK &&
            cls_program_create(g, 4, nodes, 2, out, &p, &error) == CLS_OK) {
            double in[4] = {0.3, -1.2, 2, 1.5}, value[2];
            double *work = calloc(cls_program_work_size(p) + 1, sizeof *work);
            PROMISE(work);
            cls_program_prepare(p, work);
            cls_program_run(p, work, in, value);
            free(work);
        }
        cls_program_free(&p);
    }
    cls_graph_free(&g);
    free(text);
    return 0;
}
