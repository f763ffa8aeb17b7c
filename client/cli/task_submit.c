/* ergon task submit and call: work comes in. */
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/params.h"
#include "client/cli/task.h"
#include "client/cli/task_options.h"
#include "client/cli/wording.h"
#include "client/cli/trace.h"

#include <errno.h>
#include <stdlib.h>

enum { BATCH_LINES = 500, BATCH_BYTES = 512 * 1024 };

/* ---- one ---- */

static enum status print_submitted(const struct globals *g, const struct ergon_submitted *answer,
                                   struct span raw)
{
    if (g->json)
        return print_json(json_from_value(raw));
    say("%s\n", answer->id);
    if (g->verbose)
        notice("%s, durable: %s%s%s", answer->state, answer->durable,
               answer->duplicate ? "; the task of an earlier submission" : "",
               answer->coalesced ? "; joined a run that was open" : "");
    return STATUS_OK;
}

enum status task_submit_spec(struct session *s, const struct task_spec *spec, bool wait)
{
    struct span result;
    struct ergon_submitted answer;
    enum status status =
        session_ask(s, ergon_request_submit(spec->method, spec->params, &spec->options), &result);
    if (status != STATUS_OK)
        return status;
    if (!ergon_read_submitted((struct ergon_raw){result.at, result.len}, &answer)) {
        complain("the answer of task.submit has no id");
        return STATUS_REMOTE;
    }
    if (!wait)
        return print_submitted(s->globals, &answer, result);
    if (s->globals->verbose) /* with --wait the id goes to no one but who wants to hear more */
        notice("%s", answer.id);
    return task_await_end(s, answer.id);
}

static enum status submit_one(const struct globals *g, bool wait, const json_t *options, int argc,
                              char **argv)
{
    struct session s;
    struct task_spec spec;
    if (!task_spec_pack(&spec, &g->forms, options, argc, argv))
        return STATUS_USAGE;
    enum status status = session_open(&s, g, 0, wait);
    if (status == STATUS_OK)
        status = task_submit_spec(&s, &spec, wait);
    session_close(&s);
    task_spec_fini(&spec);
    return status;
}

/* ---- many: a task for each line of a file, some hundred to a request ---- */

struct many {
    struct session session;
    const char *path;
    const json_t *options; /* of all */
    FILE *file;
    json_t *specs;               /* of this batch: [method, params, options] each */
    uint64_t lines[BATCH_LINES]; /* where each of them stands, from 1 */
    size_t bytes;                /* of their text */
    uint64_t line;               /* read last */
    uint64_t submitted, refused;
};

static void refuse(struct many *m, uint64_t line, const char *why)
{
    m->refused++;
    if (!m->session.globals->quiet)
        complain_as("REFUSED", NULL, "%s:%llu: %s", m->path, (unsigned long long)line, why);
}

/* One that would be overlooked, since all but the method may be left out. */
static const char *odd_member(json_t *line)
{
    static const char *const known[] = {"method", "params", "options"};
    const char *key;
    json_t *value;
    json_object_foreach(line, key, value)
    {
        bool good = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            good = good || strcmp(key, known[i]) == 0;
        if (!good)
            return key;
    }
    return NULL;
}

/* An array as it is; an object as an array; NULL: neither.  A new reference. */
static json_t *spec_of(json_t *line)
{
    if (json_is_array(line) && json_array_size(line) > 0 && json_array_size(line) <= 3)
        return json_incref(line);
    json_t *method = json_object_get(line, "method");
    json_t *params = json_object_get(line, "params");
    json_t *options = json_object_get(line, "options");
    if (!json_is_string(method) || odd_member(line) != NULL)
        return NULL;
    return json_pack("[O, o, o]", method, params != NULL ? json_incref(params) : json_array(),
                     options != NULL ? json_incref(options) : json_object());
}

static void refuse_spec(struct many *m, json_t *line)
{
    char why[160];
    const char *odd = odd_member(line);
    if (odd != NULL)
        snprintf(why, sizeof why, "unknown member \"%.60s\": there are method, params and options",
                 odd);
    else
        snprintf(why, sizeof why, "not [METHOD, [ARG...], {OPTIONS}], and no object with a method");
    refuse(m, m->line, why);
}

static void add_line(struct many *m, const char *text, size_t len)
{
    json_error_t error;
    json_t *line = json_loadb(text, len, JSON_ALLOW_NUL, &error);
    json_t *spec = line != NULL ? spec_of(line) : NULL;
    if (line == NULL)
        refuse(m, m->line, error.text);
    else if (spec == NULL)
        refuse_spec(m, line);
    if (spec != NULL) {
        m->lines[json_array_size(m->specs)] = m->line;
        json_array_append_new(m->specs, spec);
        m->bytes += len;
    }
    json_decref(line);
}

