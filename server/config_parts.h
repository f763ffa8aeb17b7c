/* What the parts of the configuration share; for server/config*.c only. */
#ifndef ERGON_CONFIG_PARTS_H
#define ERGON_CONFIG_PARTS_H

#include "server/config.h"
#include "server/config_keys.h"

/* Problems go here as they are found, so that one run shows them all. */
struct config_report {
    FILE *out;
    const char *file; /* that is read; may be NULL */
    unsigned count;   /* of problems */
    bool no_memory;
};

/* A struct that a table describes, and where it stands in the whole. */
struct config_target {
    const struct config_table *table;
    void *base;
    const char *prefix;            /* "listen[1].", or "" */
    struct config_origin *origins; /* one per key, or... */
    uint32_t *given;               /* ...a bit per key */
};

enum { CONFIG_PATH_MAX = 128, CONFIG_WHY_MAX = 256 };

/* ---- config_report.c ---- */

/* "ergond.yaml:12: drain: ...", "ERGON_DRAIN: ...", "--drain: ...", "drain: ...".  `path` may be
 * NULL: the place alone. */
__attribute__((format(printf, 5, 6))) void
config_problem(struct config_report *r, const struct config_origin *origin,
               const struct config_key *key, const char *path, const char *format, ...);

/* Where a value comes from: "ergond.yaml:12", "ERGON_DRAIN", "--drain", "default". */
void config_origin_text(const struct config_origin *origin, const struct config_key *key,
                        const char *file, char *buf, size_t size);

/* ---- config_value.c: one value; `base` is the struct that the key's table describes ---- */

enum config_outcome { CONFIG_OK, CONFIG_BAD, CONFIG_NO_MEMORY };

/* Sets the value, or adds to a list.  CONFIG_BAD: nothing is changed and `why` says what is wrong
 * and what to write (CONFIG_WHY_MAX bytes). */
enum config_outcome config_value_set(const struct config_key *key, void *base, const char *text,
                                     char *why);

/* As text that config_value_set() takes, in `buf`; of lists, nothing.  False: it is not set. */
bool config_value_text(const struct config_key *key, const void *base, char *buf, size_t size);

bool config_value_equal(const struct config_key *key, const void *a, const void *b);

/* Back to empty; frees what it owned. */
void config_value_clear(const struct config_key *key, void *base);

/* ---- config_text.c, config_list.c: the same for texts, cores and lists, whose memory is owned
 * ---- */

enum config_outcome config_text_set(const struct config_key *key, void *base, const char *text,
                                    char *why);
enum config_outcome config_cores_set(const struct config_key *key, void *base, const char *text,
                                     char *why);
enum config_outcome config_list_add(const struct config_key *key, void *base, const char *text,
                                    char *why);
bool config_text_text(const struct config_key *key, const void *base, char *buf, size_t size);
bool config_text_equal(const struct config_key *key, const void *a, const void *b);
void config_text_clear(const struct config_key *key, void *base);
bool config_list_equal(const struct config_key *key, const void *a, const void *b);
void config_list_clear(const struct config_key *key, void *base);

/* Adds an element with its defaults to a list of maps.  NULL: out of memory. */
void *config_element_add(const struct config_key *key, void *base);
size_t config_element_count(const struct config_key *key, const void *base);
void *config_element_at(const struct config_key *key, const void *base, size_t i);

/* The bits of keys that were written, and where the element came from. */
uint32_t *config_element_given(const struct config_key *key, void *element);
struct config_origin *config_element_origin(const struct config_key *key, void *element);

/* All defaults of a table, into zeroed memory.  False: out of memory. */
bool config_set_defaults(const struct config_table *table, void *base);
void config_clear_all(const struct config_table *table, void *base);

/* ---- the sources; each sets what it finds and reports what it cannot take ---- */

/* Sets one value from a text and notes where it came from.  `path` is for the report. */
void config_take(struct config_report *r, const struct config_target *t,
                 const struct config_key *key, const char *text, const char *path,
                 const struct config_origin *origin);

/* Empties a list that a lower source filled, so that a source replaces it and does not add. */
void config_replace(const struct config_target *t, const struct config_key *key,
                    const struct config_origin *origin);

void config_read_file(struct config_report *r, struct config *c, const char *path);
void config_read_env(struct config_report *r, struct config *c, char *const *envp);

/* What the flags ask for besides values; scanned first, since it names the file. */
struct config_request {
    enum config_action action;
    const char *file; /* borrowed from argv; may be NULL */
};

/* With `c` NULL only *request is filled, else only values are taken. */
void config_read_flags(struct config_report *r, struct config *c, int argc, char *const *argv,
                       struct config_request *request);

/* The value of a variable, NULL when it is not set. */
const char *config_getenv(char *const *envp, const char *name);

/* ---- config_check.c ---- */

/* Fills in what follows from other keys. */
void config_derive(struct config_report *r, struct config *c);

/* What no single value shows: values that do not go together, files that cannot be read. */
void config_check(struct config_report *r, const struct config *c);

#endif
