#include "client/lib/serve.h"

#include "client/lib/client.h"
#include "client/lib/frame.h"
#include "proto/error_value.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DEFAULT_ANSWER_MAX = 16 * 1024 * 1024, /* bytes: limits.message of a server */
    LEAST_ANSWER_MAX = 4096,               /* so that any error fits */
    TRACEBACK_MAX = 16 * 1024,             /* bytes that a server keeps of one */
    FAILURE_BESIDE = 4096,                 /* bytes of an answer with one, beside it */
    /* Bytes of refusals between two looks.  Those of all the requests that are read in one go are
     * far fewer, so a server that reads is never taken for one that does not. */
    REFUSED_MAX = 8 * 1024 * 1024,
    /* Bytes of a request that are kept until its answer has been written, since giving them back
     * takes longer than that. */
    KEPT_MAX = 1024
};

struct served {
    struct ergon_served shown;
    TAILQ_ENTRY(served) link; /* while serve is not NULL */
    struct serve *serve;      /* NULL: the client has been freed */
    enum served_place place;
    uint8_t msgid_len;
    uint8_t msgid[MSGID_MAX];
    uint64_t end; /* SERVED_ANSWERED: where its answer ends in the stream of the connection */
    size_t len;   /* of `bytes` */
    /* Params, then the method with its NUL.  Not used from SERVED_ANSWERED on, and gone if they are
     * more than KEPT_MAX. */
    uint8_t bytes[];
};

static struct served *inside(const struct ergon_served *shown)
{
    return (struct served *)shown; /* its first member */
}

void serve_init(struct serve *s, struct connection *connection)
{
    *s = (struct serve){.connection = connection};
    for (int place = 0; place < SERVED_PLACES; place++)
        TAILQ_INIT(&s->lists[place]);
}

/* ---- places ---- */

static void list_in(struct serve *s, struct served *r, enum served_place place)
{
    r->place = place;
    TAILQ_INSERT_TAIL(&s->lists[place], r, link);
    s->taken++;
}

static void list_out(struct serve *s, struct served *r)
{
    TAILQ_REMOVE(&s->lists[r->place], r, link);
    s->taken--;
}

static void drop_answered(struct serve *s, uint64_t written)
{
    struct served *r;
    while ((r = TAILQ_FIRST(&s->lists[SERVED_ANSWERED])) != NULL && r->end <= written) {
        list_out(s, r);
        free(r);
    }
}

static uint32_t slots_taken(struct serve *s)
{
    drop_answered(s, s->connection->written);
    return s->taken;
}

void serve_lost(struct serve *s)
{
    struct served *r;
    drop_answered(s, UINT64_MAX);
    while ((r = TAILQ_FIRST(&s->lists[SERVED_OPEN])) != NULL) {
        list_out(s, r);
        list_in(s, r, SERVED_LOST);
    }
    s->refused_from = 0;
    s->refused = 0;
}

/* Whatever the callback does to others of the list, the first one is looked for anew. */
void serve_tell(struct serve *s)
{
    struct served *r;
    while ((r = TAILQ_FIRST(&s->lists[SERVED_LOST])) != NULL) {
        list_out(s, r);
        list_in(s, r, SERVED_GONE);
        if (s->options.on_gone != NULL)
            s->options.on_gone(s->options.arg, &r->shown);
    }
}

void serve_fini(struct serve *s)
{
    assert(TAILQ_EMPTY(&s->lists[SERVED_OPEN]) && TAILQ_EMPTY(&s->lists[SERVED_LOST]));
    struct served *r;
    while ((r = TAILQ_FIRST(&s->lists[SERVED_GONE])) != NULL) {
        list_out(s, r);
        r->serve = NULL;
    }
    assert(s->taken == 0);
}

/* ---- what is written ---- */

static bool write_error(struct serve *s, struct span msgid, const struct error_answer *error)
{
    if (!frame_error(&s->connection->out, msgid, error)) {
        connection_break(s->connection, "out of memory for an answer to the server");
        return false;
    }
    connection_flush(s->connection);
    return true;
}

static void refuse_with(struct serve *s, struct span msgid, const struct error_answer *error)
{
    uint64_t from = connection_end(s->connection);
    if (s->connection->written >= s->refused_from) {
        s->refused_from = from;
        s->refused = 0;
    }
    if (!write_error(s, msgid, error))
        return;
    s->refused += (size_t)(connection_end(s->connection) - from);
    if (s->refused > REFUSED_MAX)
        connection_break(s->connection, "the server goes on asking and reads no answers");
}

