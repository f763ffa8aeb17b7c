/* A hostile server, to libergon and to the command line.
 *
 * An input begins with a byte that says which:
 *   - bytes on a connection on which calls and a watch are under way, and which serves if the input
 *     says so, in pieces as the input says: each call ends exactly once, and what it is handed is
 *     one whole value, and a text that cannot steer a terminal; of the requests no more are open
 *     than there are slots, and each that is, when the connection ends, is told so once;
 *   - an answer that is shown, by whatever command: what comes out is UTF-8 that cannot steer a
 *     terminal, and JSON of it is a value again that has the same JSON. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>

#include "client/cli/cli.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/table.h"
#include "client/cli/task.h"
#include <ergon/client_serve.h>
#include "proto/scanner.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_output.h"
#include "tests/fuzz/fuzz_rest.h"

enum { MESSAGE_MAX = 8192, CALLS = 3, SLOTS = 3, PIECES_MAX = 64, COMMANDS_MAX = 64 };

/* --- libergon --- */

static struct {
    struct event_base *base;
    struct sockaddr_un address;
    int listener;
    char url[sizeof(struct sockaddr_un) + 16];
    unsigned answers[CALLS], ends;    /* callbacks */
    struct ergon_served *open[SLOTS]; /* requests of the server; NULL: none */
    unsigned gone[SLOTS];             /* times that this was told of each */
} lib;

static void remove_socket(void)
{
    unlink(lib.address.sun_path);
}

static void make_lib(void)
{
    lib.address.sun_family = AF_UNIX;
    snprintf(lib.address.sun_path, sizeof lib.address.sun_path, "/tmp/ergon-fuzz-%d", getpid());
    snprintf(lib.url, sizeof lib.url, "unix://%s", lib.address.sun_path);
    lib.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(lib.address.sun_path);
    CHECK(bind(lib.listener, (struct sockaddr *)&lib.address, sizeof lib.address) == 0);
    CHECK(listen(lib.listener, 4) == 0);
    atexit(remove_socket);
    lib.base = event_base_new();
    CHECK(lib.base != NULL);
}

static void check_whole(struct ergon_raw value)
{
    CHECK(value.len == 0 || value_length(span_of(value.at, value.len)) == value.len);
}

static void check_answer(const struct ergon_answer *a)
{
    struct ergon_task_shown task;
    struct ergon_submitted submitted;
    size_t at = 0;

    check_whole(a->result);
    check_whole(a->error);
    CHECK((a->outcome == ERGON_END_OK) == (a->result.len > 0));
    fuzz_check_plain(span_text(a->code), true);
    fuzz_check_plain(span_text(a->text), true);
    (void)ergon_read_task(a->result, &task);
    (void)ergon_read_submitted(a->result, &submitted);
    for (int i = 0; i < 20 && ergon_next_task(a->result, &at, &task); i++)
        check_whole(task.result);
    check_whole(ergon_read_member(a->result, "id"));
}

static void take_answer(void *arg, const struct ergon_answer *a)
{
    ++*(unsigned *)arg;
    check_answer(a);
}

static void take_end(void *arg, const struct ergon_answer *a)
{
    (void)arg;
    lib.ends++;
    check_answer(a);
}

static bool take_event(void *arg, const struct ergon_event *event)
{
    (void)arg;
    CHECK(lib.ends == 0);
    check_whole(event->data);
    return true;
}

/* One of no parameters is answered at once, in one of three ways; another waits. */
static void take_request(void *arg, struct ergon_served *served)
{
    int slot = 0;

    (void)arg;
    check_whole(served->params);
    CHECK(served->params.len > 0 && strlen(served->method) > 0);
    while (slot < SLOTS && lib.open[slot] != NULL)
        slot++;
    CHECK(slot < SLOTS);
    if (*(const uint8_t *)served->params.at != 0x90) {
        lib.open[slot] = served;
        lib.gone[slot] = 0;
        return;
    }
    if (*served->method < 'h')
        (void)ergon_served_fail(served, served->method, served->method);
    else
        (void)ergon_served_answer(served, (struct ergon_raw){served->method, 1});
}

static void take_gone(void *arg, struct ergon_served *served)
{
    int slot = 0;

    (void)arg;
    while (slot < SLOTS && lib.open[slot] != served)
        slot++;
    CHECK(slot < SLOTS && ergon_served_gone(served));
    lib.gone[slot]++;
}

/* One that is told, and lets go of an open request. */
static void take_notification(void *arg, const char *method, struct ergon_raw params)
{
    int slot = (unsigned char)*method % SLOTS;

    (void)arg;
    check_whole(params);
    if (lib.open[slot] == NULL)
        return;
    CHECK(ergon_served_answer(lib.open[slot], lib.open[slot]->params) != ERGON_END_INVALID);
    lib.open[slot] = NULL;
}

static void serve(struct ergon_client *client)
{
    const struct ergon_serve_options options = {.size = sizeof options,
                                                .slots = SLOTS,
                                                .on_request = take_request,
                                                .on_gone = take_gone,
                                                .on_notification = take_notification};

    CHECK(ergon_client_serve(client, &options) == ERGON_END_OK);
}

/* Its client has gone. */
static void check_served(void)
{
    for (int slot = 0; slot < SLOTS; slot++) {
        if (lib.open[slot] == NULL)
            continue;
        CHECK(lib.gone[slot] == 1);
        CHECK(ergon_served_fail(lib.open[slot], NULL, NULL) == ERGON_END_CLOSED);
        lib.open[slot] = NULL;
    }
}

