/* The YAML file.  libyaml's tree is walked along the table of keys, since it knows the line of
 * every node: an unknown key, a key written twice, a list where a value belongs and a value that
 * is refused are each reported with their line, all in one run. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <yaml.h>

#include "base/suggest.h"
#include "server/config/sources.h"

struct walk {
    struct config_report *report;
    yaml_document_t *document;
};

static unsigned line_of(const yaml_node_t *node)
{
    return (unsigned)node->start_mark.line + 1;
}

static struct config_origin origin_of(const yaml_node_t *node)
{
    return (struct config_origin){CONFIG_FILE, line_of(node)};
}

__attribute__((format(printf, 4, 5))) static void
problem_at(struct walk *w, const yaml_node_t *node, const char *path, const char *format, ...)
{
    char text[CONFIG_WHY_MAX * 2];
    struct config_origin origin = origin_of(node);
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    config_problem(w->report, &origin, NULL, path, "%s", text);
}

/* Cuts what is too long, which no path of a real key is. */
__attribute__((format(printf, 2, 3))) static void put_path(char path[CONFIG_PATH_MAX],
                                                           const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(path, CONFIG_PATH_MAX, format, ap);
    va_end(ap);
}

static const char *scalar_text(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

/* "key:" with nothing behind it, as a group whose keys are all commented out. */
static bool is_null(const yaml_node_t *node)
{
    const char *text;

    if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    text = scalar_text(node);
    return *text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0;
}

static void take_scalar(struct walk *w, const struct config_target *t, const struct config_key *key,
                        const yaml_node_t *node, const char *path)
{
    struct config_origin origin = origin_of(node);

    if (is_null(node))
        problem_at(w, node, path, "has no value (write one, or leave the key out)");
    else if (strlen(scalar_text(node)) != node->data.scalar.length)
        problem_at(w, node, path, "a value cannot contain a NUL byte");
    else
        config_take(w->report, t, key, scalar_text(node), path, &origin);
}

static void walk_map(struct walk *w, const struct config_target *t, yaml_node_t *map,
                     const char *group);

static void take_element(struct walk *w, const struct config_target *t,
                         const struct config_key *key, yaml_node_t *node, const char *path)
{
    char prefix[CONFIG_PATH_MAX];
    void *element = config_element_add(key, t->base);
    struct config_target inner = {.table = key->elements, .base = element};

    if (!element) {
        w->report->no_memory = true;
        return;
    }
    put_path(prefix, "%s.", path);
    inner.prefix = prefix;
    inner.given = config_element_given(key, element);
    *config_element_origin(key, element) = origin_of(node);
    walk_map(w, &inner, node, "");
}

static void take_item(struct walk *w, const struct config_target *t, const struct config_key *key,
                      yaml_node_t *node, const char *path)
{
    if (node->type == YAML_MAPPING_NODE && key->elements)
        take_element(w, t, key, node, path);
    else if (node->type == YAML_SCALAR_NODE)
        take_scalar(w, t, key, node, path);
    else
        problem_at(w, node, path, "an element of this list is a single value");
}

static void take_sequence(struct walk *w, const struct config_target *t,
                          const struct config_key *key, yaml_node_t *list, const char *path)
{
    struct config_origin origin = origin_of(list);
    unsigned i = 0;

    config_replace(t, key, &origin);
    for (yaml_node_item_t *item = list->data.sequence.items.start;
         item < list->data.sequence.items.top; item++) {
        char item_path[CONFIG_PATH_MAX];
        put_path(item_path, "%s[%u]", path, i++);
        take_item(w, t, key, yaml_document_get_node(w->document, *item), item_path);
    }
}

static void take_value(struct walk *w, const struct config_target *t, const struct config_key *key,
                       yaml_node_t *node, const char *path)
{
    if (config_is_list(key) && is_null(node))
        return;
    if (config_is_list(key) && node->type == YAML_SEQUENCE_NODE)
        take_sequence(w, t, key, node, path);
    else if (node->type == YAML_SCALAR_NODE)
        take_scalar(w, t, key, node, path);
    else
        problem_at(w, node, path, "is %s (write %s)",
                   node->type == YAML_MAPPING_NODE ? "a map" : "a list",
                   config_is_list(key) ? "a list: - ..." : "a single value");
}

static bool is_group(const struct config_table *table, const char *path)
{
    size_t length = strlen(path);

    for (size_t i = 0; i < table->count; i++)
        if (strncmp(table->keys[i].path, path, length) == 0 && table->keys[i].path[length] == '.')
            return true;
    return false;
}

/* Keys and groups of keys are named as far as the next dot. */
static void take_unknown(struct walk *w, const struct config_target *t, const char *group,
                         const yaml_node_t *name, const char *path)
{
    struct suggestion near = suggest_for(span_text(scalar_text(name)), 2);
    size_t length = strlen(group);

    for (size_t i = 0; i < t->table->count; i++) {
        const char *key = t->table->keys[i].path;
        if (strncmp(key, group, length) == 0)
            suggest_offer(&near, span_of(key + length, strcspn(key + length, ".")));
    }
    if (near.name.len > 0)
        problem_at(w, name, path, "unknown key (did you mean \"%.*s\"?)", (int)near.name.len,
                   (const char *)near.name.at);
    else
        problem_at(w, name, path, "unknown key");
}

static void take_group(struct walk *w, const struct config_target *t, yaml_node_t *node,
                       const char *inner, const char *path)
{
    char group[CONFIG_PATH_MAX];

    put_path(group, "%s.", inner);
    if (node->type == YAML_MAPPING_NODE)
        walk_map(w, t, node, group);
    else if (!is_null(node))
        problem_at(w, node, path, "is a group of keys (write them below it, indented)");
}

/* `group` is the map's place in the table: "", "limits.", "executors.stepped." */
static void take_pair(struct walk *w, const struct config_target *t, const char *group,
                      const yaml_node_t *name, yaml_node_t *value)
{
    char inner[CONFIG_PATH_MAX], path[CONFIG_PATH_MAX];
    const struct config_key *key;
    bool usable = !strchr(scalar_text(name), '.'); /* the path is ours to put together */

    put_path(inner, "%s%s", group, scalar_text(name));
    put_path(path, "%s%s", t->prefix, inner);
    key = usable ? config_find(t->table, inner) : NULL;
    if (key)
        take_value(w, t, key, value, path);
    else if (usable && is_group(t->table, inner))
        take_group(w, t, value, inner, path);
    else
        take_unknown(w, t, group, name, path);
}

static const yaml_node_t *earlier(struct walk *w, const yaml_node_t *map,
                                  const yaml_node_pair_t *pair, const char *name)
{
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < pair; p++) {
        const yaml_node_t *other = yaml_document_get_node(w->document, p->key);
        if (other->type == YAML_SCALAR_NODE && strcmp(scalar_text(other), name) == 0)
            return other;
    }
    return NULL;
}

