#include "server/front/vouch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/utf8.h"
#include "server/net/auth/token.h"
#include "server/net/net.h"
#include "server/net/serving.h"
#include "server/runtime/activator.h"

enum {
    GRANTS_MAX = 256, /* of one principal */
    PAIRS_MAX = 1024, /* of its grants here and those that the front claims, where they differ */
    TEXT_MAX = 16384, /* bytes of a list of patterns */
    GRANT_PARTS = 4,
    FULL_NAME_MAX = PRINCIPAL_NAME_MAX + 16, /* bytes of a name with its mechanism */
    PEER_MAX = 128                           /* bytes of an address */
};

#define LIKE_THE_LAST AO_S(60) /* between two records of one refusal */
#define ANOTHER       AO_S(1)

/* Why a claim is not believed, beside what depends on the configuration. */
static const char no_memory[] = "out of memory", malformed[] = "the claim is malformed",
                  too_different[] = "its roles differ too much between the nodes";

/* --- Lists of patterns --- */

/* The patterns of `list` that `other` covers. */
static void add_common(char *out, const char *list, const char *other)
{
    while (*list != '\0') {
        struct span pattern = span_of(list, strcspn(list, ","));
        size_t len = strlen(out);
        list += pattern.len + (list[pattern.len] == ',');
        if (!patterns_fit(other, pattern))
            continue;
        if (len > 0)
            out[len++] = ',';
        memcpy(out + len, pattern.at, pattern.len);
        out[len + pattern.len] = '\0';
    }
}

/* The patterns of both lists that fit what both lists fit: of two patterns one fits all that the
 * other fits, or they have no name in common.  malloc'ed; NULL without memory. */
static char *patterns_common(const char *one, const char *other)
{
    char *out = malloc(strlen(one) + strlen(other) + 3);

    if (!out)
        return NULL;
    out[0] = '\0';
    add_common(out, one, other);
    add_common(out, other, one);
    return out;
}

/* --- The front's side --- */

static void pack_rights(struct pack *p, const struct connection *c)
{
    const struct rights *rights = principal_rights(conn_principal(c));
    struct rights_grant g;
    uint32_t count = 0;

    while (rights_grant(rights, count, &g))
        count++;
    pack_str(p, "rights");
    pack_array(p, count);
    for (uint32_t i = 0; i < count; i++) {
        rights_grant(rights, i, &g);
        pack_array(p, GRANT_PARTS);
        pack_str(p, g.methods);
        pack_str(p, g.tenants);
        pack_str(p, g.queues);
        pack_str(p, g.keys);
    }
}

static void pack_hello(struct pack *p, const struct conn_mode *mode)
{
    pack_str(p, "hello");
    pack_array(p, 3);
    pack_uint(p, mode->error_shape);
    pack_bool(p, mode->raw);
    pack_bool(p, mode->push);
}

void vouch_pack(struct pack *p, const struct connection *c, const struct cluster_view *view)
{
    const struct principal *who = conn_principal(c);
    bool token = principal_how(who) == PRINCIPAL_TOKEN;

    pack_array(p, 1);
    pack_map(p, conn_allow(c) ? 11 : 10);
    if (conn_allow(c))
        pack_key_str(p, "allow", conn_allow(c));
    pack_key_str(p, "cluster", view->cluster);
    pack_key_uint(p, "version", VOUCH_VERSION);
    pack_key_str(p, "node", view->node);
    pack_key_str(p, "principal", principal_name(who));
    pack_key_span(p, "token", token ? span_of(principal_token(who), SHA256_SIZE) : span_text(""));
    pack_key_str(p, "tenant", principal_tenant(who));
    pack_key_bool(p, "free", rights_unconfigured(principal_rights(who)) && conn_allow(c) == NULL);
    pack_rights(p, c);
    pack_key_str(p, "peer", conn_peer(c));
    pack_hello(p, conn_mode((struct connection *)(uintptr_t)c));
}

