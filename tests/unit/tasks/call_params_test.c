/* Long parameters in memory that a server shares with a process of a module. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/tasks/call_params.h"
#include "tests/support/cmocka_env.h"

enum { BLOCK = CALL_PARAMS_BLOCK };

struct sides {
    int fd;
    struct call_params *server;
    const struct call_params *process;
};

static void set_up(struct sides *s)
{
    s->server = call_params_new(&s->fd);
    assert_non_null(s->server);
    s->process = call_params_map(s->fd);
    assert_non_null(s->process);
}

static void tear_down(struct sides *s)
{
    call_params_free((struct call_params *)(uintptr_t)s->process);
    call_params_free(s->server);
    close(s->fd);
}

static uint16_t put(struct sides *s, uint8_t value, size_t size)
{
    uint16_t place;
    void *room = call_params_room(s->server, size, &place);

    assert_non_null(room);
    memset(room, value, size);
    return place;
}

static void expect(const struct sides *s, uint16_t place, uint8_t value, size_t size)
{
    struct span found;

    assert_true(call_params_find(s->process, call_params_offset(place), size, &found));
    assert_int_equal(found.len, size);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(found.at[i], value);
}

TEST(the_process_reads_what_the_server_put_there)
{
    struct sides s;

    set_up(&s);
    uint16_t a = put(&s, 'a', 1), b = put(&s, 'b', BLOCK), c = put(&s, 'c', BLOCK + 1);
    uint16_t d = put(&s, 'd', 3);
    expect(&s, a, 'a', 1);
    expect(&s, b, 'b', BLOCK);
    expect(&s, c, 'c', BLOCK + 1);
    expect(&s, d, 'd', 3);
    tear_down(&s);
}

TEST(what_was_released_is_used_again)
{
    struct sides s;

    set_up(&s);
    uint16_t a = put(&s, 'a', 2 * BLOCK), b = put(&s, 'b', BLOCK);
    call_params_release(s.server, a);
    uint16_t c = put(&s, 'c', 3 * BLOCK); /* does not fit before b */
    uint16_t d = put(&s, 'd', BLOCK), e = put(&s, 'e', BLOCK);
    assert_true(c > b);
    assert_int_equal(d, a);
    assert_int_equal(e, a + 1);
    expect(&s, b, 'b', BLOCK);
    expect(&s, c, 'c', 3 * BLOCK);
    expect(&s, d, 'd', BLOCK);
    expect(&s, e, 'e', BLOCK);
    tear_down(&s);
}

TEST(there_is_no_room_for_more_than_it_has)
{
    struct sides s;
    uint16_t place, all[CALL_PARAMS_BLOCKS];

    set_up(&s);
    assert_null(call_params_room(s.server, (size_t)CALL_PARAMS_BLOCKS * BLOCK + 1, &place));
    assert_non_null(call_params_room(s.server, (size_t)CALL_PARAMS_BLOCKS * BLOCK, &place));
    assert_null(call_params_room(s.server, 1, &place));
    call_params_release(s.server, place);
    for (int i = 0; i < CALL_PARAMS_BLOCKS; i++)
        assert_non_null(call_params_room(s.server, 1, &all[i]));
    assert_null(call_params_room(s.server, 1, &place));
    call_params_release(s.server, all[CALL_PARAMS_BLOCKS - 1]);
    assert_null(call_params_room(s.server, BLOCK + 1, &place));
    assert_non_null(call_params_room(s.server, BLOCK, &place));
    assert_int_equal(place, all[CALL_PARAMS_BLOCKS - 1]);
    tear_down(&s);
}

/* Pages of the memory that are there. */
static size_t resident(const struct sides *s)
{
    static unsigned char pages[(size_t)CALL_PARAMS_BLOCKS * BLOCK / 4096];
    struct span all;
    size_t count = 0;

    assert_true(call_params_find(s->process, 0, sizeof pages * 4096, &all));
    assert_int_equal(mincore((void *)(uintptr_t)all.at, all.len, pages), 0);
    for (size_t i = 0; i < sizeof pages; i++)
        count += pages[i] & 1;
    return count;
}

TEST(most_memory_goes_back_to_the_system)
{
    struct sides s;

    set_up(&s);
    assert_int_equal(resident(&s), 0);
    uint16_t first = put(&s, 'f', 1);
    assert_int_equal(resident(&s), BLOCK / 4096);
    uint16_t a = put(&s, 'a', 2 * CALL_PARAMS_KEPT), b = put(&s, 'b', 1);
    call_params_release(s.server, a);
    assert_true(resident(&s) > 2 * CALL_PARAMS_KEPT / 4096);
    call_params_release(s.server, b);
    assert_int_equal(resident(&s), CALL_PARAMS_KEPT / 4096); /* while another is there */
    expect(&s, first, 'f', 1);
    a = put(&s, 'a', 2 * CALL_PARAMS_KEPT);
    expect(&s, a, 'a', 2 * CALL_PARAMS_KEPT);
    tear_down(&s);
}

TEST(the_process_cannot_make_it_smaller)
{
    struct sides s;

    set_up(&s);
    assert_int_equal(ftruncate(s.fd, 0), -1);
    assert_int_equal(errno, EPERM);
    tear_down(&s);
}

TEST(what_is_outside_is_refused)
{
    const uint64_t size = (uint64_t)CALL_PARAMS_BLOCKS * BLOCK;
    struct sides s;
    struct span found;

    set_up(&s);
    assert_true(call_params_find(s.process, size - 1, 1, &found));
    assert_false(call_params_find(s.process, size - 1, 2, &found));
    assert_false(call_params_find(s.process, size + 1, 0, &found));
    assert_false(call_params_find(s.process, 1, UINT64_MAX, &found));
    assert_null(call_params_map(STDIN_FILENO));
    tear_down(&s);
}
