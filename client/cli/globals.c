#include "client/cli/cli.h"

#include "client/cli/files.h"

#include <stdlib.h>
#include <string.h>

enum { TOKEN_FILE_MAX = 4096 }; /* bytes */

static const char *const DEFAULT_SERVER = "ergon://127.0.0.1:7466";

#define GLOBAL(field) offsetof(struct globals, field)
const struct option_spec GLOBAL_OPTIONS[] = {
    {'s', "server", "URL", "ergon://host:port, ergons://host:port (TLS), unix:///path", OPTION_TEXT,
     GLOBAL(server)},
    {0, "token-file", "FILE", "file with the bearer token; - is standard input", OPTION_TEXT,
     GLOBAL(token_file)},
    {0, "cacert", "FILE", "authorities that may vouch for the server (PEM)", OPTION_TEXT,
     GLOBAL(cacert)},
    {0, "cert", "FILE", "client certificate with its chain (PEM)", OPTION_TEXT, GLOBAL(cert)},
    {0, "key", "FILE", "its private key (PEM); default: in --cert", OPTION_TEXT, GLOBAL(key)},
    {0, "server-name", "NAME", "what the server's certificate must name", OPTION_TEXT,
     GLOBAL(server_name)},
    {0, "insecure", NULL, "use TLS without looking at the server's certificate", OPTION_FLAG,
     GLOBAL(insecure)},
    {0, "timeout", "TIME", "give up after this long: 250ms, 5s", OPTION_DURATION,
     GLOBAL(timeout_ns)},
    {0, "json", NULL, "print JSON, on one line", OPTION_FLAG, GLOBAL(json)},
    {'q', "quiet", NULL, "print no messages; the exit status tells", OPTION_FLAG, GLOBAL(quiet)},
    {'v', "verbose", NULL, "print more", OPTION_FLAG, GLOBAL(verbose)},
    {0, "no-color", NULL, "no colours; as NO_COLOR", OPTION_FLAG, GLOBAL(no_color)},
    {'h', "help", NULL, "print this help", OPTION_FLAG, GLOBAL(help)},
    {'V', "version", NULL, "print the version", OPTION_FLAG, GLOBAL(version)},
    {0},
};
#undef GLOBAL

static bool read_token(struct globals *g)
{
    struct file_bytes file;
    if (!file_read(g->token_file, TOKEN_FILE_MAX, &file))
        return false;
    g->token = strndup((const char *)file.at, strcspn((const char *)file.at, "\r\n"));
    explicit_bzero(file.at, file.len);
    file_bytes_fini(&file);
    if (g->token != NULL && g->token[0] != 0)
        return true;
    complain("token file %s holds no token in its first line", g->token_file);
    return false;
}

bool globals_finish(struct globals *g)
{
    const char *token = g->token_file == NULL ? environment("ERGON_TOKEN") : NULL;
    if (g->server == NULL)
        g->server = environment("ERGON_URL");
    if (g->server == NULL)
        g->server = DEFAULT_SERVER;
    if (g->cacert == NULL)
        g->cacert = environment("ERGON_CACERT");
    if (token != NULL) {
        g->token = strdup(token);
        if (g->token == NULL)
            complain("out of memory");
        return g->token != NULL;
    }
    if (g->token_file == NULL)
        g->token_file = environment("ERGON_TOKEN_FILE");
    return g->token_file == NULL || read_token(g);
}

void globals_fini(struct globals *g)
{
    if (g->token != NULL)
        explicit_bzero(g->token, strlen(g->token));
    free(g->token);
    g->token = NULL;
}
