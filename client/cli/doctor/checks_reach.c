/* Why there is no connection.  Of these there is one, and then nothing else is known. */
#include "client/cli/doctor/checks.h"

#include "client/cli/json.h"

#include <string.h>

static void look_kind(struct visit *v, const char *kind, const char *what)
{
    const json_t *none = fact(v, "no_connection");
    const char *url = json_text(none, "url"), *why = json_text(none, "why");
    if (strcmp(json_text(none, "kind"), kind) == 0)
        found(v, url, NULL, "%s %s: %s", what, url, why);
}

static void look_refused(struct visit *v)
{
    look_kind(v, "refused", "nobody listens at");
}

static void look_no_answer(struct visit *v)
{
    look_kind(v, "silent", "no connection to");
}

static void look_tls(struct visit *v)
{
    look_kind(v, "tls", "no connection by TLS to");
}

static void look_denied(struct visit *v)
{
    look_kind(v, "denied", "the server does not let us in at");
}

static void look_no_right(struct visit *v)
{
    look_kind(v, "no right", "we have no right to open");
}

const struct check CHECKS_REACH[] = {
    {"server_down", "error", look_refused,
     "on its machine, systemctl status ergond says whether it runs, and journalctl -u ergond -n 50 "
     "why it ended; if it runs, its listen names another address: ergon context show says which we "
     "take"},
    {"server_unreachable", "error", look_no_answer,
     "is its machine up, its name right (ergon context show), and no firewall between?"},
    {"tls_fails", "error", look_tls,
     "--cacert names the authority of its certificate, --server-name the name in it; ergond "
     "--check-config, on its machine, says whether its files are right, and ergon doctor by its "
     "Unix socket when they end"},
    {"not_let_in", "error", look_denied,
     "ergon context show says which token is used; on its machine ergon token makes a new one, and "
     "a reload takes it over"},
    {"socket_closed", "error", look_no_right,
     "become a member of the group that its socket belongs to (ls -l shows it; usermod -aG ergon "
     "USER, and log in again), or use sudo -u ergon"},
    {0},
};
