#include "client/cli/worker_task.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "client/cli/cli.h"
#include "client/cli/guardian.h"
#include "client/cli/json.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ergon/client_workers.h>

enum {
    READ_SIZE = 64 * 1024,
    DRAIN_READS = 16, /* a pipe holds no more than so many of these */
    LINE_MAX_BYTES = 1000,
    PROGRESS_PAUSE_MS = 100,
    EXIT_AGAIN = 75, /* as EX_TEMPFAIL and EX_DATAERR of sysexits.h */
    EXIT_BAD_PARAMS = 65
};

/* Why a command was told to end. */
enum reason { REASON_NONE, REASON_CANCELLED, REASON_HANDED_BACK, REASON_LOST, REASON_TOO_LARGE };

/* Our end of a pipe to the command. */
struct end {
    int fd; /* -1: closed */
    struct event event;
};

struct worker_run {
    struct worker_task shown;
    const struct worker_home *home;
    struct ergon_served *served;
    struct work work;
    struct guard *guard; /* NULL: it has ended */
    struct end in, out, err;
    enum reason reason;
    char why[32]; /* of worker.cancel */

    uint8_t *output; /* malloc'ed */
    size_t output_len, output_room;

    struct error_tail errors;
    char line[LINE_MAX_BYTES + 1]; /* that is being read */
    size_t line_len;
    char last[LINE_MAX_BYTES + 1]; /* the last whole one; "": none */
    bool untold;                   /* `last` is no progress yet */
    uint64_t told_ns;              /* clock_monotonic() of the last progress */
    struct event pause;            /* until the next may go */
};

/* ---- pipes ---- */

static void end_close(struct end *e)
{
    if (e->fd < 0)
        return;
    if (event_initialized(&e->event))
        event_del(&e->event);
    close(e->fd);
    e->fd = -1;
}

/* Our end of a new pipe does not block, the other is the command's.  False: errno says why. */
static bool end_open(struct end *e, bool we_read, int *other)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) != 0)
        return false;
    e->fd = pair[we_read ? 0 : 1];
    *other = pair[we_read ? 1 : 0];
    return fcntl(e->fd, F_SETFL, O_NONBLOCK) == 0;
}

static void watch(struct worker_run *r, struct end *e, short what, event_callback_fn fn)
{
    event_assign(&e->event, r->home->base, e->fd, what | EV_PERSIST, fn, r);
    event_add(&e->event, NULL);
}

/* ---- the end of a command before its time ---- */

static void end_for(struct worker_run *r, enum reason reason)
{
    if (r->reason == REASON_NONE)
        r->reason = reason;
    if (r->guard != NULL)
        guard_stop(r->guard);
}

void worker_task_cancel(struct worker_task *t, const char *why)
{
    if (t->run->reason == REASON_NONE)
        snprintf(t->run->why, sizeof t->run->why, "%s", why);
    end_for(t->run, REASON_CANCELLED);
}

void worker_task_hand_back(struct worker_task *t)
{
    end_for(t->run, REASON_HANDED_BACK);
}

void worker_task_lost(struct worker_task *t)
{
    end_for(t->run, REASON_LOST);
}

void worker_task_kill(struct worker_task *t)
{
    if (t->run->reason != REASON_NONE && t->run->guard != NULL)
        guard_kill(t->run->guard);
}

bool worker_task_is(const struct worker_task *t, json_int_t call)
{
    const json_t *ours = json_object_get(t->run->work.context, "call");
    return json_is_integer(ours) && json_integer_value(ours) == call;
}

/* ---- standard input ---- */

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct worker_run *r = arg;
    (void)what;
    ssize_t n = r->work.input.len > 0 ? write(fd, r->work.input.at, r->work.input.len) : 0;
    if (n > 0)
        r->work.input = span_behind(r->work.input, (size_t)n);
    /* A command need not read all of it, or any. */
    if (r->work.input.len == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        end_close(&r->in);
}

/* ---- standard output ---- */

/* False: it is longer than a result may be, or than there is memory for. */
static bool keep_output(struct worker_run *r, const uint8_t *bytes, size_t len)
{
    size_t wanted = r->output_len + len;
    if (wanted > r->home->output_max)
        return false;
    if (wanted > r->output_room) {
        size_t room = 2 * r->output_room > wanted ? 2 * r->output_room : wanted;
        uint8_t *grown = realloc(r->output, room);
        if (grown == NULL)
            return false;
        r->output = grown;
        r->output_room = room;
    }
    memcpy(r->output + r->output_len, bytes, len);
    r->output_len = wanted;
    return true;
}

