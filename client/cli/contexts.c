#include "client/cli/contexts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/suggest.h"
#include "base/units.h"
#include "base/url.h"
#include "base/utf8.h"

const char *const CONTEXT_KEYS[] = {"server",      "token_file", "token",   "cacert", "cert", "key",
                                    "server_name", "insecure",   "timeout", "output", NULL};

/* ---- names and values ---- */

bool context_name_is_good(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && (i == 0 || strchr("._-", name[i]) == NULL))
            return false;
    return len > 0 && len <= CONTEXT_NAME_MAX;
}

static bool is_line(const char *value)
{
    struct span left = span_text(value);
    if (left.len == 0 || left.len > CONTEXT_VALUE_MAX || !utf8_valid(left))
        return false;
    while (left.len > 0) {
        struct span next = span_of(left.at, utf8_length(left));
        if (utf8_steers(next))
            return false;
        left = span_behind(left, next.len);
    }
    return true;
}

static bool one_of(const char *text, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(text, *names) == 0)
            return true;
    return false;
}

const char *context_value_wrong(const char *key, const char *value)
{
    static const char *const outputs[] = {"table", "wide", "json", "yaml", NULL};
    static const char *const truths[] = {"true", "false", NULL};
    struct url url;
    uint64_t ns;
    if (!is_line(value))
        return "one line of text is wanted";
    if (strcmp(key, "server") == 0)
        return url_parse(value, URL_CONNECT, &url);
    if (strcmp(key, "timeout") == 0)
        return units_duration(span_text(value), &ns) && ns > 0 ? NULL
                                                               : "a time is wanted, as 250ms or 5s";
    if (strcmp(key, "output") == 0)
        return one_of(value, outputs) ? NULL : "table, wide, json or yaml is wanted";
    if (strcmp(key, "insecure") == 0)
        return one_of(value, truths) ? NULL : "true or false is wanted";
    return NULL;
}

/* ---- from text ---- */

/* Where a document is read, and what was wrong first. */
struct reading {
    yaml_document_t document;
    size_t current_line; /* where the current context is named */
    char *why;
    size_t why_size;
};

static bool wrong(struct reading *r, const yaml_node_t *at, const char *what, const char *name)
{
    char line[512]; /* which the name may be meant to break */
    snprintf(line, sizeof line, "%zu: %s%s%.80s", at->start_mark.line + 1, what,
             name[0] != 0 ? " " : "", name);
    r->why[utf8_plain(r->why, r->why_size - 1, span_text(line))] = 0;
    return false;
}

/* The text of a scalar without zeros; NULL: it is something else. */
static const char *text_of(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE)
        return NULL;
    const char *text = (const char *)node->data.scalar.value;
    return strlen(text) == node->data.scalar.length ? text : NULL;
}

static bool is_nothing(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (node->data.scalar.length == 0 ||
            strcmp((const char *)node->data.scalar.value, "~") == 0);
}

typedef bool member_fn(struct reading *r, json_t *to, const char *key, const yaml_node_t *at,
                       yaml_node_t *value);

/* Each member of a mapping once to `fn`; a mapping that is empty may be left out. */
static bool each_member(struct reading *r, yaml_node_t *mapping, json_t *to, member_fn *fn)
{
    if (is_nothing(mapping))
        return true;
    if (mapping->type != YAML_MAPPING_NODE)
        return wrong(r, mapping, "names with values are wanted here, as 'name: value'", "");
    for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start;
         p < mapping->data.mapping.pairs.top; p++) {
        const yaml_node_t *at = yaml_document_get_node(&r->document, p->key);
        const char *key = text_of(at);
        if (key == NULL)
            return wrong(r, at, "a name is wanted here", "");
        if (json_object_get(to, key) != NULL)
            return wrong(r, at, "stands twice:", key);
        if (!fn(r, to, key, at, yaml_document_get_node(&r->document, p->value)))
            return false;
    }
    return true;
}

static bool unknown(struct reading *r, const yaml_node_t *at, const char *key,
                    const char *const *known)
{
    char what[160];
    struct suggestion near = suggest_for(span_text(key), strlen(key) / 2);
    for (; *known != NULL; known++)
        suggest_offer(&near, span_text(*known));
    snprintf(what, sizeof what, "there is no setting '%.64s'%s%.*s%s", key,
             near.name.len > 0 ? "; did you mean '" : "", (int)near.name.len,
             (const char *)near.name.at, near.name.len > 0 ? "'?" : "");
    return wrong(r, at, what, "");
}

static bool take_setting(struct reading *r, json_t *to, const char *key, const yaml_node_t *at,
                         yaml_node_t *value)
{
    char what[256];
    const char *text = text_of(value);
    if (!one_of(key, CONTEXT_KEYS))
        return unknown(r, at, key, CONTEXT_KEYS);
    const char *no = text != NULL ? context_value_wrong(key, text) : "one line of text is wanted";
    if (no != NULL) {
        snprintf(what, sizeof what, "%s: %s", key, no);
        return wrong(r, value, what, "");
    }
    json_t *setting =
        strcmp(key, "insecure") == 0 ? json_boolean(strcmp(text, "true") == 0) : json_string(text);
    return json_object_set_new(to, key, setting) == 0 || wrong(r, at, "out of memory", "");
}

