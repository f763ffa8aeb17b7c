#include "server/config/key_table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "proto/scanner.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

_Static_assert(sizeof(enum listener_auth) == sizeof(uint32_t), "words are stored as 32 bits");

static const char *const AUTO[] = {"auto", NULL};
static const char *const ANY[] = {"any", NULL};
static const char *const OFF[] = {"off", NULL};
static const char *const AUTH[] = {
    [LISTENER_AUTH_NONE] = "none", [LISTENER_AUTH_TOKEN] = "token", [LISTENER_AUTH_PEER] = "peer",
    [LISTENER_AUTH_CERT] = "cert", [CONFIG_AUTH_AUTO] = "auto",     NULL};
static const char *const CLIENT_CERT[] = {[CLIENT_CERT_NONE] = "none",
                                          [CLIENT_CERT_OPTIONAL] = "optional",
                                          [CLIENT_CERT_REQUIRED] = "required",
                                          NULL};
static const char *const ON_REVOKE[] = {
    [CONFIG_REVOKE_CLOSE] = "close", [CONFIG_REVOKE_LOWER] = "lower", NULL};
static const char *const TLS_VERSION[] = {"1.2", "1.3", NULL};
static const char *const KIND[] = {"stepped", "blocking", NULL};
static const char *const BOUND[] = {"measured", "fixed", NULL};
static const char *const PLACE[] = {"loop", "own", NULL};
static const char *const IDLE[] = {[IDLE_SLEEP] = "sleep",
                                   [IDLE_SPIN] = "spin",
                                   [IDLE_NEVER] = "never",
                                   [IDLE_AUTO] = "auto",
                                   NULL};
static const char *const LEVEL[] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error", NULL};
static const char *const FORMAT[] = {"logfmt", "json", NULL};
static const char *const LEVELS[] = {
    [CONFIG_LEVELS_AUTO] = "auto", [CONFIG_LEVELS_ON] = "on", [CONFIG_LEVELS_OFF] = "off", NULL};
static const char *const REQUIRE[] = {[CONFIG_REQUIRE_AUTO] = "auto",
                                      [CONFIG_REQUIRE_ANY] = "any",
                                      [CONFIG_REQUIRE_FSYNC] = "fsync",
                                      [CONFIG_REQUIRE_REPLICATED] = "replicated",
                                      NULL};
static const char *const REPLICATED[] = {"checked", "by-storage", NULL};
static const char *const MEASURE[] = {
    [PLACEMENT_OCCUPANCY] = "occupancy",   [PLACEMENT_LENGTH] = "length",
    [PLACEMENT_PRIORITY] = "priority",     [PLACEMENT_WEIGHT] = "weight",
    [PLACEMENT_COMPLETION] = "completion", NULL};

enum { KILO = 1 << 10, QUEUE_MAX = 1 << 16, TASKS_MAX = 1 << 24 };
#define MEGA   (INT64_C(1) << 20)
#define GIGA   (INT64_C(1) << 30)
#define MS     INT64_C(1000000)
#define SECOND (1000 * MS)
#define DAY    (86400 * SECOND)

/* clang-format off */
#define AT(member)   .offset = offsetof(struct config, member)
#define MAPS(member, counter, kind)                                                                \
    AT(member), .count_offset = offsetof(struct config, counter),                                  \
    .elements = &config_##kind##_keys
#define LIMIT(a, b)  .min = (a), .max = (b)

