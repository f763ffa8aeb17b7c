#include "client/cli/topics.h"

#include <stddef.h>

const char GUIDE[] =
    "ergon talks to an Ergon server. First steps:\n"
    "\n"
    "  ergond --module demo &              start a server here, with methods to try\n"
    "  ergon ping --wait 5s                wait until it answers\n"
    "  ergon methods                       what it can do\n"
    "  ergon call echo hello               call a method, and wait for its result\n"
    "  ergon task submit --wait sleep 2s   leave a task with the server, which keeps it\n"
    "  ergon task list                     what became of the tasks\n"
    "\n"
    "  ergon --help                        all commands and options\n"
    "  ergon help arguments                topics: arguments, contexts, output, exit\n"
    "  ergon help task submit              one command, with examples\n";

const struct topic TOPICS[] = {
    {"arguments", "how parameters of a call are written",
     "Each ARG behind a method is one parameter:\n"
     "\n"
     "  hello            a string, as is all that looks like nothing else\n"
     "  5  1.5  true     JSON: numbers, true, false, null\n"
     "  '[1, 2]' '{...}' JSON: arrays and objects\n"
     "  @FILE            the bytes of a file\n"
     "  -                the bytes of standard input\n"
     "  --string TEXT    this string, whatever it looks like: --string 007 --string @x\n"
     "  --json-arg JSON  this JSON, or else an error\n"
     "  -- -v            behind -- nothing is an option\n"
     "\n"
     "What begins with [, { or a quote, or is nearly a number (007, 1,5, 0x10), and is no\n"
     "JSON, is an error, and nothing is sent. 10s, 2026-11-22 and 10.0.0.1 are strings.\n"
     "\n"
     "Examples:\n"
     "  ergon call sum 1 2 3.5\n"
     "  ergon call hash sha256 @README.md hex\n"
     "  ergon call echo --string '[not JSON'\n"},
    {"contexts", "servers under names",
     "A context holds a server's URL, the token file, certificates, the time limit and the\n"
     "format of the output:\n"
     "\n"
     "  ergon context set prod -s ergons://ergon.example.org --token-file prod.token\n"
     "  ergon context use prod           from now on\n"
     "  ergon --context dev queue list   this once\n"
     "  ergon context show               what is in force, and where each setting is from\n"
     "\n"
     "A flag goes before the context of --context, that before the environment (ERGON_URL,\n"
     "ERGON_TOKEN, ERGON_TOKEN_FILE, ERGON_CACERT, ERGON_CERT, ERGON_KEY, ERGON_TIMEOUT,\n"
     "ERGON_OUTPUT), that before the context of ERGON_CONTEXT or the current one.\n"
     "\n"
     "Example:\n"
     "  ergon context set dev -s unix:///tmp/ergon.sock --use\n"},
    {"output", "tables, JSON and YAML",
     "  -o table   for people; on a terminal columns go from the right until the others fit\n"
     "  -o wide    all columns, none cut, and dates in place of ages\n"
     "  -o name    the ids or names alone, one a line, for xargs; --no-headers keeps the rest\n"
     "  -o json    one line of JSON (a line for each of a stream); short: --json\n"
     "  -o yaml    the same as YAML\n"
     "  --utc      times in UTC; default: in the local time zone, with its offset\n"
     "\n"
     "Data goes to standard output, messages to standard error. With json and yaml each\n"
     "message is a line of JSON: {\"error\":{\"code\":...,\"text\":...,\"hint\":...}}.\n"
     "\n"
     "Example:\n"
     "  ergon task list --state dead -o name | xargs -r ergon task retry\n"},
    {"exit", "what the exit statuses mean",
     "  0    good\n"
     "  1    an error from the server, or of the method\n"
     "  2    the command line, or a file that it names, is wrong\n"
     "  3    no connection, no TLS, or it broke\n"
     "  4    not allowed\n"
     "  5    the time is up\n"
     "  6    no such method, task, queue, cron, semaphore, worker or connection\n"
     "  7    busy, or over a limit\n"
     "  130  interrupted\n"
     "\n"
     "Example:\n"
     "  ergon ping -q --timeout 1s || echo down\n"},
    {NULL, NULL, NULL},
};
