#include "sim/user/values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/chance.h"

static struct sim_seqs sequences; /* the last number of each */

/* --- Which values are drawn --- */

/* The only member of an object, if it has this name. */
static const json_t *drawn_by(const json_t *value, const char *word)
{
    return json_is_object(value) && json_object_size(value) == 1 ? json_object_get(value, word)
                                                                 : NULL;
}

static const char *check_parts(const json_t *value)
{
    const char *key, *why = NULL;
    json_t *part;
    size_t n;
    if (json_is_array(value))
        json_array_foreach(value, n, part) why = why ? why : sim_values_check(part);
    if (json_is_object(value))
        json_object_foreach((json_t *)value, key, part) why = why ? why : sim_values_check(part);
    return why;
}

const char *sim_values_check(const json_t *value)
{
    const json_t *seq = drawn_by(value, "seq"), *below = drawn_by(value, "below"),
                 *of = drawn_by(value, "one_of");
    if (seq && (!json_is_string(seq) || json_string_length(seq) >= SIM_SEQ_NAME))
        return "seq names a sequence, by at most 31 letters: {seq: order}";
    if (below && json_integer_value(below) <= 0)
        return "below is a number above 0: {below: 10}";
    if (of && json_array_size(of) == 0)
        return "one_of is a list: {one_of: [1, 2]}";
    return check_parts(value);
}

bool sim_values_have(const json_t *value, const char *sequence)
{
    const json_t *seq = drawn_by(value, "seq");
    const char *key;
    json_t *part;
    size_t n;
    bool any = seq && strcmp(json_string_value(seq), sequence) == 0;
    json_array_foreach(value, n, part) any |= sim_values_have(part, sequence);
    json_object_foreach((json_t *)value, key, part) any |= sim_values_have(part, sequence);
    return any;
}

/* --- Numbers --- */

static struct sim_seq *find(const struct sim_seqs *seqs, const char *name)
{
    for (struct sim_seq *s = seqs->of; s < seqs->of + seqs->count; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

static struct sim_seq *find_or_add(struct sim_seqs *seqs, const char *name)
{
    struct sim_seq *s = find(seqs, name);
    if (s)
        return s;
    seqs->of = realloc(seqs->of, (seqs->count + 1) * sizeof *seqs->of);
    require(seqs->of != NULL, "no memory for sequences");
    seqs->of[seqs->count] = (struct sim_seq){.name = name};
    return &seqs->of[seqs->count++];
}

static uint64_t seq_value(struct sim_seqs *seqs, const char *name)
{
    struct sim_seq *s = find_or_add(seqs, name);
    if (s->value == 0)
        s->value = ++find_or_add(&sequences, name)->value;
    return s->value;
}

uint64_t sim_seq_of(const struct sim_seqs *seqs, const char *name)
{
    const struct sim_seq *s = find(seqs, name);
    return s ? s->value : 0;
}

bool sim_seq_is(const struct sim_seqs *seqs, uint64_t value)
{
    for (const struct sim_seq *s = seqs->of; s < seqs->of + seqs->count; s++)
        if (s->value == value)
            return true;
    return false;
}

/* --- Drawing --- */

static json_t *draw_seq(const char *name, struct sim_seqs *seqs, bool is_text)
{
    uint64_t value = seq_value(seqs, name);
    return is_text ? json_sprintf("%s-%" PRIu64, name, value) : json_integer((json_int_t)value);
}

static json_t *draw_parts(const json_t *value, struct sim_seqs *seqs, bool is_text)
{
    json_t *out = json_is_array(value) ? json_array() : json_object(), *part;
    const char *key;
    size_t n;
    if (json_is_array(value))
        json_array_foreach(value, n, part)
            json_array_append_new(out, sim_values_draw(part, seqs, is_text));
    else
        json_object_foreach((json_t *)value, key, part)
            json_object_set_new(out, key, sim_values_draw(part, seqs, is_text));
    return out;
}

json_t *sim_values_draw(const json_t *value, struct sim_seqs *seqs, bool is_text)
{
    const json_t *seq = drawn_by(value, "seq"), *below = drawn_by(value, "below"),
                 *of = drawn_by(value, "one_of");
    if (seq)
        return draw_seq(json_string_value(seq), seqs, is_text);
    if (below)
        return json_integer((json_int_t)sim_below(SIM_DEEDS, (uint64_t)json_integer_value(below)));
    if (of)
        return sim_values_draw(json_array_get(of, sim_below(SIM_DEEDS, json_array_size(of))), seqs,
                               is_text);
    return json_is_array(value) || json_is_object(value) ? draw_parts(value, seqs, is_text)
                                                         : json_incref((json_t *)value);
}
