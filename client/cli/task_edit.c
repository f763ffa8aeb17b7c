/* ergon task edit: a task is submitted again with other parameters or options, as a new one. */
#include "client/cli/ask.h"
#include "client/cli/editor.h"
#include "client/cli/files.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/params.h"
#include "client/cli/task.h"
#include "client/cli/task_options.h"
#include "client/cli/trace.h"
#include "proto/envelope.h"
#include "proto/reader.h"

#include <stdlib.h>

enum { EDIT_TIMEOUT_MS = 30 * 1000, PARAMS_MAX = 256 << 20 /* bytes of JSON */ };

struct edit_options {
    struct task_options task; /* first: TASK_OPTIONS fills it */
    const char *params;
    bool wait;
};

static const struct option_spec EDIT_OPTIONS[] = {
    {0, "params", "JSON", "all parameters, as a JSON array; @FILE or - for standard input",
     OPTION_TEXT, offsetof(struct edit_options, params)},
    {'w', "wait", NULL, "wait for the end and print the result", OPTION_FLAG,
     offsetof(struct edit_options, wait)},
    {0},
};

/* ---- the task as it is ---- */

/* What is edited, and what it becomes. */
struct content {
    json_t *method, *params, *options; /* owned */
};

struct original {
    struct content content; /* params NULL: they were not asked for */
    json_t *key;            /* owned; NULL: none.  It is not among the options */
    char state[16];
    uint8_t *raw; /* malloc'ed: the parameters as the server has them */
    size_t raw_len;
};

static void content_fini(struct content *c)
{
    json_decref(c->method);
    json_decref(c->params);
    json_decref(c->options);
    *c = (struct content){0};
}

static void original_fini(struct original *o)
{
    content_fini(&o->content);
    json_decref(o->key);
    free(o->raw);
}

/* Why the parameters cannot be edited: `hidden` is "secret" or "denied". */
static enum status refuse_hidden(const char *id, const char *hidden)
{
    complain_as("DENIED", "--params JSON gives all of them anew",
                "the parameters of %s are hidden: %s", id,
                strcmp(hidden, "secret") == 0 ? "secret" : "it takes the right task.params");
    return STATUS_AUTH;
}

static struct span member(struct span map, const char *key)
{
    struct ergon_raw value = ergon_read_member((struct ergon_raw){map.at, map.len}, key);
    return span_of(value.at, value.len);
}

static bool keep_params(struct original *o, struct span params)
{
    o->raw = malloc(params.len);
    o->raw_len = params.len;
    if (o->raw != NULL)
        memcpy(o->raw, params.at, params.len);
    return o->raw != NULL;
}

static enum status take_answer(struct original *o, const char *id, struct span answer, bool whole)
{
    json_t *task = json_from_value(answer);
    const char *hidden = json_text(task, "params_hidden");
    enum status status = STATUS_OK;
    o->content = (struct content){
        .method = json_incref(json_object_get(task, "method")),
        .params = whole ? json_incref(json_object_get(task, "params")) : NULL,
        .options = json_incref(json_object_get(task, "options")),
    };
    o->key = json_incref(json_object_get(o->content.options, "key"));
    json_object_del(o->content.options, "key");
    json_object_del(o->content.options, "traceparent"); /* the new task is of another trace */
    json_object_del(o->content.options, "tracestate");
    snprintf(o->state, sizeof o->state, "%s", json_text(task, "state"));
    if (!json_is_string(o->content.method) || !json_is_object(o->content.options)) {
        complain_as("REFUSED", NULL, "the server does not say how %s was submitted", id);
        status = STATUS_REMOTE;
    } else if (whole && !json_is_array(o->content.params)) {
        status = refuse_hidden(id, hidden);
    } else if (whole && !keep_params(o, member(answer, "params"))) {
        complain_as("MEMORY", NULL, "out of memory");
        status = STATUS_REMOTE;
    }
    json_decref(task);
    return status;
}

