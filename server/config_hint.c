#include <string.h>

#include "server/config_parts.h"

enum { WORD_MAX = 48, NEAR = 2 };

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

/* Levenshtein's distance, a row at a time.  Both are at most WORD_MAX long. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t row[WORD_MAX + 1];

    for (size_t k = 0; k <= b_len; k++)
        row[k] = k;
    for (size_t i = 1; i <= a_len; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t k = 1; k <= b_len; k++) {
            size_t above = row[k];
            row[k] = min3(above + 1, row[k - 1] + 1, corner + (a[i - 1] != b[k - 1]));
            corner = above;
        }
    }
    return row[b_len];
}

bool config_hint(const struct config_table *table, const char *prefix, const char *word, char *buf,
                 size_t size)
{
    size_t best = NEAR + 1, length = strlen(word);

    if (length > WORD_MAX)
        return false;
    for (size_t i = 0; i < table->count; i++) {
        const char *name = table->keys[i].path + strlen(prefix);
        if (strncmp(table->keys[i].path, prefix, strlen(prefix)) != 0)
            continue;
        size_t name_length = strcspn(name, ".");
        size_t d = name_length > WORD_MAX ? best : distance(word, length, name, name_length);
        if (d < best) {
            best = d;
            snprintf(buf, size, "%.*s", (int)name_length, name);
        }
    }
    return best <= NEAR;
}
