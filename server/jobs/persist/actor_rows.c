#include "server/jobs/persist/actor_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "base/utf8.h"
#include "proto/reader.h"
#include "proto/scanner.h"
#include "server/tasks/registry.h"

/* The numbers of a policy, and what they may be; NUMBER(member, least, most). */
static const struct {
    const char *name;
    size_t at;
    uint8_t bytes;
    uint64_t least, most;
} numbers[] = {
#define NUMBER(member, least, most)                                                                \
    {                                                                                              \
#member, offsetof(struct actor_policy, member), sizeof((struct actor_policy){0}.member),   \
            least, most                                                                            \
    }
    NUMBER(schema, 0, UINT32_MAX),
    NUMBER(retries, 0, UINT32_MAX),
    NUMBER(call_retries, 0, UINT32_MAX),
    NUMBER(backoff, 0, AO_NEVER),
    NUMBER(backoff_max, 0, AO_NEVER),
    NUMBER(timeout, 1, AO_NEVER),
    NUMBER(idle, 1, AO_NEVER),
    NUMBER(messages, 1, ACTOR_MESSAGES_MAX),
    NUMBER(mailbox, 1, UINT32_MAX),
    NUMBER(state, 1, ACTOR_STATE_MOST),
    NUMBER(durable, ACTOR_DURABLE_NONE, ACTOR_DURABLE_FSYNC),
    NUMBER(on_failure, ACTOR_SKIPS, ACTOR_RESETS),
    NUMBER(intensity, 0, ACTOR_INTENSITY_MAX),
    NUMBER(window, 1, AO_NEVER),
    NUMBER(pipeline, 0, 1),
#undef NUMBER
};

enum { NUMBERS = sizeof numbers / sizeof *numbers };

/* --- To a row --- */

static uint64_t get_number(const struct actor_policy *policy, unsigned i)
{
    const uint8_t *at = (const uint8_t *)policy + numbers[i].at;
    if (numbers[i].bytes == 1)
        return *at;
    if (numbers[i].bytes == sizeof(uint32_t))
        return *(const uint32_t *)(const void *)at;
    return *(const uint64_t *)(const void *)at;
}

void type_row_pack(struct pack *p, const struct actor_policy *policy,
                   const struct actor_offer *offer)
{
    pack_map(p, NUMBERS + 2);
    for (unsigned i = 0; i < NUMBERS; i++)
        pack_key_uint(p, numbers[i].name, get_number(policy, i));
    pack_key_str(p, "supervisor", policy->supervisor);
    pack_str(p, "methods");
    pack_map(p, offer->count);
    for (uint32_t i = 0; i < offer->count; i++) {
        pack_span(p, span_behind(offer->methods[i]->name, offer->type.len + 1));
        pack_uint(p, method_actor(offer->methods[i]));
    }
}

/* --- Compared --- */

/* Numbers of 8 bytes are times. */
static const char *number_text(const struct actor_policy *policy, unsigned i, char *text,
                               size_t size)
{
    uint64_t n = get_number(policy, i);
    if (numbers[i].bytes == sizeof(ao_time))
        return units_duration_text(n, text, size);
    snprintf(text, size, "%" PRIu64, n);
    return text;
}

bool policy_changes(const struct actor_policy *was, const struct actor_policy *is, char *text,
                    size_t size)
{
    enum { NUMBER_TEXT = 32 };
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    size_t len = 0;
    bool differs = strcmp(was->supervisor, is->supervisor) != 0;
    text[0] = '\0';
    if (differs)
        len = (size_t)snprintf(text, size, "supervisor");
    for (unsigned i = 0; i < NUMBERS; i++) {
        if (get_number(was, i) == get_number(is, i))
            continue;
        if (len < size)
            len += (size_t)snprintf(text + len, size - len, "%s%s %s to %s", differs ? ", " : "",
                                    numbers[i].name, number_text(was, i, a, sizeof a),
                                    number_text(is, i, b, sizeof b));
        differs = true;
    }
    return differs;
}

/* --- From a row --- */

static void set_number(struct actor_policy *policy, unsigned i, uint64_t n)
{
    uint8_t *at = (uint8_t *)policy + numbers[i].at;
    if (numbers[i].bytes == 1)
        *at = (uint8_t)n;
    else if (numbers[i].bytes == sizeof(uint32_t))
        *(uint32_t *)(void *)at = (uint32_t)n;
    else
        *(uint64_t *)(void *)at = n;
}

