/* Text that is safe in HTML and in JSON, whatever it says.
 *
 * Names from CSV headers, notes and system files are hostile input. Besides the five characters of
 * HTML, control characters and the marks that turn the direction of writing are left out (they can
 * make a page show what it does not say), and bytes that are not UTF-8 become question marks. */
#include "page/page.h"
#include <math.h>
#include <string.h>

/* The length of the UTF-8 character at s and its code; 0: these bytes are none. */
static size_t character(const char *s, uint32_t *code) {
    const unsigned char *b = (const unsigned char *)s;
    size_t n = b[0] < 0x80                   ? 1
               : b[0] >= 0xC2 && b[0] < 0xE0 ? 2
               : b[0] >= 0xE0 && b[0] < 0xF0 ? 3
               : b[0] >= 0xF0 && b[0] < 0xF5 ? 4
                                             : 0;
    if (!n) return 0;
    *code = n == 1 ? b[0] : b[0] & (0xFFu >> (n + 1));
    for (size_t k = 1; k < n; k++) {
        if ((b[k] & 0xC0) != 0x80) return 0;
        *code = *code << 6 | (b[k] & 0x3Fu);
    }
    if ((n == 3 && *code < 0x800) || (n == 4 && (*code < 0x10000 || *code > 0x10FFFF)) ||
        (*code >= 0xD800 && *code < 0xE000))
        return 0;
    return n;
}

static int is_hidden(uint32_t c) {
    return (c < 32 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) ||
           (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || c >= 0xE0000 || (c & 0xFFFE) == 0xFFFE ||
           (c >= 0xFDD0 && c <= 0xFDEF);
}

void clsi_html(clsi_text *t, const char *s, size_t most) {
    const char *end = most && strlen(s) > most ? s + most : s + strlen(s);
    while (s < end) {
        uint32_t code = 0;
        size_t n = character(s, &code);
        if (!n) {
            clsi_text_append(t, "?");
            s++;
            continue;
        }
        if (s + n > end) break;
        if (*s == '<')
            clsi_text_append(t, "&lt;");
        else if (*s == '>')
            clsi_text_append(t, "&gt;");
        else if (*s == '&')
            clsi_text_append(t, "&amp;");
        else if (*s == '"')
            clsi_text_append(t, "&quot;");
        else if (*s == '\'')
            clsi_text_append(t, "&#39;");
        else if (!is_hidden(code))
            clsi_text_append_n(t, s, n);
        s += n;
    }
    if (*end) clsi_text_append(t, "…");
}

void clsi_json_string(clsi_text *t, const char *s) {
    clsi_text_append(t, "\"");
    while (*s) {
        uint32_t code = 0;
        size_t n = character(s, &code);
        if (!n) {
            clsi_text_append(t, "?");
            s++;
            continue;
        }
        /* < as a code: the text may stand inside of <script> */
        if (code < 32 || code == '"' || code == '\\' || code == '<' || is_hidden(code))
            code < 0x10000 ? clsi_text_printf(t, "\\u%04x", (unsigned)code)
                           : clsi_text_append(t, "?");
        else
            clsi_text_append_n(t, s, n);
        s += n;
    }
    clsi_text_append(t, "\"");
}

void clsi_json_number(clsi_text *t, double x) {
    char text[32];
    if (!isfinite(x)) {
        clsi_text_append(t, "null");
        return;
    }
    clsi_format_double(x, text);
    clsi_text_append(t, text);
}