static bool take_context(struct reading *r, json_t *to, const char *key, const yaml_node_t *at,
                         yaml_node_t *value)
{
    if (!context_name_is_good(key))
        return wrong(r, at, "no name of a context (letters, digits, '.', '_' and '-'):", key);
    json_t *context = json_object();
    if (json_object_set_new(to, key, context) != 0)
        return wrong(r, at, "out of memory", "");
    return each_member(r, value, context, take_setting);
}

static bool take_part(struct reading *r, json_t *to, const char *key, const yaml_node_t *at,
                      yaml_node_t *value)
{
    static const char *const known[] = {"current", "contexts", NULL};
    const char *text = text_of(value);
    if (strcmp(key, "contexts") == 0) {
        json_t *all = json_object();
        return json_object_set_new(to, "contexts", all) == 0 &&
               each_member(r, value, all, take_context);
    }
    if (strcmp(key, "current") != 0)
        return unknown(r, at, key, known);
    if (text == NULL || !context_name_is_good(text))
        return wrong(r, value, "current: the name of a context is wanted", "");
    r->current_line = value->start_mark.line + 1;
    return json_object_set_new(to, "current", json_string(text)) == 0 ||
           wrong(r, at, "out of memory", "");
}

json_t *contexts_new(void)
{
    return json_pack("{s:{}}", "contexts");
}

static bool complete(struct reading *r, json_t *all)
{
    const char *current = contexts_current(all);
    if (json_object_get(all, "contexts") == NULL)
        json_object_set_new(all, "contexts", json_object());
    if (current == NULL || contexts_find(all, current) != NULL)
        return true;
    snprintf(r->why, r->why_size, "%zu: the current context '%s' is not there", r->current_line,
             current);
    return false;
}

static json_t *read_document(struct reading *r)
{
    json_t *all = json_object();
    yaml_node_t *root = yaml_document_get_root_node(&r->document);
    if (all != NULL && (root == NULL || each_member(r, root, all, take_part)) && complete(r, all))
        return all;
    json_decref(all);
    return NULL;
}

/* Is there nothing behind the document? */
static bool is_last(yaml_parser_t *parser, char *why, size_t why_size)
{
    yaml_document_t next;
    if (!yaml_parser_load(parser, &next)) {
        snprintf(why, why_size, "%zu: %s", parser->problem_mark.line + 1,
                 parser->problem != NULL ? parser->problem : "out of memory");
        return false;
    }
    const yaml_node_t *root = yaml_document_get_root_node(&next);
    if (root != NULL)
        snprintf(why, why_size, "%zu: a second document; there may be one",
                 root->start_mark.line + 1);
    yaml_document_delete(&next);
    return root == NULL;
}

json_t *contexts_parse(const char *text, size_t len, char *why, size_t why_size)
{
    yaml_parser_t parser;
    struct reading r = {.why = why, .why_size = why_size};
    json_t *all = NULL;
    snprintf(why, why_size, "1: out of memory");
    if (!yaml_parser_initialize(&parser))
        return NULL;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    if (yaml_parser_load(&parser, &r.document)) {
        all = read_document(&r);
        yaml_document_delete(&r.document);
        if (all != NULL && !is_last(&parser, why, why_size)) {
            json_decref(all);
            all = NULL;
        }
    } else {
        snprintf(why, why_size, "%zu: %s", parser.problem_mark.line + 1,
                 parser.problem != NULL ? parser.problem : "out of memory");
    }
    yaml_parser_delete(&parser);
    return all;
}

/* ---- what is in it ---- */

json_t *contexts_find(const json_t *contexts, const char *name)
{
    return json_object_get(json_object_get(contexts, "contexts"), name);
}

const char *contexts_current(const json_t *contexts)
{
    return json_string_value(json_object_get(contexts, "current"));
}

void contexts_rename(json_t *contexts, const char *from, const char *to)
{
    const char *current = contexts_current(contexts);
    const char *name;
    json_t *context;
    json_t *all = json_object();
    json_object_foreach(json_object_get(contexts, "contexts"), name, context)
    {
        json_object_set(all, strcmp(name, from) == 0 ? to : name, context);
    }
    if (current != NULL && strcmp(current, from) == 0)
        json_object_set_new(contexts, "current", json_string(to));
    json_object_set_new(contexts, "contexts", all);
}

void contexts_delete(json_t *contexts, const char *name)
{
    const char *current = contexts_current(contexts);
    bool was = current != NULL && strcmp(current, name) == 0;
    json_object_del(json_object_get(contexts, "contexts"), name);
    if (was)
        json_object_del(contexts, "current");
}