/* False: nothing more is there now. */
static bool read_output(struct worker_run *r)
{
    uint8_t bytes[READ_SIZE];
    ssize_t n = read(r->out.fd, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        end_close(&r->out);
        return false;
    }
    if (!keep_output(r, bytes, (size_t)n)) {
        end_close(&r->out);
        end_for(r, REASON_TOO_LARGE);
        return false;
    }
    return true;
}

static void on_output(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    read_output(arg);
}

/* ---- standard error ---- */

static void tell_progress(struct worker_run *r)
{
    uint64_t done, total;
    struct span text = progress_read(span_text(r->last), &done, &total);
    const json_t *call = json_object_get(r->work.context, "call");
    r->untold = false;
    r->told_ns = clock_monotonic();
    if (json_is_integer(call) && !ergon_served_gone(r->served))
        ergon_worker_progress(r->home->client, (uint64_t)json_integer_value(call), done, total,
                              (const char *)text.at);
}

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
    struct worker_run *r = arg;
    (void)fd;
    (void)what;
    if (r->untold)
        tell_progress(r);
}

/* Of several lines within the pause the last one is told, at its end. */
static void take_line(struct worker_run *r)
{
    uint64_t pause_ns = (uint64_t)PROGRESS_PAUSE_MS * 1000000;
    struct timeval pause = {.tv_usec = PROGRESS_PAUSE_MS * 1000};
    size_t len = utf8_clean(r->last, LINE_MAX_BYTES, span_of(r->line, r->line_len));
    r->last[len] = 0;
    r->line_len = 0;
    if (r->home->verbose)
        complain("%s: %s", r->served->method, r->last);
    if (r->told_ns == 0 || clock_monotonic() - r->told_ns >= pause_ns) {
        tell_progress(r);
    } else if (!r->untold) {
        r->untold = true;
        event_add(&r->pause, &pause);
    }
}

/* Bars that are drawn over themselves end their lines with a carriage return. */
static void take_byte(struct worker_run *r, char c)
{
    if (c == '\n' || c == '\r') {
        if (r->line_len > 0)
            take_line(r);
    } else if (r->line_len < LINE_MAX_BYTES && c != 0) {
        r->line[r->line_len++] = c;
    }
}

