/* Contexts: named sets of settings, as the file of contexts holds them.
 *
 *     current: prod
 *     contexts:
 *       prod:
 *         server: ergons://ergon.example.org
 *         token_file: ~/.config/ergon/prod.token
 *         timeout: 5s
 *         output: wide
 *
 * In memory they are an object of jansson's with the members `current` (a string; may be missing)
 * and `contexts` (an object of objects; always there), in the order of the file.  A setting is a
 * string, but `insecure`, which is a truth.
 *
 * Pure; one thread. */
#ifndef ERGON_CLI_CONTEXTS_H
#define ERGON_CLI_CONTEXTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { CONTEXT_NAME_MAX = 64, CONTEXT_VALUE_MAX = 4096 /* bytes */ };

/* What a context may set, by its name in the file, and NULL behind the last. */
extern const char *const CONTEXT_KEYS[];

/* A new reference.  NULL, and "LINE: what is wrong" in `why`, which is one line: it is no YAML, has
 * a member that is not known or stands twice, a value that is none, a name that is none, or names a
 * current context that it does not hold; or there is no memory.  No text quotes a token. */
json_t *contexts_parse(const char *text, size_t len, char *why, size_t why_size);

/* Nothing in it. */
json_t *contexts_new(void);

/* NULL, or what is wrong with a value of this key, to be put behind "KEY: ". */
const char *context_value_wrong(const char *key, const char *value);

/* Letters, digits, and "._-"; a letter or digit first. */
bool context_name_is_good(const char *name);

/* The context of that name, borrowed; NULL: there is none. */
json_t *contexts_find(const json_t *contexts, const char *name);

/* The name of the current one, borrowed; NULL: none is. */
const char *contexts_current(const json_t *contexts);

/* Gives a context another name at the same place; it stays the current one if it was. */
void contexts_rename(json_t *contexts, const char *from, const char *to);

/* Forgets a context, also as the current one. */
void contexts_delete(json_t *contexts, const char *name);

#endif
