#include "server/setup.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "server/net/auth/token.h"
#include "server/system/crash.h"
#include "server/system/security_warnings.h"

static const uint64_t NS_A_SECOND = 1000000000;

static void take_sooner(int64_t *first, int64_t ends)
{
    if (ends < *first)
        *first = ends;
}

/* ---- listeners ---- */

/* When something of a listener expires; INT64_MAX: never, or it does not exist or cannot be read.
 */
typedef int64_t end_of(const struct config_listener *l);

static int64_t end_of_certificate(const struct config_listener *l)
{
    int64_t ends;

    return l->cert && tls_cert_ends(l->cert, &ends) ? ends : INT64_MAX;
}

static int64_t end_of_list(const struct config_listener *l)
{
    bool asks = l->client_cert != CLIENT_CERT_NONE && l->crl;
    char error[256];
    int64_t ends;

    return asks && tls_crl_ends(l->crl, &ends, error, sizeof error) ? ends : INT64_MAX;
}

static const struct config_listener *listener_at(const struct config *c, size_t i)
{
    return i < c->listener_count ? &c->listeners[i] : &c->admin.listeners[i - c->listener_count];
}

static size_t listener_count(const struct config *c)
{
    return c->listener_count + c->admin.count;
}

/* The first expiry among the TLS listeners with this URL (several have the same if the port is 0),
 * or among all TLS listeners if `url` is NULL. */
static int64_t first_of(const struct config *c, const char *url, end_of *end)
{
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < listener_count(c); i++) {
        const struct config_listener *l = listener_at(c, i);
        if (l->way.scheme == URL_TLS && (!url || strcmp(l->url, url) == 0))
            take_sooner(&first, end(l));
    }
    return first;
}

static int64_t first_token(const struct config *c)
{
    char error[256];
    struct token_table *tokens =
        c->tokens_file ? token_table_load(c->tokens_file, NULL, error, sizeof error) : NULL;
    int64_t first = tokens ? token_table_first_end(tokens) : INT64_MAX;

    token_table_unref(tokens);
    return first;
}

static int64_t last_crash(void)
{
    uint64_t at = recorder_files_crashed_at();

    return at > 0 ? (int64_t)at : INT64_MAX;
}

static void show(_Atomic int64_t *at, int64_t value)
{
    atomic_store_explicit(at, value, memory_order_relaxed);
}

static bool is_counted(const struct rpc_setup *setup, uint32_t count, const char *url)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(setup->listeners[i].url, url) == 0)
            return true;
    return false;
}

void setup_begin(struct rpc_setup *setup, const struct config *c)
{
    uint32_t count = 0;

    for (size_t i = 0; i < listener_count(c) && count < RPC_LISTENERS; i++) {
        const struct config_listener *l = listener_at(c, i);
        struct rpc_listener *out = &setup->listeners[count];
        if (l->way.scheme != URL_TLS || is_counted(setup, count, l->url))
            continue;
        if ((size_t)snprintf(out->url, sizeof out->url, "%s", l->url) < sizeof out->url)
            count++;
    }
    atomic_store_explicit(&setup->listener_count, count, memory_order_release);
}

/* A listener that a reload removed from the configuration stays open, unchanged, until a restart.
 */
static void note_listener(struct rpc_listener *l, const struct config *c)
{
    bool listed = false;

    for (size_t i = 0; i < listener_count(c); i++)
        listed |= strcmp(listener_at(c, i)->url, l->url) == 0;
    if (!listed)
        return;
    show(&l->certificate_ends, first_of(c, l->url, end_of_certificate));
    show(&l->crl_ends, first_of(c, l->url, end_of_list));
}

void setup_note(struct rpc_setup *setup, const struct config *c)
{
    show(&setup->exposed_files, file_rights_count(c));
    show(&setup->open_listeners, unguarded_count(c));
    show(&setup->certificate_ends, first_of(c, NULL, end_of_certificate));
    show(&setup->crl_ends, first_of(c, NULL, end_of_list));
    for (uint32_t i = 0; i < setup->listener_count; i++)
        note_listener(&setup->listeners[i], c);
    show(&setup->token_ends, first_token(c));
    show(&setup->crashed, last_crash());
    setup_reloaded(setup, true);
}

void setup_reloaded(struct rpc_setup *setup, bool good)
{
    show(&setup->reload_refused, good ? INT64_MAX : (int64_t)(clock_wall() / NS_A_SECOND));
}
