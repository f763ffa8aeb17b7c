#include "client/cli/module/private_server.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "client/cli/become.h"
#include "client/cli/guardian.h"
#include "client/cli/module/server_log.h"

enum {
    NS_PER_MS = 1000 * 1000,
    START_MS = 60 * 1000, /* the server gives the module 30 s */
    LINE_MAX_BYTES = 16 * 1024,
    PATIENCE_MS = 1000,
    NO_PROGRAM = 127 /* the guardian's status where there is none */
};
static const int ENDS[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDS_COUNT = sizeof ENDS / sizeof *ENDS };

struct private_server {
    struct event_base *base;
    struct ergon_client *client; /* NULL: none yet */
    struct guard *guard;         /* NULL: the server has ended, with `status`, or never began */
    int status;
    int signal; /* of ENDS; 0: none has come */
    struct event signals[ENDS_COUNT], timer, log_event;
    int log_fd;
    struct server_log log;
    size_t line_len;
    char line[LINE_MAX_BYTES]; /* of the log, which has not ended */
    bool answered;             /* the request that is out */
    uint64_t sent_ns;
    struct private_answer answer;
    uint8_t *result;
    size_t result_room;
    char folder[PATH_MAX], path[PATH_MAX + 8], url[PATH_MAX + 16];
};

/* --- What happens --- */

static void read_log(struct private_server *s)
{
    for (;;) {
        ssize_t n = read(s->log_fd, s->line + s->line_len, sizeof s->line - 1 - s->line_len);
        if (n <= 0) {
            if (n == 0)
                event_del(&s->log_event);
            return;
        }
        s->line_len += (size_t)n;
        s->line[s->line_len] = 0;
        char *from = s->line;
        for (char *end; (end = strchr(from, '\n')) != NULL; from = end + 1) {
            *end = 0;
            server_log_line(&s->log, from);
        }
        s->line_len -= (size_t)(from - s->line);
        memmove(s->line, from, s->line_len);
        if (s->line_len == sizeof s->line - 1)
            s->line_len = 0; /* it is none of the server's */
    }
}

static void on_log(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    read_log(arg);
}

static void on_ended(void *arg, int status)
{
    struct private_server *s = arg;
    s->guard = NULL;
    s->status = status;
    read_log(s);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
    struct private_server *s = arg;
    (void)what;
    s->signal = number;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
}

static void on_answer(void *arg, const struct ergon_answer *a)
{
    struct private_server *s = arg;
    s->answered = true;
    s->answer.outcome = a->outcome;
    s->answer.took_us = (clock_monotonic() - s->sent_ns) / 1000;
    snprintf(s->answer.code, sizeof s->answer.code, "%s", a->code);
    snprintf(s->answer.text, sizeof s->answer.text, "%s", a->text);
    s->answer.result = (struct ergon_raw){.at = s->result};
    if (a->result.len > s->result_room) {
        free(s->result);
        s->result = malloc(a->result.len);
        s->result_room = s->result != NULL ? a->result.len : 0;
    }
    if (a->result.len > 0 && a->result.len <= s->result_room) {
        memcpy(s->result, a->result.at, a->result.len);
        s->answer.result = (struct ergon_raw){s->result, a->result.len};
    }
}

/* --- Waiting --- */

static bool goes_on(const struct private_server *s)
{
    return s->guard != NULL && s->signal == 0;
}

/* Waits for something to happen, until this time.  False: nothing is to be waited for. */
static bool wait_once(struct private_server *s, uint64_t until_ns)
{
    uint64_t now = clock_monotonic();
    if (!goes_on(s) || now >= until_ns)
        return false;
    uint64_t us = (until_ns - now) / 1000 + 1;
    struct timeval time = {.tv_sec = (time_t)(us / 1000000),
                           .tv_usec = (suseconds_t)(us % 1000000)};
    event_add(&s->timer, &time);
    event_base_loop(s->base, EVLOOP_ONCE);
    return true;
}

static uint64_t in_ms(uint32_t ms)
{
    return clock_monotonic() + (uint64_t)ms * NS_PER_MS;
}

const struct private_answer *private_server_ask(struct private_server *s,
                                                struct ergon_request *request, uint32_t timeout_ms)
{
    s->answered = false;
    s->answer = (struct private_answer){.outcome = ERGON_END_MEMORY};
    s->sent_ns = clock_monotonic();
    ergon_call_id call = ergon_client_ask(s->client, request, timeout_ms, on_answer, s);
    if (call == 0)
        return &s->answer;
    while (!s->answered && wait_once(s, UINT64_MAX))
        ;
    if (!s->answered)
        ergon_client_cancel(s->client, call);
    if (s->guard == NULL)
        s->answer.outcome = ERGON_END_BROKEN;
    return &s->answer;
}

