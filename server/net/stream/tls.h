/* TLS, by OpenSSL: server streams, and the certificates and rules that they are under.  No file
 * outside of this room knows OpenSSL's SSL objects.
 *
 * Each loop has a library context of its own, so that loops do not meet in OpenSSL's locks, and
 * scratch buffers of its own, so that an idle stream holds none.
 *
 * Thread: as each function says. */
#ifndef ERGON_NET_TLS_H
#define ERGON_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ergon/activator.h>

struct poller_watcher;
struct stream;
struct tls_context;
struct tls_loop;

enum client_cert { CLIENT_CERT_NONE, CLIENT_CERT_OPTIONAL, CLIENT_CERT_REQUIRED };

struct tls_files {                      /* PEM paths; cert NULL: no TLS */
    const char *cert, *key, *client_ca; /* key NULL: it is in the file of the certificate */
    const char *crl;          /* revoked certificates of clients; NULL: no check; needs client_ca */
    const char *key_password; /* NULL: an encrypted key is refused */
    enum client_cert client_cert; /* but for NONE, client_ca is needed */
    bool min_tls13;
};

/* A copy for callers that keep these options: it owns copies of all texts.  False without memory:
 * the caller must free the copy all the same. */
bool tls_files_copy(struct tls_files *to, const struct tls_files *from);
void tls_files_free(struct tls_files *files); /* the password is wiped; zeroed is fine */

/* When the first of the lists in a file ends, as Unix seconds; INT64_MAX: none of them says.  Any
 * thread.  False with a text: it cannot be read, or holds no list. */
bool tls_crl_ends(const char *path, int64_t *ends, char *error, size_t size);

/* The same of the certificate at the head of a file.  False: there is none that can be read. */
bool tls_cert_ends(const char *path, int64_t *ends);

/* What the streams of one loop share.  Set-up and tear-down, when no loop runs.  The keys of
 * session tickets are those of `first`, the loop that was made first (NULL: new ones), so that a
 * ticket of one loop is good on all.  Without an activator no streams can be opened, and contexts
 * are for tls_bare.h: they give out no tickets, so each connection shows its certificate anew.
 * NULL: without memory, or OpenSSL gives no random bytes. */
struct tls_loop *tls_loop_new(struct activator *activator, const struct tls_loop *first);
void tls_loop_free(struct tls_loop *l); /* after its streams; NULL is fine */

/* Certificate and rules of one listener, for the streams of one loop, which must outlive it.  Any
 * thread.  A stream keeps a reference of its own.  NULL with a text for people in `error`: a file
 * cannot be read, is not PEM or does not fit the others; client_ca is missing; `l` is NULL; no
 * memory.  `files` is borrowed during the call. */
struct tls_context *tls_context_new(struct tls_loop *l, const struct tls_files *files, char *error,
                                    size_t size);
/* The same for connections that we make: the server has to show a certificate of `client_ca`. Whose
 * it is the caller asks by tls_peer_name(). */
struct tls_context *tls_context_new_client(struct tls_loop *l, const struct tls_files *files,
                                           char *error, size_t size);
void tls_context_unref(struct tls_context *context); /* any thread; NULL is fine */

/* A server's stream over `fd`, which it takes over, on the context's loop and its thread;
 * `watcher` as of stream_plain_open().  False without memory: then the fd is still the caller's.
 */
bool tls_open(struct stream *s, struct tls_context *context, int fd,
              const struct poller_watcher *watcher);

/* The same of a client's: of a context of tls_context_new_client().  It resumes the last session of
 * that context, if the server still accepts it. */
bool tls_connect(struct stream *s, struct tls_context *context, int fd,
                 const struct poller_watcher *watcher);

enum tls_name { TLS_NAME_FOUND, TLS_NAME_NO_CERTIFICATE, TLS_NAME_UNUSABLE };
/* The name in the peer's verified certificate, after the handshake: its first subjectAltName that
 * is a DNS name, else the first URI, else the first e-mail address.  A plain stream has no
 * certificate.  Unusable: there is no such name (the common name does not count), it has an invalid
 * character such as '*', or `size` is too small.  Loop's thread. */
enum tls_name tls_peer_name(const struct stream *s, char *buf, size_t size);

/* Its handshake has begun and is not done, which takes 44 KiB: it begins when the ClientHello has
 * come whole, be it in many records.  Or half a KiB of that is kept.  Loop's thread. */
bool tls_shakes(const struct stream *s);

/* "TLSv1.3"; NULL: the stream is plain, or its handshake is not done.  Loop's thread. */
const char *tls_version(const struct stream *s);
/* Was a session resumed, so that no certificate was shown?  Likewise. */
bool tls_was_resumed(const struct stream *s);

/* After certificates were read again: is the peer still to be believed, by this context of its
 * listener?  Where authorities or lists are other ones, its certificate is verified once more, with
 * the chain that was verified at its handshake; of a session that was resumed only its own
 * certificate is known, which is believed if that is enough. */
enum tls_trusted {
    TLS_TRUST_STANDS,   /* nothing that it depends on has changed */
    TLS_TRUST_VERIFIED, /* as well; to find out took a verification */
    TLS_TRUST_LOST      /* *why is a constant text */
};
/* A plain stream: TLS_TRUST_STANDS.  TLS_TRUST_LOST too: a handshake that goes on under the files
 * from before.  Loop's thread. */
enum tls_trusted tls_trusts(struct stream *s, struct tls_context *context, const char **why);

/* After STREAM_ERROR: TLS itself failed, by what the peer sent; and not the connection, or memory.
 * Loop's thread. */
bool tls_is_peers_error(const struct stream *s);

#endif