/* False: the file is at its end. */
static bool read_batch(struct many *m)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t len = 0;
    m->bytes = 0;
    json_array_clear(m->specs);
    while (json_array_size(m->specs) < BATCH_LINES && m->bytes < BATCH_BYTES &&
           (len = getline(&text, &room, m->file)) >= 0) {
        m->line++;
        if (text[strspn(text, " \t\r\n")] != 0)
            add_line(m, text, (size_t)len);
    }
    free(text);
    return len >= 0;
}

/* Why one was refused, in the words of the command line. */
static void refuse_as(struct many *m, uint64_t line, const char *code, const char *text)
{
    struct wording w;
    wording_of(&w, code, text);
    m->refused++;
    if (!m->session.globals->quiet)
        complain_as(w.code[0] != 0 ? w.code : "REFUSED", w.hint[0] != 0 ? w.hint : NULL,
                    "%s:%llu: %s", m->path, (unsigned long long)line, w.text);
}

static void take_answer(struct many *m, uint64_t line, const json_t *answer)
{
    const char *error = json_string_value(json_object_get(answer, "error"));
    char code[40];
    if (error != NULL) {
        size_t len = strspn(error, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        bool coded = len > 0 && len < sizeof code && strncmp(error + len, ": ", 2) == 0;
        snprintf(code, sizeof code, "%.*s", coded ? (int)len : 0, error);
        refuse_as(m, line, code, coded ? error + len + 2 : error);
        return;
    }
    m->submitted++;
    if (!m->session.globals->json)
        say("%s\n", json_text(answer, "id"));
}

static void take_answers(struct many *m, size_t first, json_t *answers)
{
    size_t i;
    json_t *answer;
    json_array_foreach(answers, i, answer)
    {
        take_answer(m, m->lines[first + i], answer);
        if (m->session.globals->json)
            print_json(json_incref(answer));
    }
    json_decref(answers);
}

/* Some of the batch, quietly: what is wrong with it is told by line.  What cannot be packed is
 * refused. */
static enum ergon_end ask(struct many *m, size_t first, size_t count,
                          const struct ergon_answer **answer)
{
    json_t *part = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append(part, json_array_get(m->specs, first + i));
    session_waits(&m->session);
    enum ergon_end end =
        ergon_blocking_ask(m->session.connection,
                           json_request("task.submit_many", json_pack("[oO]", part, m->options)),
                           session_time_left(&m->session), answer);
    session_waited(&m->session);
    return end;
}

/* A wrong option or an unknown method has the whole request refused. */
static bool blames_a_line(const struct ergon_answer *a)
{
    static const char *const codes[] = {"BAD_PARAMS", "NO_METHOD", "DENIED", "TOO_LARGE", NULL};
    for (const char *const *code = codes; *code != NULL; code++)
        if (a->outcome == ERGON_END_ERROR && strcmp(a->code, *code) == 0)
            return true;
    return false;
}

static const char *behind_prefix(const char *text, const char *prefix)
{
    size_t len = strlen(prefix);
    return strncmp(text, prefix, len) == 0 ? text + len : text;
}

/* Halves until the line is found that is to blame. */
static enum status submit_part(struct many *m, size_t first, size_t count)
{
    const struct ergon_answer *a;
    char why[640];
    if (ask(m, first, count, &a) == ERGON_END_OK) {
        take_answers(m, first, json_from_value(span_of(a->result.at, a->result.len)));
        return STATUS_OK;
    }
    snprintf(why, sizeof why, "%s%s%s", a->code, a->code[0] != 0 ? ": " : "", a->text);
    if (!blames_a_line(a)) {
        complain_as("REFUSED", NULL, "%s:%llu to %llu: %s", m->path,
                    (unsigned long long)m->lines[first],
                    (unsigned long long)m->lines[first + count - 1], why);
        return status_of(a->outcome, a->code);
    }
    if (count == 1) {
        refuse_as(m, m->lines[first], a->code, behind_prefix(a->text, "task 1 of the list: "));
        return STATUS_OK;
    }
    enum status status = submit_part(m, first, count / 2);
    return status == STATUS_OK ? submit_part(m, first + count / 2, count - count / 2) : status;
}

static enum status submit_all(struct many *m)
{
    enum status status = STATUS_OK;
    bool more = true;
    while (more && status == STATUS_OK) {
        more = read_batch(m);
        if (json_array_size(m->specs) > 0)
            status = submit_part(m, 0, json_array_size(m->specs));
    }
    if (!m->session.globals->quiet)
        notice("%llu submitted, %llu refused", (unsigned long long)m->submitted,
               (unsigned long long)m->refused);
    return status == STATUS_OK && m->refused > 0 ? STATUS_REMOTE : status;
}

static enum status submit_opened(struct many *m, const struct globals *g)
{
    enum status status = session_open(&m->session, g, 0, false);
    if (status != STATUS_OK)
        return status;
    m->specs = json_array();
    status = submit_all(m);
    json_decref(m->specs);
    session_close(&m->session);
    return status;
}

static enum status submit_file(const struct globals *g, const char *path, const json_t *options)
{
    bool standard = strcmp(path, "-") == 0;
    struct many *m = calloc(1, sizeof *m);
    enum status status = STATUS_REMOTE;
    if (m == NULL) {
        complain_as("MEMORY", NULL, "out of memory");
        return status;
    }
    m->path = standard ? "standard input" : path;
    m->options = options;
    m->file = standard ? stdin : fopen(path, "re");
    if (m->file != NULL) {
        status = submit_opened(m, g);
    } else {
        char why[128];
        complain("cannot read %s: %s", path, strerror_r(errno, why, sizeof why));
        status = STATUS_USAGE;
    }
    if (m->file != NULL && !standard)
        fclose(m->file);
    free(m);
    return status;
}

/* ---- submit ---- */

struct submit_options {
    struct task_options task; /* first: TASK_OPTIONS fills it */
    bool wait;
    const char *many;
};

static const struct option_spec SUBMIT_OPTIONS[] = {
    {'w', "wait", NULL, "wait for the end and print the result", OPTION_FLAG,
     offsetof(struct submit_options, wait)},
    {0, "many", "FILE", "submit a task for each line of FILE; - is standard input", OPTION_TEXT,
     offsetof(struct submit_options, many)},
    {0},
};

static bool check(const struct submit_options *o, int argc)
{
    if (o->many == NULL && argc == 0)
        complain("an argument is missing: ergon task submit METHOD [ARG...]; see ergon task submit "
                 "--help");
    else if (o->many != NULL && argc > 0)
        complain("with --many the methods and parameters stand in the file");
    else if (o->many != NULL && o->wait)
        complain("--wait is for one task; ergon task wait takes many ids");
    else
        return true;
    return false;
}

static enum status submit(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct submit_options *o = options;
    if (!check(o, argc))
        return STATUS_USAGE;
    json_t *map = task_options_map(&o->task);
    if (map == NULL)
        return STATUS_USAGE;
    trace_inherit(map);
    enum status status =
        o->many != NULL ? submit_file(g, o->many, map) : submit_one(g, o->wait, map, argc, argv);
    json_decref(map);
    return status;
}

const struct command TASK_SUBMIT = {
    .name = "task submit",
    .arguments = "METHOD [ARG...]",
    .summary = "leave a task with the server and print its id",
    .text = "An ARG is as with ergon call. Prints the id alone; with --json the server's answer:\n"
            "id, state, durable (the level that was reached), duplicate and coalesced. With\n"
            "--wait it prints the result instead (with --json the whole task), and the exit\n"
            "status is that of ergon task wait. With --many each line of the file is a JSON\n"
            "array [METHOD, [ARG...], {OPTIONS}], or an object with the members method, params\n"
            "and options, named as in PROTOCOL.md; options of the command line hold for all.\n"
            "The ids come in the order of the lines; a line that is refused is named, and the\n"
            "exit status is then 1.\n",
    .examples = "  ergon task submit hash sha256 @README.md\n"
                "  ergon task submit --retries 5 --backoff 2s --task-key order-17 charge 17\n"
                "  ergon task submit --delay 1h --limit smtp=3 mail '{\"to\": \"ann\"}'\n"
                "  ergon task submit --wait hash sha256 @README.md hex\n"
                "  seq 1000 | jq -c '[\"echo\", [.]]' | ergon task submit --many -\n",
    .options = SUBMIT_OPTIONS,
    .shared = TASK_OPTIONS,
    .options_size = sizeof(struct submit_options),
    .arguments_max = -1,
    .parameters = true,
    .run = submit,
};

/* ---- call ---- */

static enum status call_spec(struct session *s, const struct task_spec *spec)
{
    struct span result;
    enum status status =
        session_ask(s, ergon_request_call(spec->method, spec->params, &spec->options), &result);
    return status == STATUS_OK ? print_result(s->globals, result, false) : status;
}

static enum status call(const struct globals *g, const void *options, int argc, char **argv)
{
    struct session s;
    struct task_spec spec;
    json_t *map = task_options_map(options);
    if (map != NULL)
        trace_inherit(map);
    bool good = map != NULL && task_spec_pack(&spec, &g->forms, map, argc, argv);
    json_decref(map);
    if (!good)
        return STATUS_USAGE;
    enum status status = session_open(&s, g, 0, false);
    if (status == STATUS_OK)
        status = call_spec(&s, &spec);
    session_close(&s);
    task_spec_fini(&spec);
    return status;
}

const struct command TASK_CALL = {
    .name = "task call",
    .arguments = "METHOD [ARG...]",
    .summary = "call a method with the options of a task",
    .text = "As ergon call, in the foreground: the result is printed, and when this program goes\n"
            "the task is cancelled. It is not durable unless --durable says so.\n",
    .examples = "  ergon task call --limit smtp=3 --retries 2 mail '{\"to\": \"ann\"}'\n"
                "  ergon task call --coalesce report --deadline 1m report 2026-11\n",
    .shared = TASK_OPTIONS,
    .options_size = sizeof(struct task_options),
    .arguments_min = 1,
    .arguments_max = -1,
    .parameters = true,
    .run = call,
};