void vouch_pack_node(struct pack *p, const struct cluster_view *view)
{
    char name[CLUSTER_NAME_MAX + 16];

    principal_full_name(PRINCIPAL_CERT, view->node, name, sizeof name);
    pack_array(p, 1);
    pack_map(p, 8);
    pack_key_str(p, "cluster", view->cluster);
    pack_key_uint(p, "version", VOUCH_VERSION);
    pack_key_str(p, "node", view->node);
    pack_key_str(p, "principal", name);
    pack_key_str(p, "tenant", name);
    pack_str(p, "rights");
    pack_array(p, 0);
    pack_key_str(p, "peer", view->node);
    pack_key_bool(p, "work", true);
}

/* --- The owner's side: what a front claims --- */

struct node_claim {
    struct conn_vouched vouched; /* first */
    enum principal_mechanism how;
    bool free, has_token;
    bool work; /* the node speaks for itself, as a worker */
    uint8_t token[SHA256_SIZE];
    char *node, *peer, *name, *tenant; /* malloc'ed; the name without its mechanism */
    char *allow; /* malloc'ed: the patterns that the client's listener allows; NULL: all */
    struct role_table *grants; /* a reference: as roles of everybody */
};

static void claim_release(struct conn_vouched *v)
{
    struct node_claim *k = (struct node_claim *)v;

    free(k->node);
    free(k->peer);
    free(k->name);
    free(k->tenant);
    free(k->allow);
    role_table_unref(k->grants);
    free(k);
}

struct request {
    struct span cluster, node, principal, token, tenant, peer, allow, rights, hello;
    uint64_t version;
    bool free, work;
};

static bool read_flag(struct reader *r, void *out)
{
    return read_bool(r, out);
}

static bool read_version(struct reader *r, void *out)
{
    return read_uint(r, out);
}

static bool read_name(struct reader *r, void *out)
{
    return read_text(r, out);
}

static bool read_value(struct reader *r, void *out)
{
    return read_any(r, out);
}

static bool read_request(struct rpc_request *rq, struct request *q)
{
    const struct option options[] = {
        {"cluster", read_name, &q->cluster, "a name"},
        {"version", read_version, &q->version, "a number"},
        {"node", read_name, &q->node, "a name"},
        {"principal", read_name, &q->principal, "a name with its mechanism"},
        {"token", read_name, &q->token, "a hash"},
        {"tenant", read_name, &q->tenant, "a name"},
        {"free", read_flag, &q->free, "true or false"},
        {"work", read_flag, &q->work, "true or false"},
        {"rights", read_value, &q->rights, "grants"},
        {"peer", read_name, &q->peer, "an address"},
        {"allow", read_name, &q->allow, "patterns"},
        {"hello", read_value, &q->hello, "[errors, raw, push]"},
    };
    struct reader r;
    uint32_t count;

    read_params(rq->params, &r, &count);
    if (count != 1) {
        rpc_refuse_params(rq, "");
        return false;
    }
    return rpc_read_options(rq, &r, options, sizeof options / sizeof options[0]);
}

static char *text_of(struct span s)
{
    char *text = malloc(s.len + 1);

    if (!text)
        return NULL;
    if (s.len > 0)
        memcpy(text, s.at, s.len);
    text[s.len] = '\0';
    return text;
}

static bool is_list(struct span s)
{
    return s.len == 0 || utf8_is_name(s, TEXT_MAX);
}

/* A list of patterns, or nil. */
static bool read_list(struct reader *r, const char **out)
{
    struct span s;

    *out = NULL;
    if (read_nil(r))
        return true;
    if (!read_text(r, &s) || !is_list(s))
        return false;
    *out = text_of(s);
    return *out != NULL;
}

static void free_roles(struct role *roles, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free((char *)(uintptr_t)roles[i].methods);
        free((char *)(uintptr_t)roles[i].tenants);
        free((char *)(uintptr_t)roles[i].queues);
        free((char *)(uintptr_t)roles[i].keys);
    }
    free(roles);
}

static bool read_grant(struct reader *r, struct role *role)
{
    uint32_t parts;

    *role = (struct role){.name = "", .members = "*"};
    return read_array(r, &parts) && parts == GRANT_PARTS && read_list(r, &role->methods) &&
           role->methods && read_list(r, &role->tenants) && read_list(r, &role->queues) &&
           read_list(r, &role->keys);
}

