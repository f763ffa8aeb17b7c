#include "client/cli/wording.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Methods of the wire, and the commands that are theirs where it is not "ergon GROUP NAME". */
static const char *command_of(const char *method, size_t len, char *buf, size_t size)
{
    static const char *const groups[] = {"task.",  "queue.",      "cron.",  "worker.", "sem.",
                                         "event.", "connection.", "actor.", NULL};
    static const struct {
        const char *method, *command;
    } others[] = {
        {"server.methods", "ergon methods"},     {"server.info", "ergon info"},
        {"server.topology", "ergon info"},       {"server.ping", "ergon ping"},
        {"server.describe", "ergon methods -v"}, {"task.submit_many", "ergon task submit --many"},
        {"worker.register", "ergon worker"},     {"sem.acquire", "ergon sem run"},
        {"sem.release", "ergon sem run"},        {"sem.renew", "ergon sem run"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i].method) == len && memcmp(others[i].method, method, len) == 0)
            return others[i].command;
    for (const char *const *group = groups; *group != NULL; group++) {
        size_t head = strlen(*group);
        if (len <= head || memcmp(*group, method, head) != 0 ||
            memchr(method + head, '.', len - head) != NULL)
            continue;
        snprintf(buf, size, "ergon %.*s %.*s", (int)head - 1, method, (int)(len - head),
                 method + head);
        for (char *c = buf; *c != 0; c++)
            if (*c == '_')
                *c = '-';
        return buf;
    }
    return NULL;
}

bool wording_is_own(const char *method)
{
    char command[128];
    return strncmp(method, "server.", strlen("server.")) == 0 ||
           command_of(method, strlen(method), command, sizeof command) != NULL;
}

static size_t word_length(const char *text)
{
    size_t len = 0;
    while (islower((unsigned char)text[len]) || text[len] == '_' || text[len] == '.')
        len++;
    while (len > 0 && text[len - 1] == '.')
        len--; /* the end of a sentence */
    return len;
}

/* The option of ours for what the text begins with, a field of a request in `backquotes`; NULL:
 * none. *len is how long that is, or 0. */
static const char *option_of(const char *text, size_t *len)
{
    static const struct {
        const char *field, *option;
    } fields[] = {{"`of`", "--permits"}, {"`wait`", "--wait"}, {"`share`", "--share"}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        *len = strlen(fields[i].field);
        if (strncmp(text, fields[i].field, *len) == 0)
            return fields[i].option;
    }
    *len = 0;
    return NULL;
}

/* Copies the text with commands in place of methods, and options in place of fields.  What stands
 * in quotes is a name of the user's, and stays. */
static void translate(char *to, size_t room, const char *text)
{
    size_t at = 0;
    bool quoted = false;
    char before = ' ';
    while (*text != 0 && at + 1 < room) {
        char buf[80];
        size_t len = isalnum((unsigned char)before) || quoted ? 0 : word_length(text);
        const char *command = len > 0   ? command_of(text, len, buf, sizeof buf)
                              : !quoted ? option_of(text, &len)
                                        : NULL;
        size_t take = len > 0 ? len : 1;
        int n = command != NULL ? snprintf(to + at, room - at, "%s", command)
                                : snprintf(to + at, room - at, "%.*s", (int)take, text);
        at = at + (size_t)n < room ? at + (size_t)n : room - 1;
        quoted = *text == '"' ? !quoted : quoted;
        before = text[take - 1];
        text += take;
    }
    to[at] = 0;
}

/* The name that stands in quotes behind "no method " or "no handler "; false: none does. */
static bool missing_method(const char *text, char *name, size_t size)
{
    static const char *const heads[] = {"no method \"", "no handler \"", NULL};
    for (const char *const *head = heads; *head != NULL; head++) {
        size_t len = strlen(*head);
        if (strncmp(text, *head, len) != 0)
            continue;
        snprintf(name, size, "%.*s", (int)strcspn(text + len, "\""), text + len);
        return true;
    }
    return false;
}

static void say(struct wording *w, const char *code, const char *text, const char *hint)
{
    snprintf(w->code, sizeof w->code, "%s", code);
    snprintf(w->text, sizeof w->text, "%s", text);
    snprintf(w->hint, sizeof w->hint, "%s", hint);
}

/* A method of actors that was called without one: the words of a command in place of those of the
 * protocol. */
static bool lacks_actor(struct wording *w, const char *code, const char *text)
{
    static const char said[] = "\" is a method of actors: ";
    const char *end = text[0] == '"' ? strstr(text, said) : NULL;
    char what[160], hint[160];
    if (end == NULL)
        return false;
    int len = (int)(end - text) - 1, type = (int)strcspn(text + 1, ".");
    snprintf(what, sizeof what, "%s: '%.*s' is a method of actors", code, len, text + 1);
    if (strstr(end, "name one") != NULL)
        snprintf(hint, sizeof hint, "say which with --actor %.*s/KEY", type, text + 1);
    else
        snprintf(hint, sizeof hint, "ergon actor call %.*s/KEY %.*s ... sends it to one", type,
                 text + 1, len - type - 1, text + 2 + type);
    say(w, code, what, hint);
    return true;
}

/* What was given for an id cannot be one: then there is no such thing. */
static bool is_no_id(struct wording *w, const char *code, const char *text)
{
    if (strcmp(code, "BAD_PARAMS") != 0)
        return false;
    if (strstr(text, "an id is the text that") != NULL)
        say(w, "NOT_FOUND", "no such task", "ergon task list shows those that there are");
    else if (strstr(text, "which is \"w17\"") != NULL)
        say(w, "NOT_FOUND", "no such worker", "ergon worker list shows those that there are");
    else
        return false;
    return true;
}

static const char *hint_of(const char *code)
{
    static const struct {
        const char *code, *hint;
    } hints[] = {
        {"AUTH", "give a token with --token-file, or a context that has one"},
        {"NO_EXECUTOR", "ergon methods -v shows who runs which methods"},
    };
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strcmp(code, hints[i].code) == 0)
            return hints[i].hint;
    return "";
}

void wording_of(struct wording *w, const char *code, const char *text)
{
    char plain[900];
    *w = (struct wording){.code = ""};
    if (is_no_id(w, code, text) || lacks_actor(w, code, text))
        return;
    /* What may not be called is named as roles and token files have it. */
    const char *how = strstr(text, ": call server.auth"); /* the hint says how here */
    if (strcmp(code, "DENIED") == 0 || strcmp(code, "AUTH") == 0)
        snprintf(plain, sizeof plain, "%.*s",
                 (int)(how != NULL ? (size_t)(how - text) : strlen(text)), text);
    else
        translate(plain, sizeof plain, text);
    if (missing_method(text, w->method, sizeof w->method)) {
        char what[160];
        snprintf(what, sizeof what, "no method '%s'", w->method);
        say(w, code, what, "ergon methods lists those that there are");
        return;
    }
    say(w, code, "", hint_of(code));
    if (strcmp(code, "NOT_FOUND") == 0 && strcmp(text, "there is no semaphore of this name") == 0)
        say(w, code, "", "ergon sem list shows those that there are");
    if (strcmp(code, "TOO_LARGE") == 0 && strstr(text, "the message is longer") != NULL)
        say(w, code, "",
            "the server's limits.message (ergond --limits-message) says how long it may be");
    bool plainly = strcmp(code, "NOT_FOUND") == 0 && plain[0] != 0;
    snprintf(w->text, sizeof w->text, "%s%s%s", plainly ? "" : code,
             plainly || code[0] == 0 || plain[0] == 0 ? "" : ": ", plain);
}
