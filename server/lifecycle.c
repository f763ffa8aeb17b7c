#include "server/lifecycle.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/admin/admin.h"
#include "server/front/fronts.h"
#include "server/membership.h"
#include "server/plan.h"
#include "server/reload.h"
#include "server/rpc/figures.h"
#include "server/setup.h"
#include "server/store/store.h"
#include "server/system/crash.h"
#include "server/system/systemd.h"
#include "server/system/watchdog.h"
#include "server/tracing/exporter.h"

/* X(NAME, "what is true; what ends it") */
#define LIFECYCLE_PHASES(X)                                                                        \
    X(RUNNING, "serving; the first SIGTERM or SIGINT leaves it")                                   \
    X(DRAINING,                                                                                    \
      "no new requests, no kept task is begun; the end of the last connection and attempt, the "   \
      "limit or a second signal")                                                                  \
    X(CANCELLING,                                                                                  \
      "what still ran was cancelled; answers go out; the last connection or the limit")            \
    X(STOPPING, "the threads are being joined; no client waits any more")

enum lifecycle_phase {
#define X(name, text) PHASE_##name,
    LIFECYCLE_PHASES(X)
#undef X
};

static const char *const phase_names[] = {
#define X(name, text) #name,
    LIFECYCLE_PHASES(X)
#undef X
};

/* Percent of the drain limit: when running tasks are cancelled, when the remaining connections are
 * cut, and until when threads are joined, so that the whole stop stays within the limit. */
enum { CANCEL_AT_PERCENT = 85, CUT_AT_PERCENT = 92, JOIN_UNTIL_PERCENT = 97 };

struct server {
    struct topology *topology;
    struct config **config; /* owned by the caller; a reload replaces it */
    const struct config_input *input;
    const struct lifecycle_watch *watch;
    enum lifecycle_phase phase;
    ao_time stop_began; /* valid from DRAINING on */
    struct watchdog watchdog;
    ao_time ping;               /* ns between two pings of the service manager; 0: it wants none */
    ao_time next_ping;          /* time of the next ping */
    int signals;                /* signalfd */
    int drained;                /* eventfd: counts the parts that have drained */
    int taken;                  /* eventfd: counts the reloads that all loops have applied */
    unsigned reloads;           /* reloads that not all loops have applied */
    int spare_wanted;           /* eventfd: a spare blocking executor is to be started */
    bool accepts;               /* the loop that accepts is away: this thread accepts instead */
    int deposed;                /* eventfd: the cluster wants this process to end */
    enum lifecycle_exit status; /* of a stop in order */
    unsigned draining;          /* parts that have not drained: connections, kept tasks */
};

static void signal_set(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
}

int lifecycle_block_signals(void)
{
    sigset_t set;

    signal_set(&set);
    sigaddset(&set, SIGPIPE); /* writing to a closed connection is a normal case */
    errno = pthread_sigmask(SIG_BLOCK, &set, NULL);
    return errno == 0 ? 0 : -1;
}

/* Any loop's thread, or the manager's. */
static void on_drained(void *arg)
{
    const struct server *s = arg;

    eventfd_write(s->drained, 1);
}

/* The cluster's thread. */
static void on_cluster_end(void *arg)
{
    const struct server *s = arg;

    eventfd_write(s->deposed, 1);
}

/* The manager's thread. */
static void on_spare_wanted(void *arg)
{
    const struct server *s = arg;

    eventfd_write(s->spare_wanted, 1);
}

/* The thread that works as the acceptor. */
static void on_taken(void *arg)
{
    const struct server *s = arg;

    eventfd_write(s->taken, 1);
}