uint32_t private_server_deaths(struct private_server *s)
{
    if (goes_on(s))
        event_base_loop(s->base, EVLOOP_NONBLOCK);
    return s->log.deaths;
}

void private_server_new_page(struct private_server *s)
{
    s->log.next = (struct death){.reason = ""};
}

bool private_server_await_death(struct private_server *s, uint32_t before, uint32_t timeout_ms)
{
    uint64_t until = in_ms(timeout_ms);
    while (s->log.deaths <= before && wait_once(s, until))
        ;
    return s->log.deaths > before;
}

void private_server_pause(struct private_server *s, uint32_t ms)
{
    uint64_t until = in_ms(ms);
    while (wait_once(s, until))
        ;
}

const struct death *private_server_death(const struct private_server *s)
{
    return &s->log.last;
}

const char *private_server_failed(const struct private_server *s)
{
    if (s->log.refusal[0] != 0)
        return s->log.refusal;
    return s->guard == NULL ? "the server ended" : NULL;
}

int private_server_signal(const struct private_server *s)
{
    return s->signal;
}

/* --- Its folder, which is there until we are connected --- */

static bool make_folder(struct private_server *s)
{
    enum { ROOM = 60 }; /* the name of a socket has 107 bytes at most */
    const char *place = environment("TMPDIR");
    snprintf(s->folder, sizeof s->folder, "%s/ergon-check-XXXXXX",
             place != NULL && strlen(place) < ROOM && place[0] == '/' ? place : "/tmp");
    if (mkdtemp(s->folder) == NULL) {
        char text[96];
        int error = errno;
        complain("no folder can be made in %.*s: %s", (int)(strrchr(s->folder, '/') - s->folder),
                 s->folder, strerror_r(error, text, sizeof text));
        s->folder[0] = 0;
        return false;
    }
    snprintf(s->path, sizeof s->path, "%s/s", s->folder);
    snprintf(s->url, sizeof s->url, "unix://%s", s->path);
    return true;
}

static void remove_folder(struct private_server *s)
{
    if (s->folder[0] == 0)
        return;
    unlink(s->path);
    rmdir(s->folder);
    s->folder[0] = 0;
}

/* --- Its start --- */

/* What would configure another server, or tell a service manager of ours, is not for this one. */
static bool is_foreign(const char *variable)
{
    static const char *const others[] = {"ERGON_",         "NOTIFY_SOCKET=",   "LISTEN_",
                                         "WATCHDOG_USEC=", "STATE_DIRECTORY=", "MAINPID="};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(variable, others[i], strlen(others[i])) == 0)
            return true;
    return false;
}

static void free_variables(struct guard_variable *all, size_t count)
{
    for (size_t i = 0; all != NULL && i < count; i++)
        free((char *)all[i].name);
    free(all);
}

/* NULL: out of memory. */
static struct guard_variable *foreign_variables(size_t *count)
{
    size_t room = 1, n = 0;
    while (environ[room - 1] != NULL)
        room++;
    struct guard_variable *all = calloc(room, sizeof *all);
    for (size_t i = 0; all != NULL && environ[i] != NULL; i++)
        if (is_foreign(environ[i])) {
            all[n].name = strndup(environ[i], strcspn(environ[i], "="));
            if (all[n++].name == NULL) {
                free_variables(all, n);
                return NULL;
            }
        }
    *count = n;
    return all;
}

/* The words of its command line; each text as long as the struct. */
struct words_of_server {
    char program[PATH_MAX], module[PATH_MAX + 160], stuck[32];
    char *argv[12];
};

static void choose_words(struct words_of_server *w, const struct private_server *s,
                         const struct private_plan *plan)
{
    if (!program_beside("ergond", w->program))
        snprintf(w->program, sizeof w->program, "ergond");
    units_duration_text(plan->stuck_ns, w->stuck, sizeof w->stuck);
    snprintf(w->module, sizeof w->module, "%s,process,stuck=%s%s%.64s", plan->module, w->stuck,
             plan->memory != NULL ? ",memory=" : "", plan->memory != NULL ? plan->memory : "");
    char *const argv[] = {w->program, "--listen", (char *)s->url, "--module", w->module,
                          "--loops",  "1",        "--log-level",  "warn",     "--log-format",
                          "json",     NULL};
    memcpy(w->argv, argv, sizeof argv);
}

