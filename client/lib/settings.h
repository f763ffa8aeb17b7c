/* What a client was told: its options with the defaults filled in, the URL taken apart, and TLS
 * made ready.  Thread: that of the client, which owns it. */
#ifndef ERGON_CLIENT_SETTINGS_H
#define ERGON_CLIENT_SETTINGS_H

#include "base/url.h"
#include "client/lib/tls.h"
#include <ergon/client.h>

struct settings {
    struct ergon_options options; /* its strings are owned */
    struct url url;
    struct tls *tls;         /* owned; NULL for plain */
    const char *server_name; /* what the certificate must name; points into the two above */
};

/* Takes a copy of `from`, of a caller who may know fewer or more options.  OK, INVALID (options,
 * TLS files) or MEMORY, and `why` says what is wrong.  settings_fini() follows in any case. */
enum ergon_end settings_init(struct settings *s, const struct ergon_options *from, char *why,
                             size_t why_size);
void settings_fini(struct settings *s);

#endif