static enum status fetch(const struct globals *g, const char *id, bool whole, struct original *o)
{
    struct session s;
    struct span answer;
    enum status status = session_open(&s, g, EDIT_TIMEOUT_MS, false);
    if (status != STATUS_OK)
        return status;
    unsigned what = ERGON_ASK_NO_RESULT | ERGON_ASK_OPTIONS | (whole ? ERGON_ASK_PARAMS : 0);
    status = session_ask(&s, ergon_request_get(id, what), &answer);
    if (status == STATUS_OK)
        status = take_answer(o, id, answer, whole);
    session_close(&s);
    return status;
}

/* ---- submission ---- */

/* Unchanged values are sent byte for byte as they came: JSON cannot express all of them. */
static bool pack_params(struct pack *to, const struct original *o, const json_t *params)
{
    uint32_t count = 0;
    struct reader r = reader_of(span_of(o->raw, o->raw_len));
    bool old = o->raw != NULL && read_array(&r, &count);
    pack_array(to, json_array_size(params));
    for (size_t i = 0; i < json_array_size(params); i++) {
        struct span raw = {0};
        const json_t *value = json_array_get(params, i);
        bool there = old && i < count && read_any(&r, &raw);
        if (there && json_equal(value, json_array_get(o->content.params, i)))
            pack_raw(to, raw);
        else if (!json_to_value(&to->packer, value))
            return false;
    }
    return true;
}

static enum status submit(const struct globals *g, const struct original *o,
                          const struct content *c, bool wait)
{
    struct session s;
    struct task_spec spec = {.method = json_string_value(c->method),
                             .options.size = sizeof spec.options};
    enum status status = STATUS_USAGE;
    json_t *options = json_copy(c->options);
    trace_inherit(options);
    pack_init(&spec.packed_params);
    pack_init(&spec.packed_options);
    if (!pack_params(&spec.packed_params, o, c->params) ||
        !json_to_value(&spec.packed_options.packer, options)) {
        complain("cannot send the parameters or options: nested too deeply, or $bytes is not "
                 "base64");
    } else {
        struct span params = pack_bytes(&spec.packed_params);
        struct span more = pack_bytes(&spec.packed_options);
        spec.params = (struct ergon_raw){params.at, params.len};
        spec.options.more = (struct ergon_raw){more.at, more.len};
        status = session_open(&s, g, wait ? 0 : EDIT_TIMEOUT_MS, wait);
        if (status == STATUS_OK)
            status = task_submit_spec(&s, &spec, wait);
        session_close(&s);
    }
    json_decref(options);
    task_spec_fini(&spec);
    return status;
}

static void say_still_open(const struct globals *g, const char *id, const struct original *o)
{
    static const char *const ended[] = {"done", "failed", "cancelled", "expired", "dead"};
    for (size_t i = 0; i < sizeof ended / sizeof *ended; i++)
        if (strcmp(o->state, ended[i]) == 0)
            return;
    if (!g->quiet)
        notice("%s is %s, and runs as it is unless it is cancelled: ergon task cancel %s", id,
               o->state, id);
}

/* ---- by options ---- */

/* A new reference; NULL, and a message was printed: it is no array. */
static json_t *params_of_text(const char *text)
{
    struct file_bytes file = {0};
    json_error_t error;
    bool from_file = text[0] == '@' || strcmp(text, "-") == 0;
    if (from_file && !file_read(text[0] == '@' ? text + 1 : text, PARAMS_MAX, &file))
        return NULL;
    json_t *params = from_file ? json_loadb((const char *)file.at, file.len, JSON_ALLOW_NUL, &error)
                               : json_loads(text, JSON_ALLOW_NUL, &error);
    file_bytes_fini(&file);
    if (json_is_array(params))
        return params;
    complain("option --params: %s; it takes a JSON array of all parameters, as '[1, \"x\"]'",
             params == NULL ? error.text : "that is no array");
    json_decref(params);
    return NULL;
}

/* Of two options that say when it begins, the new one counts. */
static void merge(json_t *options, json_t *changes)
{
    if (json_object_get(changes, "delay") != NULL)
        json_object_del(options, "at");
    if (json_object_get(changes, "at") != NULL)
        json_object_del(options, "delay");
    json_object_update(options, changes);
}

