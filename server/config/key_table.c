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
    {"listen", "listen", &config_urlmaps, MAPS(listeners, listener_count, listener),
     .normal = "ergon://127.0.0.1:7466",
     .help = "where to listen: ergon://HOST:PORT, ergons://HOST:PORT (TLS), unix:///PATH"},
    {"admin.listen", "admin", &config_urlmaps, MAPS(admin.listeners, admin.count, admin),
     .help = "where the page, the metrics and the health checks are served by HTTP: "
             "http://HOST:PORT, https://HOST:PORT (TLS), unix:///PATH; none: nowhere"},
    {"admin.hosts", "admin-host", &config_namelist, AT(admin.hosts),
     .help = "name that an admin listener may be called by, beside its address and localhost"},
    {"admin.call_timeout", "admin-call-timeout", &config_duration, AT(admin.call_timeout),
     .normal = "30s", LIMIT(MS, DAY), .help = "of a call by HTTP, until it is given up"},
    {"admin.request_timeout", "admin-request-timeout", &config_duration,
     AT(admin.request_timeout), .normal = "30s", LIMIT(MS, DAY),
     .help = "in which a request by HTTP has to be whole, and in which a client that is answered "
             "has to read something"},
    {"modules", "module", &config_textlist, AT(modules),
     .help = "shared object that registers handlers, or the name of one that comes with the "
             "server: demo"},
    {"tokens_file", "tokens", &config_path, AT(tokens_file), .live = true,
     .help = "bearer tokens: lines of SHA-256 hash, principal, methods allowed"},
    {"roles", NULL, &config_maps, MAPS(roles, role_count, role), .live = true,
     .help = "who may do what"},
    {"on_revoke", "on-revoke", &config_word, AT(on_revoke), .normal = "close", .words = ON_REVOKE,
     .live = true,
     .help = "connections of who has lost rights by a reload, or whose token has ended: close, or "
             "lower to the rights that are left"},
    {"insecure", "insecure", &config_bool, AT(insecure), .normal = "false",
     .help = "let listeners beyond loopback do without TLS and without tokens"},

    {"tls.cert", "tls-cert", &config_path, AT(tls.cert),
     .help = "certificate chain, PEM"},
    {"tls.key", "tls-key", &config_path, AT(tls.key),
     .help = "private key, PEM"},
    {"tls.key_password", "tls-key-password", &config_secret, AT(tls.key_password),
     .help = "password of the private keys"},
    {"tls.client_ca", "tls-client-ca", &config_path, AT(tls.client_ca),
     .help = "authorities that sign client certificates, PEM"},
    {"tls.crl", "tls-crl", &config_path, AT(tls.crl),
     .help = "client certificates that were revoked: a list of each authority, PEM"},
    {"tls.min_version", "tls-min-version", &config_word, AT(tls.min_version), .normal = "1.2",
     .words = TLS_VERSION, .help = "oldest TLS version"},

    {"loops.count", "loops", &config_count, AT(loops.count), .normal = "auto", LIMIT(1, 1024),
     .words = AUTO, .help = "event loops, a thread each; auto: by affinity and cgroup quota"},
    {"loops.cores", "loops-cores", &config_corelist, AT(loops.cores),
     .help = "cores that the loops are bound to, in order (0-2,5)"},

    {"executors.stepped.queue", "stepped-queue", &config_count, AT(executors.stepped_queue),
     .normal = "128", LIMIT(1, QUEUE_MAX), .help = "tasks in the queue of a loop's executor"},
    {"executors.stepped.parked", "stepped-parked", &config_count, AT(executors.stepped_parked),
     .normal = "16384", LIMIT(1, TASKS_MAX),
     .help = "tasks of a stepped executor that may wait or take turns"},
    {"executors.stepped.turns", "stepped-turns", &config_count, AT(executors.stepped_turns),
     .normal = "128", LIMIT(1, TASKS_MAX),
     .help = "submitted tasks that may take turns on a loop; then no more are begun there"},
    {"executors.blocking.count", "blocking", &config_count, AT(executors.blocking_count),
     .normal = "4", LIMIT(0, 1024), .help = "blocking executors, a thread each"},
    {"executors.blocking.max", "blocking-max", &config_count, AT(executors.blocking_max),
     .normal = "auto", LIMIT(0, 4096), .words = AUTO,
     .help = "blocking threads at most: further ones stand in for those whose handlers outlive "
             "their tasks, or when one principal holds all; auto: twice as many"},
    {"executors.blocking.queue", "blocking-queue", &config_count, AT(executors.blocking_queue),
     .normal = "64", LIMIT(1, QUEUE_MAX), .help = "tasks in the queue of a blocking executor"},
    {"executors.bound", "executors-bound", &config_word, AT(executors.bound), .normal = "measured",
     .words = BOUND,
     .help = "tasks that an executor has at a time: by measured times, or what its queue takes"},
    {"executors.list", NULL, &config_maps,
     MAPS(executors.list, executors.count, executor),
     .help = "exactly these executors instead"},

    {"manager.place", "manager-place", &config_word, AT(manager.place), .normal = "loop",
     .words = PLACE, .help = "where the task manager lives: on the first loop, or on its own"},
    {"manager.queue", "manager-queue", &config_count, AT(manager.queue), .normal = "65536",
     LIMIT(1, TASKS_MAX), .help = "tasks in the common queue"},

    {"store", "store", &config_path, AT(store),
     .help = "file that keeps tasks across restarts; none: durable tasks are refused"},
    {"tasks.max", "tasks-max", &config_count, AT(tasks.limits.max), .normal = "4194304",
     LIMIT(1, INT32_MAX), .live = true,
     .help = "submitted tasks held in memory; above, BUSY"},
    {"tasks.bytes", "tasks-bytes", &config_size, AT(tasks.limits.bytes), .normal = "auto",
     LIMIT(MEGA, 1024 * GIGA), .words = AUTO,
     .live = true,
     .help = "memory of the submitted tasks; above, BUSY; auto: a quarter of the memory of the "
             "machine, or of the control group"},
    {"tasks.tenant_share", "tasks-tenant-share", &config_count, AT(tasks.limits.tenant_share),
     .normal = "80", LIMIT(1, 100),
     .live = true,
     .help = "percent of both that open tasks of one tenant may take; above, BUSY"},
    {"tasks.kept_bytes", "tasks-kept-bytes", &config_size, AT(tasks.limits.kept_bytes),
     .normal = "auto", LIMIT(0, 1024 * GIGA), .words = AUTO, .word_value = CONFIG_ANY,
     .live = true,
     .help = "of that, by tasks that have ended; above, the tenant that has most of it forgets its "
             "oldest; auto: a quarter of tasks.bytes"},
    {"tasks.keep_failed", "tasks-keep-failed", &config_duration, AT(tasks.limits.keep_failed),
     .normal = "7d", LIMIT(0, 36500 * DAY),
     .live = true,
     .help = "how long tasks that failed or are dead are kept, unless they say it"},
    {"tasks.ageing", "tasks-ageing", &config_duration, AT(tasks.ageing), .normal = "10s",
     LIMIT(MS, DAY), .words = OFF,
     .help = "so long in the queue counts as one step of priority"},
    {"tasks.crashes", "tasks-crashes", &config_count, AT(tasks.crashes), .normal = "3",
     LIMIT(1, 1000), .words = OFF,
     .help = "a task that ran in so many crashes of the server is not run again"},
    {"tasks.losses", "tasks-losses", &config_count, AT(tasks.losses), .normal = "9",
     LIMIT(1, 255), .words = OFF,
     .help = "a task with so many losses of workers that had it is not run again; one that it had "
             "alone counts as three"},
    {"tasks.history", "tasks-history", &config_count, AT(tasks.history), .normal = "100",
     LIMIT(1, 1000000), .help = "events kept of one task"},
    {"tasks.events", "tasks-events", &config_count, AT(tasks.events), .normal = "16384",
     LIMIT(0, 1 << 24),
     .help = "events kept of all tasks, for who follows them (task.events, ergon events); 0: none"},
    {"tenants", NULL, &config_maps, MAPS(tenants, tenant_count, tenant),
     .help = "owners of tasks whose share is not 1"},

    {"measure", "measure", &config_word, AT(placement), .normal = "occupancy", .words = MEASURE,
     .help = "what the choice of an executor goes by"},
    {"shortcut", "shortcut", &config_bool, AT(shortcut), .normal = "true",
     .help = "a loop may run a plain call itself"},

    {"idle.mode", "idle", &config_word, AT(idle.mode), .normal = "auto", .words = IDLE,
     .help = "how a thread with nothing to do waits; auto spins first where that pays, and "
             "sleeps elsewhere"},
    {"idle.spin", "idle-spin", &config_duration, AT(idle.spin), .normal = "50us",
     LIMIT(0, SECOND), .help = "how long idle.mode spin spins; auto: at most"},

    {"limits.message", "limits-message", &config_size, AT(limits.message), .normal = "16m",
     LIMIT(256, GIGA), .help = "one message"},
    {"limits.depth", "limits-depth", &config_count, AT(net.scan.depth_max), .normal = "32",
     LIMIT(2, SCAN_DEPTH_CAP), .help = "nesting of one message"},
    {"limits.connections", "limits-connections", &config_count, AT(net.connections),
     .normal = "auto", LIMIT(1, TASKS_MAX), .words = AUTO,
     .help = "connections; auto: as many as the limit of open files allows"},
    {"limits.connections_per_address", "limits-connections-per-address", &config_count,
     AT(net.connections_per_address), .normal = "off", LIMIT(1, TASKS_MAX), .words = OFF,
     .help = "connections from one address"},
    {"limits.in_flight", "limits-in-flight", &config_count, AT(net.in_flight),
     .normal = "1024", LIMIT(1, TASKS_MAX), .help = "requests in flight on one connection"},
    {"limits.principal_in_flight", "limits-principal-in-flight", &config_count,
     AT(limits.principal_in_flight), .normal = "off", LIMIT(1, TASKS_MAX), .words = OFF,
     .help = "calls in flight of one principal, on all its connections; above, BUSY, and it is "
             "not read"},
    {"limits.output", "limits-output", &config_size, AT(net.output_max), .normal = "1m",
     LIMIT(4 * KILO, GIGA), .help = "output that waits on one connection; above, reading stops"},
    {"limits.memory", "limits-memory", &config_size, AT(limits.memory), .normal = "auto",
     LIMIT(MEGA, 1024 * GIGA), .words = AUTO,
     .help = "what calls and connections hold, all together: parameters, results, output; above, "
             "nothing is begun; auto: half of the memory of the machine, or of the control group"},
    {"limits.principal_memory", "limits-principal-memory", &config_size,
     AT(limits.principal_memory), .normal = "auto", LIMIT(MEGA, 1024 * GIGA), .words = AUTO,
     .help = "the same of one principal; auto: half of limits.memory"},
    {"limits.connection_memory", "limits-connection-memory", &config_size,
     AT(net.connection_bytes), .normal = "auto", LIMIT(KILO, 1024 * GIGA), .words = AUTO,
     .help = "the same of one connection; auto: an eighth of limits.memory"},
    {"limits.partial", "limits-partial", &config_size, AT(limits.partial), .normal = "256m",
     LIMIT(64 * KILO, 1024 * GIGA),
     .help = "unfinished messages of all connections, at most a quarter of limits.memory, but room "
             "for two of limits.message; above, the largest is closed, of the principal that has "
             "most"},
    {"limits.handshake_timeout", "limits-handshake-timeout", &config_duration,
     AT(net.handshake_timeout), .normal = "10s", LIMIT(MS, DAY),
     .help = "from accept to the end of the TLS handshake"},
    {"limits.auth_timeout", "limits-auth-timeout", &config_duration, AT(net.auth_timeout),
     .normal = "10s", LIMIT(MS, DAY), .words = OFF,
     .help = "from there until the peer has said who it is, where a listener asks"},
    {"limits.newcomers", "limits-newcomers", &config_count, AT(net.newcomers),
     .normal = "auto", LIMIT(1, TASKS_MAX), .words = AUTO,
     .help = "connections that have not said who they are; above, one of them is closed, of the "
             "address that has most; auto: a quarter of limits.connections"},
    {"limits.handshakes", "limits-handshakes", &config_count, AT(net.handshakes),
     .normal = "auto", LIMIT(1, TASKS_MAX), .words = AUTO,
     .help = "TLS handshakes that have begun; above, one is closed, of the address that has most; "
             "auto: 2048, or what a sixteenth of limits.memory holds"},
    {"limits.idle_timeout", "limits-idle-timeout", &config_duration, AT(net.idle_timeout),
     .normal = "off", LIMIT(MS, 365 * DAY), .words = OFF,
     .help = "a connection that is quiet for so long is closed"},
    {"limits.unread", "limits-unread", &config_duration, AT(net.unread), .normal = "30s",
     LIMIT(MS, DAY), .words = OFF,
     .help = "a connection to which events are pushed and that reads none for so long is closed"},
    {"limits.keepalive", "limits-keepalive", &config_duration, AT(net.keepalive),
     .normal = "15s", LIMIT(SECOND, DAY / 24), .words = OFF,
     .help = "silence before a TCP peer is asked if it is still there; gone after three asks"},
    {"limits.auth_failures", "limits-auth-failures", &config_count, AT(net.auth_failures),
     .normal = "5", LIMIT(1, 1000), .help = "wrong tokens before a connection is closed"},
    {"limits.penalty", "limits-penalty", &config_duration, AT(net.penalty), .normal = "5s",
     LIMIT(MS, 200 * SECOND), .words = OFF,
     .help = "what a wrong token costs its address; after three it is kept out so long"},

    {"workers.max", "workers-max", &config_count, AT(workers.max), .normal = "10000",
     LIMIT(1, 100000), .help = "registrations of workers; more are answered BUSY"},
    {"workers.silence", "workers-silence", &config_duration, AT(net.silence),
     .normal = "15s", LIMIT(3 * SECOND, DAY / 24), .words = OFF,
     .help = "a worker whose machine says nothing for so long, asked or written to, is lost"},
    {"workers.give_up", "workers-give-up", &config_duration, AT(workers.give_up), .normal = "off",
     LIMIT(SECOND, 365 * DAY), .words = OFF,
     .help = "a worker that goes on for so long with a task that nobody waits for is lost"},

    {"workers.methods", "workers-methods", &config_namelist, AT(workers.methods),
     .help = "pattern of methods that workers will offer: tasks of them are taken before any does"},
    {"workers.join", "workers-join", &config_namelist, AT(workers.join),
     .help = "pattern of the server's own handlers that workers may offer, too: their tasks go to "
             "whoever is least occupied"},

    {"drain", "drain", &config_duration, AT(drain), .normal = "8s", LIMIT(0, DAY),
     .live = true, .help = "how long a shutdown waits for work in flight"},
    {"step_limit", "step-limit", &config_duration, AT(step_limit), .normal = "50ms",
     LIMIT(MS, DAY), .help = "a longer step is counted and logged"},
    {"round_limit", "round-limit", &config_duration, AT(round_limit), .normal = "10s",
     LIMIT(SECOND, DAY), .words = OFF,
     .help = "a loop that finishes no round for so long: the service manager is not told any more "
             "that all is well"},

    {"sandbox", "sandbox", &config_bool, AT(sandbox), .normal = "false",
     .help = "denies system calls that the server does not need: running programs, mounts, and so "
             "on"},
    {"sandbox_allow", "sandbox-allow", &config_namelist, AT(sandbox_allow),
     .help = "system call that a module needs in spite of that"},

    {"dev", "dev", &config_bool, AT(dev), .normal = "false",
     .help = "for authors of modules: logs steps that sleep or take long, and what tasks leave "
             "behind"},

    {"log.level", "log-level", &config_word, AT(log.level), .normal = "info", .words = LEVEL,
     .live = true, .help = "least level that is logged"},
    {"log.format", "log-format", &config_word, AT(log.format), .normal = "logfmt",
     .words = FORMAT, .help = "form of a log record"},
    {"log.levels", "log-levels", &config_word, AT(log.levels), .normal = "auto", .words = LEVELS,
     .help = "a record's level in front, as \"<4>\", for journald; auto: where standard error is "
             "its"},
    {"log.buffer", "log-buffer", &config_size, AT(log.buffer), .normal = "1m",
     LIMIT(64 * KILO, GIGA),
     .help = "records that wait for who reads the log; what finds no room is dropped and counted"},
    {"log.repeats", "log-repeats", &config_count, AT(log.repeats), .normal = "20",
     LIMIT(1, 1000000), .words = OFF,
     .help = "records of one kind and source within a second; further ones are summed up"},

    {"audit.file", "audit-file", &config_path, AT(audit.file),
     .help = "records of administrative acts, as lines of JSON; none: they go into the log"},
    {"audit.buffer", "audit-buffer", &config_size, AT(audit.buffer), .normal = "1m",
     LIMIT(64 * KILO, GIGA),
     .help = "of these, what waits to be written; with no room administrative acts are refused"},

    {"trace.endpoint", "trace-endpoint", &config_collector, AT(trace.endpoint),
     .help = "collector that spans are sent to, by OTLP/HTTP: http://127.0.0.1:4318, "
             "https://HOST; none: traces are passed on, and no span is told"},
    {"trace.ca", "trace-ca", &config_path, AT(trace.ca),
     .help = "authorities that sign the certificate of a collector at https://, PEM; none: the "
             "system's"},
    {"trace.headers_file", "trace-headers-file", &config_path, AT(trace.headers_file), .live = true,
     .help = "headers of each request to the collector, as a token: lines of \"Name: value\""},
    {"trace.sample", "trace-sample", &config_ratio, AT(trace.sample), .normal = "0",
     LIMIT(0, 1000000),
     .help = "of the calls and tasks that come without a trace, how many begin one: 0.01 is one in "
             "a hundred"},

    {"recorder.directory", "recorder-directory", &config_path, AT(recorder.directory),
     .help = "where the flight recorder is written to when the server crashes, or a loop is stuck; "
             "none: beside the store, or nowhere without one"},
    {"recorder.files", "recorder-files", &config_count, AT(recorder.files), .normal = "8",
     LIMIT(1, 1000), .words = OFF,
     .help = "files of either kind that are kept there; off: none is written"},
};

