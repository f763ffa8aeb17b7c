/* ergon module check: calls the handlers of a module with rubbish, in a server of its own. */
#include "client/cli/module/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hex.h"
#include "client/bench/random.h"
#include "client/cli/json.h"
#include "client/cli/module/narrow.h"
#include "client/cli/module/rubbish.h"
#include "client/cli/module/sheet.h"
#include "client/cli/module/stock.h"
#include "client/cli/output.h"

#define SECOND UINT64_C(1000000000)

enum {
    NS_PER_MS = 1000 * 1000,
    ASK_MS = 10 * 1000,
    CRASHES_MAX = 20, /* of a method: then its next crashes would say nothing new */
    STUCK_MAX = 2,    /* each takes its time */
    PATIENT_LATE = 5, /* so many calls have the whole limit; then it is short */
    SHORT_LIMIT_MS = 50
};

struct check_options {
    uint64_t seed, rounds, number; /* number 0: all */
    uint64_t time_ns;              /* 0: by rounds */
    uint64_t limit_ns, stuck_ns;
    const char *memory, *params;
};

#define AT(field) offsetof(struct check_options, field)
static const struct option_spec OPTIONS[] = {
    {0, "seed", "N", "choose parameters by this seed; 1", OPTION_NUMBER, AT(seed)},
    {0, "rounds", "N", "call each method N times with parameters by chance; 300", OPTION_NUMBER,
     AT(rounds)},
    {0, "time", "TIME", "call for so long instead, all methods together", OPTION_DURATION,
     AT(time_ns)},
    {0, "case", "N", "call with the parameters of this number alone", OPTION_NUMBER, AT(number)},
    {0, "params", "HEX", "call with these parameters alone, a MessagePack array", OPTION_TEXT,
     AT(params)},
    {0, "limit", "TIME", "cancel a call without an answer then; 1s", OPTION_DURATION, AT(limit_ns)},
    {0, "stuck", "TIME", "a handler must return within this time after that; 5s", OPTION_DURATION,
     AT(stuck_ns)},
    {0, "memory", "SIZE", "memory that the module may use, or off; 1g", OPTION_TEXT, AT(memory)},
    {0},
};
static const struct check_options DEFAULTS = {
    .seed = 1, .rounds = 300, .limit_ns = SECOND, .stuck_ns = 5 * SECOND};

struct check {
    const struct globals *globals;
    const struct check_options *options;
    const char *file;
    struct private_server *server;
    uint32_t deaths; /* of the module's process, that were counted */
    struct words words;
    struct rubbish rubbish;
    struct stock stock; /* of the method */
    struct pack given;  /* --params */
    json_t *sheets;
    bool faulty;
};

/* --- One method --- */

/* Most are called; of those by chance some are submitted, cut off, or both. */
static enum trial_way way_of(const struct check *c, uint64_t number, uint32_t *cut_ms)
{
    enum { OF = 16, CUTS_MS = 6 };
    struct bench_random r = {c->options->seed ^ (number << 20)};
    uint64_t n = bench_random_next(&r);
    *cut_ms = 1 + (uint32_t)(n >> 32) % CUTS_MS;
    if (number <= rubbish_fixed(&c->rubbish))
        return number % 4 == 0 ? TRIAL_TASK : TRIAL_CALL;
    switch (n % OF) {
    case 0:
    case 1:
    case 2:
        return TRIAL_TASK;
    case 3:
    case 4:
        return TRIAL_CANCEL;
    case 5:
        return TRIAL_DEADLINE;
    default:
        return TRIAL_CALL;
    }
}

static uint32_t limit_ms(const struct check *c, const struct sheet *h)
{
    uint32_t limit = (uint32_t)((c->options->limit_ns + NS_PER_MS - 1) / NS_PER_MS);
    return h->late < PATIENT_LATE || limit < SHORT_LIMIT_MS ? limit : SHORT_LIMIT_MS;
}

/* False: there will be no further one. */
static bool try_one(struct check *c, struct sheet *h, uint64_t number, struct trial *t,
                    bool derived)
{
    struct trial_outcome out;
    t->limit_ms = limit_ms(c, h);
    t->stuck_ms = (uint32_t)(c->options->stuck_ns / NS_PER_MS);
    t->deaths = c->deaths;
    trial_run(c->server, t, &out);
    c->deaths = out.deaths;
    if (out.end == TRIAL_LOST)
        return false;
    struct fault *f = sheet_count(h, number, t, &out, private_server_death(c->server));
    stock_take(&c->stock, t->params, &out);
    if (f != NULL)
        f->derived = derived;
    if (f != NULL && number > 0)
        narrow(c->server, t, f);
    if (f != NULL)
        c->deaths = private_server_deaths(c->server);
    h->gave_up = h->crashed >= CRASHES_MAX || h->stuck >= STUCK_MAX;
    return !h->gave_up && private_server_failed(c->server) == NULL &&
           private_server_signal(c->server) == 0;
}