static struct role_table *read_grants(struct span raw)
{
    struct reader r = reader_of(raw);
    uint32_t count, done = 0;

    if (!read_array(&r, &count) || count > GRANTS_MAX)
        return NULL;
    struct role *roles = calloc(count + 1, sizeof *roles);
    if (!roles)
        return NULL;
    bool good = true;
    while (good && done < count)
        good = read_grant(&r, &roles[done++]);
    struct role_table *table = good ? role_table_new(roles, count) : NULL;
    free_roles(roles, done);
    return table;
}

/* Its mechanism, and the name behind that. */
static bool split_principal(const char *full, enum principal_mechanism *how, const char **name)
{
    static const enum principal_mechanism all[] = {PRINCIPAL_TOKEN, PRINCIPAL_CERT, PRINCIPAL_UNIX,
                                                   PRINCIPAL_ADDRESS};
    char prefix[32];

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        principal_full_name(all[i], "", prefix, sizeof prefix);
        size_t len = strlen(prefix);
        if (strncmp(full, prefix, len) != 0)
            continue;
        *how = all[i];
        *name = full + len;
        return true;
    }
    return false;
}

/* Names that this process could not have made itself are refused: a NUL would cut one short, to
 * that of another principal. */
static bool has_names(const struct request *q)
{
    return utf8_is_name(q->node, CLUSTER_NAME_MAX - 1) &&
           utf8_is_name(q->principal, FULL_NAME_MAX) && utf8_is_name(q->tenant, FULL_NAME_MAX) &&
           utf8_is_name(q->peer, PEER_MAX) && is_list(q->allow) &&
           (q->token.len == 0 || q->token.len == SHA256_SIZE);
}

/* NULL: it is malformed, or there is no memory. */
static struct node_claim *claim_new(const struct request *q)
{
    if (!has_names(q))
        return NULL;
    struct node_claim *k = calloc(1, sizeof *k);
    char *full = text_of(q->principal);
    const char *name = NULL;

    if (!k || !full) {
        free(k);
        free(full);
        return NULL;
    }
    k->vouched.release = claim_release;
    k->free = q->free;
    k->work = q->work;
    k->has_token = q->token.len == SHA256_SIZE;
    if (k->has_token)
        memcpy(k->token, q->token.at, SHA256_SIZE);
    bool good = split_principal(full, &k->how, &name);
    k->name = good ? text_of(span_text(name)) : NULL;
    k->node = text_of(q->node);
    k->peer = text_of(q->peer);
    k->tenant = text_of(q->tenant);
    k->allow = q->allow.at ? text_of(q->allow) : NULL;
    k->grants = read_grants(q->rights);
    k->vouched.via = k->node;
    k->vouched.works = k->work;
    k->vouched.peer = k->peer;
    free(full);
    if (k->name && k->node && k->peer && k->tenant && k->grants && !k->allow == !q->allow.at &&
        (!k->work || (k->how == PRINCIPAL_CERT && strcmp(k->name, k->node) == 0)))
        return k;
    claim_release(&k->vouched);
    return NULL;
}

/* --- Rights: the client has those that the front claims and this node grants --- */

/* The principal by this node's configuration; a reference.  NULL: *why. */
static const struct principal *own_principal(const struct connection *c, const struct node_claim *k,
                                             const char **why)
{
    const struct token_table *tokens = conn_tokens(c);

    *why = "this node has no such token: tokens_file differs between the nodes";
    if (k->how == PRINCIPAL_TOKEN) {
        const struct principal *p =
            tokens && k->has_token ? token_table_find_hash(tokens, k->token) : NULL;
        if (p && strcmp(principal_plain_name(p), k->name) != 0)
            p = NULL;
        return p ? principal_ref(p) : NULL;
    }
    *why = no_memory;
    const struct principal_options options = {.how = k->how,
                                              .name = k->name,
                                              .tenant = k->tenant,
                                              .methods = "*",
                                              .offers = true,
                                              .everything =
                                                  !tokens && role_table_count(conn_roles(c)) == 0,
                                              .roles = conn_roles(c)};
    return principal_new(&options);
}

