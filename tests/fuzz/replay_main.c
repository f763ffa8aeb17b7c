/* Feeds each file of the directories given to the fuzzer's entry point.  A failure aborts. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <string.h>

enum { INPUT_MAX = 65536 };

static int replay_file(const char *dir, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return perror(path), -1;
    /* Exactly as large as the input, so that a sanitizer sees each step beyond it. */
    uint8_t *room = malloc(INPUT_MAX);
    size_t size = room == NULL ? 0 : fread(room, 1, INPUT_MAX, f);
    fclose(f);
    uint8_t *data = malloc(size + 1);
    if (room != NULL && data != NULL) {
        memcpy(data + 1, room, size);
        LLVMFuzzerTestOneInput(data + 1, size);
    }
    free(data);
    free(room);
    return 1;
}

/* Number of files replayed, or -1. */
static int replay_dir(const char *path)
{
    int count = 0;
    DIR *dir = opendir(path);
    if (dir == NULL)
        return perror(path), -1;
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.' && replay_file(path, e->d_name) > 0)
            count++;
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int count = replay_dir(argv[i]);
        if (count <= 0) {
            fprintf(stderr, "nothing to replay in %s\n", argv[i]);
            return EXIT_FAILURE;
        }
        printf("%d inputs of %s hold\n", count, argv[i]);
    }
    return EXIT_SUCCESS;
}
