/* Who gets in, for how long yet; and clocks, by which all of that goes. */
#include "client/cli/doctor/checks.h"

#include "client/cli/json.h"

#include <math.h>
#include <stdio.h>

enum {
    SKEW_MS = 2000,
    DAY_MS = 86400000,
    SOON_DAYS = 14,    /* certificates and tokens: somebody has to make new ones */
    SOON_CRL_DAYS = 3, /* lists are made anew each week or so */
    KERNEL_MAJOR = 4,  /* EPOLLEXCLUSIVE, and all that is tested, is there from 4.18 on */
    KERNEL_MINOR = 18
};

/* The answer was made between question and answer: so far it may be off. */
static void look_skew(struct visit *v)
{
    double there = figure(v, "info.time"), asked = figure(v, "asked_ms");
    double off = there - (figure(v, "now") - asked / 2);
    if (there > 0 && fact(v, "now") != NULL && fabs(off) - asked / 2 >= SKEW_MS)
        found(v, "", json_pack("{s:f, s:f}", "ahead_ms", off, "asked_ms", asked),
              "the server's clock is %.1f s %s this machine's", fabs(off) / 1000,
              off > 0 ? "ahead of" : "behind");
}

static void look_unsynchronised(struct visit *v)
{
    if (json_is_true(fact(v, "local.clock_unsynchronised")))
        found(v, "", NULL, "no service keeps the clock of the server's machine right");
}

static void look_kernel(struct visit *v)
{
    int major = 0, minor = 0;
    const char *release = json_text(fact(v, "local"), "kernel");
    if (sscanf(release, "%d.%d", &major, &minor) == 2 &&
        (major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR)))
        found(v, "", json_pack("{s:s}", "kernel", release),
              "the kernel %s is older than any that the server is tested on", release);
}

static void look_listeners(struct visit *v)
{
    double open = figure(v, "info.setup.open_listeners");
    if (open > 0)
        found(
            v, "", json_pack("{s:f}", "listeners", open),
            "%.0f listeners are reached by other machines without TLS, or whoever reaches them may "
            "do everything",
            open);
}

/* `at`: Unix ms. */
static void look_moment(struct visit *v, const char *about, double at, double soon_days,
                        const char *what)
{
    double now = figure(v, "info.time");
    double days = (at - now) / DAY_MS;
    if (at <= 0 || now <= 0 || days >= soon_days)
        return;
    found(v, about, json_pack("{s:f, s:f}", "at", at, "days", days),
          days > 0 ? "%s%s%s ends in %.1f days" : "%s%s%s has ended %.1f days ago", what,
          about[0] != 0 ? " of " : "", about, fabs(days));
}

/* Each listener's own. */
static void look_ends(struct visit *v, const char *key, double soon_days, const char *what)
{
    size_t i;
    json_t *l;
    json_array_foreach(fact(v, "info.setup.listeners"), i, l)
    {
        const json_t *at = json_object_get(l, key);
        look_moment(v, json_text(l, "url"), json_number_value(at), soon_days, what);
    }
}

static void look_certificates(struct visit *v)
{
    look_ends(v, "certificate_ends", SOON_DAYS, "the certificate");
}

static void look_crls(struct visit *v)
{
    look_ends(v, "crl_ends", SOON_CRL_DAYS, "the list of revoked certificates");
}

/* The first of all. */
static void look_tokens(struct visit *v)
{
    look_moment(v, "", figure(v, "info.setup.token_ends"), SOON_DAYS, "a token");
}

static void look_exposed(struct visit *v)
{
    double files = figure(v, "info.setup.exposed_files");
    if (files > 0)
        found(v, "", json_pack("{s:f}", "files", files),
              "%.0f files of the server may be written by everybody on its machine, or are secret "
              "and may be read",
              files);
}

const struct check CHECKS_ACCESS[] = {
    {"clock_skew", "warning", look_skew,
     "have both machines' clocks kept right (timedatectl set-ntp true): deadlines, crons and "
     "certificates go by them"},
    {"clock_unsynchronised", "warning", look_unsynchronised,
     "timedatectl set-ntp true, or run chrony: crons and certificates go by it"},
    {"kernel_old", "note", look_kernel, "upgrade it"},
    {"listener_open", "error", look_listeners,
     "give it TLS (ergons://, tls.cert, tls.key) and say who may do what: tokens_file, roles, or "
     "its allow"},
    {"certificate_ends", "warning", look_certificates,
     "put a new one in place of tls.cert and tls.key, and reload (systemctl reload ergond)"},
    {"crl_ends", "warning", look_crls,
     "put a new list in place of tls.crl, and reload: with one that has ended no client gets in "
     "with a certificate"},
    {"token_ends", "warning", look_tokens,
     "make a new one by ergon token in place of the line of tokens_file with that expires=, and "
     "reload"},
    {"files_exposed", "warning", look_exposed,
     "the server's log names them (\"everybody on this machine may\"): chmod o-rwx"},
    {0},
};
