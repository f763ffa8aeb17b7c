/* server.debug_dump: the flight recorder's rings, in parts, as a file of base/recorder_dump.h.
 *
 *   stage 0      the file's head, then names of methods from `position` on
 *   stage 1...   words of a ring from `position` on, up to `until`: what was written when the first
 *                part of that ring was asked for
 *   the last     the file's end
 *
 * Each part is made anew from where the one before says, so nothing is kept between them, and no
 * step copies more than PART_WORDS. */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/recorder_dump.h"
#include "server/rpc/method.h"

enum {
    PART_WORDS = 4096,
    PART_NAMES = 256,
    NAME_MOST = 64, /* bytes of a method's name */
    PART_BYTES = DUMP_MAGIC + DUMP_HEAD + 256 + PART_WORDS * 8 + DUMP_HEAD + DUMP_WORDS_HEAD
};
_Static_assert(PART_NAMES *(DUMP_HEAD + 4 + NAME_MOST) < PART_WORDS * 8, "names have room");

struct part {
    uint8_t *end;                    /* in `bytes` */
    uint64_t stage, position, until; /* of this one, then of the next */
    bool last;
    uint64_t words[PART_WORDS];
    uint8_t bytes[PART_BYTES];
};

static uint8_t *put_text(uint8_t *at, const char *text, size_t len)
{
    return (uint8_t *)memcpy(at, text, len) + len;
}

static uint8_t *put_name(uint8_t *at, enum dump_section what, uint32_t index, const char *name)
{
    size_t len = strlen(name);

    return put_text(dump_named(at, what, index, len), name, len);
}

static void next_stage(struct part *p)
{
    p->stage++;
    p->position = 0;
    p->until = 0;
}

static void make_names(struct part *p, const struct rpc_shared *s)
{
    static const char why[] = "asked for; ergon " ERGON_VERSION;

    if (p->position == 0) {
        p->end =
            dump_start(p->end, clock_wall(), clock_monotonic(), (uint64_t)getpid(), sizeof why - 1);
        p->end = put_text(p->end, why, sizeof why - 1);
    }
    uint32_t count = registry_count(s->registry);
    for (int n = 0; n < PART_NAMES && p->position < count; n++, p->position++) {
        const struct method *m = registry_at(s->registry, (uint32_t)p->position);
        if (m)
            p->end = put_name(p->end, DUMP_METHOD, m->index, method_name(m));
    }
    if (p->position >= count)
        next_stage(p);
}

/* Those that have written nothing, as blocking threads that were never needed, take no part. */
static void skip_empty(struct part *p, const struct recorder_rings *rings)
{
    while (p->stage > 0 && p->stage <= rings->count && p->until == 0 &&
           recorder_written(rings->at[p->stage - 1].recorder) == 0)
        next_stage(p);
}

static void make_words(struct part *p, const struct recorder_ring *of)
{
    uint32_t ring = (uint32_t)p->stage - 1;

    if (p->until == 0) {
        p->until = recorder_written(of->recorder);
        p->end = put_name(p->end, DUMP_RING, ring, of->name);
    }
    uint32_t count = recorder_copy(of->recorder, &p->position, p->until, p->words, PART_WORDS);
    if (count > 0)
        p->end = dump_words(p->end, ring, p->position, p->words, count);
    p->position += count;
    if (count == 0 || p->position >= p->until)
        next_stage(p);
}

static void make(struct part *p, const struct rpc_shared *s)
{
    if (p->stage == 0)
        make_names(p, s);
    else
        make_words(p, &s->rings->at[p->stage - 1]);
    skip_empty(p, s->rings);
    p->last = p->stage > s->rings->count;
    if (p->last)
        p->end = dump_end(p->end);
}

static void pack_binary(struct pack *p, struct span bytes)
{
    if (msgpack_pack_bin(&p->packer, bytes.len) < 0 ||
        msgpack_pack_bin_body(&p->packer, bytes.at, bytes.len) < 0)
        p->failed = true;
}

static void answer(struct rpc_request *rq, const struct part *part)
{
    struct pack p;

    pack_init(&p);
    pack_map(&p, 2);
    pack_str(&p, "data");
    pack_binary(&p, span_of(part->bytes, (size_t)(part->end - part->bytes)));
    pack_str(&p, "next");
    if (part->last) {
        pack_nil(&p);
    } else {
        pack_array(&p, 3);
        pack_uint(&p, part->stage);
        pack_uint(&p, part->position);
        pack_uint(&p, part->until);
    }
    rpc_answer_packed(rq, &p);
}

static bool read_place(struct rpc_request *rq, struct part *p)
{
    uint64_t *const at[] = {&p->stage, &p->position, &p->until};
    struct reader r;
    uint32_t count;
    bool good;

    read_params(rq->params, &r, &count);
    good = count == 0 || count == 3;
    for (uint32_t i = 0; good && i < count; i++)
        good = read_uint(&r, at[i]);
    if (!good || p->stage > rq->loop->shared->rings->count) {
        rpc_refuse(rq, ERGON_E_BAD_PARAMS,
                   "server.debug_dump takes [], then what the part before has as \"next\"");
        return false;
    }
    return true;
}

/* server.debug_dump [stage, position, until] */
void serve_server_debug_dump(struct rpc_request *rq)
{
    struct part *part = malloc(sizeof *part);

    if (!part) {
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    part->end = part->bytes;
    part->stage = part->position = part->until = 0;
    if (read_place(rq, part)) {
        make(part, rq->loop->shared);
        answer(rq, part);
    }
    free(part);
}
