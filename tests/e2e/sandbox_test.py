"""With --sandbox the kernel denies what the server does not need, to every thread and to modules too."""
import errno
import os
import subprocess
import unittest

from harness import ERGOND, SANITIZED, Server, build_handlers, eventually, scratch

# try [name]: the errno of a call of that kind, 0 where it is let through.
TEXT = """
#include <errno.h>
#include <ergon/handler.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

static int attempt(const char *name)
{
    static char *const none[] = {NULL};
    int rc = strcmp(name, "execve") == 0   ? execve("", none, none) /* ENOENT where it may */
             : strcmp(name, "ptrace") == 0 ? (int)ptrace(PTRACE_DETACH, 0, NULL, NULL)
             : strcmp(name, "mount") == 0  ? (int)syscall(SYS_mount, "", "/nowhere", "", 0, NULL)
             : strcmp(name, "bpf") == 0    ? (int)syscall(SYS_bpf, -1, NULL, 0)
                                           : (int)syscall(SYS_getpid) * 0;
    return rc < 0 ? errno : 0;
}

static void run(struct ergon_task *task)
{
    struct ergon_reader r;
    struct ergon_bytes name = {0};
    char text[32] = "";

    if (ergon_params_open(task, &r) > 0 && ergon_read_bytes(&r, &name) && name.len < sizeof text)
        memcpy(text, name.at, name.len);
    ergon_result_int(task, attempt(text));
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof handlers[0], .kind = ERGON_BLOCKING, .name = "try", .summary = "", .params = "[name]", .run = run},
};

ERGON_MODULE(try_module, "try", "1.0")
{
    return ergon_register(module, &handlers[0]);
}
"""


@unittest.skipIf(SANITIZED, "a sanitizer looks into its own process as a debugger does")
class SandboxTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = scratch(cls.addClassCleanup)
        cls.module = build_handlers(cls.place, "try", TEXT)

    def start(self, *flags, wrapper=()):
        return Server("--module", self.module, *flags, wrapper=wrapper)

    def states(self, server):
        """Of each thread its name, and whether it is filtered."""
        found = []
        for thread in os.listdir(f"/proc/{server.pid}/task"):
            with open(f"/proc/{server.pid}/task/{thread}/status") as f:
                fields = dict(line.split(":", 1) for line in f)
            found.append((fields["Name"].strip(), fields["Seccomp"].strip() == "2" and fields["NoNewPrivs"].strip() == "1"))
        return found

    def test_every_thread_is_in_it_and_work_goes_on(self):
        with self.start("--sandbox", "--store", os.path.join(self.place, "s.db")) as server, server.connect() as client:
            eventually(lambda: len(self.states(server)) > 3, "its threads are there")
            states = self.states(server)
            self.assertIn(("log", True), states)
            self.assertEqual([name for name, filtered in states if not filtered], [])
            for name in ("execve", "ptrace", "mount", "bpf"):
                self.assertEqual(client.call("try", name), errno.EPERM, name)
            self.assertEqual(client.call("try", "getpid"), 0)
            self.assertEqual(len(client.call("hash", "sha256", "x")), 32)
            task = client.call("task.submit", "sum", [1, 2], {"durable": "fsync"})["id"]
            self.assertEqual(client.call("task.wait", task)["ended"][0]["state"], "done")
            client.call("cron.put", "nightly", "@daily", "echo", [1], {"zone": "Europe/Berlin"})

    def test_what_is_excepted_is_let_through(self):
        with self.start("--sandbox", "--sandbox-allow", "execve") as server, server.connect() as client:
            self.assertEqual(client.call("try", "execve"), errno.ENOENT)
            self.assertEqual(client.call("try", "bpf"), errno.EPERM)

    def test_without_it_nothing_is_denied(self):
        with self.start() as server, server.connect() as client:
            self.assertEqual(client.call("try", "execve"), errno.ENOENT)

    def test_a_name_that_is_none_is_refused(self):
        with self.assertRaisesRegex(AssertionError, 'sandbox_allow: \\\\"exceve\\\\" is no system call'):
            self.start("--sandbox", "--sandbox-allow", "exceve")

    def test_a_look_at_the_configuration_tells_of_such_a_name(self):
        for name, status in ("exceve", 2), ("execve", 0):
            done = subprocess.run([ERGOND, "--check-config", "--sandbox-allow", name], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual('sandbox_allow: "exceve" is no system call' in done.stderr, status != 0)

    def test_a_system_that_does_not_filter(self):
        wrapper = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=seccomp", "-e",
                   "inject=seccomp:error=ENOSYS", "--")
        with self.assertRaisesRegex(AssertionError, "the sandbox cannot be entered: .*; sandbox: false does without"):
            self.start("--sandbox", wrapper=wrapper)


if __name__ == "__main__":
    unittest.main()