static enum status edit_by_options(const struct globals *g, const char *id,
                                   const struct edit_options *e, json_t *changes)
{
    struct original o = {0};
    json_t *params = e->params != NULL ? params_of_text(e->params) : NULL;
    if (e->params != NULL && params == NULL)
        return STATUS_USAGE;
    enum status status = fetch(g, id, params == NULL, &o);
    if (status == STATUS_OK) {
        struct content c = o.content;
        c.params = params != NULL ? params : c.params;
        merge(c.options, changes);
        status = submit(g, &o, &c, e->wait);
    }
    if (status == STATUS_OK)
        say_still_open(g, id, &o);
    json_decref(params);
    original_fini(&o);
    return status;
}

/* ---- in an editor ---- */

/* A new text; NULL: out of memory. */
static char *text_of(const char *id, const struct original *o)
{
    char *key = o->key != NULL ? json_dumps(o->key, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    json_t *object = json_pack("{s:O, s:O, s:O}", "method", o->content.method, "params",
                               o->content.params, "options", o->content.options);
    char *body = object != NULL ? json_dumps(object, JSON_INDENT(2)) : NULL;
    char *text = NULL;
    if (body != NULL &&
        asprintf(&text,
                 "# This is submitted as a new task when the editor ends; %s stays as it is.\n"
                 "# Unchanged, nothing is submitted. Lines that begin with # do not count.\n"
                 "%s%s%s%s%s\n",
                 id, key != NULL ? "# Its key, " : "", key != NULL ? key : "",
                 key != NULL ? ", is left out: a task of that key exists.\n" : "",
                 strstr(body, "\"$bytes\"") != NULL ? "# {\"$bytes\": ...} are bytes in base64.\n"
                                                    : "",
                 body) < 0)
        text = NULL;
    free(body);
    free(key);
    json_decref(object);
    return text;
}

/* Lines that do not count become blank, so that the others keep their numbers.  False: no other is
 * left. */
static bool blank_comments(char *text)
{
    bool any = false;
    while (*text != 0) {
        size_t len = strcspn(text, "\n"), blanks = strspn(text, " \t\r");
        if (text[blanks] == '#')
            memset(text, ' ', len);
        else if (blanks < len)
            any = true;
        text += len + (text[len] == '\n');
    }
    return any;
}

/* NULL, or what is wrong with an object of method, params and options. */
static const char *wrong_in(json_t *object)
{
    static char why[160];
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (strcmp(key, "method") != 0 && strcmp(key, "params") != 0 &&
            strcmp(key, "options") != 0) {
            snprintf(why, sizeof why,
                     "unknown member \"%.60s\": there are method, params and options", key);
            return why;
        }
    }
    const char *method = json_string_value(json_object_get(object, "method"));
    if (method == NULL || method[0] == 0 || strlen(method) > METHOD_NAME_MAX)
        return "`method` has to be a name of 1 to 256 bytes";
    if (!json_is_array(json_object_get(object, "params")))
        return "`params` has to be an array";
    if (!json_is_object(json_object_get(object, "options")))
        return "`options` has to be an object";
    return NULL;
}

/* False, and a message was printed: the text is not what it has to be. */
static bool parse(const char *text, struct content *c)
{
    json_error_t error;
    json_t *object = json_loads(text, JSON_ALLOW_NUL, &error);
    if (object == NULL) {
        complain("line %d: %s", error.line, error.text);
        return false;
    }
    if (json_object_get(object, "options") == NULL)
        json_object_set_new(object, "options", json_object());
    const char *wrong = json_is_object(object) ? wrong_in(object) : "the text has to be an object";
    if (wrong != NULL)
        complain("%s", wrong);
    else
        *c = (struct content){.method = json_incref(json_object_get(object, "method")),
                              .params = json_incref(json_object_get(object, "params")),
                              .options = json_incref(json_object_get(object, "options"))};
    json_decref(object);
    return wrong == NULL;
}