static void enter(struct server *s, enum lifecycle_phase next)
{
    log_info("phase", LOG_STR("from", phase_names[s->phase]), LOG_STR("to", phase_names[next]));
    s->phase = next;
    switch (next) {
    case PHASE_RUNNING:
        break;
    case PHASE_DRAINING:
        s->stop_began = clock_monotonic();
        health_enter(s->watch->health, HEALTH_DRAINING);
        notify_stopping("draining");
        s->draining = TOPOLOGY_DRAINED_PARTS;
        topology_drain(s->topology, on_drained, s);
        break;
    case PHASE_CANCELLING:
        tasks_cancel_all(s->topology->tasks);
        break;
    case PHASE_STOPPING:
        health_enter(s->watch->health, HEALTH_STOPPING);
        net_abort(s->topology->acceptor);
        break;
    }
}

/* How long after stop_began this phase may last, in ns. */
static ao_time phase_limit(const struct server *s)
{
    return (*s->config)->drain / 100 *
           (s->phase == PHASE_DRAINING ? CANCEL_AT_PERCENT : CUT_AT_PERCENT);
}

static ao_time time_left(const struct server *s, ao_time limit)
{
    ao_time passed = clock_monotonic() - s->stop_began;

    return passed < limit ? limit - passed : 0;
}

static void on_limit(struct server *s)
{
    log_warn("drain limit", LOG_STR("phase", phase_names[s->phase]),
             LOG_NS("after", phase_limit(s)), LOG_NS("drain", (*s->config)->drain));
    enter(s, s->phase == PHASE_DRAINING ? PHASE_CANCELLING : PHASE_STOPPING);
}

static void stop_at_once(struct server *s)
{
    if (s->phase == PHASE_RUNNING)
        enter(s, PHASE_DRAINING);
    if (s->phase == PHASE_DRAINING)
        enter(s, PHASE_CANCELLING);
    enter(s, PHASE_STOPPING);
}

static void on_stop_signal(struct server *s)
{
    if (s->phase == PHASE_RUNNING) {
        enter(s, PHASE_DRAINING);
        return;
    }
    log_warn("second signal: stopping at once");
    stop_at_once(s);
}

/* Nobody may wait for an owner that was deposed: it cannot keep what it would promise. */
static void on_deposed(struct server *s)
{
    eventfd_t times = 0;

    if (eventfd_read(s->deposed, &times) != 0)
        return;
    uint32_t why = membership_ended(s->topology->membership);
    s->status = why & 1U << CLUSTER_END_NAMESAKE  ? LIFECYCLE_NAMESAKE
                : why & 1U << CLUSTER_END_REFUSED ? LIFECYCLE_FAILED
                                                  : LIFECYCLE_AGAIN;
    if (why != 1U << CLUSTER_END_DRAIN)
        stop_at_once(s);
    else if (s->phase == PHASE_RUNNING)
        enter(s, PHASE_DRAINING);
}

/* Reloads the certificates of the admin listener. */
static bool reload_admin(const struct server *s)
{
    char error[512];

    if (!s->watch->admin || admin_reload(s->watch->admin, error, sizeof error) == 0)
        return true;
    log_error("the admin listener goes on with its old certificates", LOG_STR("why", error));
    return false;
}

/* Reloads the certificates with which this node connects to the owner of the tasks. */
static bool reload_fronts(const struct server *s)
{
    char error[512];

    if (!s->topology->fronts || fronts_reload(s->topology->fronts, error, sizeof error))
        return true;
    log_error("sessions to other nodes go on with the old certificates", LOG_STR("why", error));
    return false;
}

static bool reload_headers(const struct server *s)
{
    char error[512];
    bool good = exporter_set_headers(s->topology->exporter, (*s->config)->trace.headers_file, error,
                                     sizeof error);

    if (!good)
        log_error("spans are exported with the headers of before", LOG_STR("why", error));
    return good;
}

/* Opens the audit log again, too: log rotation sends this signal. */
static bool reload_all(struct server *s, const char *by)
{
    char error[512];
    bool reopened = audit_reopen(error, sizeof error);

    if (!reopened)
        log_error("the audit log goes on in its old file", LOG_STR("why", error));
    const struct reload_request request = {.by = by, .taken = on_taken, .arg = s};
    bool good = reload(s->config, s->input, s->topology->acceptor, &request);
    s->reloads += good;
    if (good) {
        const struct jobs_settings settings = plan_jobs(*s->config);
        jobs_set_limits(s->topology->jobs, &settings.limits);
        reopened &= reload_admin(s);
        reopened &= reload_fronts(s);
        reopened &= reload_headers(s);
        setup_note(&s->topology->shared.setup, *s->config);
        membership_note_settings(s->topology->membership, *s->config);
    }
    return good && reopened;
}