static const struct config_key keys[] = {
    {"listen", "listen", &config_urlmaps, .heading = "Listeners, modules and rights",
     MAPS(listeners, listener_count, listener),
     .normal = "ergon://127.0.0.1:7466",
     .help = "listen at ergon://HOST:PORT, ergons://HOST:PORT (TLS), unix:///PATH"},
    {"admin.listen", "admin", &config_urlmaps, MAPS(admin.listeners, admin.count, admin),
     .help = "serve page, metrics and health checks at http://HOST:PORT, https://HOST:PORT "
             "(TLS), unix:///PATH"},
    {"admin.hosts", "admin-host", &config_namelist, AT(admin.hosts),
     .help = "further name of the admin listeners"},
    {"admin.call_timeout", "admin-call-timeout", &config_duration, AT(admin.call_timeout),
     .normal = "30s", LIMIT(MS, DAY), .help = "time limit of a call by HTTP"},
    {"admin.request_timeout", "admin-request-timeout", &config_duration,
     AT(admin.request_timeout), .normal = "30s", LIMIT(MS, DAY),
     .help = "time to send a whole HTTP request, and between reads of its answer"},
    {"modules", "module", &config_textlist, AT(modules),
     .help = "shared object that registers handlers, or a name from the server: demo; with "
             ",process in processes of its own"},
    {"tokens_file", "tokens", &config_path, AT(tokens_file), .live = true,
     .help = "bearer tokens: lines of SHA-256 hash, principal, allowed methods"},
    {"roles", NULL, &config_maps, MAPS(roles, role_count, role), .live = true,
     .help = "who may do what"},
    {"on_revoke", "on-revoke", &config_word, AT(on_revoke), .normal = "close", .words = ON_REVOKE,
     .live = true,
     .help = "connections with revoked rights: close, or lower to the remaining rights"},
    {"insecure", "insecure", &config_bool, AT(insecure), .normal = "false",
     .help = "allow listeners beyond loopback without TLS and tokens"},

    {"tls.cert", "tls-cert", &config_path, .heading = "TLS",
     AT(tls.cert), .help = "certificate chain, PEM"},
    {"tls.key", "tls-key", &config_path, AT(tls.key), .help = "private key, PEM"},
    {"tls.key_password", "tls-key-password", &config_secret, AT(tls.key_password),
     .help = "password of the private keys"},
    {"tls.client_ca", "tls-client-ca", &config_path, AT(tls.client_ca),
     .help = "authorities of client certificates, PEM"},
    {"tls.crl", "tls-crl", &config_path, AT(tls.crl),
     .help = "revocation list of each authority of client certificates, PEM"},
    {"tls.min_version", "tls-min-version", &config_word, AT(tls.min_version), .normal = "1.2",
     .words = TLS_VERSION, .help = "oldest TLS version"},

    {"loops.count", "loops", &config_count, .heading = "Loops, executors and the task manager",
     AT(loops.count), .normal = "auto", LIMIT(1, 1024),
     .words = AUTO, .help = "event loops, a thread each; auto: by affinity and cgroup quota"},
    {"loops.cores", "loops-cores", &config_corelist, AT(loops.cores),
     .help = "cores to bind the loops to, in order (0-2,5)"},

    {"executors.stepped.queue", "stepped-queue", &config_count, AT(executors.stepped_queue),
     .normal = "128", LIMIT(1, QUEUE_MAX), .help = "tasks in the queue of a loop's executor"},
    {"executors.stepped.parked", "stepped-parked", &config_count, AT(executors.stepped_parked),
     .normal = "16384", LIMIT(1, TASKS_MAX),
     .help = "tasks of a stepped executor that may wait or take turns"},
    {"executors.stepped.turns", "stepped-turns", &config_count, AT(executors.stepped_turns),
     .normal = "128", LIMIT(1, TASKS_MAX), .help = "submitted tasks that may take turns on a loop"},
    {"executors.blocking.count", "blocking", &config_count, AT(executors.blocking_count),
     .normal = "4", LIMIT(0, 1024), .help = "blocking executors, a thread each"},
    {"executors.blocking.max", "blocking-max", &config_count, AT(executors.blocking_max),
     .normal = "auto", LIMIT(0, 4096), .words = AUTO,
     .help = "blocking threads, with those added when handlers outlive their tasks or one "
             "principal holds all; auto: twice the count"},
    {"executors.blocking.queue", "blocking-queue", &config_count, AT(executors.blocking_queue),
     .normal = "64", LIMIT(1, QUEUE_MAX), .help = "tasks in the queue of a blocking executor"},
    {"executors.bound", "executors-bound", &config_word, AT(executors.bound), .normal = "measured",
     .words = BOUND,
     .help = "tasks that an executor has at a time: by measured times, or its queue's length"},
    {"executors.list", NULL, &config_maps,
     MAPS(executors.list, executors.count, executor), .help = "exactly these executors instead"},

    {"manager.place", "manager-place", &config_word, AT(manager.place), .normal = "loop",
     .words = PLACE, .help = "thread of the task manager: the first loop's, or its own"},
    {"manager.queue", "manager-queue", &config_count, AT(manager.queue), .normal = "65536",
     LIMIT(1, TASKS_MAX), .help = "tasks in the common queue"},

    {"measure", "measure", &config_word, AT(placement), .normal = "occupancy", .words = MEASURE,
     .help = "how to choose an executor"},
    {"shortcut", "shortcut", &config_bool, AT(shortcut), .normal = "true",
     .help = "let a loop run a plain call itself"},

    {"idle.mode", "idle", &config_word, AT(idle.mode), .normal = "auto", .words = IDLE,
     .help = "how an idle thread waits; auto: spin where that pays, else sleep"},
    {"idle.spin", "idle-spin", &config_duration, AT(idle.spin), .normal = "50us",
     LIMIT(0, SECOND), .help = "how long idle.mode spin spins, and auto at most"},

    {"store", "store", &config_path, .heading = "Store and submitted tasks",
     AT(store),
     .help = "file, or postgresql:// database, that keeps tasks across restarts; none: durable "
             "tasks are refused"},
    {"store_require", "store-require", &config_word, AT(store_require), .normal = "auto",
     .words = REQUIRE,
     .help = "least that a durable task survives; below, STORE; auto: replicated with a database"},
    {"store_replicated", "store-replicated", &config_word, AT(store_replicated),
     .normal = "checked", .words = REPLICATED,
     .help = "whether the database replicates: as it says, or always, by its storage"},
    {"tasks.max", "tasks-max", &config_count, AT(tasks.limits.max), .normal = "4194304",
     LIMIT(1, INT32_MAX), .live = true, .help = "submitted tasks in memory; above, BUSY"},
    {"tasks.bytes", "tasks-bytes", &config_size, AT(tasks.limits.bytes), .normal = "auto",
     LIMIT(MEGA, 1024 * GIGA), .words = AUTO,
     .live = true,
     .help = "memory of submitted tasks; above, BUSY; auto: a quarter of the machine's or "
             "control group's"},
    {"tasks.tenant_share", "tasks-tenant-share", &config_count, AT(tasks.limits.tenant_share),
     .normal = "80", LIMIT(1, 100),
     .live = true, .help = "percent of both for open tasks of one tenant; above, BUSY"},
    {"tasks.kept_bytes", "tasks-kept-bytes", &config_size, AT(tasks.limits.kept_bytes),
     .normal = "auto", LIMIT(0, 1024 * GIGA), .words = AUTO, .word_value = CONFIG_ANY,
     .live = true,
     .help = "memory of finished tasks; above, the tenant with most of it loses its oldest; "
             "auto: a quarter of tasks.bytes"},
    {"tasks.keep_failed", "tasks-keep-failed", &config_duration, AT(tasks.limits.keep_failed),
     .normal = "7d", LIMIT(0, 36500 * DAY),
     .live = true, .help = "default time to keep failed and dead tasks"},
    {"tasks.ageing", "tasks-ageing", &config_duration, AT(tasks.ageing), .normal = "10s",
     LIMIT(MS, DAY), .words = OFF, .help = "time in the queue that raises the priority by one"},
    {"tasks.crashes", "tasks-crashes", &config_count, AT(tasks.crashes), .normal = "3",
     LIMIT(1, 1000), .words = OFF,
     .help = "crashes of the server after which a task they interrupted is dead"},
    {"tasks.losses", "tasks-losses", &config_count, AT(tasks.losses), .normal = "9",
     LIMIT(1, 255), .words = OFF,
     .help = "lost workers after which their task is dead; a task that was alone on its worker "
             "counts three"},
    {"tasks.history", "tasks-history", &config_count, AT(tasks.history), .normal = "100",
     LIMIT(1, 1000000), .help = "events kept of one task"},
    {"tasks.events", "tasks-events", &config_count, AT(tasks.events), .normal = "16384",
     LIMIT(0, 1 << 24), .help = "events kept of all tasks, for task.events; 0: none"},
    {"actors.bytes", "actors-bytes", &config_size, AT(tasks.limits.actors.bytes), .normal = "auto",
     LIMIT(MEGA, 1024 * GIGA), .words = AUTO,
     .live = true,
     .help = "memory of actors; above, idle ones leave it, then BUSY; auto: a half of tasks.bytes"},
    {"actors.max", "actors-max", &config_count, AT(tasks.limits.actors.max), .normal = "10000000",
     LIMIT(1, INT32_MAX),
     .live = true, .help = "actors in the store; above, a turn that would make one is BUSY"},
    {"actors.state", "actors-state", &config_size, AT(tasks.limits.actors.state), .normal = "1m",
     LIMIT(KILO, MEGA),
     .live = true, .help = "state of an actor, whatever its type allows; above, BAD_CHANGES"},
    {"actors.messages", "actors-messages", &config_count, AT(tasks.limits.actors.messages),
     .normal = "100000", LIMIT(1, 100000),
     .live = true, .help = "messages in a mailbox, whatever the type allows; above, BUSY"},
    {"tenants", NULL, &config_maps, MAPS(tenants, tenant_count, tenant),
     .help = "tenants with a share other than 1"},

    {"cluster.name", "cluster", &config_nodename, .heading = "Cluster", AT(cluster.name),
     .help = "name of the cluster, as in 'ergon cluster init'; none: ergon"},
    {"cluster.node", "cluster-node", &config_nodename, AT(cluster.node),
     .help = "name of this node; none: the host's"},
    {"cluster.listen", "cluster-listen", &config_url, AT(cluster.listen),
     .help = "listen for other nodes at ergons://HOST:PORT, unix:///PATH; none: they cannot reach "
             "this node"},
    {"cluster.address", "cluster-address", &config_reach, AT(cluster.address),
     .help = "where other nodes reach it; none: at cluster.listen"},
    {"cluster.weight", "cluster-weight", &config_count, AT(cluster.weight), .normal = "100",
     LIMIT(0, 1000), .help = "the node with the highest owns the tasks next; 0: never"},
    {"cluster.work", "cluster-work", &config_bool, AT(cluster.work), .normal = "true",
     .help = "run submitted tasks on this node"},
    {"cluster.offer", "offer", &config_namelist, AT(cluster.offer),
     .help = "pattern of the handlers whose submitted tasks this node runs; none: all"},
    {"cluster.unix", "cluster-unix", &config_bool, AT(cluster.unix_users), .normal = "true",
     .help = "pass calls of this machine's users to the owner"},
    {"cluster.state", "cluster-state", &config_path, AT(cluster.state),
     .help = "folder of what this node must remember across a crash; none: $STATE_DIRECTORY"},
    {"cluster.lease", "cluster-lease", &config_duration, AT(cluster.lease), .normal = "5s",
     LIMIT(3 * SECOND, 300 * SECOND),
     .help = "silence after which a node is dead; the same on all nodes"},
    {"cluster.patience", "cluster-patience", &config_duration, AT(cluster.patience),
     .normal = "10s", LIMIT(0, DAY), .help = "time that calls wait for an owner; then BUSY"},
    {"cluster.ca", "cluster-ca", &config_path, AT(cluster.ca),
     .help = "authority of the nodes' certificates, and of nothing else, PEM"},
    {"cluster.cert", "cluster-cert", &config_path, AT(cluster.cert),
     .help = "this node's certificate chain, with its name as subjectAltName, PEM"},
    {"cluster.key", "cluster-key", &config_path, AT(cluster.key),
     .help = "its private key, PEM"},

    {"limits.message", "limits-message", &config_size, .heading = "Limits of connections and calls",
     AT(limits.message), .normal = "16m",
     LIMIT(256, GIGA), .help = "size of a message"},
    {"limits.depth", "limits-depth", &config_count, AT(net.scan.depth_max), .normal = "32",
     LIMIT(2, SCAN_DEPTH_CAP), .help = "nesting of a message"},
    {"limits.connections", "limits-connections", &config_count, AT(net.connections),
     .normal = "auto", LIMIT(1, TASKS_MAX), .words = AUTO,
     .help = "connections; auto: by the limit of open files"},
    {"limits.connections_per_address", "limits-connections-per-address", &config_count,
     AT(net.connections_per_address), .normal = "off", LIMIT(1, TASKS_MAX), .words = OFF,
     .help = "connections from one address"},
    {"limits.in_flight", "limits-in-flight", &config_count, AT(net.in_flight),
     .normal = "1024", LIMIT(1, TASKS_MAX), .help = "requests in flight on a connection"},
    {"limits.principal_in_flight", "limits-principal-in-flight", &config_count,
     AT(limits.principal_in_flight), .normal = "off", LIMIT(1, TASKS_MAX), .words = OFF,
     .help = "calls in flight of a principal; above, BUSY, and its connections are not read"},
    {"limits.output", "limits-output", &config_size, AT(net.output_max), .normal = "1m",
     LIMIT(4 * KILO, GIGA), .help = "unsent output of a connection; above, it is not read"},
    {"limits.memory", "limits-memory", &config_size, AT(limits.memory), .normal = "auto",
     LIMIT(MEGA, 1024 * GIGA), .words = AUTO,
     .help = "parameters, results and output of all calls and connections; above, none begins; "
             "auto: half of the machine's or control group's memory"},
    {"limits.principal_memory", "limits-principal-memory", &config_size,
     AT(limits.principal_memory), .normal = "auto", LIMIT(MEGA, 1024 * GIGA), .words = AUTO,
     .help = "the same of one principal; auto: half of limits.memory"},
    {"limits.connection_memory", "limits-connection-memory", &config_size,
     AT(net.connection_bytes), .normal = "auto", LIMIT(KILO, 1024 * GIGA), .words = AUTO,
     .help = "the same of one connection; auto: an eighth of limits.memory"},
    {"limits.partial", "limits-partial", &config_size, AT(limits.partial), .normal = "256m",
     LIMIT(64 * KILO, 1024 * GIGA),
     .help = "incomplete messages of all connections, at most a quarter of limits.memory, at "
             "least two of limits.message; above, the largest of the principal with most is "
             "closed"},
    {"limits.handshake_timeout", "limits-handshake-timeout", &config_duration,
     AT(net.handshake_timeout), .normal = "10s", LIMIT(MS, DAY),
     .help = "time for the TLS handshake"},
    {"limits.auth_timeout", "limits-auth-timeout", &config_duration, AT(net.auth_timeout),
     .normal = "10s", LIMIT(MS, DAY), .words = OFF, .help = "time to authenticate after that"},
    {"limits.newcomers", "limits-newcomers", &config_count, AT(net.newcomers),
     .normal = "auto", LIMIT(1, TASKS_MAX), .words = AUTO,
     .help = "unauthenticated connections; above, one of the address with most is closed; auto: "
             "a quarter of limits.connections"},
    {"limits.handshakes", "limits-handshakes", &config_count, AT(net.handshakes),
     .normal = "auto", LIMIT(1, TASKS_MAX), .words = AUTO,
     .help = "TLS handshakes in progress; above, one of the address with most is closed; auto: "
             "at most 2048, and a sixteenth of limits.memory"},
    {"limits.idle_timeout", "limits-idle-timeout", &config_duration, AT(net.idle_timeout),
     .normal = "off", LIMIT(MS, 365 * DAY), .words = OFF,
     .help = "close connections that are idle for so long"},
    {"limits.unread", "limits-unread", &config_duration, AT(net.unread), .normal = "30s",
     LIMIT(MS, DAY), .words = OFF,
     .help = "close connections that read nothing of what is pushed for so long"},
    {"limits.keepalive", "limits-keepalive", &config_duration, AT(net.keepalive),
     .normal = "15s", LIMIT(SECOND, DAY / 24), .words = OFF,
     .help = "silence before a TCP peer is probed; lost after three probes"},
    {"limits.auth_failures", "limits-auth-failures", &config_count, AT(net.auth_failures),
     .normal = "5", LIMIT(1, 1000), .help = "wrong tokens before a connection is closed"},
    {"limits.penalty", "limits-penalty", &config_duration, AT(net.penalty), .normal = "5s",
     LIMIT(MS, 200 * SECOND), .words = OFF,
     .help = "how long a wrong token counts against its address; the third refuses connections"},

    {"workers.max", "workers-max", &config_count, .heading = "Workers",
     AT(workers.max), .normal = "10000",
     LIMIT(1, 100000), .help = "registrations of workers; above, BUSY"},
    {"workers.silence", "workers-silence", &config_duration, AT(net.silence),
     .normal = "15s", LIMIT(3 * SECOND, DAY / 24), .words = OFF,
     .help = "a worker whose machine does not respond for so long is lost"},
    {"workers.give_up", "workers-give-up", &config_duration, AT(workers.give_up), .normal = "off",
     LIMIT(SECOND, 365 * DAY), .words = OFF,
     .help = "a worker that goes on with a task so long after its cancellation or timeout is lost"},
    {"workers.methods", "workers-methods", &config_namelist, AT(workers.methods),
     .help = "pattern of methods to accept tasks for before any worker offers them"},
    {"workers.join", "workers-join", &config_namelist, AT(workers.join),
     .help = "pattern of the server's own handlers that workers may offer, too; the least "
             "occupied gets each task"},

    {"drain", "drain", &config_duration, .heading = "The process",
     AT(drain), .normal = "8s", LIMIT(0, DAY),
     .live = true, .help = "time for work in flight at a shutdown"},
    {"step_limit", "step-limit", &config_duration, AT(step_limit), .normal = "50ms",
     LIMIT(MS, DAY), .help = "count and log longer steps"},
    {"round_limit", "round-limit", &config_duration, AT(round_limit), .normal = "10s",
     LIMIT(SECOND, DAY), .words = OFF,
     .help = "longest round of a loop; above, the service manager gets no watchdog signal"},

    {"sandbox", "sandbox", &config_bool, AT(sandbox), .normal = "false",
     .help = "deny system calls that the server does not need: running programs, mounts, and so "
             "on"},
    {"sandbox_allow", "sandbox-allow", &config_namelist, AT(sandbox_allow),
     .help = "system call to allow nevertheless, for a module"},

    {"dev", "dev", &config_bool, AT(dev), .normal = "false",
     .help = "for authors of modules: log long or sleeping steps, and what tasks leave behind"},

    {"log.level", "log-level", &config_word,
     .heading = "Log, audit log, traces and flight recorder",
     AT(log.level), .normal = "info", .words = LEVEL,
     .live = true, .help = "least level to log"},
    {"log.format", "log-format", &config_word, AT(log.format), .normal = "logfmt",
     .words = FORMAT, .help = "form of a record"},
    {"log.levels", "log-levels", &config_word, AT(log.levels), .normal = "auto", .words = LEVELS,
     .help = "put levels as \"<4>\" before records; auto: if standard error is journald's"},
    {"log.buffer", "log-buffer", &config_size, AT(log.buffer), .normal = "1m",
     LIMIT(64 * KILO, GIGA), .help = "unwritten records; above, they are dropped and counted"},
    {"log.repeats", "log-repeats", &config_count, AT(log.repeats), .normal = "20",
     LIMIT(1, 1000000), .words = OFF,
     .help = "records of one kind and source a second; above, they are summed up"},

    {"audit.file", "audit-file", &config_path, AT(audit.file),
     .help = "file of administrative acts, as lines of JSON; none: the log"},
    {"audit.buffer", "audit-buffer", &config_size, AT(audit.buffer), .normal = "1m",
     LIMIT(64 * KILO, GIGA),
     .help = "unwritten records of these; above, administrative acts are refused"},

    {"trace.endpoint", "trace-endpoint", &config_collector, AT(trace.endpoint),
     .help = "collector of spans, by OTLP/HTTP: http://127.0.0.1:4318, https://HOST; none: "
             "traces are only passed on"},
    {"trace.ca", "trace-ca", &config_path, AT(trace.ca),
     .help = "authorities of an https:// collector's certificate, PEM; none: the system's"},
    {"trace.headers_file", "trace-headers-file", &config_path, AT(trace.headers_file), .live = true,
     .help = "headers of requests to the collector, as a token: lines of \"Name: value\""},
    {"trace.sample", "trace-sample", &config_ratio, AT(trace.sample), .normal = "0",
     LIMIT(0, 1000000),
     .help = "share of calls and tasks without a trace that begin one: 0.01 is one in a hundred"},

    {"recorder.directory", "recorder-directory", &config_path, AT(recorder.directory),
     .help = "where to write the flight recorder when the server crashes or a loop is stuck; "
             "none: beside the store, or in cluster.state"},
    {"recorder.files", "recorder-files", &config_count, AT(recorder.files), .normal = "8",
     LIMIT(1, 1000), .words = OFF, .help = "files of either kind to keep there; off: write none"},
};

