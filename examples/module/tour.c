/* A tour of what handlers can do: one that sleeps, one that makes two calls at once, one that burns
 * processor time, one that answers a map, one that calls others and waits. */
#include <stdlib.h>

#include <ergon/handler.h>
#include <msgpack.h>

/* --- tour.countdown: stepped, with state, sleep, deadline and cleanup --- */

struct countdown_state {
    struct ao_seq seq;
    int64_t left;
    uint64_t pause; /* ns */
    char *text;     /* malloc'ed: what was counted so far */
    size_t len, size;
};

static bool note(struct countdown_state *s)
{
    s->len += (size_t)snprintf(s->text + s->len, s->size - s->len, "%d ", (int)s->left);
    return s->left-- > 0;
}

static bool begin_countdown(struct ergon_task *task, struct countdown_state *s)
{
    if (!ergon_params(task, "it", &s->left, &s->pause))
        return false;
    if (s->left < 0 || s->left > 1000) {
        ergon_fail(task, "BAD_PARAMS", "parameter 1 of tour.countdown must be 0 to 1000");
        return false;
    }
    s->size = 5 * ((size_t)s->left + 1) + 1;
    s->text = malloc(s->size);
    if (!s->text)
        ergon_fail(task, "MEMORY", "no memory for the text");
    return s->text != NULL;
}

/* [from, pause]: counts down to 0.  Says at once that it is too late when the next pause would not
 * end before the deadline. */
static enum ao_verdict countdown(struct ao *self, struct ergon_task *task, void *state)
{
    struct countdown_state *s = state;

    AO_BEGIN(&s->seq);
    if (!begin_countdown(task, s))
        return AO_DONE;
    while (note(s)) {
        if (ergon_time_left(task) <= s->pause) {
            ergon_failf(task, "TOO_LATE", "no time for another pause after %.*s", (int)s->len - 1,
                        s->text);
            return AO_DONE;
        }
        AO_SLEEP(self, &s->seq, s->pause);
    }
    ergon_result_str(task, s->text, s->len - 1);
    AO_END(&s->seq);
}

static void end_countdown(struct ergon_task *task, void *state)
{
    (void)task;
    free(((struct countdown_state *)state)->text);
}

/* --- tour.both: stepped, awaits two nested calls that run at the same time --- */

struct both_state {
    struct ao_seq seq;
    struct ao_wait wait;
    struct ergon_call *first, *second;
};

/* [method, params] as a call that is on its way. */
static struct ergon_call *start_call(struct ergon_task *task, struct ergon_bytes wanted)
{
    struct ergon_reader r = ergon_reader_of(wanted);
    struct ergon_bytes method, params;
    char name[65];
    uint32_t count;

    if (!ergon_read_array(&r, &count) || count != 2 || !ergon_read_bytes(&r, &method) ||
        method.len >= sizeof name || !ergon_read_any(&r, &params)) {
        ergon_fail(task, "BAD_PARAMS", "tour.both takes [[method, params], [method, params]]");
        return NULL;
    }
    memcpy(name, method.at, method.len);
    name[method.len] = '\0';
    struct ergon_call *call = ergon_call_start(task, name, params);
    if (!call)
        ergon_fail(task, "MEMORY", "no memory for a call");
    return call;
}

static bool start_both(struct ergon_task *task, struct both_state *s)
{
    struct ergon_bytes first, second;

    if (!ergon_params(task, "ll", &first, &second))
        return false;
    s->first = start_call(task, first);
    s->second = s->first ? start_call(task, second) : NULL;
    return s->second != NULL;
}

/* Appends the result of a call that has ended; the failure of a call is ours too. */
static bool append_outcome(struct ergon_task *task, struct ergon_call *call)
{
    struct ergon_outcome out;

    ergon_call_outcome(call, &out);
    if (!out.ok) {
        ergon_fail(task, out.code, out.text);
        return false;
    }
    return ergon_result_write(task, (const char *)out.result.at, out.result.len) == 0;
}

/* [[method, params], [method, params]]: both results. */
static enum ao_verdict both(struct ao *self, struct ergon_task *task, void *state)
{
    struct both_state *s = state;

