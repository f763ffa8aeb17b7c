#include "server/jobs/core/tenant_board.h"

#include <assert.h>
#include <string.h>

static void write_name(struct tenant_place *place, struct span name)
{
    uint64_t words[TENANT_NAME_WORDS] = {0};
    size_t len = name.len < TENANT_NAME_SHOWN - 1 ? name.len : TENANT_NAME_SHOWN - 1;
    uint64_t version = counter_read(&place->version);

    if (len > 0)
        memcpy(words, name.at, len);
    atomic_store_explicit(&place->version, version + 1, memory_order_relaxed);
    /* Release: a thread that reads a word of this name reads at least that version after it. */
    for (unsigned i = 0; i < TENANT_NAME_WORDS; i++)
        atomic_store_explicit(&place->name[i], words[i], memory_order_release);
    /* Release: a thread that reads this version reads the whole name. */
    atomic_store_explicit(&place->version, version + 2, memory_order_release);
}

static bool read_name(const struct tenant_place *place, char name[TENANT_NAME_SHOWN])
{
    uint64_t words[TENANT_NAME_WORDS];
    uint64_t version = atomic_load_explicit(&place->version, memory_order_acquire);

    for (unsigned i = 0; i < TENANT_NAME_WORDS; i++)
        words[i] = atomic_load_explicit(&place->name[i], memory_order_acquire);
    if (version % 2 != 0 || version != counter_read(&place->version))
        return false;
    memcpy(name, words, TENANT_NAME_SHOWN);
    return true;
}

static unsigned free_place(const struct tenant_board *board)
{
    unsigned i = 0;
    while (board->owners[i])
        i++;
    return i;
}

static unsigned least_place(const struct tenant_board *board)
{
    unsigned least = 0;
    for (unsigned i = 1; i < TENANT_PLACES; i++)
        if (counter_read(&board->places[i].open) < counter_read(&board->places[least].open))
            least = i;
    return least;
}

static void take_place(struct tenant_board *board, unsigned at, uint16_t *mark, struct span name)
{
    board->owners[at] = mark;
    *mark = (uint16_t)(at + 1);
    write_name(&board->places[at], name);
}

/* All places are looked at only as the number of open jobs reaches a power of two. */
static void seek_place(struct tenant_board *board, uint16_t *mark, struct span name, uint32_t open)
{
    if (open == 0 || (board->used == TENANT_PLACES && (open & (open - 1)) != 0))
        return;
    if (board->used < TENANT_PLACES) {
        board->used++;
        take_place(board, free_place(board), mark, name);
        return;
    }
    unsigned least = least_place(board);
    if (open <= 2 * counter_read(&board->places[least].open))
        return;
    *board->owners[least] = 0;
    take_place(board, least, mark, name);
}

void tenant_board_note(struct tenant_board *board, uint16_t *mark, struct span name, uint32_t open)
{
    if (*mark == 0)
        seek_place(board, mark, name, open);
    assert(*mark == 0 || board->owners[*mark - 1] == mark);
    if (*mark != 0)
        counter_set(&board->places[*mark - 1].open, open);
}

void tenant_board_leave(struct tenant_board *board, uint16_t *mark)
{
    if (*mark == 0)
        return;
    assert(board->owners[*mark - 1] == mark);
    counter_set(&board->places[*mark - 1].open, 0);
    write_name(&board->places[*mark - 1], span_of("", 0));
    board->owners[*mark - 1] = NULL;
    board->used--;
    *mark = 0;
}

bool tenant_board_read(const struct tenant_board *board, unsigned place,
                       char name[TENANT_NAME_SHOWN], uint64_t *open)
{
    *open = counter_read(&board->places[place].open);
    return read_name(&board->places[place], name) && name[0] != '\0';
}
