/* A fuzz target over its corpus, once, without libFuzzer: each file is a test. What was found before is
 * not there any more. Built with the sanitizers (make check). */
#include "fuzz.h"
#include <dirent.h>

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    PROMISE(f && fseek(f, 0, SEEK_END) == 0);
    *size = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(*size ? *size : 1); /* exactly: what is read behind it is seen */
    PROMISE(bytes && fread(bytes, 1, *size, f) == *size);
    fclose(f);
    return bytes;
}

int main(void) {
    DIR *d = opendir(CORPUS);
    PROMISE(d);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char path[4096];
        size_t size;
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", CORPUS, e->d_name);
        uint8_t *bytes = read_file(path, &size);
        (void)LLVMFuzzerTestOneInput(bytes, size);
        free(bytes);
        printf("ok %d - %s\n", ++n, e->d_name);
        fflush(stdout);
    }
    closedir(d);
    printf("1..%d\n", n);
    return n == 0;
}
