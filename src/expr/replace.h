/* Replacing the same nodes in many formulas, each part of them once.
 *
 * cls_substitute walks over all that its formulas are made of. Where formulas come one after the other and share
 * large parts (a mean that all elements feel, sums that grow by a term each), this would be the square of their
 * number. What became of each node is kept here, so that a part costs what it costs once. Nodes are built in the
 * order in which cls_substitute would build them: their numbers are the same. */
#ifndef CLSI_REPLACE_H
#define CLSI_REPLACE_H

#include "expr/graph.h"

typedef struct clsi_replacer clsi_replacer;

/* Asked once for each symbol: what it becomes, or CLS_NO_NODE where it stays. */
typedef cls_node (*clsi_value_of)(const void *context, cls_node symbol);

/* value_of may be NULL; NULL: no memory. */
clsi_replacer *clsi_replacer_create(cls_graph *g, clsi_value_of value_of, const void *context);
void clsi_replacer_free(clsi_replacer **r);
/* From now on `from` becomes `to`; nothing that contains `from` was replaced so far. 0: no memory. */
int clsi_replacer_set(clsi_replacer *r, cls_node from, cls_node to);
/* The symbol has another value now: if it was met, all but what was set is found anew. */
void clsi_replacer_forget(clsi_replacer *r, cls_node symbol);
/* All at once; `out` may be `nodes`. The graph's status says what went wrong. */
cls_status clsi_replace(clsi_replacer *r, size_t count, const cls_node *nodes, cls_node *out);

#endif
