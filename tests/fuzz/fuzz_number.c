/* Numbers: read as strtod reads them, written so that they read back to the same bits. */
#include "base/base.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 400) return 0;
    char *text = fuzz_text(data, size), out[CLSI_NUMBER];
    double value, other, back;
    if (clsi_read_double(text, &value)) {
        char *end;
        for (char *c = text; *c && !strchr(text, 'x') && !strchr(text, 'X'); c++)
            if (*c == 'd' || *c == 'D') *c = 'e';
        other = strtod(text, &end);
        PROMISE(!*end && memcmp(&value, &other, sizeof value) == 0);
    }
    if (size >= 8) {
        memcpy(&value, data, sizeof value);
        if (value - value == 0) {
            clsi_format_double(value, out);
            PROMISE(strlen(out) <= 24 && clsi_read_double(out, &back));
            PROMISE(memcmp(&value, &back, sizeof value) == 0);
        }
    }
    free(text);
    return 0;
}
