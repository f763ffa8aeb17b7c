#include "server/jobs/sched/board.h"

#include <assert.h>
#include <stdlib.h>

enum { SEGMENTS = 256 /* a million attempts out at once */ };

struct board {
    struct board_memory memory;
    struct board_place *places[SEGMENTS]; /* of each segment */
    uint32_t segments;
    struct board_place *free;
};

/* What chance, or another layout, leaves in a slot is not taken for one of ours. */
static uint32_t check_of(uint64_t id, uint32_t attempt)
{
    uint64_t mixed = (id ^ (uint64_t)attempt << 32 ^ 0x626f617264) * 0x9e3779b97f4a7c15;
    return (uint32_t)(mixed >> 32);
}

static uint32_t stage_of(const struct board_slot *slot)
{
    return atomic_load_explicit(&slot->mark.stage, memory_order_relaxed);
}

static void set_stage(struct board_slot *slot, enum mark_stage stage)
{
    atomic_store_explicit(&slot->mark.stage, stage, memory_order_release);
}

static void push_free(struct board *b, struct board_place *place)
{
    set_stage(place->slot, MARK_FREE);
    place->next = b->free;
    b->free = place;
}

/* --- Segments --- */

static bool is_sound(const struct board_slot *slot)
{
    uint32_t stage = stage_of(slot);
    return stage == MARK_FREE ||
           (stage <= MARK_OVER && slot->check == check_of(slot->id, slot->attempt));
}

/* The next segment, with a place for each of its slots; NULL without room. */
static struct board_place *open_segment(struct board *b, bool grow)
{
    if (b->segments == SEGMENTS)
        return NULL;
    struct board_slot *slots = b->memory.segment(b->memory.arg, b->segments, grow);
    struct board_place *places = slots ? calloc(BOARD_SLOTS, sizeof *places) : NULL;
    if (!places)
        return NULL;
    for (uint32_t i = 0; i < BOARD_SLOTS; i++)
        places[i].slot = &slots[i];
    b->places[b->segments++] = places;
    return places;
}

static bool grow(struct board *b)
{
    struct board_place *places = open_segment(b, true);
    for (uint32_t i = BOARD_SLOTS; places && i > 0; i--)
        push_free(b, &places[i - 1]);
    return places != NULL;
}

struct board *board_new(const struct board_memory *memory)
{
    struct board *b = calloc(1, sizeof *b);
    if (b)
        b->memory = *memory;
    return b;
}

void board_free(struct board *b)
{
    if (!b)
        return;
    for (uint32_t n = 0; n < b->segments; n++)
        free(b->places[n]);
    free(b);
}

/* --- After a crash --- */

bool board_is_sound(struct board *b)
{
    const struct board_slot *slots;
    for (uint32_t n = 0; n < SEGMENTS && (slots = b->memory.segment(b->memory.arg, n, false)); n++)
        for (uint32_t i = 0; i < BOARD_SLOTS; i++)
            if (!is_sound(&slots[i]))
                return false;
    return true;
}

static void read_segment(struct board *b, struct board_place *places,
                         bool (*found)(void *arg, struct board_place *place), void *arg)
{
    for (uint32_t i = BOARD_SLOTS; i > 0; i--) {
        struct board_place *place = &places[i - 1];
        place->returned = true;
        if (board_stage(place) <= MARK_GIVEN || !found(arg, place))
            push_free(b, place);
    }
}

bool board_read(struct board *b, bool (*found)(void *arg, struct board_place *place), void *arg)
{
    while (b->segments < SEGMENTS && b->memory.segment(b->memory.arg, b->segments, false)) {
        struct board_place *places = open_segment(b, false);
        if (!places)
            return false;
        read_segment(b, places, found, arg);
    }
    return true;
}

enum mark_stage board_stage(const struct board_place *place)
{
    return (enum mark_stage)stage_of(place->slot);
}

bool board_is_crash(const struct board_place *place)
{
    return board_stage(place) == MARK_BEGUN &&
           atomic_load_explicit(&place->slot->mark.place, memory_order_relaxed) != MARK_AT_WORKER;
}

/* --- Attempts --- */

struct board_place *board_take(struct board *b, struct job *job, uint32_t attempt)
{
    assert(attempt > job->saved_attempt); /* else board_saved() would free it too early */
    if (!b->free && !grow(b))
        return NULL;
    struct board_place *place = b->free;
    struct board_slot *slot = place->slot;
    b->free = place->next;
    slot->id = job->id;
    slot->attempt = attempt;
    slot->check = check_of(job->id, attempt);
    atomic_store_explicit(&slot->mark.began, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->mark.place, MARK_HERE, memory_order_relaxed);
    set_stage(slot, MARK_GIVEN);
    place->returned = false;
    place->next = job->places;
    job->places = place;
    return place;
}

static struct board_place **find(struct job *job, const struct attempt_mark *mark)
{
    struct board_place **at = &job->places;
    while (*at && &(*at)->slot->mark != mark)
        at = &(*at)->next;
    return at;
}

/* Takes it out of its list. */
static void give(struct board *b, struct board_place **at)
{
    struct board_place *place = *at;
    *at = place->next;
    push_free(b, place);
}

void board_withdrawn(struct board *b, struct job *job, const struct attempt_mark *mark)
{
    struct board_place **at = mark ? find(job, mark) : NULL;
    if (at && *at)
        give(b, at);
}

/* One that lives in memory only is in no row. */
void board_saved(struct board *b, struct job *job)
{
    struct board_place **at = &job->places;
    while (*at)
        if ((*at)->returned &&
            (job->durable == DURABLE_NONE || (*at)->slot->attempt <= job->saved_attempt))
            give(b, at);
        else
            at = &(*at)->next;
}

void board_returned(struct board *b, struct job *job, const struct attempt_mark *mark)
{
    struct board_place **at = mark ? find(job, mark) : NULL;
    if (!at || !*at)
        return;
    (*at)->returned = true;
    set_stage((*at)->slot, MARK_OVER); /* a lost worker never set it */
    board_saved(b, job);
}

void board_end(const struct job *job)
{
    for (const struct board_place *place = job->places; place; place = place->next)
        set_stage(place->slot, MARK_OVER);
}

void board_forget(struct board *b, struct job *job)
{
    while (job->places)
        give(b, &job->places);
}
