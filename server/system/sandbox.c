#include "server/system/sandbox.h"

#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Names that the architecture does not have are skipped. */
static const char *const denied[] = {
    /* other programs, other processes */
    "execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
    "kcmp", "pidfd_getfd", "uselib", "personality",
    /* other users, other rights */
    "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid",
    "setgroups", "capset",
    /* file systems and namespaces */
    "mount", "umount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen", "fsconfig",
    "fsmount", "fspick", "pivot_root", "chroot", "setns", "unshare", "swapon", "swapoff",
    "quotactl", "quotactl_fd", "mknod", "mknodat", "open_by_handle_at", "name_to_handle_at",
    "fanotify_init", "lookup_dcookie",
    /* the kernel and the machine */
    "init_module", "finit_module", "delete_module", "create_module", "get_kernel_syms",
    "query_module", "kexec_load", "kexec_file_load", "reboot", "syslog", "acct", "iopl", "ioperm",
    "modify_ldt", "vm86", "vm86old", "nfsservctl", "_sysctl", "sysfs", "ustat", "vhangup",
    "sethostname", "setdomainname", "settimeofday", "stime", "clock_settime", "clock_settime64",
    "clock_adjtime", "clock_adjtime64", "adjtimex",
    /* large parts of the kernel that nothing here uses */
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "add_key", "request_key", "keyctl", "move_pages", "migrate_pages"};
enum { DENIED = sizeof denied / sizeof denied[0] };

static bool is_allowed(const struct config_texts *allowed, const char *name)
{
    for (size_t i = 0; i < allowed->count; i++)
        if (strcmp(allowed->at[i], name) == 0)
            return true;
    return false;
}

int sandbox_check(const struct config_texts *allowed, char *error, size_t size)
{
    for (size_t i = 0; i < allowed->count; i++)
        if (seccomp_syscall_resolve_name(allowed->at[i]) == __NR_SCMP_ERROR) {
            snprintf(error, size, "sandbox_allow: \"%s\" is no system call", allowed->at[i]);
            return -1;
        }
    return 0;
}

/* 0, or -errno.  A call that the architecture does not have resolves to a negative number, and
 * needs no rule. */
static int deny(scmp_filter_ctx filter, const struct config_texts *allowed)
{
    int status = 0;

    for (size_t i = 0; i < DENIED && status == 0; i++) {
        int number = seccomp_syscall_resolve_name(denied[i]);
        if (number >= 0 && !is_allowed(allowed, denied[i]))
            status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
    }
    return status;
}

int sandbox_enter(const struct config_texts *allowed, char *error, size_t size)
{
    char text[64];

    if (sandbox_check(allowed, error, size) < 0)
        return -1;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int status = filter ? 0 : -ENOMEM;
    if (status == 0)
        status = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    if (status == 0)
        status = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree, not a list */
    if (status == 0)
        status = deny(filter, allowed);
    if (status == 0)
        status = seccomp_load(filter);
    seccomp_release(filter);
    if (status == 0)
        return 0;
    snprintf(error, size, "the sandbox cannot be entered: %s; sandbox: false does without",
             strerror_r(-status, text, sizeof text));
    return -1;
}
