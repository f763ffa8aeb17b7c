/* The table of keys: what can be configured, once.
 *
 * File, environment, flags, --help, --print-config and the test of docs/operations.md all walk it;
 * a new key is one row here and one member of struct config. */
#ifndef ERGON_CONFIG_KEYS_H
#define ERGON_CONFIG_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "server/config.h"

enum config_type {
    CONFIG_BOOL,      /* bool */
    CONFIG_COUNT,     /* uint32_t */
    CONFIG_INTEGER,   /* int32_t */
    CONFIG_MODE,      /* uint32_t, octal in text */
    CONFIG_SIZE,      /* uint64_t, bytes */
    CONFIG_DURATION,  /* uint64_t, ns */
    CONFIG_WORD,      /* an enum, by the index of the word in `words` */
    CONFIG_TEXT,      /* char *, owned or NULL: a path */
    CONFIG_NAME,      /* char *, owned or NULL: no path */
    CONFIG_SECRET,    /* char *, owned or NULL; never on the command line, never printed */
    CONFIG_URL,       /* char *, owned or NULL; url_parse() takes it */
    CONFIG_CORES,     /* struct config_cores, "0-2,5" in text */
    CONFIG_TEXTS,     /* struct config_texts; a text adds one */
    CONFIG_LISTENERS, /* of struct config; a text adds one by its URL */
    CONFIG_EXECUTORS, /* of struct config; in the file only */
    CONFIG_TENANTS,   /* likewise */
};

struct config_key {
    const char *path; /* from the top of its table: "limits.message" */
    const char *name; /* --name and ERGON_NAME; NULL: in the file only */
    enum config_type type;
    size_t offset;            /* of the member */
    const char *normal;       /* default as text; NULL: empty */
    int64_t min, max;         /* numbers: both inclusive */
    const char *const *words; /* CONFIG_WORD: all, ended by NULL; numbers: one that stands for... */
    int64_t word_value;       /* ...this value, which min and max need not include */
    bool live;                /* a reload takes it over */
    const char *help;
};

struct config_table {
    const struct config_key *keys;
    size_t count;
    size_t size; /* bytes of the struct that it describes */
};

extern const struct config_table config_keys;          /* struct config */
extern const struct config_table config_listener_keys; /* struct config_listener */
extern const struct config_table config_executor_keys; /* struct config_executor */
extern const struct config_table config_tenant_keys;   /* struct config_tenant */

/* The table of one element of a list of maps, NULL for any other type. */
const struct config_table *config_element_keys(enum config_type type);

bool config_is_list(enum config_type type);

/* "ERGON_LIMITS_MESSAGE".  `key` has a name. */
void config_env_name(const struct config_key *key, char *buf, size_t size);

#endif