#undef AT
#define AT(member) .offset = offsetof(struct config_listener, member)

static const struct config_key listener_keys[] = {
    {"url", NULL, &config_url, AT(url), .help = "where to listen"},
    {"auth", NULL, &config_word, AT(auth), .normal = "auto", .words = AUTH,
     .help = "how a peer says who it is; auto: peer for unix://, cert where client certificates "
             "are required, token where there is a tokens_file, else none"},
    {"allow", NULL, &config_textlist, AT(allow), .help = "globs of the methods allowed; none: all"},
    {"tls.cert", NULL, &config_path, AT(cert), .help = "instead of the common one"},
    {"tls.key", NULL, &config_path, AT(key), .help = "instead of the common one"},
    {"tls.client_ca", NULL, &config_path, AT(client_ca),
     .help = "instead of the common one"},
    {"tls.crl", NULL, &config_path, AT(crl), .help = "instead of the common one"},
    {"tls.client_cert", NULL, &config_word, AT(client_cert), .normal = "none",
     .words = CLIENT_CERT, .help = "whether a client shows a certificate"},
    {"insecure", NULL, &config_bool, AT(insecure), .normal = "false",
     .help = "may stand beyond loopback without TLS and without tokens"},
    {"max_connections", NULL, &config_count, AT(max_connections), .normal = "off",
     LIMIT(1, TASKS_MAX), .words = OFF, .help = "connections of this listener"},
    {"penalties", NULL, &config_bool, AT(penalties), .normal = "true",
     .help = "limits.penalty counts; false: behind a proxy, where all have one address"},
    {"idle_timeout", NULL, &config_duration, AT(idle_timeout), LIMIT(MS, 365 * DAY),
     .words = OFF, .help = "instead of limits.idle_timeout"},
    {"raw", NULL, &config_bool, AT(raw), .normal = "false",
     .help = "for clients from before 2013: answers without str8, bin and ext"},
    {"mode", NULL, &config_mode, AT(mode), .normal = "0660", LIMIT(0, 0777),
     .help = "permission bits of a Unix socket"},
};