static bool try_number(struct check *c, struct sheet *h, uint64_t number)
{
    struct pack params;
    struct trial t = {.method = h->method};
    t.way = way_of(c, number, &t.cut_ms);
    pack_init(&params);
    bool derived = number > rubbish_fixed(&c->rubbish) && number % 2 == 0 &&
                   stock_pack(&c->stock, &c->rubbish, number, &params);
    if (!derived)
        rubbish_pack(&c->rubbish, number, &params);
    t.params = pack_bytes(&params);
    bool more = !params.failed && try_one(c, h, number, &t, derived);
    pack_fini(&params);
    return more;
}

static void try_given(struct check *c, struct sheet *h)
{
    enum { CUT_MS = 2 };
    bool more = true;
    for (int way = 0; more && way < TRIAL_WAYS; way++) {
        struct trial t = {.method = h->method,
                          .params = pack_bytes(&c->given),
                          .way = (enum trial_way)way,
                          .cut_ms = CUT_MS};
        more = try_one(c, h, 0, &t, false);
    }
}

static void try_all(struct check *c, struct sheet *h, uint64_t until)
{
    uint64_t last =
        c->options->time_ns > 0 ? UINT64_MAX : rubbish_fixed(&c->rubbish) + c->options->rounds;
    for (uint64_t n = 1; n <= last && clock_monotonic() < until && try_number(c, h, n);)
        n++;
}

/* False: no further method is to be tried. */
static bool check_method(struct check *c, const char *method, uint64_t until)
{
    struct sheet h = {.module = c->file, .method = method, .seed = c->options->seed};
    if (c->options->params != NULL)
        try_given(c, &h);
    else if (c->options->number > 0)
        try_number(c, &h, c->options->number);
    else
        try_all(c, &h, until);
    if (c->globals->json)
        json_array_append_new(c->sheets, sheet_json(&h));
    else if (!c->globals->quiet || h.fault_count > 0)
        sheet_print(&h);
    fflush(stdout);
    c->faulty |= h.crashed > 0 || h.stuck > 0;
    sheet_fini(&h);
    stock_free(&c->stock);
    return private_server_failed(c->server) == NULL && private_server_signal(c->server) == 0;
}

/* --- The methods of the module --- */

static json_t *ask(struct check *c, const char *method, const char *argument)
{
    struct pack params;
    pack_init(&params);
    pack_array(&params, argument != NULL ? 1 : 0);
    if (argument != NULL)
        pack_str(&params, argument);
    struct span bytes = pack_bytes(&params);
    const struct private_answer *a = private_server_ask(
        c->server, ergon_request_raw(method, (struct ergon_raw){bytes.at, bytes.len}), ASK_MS);
    pack_fini(&params);
    return a->outcome == ERGON_END_OK ? json_from_value(span_of(a->result.at, a->result.len))
                                      : NULL;
}

/* The names of methods that are neither the server's nor of its own modules: a new array. */
static json_t *find_methods(struct check *c)
{
    json_t *all = ask(c, "server.methods", NULL), *found = json_array(), *name;
    size_t i;
    json_array_foreach(all, i, name)
    {
        json_t *about = ask(c, "server.describe", json_string_value(name));
        if (strcmp(json_text(about, "kind"), "worker") == 0)
            json_array_append(found, name);
        json_decref(about);
    }
    json_decref(all);
    return found;
}

static bool has(const json_t *names, const char *name)
{
    size_t i;
    const json_t *one;
    json_array_foreach(names, i, one) if (strcmp(json_string_value(one), name) == 0) return true;
    return false;
}

/* Those that were asked for are among those that there are. */
static enum status choose(struct check *c, json_t *all, int argc, char **argv, json_t **chosen)
{
    *chosen = argc > 1 ? json_array() : json_incref(all);
    if (json_array_size(all) == 0) {
        complain("%s: the module brings no methods", c->file);
        return STATUS_USAGE;
    }
    for (int i = 1; i < argc; i++) {
        if (!has(all, argv[i])) {
            complain("%s: the module brings no method '%s'; the first of %zu is '%s'", c->file,
                     argv[i], json_array_size(all), json_string_value(json_array_get(all, 0)));
            return STATUS_USAGE;
        }
        json_array_append_new(*chosen, json_string(argv[i]));
    }
    return STATUS_OK;
}

/* --- The whole --- */

