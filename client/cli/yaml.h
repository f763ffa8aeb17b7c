/* YAML as `-o yaml` writes it, and the file of contexts with it: from jansson's values.
 *
 * Pure; one thread. */
#ifndef ERGON_CLI_YAML_H
#define ERGON_CLI_YAML_H

#include <jansson.h>
#include <stdbool.h>

/* `value` as one document in block style, with its last newline, and "---" in front if `marked`.
 * A string is written without quotes only where no reader of YAML 1.1 or 1.2 takes it for anything
 * else.  A text that the caller frees; NULL: out of memory. */
char *yaml_text(const json_t *value, bool marked);

#endif
