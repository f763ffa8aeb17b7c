#include "server/store/postgres/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- By state --- */

/* What a state, or the class that begins it, means.  The first that fits counts. */
struct meaning {
    const char *state; /* its begin */
    enum error_kind kind;
    enum store_error error;
    const char *advice; /* what to do */
};

static const struct meaning meanings[] = {
    {STATE_FENCED, ERROR_NUMBER, STORE_AWAY, "another batch came before this one"},
    {STATE_LEVEL, ERROR_LEVEL, STORE_UNREPLICATED,
     "no commit waits for a standby; set synchronous_standby_names, or store_replicated: "
     "by-storage"},
    {STATE_ROWS, ERROR_REFUSED, STORE_REFUSED, "a row that was to be changed is not there"},
    {"08", ERROR_AWAY, STORE_AWAY, "the connection broke"},
    {"25006", ERROR_AWAY, STORE_AWAY,
     "the server is read-only: it was demoted, or it is a standby; name all hosts in the URL "
     "(host1,host2) so that the new primary is found"},
    {"22", ERROR_REFUSED, STORE_REFUSED, "a value that a column cannot hold"},
    {"23", ERROR_REFUSED, STORE_REFUSED, "a row that is there already, or that cannot be"},
    {"54", ERROR_REFUSED, STORE_REFUSED, "a row that is too large"},
    {"40", ERROR_AGAIN, STORE_AWAY, "another transaction was in the way"},
    {"55P03", ERROR_AGAIN, STORE_AWAY, "a lock was not given"},
    {"57014", ERROR_AGAIN, STORE_AWAY, "the statement was cancelled"},
    {"28P01", ERROR_BROKEN, STORE_IO,
     "the password is wrong or missing; put it into ~/.pgpass, a service file or a passfile= of "
     "the URL, readable by this user alone"},
    {"28", ERROR_BROKEN, STORE_IO,
     "the server does not let this role in; look at pg_hba.conf and at the role's name"},
    {"3D000", ERROR_BROKEN, STORE_IO, "there is no such database; create it, or correct the URL"},
    {"3F000", ERROR_BROKEN, STORE_IO, "the schema ergon is missing; run 'ergon cluster init URL'"},
    {"42501", ERROR_BROKEN, STORE_READ_ONLY,
     "the role has too few rights; run 'ergon cluster upgrade URL --role ROLE' as the owner of the "
     "schema"},
    {"42", ERROR_BROKEN, STORE_IO,
     "the schema is of another version; run 'ergon cluster upgrade', or use the ergond that made "
     "it"},
    {"53100", ERROR_BROKEN, STORE_FULL, "the disk of the database is full; make room there"},
    {"53200", ERROR_BROKEN, STORE_MEMORY, "the database has no memory left"},
    {"53300", ERROR_AWAY, STORE_AWAY,
     "the server has no connection left; raise max_connections, or close others"},
    {"53", ERROR_BROKEN, STORE_IO, "the server lacks resources"},
    {"57", ERROR_AWAY, STORE_AWAY, "the server starts, stops, or ended the connection"},
    {"58", ERROR_BROKEN, STORE_IO, "the server's files fail; look at its log"},
    {"F0", ERROR_BROKEN, STORE_IO, "the server's configuration is broken; look at its log"},
    {"XX001", ERROR_BROKEN, STORE_CORRUPT, "the database is damaged; restore it from a backup"},
    {"XX002", ERROR_BROKEN, STORE_CORRUPT, "an index is damaged; run REINDEX on the schema ergon"},
};

static const struct meaning *meaning_of(const char *state)
{
    static const struct meaning broke = {"", ERROR_AWAY, STORE_AWAY,
                                         "the server cannot be reached"},
                                other = {"", ERROR_BROKEN, STORE_IO,
                                         "look at the log of the server"};
    if (!state || !*state)
        return &broke;
    for (unsigned n = 0; n < sizeof meanings / sizeof *meanings; n++)
        if (strncmp(state, meanings[n].state, strlen(meanings[n].state)) == 0)
            return &meanings[n];
    return &other;
}

enum error_kind error_kind_of(const char *state)
{
    return meaning_of(state)->kind;
}

/* --- Texts --- */

/* The URL is named without user and parameters. */
void error_say(struct store_fault *fault, enum store_error error, const char *where,
               const char *format, ...)
{
    va_list args;
    const char *host = strstr(where, "://"), *user;
    int len;
    host = host ? host + 3 : where;
    user = host + strcspn(host, "@/?");
    len = snprintf(fault->text, sizeof fault->text, "store %.*s%.*s: ", (int)(host - where), where,
                   (int)strcspn(*user == '@' ? user + 1 : host, "? "),
                   *user == '@' ? user + 1 : host);
    fault->error = error;
    if (len < 0 || (size_t)len >= sizeof fault->text)
        return;
    va_start(args, format);
    vsnprintf(fault->text + len, sizeof fault->text - (size_t)len, format, args);
    va_end(args);
}

void error_add_retry(struct store_fault *fault)
{
    static const char text[] = "; it is tried again";
    size_t len = strlen(fault->text);
    if (len > sizeof fault->text - sizeof text)
        len = sizeof fault->text - sizeof text;
    memcpy(fault->text + len, text, sizeof text);
}

void error_say_former(struct store_fault *fault, const char *where, uint64_t epoch, uint64_t own)
{
    error_say(fault, STORE_AWAY, where,
              "the server knows the epoch %llu, and not yet %llu, which this node has won: it is a "
              "former primary; take it out of the network or of the URL",
              (unsigned long long)epoch, (unsigned long long)own);
}

/* Its last line that does not go on from the one before: libpq has one for each host. */
static int last_line(const char *said, const char **at)
{
    size_t len = strlen(said);
    while (len > 0 && (said[len - 1] == '\n' || said[len - 1] == '\r'))
        len--;
    size_t begin = len;
    for (;;) {
        while (begin > 0 && said[begin - 1] != '\n')
            begin--;
        if (begin == 0 || said[begin] != '\t')
            break;
        len = --begin;
    }
    *at = said + begin;
    return (int)(len - begin);
}

void error_describe(struct store_fault *fault, const char *where, const char *state,
                    const char *said)
{
    const struct meaning *m = meaning_of(state);
    const char *line = "";
    int len = said ? last_line(said, &line) : 0;
    if (len > 0)
        error_say(fault, m->error, where, "%s (%s%s%.*s)", m->advice, state ? state : "",
                  state ? ": " : "", len, line);
    else
        error_say(fault, m->error, where, "%s%s%s%s", m->advice, state ? " (" : "",
                  state ? state : "", state ? ")" : "");
}

void error_of_result(struct store_fault *fault, const char *where, const PGresult *result)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *said = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    error_describe(fault, where, state, said ? said : result ? PQresultErrorMessage(result) : NULL);
}

void error_of_connection(struct store_fault *fault, const char *where, const PGconn *pg)
{
    error_describe(fault, where, NULL, pg ? PQerrorMessage(pg) : "no memory");
}
