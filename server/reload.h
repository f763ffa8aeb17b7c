/* What a reload (SIGHUP) changes while the server runs.
 *
 * Thread: main.  Both functions block on files.  The acceptor is borrowed; the loops own the new
 * secrets. */
#ifndef ERGON_RELOAD_H
#define ERGON_RELOAD_H

#include "server/config/config.h"
#include "server/net/net.h"

/* The originator of a reload, and how it is notified. */
struct reload_request {
    const char *by;           /* "uid:0", for the audit log, which records what has changed */
    void (*taken)(void *arg); /* called by another thread once no loop uses the old secrets; may
                               * be NULL */
    void *arg;
};

/* Loads the tokens, if a token file is configured, and reads the certificates of all listeners
 * again. Either all of it takes effect, or nothing.  0, or -1 and a text: a file cannot be read, a
 * line of the token file or a certificate is wrong, or there is no memory.  `request` is NULL at
 * the start. */
int reload_secrets(const struct config *c, struct acceptor *acceptor,
                   const struct reload_request *request, char *error, size_t size);

/* Reads the configuration again, and applies the log level, the tokens, and the contents of the
 * certificate files.  Other changes are logged as needing a restart.  After an error everything
 * stays as it was, and the log says what is wrong.  On success *config is replaced, the old one is
 * freed, and `taken` will be called. */
bool reload(struct config **config, const struct config_input *input, struct acceptor *acceptor,
            const struct reload_request *request);

#endif
