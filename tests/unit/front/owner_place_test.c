/* Where the owner is, while the name service gives other answers: it is played. */
#include "server/front/owner_place.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/support/cmocka_env.h"

enum { PATIENCE = 20 /* s; for a lookup that comes within one */ };

static struct owner_finder *finder;
static struct cluster_view view;
static atomic_int host; /* the owner's address is 127.0.0.HOST; 0: its name is not known */
static sem_t asked;

int __real_getaddrinfo(const char *name, const char *port, const struct addrinfo *hints,
                       struct addrinfo **list);
int __wrap_getaddrinfo(const char *name, const char *port, const struct addrinfo *hints,
                       struct addrinfo **list);
int __wrap_getaddrinfo(const char *name, const char *port, const struct addrinfo *hints,
                       struct addrinfo **list)
{
    char address[16];

    int number = host;
    sem_post(&asked);
    if (number == 0)
        return EAI_AGAIN;
    snprintf(address, sizeof address, "127.0.0.%d", number);
    return __real_getaddrinfo(address, port, hints, list);
}

static enum cluster_role role_now(const struct cluster *c)
{
    return view.role;
}

static void view_now(const struct cluster *c, struct cluster_view *out)
{
    *out = view;
}

static int make(void **state)
{
    const struct cluster_roles roles = {.role = role_now, .view = view_now};

    view = (struct cluster_view){
        .role = CLUSTER_FRONT, .owner = "a", .address = "ergons://owner.example:7000", .epoch = 1};
    host = 1;
    sem_init(&asked, 0, 0);
    finder = owner_finder_new(&roles, 0);
    assert_non_null(finder);
    return 0;
}

static int end(void **state)
{
    owner_finder_free(finder);
    sem_destroy(&asked);
    return 0;
}

#define PLACE_TEST(name) TEST_WITH(make, end, name)

static void await_lookup(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    assert_int_equal(sem_timedwait(&asked, &until), 0);
}

/* The last number of the address; 0: there is none. */
static int found(void)
{
    static struct owner_place place;
    struct sockaddr_in address;

    owner_finder_get(finder, &place);
    if (place.target.count == 0)
        return 0;
    assert_string_equal(place.why, "");
    memcpy(&address, &place.target.at[0], sizeof address);
    return (int)(ntohl(address.sin_addr.s_addr) & 0xff);
}

PLACE_TEST(the_name_of_an_owner_that_is_not_reached_is_looked_up_again)
{
    assert_int_equal(owner_finder_start(finder), 0);
    await_lookup();
    while (found() != 1) /* a note about the place before it would be forgotten */
        sched_yield();
    host = 2;
    owner_finder_note(finder, "Connection refused");
    await_lookup();
    owner_finder_stop(finder); /* once it has stored that */
    assert_int_equal(found(), 2);
}

PLACE_TEST(a_name_service_that_fails_leaves_the_addresses_of_the_same_owner)
{
    owner_finder_look(finder);
    assert_int_equal(found(), 1);
    host = 0;
    owner_finder_look(finder);
    assert_int_equal(found(), 1);
    view.epoch = 2;
    owner_finder_look(finder);
    assert_int_equal(found(), 0);
    host = 3;
    owner_finder_look(finder);
    assert_int_equal(found(), 3);
}
