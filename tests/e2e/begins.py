"""Handlers that note by themselves when they begin, in a file that a kill -9 of the server does not harm.

A module with the blocking handler `note [key, duration]` writes a line as it begins and another before it returns; the
test writes lines of its own between them, each by one write to the end of the file: their order is what happened."""
import os

from harness import Server, build_handlers

MODULE = """
#include <ergon/handler.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void say(struct ergon_task *task, const char *what, struct ergon_bytes key)
{
    char line[200], id[ERGON_TASK_ID_SIZE] = "?";
    ergon_task_id(task, id);
    int n = snprintf(line, sizeof line, "%s %s %u %.*s\\n", what, id, (unsigned)ergon_attempt(task), (int)key.len,
                     (const char *)key.at);
    int fd = open(getenv("ERGON_BEGINS"), O_WRONLY | O_APPEND);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        abort();
    close(fd);
}

static void note(struct ergon_task *task)
{
    struct ergon_reader r;
    struct ergon_bytes key = {0};
    uint64_t ns = 0;
    if (ergon_params_open(task, &r) != 2 || !ergon_read_bytes(&r, &key) || !ergon_read_duration(&r, &ns))
        abort();
    say(task, "began", key);
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    nanosleep(&t, NULL);
    say(task, "ends", key);
    ergon_result_nil(task);
}

static const struct ergon_handler handler = {
    .size = sizeof handler, .kind = ERGON_BLOCKING, .name = "note", .summary = "", .params = "[key, duration]", .run = note};

ERGON_MODULE(note_module, "note", "1.0")
{
    return ergon_register(module, &handler);
}
"""


class Begins:
    """In `folder`, which is the caller's: the module, the file, and servers that have both."""

    def __init__(self, folder):
        self.module = build_handlers(folder, "note", MODULE)
        self.path = os.path.join(folder, "begins")
        self.fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def close(self):
        os.close(self.fd)

    def server(self, *flags):
        return Server("--module", self.module, *flags, env={"ERGON_BEGINS": self.path})

    def say(self, *words):
        """A line of the test's own."""
        os.write(self.fd, (" ".join(map(str, words)) + "\n").encode())

    def lines(self):
        """All of them, in words."""
        with open(self.path) as f:
            return [line.split() for line in f]