    AO_BEGIN(&s->seq);
    if (!start_both(task, s))
        return AO_DONE;
    AO_AWAIT(self, &s->seq, &s->wait, ergon_call_await(s->first, &s->wait));
    AO_AWAIT(self, &s->seq, &s->wait, ergon_call_await(s->second, &s->wait));
    ergon_result_write(task, "\x92", 1); /* an array of two */
    if (append_outcome(task, s->first))
        append_outcome(task, s->second);
    AO_END(&s->seq);
}

/* --- tour.primes: blocking, burns processor time, looks up now and then --- */

enum { PRIMES_LOOK = 4096 /* numbers between two looks at the clock */ };

static bool is_prime(uint64_t n)
{
    for (uint64_t d = 2; d * d <= n; d++)
        if (n % d == 0)
            return false;
    return n >= 2;
}

/* [limit]: how many primes there are up to it. */
static void primes(struct ergon_task *task)
{
    uint64_t limit, found = 0;

    if (!ergon_params(task, "u", &limit))
        return;
    for (uint64_t n = 2; n <= limit; n++) {
        found += is_prime(n);
        if (n % PRIMES_LOOK != 0)
            continue;
        if (ergon_cancelled(task))
            return; /* nobody wants the answer */
        if (ergon_time_left(task) < AO_MS(10)) {
            ergon_failf(task, "TOO_FAR", "the time allows for the primes to %llu only",
                        (unsigned long long)n);
            return;
        }
        ergon_progress(task, n, limit, NULL);
    }
    ergon_result(task, "u", found);
}

/* --- tour.count: stepped, its result is a map --- */

/* [text]: its bytes, words and lines. */
static enum ao_verdict count(struct ao *self, struct ergon_task *task, void *state)
{
    struct ergon_bytes text;
    size_t words = 0, lines = 0;

    (void)self;
    (void)state;
    if (!ergon_params(task, "b", &text))
        return AO_DONE;
    for (size_t i = 0; i < text.len; i++) {
        lines += text.at[i] == '\n';
        words += text.at[i] > ' ' && (i == 0 || text.at[i - 1] <= ' ');
    }
    ergon_result(task, "{sususu}", "bytes", text.len, "words", words, "lines", lines);
    return AO_DONE;
}

/* --- tour.fingerprint: blocking, calls another handler and waits for it --- */

/* [bytes]: the first eight digits of their SHA-256. */
static void fingerprint(struct ergon_task *task)
{
    struct ergon_bytes bytes, hex;
    struct ergon_outcome out;
    msgpack_sbuffer params;
    msgpack_packer packer;

    if (!ergon_params(task, "b", &bytes))
        return;
    msgpack_sbuffer_init(&params);
    msgpack_packer_init(&packer, &params, msgpack_sbuffer_write);
    msgpack_pack_array(&packer, 3);
    msgpack_pack_str_with_body(&packer, "sha256", 6);
    msgpack_pack_bin_with_body(&packer, bytes.at, bytes.len);
    msgpack_pack_str_with_body(&packer, "hex", 3);
    ergon_call(task, "hash", (struct ergon_bytes){(uint8_t *)params.data, params.size}, &out);
    msgpack_sbuffer_destroy(&params);

    struct ergon_reader result = ergon_reader_of(out.result);
    if (!out.ok)
        ergon_fail(task, out.code, out.text);
    else if (ergon_read_bytes(&result, &hex) && hex.len >= 8)
        ergon_result_str(task, hex.at, 8);
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "tour.countdown",
     .summary = "counts down to 0 with pauses",
     .params = "[from: 0-1000, pause: duration]",
     .step = countdown,
     .state_size = sizeof(struct countdown_state),
     .cleanup = end_countdown},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "tour.both",
     .summary = "makes two calls at the same time and answers both results",
     .params = "[[method, params], [method, params]]",
     .step = both,
     .state_size = sizeof(struct both_state)},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_BLOCKING,
     .name = "tour.primes",
     .summary = "counts the primes up to a limit",
     .params = "[limit: int]",
     .run = primes},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "tour.count",
     .summary = "counts the bytes, words and lines of a text",
     .params = "[text]",
     .step = count},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_BLOCKING,
     .name = "tour.fingerprint",
     .summary = "eight digits that stand for many bytes",
     .params = "[bytes]",
     .run = fingerprint},
};

ERGON_MODULE(tour_module, "tour", "1.0")
{
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (ergon_register(module, &handlers[i]) < 0)
            return -1;
    return 0;
}
