/* Where spans go: http://HOST[:PORT][/PATH] or https://.  Without a port it is 4318, as OTLP has
 * it, and 443 of HTTPS, as who offers collectors for money have it; without a path /v1/traces.
 * Pure; any thread. */
#ifndef ERGON_BASE_ENDPOINT_H
#define ERGON_BASE_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ENDPOINT_HOST_MAX = 253,
    ENDPOINT_PATH_MAX = 255,
    ENDPOINT_PORT = 4318,
    ENDPOINT_TLS_PORT = 443
};

struct endpoint {
    char host[ENDPOINT_HOST_MAX + 1];       /* without brackets */
    char authority[ENDPOINT_HOST_MAX + 16]; /* as the header Host has it */
    char path[ENDPOINT_PATH_MAX + 1];
    uint16_t port;
    bool tls;
};

/* NULL and *out filled, or a constant text that says what is wrong. */
const char *endpoint_parse(const char *text, struct endpoint *out);

#endif
