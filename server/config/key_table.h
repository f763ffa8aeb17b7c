/* The tables of keys: what can be configured, each key declared once.
 *
 * A key's row holds its name, type, default, limits and help.  File, environment, flags, --help,
 * --print-config and the test of docs/configuration.md walk these tables, so that a new key is one
 * row in key_table.c and one member of struct config.  The operations of each type of
 * value are in the type's row (types.c, lists.c).
 *
 * The tables are constant; any thread may read them. */
#ifndef ERGON_CONFIG_KEY_TABLE_H
#define ERGON_CONFIG_KEY_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "server/config/config.h"

enum config_outcome { CONFIG_OK, CONFIG_BAD, CONFIG_NO_MEMORY };

enum { CONFIG_PATH_MAX = 128, CONFIG_WHY_MAX = 256 };

struct config_key;

/* The operations of one type.  `base` is the struct that the key's table describes; the value is
 * the member at the key's offset. */
struct config_type {
    const char *name;     /* as the reference in docs/configuration.md calls it */
    const char *argument; /* what follows the flag in --help */
    bool quoted;          /* --print-config writes it in quotes */

    /* Sets the value, or adds an element to a list.  CONFIG_BAD: nothing has changed, and `why`
     * (CONFIG_WHY_MAX bytes) says what is wrong and what to write.  CONFIG_NO_MEMORY: what was
     * allocated is freed by clear(). */
    enum config_outcome (*parse)(const struct config_key *key, void *base, const char *text,
                                 char *why);

    /* Writes a text that parse() takes.  False: the value is not set.  NULL: of a list, whose
     * elements are printed one by one. */
    bool (*print)(const struct config_key *key, const void *base, char *buf, size_t size);

    bool (*equal)(const struct config_key *key, const void *a, const void *b);

    /* Makes the value empty, and frees what it owned. */
    void (*clear)(const struct config_key *key, void *base);

    /* Of numbers only: bytes of the member; from text (false and `why`), and to text. */
    size_t size;
    bool (*read)(const struct config_key *key, const char *text, int64_t *value, char *why);
    void (*write)(int64_t value, char *buf, size_t size);
};

/* Single values, and the member that each has (types.c). */
extern const struct config_type config_bool;      /* bool */
extern const struct config_type config_count;     /* uint32_t */
extern const struct config_type config_integer;   /* int32_t */
extern const struct config_type config_mode;      /* uint32_t, octal in text */
extern const struct config_type config_size;      /* uint64_t, bytes */
extern const struct config_type config_duration;  /* uint64_t, ns */
extern const struct config_type config_ratio;     /* uint32_t, millionths; at most 1 in text */
extern const struct config_type config_word;      /* an enum: the index of the word in `words` */
extern const struct config_type config_path;      /* char *, owned or NULL */
extern const struct config_type config_name;      /* char *, owned or NULL: no path */
extern const struct config_type config_secret;    /* likewise; on no command line, never printed */
extern const struct config_type config_url;       /* char *, owned or NULL; url_parse() takes it */
extern const struct config_type config_nodename;  /* char *, owned or NULL: of a node or cluster */
extern const struct config_type config_reach;     /* char *, owned or NULL; to connect to */
extern const struct config_type config_adminurl;  /* the same of an admin listener */
extern const struct config_type config_collector; /* char *, owned or NULL; endpoint_parse() */
extern const struct config_type config_corelist;  /* struct config_cores, "0-2,5" in text */

/* Lists (lists.c).  Those of maps have the elements' table in the key. */
extern const struct config_type config_textlist; /* struct config_texts; a text adds one */
extern const struct config_type config_namelist; /* the same, of names instead of paths */
extern const struct config_type config_urlmaps;  /* of maps; a text adds one by its first key,
                                                  * which is a URL */
extern const struct config_type config_maps;     /* of maps, which no text can express */

struct config_key {
    const char *path; /* from the top of its table: "limits.message" */
    const char *name; /* --name and ERGON_NAME; NULL: in the file only */
    const struct config_type *type;
    size_t offset;            /* of the member */
    const char *normal;       /* default as text; NULL: empty */
    int64_t min, max;         /* numbers: both inclusive */
    const char *const *words; /* words: all, ended by NULL; numbers: one that means for... */
    int64_t word_value;       /* ...this value, which min and max need not include */
    const struct config_table *elements; /* lists of maps: the table of one element, else NULL */
    size_t count_offset;                 /* likewise: of the member that counts them, a size_t */
    bool live;                           /* a reload takes it over */
    const char *help;
    const char
        *heading; /* of this key and those behind it, in help and reference; NULL: as before */
};

struct config_table {
    const struct config_key *keys;
    size_t count;
    size_t size; /* bytes of the struct that it describes */

    /* Of elements only: offsets of `given` and `origin`, and an element as it may be written. */
    size_t given_offset, origin_offset;
    const char *example;
};

extern const struct config_table config_keys;          /* struct config */
extern const struct config_table config_listener_keys; /* struct config_listener */
extern const struct config_table config_admin_keys;    /* the same, of an admin listener */
extern const struct config_table config_executor_keys; /* struct config_executor */
extern const struct config_table config_tenant_keys;   /* struct config_tenant */
extern const struct config_table config_role_keys;     /* struct config_role */

/* NULL: the table has no such key. */
const struct config_key *config_find(const struct config_table *table, const char *path);

/* "ERGON_LIMITS_MESSAGE".  `key` has a name. */
void config_env_name(const struct config_key *key, char *buf, size_t size);

static inline bool config_is_list(const struct config_key *key)
{
    return !key->type->print;
}

/* The member that the key describes.  What is const stays so by the caller's care. */
static inline void *config_member(const struct config_key *key, const void *base)
{
    return (char *)(uintptr_t)base + key->offset;
}

/* ---- lists of maps (lists.c); `base` is the struct that holds the list ---- */

/* Adds an element with its defaults.  NULL: out of memory. */
void *config_element_add(const struct config_key *key, void *base);
size_t config_element_count(const struct config_key *key, const void *base);
void *config_element_at(const struct config_key *key, const void *base, size_t i);

/* The bits of the keys that were written in an element, and where the element came from. */
uint32_t *config_element_given(const struct config_key *key, void *element);
struct config_origin *config_element_origin(const struct config_key *key, void *element);

/* ---- a whole struct (lists.c) ---- */

/* Sets the default of each key of the table in a zeroed struct.  False: out of memory. */
bool config_set_defaults(const struct config_table *table, void *base);
void config_clear_all(const struct config_table *table, void *base);

#endif
