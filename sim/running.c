#include "sim/running.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "server/store/store_parts.h"

/* Of each node. */
static struct {
    void *segments[STORE_BOARD_SEGMENTS];
    enum store_board state; /* what the next start finds */
    uint64_t epoch, found;  /* of a cluster: in the file; as the process has found it */
    uint64_t own;           /* what the process writes there next */
} boards[SIM_NODES];

void *__wrap_store_board_segment(struct store *s, uint32_t n, bool grow);
int __wrap_store_board_open(struct store *s, enum store_board *was, char *error, size_t size);
int __real_store_board_renew(struct store *s, bool raise, char *error, size_t size);
int __wrap_store_board_renew(struct store *s, bool raise, char *error, size_t size);
int __wrap_store_board_keep(struct store *s, char *error, size_t size);
void __wrap_store_board_close(struct store *s);
uint64_t __wrap_store_board_epoch(const struct store *s);
void __wrap_store_board_own(struct store *s, uint64_t epoch);

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
    (void)s;
    (void)error;
    (void)size;
    *was = boards[n].state;
    boards[n].found = *was == STORE_BOARD_KEPT ? boards[n].epoch : 0;
    boards[n].own = 0;
    return 0;
}

/* As the header says it from now on: by whatever death but a power cut. */
static void write_header(uint32_t n)
{
    boards[n].state = STORE_BOARD_KEPT;
    boards[n].epoch = boards[n].own;
}

int __wrap_store_board_renew(struct store *s, bool raise, char *error, size_t size)
{
    if (__real_store_board_renew(s, raise, error, size) != 0)
        return -1;
    uint32_t at = here();
    for (uint32_t n = 0; n < STORE_BOARD_SEGMENTS; n++)
        if (boards[at].segments[n])
            memset(boards[at].segments[n], 0, STORE_BOARD_SEGMENT);
    write_header(at);
    return 0;
}

int __wrap_store_board_keep(struct store *s, char *error, size_t size)
{
    (void)s;
    (void)error;
    (void)size;
    write_header(here());
    return 0;
}

void __wrap_store_board_close(struct store *s)
{
    (void)s;
    boards[here()].state = STORE_BOARD_CLEAN;
}

uint64_t __wrap_store_board_epoch(const struct store *s)
{
    (void)s;
    return boards[here()].found;
}

void __wrap_store_board_own(struct store *s, uint64_t epoch)
{
    (void)s;
    boards[here()].own = epoch;
}

void sim_running_died(enum sim_owner node, bool power)
{
    if (power)
        boards[node - SIM_NODE].state = STORE_BOARD_LOST;
}