static bool read_error(struct worker_run *r)
{
    char bytes[READ_SIZE];
    ssize_t n = read(r->err.fd, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    for (ssize_t i = 0; i < n; i++)
        take_byte(r, bytes[i]);
    if (n > 0)
        error_tail_add(&r->errors, bytes, (size_t)n);
    else
        end_close(&r->err);
    return n > 0;
}

static void on_error(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    read_error(arg);
}

/* ---- the answer ---- */

/* The command is to blame: what it wrote on standard error goes with it. */
static void answer_failure(struct worker_run *r, const char *code, const char *text)
{
    ergon_served_fail_with(r->served, code, text, error_tail_text(&r->errors));
}

static void answer_output(struct worker_run *r)
{
    struct pack result;
    pack_init(&result);
    const char *wrong = output_pack(&result, r->home->output, span_of(r->output, r->output_len));
    struct span bytes = pack_bytes(&result);
    if (wrong == NULL)
        ergon_served_answer(r->served, (struct ergon_raw){bytes.at, bytes.len});
    else
        answer_failure(r, "BAD_OUTPUT", wrong);
    pack_fini(&result);
}

static void answer_exit(struct worker_run *r, int code)
{
    char text[LINE_MAX_BYTES + 40];
    if (code == 0) {
        answer_output(r);
    } else if (code == EXIT_AGAIN) {
        ergon_served_fail(r->served, "AGAIN", "10s");
    } else if (code == EXIT_BAD_PARAMS) {
        answer_failure(r, "BAD_PARAMS", r->last[0] != 0 ? r->last : "the command refuses them");
    } else {
        snprintf(text, sizeof text, "status %d%s%s", code, r->last[0] != 0 ? ": " : "", r->last);
        answer_failure(r, "EXIT", text);
    }
}

static void answer(struct worker_run *r, int status)
{
    char text[40];
    if (r->reason == REASON_LOST) {
        ergon_served_fail(r->served, "CANCELLED", NULL); /* it reaches nobody, and frees it */
    } else if (r->reason == REASON_CANCELLED) {
        ergon_served_fail(r->served, "CANCELLED", r->why);
    } else if (r->reason == REASON_HANDED_BACK) {
        ergon_served_fail(r->served, "AGAIN", "0");
    } else if (r->reason == REASON_TOO_LARGE) {
        answer_failure(r, "TOO_LARGE", "the output is longer than a result may be");
    } else if (WIFSIGNALED(status)) {
        snprintf(text, sizeof text, "signal %d", WTERMSIG(status));
        answer_failure(r, "KILLED", text);
    } else {
        answer_exit(r, WEXITSTATUS(status));
    }
}

static void run_free(struct worker_run *r)
{
    end_close(&r->in);
    end_close(&r->out);
    end_close(&r->err);
    event_del(&r->pause);
    work_fini(&r->work);
    error_tail_fini(&r->errors);
    free(r->output);
    free(r);
}

/* Nobody of ours is left who could write, so what the pipes hold is all. */
static void on_ended(void *arg, int status)
{
    struct worker_run *r = arg;
    const struct worker_home *home = r->home;
    r->guard = NULL;
    for (int i = 0; i < DRAIN_READS && r->out.fd >= 0 && read_output(r); i++)
        continue;
    for (int i = 0; i < DRAIN_READS && r->err.fd >= 0 && read_error(r); i++)
        continue;
    if (r->line_len > 0)
        take_line(r);
    if (r->untold)
        tell_progress(r);
    answer(r, status);
    home->ended(home->arg, &r->shown);
    run_free(r);
}

/* ---- start ---- */

static void number_text(const json_t *context, const char *key, char *to, size_t size)
{
    const json_t *value = json_object_get(context, key);
    to[0] = 0;
    if (json_is_integer(value))
        snprintf(to, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
}

static const char *or_none(const char *text)
{
    return text[0] != 0 ? text : NULL;
}

static struct guard *run_command(struct worker_run *r, const int others[3])
{
    char attempt[24], left[24];
    number_text(r->work.context, "attempt", attempt, sizeof attempt);
    number_text(r->work.context, "left", left, sizeof left);
    const struct guard_variable variables[] = {
        {"ERGON_TOKEN", NULL}, /* the command gets input that others chose */
        {"ERGON_METHOD", r->served->method},
        {"ERGON_TASK", or_none(json_text(r->work.context, "task"))},
        {"ERGON_TENANT", or_none(json_text(r->work.context, "tenant"))},
        {"ERGON_ATTEMPT", or_none(attempt)},
        {"ERGON_LEFT_MS", or_none(left)},
        {"TRACEPARENT", or_none(json_text(r->work.context, "traceparent"))},
        {"TRACESTATE", or_none(json_text(r->work.context, "tracestate"))},
    };
    struct guard_plan plan = {.argv = r->work.argv,
                              .variables = variables,
                              .variable_count = sizeof variables / sizeof *variables,
                              .in = others[0],
                              .out = others[1],
                              .err = others[2],
                              .keep = ergon_client_socket(r->home->client),
                              .patience_ms = r->home->patience_ms};
    return guard_start(r->home->base, &plan, on_ended, r);
}

/* False: errno says what is missing. */
static bool start(struct worker_run *r)
{
    int others[3] = {-1, -1, -1};
    bool good = end_open(&r->in, false, &others[0]) && end_open(&r->out, true, &others[1]) &&
                end_open(&r->err, true, &others[2]);
    if (good)
        r->guard = run_command(r, others);
    int error = errno;
    for (size_t i = 0; i < 3; i++)
        if (others[i] >= 0)
            close(others[i]);
    errno = error;
    if (r->guard == NULL)
        return false;
    watch(r, &r->in, EV_WRITE, on_writable);
    watch(r, &r->out, EV_READ, on_output);
    watch(r, &r->err, EV_READ, on_error);
    return true;
}

static void refuse(struct worker_run *r, const char *code, const char *text)
{
    ergon_served_fail(r->served, code, text);
    run_free(r);
}

struct worker_task *worker_task_start(const struct worker_home *home, struct ergon_served *served)
{
    char why[96];
    struct worker_run *r = calloc(1, sizeof *r);
    if (r == NULL) {
        ergon_served_fail(served, "AGAIN", "10s");
        return NULL;
    }
    r->home = home;
    r->served = served;
    r->shown.run = r;
    r->in.fd = r->out.fd = r->err.fd = -1;
    event_assign(&r->pause, home->base, -1, 0, on_pause_over, r);
    const char *wrong = work_read(&r->work, served->method, served->params, home->input,
                                  home->command, home->words);
    if (wrong != NULL && wrong != WORK_NO_MEMORY) {
        refuse(r, "BAD_PARAMS", wrong);
        return NULL;
    }
    if (wrong != NULL || !start(r)) {
        complain("cannot start %s: %s; it is tried again in 10s", home->command[0],
                 wrong != NULL ? wrong : strerror_r(errno, why, sizeof why));
        refuse(r, "AGAIN", "10s");
        return NULL;
    }
    served->user = &r->shown;
    return &r->shown;
}