static bool is_same(const struct content *a, const struct content *b)
{
    return json_equal(a->method, b->method) && json_equal(a->params, b->params) &&
           json_equal(a->options, b->options);
}

/* What an edit led to. */
enum outcome { EDIT_DONE, EDIT_WRONG, EDIT_GIVEN_UP };

static enum outcome edit_once(const struct globals *g, const struct original *o,
                              const struct editor_file *file, bool wait, enum status *status)
{
    char *text;
    struct content c = {0};
    enum outcome outcome = EDIT_WRONG;
    *status = STATUS_USAGE;
    if (!editor_run(file, &text))
        return EDIT_WRONG;
    if (!blank_comments(text)) {
        complain("the text is empty; not submitted");
        outcome = EDIT_GIVEN_UP;
    } else if (parse(text, &c) && is_same(&c, &o->content)) {
        complain("nothing was changed; not submitted");
        outcome = EDIT_GIVEN_UP;
    } else if (c.method != NULL) {
        *status = submit(g, o, &c, wait);
        outcome = *status == STATUS_OK ? EDIT_DONE : EDIT_WRONG;
    }
    content_fini(&c);
    free(text);
    return outcome;
}

static enum status edit_text(const struct globals *g, const char *id, const struct original *o,
                             bool wait)
{
    struct editor_file file;
    enum status status = STATUS_USAGE;
    char *text = text_of(id, o);
    if (text == NULL)
        complain_as("MEMORY", NULL, "out of memory");
    bool begun = text != NULL && editor_begin(&file, text);
    free(text);
    if (!begun)
        return STATUS_REMOTE;
    enum outcome outcome;
    do {
        outcome = edit_once(g, o, &file, wait, &status);
    } while (outcome == EDIT_WRONG && editor_again());
    editor_end(&file, outcome == EDIT_WRONG);
    return status;
}

static enum status edit_by_editor(const struct globals *g, const char *id, bool wait)
{
    struct original o = {0};
    if (!editor_exists()) {
        complain("what is to be changed? Give --params JSON or options of ergon task submit, or "
                 "set EDITOR");
        return STATUS_USAGE;
    }
    enum status status = fetch(g, id, true, &o);
    if (status == STATUS_OK)
        status = edit_text(g, id, &o, wait);
    if (status == STATUS_OK)
        say_still_open(g, id, &o);
    original_fini(&o);
    return status;
}

/* ---- the command ---- */

static enum status edit(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct edit_options *e = options;
    json_t *changes = task_options_map(&e->task);
    (void)argc;
    if (changes == NULL)
        return STATUS_USAGE;
    bool by_options = e->params != NULL || json_object_size(changes) > 0;
    enum status status =
        by_options ? edit_by_options(g, argv[0], e, changes) : edit_by_editor(g, argv[0], e->wait);
    json_decref(changes);
    return status;
}

const struct command TASK_EDIT = {
    .name = "task edit",
    .arguments = "ID",
    .summary = "submit a task again, edited, as a new one",
    .text = "Opens method, parameters and options of the task as JSON in $VISUAL or $EDITOR, and\n"
            "submits what comes back; the task itself stays as it is. With --params or options\n"
            "there is no editor: they replace those of the task. Prints the new id, and with\n"
            "--wait the result instead. The key of the task is left out, unless --task-key gives\n"
            "a new one. Parameters that were not changed stay as they are, byte by byte.\n",
    .examples = "  ergon task edit t0abc4k2mq7rz\n"
                "  ergon task edit t0abc4k2mq7rz --params '[{\"to\": \"ann\"}]' --wait\n"
                "  ergon task edit t0abc4k2mq7rz --priority 9 --retries 3\n"
                "  ergon task get --params t0abc4k2mq7rz | jq '.[0].to = \"bob\"' |\n"
                "      ergon task edit t0abc4k2mq7rz --params -\n",
    .options = EDIT_OPTIONS,
    .shared = TASK_OPTIONS,
    .options_size = sizeof(struct edit_options),
    .arguments_min = 1,
    .arguments_max = 1,
    .run = edit,
};
