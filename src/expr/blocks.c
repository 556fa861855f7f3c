/* Symbols by the hundred thousand: those of the elements of an array are one block.
 *
 * Problem: a system of 100,000 cells has half a million names. As texts of their own in a table by hash they are
 * 60 bytes and a search each, before anything is computed. Names of elements differ in their indices alone: so a block
 * has nodes that follow each other, texts of one width that follow each other, and an element is found by computing
 * its place from the indices in its name. Such symbols are in no table. */
#include "base/base.h"
#include "expr/graph.h"
#include <stdlib.h>
#include <string.h>

/* Letters of the number, from `at` on. */
static size_t put_number(char *at, long value) {
    char text[24], *p = text + sizeof text;
    unsigned long rest = value < 0 ? -(unsigned long)value : (unsigned long)value;
    do {
        *--p = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0) *--p = '-';
    size_t n = (size_t)(text + sizeof text - p);
    memcpy(at, p, n);
    return n;
}

static void write_name(const clsi_symbol_block *b, size_t stem, size_t length, const long *index,
                       char *to) {
    memcpy(to, b->stem[stem], length);
    to += length;
    for (size_t i = 0; i < b->indices; i++) {
        *to++ = '[';
        to += put_number(to, index[i]);
        *to++ = ']';
    }
    *to = 0;
}

/* Room for the longest name, and its 0. */
static size_t width_of(const clsi_symbol_block *b) {
    char text[24];
    size_t longest = 0, width = 1;
    for (size_t j = 0; j < b->stems; j++)
        if (strlen(b->stem[j]) > longest) longest = strlen(b->stem[j]);
    for (size_t i = 0; i < b->indices; i++) {
        size_t low = put_number(text, b->low[i]), high = put_number(text, b->high[i]);
        width += 2 + (low > high ? low : high);
    }
    return longest + width;
}

static void write_names(clsi_symbol_block *b) {
    long index[CLSI_MOST_INDICES];
    size_t length[CLSI_MOST_STEMS];
    for (size_t j = 0; j < b->stems; j++) length[j] = strlen(b->stem[j]);
    for (size_t i = 0; i < b->indices; i++) index[i] = b->low[i];
    char *to = b->names;
    for (size_t k = 0; k < b->count; k++) {
        for (size_t j = 0; j < b->stems; j++, to += b->width)
            write_name(b, j, length[j], index, to);
        for (size_t i = b->indices; i-- > 0;) {
            if (++index[i] <= b->high[i]) break;
            index[i] = b->low[i];
        }
    }
}

/* Whether some name that is there begins like an element of the block. */
static int is_taken(const cls_graph *g, const clsi_symbol_block *b) {
    for (size_t j = 0; j < b->stems; j++) {
        size_t n = strlen(b->stem[j]);
        for (size_t k = 0; k < g->n_names; k++)
            if (strncmp(g->names[k], b->stem[j], n) == 0 && g->names[k][n] == '[') return 1;
        for (size_t k = 0; k < g->n_blocks; k++)
            for (size_t i = 0; i < g->blocks[k].stems; i++)
                if (strcmp(g->blocks[k].stem[i], b->stem[j]) == 0) return 1;
        for (size_t i = 0; i < j; i++)
            if (strcmp(b->stem[i], b->stem[j]) == 0) return 1;
    }
    return 0;
}

const clsi_symbol_block *clsi_symbols(cls_graph *g, const clsi_symbol_block *like) {
    clsi_symbol_block b = *like;
    b.count = 1;
    for (size_t i = 0; i < b.indices; i++) b.count *= (size_t)(b.high[i] - b.low[i] + 1);
    size_t n = b.count * b.stems;
    if (is_taken(g, &b) || g->n_block_names + n > CLSI_BLOCK_NAME ||
        g->n + n > g->limits.max_nodes || g->error.status != CLS_OK)
        return NULL;
    b.width = width_of(&b);
    b.first = (cls_node)g->n;
    b.first_name = (uint32_t)g->n_block_names;
    b.names = clsi_malloc(n * b.width);
    if (!b.names || !clsi_grow(&g->blocks, &g->blocks_room, g->n_blocks + 1, sizeof *g->blocks) ||
        !clsi_grow(&g->nodes, &g->capacity, g->n + n, sizeof *g->nodes) ||
        !clsi_grow(&g->links, &g->links_room, g->n + n, sizeof *g->links)) {
        free(b.names);
        clsi_graph_fail(g, CLS_MEMORY, "out of memory");
        return NULL;
    }
    write_names(&b);
    for (size_t k = 0; k < n; k++) {
        g->nodes[g->n] = (clsi_node){
            .op = CLS_OP_SYMBOL,
            .arg = {CLSI_BLOCK_NAME | (b.first_name + (uint32_t)k), CLS_NO_NODE, CLS_NO_NODE}};
        g->links[g->n++] = (clsi_link){0, 0};
    }
    g->n_block_names += n;
    g->blocks[g->n_blocks] = b;
    return &g->blocks[g->n_blocks++];
}

const char *clsi_block_name(const cls_graph *g, uint32_t name) {
    name &= ~(uint32_t)CLSI_BLOCK_NAME;
    const clsi_symbol_block *b = g->blocks + g->n_blocks - 1;
    while (b->first_name > name) b--;
    return b->names + (name - b->first_name) * b->width;
}

/* [3][4] up to the end: the indices; 0: it is no such text, or not written as an element is. */
static int read_indices(const clsi_symbol_block *b, const char *s, size_t length, long *index) {
    size_t at = 0;
    for (size_t i = 0; i < b->indices; i++) {
        if (at >= length || s[at++] != '[') return 0;
        int minus = at < length && s[at] == '-';
        at += (size_t)minus;
        size_t digits = at;
        long value = 0;
        for (; at < length && s[at] >= '0' && s[at] <= '9' && at - digits < 10; at++)
            value = 10 * value + (s[at] - '0');
        if (at == digits || (s[digits] == '0' && (at > digits + 1 || minus))) return 0;
        if (at >= length || s[at++] != ']') return 0;
        index[i] = minus ? -value : value;
    }
    return at == length;
}

const clsi_symbol_block *clsi_block_by_name(const cls_graph *g, const char *name, size_t length,
                                            size_t *element, size_t *stem) {
    if (!g->n_blocks || !length || name[length - 1] != ']') return NULL;
    const char *open = memchr(name, '[', length);
    size_t n = open ? (size_t)(open - name) : 0;
    long index[CLSI_MOST_INDICES];
    for (size_t k = 0; k < g->n_blocks && n; k++) {
        const clsi_symbol_block *b = &g->blocks[k];
        for (size_t j = 0; j < b->stems; j++) {
            if (strncmp(b->stem[j], name, n) != 0 || b->stem[j][n]) continue;
            if (!read_indices(b, open, length - n, index)) return NULL;
            *element = clsi_block_element(b, index);
            *stem = j;
            return *element == SIZE_MAX ? NULL : b;
        }
    }
    return NULL;
}

const clsi_symbol_block *clsi_block_by_node(const cls_graph *g, cls_node a, size_t *element,
                                            size_t *stem) {
    for (size_t k = 0; k < g->n_blocks; k++) {
        const clsi_symbol_block *b = &g->blocks[k];
        if (a < b->first || a - b->first >= b->count * b->stems) continue;
        *element = (a - b->first) / b->stems;
        *stem = (a - b->first) % b->stems;
        return b;
    }
    return NULL;
}
