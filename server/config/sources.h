/* What the sources of a configuration share: how a value is taken, and how a problem is reported.
 * For server/config/ only.
 *
 * A load uses all of this on one thread.  Problems are collected, so that one run shows them all:
 * no function fails, and config_load() looks at the report in the end. */
#ifndef ERGON_CONFIG_SOURCES_H
#define ERGON_CONFIG_SOURCES_H

#include "server/config/key_table.h"

struct config_report {
    FILE *out;
    const char *file; /* that is read; may be NULL */
    unsigned count;   /* of problems */
    bool no_memory;
};

/* "ergond.yaml:12: drain: ...", "ERGON_DRAIN: ...", "--drain: ...", "drain: ...".  `path` may be
 * NULL: the place alone. */
__attribute__((format(printf, 5, 6))) void
config_problem(struct config_report *r, const struct config_origin *origin,
               const struct config_key *key, const char *path, const char *format, ...);

/* Where a value comes from: "ergond.yaml:12", "ERGON_DRAIN", "--drain", "default". */
void config_origin_text(const struct config_origin *origin, const struct config_key *key,
                        const char *file, char *buf, size_t size);

/* A struct that a table describes, and its place in the configuration.  All borrowed. */
struct config_target {
    const struct config_table *table;
    void *base;
    const char *prefix;            /* "listen[1].", or "" */
    struct config_origin *origins; /* one per key, or... */
    uint32_t *given;               /* ...a bit per key */
};

/* The whole configuration as a target. */
static inline struct config_target config_top(struct config *c)
{
    return (struct config_target){
        .table = &config_keys, .base = c, .prefix = "", .origins = c->origins};
}

/* Sets one value from a text and notes where it came from.  `path` is for the report. */
void config_take(struct config_report *r, const struct config_target *t,
                 const struct config_key *key, const char *text, const char *path,
                 const struct config_origin *origin);

/* Empties a list that a lower source filled, so that a source replaces it and does not add. */
void config_replace(const struct config_target *t, const struct config_key *key,
                    const struct config_origin *origin);

/* ---- the sources, in rising order; each sets what it finds and reports what it cannot take ----
 */

void config_read_file(struct config_report *r, struct config *c, const char *path);
void config_read_environment(struct config_report *r, struct config *c, char *const *envp);

/* What the flags ask for besides values; scanned first, since it names the file. */
struct config_request {
    enum config_action action;
    const char *file;  /* borrowed from argv; may be NULL */
    const char *store; /* of CONFIG_CHECK_STORE and its like; borrowed from argv */
    const char *copy;  /* of CONFIG_BACKUP_STORE and CONFIG_VERB_INIT, likewise */
    const char *verb;  /* of CONFIG_ADMINISTER, likewise */
    const char *grant; /* likewise; may be NULL */
};

/* With `c` NULL only *request is filled, else only values are taken. */
void config_read_flags(struct config_report *r, struct config *c, int argc, char *const *argv,
                       struct config_request *request);

/* The value of a variable, borrowed from `envp`; NULL when it is not set. */
const char *config_getenv(char *const *envp, const char *name);

/* ---- the checks across keys ---- */

/* What a problem is about: the configuration itself, or one element of a list of maps. */
struct subject {
    struct config_report *report;
    const struct config *config;
    const char *list; /* NULL: the configuration itself */
    size_t index;
    const struct config_origin *origin; /* of the element */
};

/* `path` is a key of the configuration, or of the element. */
__attribute__((format(printf, 3, 4))) void wrong(const struct subject *s, const char *path,
                                                 const char *format, ...);

/* The file cannot be `done`: errno says why. */
void wrong_file(const struct subject *s, const char *path, const char *file, const char *done);
void check_readable(const struct subject *s, const char *path, const char *file);
/* Patterns are kept with commas between them; '*' is allowed at the end of each. */
void check_patterns(const struct subject *s, const char *path, const struct config_texts *patterns);

/* Fills in what follows from other keys. */
void config_derive(struct config_report *r, struct config *c);

/* Reports what no single value shows: values that do not go together, files that cannot be read. */
void config_check(struct config_report *r, const struct config *c);

#endif