static void refuse(struct serve *s, struct span msgid, enum ergon_error code, const char *text)
{
    struct error_answer error = {.code = code, .text = span_text(text)};
    refuse_with(s, msgid, &error);
}

/* Of a program that serves no more: another worker has the task. */
static void hand_back(struct serve *s, struct span msgid)
{
    struct error_answer error = {
        .code = ERGON_E_FAILED, .name = span_text("AGAIN"), .text = span_text("0")};
    refuse_with(s, msgid, &error);
}

/* Its answer is in the stream; the slot stays taken until that is written. */
static void await_writing(struct served *r)
{
    struct serve *s = r->serve;
    list_out(s, r);
    struct served *small = r->len > KEPT_MAX ? realloc(r, sizeof *r) : r;
    r = small != NULL ? small : r;
    r->end = connection_end(s->connection);
    list_in(s, r, SERVED_ANSWERED);
}

/* ---- requests ---- */

static bool name_is_text(struct span method)
{
    return method.len > 0 && memchr(method.at, 0, method.len) == NULL;
}

/* NULL: out of memory. */
static struct served *served_new(struct serve *s, const struct envelope *e)
{
    static const uint8_t none[] = {0x90};
    struct span params = e->params.len > 0 ? e->params : span_of(none, sizeof none);
    size_t len = params.len + e->method.len + 1;
    struct served *r = malloc(sizeof *r + len);
    if (r == NULL)
        return NULL;
    *r = (struct served){.serve = s, .msgid_len = (uint8_t)e->msgid.len, .len = len};
    memcpy(r->msgid, e->msgid.at, e->msgid.len);
    char *method = memcpy(mempcpy(r->bytes, params.at, params.len), e->method.at, e->method.len);
    method[e->method.len] = 0;
    r->shown.method = method;
    r->shown.params = (struct ergon_raw){r->bytes, params.len};
    return r;
}

/* NULL: it has been refused. */
static struct served *admit(struct serve *s, const struct envelope *e)
{
    struct served *r = NULL;
    if (!s->on && s->options.on_request != NULL)
        hand_back(s, e->msgid);
    else if (!s->on || !name_is_text(e->method))
        refuse(s, e->msgid, ERGON_E_NO_METHOD, "this client has no such method");
    else if (slots_taken(s) >= s->options.slots)
        refuse(s, e->msgid, ERGON_E_BUSY, "all slots of this client are taken");
    else if ((r = served_new(s, e)) == NULL)
        refuse(s, e->msgid, ERGON_E_MEMORY, "this client is out of memory");
    return r;
}

bool serve_request(struct serve *s, const struct envelope *e, bool ready)
{
    struct served *r = NULL;
    if (ready)
        r = admit(s, e);
    else
        refuse(s, e->msgid, ERGON_E_BUSY, "this client is not ready yet");
    if (r == NULL)
        return false;
    list_in(s, r, SERVED_OPEN);
    s->options.on_request(s->options.arg, &r->shown);
    return true;
}

bool serve_notification(struct serve *s, const struct envelope *e)
{
    char method[METHOD_NAME_MAX + 1];
    if (!s->on || s->options.on_notification == NULL || !name_is_text(e->method))
        return false;
    memcpy(method, e->method.at, e->method.len);
    method[e->method.len] = 0;
    s->options.on_notification(s->options.arg, method,
                               (struct ergon_raw){e->params.at, e->params.len});
    return true;
}

/* ---- answers ---- */

/* OK: `r` can be answered.  Otherwise it has been freed. */
static enum ergon_end claim(struct served *r)
{
    struct serve *s = r->serve;
    enum ergon_end outcome = s == NULL ? ERGON_END_CLOSED : ERGON_END_BROKEN;
    if (s != NULL && r->place == SERVED_OPEN && !s->connection->broken)
        return ERGON_END_OK;
    if (s != NULL)
        list_out(s, r);
    free(r);
    return outcome;
}

static void fail(struct served *r, const struct error_answer *error)
{
    write_error(r->serve, span_of(r->msgid, r->msgid_len), error);
    await_writing(r);
}

