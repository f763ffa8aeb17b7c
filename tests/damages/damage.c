#include "tests/damages/damage.h"

#include <string.h>

#include "tests/support/random.h"

enum { PAGE = 4096, FRAME = PAGE + 24, HEAD = 32, FLIPS = 16, RUN = 8192, GARBAGE = 64 };

static void flip(struct store_part *part, uint64_t *random)
{
    if (part->len > 0)
        part->at[chance(random, part->len)] ^= (uint8_t)(1 << chance(random, 8));
}

static void zero(struct store_part *part, size_t at, size_t len)
{
    if (at < part->len)
        memset(part->at + at, 0, len < part->len - at ? len : part->len - at);
}

static size_t piece(const struct store_part *part, size_t head, size_t size, uint64_t *random)
{
    return part->len < head + size ? 0 : head + size * chance(random, (part->len - head) / size);
}

static void copy(struct store_part *part, size_t head, size_t size, uint64_t *random)
{
    size_t from = piece(part, head, size, random), to = piece(part, head, size, random);
    if (part->len >= head + size)
        memmove(part->at + to, part->at + from, size);
}

static void cut(struct store_part *part, size_t head, size_t size, uint64_t *random)
{
    if (part->len > 0)
        part->len = chance(random, 2) ? chance(random, part->len) : piece(part, head, size, random);
}

static void garbage(struct store_part *part, uint64_t *random)
{
    for (size_t at = part->len ? chance(random, part->len) : 0, n = chance(random, GARBAGE) + 1;
         n > 0 && at < part->len; n--)
        part->at[at++] = (uint8_t)chance(random, 256);
}

static struct damage do_one(struct store_files *files, uint64_t *random)
{
    struct store_part *file = &files->part[STORE_FILE], *log = &files->part[STORE_LOG];
    bool in_log = chance(random, 2) && log->len > 0;
    struct store_part *part = in_log ? log : file;
    size_t head = in_log ? HEAD : 0, size = in_log ? FRAME : PAGE;
    switch (chance(random, 10)) {
    case 0:
    case 1:
    case 2:
        flip(part, random);
        return (struct damage){"a bit", in_log, !in_log};
    case 3:
        for (uint32_t n = 2 + chance(random, FLIPS); n > 0; n--)
            flip(part, random);
        return (struct damage){"bits", in_log, !in_log};
    case 4:
        zero(part, piece(part, head, size, random), size);
        return (struct damage){"a page of zeros", in_log, !in_log};
    case 5:
        zero(part, part->len ? chance(random, part->len) : 0, 1 + chance(random, RUN));
        return (struct damage){"a run of zeros", in_log, !in_log};
    case 6:
        copy(part, head, size, random);
        return (struct damage){"a page twice", in_log, !in_log};
    case 7:
        cut(part, head, size, random);
        return (struct damage){"cut", in_log, !in_log};
    case 8:
        garbage(part, random);
        return (struct damage){"garbage", in_log, !in_log};
    default:
        if (chance(random, 2))
            part->len = 0;
        else
            part->there = false;
        return (struct damage){"missing or empty", in_log, false};
    }
}

/* A store of which nothing is left is a new one. */
struct damage damage_do(struct store_files *files, uint64_t *random)
{
    const struct store_part *part = files->part;
    struct damage done = do_one(files, random);
    bool any = (part[STORE_FILE].there && part[STORE_FILE].len > 0) ||
               (part[STORE_LOG].there && part[STORE_LOG].len > 0);
    done.log = done.log || !any;
    return done;
}

void damage_board(struct store_part *board, uint64_t *random)
{
    enum { SLOT = 32 };
    switch (chance(random, 8)) {
    case 0:
        flip(board, random);
        return;
    case 1:
        for (uint32_t n = 2 + chance(random, FLIPS); n > 0; n--)
            flip(board, random);
        return;
    case 2:
        zero(board, board->len ? chance(random, board->len) : 0, 1 + chance(random, RUN));
        return;
    case 3:
        cut(board, PAGE, SLOT, random);
        return;
    case 4:
        for (uint32_t n = 1 + chance(random, FLIPS); n > 0; n--)
            garbage(board, random);
        return;
    case 5:
        copy(board, PAGE, SLOT, random);
        return;
    case 6:
        board->there = false;
        return;
    default:
        return; /* as a kill leaves it */
    }
}