/* Reports that the reload is done once no loop uses the old configuration. */
static void notify_reloaded(const struct server *s)
{
    if (s->reloads == 0 && s->phase == PHASE_RUNNING)
        notify_ready("serving");
}

static void on_reload_taken(struct server *s)
{
    eventfd_t reloads = 0;

    if (eventfd_read(s->taken, &reloads) != 0)
        return;
    s->reloads -= (unsigned)reloads;
    log_info("reloaded");
    notify_reloaded(s);
}

/* Returns "ok", "refused" or "ignored". */
static const char *on_reload_signal(struct server *s, const char *by)
{
    if (s->phase != PHASE_RUNNING)
        return "ignored";
    notify_reloading();
    bool good = reload_all(s, by);
    setup_reloaded(&s->topology->shared.setup, good);
    notify_reloaded(s);
    return good ? "ok" : "refused";
}

/* The signal takes effect even if it cannot be recorded: a signal cannot be answered with BUSY. */
static void record_signal(const struct signalfd_siginfo *info, const char *user,
                          const char *outcome)
{
    const char *name = info->ssi_signo == SIGHUP   ? "SIGHUP"
                       : info->ssi_signo == SIGINT ? "SIGINT"
                                                   : "SIGTERM";
    const struct log_field fields[] = {LOG_STR("principal", user),
                                       LOG_STR("method", name),
                                       LOG_STR("outcome", outcome),
                                       LOG_UINT("pid", info->ssi_pid),
                                       {0}};
    if (audit_reserve())
        audit_write("administrative act", fields);
    else
        audit_note(LOG_WARN, "administrative act", fields);
}

static void on_signal(struct server *s)
{
    struct signalfd_siginfo info;
    char user[32];

    if (read(s->signals, &info, sizeof info) != sizeof info)
        return;
    const char *outcome = "ok";
    snprintf(user, sizeof user, "uid:%u", info.ssi_uid);
    if (info.ssi_signo == SIGHUP)
        outcome = on_reload_signal(s, user);
    else
        on_stop_signal(s);
    record_signal(&info, user, outcome);
}

static ao_time least(ao_time a, ao_time b)
{
    return a < b ? a : b;
}

static ao_time time_until(ao_time at)
{
    ao_time now = clock_monotonic();

    return at > now ? at - now : 0;
}

/* Returns how long it is until the next sample. */
static ao_time look_at_figures(struct server *s)
{
    return figures_look(s->topology->shared.figures, clock_monotonic(), clock_wall());
}

static ao_time wait_time(struct server *s)
{
    ao_time wait = least(watchdog_wait(&s->watchdog), look_at_figures(s));

    if (s->phase != PHASE_RUNNING)
        return least(wait, time_left(s, phase_limit(s)) + AO_MS(1));
    return s->ping > 0 ? least(wait, time_until(s->next_ping)) : wait;
}

static void ping(struct server *s)
{
    s->next_ping = clock_monotonic() + s->ping;
    if (watchdog_well(&s->watchdog))
        notify_watchdog();
}

/* Does what is due at this time. */
static void on_time(struct server *s)
{
    if (watchdog_look(&s->watchdog))
        watchdog_go_on(&s->watchdog, tasks_look(s->topology->tasks));
    if (s->phase == PHASE_RUNNING && s->ping > 0 && time_until(s->next_ping) == 0)
        ping(s);
    else if (s->phase != PHASE_RUNNING && time_left(s, phase_limit(s)) == 0)
        on_limit(s);
}