static const char *common_or_all(const char *one, const char *other, bool *good)
{
    char *common = one && other     ? patterns_common(one, other)
                   : (one || other) ? text_of(span_text(one ? one : other))
                                    : NULL;

    *good = *good && (common || (!one && !other));
    return common;
}

/* Grants that both sides have, and pairs of the others. */
struct common {
    struct role *roles; /* calloc'ed; they own their texts */
    uint32_t count;
    const char *allow; /* NULL: all methods */
    bool good;         /* there was memory so far */
};

/* malloc'ed; NULL, and not good: no memory. */
static const char *common_methods(struct common *c, const struct rights_grant *a,
                                  const struct rights_grant *b)
{
    char *both = patterns_common(a->methods, b->methods), *allowed = both;

    if (both && c->allow) {
        allowed = patterns_common(both, c->allow);
        free(both);
    }
    c->good = c->good && allowed;
    return allowed;
}

/* Adds what one grant of each side has in common, if that is anything. */
static void add_common_grant(struct common *c, const struct rights_grant *a,
                             const struct rights_grant *b)
{
    struct role *out = &c->roles[c->count];
    const char *methods = common_methods(c, a, b);

    if (!methods || methods[0] == '\0') {
        free((char *)(uintptr_t)methods);
        return;
    }
    *out = (struct role){.name = "", .members = "*", .methods = methods};
    c->count++; /* from here on its texts are freed with the others */
    if (a->tenants && b->tenants)
        out->tenants = common_or_all(a->tenants, b->tenants, &c->good);
    out->queues = common_or_all(a->queues, b->queues, &c->good);
    out->keys = common_or_all(a->keys, b->keys, &c->good);
}