#undef AT
#define AT(member) .offset = offsetof(struct config_listener, member)

static const struct config_key listener_keys[] = {
    {"url", NULL, &config_url, AT(url), .help = "where to listen"},
    {"auth", NULL, &config_word, AT(auth), .normal = "auto", .words = AUTH,
     .help = "how to authenticate; auto: peer for unix://, cert if client certificates are "
             "required, token with a tokens_file, else none"},
    {"allow", NULL, &config_textlist, AT(allow), .help = "globs of allowed methods; none: all"},
    {"tls.cert", NULL, &config_path, AT(cert), .help = "overrides the global setting"},
    {"tls.key", NULL, &config_path, AT(key), .help = "overrides the global setting"},
    {"tls.client_ca", NULL, &config_path, AT(client_ca), .help = "overrides the global setting"},
    {"tls.crl", NULL, &config_path, AT(crl), .help = "overrides the global setting"},
    {"tls.client_cert", NULL, &config_word, AT(client_cert), .normal = "none",
     .words = CLIENT_CERT, .help = "whether clients show a certificate"},
    {"insecure", NULL, &config_bool, AT(insecure), .normal = "false",
     .help = "allow it beyond loopback without TLS and tokens"},
    {"max_connections", NULL, &config_count, AT(max_connections), .normal = "off",
     LIMIT(1, TASKS_MAX), .words = OFF, .help = "connections of this listener"},
    {"penalties", NULL, &config_bool, AT(penalties), .normal = "true",
     .help = "apply limits.penalty; false: behind a proxy, where all have one address"},
    {"idle_timeout", NULL, &config_duration, AT(idle_timeout), LIMIT(MS, 365 * DAY),
     .words = OFF, .help = "overrides limits.idle_timeout"},
    {"raw", NULL, &config_bool, AT(raw), .normal = "false",
     .help = "for clients from before 2013: answers without str8, bin and ext"},
    {"mode", NULL, &config_mode, AT(mode), .normal = "0660", LIMIT(0, 0777),
     .help = "permission bits of a Unix socket"},
};