static void on_part_drained(struct server *s)
{
    eventfd_t parts = 0;

    if (eventfd_read(s->drained, &parts) == 0)
        s->draining -= (unsigned)parts;
    if (s->draining == 0 && s->phase != PHASE_STOPPING)
        enter(s, PHASE_STOPPING);
}

static void call_spare(struct server *s)
{
    eventfd_t calls;

    if (eventfd_read(s->spare_wanted, &calls) == 0)
        watchdog_go_on(&s->watchdog, tasks_spare_called(s->topology->tasks));
}

/* Logs that a loop hangs and what waits for it, or that it is back. */
static void log_away(const struct server *s, const struct activator *a, bool away)
{
    const struct topology *t = s->topology;

    if (!away) {
        log_info("loop is back", LOG_STR("activator", activator_name(a)));
        return;
    }
    log_warn("loop is away: no new connection and no new task goes to it, and what it has waits",
             LOG_STR("activator", activator_name(a)),
             LOG_STR("accepting", topology_accepts_on(t, a) && t->loop_count > 1
                                      ? "goes on, on the main thread"
                                      : NULL));
    if (a == t->manager)
        log_warn("the task manager is away with its loop: submitted tasks, blocking methods and "
                 "whatever else it hands out wait",
                 LOG_STR("hint", t->manager_poller ? NULL : "manager.place: own"));
}

static void leave_file(const struct activator *a)
{
    char why[RECORDER_WHY_MAX];

    snprintf(why, sizeof why, "%s does not finish its round", activator_name(a));
    recorder_files_stuck(why);
}

/* watchdog_notify_fn */
static void on_away(void *arg, const struct activator *a, bool away)
{
    struct server *s = arg;

    health_away(s->watch->health, activator_name(a), away);
    topology_set_away(s->topology, a, away);
    if (topology_accepts_on(s->topology, a))
        s->accepts = away;
    log_away(s, a, away);
    if (away)
        leave_file(a);
}

static void wait_once(struct server *s)
{
    enum { SIGNALS, DRAINED, TAKEN, AWAKE, SPARE_WANTED, DEPOSED, COUNT };
    struct pollfd fds[COUNT + ACCEPTOR_FDS_MAX] = {
        [SIGNALS] = {.fd = s->signals, .events = POLLIN},
        [DRAINED] = {.fd = s->drained, .events = POLLIN},
        [TAKEN] = {.fd = s->taken, .events = POLLIN},
        [AWAKE] = {.fd = s->watchdog.fd, .events = POLLIN},
        [SPARE_WANTED] = {.fd = s->spare_wanted, .events = POLLIN},
        [DEPOSED] = {.fd = s->deposed, .events = POLLIN}};
    nfds_t count = COUNT;
    if (s->accepts) {
        acceptor_stand_in(s->topology->acceptor);
        count += acceptor_poll_fds(s->topology->acceptor, fds + COUNT);
    }
    ao_time wait = wait_time(s);
    health_look_by(s->watch->health, wait == AO_NEVER ? AO_NEVER : clock_monotonic() + wait);
    int ready = poll(fds, count, wait == AO_NEVER ? -1 : (int)(wait / AO_MS(1)) + 1);

    on_time(s);
    if (ready <= 0 || s->phase == PHASE_STOPPING)
        return;
    if (fds[SIGNALS].revents)
        on_signal(s);
    if (fds[DRAINED].revents)
        on_part_drained(s);
    if (fds[TAKEN].revents)
        on_reload_taken(s);
    if (fds[SPARE_WANTED].revents)
        call_spare(s);
    if (fds[DEPOSED].revents)
        on_deposed(s);
}

static enum lifecycle_exit stop(struct server *s)
{
    ao_time left = time_left(s, (*s->config)->drain / 100 * JOIN_UNTIL_PERCENT);
    admin_close(s->watch->admin);
    uint32_t stuck = topology_stop(s->topology, left);
    recorder_files_close(); /* before the rings are freed */