static void turn(int fd)
{
    uint8_t said[4096];

    for (int i = 0; i < 3; i++) {
        event_base_loop(lib.base, EVLOOP_NONBLOCK);
        while (fd >= 0 && recv(fd, said, sizeof said, MSG_DONTWAIT) > 0)
            ;
    }
}

/* The bytes of the input, in pieces, each with its length in front. */
static void say_all(int fd)
{
    for (int i = 0; i < PIECES_MAX && fuzz_more(); i++) {
        size_t len = fuzz_byte();
        struct span piece = fuzz_bytes(i == PIECES_MAX - 1 ? SIZE_MAX : len);
        if (piece.len > 0 &&
            send(fd, piece.at, piece.len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)piece.len)
            return;
        turn(fd);
    }
}

static void check_connection(bool token, bool serves)
{
    const struct ergon_options options = {.size = sizeof options,
                                          .url = lib.url,
                                          .token = token ? "secret" : NULL,
                                          .no_reconnect = true,
                                          .message_max = MESSAGE_MAX};
    struct ergon_client *client;
    char why[300];

    memset(lib.answers, 0, sizeof lib.answers);
    lib.ends = 0;
    CHECK(ergon_client_new(lib.base, &options, &client, why, sizeof why) == ERGON_END_OK);
    if (serves)
        serve(client);
    for (int i = 0; i < CALLS; i++)
        CHECK(ergon_client_call(client, "echo", (struct ergon_raw){0}, 0, take_answer,
                                &lib.answers[i]) != 0);
    CHECK(ergon_client_watch(client, "t0000000000001", 0, take_event, take_end, NULL) != NULL);
    turn(-1);
    int fd = accept4(lib.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    CHECK(fd >= 0);
    turn(fd);
    say_all(fd);
    close(fd);
    turn(-1);
    ergon_client_free(client);
    turn(-1);
    check_served();
    for (int i = 0; i < CALLS; i++)
        CHECK(lib.answers[i] == 1);
    CHECK(lib.ends == 1);
    for (int late; (late = accept(lib.listener, NULL, NULL)) >= 0;)
        close(late); /* of a watch that went on */
}

/* --- The command line --- */

static struct {
    const struct command *at[COMMANDS_MAX]; /* that show answers */
    size_t count;
} cli;

static void find_commands(const struct command *c)
{
    if (c->show != NULL && cli.count < COMMANDS_MAX)
        cli.at[cli.count++] = c;
    for (size_t i = 0; c->parts != NULL && c->parts[i] != NULL; i++)
        find_commands(c->parts[i]);
}

static void make_cli(void)
{
    static const struct command *const all[] = {&CALL,  &TASK, &QUEUE, &CRON,
                                                &AUDIT, &PING, &INFO,  &METHODS};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        find_commands(all[i]);
    CHECK(cli.count > 0);
}

static void show(uint8_t how, const struct globals *g, struct span value, json_t *json)
{
    static const char *const first[] = {"name", "id", NULL};

    switch (how % 6) {
    case 0:
        (void)print_result(g, value, false);
        return;
    case 1:
        (void)task_print_end(g, value);
        return;
    case 2:
        humanize(json, now_ms());
        object_print(json, false);
        return;
    case 3:
        if (json_is_array(json))
            table_print(json, first, 2, false);
        return;
    case 4:
        complain("%s", json_text(json, "error"));
        say("%s\n", json_text(json, "text"));
        return;
    default:
        (void)cli.at[(how / 6) % cli.count]->show(g, json);
    }
}

/* What it says, to both outputs: what is raw by its nature, a result on no terminal, as JSON. */
static void check_shown(uint8_t how, struct span value, json_t *json)
{
    struct globals g = {.json = how % 6 <= 1, .no_color = true};

    fuzz_output_begin();
    show(how, &g, value, json);
    fuzz_check_plain(fuzz_output_end(), false);
}

/* A value of the server, as JSON, is a value again, and that one's JSON is the same. */
static void check_json(json_t *json)
{
    msgpack_sbuffer buffer;
    msgpack_packer packer;

    msgpack_sbuffer_init(&buffer);
    msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
    if (json_to_value(&packer, json)) { /* else it has a $bytes that are none */
        struct span value = span_of(buffer.data, buffer.size);
        CHECK(value_length(value) == value.len);
        json_t *again = json_from_value(value);
        char *text = json_dumps(json, JSON_ENCODE_ANY | JSON_SORT_KEYS);
        char *text_again = json_dumps(again, JSON_ENCODE_ANY | JSON_SORT_KEYS);
        CHECK(text != NULL && text_again != NULL);
        CHECK(strcmp(text, text_again) == 0 || strstr(text, "$bytes") != NULL);
        free(text_again);
        free(text);
        json_decref(again);
    }
    msgpack_sbuffer_destroy(&buffer);
}

static void check_value(uint8_t how)
{
    static const struct scan_limits limits = {.message_max = MESSAGE_MAX, .depth_max = 64};
    struct scanner s;

    struct span rest = fuzz_rest();
    scanner_init(&s);
    if (scanner_run(&s, &limits, rest) != SCAN_WHOLE)
        return;
    struct span value = span_of(rest.at, s.done);
    json_t *json = json_from_value(value);
    CHECK(json != NULL);
    check_json(json);
    check_shown(how, value, json);
    json_decref(json);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    if (lib.base == NULL) {
        make_lib();
        make_cli();
    }
    fuzz_begin(data, size);
    uint8_t how = fuzz_byte();
    if (how % 4 == 0)
        check_connection(how & 4, how & 8);
    else
        check_value(fuzz_byte());
}