static enum status finish(struct check *c)
{
    const char *failed = private_server_failed(c->server);
    enum status status = c->faulty ? STATUS_REMOTE : STATUS_OK;
    if (private_server_signal(c->server) != 0) {
        status = STATUS_INTERRUPTED;
    } else if (failed != NULL) {
        complain("%s: %s", c->file, failed);
        status = STATUS_REMOTE;
    }
    if (!c->globals->json)
        return status;
    enum status printed = print_json(json_pack("{s:s, s:I, s:O}", "module", c->file, "seed",
                                               (json_int_t)c->options->seed, "methods", c->sheets));
    return printed != STATUS_OK ? printed : status;
}

static enum status check_all(struct check *c, const json_t *methods)
{
    uint64_t now = clock_monotonic(), time = c->options->time_ns;
    size_t count = json_array_size(methods), i;
    const json_t *method;
    trial_await_process(c->server);
    json_array_foreach(methods, i, method)
    {
        uint64_t until = time > 0 ? now + time / count * (i + 1) : UINT64_MAX;
        if (!check_method(c, json_string_value(method), until))
            break;
    }
    return finish(c);
}

static enum status check_file(struct check *c, int argc, char **argv)
{
    const struct check_options *o = c->options;
    const struct private_plan plan = {.module = c->file,
                                      .stuck_ns = o->stuck_ns,
                                      .memory = o->memory,
                                      .verbose = c->globals->verbose};
    enum status status = private_server_start(&c->server, &plan);
    if (status != STATUS_OK)
        return status;
    json_t *chosen = NULL, *all = find_methods(c);
    if (private_server_signal(c->server) != 0)
        status = STATUS_INTERRUPTED;
    else
        status = choose(c, all, argc, argv, &chosen);
    if (status == STATUS_OK)
        status = check_all(c, chosen);
    json_decref(all);
    json_decref(chosen);
    return status;
}

/* --params: digits of one array. */
static bool read_given(struct check *c)
{
    const char *hex = c->options->params;
    size_t len = hex != NULL ? strlen(hex) / 2 : 0, end = 0;
    if (hex == NULL)
        return true;
    uint8_t *bytes = malloc(len + 1);
    msgpack_unpacked value;
    msgpack_unpacked_init(&value);
    bool good =
        bytes != NULL && strlen(hex) == 2 * len && hex_read((const uint8_t *)hex, bytes, len) &&
        msgpack_unpack_next(&value, (const char *)bytes, len, &end) == MSGPACK_UNPACK_SUCCESS &&
        end == len && value.data.type == MSGPACK_OBJECT_ARRAY;
    msgpack_unpacked_destroy(&value);
    if (good)
        pack_raw(&c->given, span_of(bytes, len));
    else
        complain("--params is not the digits of a MessagePack array, as 91c0 (one nil)");
    free(bytes);
    return good;
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    struct check c = {.globals = g, .options = options, .file = argv[0], .sheets = json_array()};
    enum status status = STATUS_USAGE;
    char text[96];
    pack_init(&c.given);
    /* A word without slash and dot is one of the server's own. */
    if (strpbrk(c.file, ",;") != NULL)
        complain("%s: no ',' or ';' may be in the name of a module's file", c.file);
    else if (strpbrk(c.file, "./") != NULL && access(c.file, R_OK) != 0)
        complain("%s: %s", c.file, strerror_r(errno, text, sizeof text));
    else if (c.options->stuck_ns < SECOND)
        complain("--stuck must be 1s or more");
    else if (read_given(&c)) {
        words_read(&c.words, c.file);
        c.rubbish = (struct rubbish){c.options->seed, &c.words};
        status = check_file(&c, argc, argv);
        private_server_stop(c.server);
        words_free(&c.words);
    }
    pack_fini(&c.given);
    json_decref(c.sheets);
    return status;
}

const struct command MODULE_CHECK = {
    .name = "module check",
    .arguments = "FILE [METHOD...]",
    .summary = "call a module's handlers with rubbish, and say which crash",
    .text = "Loads the module into a process of a server of its own, and calls each method, or\n"
            "those named, with parameters that no handler expects: none and too many, each\n"
            "type at its borders, deep, large, no UTF-8, words of the module's file, and\n"
            "values by chance, which a seed fixes. Some calls are submitted as tasks, cancelled,\n"
            "or have a deadline. The handlers run for real: what they delete is gone.\n"
            "BAD_PARAMS is a good answer. Exit status 0: all handlers returned; 1: one crashed,\n"
            "or did not return in time; 2: the module does not load, or brings no methods.\n",
    .examples = "  ergon module check ./thumbs.so\n"
                "  ergon module check ./thumbs.so thumbs.scale --time 1m\n"
                "  ergon module check ./thumbs.so --seed 7 --rounds 5000\n"
                "  ergon module check ./thumbs.so thumbs.scale --params 91c0\n",
    .options = OPTIONS,
    .options_size = sizeof(struct check_options),
    .defaults = &DEFAULTS,
    .arguments_min = 1,
    .arguments_max = -1,
    .run = run,
    .offline = true,
};