static const struct config_key admin_keys[] = {
    {"url", NULL, &config_adminurl, AT(url), .help = "where to listen"},
    {"auth", NULL, &config_word, AT(auth), .normal = "auto", .words = AUTH,
     .help = "how a peer says who it is; auto: peer for unix://, cert where client certificates "
             "are required, token where there is a tokens_file, else none"},
    {"allow", NULL, &config_textlist, AT(allow), .help = "globs of the methods allowed; none: all"},
    {"tls.cert", NULL, &config_path, AT(cert), .help = "instead of the common one"},
    {"tls.key", NULL, &config_path, AT(key), .help = "instead of the common one"},
    {"tls.client_ca", NULL, &config_path, AT(client_ca),
     .help = "instead of the common one"},
    {"tls.crl", NULL, &config_path, AT(crl), .help = "instead of the common one"},
    {"tls.client_cert", NULL, &config_word, AT(client_cert), .normal = "none",
     .words = CLIENT_CERT, .help = "whether a client shows a certificate"},
    {"insecure", NULL, &config_bool, AT(insecure), .normal = "false",
     .help = "may stand beyond loopback without TLS and without tokens"},
    {"penalties", NULL, &config_bool, AT(penalties), .normal = "true",
     .help = "limits.penalty counts; false: behind a proxy, where all have one address"},
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
     .word_value = CONFIG_ANY, .help = "core that its thread is bound to"},
    {"priority", NULL, &config_integer, AT(priority), .normal = "0", LIMIT(-20, 19),
     .help = "of its thread, as nice"},
    {"weight", NULL, &config_count, AT(weight), .normal = "1", LIMIT(1, 1000000),
     .help = "its share under the measure weight"},
    {"loop", NULL, &config_integer, AT(loop), .normal = "any", LIMIT(0, 1023), .words = ANY,
     .word_value = CONFIG_ANY, .help = "stepped: the loop that runs it, from 0; any: in turn"},
};

