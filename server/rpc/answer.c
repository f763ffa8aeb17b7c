#include "server/rpc/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "proto/encoder.h"
#include "proto/errors.h"

enum { OWN_TEXT_MAX = 512 /* bytes of a handler's text behind its code */ };

/* For peers of 2013: the result is rewritten, so it is always copied. */
static void answer_raw(struct connection *c, struct span msgid, struct span result)
{
    uint8_t *p = conn_reserve(c, ENC_RESPONSE_MAX + enc_raw_length(result));

    if (p)
        conn_commit(c, enc_raw(enc_response_head(p, msgid), result));
}

void answer_result(struct connection *c, struct span msgid, struct span result)
{
    if (conn_mode(c)->raw) {
        answer_raw(c, msgid, result);
        return;
    }
    uint8_t *p = conn_reserve(c, ENC_RESPONSE_MAX + result.len);
    if (!p)
        return;
    p = enc_response_head(p, msgid);
    memcpy(p, result.at, result.len);
    conn_commit(c, p + result.len);
}

/* Some whole elements of a value. */
static void send_part(struct connection *c, struct span part)
{
    bool raw = conn_mode(c)->raw;
    uint8_t *p = part.len > 0 ? conn_reserve(c, raw ? enc_raw_length(part) : part.len) : NULL;

    if (!p)
        return;
    if (raw)
        conn_commit(c, enc_raw(p, part));
    else
        conn_commit(c, (uint8_t *)memcpy(p, part.at, part.len) + part.len);
}

/* A value as peers of 2013 read it: rewritten once, however many ask for it.  NULL without memory.
 */
static struct blob *raw_form(struct blob *value)
{
    struct blob *twin = blob_twin(value);
    if (twin)
        return twin;
    size_t len = enc_raw_length(blob_bytes(value));
    uint8_t *block = malloc(len);
    if (!block)
        return NULL;
    enc_raw(block, blob_bytes(value));
    twin = blob_take(block, len);
    if (!twin) {
        free(block);
        return NULL;
    }
    return blob_keep_twin(value, twin);
}

static void send_share(struct connection *c, struct blob *value)
{
    const struct blob *form = conn_mode(c)->raw ? raw_form(value) : value;

    if (form)
        conn_send_block(c, blob_ref(value), blob_bytes(form), blob_release);
    else
        conn_close(c, "out of memory"); /* behind an answer that is cut off, nothing may follow */
}

void answer_packed(struct connection *c, struct span msgid, const struct pack *p)
{
    if (p->share_count == 0) {
        answer_result(c, msgid, pack_bytes(p));
        return;
    }
    uint8_t *head = conn_reserve(c, ENC_RESPONSE_MAX);
    if (!head)
        return;
    conn_commit(c, enc_response_head(head, msgid));
    for (uint32_t i = 0; i < p->share_count; i++) {
        send_part(c, pack_part(p, i));
        send_share(c, p->shares[i].blob);
    }
    send_part(c, pack_part(p, p->share_count));
}

void answer_push(struct connection *c, struct blob *messages)
{
    if (messages->len < PACK_SHARED_MIN)
        send_part(c, blob_bytes(messages));
    else
        send_share(c, messages);
}

/* For peers that take it as it is. */
static void answer_large(struct connection *c, struct span msgid, struct outcome *outcome)
{
    uint8_t *p = conn_reserve(c, ENC_RESPONSE_MAX);

    if (!p)
        return;
    conn_commit(c, enc_response_head(p, msgid));
    if (outcome->block)
        conn_send_block(c, outcome->block, outcome->result, free);
    else
        conn_send_large(c, outcome->result);
    outcome->block = NULL;
}

bool answer_is_unsure(enum ergon_error error, char *text, size_t size)
{
    static const char begin[] =
        "the node that owned the tasks was lost, so this may have been done; since then: ";
    size_t len = strlen(text), room = size - sizeof begin;

    if (!error_retryable(error))
        return false;
    len = len < room ? len : room;
    memmove(text + sizeof begin - 1, text, len);
    memcpy(text, begin, sizeof begin - 1);
    text[sizeof begin - 1 + len] = '\0';
    return true;
}

void answer_error(struct connection *c, struct span msgid, enum ergon_error error, const char *code,
                  struct span text)
{
    enum ergon_error known = code ? error_find(code) : ERGON_OK; /* of a handler's own code */
    struct error_answer what = {.code = known != ERGON_OK ? known : error,
                                .name = code ? span_text(code) : span_of(NULL, 0),
                                .text = text};
    char own[ERROR_NAME_MAX + OWN_TEXT_MAX + sizeof ": "];

    if (known == ERGON_E_DRAINING) {
        snprintf(own, sizeof own, "%s: %.*s", code, (int)utf8_cut(text, OWN_TEXT_MAX).len,
                 (const char *)text.at);
        what = (struct error_answer){.code = error, .text = span_text(own)};
    }
    conn_send_error(c, msgid, &what);
}

void answer_outcome(struct connection *c, struct span msgid, struct outcome *outcome)
{
    if (outcome->error != ERGON_OK)
        answer_error(c, msgid, outcome->error, outcome->code, outcome->text);
    else if (outcome->result.len >= CONN_LARGE && !conn_mode(c)->raw)
        answer_large(c, msgid, outcome);
    else
        answer_result(c, msgid, outcome->result);
}