/* Without the traceback where there is no room or no memory for it. */
static void fail_with(struct served *r, const struct error_answer *error, struct span traceback)
{
    struct serve *s = r->serve;
    size_t room = s->options.answer_max - FAILURE_BESIDE;
    size_t most = room < TRACEBACK_MAX ? room : TRACEBACK_MAX;
    if (traceback.len == 0 || most == 0 ||
        !frame_failure(&s->connection->out, span_of(r->msgid, r->msgid_len), error, traceback,
                       most)) {
        fail(r, error);
        return;
    }
    connection_flush(s->connection);
    await_writing(r);
}

/* ERGON_OK, and it stands in the stream; otherwise *why says what is wrong with it. */
static enum ergon_error write_result(const struct served *r, struct span value, const char **why)
{
    struct serve *s = r->serve;
    *why = "the result is longer than an answer may be";
    if (value.len > s->options.answer_max - ENC_RESPONSE_MAX)
        return ERGON_E_TOO_LARGE;
    *why = "the result is not one MessagePack value";
    if (!frame_whole(value))
        return ERGON_E_INTERNAL;
    *why = "the client has no memory for the result";
    if (!frame_response(&s->connection->out, span_of(r->msgid, r->msgid_len), value))
        return ERGON_E_MEMORY;
    connection_flush(s->connection);
    return ERGON_OK;
}

enum ergon_end ergon_served_answer(struct ergon_served *shown, struct ergon_raw result)
{
    static const uint8_t nil = 0xc0;
    const char *why;
    if (shown == NULL)
        return ERGON_END_INVALID;
    struct served *r = inside(shown);
    enum ergon_end outcome = claim(r);
    if (outcome != ERGON_END_OK)
        return outcome;
    struct span value = result.len > 0 ? span_of(result.at, result.len) : span_of(&nil, 1);
    enum ergon_error error = write_result(r, value, &why);
    if (error == ERGON_OK) {
        await_writing(r);
        return ERGON_END_OK;
    }
    fail(r, &(struct error_answer){.code = error, .text = span_text(why)});
    return error == ERGON_E_MEMORY ? ERGON_END_MEMORY : ERGON_END_INVALID;
}

enum ergon_end ergon_served_fail(struct ergon_served *shown, const char *code, const char *text)
{
    return ergon_served_fail_with(shown, code, text, NULL);
}

enum ergon_end ergon_served_fail_with(struct ergon_served *shown, const char *code,
                                      const char *text, const char *traceback)
{
    if (shown == NULL)
        return ERGON_END_INVALID;
    struct served *r = inside(shown);
    enum ergon_end outcome = claim(r);
    if (outcome != ERGON_END_OK)
        return outcome;
    struct serve *s = r->serve;
    struct error_answer error = {.code = ERGON_E_FAILED};
    if (code != NULL && error_code_valid(span_text(code))) {
        enum ergon_error known = error_find(code);
        error.name = span_text(code);
        error.code = known != ERGON_OK ? known : ERGON_E_FAILED;
    }
    if (text != NULL)
        error.text = span_text(text);
    fail_with(r, &error, traceback != NULL ? span_text(traceback) : span_of(NULL, 0));
    return s->connection->broken ? ERGON_END_MEMORY : ERGON_END_OK;
}

bool ergon_served_gone(const struct ergon_served *shown)
{
    const struct served *r = inside(shown);
    return r->serve == NULL || r->place != SERVED_OPEN;
}

/* ---- who serves ---- */

enum ergon_end ergon_client_serve(struct ergon_client *client,
                                  const struct ergon_serve_options *given)
{
    struct serve *s = &client->serve;
    struct ergon_serve_options o = {0};
    if (given == NULL) {
        s->on = false;
        return ERGON_END_OK;
    }
    memcpy(&o, given, given->size < sizeof o ? given->size : sizeof o);
    if (o.slots == 0)
        o.slots = 1;
    if (o.answer_max == 0)
        o.answer_max = DEFAULT_ANSWER_MAX;
    if (o.on_request == NULL || o.answer_max < LEAST_ANSWER_MAX || client->doomed)
        return ERGON_END_INVALID;
    s->options = o;
    s->on = true;
    return ERGON_END_OK;
}

uint32_t ergon_client_slots_taken(struct ergon_client *client)
{
    return slots_taken(&client->serve);
}
