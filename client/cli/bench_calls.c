#include "client/cli/bench_calls.h"

#include "client/cli/cli.h"
#include "client/cli/json.h"
#include "client/cli/params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS_MAX = 64 /* of one call of a mix */ };

/* ---- one call ---- */

/* server.ping takes no parameter, so it gets no payload. */
static bool wants_payload(const char *method, size_t count)
{
    return count == 0 && strcmp(method, "server.ping") != 0;
}

/* The next of the calls, whose parameters stand in its pack. */
static bool add(struct bench_calls *c, const struct bench_calls_plan *plan, const char *method,
                size_t params, uint32_t weight)
{
    uint32_t i = c->work.count;
    if (method[0] == 0 || strlen(method) > METHOD_NAME_MAX) {
        complain("a method name has 1 to %d bytes", METHOD_NAME_MAX);
        return false;
    }
    if (!bench_mix_add(&c->mix, weight)) {
        complain("at most %d calls, whose weights are %u together", BENCH_MIX_MAX, UINT32_MAX);
        return false;
    }
    c->names[i] = strdup(method);
    bool payload = wants_payload(method, params);
    struct span given = payload ? span_of(NULL, 0) : pack_bytes(&c->params[i]);
    c->payload = c->payload || payload;
    if (plan->submit != NULL)
        rpc_work_submission(&c->work, span_text(c->names[i]), given, pack_bytes(&c->options));
    else
        rpc_work_call(&c->work, span_text(c->names[i]), given);
    return c->names[i] != NULL;
}

/* The pack of the next call, or NULL: there are too many. */
static struct pack *next_pack(struct bench_calls *c)
{
    if (c->work.count == BENCH_MIX_MAX) {
        complain("at most %d calls", BENCH_MIX_MAX);
        return NULL;
    }
    return &c->params[c->work.count];
}

static bool add_words(struct bench_calls *c, const struct bench_calls_plan *plan, int count,
                      char **words, uint32_t weight)
{
    struct pack *p = next_pack(c);
    return p != NULL && params_pack(&p->packer, NULL, count - 1, words + 1) &&
           add(c, plan, words[0], (size_t)count - 1, weight);
}

/* ---- a mix ---- */

static bool read_weight(const char *text, uint32_t *weight)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *weight = (uint32_t)value;
    return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0 && value > 0 &&
           value <= UINT32_MAX;
}