static void walk_map(struct walk *w, const struct config_target *t, yaml_node_t *map,
                     const char *group)
{
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top;
         pair++) {
        const yaml_node_t *name = yaml_document_get_node(w->document, pair->key);
        const yaml_node_t *twin;

        if (name->type != YAML_SCALAR_NODE)
            problem_at(w, name, NULL, "a key is a single word");
        else if ((twin = earlier(w, map, pair, scalar_text(name))))
            problem_at(w, name, NULL, "\"%s\" is set a second time (first in line %u)",
                       scalar_text(name), line_of(twin));
        else
            take_pair(w, t, group, name, yaml_document_get_node(w->document, pair->value));
    }
}

static void take_document(struct config_report *r, struct config *c, yaml_document_t *document)
{
    struct walk w = {.report = r, .document = document};
    struct config_target top = config_top(c);
    yaml_node_t *root = yaml_document_get_root_node(document);

    if (!root || is_null(root))
        return;
    if (root->type == YAML_MAPPING_NODE)
        walk_map(&w, &top, root, "");
    else
        problem_at(&w, root, NULL, "the file is not a map (write key: value)");
}

static void syntax_problem(struct config_report *r, const yaml_parser_t *parser)
{
    struct config_origin origin = {CONFIG_FILE, (unsigned)parser->problem_mark.line + 1};

    if (parser->error == YAML_MEMORY_ERROR)
        r->no_memory = true;
    else
        config_problem(r, &origin, NULL, NULL, "this is not YAML: %s%s%s", parser->problem,
                       parser->context ? ", " : "", parser->context ? parser->context : "");
}

/* False: nothing more is to be read. */
static bool read_document(struct config_report *r, struct config *c, yaml_parser_t *parser,
                          bool first)
{
    yaml_document_t document;
    bool more;

    if (!yaml_parser_load(parser, &document)) {
        syntax_problem(r, parser);
        return false;
    }
    yaml_node_t *root = yaml_document_get_root_node(&document);
    more = root != NULL;
    if (first)
        take_document(r, c, &document);
    else if (root)
        config_problem(r, &(struct config_origin){CONFIG_FILE, line_of(root)}, NULL, NULL,
                       "a second document begins here; one file holds one");
    yaml_document_delete(&document);
    return more && first;
}

static void read_stream(struct config_report *r, struct config *c, FILE *in)
{
    yaml_parser_t parser;

    if (!yaml_parser_initialize(&parser)) {
        r->no_memory = true;
        return;
    }
    yaml_parser_set_input_file(&parser, in);
    if (read_document(r, c, &parser, true))
        read_document(r, c, &parser, false);
    yaml_parser_delete(&parser);
}

void config_read_file(struct config_report *r, struct config *c, const char *path)
{
    FILE *in = fopen(path, "re");
    struct config_origin none = {0};
    char why[128];

    r->file = path;
    if (!in) {
        config_problem(r, &none, NULL, NULL, "%s: cannot be read: %s", path,
                       strerror_r(errno, why, sizeof why));
        return;
    }
    read_stream(r, c, in);
    fclose(in);
}