    if (stuck > 0) {
        log_last("stopped without some handlers", LOG_UINT("stuck", stuck));
        _exit(s->status != LIFECYCLE_OK
                  ? (int)s->status
                  : (int)LIFECYCLE_STUCK); /* their threads still use what exit() would free */
    }
    topology_free(s->topology);
    log_info("stopped");
    return s->status;
}

static int open_files(struct server *s)
{
    sigset_t set;

    signal_set(&set);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    s->drained = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->taken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->spare_wanted = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->deposed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->signals < 0 || s->drained < 0 || s->taken < 0 || s->spare_wanted < 0 || s->deposed < 0)
        return -1;
    if (s->topology->membership) {
        membership_on_end(s->topology->membership, on_cluster_end, s);
        membership_watch(s->topology->membership, s->watch->health);
    }
    tasks_on_crowd(s->topology->tasks, on_spare_wanted, s);
    return watchdog_open(&s->watchdog, &s->topology->threads, (*s->config)->round_limit, on_away,
                         s);
}

/* Joins the URLs with spaces; a URL that does not fit is left out. */
static void list_urls(const struct acceptor *a, char *text, size_t size)
{
    size_t len = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < acceptor_count(a); i++) {
        if (!*acceptor_url(a, i))
            continue;
        int n = snprintf(text + len, size - len, "%s%s", i > 0 ? " " : "", acceptor_url(a, i));
        if ((size_t)n >= size - len) {
            text[len] = '\0';
            return;
        }
        len += (size_t)n;
    }
}

static uint64_t open_file_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

/* As people may see it. */
static const char *store_of(const struct config *c, const struct topology *t)
{
    if (!c->store)
        return "none";
    return c->cluster.exists ? store_name(t->store) : c->store;
}

/* Logs that the server is up, and how it is set up: readers of a log look for this record first.
 * The limits are those in force, not those configured. */
static void start_record_log(const struct config *c, const struct topology *t)
{
    struct jobs_info jobs;
    char urls[1024];

    jobs_info(t->jobs, &jobs);
    list_urls(t->acceptor, urls, sizeof urls);
    log_info("server is up", LOG_STR("version", ERGON_VERSION), LOG_INT("pid", getpid()),
             LOG_UINT("loops", t->loop_count), LOG_STR("idle", t->shared.idle),
             LOG_STR("listeners", urls), LOG_STR("config", c->file),
             LOG_STR("store", store_of(c, t)), LOG_UINT("open_files", open_file_limit()),
             LOG_UINT("connections", t->shared.limits.connections),
             LOG_UINT("memory", plan_accounts(c).bytes_in_all), LOG_UINT("tasks", jobs.limits.max),
             LOG_UINT("tasks_bytes", jobs.limits.bytes));
}

enum lifecycle_exit lifecycle_run(struct topology *t, struct config **config,
                                  const struct config_input *input,
                                  const struct lifecycle_watch *watch)
{
    struct server s = {.topology = t,
                       .watch = watch,
                       .config = config,
                       .input = input,
                       .watchdog = {.fd = -1},
                       .ping = notify_watchdog_period(),
                       .signals = -1,
                       .drained = -1,
                       .taken = -1,
                       .spare_wanted = -1,
                       .deposed = -1};
    enum lifecycle_exit status = LIFECYCLE_FAILED;
    char error[256];

    if (open_files(&s) < 0) {
        log_error("cannot open signalfd or eventfd", LOG_INT("errno", errno));
        admin_close(watch->admin);
        recorder_files_close();
        topology_free(t);
    } else if (topology_start(t, error, sizeof error) < 0) {
        log_error("cannot start", LOG_STR("why", error));
        admin_close(watch->admin);
        recorder_files_close();
        topology_free(t);
    } else {
        health_enter(watch->health, HEALTH_SERVING);
        start_record_log(*config, t);
        notify_ready("serving");
        while (s.phase != PHASE_STOPPING)
            wait_once(&s);
        status = stop(&s);
    }
    watchdog_close(&s.watchdog);
    close(s.signals);
    close(s.drained);
    close(s.taken);
    close(s.spare_wanted);
    close(s.deposed);
    return status;
}
