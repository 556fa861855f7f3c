/* Writing a graph as text without recursion: a stack of pieces still to be written, each a literal
 * or a node with the weakest binding that needs no parentheses there. Shared by cls_print and
 * cls_print_latex, which differ only in the pieces they push for a node. */
#ifndef CLSI_WRITER_H
#define CLSI_WRITER_H

#include "base/base.h"
#include <clausius/graph.h>

/* How tightly a text binds, weakest first. */
typedef enum clsi_binding {
    CLSI_SUM,
    CLSI_PRODUCT,
    CLSI_UNARY,
    CLSI_POWER,
    CLSI_ATOM
} clsi_binding;

typedef struct clsi_piece {
    const char *text; /* a literal that outlives the writing, or NULL: write `node` */
    cls_node node;
    uint8_t binding;
    uint8_t unsign; /* LaTeX: leave out the leading minus, it has been written as " - " */
} clsi_piece;

typedef struct clsi_writer {
    const cls_graph *graph;
    clsi_text out;
    clsi_piece *stack;
    size_t n, capacity;
} clsi_writer;

/* Pushes the pieces, so that they are written in the order given. */
void clsi_writer_push(clsi_writer *w, size_t n, const clsi_piece *pieces);
/* Writes node `a`: `write` either appends to w->out or pushes pieces. The result is the caller's;
 * NULL when out of memory. A text above a megabyte (shared subexpressions are written each time)
 * gives "<expression too large to print>" instead. */
char *clsi_writer_run(const cls_graph *g, cls_node a,
                      void (*write)(clsi_writer *w, const clsi_piece *piece));

/* The inputs of a field node: both points where it has two. The texts are literals. */
void clsi_write_points(clsi_writer *w, cls_node node, const char *open, const char *between,
                       const char *close);

/* The number as text: "2/3" when it is exactly that division and its decimals are long (then 1 is
 * returned: the text is a division), its shortest decimals otherwise. */
int clsi_format_number(double value, char out[32]);

#define CLSI_TEXT(s)       ((clsi_piece){.text = (s)})
#define CLSI_NODE(a, bind) ((clsi_piece){.node = (a), .binding = (bind)})
#define CLSI_PUSH(w, ...)                                                                          \
    clsi_writer_push(w, sizeof((clsi_piece[]){__VA_ARGS__}) / sizeof(clsi_piece),                  \
                     (clsi_piece[]){__VA_ARGS__})

#endif
