/* Words that stand in a module's file: what its handlers compare parameters with is among them, as
 * "sha256" or "level", and gets rubbish behind their first checks.
 *
 * One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_MODULE_WORDS_H
#define ERGON_CLI_MODULE_WORDS_H

#include "base/span.h"

enum { WORDS_MAX = 200, WORD_LEN_MAX = 32 };

struct words {
    struct span at[WORDS_MAX]; /* each once, in the order of the file */
    uint32_t count;
    uint8_t *owned; /* what they point into */
};

/* Those of the constant data, and texts of up to eight bytes that the code compares with, of a
 * 64-bit ELF file.  None, if it is no such file or cannot be read. */
void words_read(struct words *w, const char *path);
/* The same of bytes that are not the file's but the caller's. */
void words_take(struct words *w, struct span bytes);
void words_free(struct words *w);

#endif