static const struct config_key admin_keys[] = {
    {"url", NULL, &config_adminurl, AT(url), .help = "where to listen"},
    {"auth", NULL, &config_word, AT(auth), .normal = "auto", .words = AUTH,
     .help = "how to authenticate; auto: peer for unix://, cert if client certificates are "
             "required, token with a tokens_file, else none"},
    {"allow", NULL, &config_textlist, AT(allow), .help = "globs of allowed methods; none: all"},
    {"tls.cert", NULL, &config_path, AT(cert), .help = "overrides the global setting"},
    {"tls.key", NULL, &config_path, AT(key), .help = "overrides the global setting"},
    {"tls.client_ca", NULL, &config_path, AT(client_ca), .help = "overrides the global setting"},
    {"tls.crl", NULL, &config_path, AT(crl), .help = "overrides the global setting"},
    {"tls.client_cert", NULL, &config_word, AT(client_cert), .normal = "none",
     .words = CLIENT_CERT, .help = "whether clients show a certificate"},
    {"insecure", NULL, &config_bool, AT(insecure), .normal = "false",
     .help = "allow it beyond loopback without TLS and tokens"},
    {"penalties", NULL, &config_bool, AT(penalties), .normal = "true",
     .help = "apply limits.penalty; false: behind a proxy, where all have one address"},
    {"mode", NULL, &config_mode, AT(mode), .normal = "0660", LIMIT(0, 0777),
     .help = "permission bits of a Unix socket"},
};

