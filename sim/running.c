#include "sim/running.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "server/store/store_parts.h"

/* Of each node. */
static struct {
    void *segments[STORE_BOARD_SEGMENTS];
    enum store_board state; /* what the next start finds */
    uint64_t epoch;         /* of a cluster: under which it was written */
} boards[SIM_NODES];

void *__wrap_store_board_segment(struct store *s, uint32_t n, bool grow);
int __wrap_store_board_open(struct store *s, enum store_board *was, char *error, size_t size);
int __real_store_board_renew(struct store *s, bool raise, char *error, size_t size);
int __wrap_store_board_renew(struct store *s, bool raise, char *error, size_t size);
int __wrap_store_board_keep(struct store *s, char *error, size_t size);
void __wrap_store_board_close(struct store *s);

/* Of the node whose fiber runs. */
static uint32_t here(void)
{
    require(sim_self_owner() >= SIM_NODE, "the board of no node");
    return (uint32_t)sim_self_owner() - SIM_NODE;
}

void *__wrap_store_board_segment(struct store *s, uint32_t n, bool grow)
{
    (void)s;
    if (n >= STORE_BOARD_SEGMENTS)
        return NULL;
    void **segment = &boards[here()].segments[n];
    if (!*segment && grow)
        *segment = calloc(1, STORE_BOARD_SEGMENT);
    return *segment;
}

int __wrap_store_board_open(struct store *s, enum store_board *was, char *error, size_t size)
{
    uint32_t n = here();
    (void)error;
    (void)size;
    *was = boards[n].state;
    s->board.found = *was == STORE_BOARD_KEPT ? boards[n].epoch : 0;
    return 0;
}

/* As the header says it from now on: by whatever death but a power cut. */
static void write_header(const struct store *s)
{
    boards[here()].state = STORE_BOARD_KEPT;
    boards[here()].epoch = s->board.epoch;
}

int __wrap_store_board_renew(struct store *s, bool raise, char *error, size_t size)
{
    if (__real_store_board_renew(s, raise, error, size) != 0)
        return -1;
    uint32_t at = here();
    for (uint32_t n = 0; n < STORE_BOARD_SEGMENTS; n++)
        if (boards[at].segments[n])
            memset(boards[at].segments[n], 0, STORE_BOARD_SEGMENT);
    write_header(s);
    return 0;
}

int __wrap_store_board_keep(struct store *s, char *error, size_t size)
{
    (void)error;
    (void)size;
    write_header(s);
    return 0;
}

void __wrap_store_board_close(struct store *s)
{
    (void)s;
    boards[here()].state = STORE_BOARD_CLEAN;
}

void sim_running_died(enum sim_owner node, bool power)
{
    if (power)
        boards[node - SIM_NODE].state = STORE_BOARD_LOST;
}