/* "hash sha256 x=10", which is taken apart in place. */
static bool add_part(struct bench_calls *c, const struct bench_calls_plan *plan, char *part)
{
    char *words[WORDS_MAX + 1];
    int count = 0;
    uint32_t weight = 0;
    char *equals = strrchr(part, '='), *rest = NULL;
    if (equals == NULL || !read_weight(equals + 1, &weight)) {
        complain("option --mix: '%s' is not METHOD [ARG...]=WEIGHT, as echo=90", part);
        return false;
    }
    *equals = 0;
    for (char *word = strtok_r(part, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (count == WORDS_MAX) {
            complain("option --mix: %s has too many arguments", words[0]);
            return false;
        }
        words[count++] = word;
    }
    if (count == 0) {
        complain("option --mix: a method stands before =%u", weight);
        return false;
    }
    return add_words(c, plan, count, words, weight);
}

static bool add_mix(struct bench_calls *c, const struct bench_calls_plan *plan)
{
    char *text = strdup(plan->mix), *rest = NULL;
    bool good = text != NULL;
    for (char *part = good ? strtok_r(text, ",", &rest) : NULL; part != NULL && good;
         part = strtok_r(NULL, ",", &rest))
        good = add_part(c, plan, part);
    free(text);
    if (good && c->work.count == 0) {
        complain("option --mix: no call is given, as echo=90,hash sha256 x=10");
        return false;
    }
    return good;
}

/* ---- a file ---- */

/* What is wrong with the map; NULL: it is a call now. */
static const char *add_map(struct bench_calls *c, const struct bench_calls_plan *plan,
                           const json_t *map)
{
    const char *key;
    json_t *value;
    json_int_t weight = 1;
    const json_t *params = json_object_get(map, "params");
    const char *method = json_string_value(json_object_get(map, "method"));
    json_object_foreach((json_t *)(uintptr_t)map, key, value)
    {
        if (strcmp(key, "weight") == 0)
            weight = json_is_integer(value) ? json_integer_value(value) : 0;
        else if (strcmp(key, "method") != 0 && strcmp(key, "params") != 0)
            return "a map has method, params and weight, and nothing else";
    }
    if (method == NULL)
        return "a map needs a method, which is a string";
    if (params != NULL && !json_is_array(params))
        return "params are an array";
    if (weight <= 0 || weight > UINT32_MAX)
        return "a weight is a whole number above 0";
    struct pack *p = next_pack(c);
    if (p == NULL)
        return "there are too many calls";
    bool good =
        params != NULL ? json_to_value(&p->packer, params) : msgpack_pack_array(&p->packer, 0) == 0;
    if (!good)
        return "params are nested too deeply, or $bytes is not base64";
    size_t count = params != NULL ? json_array_size(params) : 0;
    return add(c, plan, method, count, (uint32_t)weight) ? NULL : "it is not a call";
}

static bool add_line(struct bench_calls *c, const struct bench_calls_plan *plan, const char *line,
                     unsigned long number)
{
    json_error_t error;
    json_t *map = json_loads(line, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    const char *wrong = error.text;
    if (map != NULL)
        wrong = json_is_object(map) ? add_map(c, plan, map) : "a line is a map";
    if (map == NULL || wrong != NULL)
        complain("%s: line %lu: %s", plan->file, number, wrong);
    json_decref(map);
    return map != NULL && wrong == NULL;
}

static bool add_file(struct bench_calls *c, const struct bench_calls_plan *plan)
{
    char *line = NULL, why[96];
    size_t room = 0;
    FILE *file = fopen(plan->file, "re");
    if (file == NULL) {
        complain("%s: %s", plan->file, strerror_r(errno, why, sizeof why));
        return false;
    }
    bool good = true;
    for (unsigned long number = 1; good && getline(&line, &room, file) >= 0; number++)
        if (line[strspn(line, " \t\r\n")] != 0)
            good = add_line(c, plan, line, number);
    if (good && (ferror(file) || c->work.count == 0)) {
        complain("%s: %s", plan->file, ferror(file) ? "cannot be read" : "has no call");
        good = false;
    }
    free(line);
    fclose(file);
    return good;
}

/* ---- all ---- */

static bool pack_options(struct bench_calls *c, const char *text)
{
    json_error_t error;
    json_t *map = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    bool good = json_is_object(map) && json_to_value(&c->options.packer, map);
    if (!good)
        complain(
            "option --submit: '%s' is not a JSON map of options, as {} or {\"durable\":\"none\"}",
            text);
    json_decref(map);
    return good;
}

bool bench_calls_init(struct bench_calls *c, const struct bench_calls_plan *plan)
{
    *c = (struct bench_calls){0};
    rpc_work_init(&c->work, plan->token);
    pack_init(&c->options);
    for (size_t i = 0; i < BENCH_MIX_MAX; i++)
        pack_init(&c->params[i]);
    if (plan->submit != NULL && !pack_options(c, plan->submit))
        return false;
    if (plan->mix != NULL)
        return add_mix(c, plan);
    if (plan->file != NULL)
        return add_file(c, plan);
    struct pack *p = next_pack(c);
    return params_pack(&p->packer, NULL, plan->argc, plan->argv) &&
           add(c, plan, plan->method, (size_t)plan->argc, 1);
}

void bench_calls_fini(struct bench_calls *c)
{
    for (size_t i = 0; i < BENCH_MIX_MAX; i++) {
        pack_fini(&c->params[i]);
        free(c->names[i]);
    }
    pack_fini(&c->options);
}