#undef AT
#define AT(member) .offset = offsetof(struct config_executor, member)

static const struct config_key executor_keys[] = {
    {"kind", NULL, &config_word, AT(kind), .normal = "stepped", .words = KIND,
     .help = "what it runs"},
    {"queue", NULL, &config_count, AT(queue), .normal = "128", LIMIT(1, QUEUE_MAX),
     .help = "tasks in its queue"},
    {"core", NULL, &config_integer, AT(core), .normal = "any", LIMIT(0, 4095), .words = ANY,
     .word_value = CONFIG_ANY, .help = "core to bind its thread to"},
    {"priority", NULL, &config_integer, AT(priority), .normal = "0", LIMIT(-20, 19),
     .help = "nice value of its thread"},
    {"weight", NULL, &config_count, AT(weight), .normal = "1", LIMIT(1, 1000000),
     .help = "its share, with measure weight"},
    {"loop", NULL, &config_integer, AT(loop), .normal = "any", LIMIT(0, 1023), .words = ANY,
     .word_value = CONFIG_ANY, .help = "stepped: the loop that runs it, from 0; any: in turn"},
};

#undef AT
#define AT(member) .offset = offsetof(struct config_tenant, member)

static const struct config_key tenant_keys[] = {
    {"name", NULL, &config_name, AT(name),
     .help = "as in the option tenant, or the submitting principal"},
    {"weight", NULL, &config_count, AT(weight), .normal = "1", LIMIT(1, 1000000),
     .help = "tasks that it starts in its turn"},
};