static bool same_text(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

static bool same_grant(const struct rights_grant *a, const struct rights_grant *b)
{
    return same_text(a->methods, b->methods) && same_text(a->tenants, b->tenants) &&
           same_text(a->queues, b->queues) && same_text(a->keys, b->keys);
}

static uint32_t count_grants(const struct rights *r)
{
    struct rights_grant g;
    uint32_t count = 0;

    while (rights_grant(r, count, &g))
        count++;
    return count;
}

static bool has_grant(const struct rights *r, const struct rights_grant *wanted)
{
    struct rights_grant g;

    for (uint32_t i = 0; rights_grant(r, i, &g); i++)
        if (same_grant(&g, wanted))
            return true;
    return false;
}

/* The grants of one side, and which of them the other has as well. */
struct side {
    const struct rights *rights;
    bool *shared; /* malloc'ed; NULL: no memory */
    uint32_t own; /* how many it has alone */
};

static struct side side_of(const struct rights *rights, const struct rights *other)
{
    struct side s = {.rights = rights, .shared = malloc(count_grants(rights) + 1)};
    struct rights_grant g;

    for (uint32_t i = 0; s.shared && rights_grant(rights, i, &g); i++) {
        s.shared[i] = has_grant(other, &g);
        s.own += !s.shared[i];
    }
    return s;
}

/* A grant of both sides contains what it has in common with any other, so only the rest is paired:
 * where the nodes have one configuration, nothing is. */
static void add_common_grants(struct common *c, const struct side *one, const struct side *other)
{
    struct rights_grant a, b;

    for (uint32_t i = 0; c->good && rights_grant(one->rights, i, &a); i++) {
        if (one->shared[i])
            add_common_grant(c, &a, &a);
        for (uint32_t k = 0; !one->shared[i] && c->good && rights_grant(other->rights, k, &b); k++)
            if (!other->shared[k])
                add_common_grant(c, &a, &b);
    }
}

/* A reference; NULL: *why. */
static struct role_table *common_grants(const struct rights *mine, const struct rights *its,
                                        const char *allow, const char **why)
{
    struct side one = side_of(mine, its), other = side_of(its, mine);
    uint64_t pairs = (uint64_t)one.own * other.own;
    struct common c = {.allow = allow, .good = one.shared && other.shared};
    struct role_table *table = NULL;

    *why = pairs > PAIRS_MAX ? too_different : no_memory;
    if (c.good && pairs <= PAIRS_MAX)
        c.roles = calloc(count_grants(mine) + pairs + 1, sizeof *c.roles);
    if (c.roles) {
        add_common_grants(&c, &one, &other);
        if (c.good)
            table = role_table_new(c.roles, c.count);
        free_roles(c.roles, c.count);
    }
    free(one.shared);
    free(other.shared);
    return table;
}

/* The principal as the front claims it; a reference. */
static const struct principal *claimed_principal(const struct node_claim *k)
{
    const struct principal_options options = {.how = k->how,
                                              .name = k->name,
                                              .tenant = k->tenant,
                                              .everything = k->free,
                                              .roles = k->grants,
                                              .token = k->token};
    return principal_new(&options);
}

/* A reference; NULL: *why. */
static const struct principal *stricter(const struct node_claim *k, const struct principal *own,
                                        const struct principal *claimed, const char **why)
{
    const struct rights *mine = principal_rights(own), *its = principal_rights(claimed);
    struct role_table *common = common_grants(mine, its, k->allow, why);

    if (!common)
        return NULL;
    const struct principal_options options = {.how = k->how,
                                              .name = k->name,
                                              .tenant = k->tenant,
                                              .everything = rights_unconfigured(mine) &&
                                                            rights_unconfigured(its) && !k->allow,
                                              .roles = common,
                                              .token = k->token,
                                              .expires = principal_expires(own)};
    const struct principal *p = principal_new(&options);
    role_table_unref(common);
    return p;
}

/* A node's certificate grants it to offer handlers, whatever the roles say. */
static const struct principal *node_principal(const struct node_claim *k)
{
    static const struct role role = {
        .name = "", .members = "*", .methods = "worker.register,worker.quiet,worker.offer.*"};
    struct role_table *roles = role_table_new(&role, 1);
    const struct principal_options options = {
        .how = k->how, .name = k->name, .tenant = k->tenant, .roles = roles};
    const struct principal *p = roles ? principal_new(&options) : NULL;

    role_table_unref(roles);
    return p;
}

/* A reference; NULL: *why. */
static const struct principal *weigh(const struct connection *c, const struct node_claim *k,
                                     const char **why)
{
    const struct principal *own, *claimed, *p = NULL;

    *why = no_memory;
    if (k->work)
        return node_principal(k);
    own = own_principal(c, k, why);
    if (!own)
        return NULL;
    *why = no_memory;
    claimed = claimed_principal(k);
    if (claimed && strcmp(principal_tenant(own), k->tenant) != 0)
        *why = "this node gives it another tenant: roles differ between the nodes";
    else if (claimed)
        p = stricter(k, own, claimed, why);
    principal_unref(own);
    principal_unref(claimed);
    return p;
}

const struct principal *vouch_again(struct connection *c)
{
    struct conn_vouched *v = conn_vouched(c);
    const char *why;

    return v ? weigh(c, (const struct node_claim *)v, &why) : NULL;
}

/* --- The request --- */

static bool is_refused(struct rpc_request *rq, const struct request *q,
                       const struct cluster_view *view, const char *certificate)
{
    if (!span_is(q->cluster, view->cluster))
        rpc_refuse(rq, ERGON_E_DENIED, "this node belongs to the cluster %s, not to %.*s",
                   view->cluster, (int)q->cluster.len, (const char *)q->cluster.at);
    else if (q->version != VOUCH_VERSION)
        rpc_refuse(rq, ERGON_E_DENIED,
                   "this node speaks version %d of the cluster's protocol, not %lu", VOUCH_VERSION,
                   (unsigned long)q->version);
    else if (certificate[0] && !span_is(q->node, certificate))
        rpc_refuse(rq, ERGON_E_DENIED, "the certificate is of %s, not of node %.*s", certificate,
                   (int)q->node.len, (const char *)q->node.at);
    else if (view->role != CLUSTER_OWNER)
        rpc_refuse(rq, ERGON_E_BUSY, "node %s does not own the tasks", view->node);
    else
        return false;
    return true;
}

static void take_hello(struct connection *c, struct span hello)
{
    struct conn_mode *mode = conn_mode(c);
    struct reader r = reader_of(hello);
    uint64_t shape;
    uint32_t count;

    mode->fin_ends = true; /* a front shuts its side when the client has gone */
    if (read_array(&r, &count) && count == 3 && read_uint(&r, &shape) && shape <= ERROR_SHAPE_MAP) {
        mode->error_shape = (uint8_t)shape;
        read_bool(&r, &mode->raw);
        read_bool(&r, &mode->push);
    }
}

bool refusals_news(struct refusals *r, ao_time now, const char *why)
{
    bool same = strncmp(r->last, why, sizeof r->last - 1) == 0;

    if (r->at > 0 && now < r->at + (same ? LIKE_THE_LAST : ANOTHER))
        return false;
    r->at = now;
    snprintf(r->last, sizeof r->last, "%s", why);
    return true;
}

static void log_refused(const struct rpc_request *rq, const struct request *q,
                        struct refusals *refusals, const char *why)
{
    char node[64];

    if (!refusals_news(refusals, activator_now(rq->loop->activator), why))
        return;
    snprintf(node, sizeof node, "%.*s", (int)(q->node.len < 60 ? q->node.len : 60),
             q->node.len > 0 ? (const char *)q->node.at : "");
    log_warn("session of a node refused", LOG_PEER("peer", conn_peer(rq->conn)),
             LOG_STR("node", node), LOG_STR("error", rq->loop->outcome), LOG_STR("reason", why));
}

static void begin(struct rpc_request *rq, const struct request *q, struct refusals *refusals)
{
    struct connection *c = rq->conn;
    const char *why = malformed;
    struct node_claim *k = claim_new(q);
    const struct principal *was = conn_principal(c), *p = k ? weigh(c, k, &why) : NULL;

    if (p && conn_serves(c) && was && strcmp(principal_name(was), principal_name(p)) != 0) {
        why = "workers are registered on this connection for another principal";
        principal_unref(p);
        p = NULL;
    }
    if (p && !conn_vouch(c, &k->vouched)) {
        why = no_memory;
        principal_unref(p);
        p = NULL;
    }
    if (!p) {
        rpc_refuse(rq, why == no_memory ? ERGON_E_MEMORY : ERGON_E_AUTH, "%s", why);
        log_refused(rq, q, refusals, why);
        if (k)
            claim_release(&k->vouched);
        return;
    }
    take_hello(c, q->hello);
    conn_set_principal(c, p);
    principal_unref(p);
    rpc_answer(rq, span_text("\x81\xa8" VOUCH_COMPOSES "\xc3"));
}

const char vouch_too_old[] =
    "the node that owns the tasks is of an older version, which knows neither results as "
    "parameters nor what attempts submit: upgrade it, or drain it (ergon cluster drain)";

bool vouch_composes(struct span answer)
{
    struct reader r = reader_of(answer);
    struct span key;
    uint32_t pairs;
    bool does = false;

    if (!read_map(&r, &pairs))
        return false; /* true, of the version before */
    for (; pairs > 0 && read_text(&r, &key); pairs--)
        if (!span_is(key, VOUCH_COMPOSES))
            read_any(&r, &key);
        else if (!read_bool(&r, &does))
            break;
    return does;
}

void vouch_serve(struct rpc_request *rq, const struct cluster_view *view, struct refusals *refusals)
{
    static const char of_client[] = "it came by a listener of clients";
    struct request q = {0};
    char certificate[NET_NAME_MAX];

    if (!conn_is_of_node(rq->conn, certificate, sizeof certificate)) {
        rpc_refuse(rq, ERGON_E_DENIED, "cluster.session is for nodes, at cluster.listen only");
        log_refused(rq, &q, refusals, of_client);
        return;
    }
    if (!read_request(rq, &q))
        log_refused(rq, &q, refusals, "its parameters are wrong");
    else if (is_refused(rq, &q, view, certificate))
        log_refused(rq, &q, refusals, "it is not for this node");
    else
        begin(rq, &q, refusals);
}
