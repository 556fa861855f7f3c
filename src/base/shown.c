/* Text of files as it may be shown: nothing in it steers a terminal, and it stands in the order in which it is read. */
#include "base/base.h"
#include <stdlib.h>
#include <string.h>

/* U+202A to U+202E and U+2066 to U+2069 turn the order of what follows them: code could be shown as a comment. */
int clsi_turns_order(const char *text, size_t left) {
    const unsigned char *s = (const unsigned char *)text;
    return left > 2 && s[0] == 0xe2 &&
           ((s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) ||
            (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

size_t clsi_shown_length(const char *text, size_t left) {
    const unsigned char *s = (const unsigned char *)text;
    if (*s < 0x80) return *s >= 32 && *s != 127 ? 1 : *s == '\t';
    size_t n = *s >= 0xc2 && *s < 0xe0   ? 2
               : *s >= 0xe0 && *s < 0xf0 ? 3
               : *s >= 0xf0 && *s < 0xf5 ? 4
                                         : 0;
    if (!n || n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (n == 2 && s[0] == 0xc2 && s[1] < 0xa0) return 0; /* C1: control characters to a terminal */
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0))) return 0;
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))) return 0;
    return clsi_turns_order(text, left) ? 0 : n;
}

char *clsi_shown_text(const char *text, size_t length) {
    clsi_text out = {0};
    clsi_text_append(&out, "");
    for (size_t i = 0; i < length;) {
        const unsigned char *s = (const unsigned char *)text + i;
        size_t n = clsi_shown_length(text + i, length - i);
        if (n)
            clsi_text_append_n(&out, text + i, n);
        else if (s[0] == 0xc2 && i + 1 < length && s[1] >= 0x80 && s[1] < 0xa0)
            clsi_text_printf(&out, "\\x%02x", s[1]), n = 2;
        else if (clsi_turns_order(text + i, length - i))
            clsi_text_printf(&out, "\\u20%02x", (s[1] & 1) << 6 | (s[2] & 63)), n = 3;
        else if (*s >= 0xa0) /* Latin-1 */
            clsi_text_append_n(&out, (char[]){(char)(0xc0 | *s >> 6), (char)(0x80 | (*s & 63))}, 2);
        else
            clsi_text_printf(&out, "\\x%02x", *s);
        i += n ? n : 1;
    }
    return clsi_text_take(&out);
}

char *clsi_shown_lines(const char *text) {
    clsi_text out = {0};
    clsi_text_append(&out, "");
    while (*text) {
        size_t n = strcspn(text, "\n");
        char *line = clsi_shown_text(text, n);
        if (!line) out.failed = 1;
        clsi_text_append(&out, line ? line : "");
        clsi_text_append(&out, text[n] ? "\n" : "");
        free(line);
        text += n + (text[n] != 0);
    }
    return clsi_text_take(&out);
}

int clsi_is_shown(const char *text) {
    size_t left = strlen(text);
    for (size_t n; left; text += n, left -= n)
        if (!(n = clsi_shown_length(text, left))) return 0;
    return 1;
}