static bool start(struct private_server *s, const struct private_plan *plan)
{
    struct words_of_server words;
    int tube[2] = {-1, -1}, nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    size_t count = 0;
    struct guard_variable *variables = foreign_variables(&count);
    choose_words(&words, s, plan);
    if (variables != NULL && nothing >= 0 && pipe2(tube, O_CLOEXEC) == 0) {
        const struct guard_plan guard = {.argv = words.argv,
                                         .variables = variables,
                                         .variable_count = count,
                                         .in = nothing,
                                         .out = tube[1],
                                         .err = tube[1],
                                         .keep = -1,
                                         .patience_ms = PATIENCE_MS};
        s->guard = guard_start(s->base, &guard, on_ended, s);
        s->log_fd = tube[0];
        fcntl(s->log_fd, F_SETFL, O_NONBLOCK);
        event_assign(&s->log_event, s->base, s->log_fd, EV_READ | EV_PERSIST, on_log, s);
        event_add(&s->log_event, NULL);
    }
    char text[96];
    if (s->guard == NULL)
        complain("no server can be started: %s", strerror_r(errno, text, sizeof text));
    if (tube[1] >= 0)
        close(tube[1]);
    if (nothing >= 0)
        close(nothing);
    free_variables(variables, count);
    return s->guard != NULL;
}

static bool connect_it(struct private_server *s)
{
    char why[256];
    const struct ergon_options options = {.size = sizeof options,
                                          .url = s->url,
                                          .connect_timeout_ms = START_MS,
                                          .backoff_min_ms = 5,
                                          .backoff_max_ms = 50,
                                          .message_max = UINT32_MAX};
    uint64_t until = in_ms(START_MS);
    if (ergon_client_new(s->base, &options, &s->client, why, sizeof why) != ERGON_END_OK) {
        complain("%s", why);
        return false;
    }
    ergon_client_connect(s->client);
    while (ergon_client_state(s->client) != ERGON_STATE_READY && wait_once(s, until))
        ;
    return true;
}

/* What that says which is not our user's. */
static const char *in_log(const struct private_server *s)
{
    return s->log.said[0] != 0          ? s->log.said
           : s->log.next.output[0] != 0 ? s->log.next.output
                                        : "--verbose shows the log";
}

/* Why there is no connection. */
static enum status refuse(const struct private_server *s, const struct private_plan *plan)
{
    const char *output = s->log.next.output;
    bool is_named = strstr(s->log.refusal, plan->module) != NULL;
    if (s->signal != 0)
        return STATUS_INTERRUPTED;
    if (s->guard == NULL && WIFEXITED(s->status) && WEXITSTATUS(s->status) == NO_PROGRAM)
        complain_as("USAGE", "install the server here, or go to where it is",
                    "cannot run ergond, which loads the module");
    else if (s->log.refusal[0] != 0)
        complain_as("USAGE", strstr(s->log.refusal, "log") != NULL ? in_log(s) : NULL, "%s%s%s",
                    is_named ? "" : plan->module, is_named ? "" : ": ", s->log.refusal);
    else
        complain("%s: the server does not start%s%s", plan->module, output[0] != 0 ? ": " : "",
                 output);
    return STATUS_USAGE;
}

static void watch_signals(struct private_server *s)
{
    for (size_t i = 0; i < ENDS_COUNT; i++) {
        evsignal_assign(&s->signals[i], s->base, ENDS[i], on_signal, s);
        if (guard_minds(ENDS[i]))
            evsignal_add(&s->signals[i], NULL);
    }
    evtimer_assign(&s->timer, s->base, on_timer, s);
}

/* Crashes are expected: they leave no file. */
static void forbid_cores(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &limit);
    }
}

enum status private_server_start(struct private_server **out, const struct private_plan *plan)
{
    const char *slash = strrchr(plan->module, '/');
    struct private_server *s = calloc(1, sizeof *s);
    *out = s;
    if (s == NULL || (s->base = event_base_new()) == NULL) {
        complain_as("MEMORY", NULL, "out of memory");
        return STATUS_REMOTE;
    }
    s->log_fd = -1;
    s->log.verbose = plan->verbose;
    s->log.module = slash != NULL ? slash + 1 : plan->module;
    watch_signals(s);
    forbid_cores();
    if (!make_folder(s) || !start(s, plan) || !connect_it(s))
        return STATUS_REMOTE;
    remove_folder(s);
    return ergon_client_state(s->client) == ERGON_STATE_READY ? STATUS_OK : refuse(s, plan);
}

void private_server_stop(struct private_server *s)
{
    if (s == NULL)
        return;
    ergon_client_free(s->client);
    if (s->guard != NULL)
        guard_kill(s->guard);
    while (s->guard != NULL && event_base_loop(s->base, EVLOOP_ONCE) == 0)
        ;
    remove_folder(s);
    if (s->log_fd >= 0) {
        event_del(&s->log_event);
        close(s->log_fd);
    }
    for (size_t i = 0; s->base != NULL && i < ENDS_COUNT; i++)
        evsignal_del(&s->signals[i]);
    if (s->base != NULL) {
        event_del(&s->timer);
        event_base_free(s->base);
    }
    free(s->result);
    free(s);
}