#undef AT
#define AT(member) .offset = offsetof(struct config_tenant, member)

static const struct config_key tenant_keys[] = {
    {"name", NULL, &config_name, AT(name),
     .help = "as in the option tenant, or the principal of who submits"},
    {"weight", NULL, &config_count, AT(weight), .normal = "1", LIMIT(1, 1000000),
     .help = "tasks that it starts in its turn"},
};

#undef AT
#define AT(member) .offset = offsetof(struct config_role, member)

static const struct config_key role_keys[] = {
    {"name", NULL, &config_name, AT(name), .help = "in messages"},
    {"members", NULL, &config_namelist, AT(members),
     .help = "principals, or patterns of them: token:alice, cert:*, unix:root, address:127.0.0.1"},
    {"methods", NULL, &config_namelist, AT(methods),
     .help = "patterns of methods; and rights over others, each by its full name: task.any"},
    {"tenants", NULL, &config_namelist, AT(tenants),
     .help = "patterns of tenants beside its members' own; none: their own only"},
    {"queues", NULL, &config_namelist, AT(queues), .help = "patterns of queues; none: all"},
    {"keys", NULL, &config_namelist, AT(keys),
     .help = "patterns of keys of tasks; none: all; a task without a key fits"},
    {"tenant", NULL, &config_name, AT(tenant),
     .help = "to whom its members' tasks belong, unless they name another"},
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
