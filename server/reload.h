/* SIGHUP: what can change while the server runs.
 *
 * Thread: main.  Both block on files.  The acceptor is borrowed; the new secrets are the loops'. */
#ifndef ERGON_RELOAD_H
#define ERGON_RELOAD_H

#include "server/config/config.h"
#include "server/net/net.h"

/* Who asked for it, and who is told. */
struct reload_wish {
    const char *by;           /* "uid:0": what has changed is recorded in the audit log */
    void (*taken)(void *arg); /* no loop goes by what was before; by another thread; NULL: nobody */
    void *arg;
};

/* Loads the tokens, if there is a file of them, and reads the certificates of all listeners again:
 * all of it takes effect, or nothing.  0, or -1 and a text: a file that cannot be read, a line of
 * the token file or a certificate that is wrong, no memory.  `wish` NULL: the start. */
int reload_secrets(const struct config *c, struct acceptor *acceptor,
                   const struct reload_wish *wish, char *error, size_t size);

/* Reads the configuration again; takes over the log level, the tokens, and the contents of the
 * certificate files; logs what else has changed as needing a restart.  With any error everything
 * stays as it was, and the log says what is wrong.  On success *config is replaced and the old one
 * freed, and `taken` will be called. */
bool reload(struct config **config, const struct config_input *input, struct acceptor *acceptor,
            const struct reload_wish *wish);

#endif
