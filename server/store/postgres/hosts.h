/* The addresses that a URL names.  libpq gives each of them a time of its own only where it
 * connects by itself, and then nothing ends its wait; so they are tried one by one.
 *
 * Thread: any one.  Blocks while a name is looked up. */
#ifndef ERGON_STORE_POSTGRES_HOSTS_H
#define ERGON_STORE_POSTGRES_HOSTS_H

#include <ergon/ao.h>

enum { HOSTS_MAX = 16 };

struct host {
    char name[256], address[64], port[8]; /* each empty: libpq's default */
};

struct hosts {
    struct host list[HOSTS_MAX];
    uint32_t count;  /* at least 1 */
    ao_time timeout; /* of each, ns: connect_timeout of the URL or the service, or `otherwise` */
};

/* Of the connection string, its service file and the environment; each address of a name is a host,
 * in the order of the name service.  What cannot be parsed or looked up is left to libpq. */
void hosts_of(const char *where, ao_time otherwise, struct hosts *out);

#endif