static const char *read_one_number(struct reader *r, struct span name, struct actor_policy *policy)
{
    uint64_t n;
    if (!read_uint(r, &n))
        return "its policy has what is no number";
    for (unsigned i = 0; i < NUMBERS; i++) {
        if (!span_is(name, numbers[i].name))
            continue;
        if (n < numbers[i].least || n > numbers[i].most)
            return "its policy has a number that cannot be";
        set_number(policy, i, n);
    }
    return NULL;
}

static const char *read_supervisor(struct reader *r, struct actor_policy *policy)
{
    struct span name;
    if (!read_text(r, &name))
        return "its supervisor is no text";
    if (name.len > 0 && (!utf8_is_name(name, ACTOR_NAME_MAX) || actor_type_of_name(name).len == 0))
        return "its supervisor has no name TYPE/KEY";
    if (name.len > 0)
        memcpy(policy->supervisor, name.at, name.len);
    policy->supervisor[name.len] = '\0';
    return NULL;
}

static bool may_be_method(struct span type, struct span method)
{
    char name[ACTOR_METHOD_MAX];
    if (method.len == 0 || type.len + 1 + method.len > sizeof name)
        return false;
    memcpy(name, type.at, type.len);
    name[type.len] = '.';
    memcpy(name + type.len + 1, method.at, method.len);
    struct span all = span_of(name, type.len + 1 + method.len);
    return registry_may_name(all) && span_equal(actor_type_of_method(all), type);
}

static const char *check_methods(struct reader *r, struct span type)
{
    enum { ANY = ACTOR_METHOD | ACTOR_READS | ACTOR_STEP };
    struct span name;
    uint32_t pairs;
    uint64_t is;
    if (!read_map(r, &pairs) || pairs > ACTOR_METHODS_MAX)
        return "its methods are none";
    for (; pairs > 0; pairs--)
        if (!read_text(r, &name) || !may_be_method(type, name) || !read_uint(r, &is) || is > ANY ||
            !(is & ACTOR_METHOD))
            return "it has a method that cannot be";
    return NULL;
}

/* Two numbers in one map are two of one name; the last one counts. */
const char *type_row_read(const struct store_actor_type *row, struct actor_policy *policy,
                          struct span *methods)
{
    struct reader r = reader_of(row->policy);
    struct span name;
    uint32_t pairs;
    const char *wrong = NULL;
    *policy = (struct actor_policy){ACTOR_POLICY_DEFAULTS};
    *methods = (struct span){0};
    if (value_length(row->policy) != row->policy.len || !read_map(&r, &pairs))
        return "its policy is none";
    for (; !wrong && pairs > 0; pairs--) {
        const uint8_t *at;
        if (!read_text(&r, &name))
            return "its policy has a name that is none";
        at = r.at;
        if (!span_is(name, "methods"))
            wrong = span_is(name, "supervisor") ? read_supervisor(&r, policy)
                                                : read_one_number(&r, name, policy);
        else if (!(wrong = check_methods(&r, row->type)))
            *methods = span_of(at, (size_t)(r.at - at));
    }
    return wrong;
}

/* --- What rows may hold --- */

static bool is_type(struct span name)
{
    return name.len <= ACTOR_METHOD_MAX - 2 && registry_may_name(name);
}

static bool is_text(struct span text)
{
    return text.len == 0 || (utf8_valid(text) && !memchr(text.at, '\0', text.len));
}

const char *row_check_actor(const struct store_actor *row)
{
    if (!is_type(row->type))
        return "its type has a name that no type has";
    if (!utf8_is_name(row->key, ACTOR_NAME_MAX - row->type.len - 1))
        return "its key is none";
    if (!is_text(row->tenant))
        return "its tenant is none";
    if (row->version > INT64_MAX)
        return "its version is none";
    if (!is_text(row->stopped))
        return "why it is stopped is no text";
    return row->state.len == 0 || value_length(row->state) == row->state.len
               ? NULL
               : "its state is no MessagePack";
}

const char *row_check_actor_type(const struct store_actor_type *row)
{
    struct actor_policy policy;
    struct span methods;
    if (!is_type(row->type))
        return "its name is none that a type has";
    return type_row_read(row, &policy, &methods);
}

const char *row_check_message(struct span actor, struct span method)
{
    struct span type = actor_type_of_name(actor);
    if (!utf8_is_name(actor, ACTOR_NAME_MAX) || !is_type(type))
        return "its actor has no name TYPE/KEY";
    return span_equal(actor_type_of_method(method), type) ? NULL
                                                          : "its method is none of its actor";
}
