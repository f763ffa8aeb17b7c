#include "sim/params.h"

#include <inttypes.h>
#include <jansson.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "proto/json_value.h"
#include "sim/wire.h"

enum { LABELS_MAX = 4096, ID = 40 };

static struct {
    uint64_t label;
    char id[ID];
} labels[LABELS_MAX];
static uint32_t label_count;

struct sim_params {
    json_t *array;
    const char *task;
};

void sim_label(uint64_t label, struct span id)
{
    if (label_count == LABELS_MAX || id.len >= ID)
        return;
    labels[label_count].label = label;
    memcpy(labels[label_count++].id, id.at, id.len);
}

/* The first: a run that others join is named by who began it. */
static uint64_t label_of(const char *id)
{
    for (uint32_t n = 0; n < label_count; n++)
        if (strcmp(labels[n].id, id) == 0)
            return labels[n].label;
    return 0;
}

static const char *id_of(uint64_t label)
{
    for (uint32_t n = 0; n < label_count; n++)
        if (labels[n].label == label)
            return labels[n].id;
    return NULL;
}

/* --- Texts are exchanged, wherever they stand --- */

/* A new reference, or NULL. */
typedef json_t *(*exchange)(const char *text);

static json_t *exchanged(json_t *value, exchange with);

static json_t *exchanged_array(const json_t *array, exchange with)
{
    json_t *out = json_array(), *element;
    size_t n;
    json_array_foreach(array, n, element)
    {
        json_t *other = exchanged(element, with);
        if (!other || json_array_append_new(out, other) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

static json_t *exchanged_object(json_t *object, exchange with)
{
    json_t *out = json_object(), *value;
    const char *key;
    json_object_foreach(object, key, value)
    {
        json_t *other = exchanged(value, with);
        if (!other || json_object_set_new(out, key, other) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

static json_t *exchanged(json_t *value, exchange with)
{
    if (json_is_array(value))
        return exchanged_array(value, with);
    if (json_is_object(value))
        return exchanged_object(value, with);
    return json_is_string(value) ? with(json_string_value(value)) : json_incref(value);
}

static json_t *to_label(const char *text)
{
    uint64_t label = label_of(text);
    return label ? json_sprintf("$t%" PRIu64, label) : json_string(text);
}

static json_t *to_id(const char *text)
{
    uint64_t label;
    if (sscanf(text, "$t%" SCNu64, &label) != 1)
        return json_string(text);
    const char *id = id_of(label);
    return id ? json_string(id) : NULL;
}

/* --- To text --- */

bool sim_params_show(struct span params, char *text, size_t size)
{
    json_t *value = json_value_read(params, "$bytes");
    json_t *named = value ? exchanged(value, to_label) : NULL;
    size_t len = named ? json_dumpb(named, text, size - 1, JSON_COMPACT) : 0;
    json_decref(value);
    json_decref(named);
    if (len == 0 || len >= size)
        return false;
    text[len] = '\0';
    return true;
}

/* --- From text --- */

struct sim_params *sim_params_read(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);
    json_t *array = value && json_is_array(value) ? exchanged(value, to_id) : NULL;
    json_decref(value);
    if (!array)
        return NULL;
    struct sim_params *p = calloc(1, sizeof *p);
    require(p != NULL, "no memory for parameters");
    const char *first = json_string_value(json_array_get(array, 0));
    *p = (struct sim_params){.array = array, .task = first && label_of(first) ? first : NULL};
    return p;
}

bool sim_params_without(const char *text, uint32_t n, char *out, size_t size)
{
    json_t *array = json_loads(text, 0, NULL);
    json_t *options = json_array_get(array, json_array_size(array) - 1);
    void *at = json_object_iter(options);
    while (at && n-- > 0)
        at = json_object_iter_next(options, at);
    size_t len = 0;
    if (at && json_object_del(options, json_object_iter_key(at)) == 0)
        len = json_dumpb(array, out, size - 1, JSON_COMPACT);
    json_decref(array);
    if (len == 0 || len >= size)
        return false;
    out[len] = '\0';
    return true;
}

uint32_t sim_params_count(const struct sim_params *p)
{
    return (uint32_t)json_array_size(p->array);
}

void sim_put_json(struct sim_bytes *out, const json_t *value)
{
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    msgpack_sbuffer_init(&buffer);
    msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
    require(json_value_pack(&packer, value, "$bytes"), "parameters that cannot be packed");
    require(out->len + buffer.size <= sizeof out->at, "the requests of a burst are too long");
    memcpy(out->at + out->len, buffer.data, buffer.size);
    out->len += buffer.size;
    msgpack_sbuffer_destroy(&buffer);
}

void sim_params_put(const struct sim_params *p, struct sim_bytes *out)
{
    json_t *element;
    size_t n;
    json_array_foreach(p->array, n, element) sim_put_json(out, element);
}

const char *sim_params_task(const struct sim_params *p)
{
    return p->task;
}

const char *sim_params_option(const struct sim_params *p, const char *name)
{
    const json_t *last = json_array_get(p->array, json_array_size(p->array) - 1);
    const char *text = json_string_value(json_object_get(last, name));
    return text ? text : "";
}

uint64_t sim_params_number(const struct sim_params *p, const char *name)
{
    const json_t *last = json_array_get(p->array, json_array_size(p->array) - 1);
    return (uint64_t)json_integer_value(json_object_get(last, name));
}

uint64_t sim_params_max(const struct sim_params *p, const char *name, const char *key)
{
    const json_t *last = json_array_get(p->array, json_array_size(p->array) - 1);
    const json_t *of = json_object_get(last, name);
    const char *named = json_string_value(json_object_get(of, "key"));
    bool is_it = named && strcmp(named, key) == 0;
    return is_it ? (uint64_t)json_integer_value(json_object_get(of, "max")) : 0;
}

uint64_t sim_params_serial(const struct sim_params *p, bool is_task)
{
    const json_t *of = is_task ? json_array_get(p->array, 1) : p->array;
    const char *method = json_string_value(json_array_get(p->array, 0));
    if (is_task && (!method || strncmp(method, "work.", 5) != 0))
        return 0;
    return (uint64_t)json_integer_value(json_array_get(of, 0));
}

void sim_params_free(struct sim_params *p)
{
    json_decref(p->array);
    free(p);
}
