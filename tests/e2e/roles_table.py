"""Each method of the server's own, and what comes of it for whom: the table of tests/e2e/roles_test.py.  The lint
compares its rows with proto/PROTOCOL.md and the tables of server/rpc."""

# What is done with a thing of another tenant, by who may call the method.
HIDDEN = "NOT_FOUND"  # it does not exist
DENIED = "DENIED"
ABSENT = "absent"     # it is not in the list
SPARED = "spared"     # nothing is done to it: the answer is false, or counts none
NONE = None           # the method is about no thing that belongs to a tenant

# What the method asks for.
OPEN = "open"        # nothing: also before anybody has said who he is
GUARDED = "guarded"  # a right of its own name
TARGET = "target"    # the right to the method that is run

# method: (access, parameters for a thing of `owner`, outcome of another's).  `t`: the id of its task, `c`: the name of its
# cron, `tenant`: its tenant.
ROWS = {
    "server.hello": (OPEN, lambda o: [], NONE),
    "server.auth": (OPEN, lambda o: ["no such token"], NONE),
    "server.ping": (OPEN, lambda o: [], NONE),
    "server.cancel": (OPEN, lambda o: [99999], NONE),
    "server.info": (GUARDED, lambda o: [], NONE),
    "server.methods": (GUARDED, lambda o: [], NONE),
    "server.describe": (GUARDED, lambda o: ["echo"], NONE),
    "server.topology": (GUARDED, lambda o: [], NONE),
    "server.audit": (GUARDED, lambda o: [], NONE),
    "connection.list": (GUARDED, lambda o: [], NONE),
    "connection.kill": (GUARDED, lambda o: [{"principal": "token:none", "dry_run": True}], NONE),
    "task.submit": (TARGET, lambda o: ["echo", [], {"delay": "1h", "tenant": o["tenant"]}], DENIED),
    "task.submit_many": (TARGET, lambda o: [[["echo"]], {"delay": "1h", "tenant": o["tenant"]}], DENIED),
    "task.call": (TARGET, lambda o: ["echo", [], {"priority": 1, "tenant": o["tenant"]}], DENIED),
    "task.get": (GUARDED, lambda o: [o["t"]], HIDDEN),
    "task.wait": (GUARDED, lambda o: [o["t"], {"timeout": 0}], HIDDEN),
    "task.watch": (GUARDED, lambda o: [o["t"], {"timeout": 0}], HIDDEN),
    "task.change": (GUARDED, lambda o: [o["t"], {"priority": 1}], HIDDEN),
    "task.explain": (GUARDED, lambda o: [o["t"]], HIDDEN),
    "task.list": (GUARDED, lambda o: [{"tenant": o["tenant"]}], ABSENT),
    "task.retry": (GUARDED, lambda o: [o["t"]], HIDDEN),
    "task.run_now": (GUARDED, lambda o: [o["t"]], HIDDEN),
    "task.cancel": (GUARDED, lambda o: [o["t"]], HIDDEN),
    "task.forget": (GUARDED, lambda o: [o["t"]], HIDDEN),
    "queue.list": (GUARDED, lambda o: [], NONE),
    "queue.explain": (GUARDED, lambda o: ["echo"], NONE),
    "queue.pause": (GUARDED, lambda o: ["echo"], NONE),
    "queue.drain": (GUARDED, lambda o: ["echo"], NONE),
    "queue.resume": (GUARDED, lambda o: ["echo"], NONE),
    "cron.put": (GUARDED, lambda o: [o["c"], "@yearly", "echo", [], {"durable": "none"}], DENIED),
    "cron.list": (GUARDED, lambda o: [], ABSENT),
    "cron.delete": (GUARDED, lambda o: [o["c"]], SPARED),
}