#undef AT
#define AT(member) .offset = offsetof(struct config_role, member)

static const struct config_key role_keys[] = {
    {"name", NULL, &config_name, AT(name), .help = "in messages"},
    {"members", NULL, &config_namelist, AT(members),
     .help = "principals or patterns: token:alice, cert:*, unix:root, address:127.0.0.1, "
             "database:shop"},
    {"methods", NULL, &config_namelist, AT(methods),
     .help = "patterns of methods; rights over others by their full names: task.any"},
    {"tenants", NULL, &config_namelist, AT(tenants),
     .help = "patterns of tenants besides its members' own"},
    {"queues", NULL, &config_namelist, AT(queues), .help = "patterns of queues; none: all"},
    {"keys", NULL, &config_namelist, AT(keys),
     .help = "patterns of keys of tasks; none: all; tasks without a key fit"},
    {"tenant", NULL, &config_name, AT(tenant), .help = "default tenant of its members' tasks"},
};
/* clang-format on */

#define ELEMENTS(kind, written)                                                                    \
    {                                                                                              \
        kind##_keys, COUNT(kind##_keys), sizeof(struct config_##kind),                             \
            .given_offset = offsetof(struct config_##kind, given),                                 \
            .origin_offset = offsetof(struct config_##kind, origin), .example = (written)          \
    }

const struct config_table config_keys = {
    .keys = keys, .count = COUNT(keys), .size = sizeof(struct config)};
const struct config_table config_listener_keys = ELEMENTS(listener, "url: ergon://127.0.0.1:7466");
const struct config_table config_admin_keys = {
    admin_keys,
    COUNT(admin_keys),
    sizeof(struct config_listener),
    .given_offset = offsetof(struct config_listener, given),
    .origin_offset = offsetof(struct config_listener, origin),
    .example = "url: http://127.0.0.1:7468"};
const struct config_table config_executor_keys = ELEMENTS(executor, "kind: stepped");
const struct config_table config_tenant_keys = ELEMENTS(tenant, "name: ada");

const struct config_table config_role_keys = ELEMENTS(role, "name: operator");

const struct config_key *config_find(const struct config_table *table, const char *path)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->keys[i].path, path) == 0)
            return &table->keys[i];
    return NULL;
}

void config_env_name(const struct config_key *key, char *buf, size_t size)
{
    snprintf(buf, size, "ERGON_%s", key->name);
    for (char *c = buf; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}
