#include "server/admin/session.h"

#include <stdio.h>
#include <string.h>

#include "base/chance.h"
#include "server/net/auth/crypto.h"

static bool random_word(char text[static SESSION_WORD_TEXT + 1])
{
    uint8_t bytes[SESSION_WORD];

    if (!chance_bytes(bytes, sizeof bytes))
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    crypto_wipe(bytes, sizeof bytes);
    return true;
}

/* By their hashes, so that where they differ cannot be found out by the time it takes. */
static bool same_word(const char *mine, const char *theirs, size_t length)
{
    uint8_t a[SHA256_SIZE], b[SHA256_SIZE];

    return crypto_sha256(span_of((const uint8_t *)mine, SESSION_WORD_TEXT), a) &&
           crypto_sha256(span_of((const uint8_t *)theirs, length), b) && crypto_equal(a, b);
}

static unsigned count_of(const struct sessions *s, const char *principal)
{
    unsigned count = 0;

    for (size_t i = 0; i < SESSIONS_MAX; i++)
        count += *s->at[i].id && strcmp(s->at[i].principal, principal) == 0;
    return count;
}

uint32_t sessions_lives(const struct sessions *s, const char *principal)
{
    uint32_t lives = 0;

    for (size_t i = 0; i < SESSIONS_MAX; i++)
        if (*s->at[i].id && strcmp(s->at[i].principal, principal) == 0)
            lives += s->at[i].lives;
    return lives;
}

static struct session *oldest_of(struct sessions *s, const char *principal)
{
    struct session *oldest = NULL;

    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        struct session *one = &s->at[i];
        if (*one->id && strcmp(one->principal, principal) == 0 &&
            (!oldest || one->used < oldest->used))
            oldest = one;
    }
    return oldest;
}

/* All are taken: the oldest session of the principals that have most, and more than `count`. */
static struct session *oldest_of_most(struct sessions *s, unsigned count)
{
    const char *who = NULL;

    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        if (!*s->at[i].id)
            return NULL;
        unsigned has = count_of(s, s->at[i].principal);
        if (has > count) {
            count = has;
            who = s->at[i].principal;
        }
    }
    return who ? oldest_of(s, who) : NULL;
}

struct session *sessions_surplus(struct sessions *s, const char *principal)
{
    unsigned count = count_of(s, principal);

    return count >= SESSIONS_A_PRINCIPAL ? oldest_of(s, principal) : oldest_of_most(s, count + 1);
}

struct session *session_open(struct sessions *s, const char *principal, uint32_t listener,
                             ao_time now)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        struct session *one = &s->at[i];
        if (*one->id)
            continue;
        *one = (struct session){.listener = listener, .opened = now, .used = now};
        snprintf(one->principal, sizeof one->principal, "%s", principal);
        if (random_word(one->id) && random_word(one->csrf))
            return one;
        *one->id = '\0';
        return NULL;
    }
    return NULL;
}

struct session *session_find(struct sessions *s, const char *id, size_t length, ao_time now)
{
    struct session *found = NULL;

    for (size_t i = 0; i < SESSIONS_MAX; i++)
        if (*s->at[i].id && same_word(s->at[i].id, id, length))
            found = &s->at[i];
    if (found)
        found->used = now;
    return found;
}

bool session_knows(const struct session *s, const char *csrf)
{
    return csrf && same_word(s->csrf, csrf, strlen(csrf));
}

static bool is_over(const struct session *s, ao_time now)
{
    return now - s->opened > SESSION_WHOLE || (s->lives == 0 && now - s->used > SESSION_IDLE);
}

struct session *sessions_expired(struct sessions *s, ao_time now)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        if (*s->at[i].id && is_over(&s->at[i], now))
            return &s->at[i];
    return NULL;
}

bool sessions_any(const struct sessions *s)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        if (*s->at[i].id)
            return true;
    return false;
}

void session_end(struct session *s)
{
    crypto_wipe(s, sizeof *s);
}
