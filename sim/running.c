#include "sim/running.h"

#include <stdlib.h>
#include <string.h>

#include "server/store/store_parts.h"

static void *segments[STORE_BOARD_SEGMENTS];
static enum store_board state = STORE_BOARD_LOST; /* what the next start finds */

void *__wrap_store_board_segment(struct store *s, uint32_t n, bool grow);
int __wrap_store_board_open(struct store *s, enum store_board *was, char *error, size_t size);
int __real_store_board_renew(struct store *s, bool raise, char *error, size_t size);
int __wrap_store_board_renew(struct store *s, bool raise, char *error, size_t size);
void __wrap_store_board_close(struct store *s);

void *__wrap_store_board_segment(struct store *s, uint32_t n, bool grow)
{
    (void)s;
    if (n >= STORE_BOARD_SEGMENTS)
        return NULL;
    if (!segments[n] && grow)
        segments[n] = calloc(1, STORE_BOARD_SEGMENT);
    return segments[n];
}

int __wrap_store_board_open(struct store *s, enum store_board *was, char *error, size_t size)
{
    (void)s;
    (void)error;
    (void)size;
    *was = state;
    return 0;
}

int __wrap_store_board_renew(struct store *s, bool raise, char *error, size_t size)
{
    if (__real_store_board_renew(s, raise, error, size) != 0)
        return -1;
    for (uint32_t n = 0; n < STORE_BOARD_SEGMENTS; n++)
        if (segments[n])
            memset(segments[n], 0, STORE_BOARD_SEGMENT);
    state = STORE_BOARD_KEPT; /* by whatever death but a power cut */
    return 0;
}

void __wrap_store_board_close(struct store *s)
{
    (void)s;
    state = STORE_BOARD_CLEAN;
}

void sim_running_died(bool power)
{
    if (power)
        state = STORE_BOARD_LOST;
}
