#include "server/notify.h"

#include <systemd/sd-daemon.h>

#include "base/clock.h"

void notify_ready(const char *status)
{
    sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

/* The manager wants to know when, so that it can tell this reload from an earlier one. */
void notify_reloading(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu",
               (unsigned long long)(clock_monotonic() / 1000));
}

void notify_stopping(const char *status)
{
    sd_notifyf(0, "STOPPING=1\nSTATUS=%s", status);
}

void notify_watchdog(void)
{
    sd_notify(0, "WATCHDOG=1");
}

uint64_t notify_watchdog_period(void)
{
    uint64_t us = 0;

    return sd_watchdog_enabled(0, &us) > 0 ? us * 1000 / 2 : 0;
}
