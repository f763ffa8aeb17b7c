#include "sim/user/yaml_tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/check.h"

enum { PLACES_MAX = 4096, DEPTH_MAX = 32, NODES_MAX = 20000 };

static struct {
    const json_t *value;
    unsigned line;
} places[PLACES_MAX];
static size_t place_count, node_count;
static bool is_too_large;

unsigned sim_yaml_line(const json_t *value)
{
    for (size_t n = 0; n < place_count; n++)
        if (places[n].value == value)
            return places[n].line;
    return 0;
}

static json_t *placed(json_t *value, const yaml_node_t *node)
{
    bool is_shared = json_is_boolean(value) || json_is_null(value);
    require(value != NULL, "no memory for a scenario");
    if (!is_shared && place_count < PLACES_MAX) {
        places[place_count].value = value;
        places[place_count++].line = (unsigned)node->start_mark.line + 1;
    }
    return value;
}

static json_t *number(const char *text)
{
    char *end;
    errno = 0;
    long long whole = strtoll(text, &end, 10);
    if (*text && !*end && errno == 0)
        return json_integer(whole);
    double real = strtod(text, &end);
    bool is_plain = strspn(text, "+-.0123456789eE") == strlen(text);
    return *text && !*end && is_plain ? json_real(real) : NULL;
}

static json_t *scalar(const yaml_node_t *node)
{
    const char *text = (const char *)node->data.scalar.value;
    bool is_plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    json_t *value = is_plain ? number(text) : NULL;
    if (value)
        return value;
    if (is_plain && (!*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0))
        return json_null();
    if (is_plain && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        return json_boolean(*text == 't');
    return json_stringn(text, node->data.scalar.length);
}

static json_t *value_of(yaml_document_t *d, yaml_node_t *node, unsigned depth);

static json_t *map_of(yaml_document_t *d, const yaml_node_t *node, unsigned depth)
{
    json_t *map = json_object();
    for (yaml_node_pair_t *p = node->data.mapping.pairs.start;
         p < node->data.mapping.pairs.top && !is_too_large; p++) {
        const yaml_node_t *key = yaml_document_get_node(d, p->key);
        json_t *value = value_of(d, yaml_document_get_node(d, p->value), depth + 1);
        if (key->type == YAML_SCALAR_NODE)
            json_object_set_new(map, (const char *)key->data.scalar.value, value);
        else
            json_decref(value);
    }
    return map;
}

static json_t *list_of(yaml_document_t *d, const yaml_node_t *node, unsigned depth)
{
    json_t *list = json_array();
    for (yaml_node_item_t *i = node->data.sequence.items.start;
         i < node->data.sequence.items.top && !is_too_large; i++)
        json_array_append_new(list, value_of(d, yaml_document_get_node(d, *i), depth + 1));
    return list;
}

/* Aliases may refer to what contains them, and multiply: a value beyond either bound becomes null,
 * and the file is refused. */
static json_t *value_of(yaml_document_t *d, yaml_node_t *node, unsigned depth)
{
    if (++node_count > NODES_MAX || depth > DEPTH_MAX) {
        is_too_large = true;
        return json_null();
    }
    if (node->type == YAML_MAPPING_NODE)
        return placed(map_of(d, node, depth), node);
    if (node->type == YAML_SEQUENCE_NODE)
        return placed(list_of(d, node, depth), node);
    return placed(scalar(node), node);
}

json_t *sim_yaml_read(const char *path, char *error, size_t size)
{
    yaml_parser_t parser;
    yaml_document_t document;
    json_t *root = NULL;
    FILE *from = fopen(path, "r");
    if (!from) {
        snprintf(error, size, "%s: %s", path, strerror(errno));
        return NULL;
    }
    require(yaml_parser_initialize(&parser), "no memory for a scenario");
    yaml_parser_set_input_file(&parser, from);
    if (yaml_parser_load(&parser, &document)) {
        yaml_node_t *top = yaml_document_get_root_node(&document);
        root = top ? value_of(&document, top, 0) : json_object();
        yaml_document_delete(&document);
        if (is_too_large) {
            snprintf(error, size, "%s: too many values, or too deeply nested", path);
            json_decref(root);
            root = NULL;
        }
    } else {
        snprintf(error, size, "%s:%zu: %s", path, parser.problem_mark.line + 1,
                 parser.problem ? parser.problem : "this is no YAML");
    }
    yaml_parser_delete(&parser);
    fclose(from);
    return root;
}
