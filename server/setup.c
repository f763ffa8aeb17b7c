#include "server/setup.h"

#include "base/clock.h"
#include "server/file_rights.h"
#include "server/net/auth/token.h"
#include "server/recorder_files.h"
#include "server/unguarded.h"

static const uint64_t NS_A_SECOND = 1000000000;

/* The sooner of two moments; `ends` of a file that cannot be read, or that holds for ever: none. */
static void take_sooner(int64_t *first, int64_t ends)
{
    if (ends < *first)
        *first = ends;
}

static void look_at_certificate(int64_t *first, const struct config_listener *l)
{
    int64_t ends;

    if (l->way.scheme == URL_TLS && l->cert && tls_cert_ends(l->cert, &ends))
        take_sooner(first, ends);
}

static int64_t first_certificate(const struct config *c)
{
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < c->listener_count; i++)
        look_at_certificate(&first, &c->listeners[i]);
    for (size_t i = 0; i < c->admin.count; i++)
        look_at_certificate(&first, &c->admin.listeners[i]);
    return first;
}

static int64_t first_list(const struct config *c)
{
    int64_t first = INT64_MAX, ends;
    char error[256];

    for (size_t i = 0; i < c->listener_count; i++)
        if (c->listeners[i].client_cert != CLIENT_CERT_NONE && c->listeners[i].crl &&
            tls_crl_ends(c->listeners[i].crl, &ends, error, sizeof error))
            take_sooner(&first, ends);
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

void setup_note(struct rpc_setup *setup, const struct config *c)
{
    show(&setup->exposed_files, file_rights_count(c));
    show(&setup->open_listeners, unguarded_count(c));
    show(&setup->certificate_ends, first_certificate(c));
    show(&setup->crl_ends, first_list(c));
    show(&setup->token_ends, first_token(c));
    show(&setup->crashed, last_crash());
    setup_reloaded(setup, true);
}

void setup_reloaded(struct rpc_setup *setup, bool good)
{
    show(&setup->reload_refused, good ? INT64_MAX : (int64_t)(clock_wall() / NS_A_SECOND));
}
