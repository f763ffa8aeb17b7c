"""Each method of the server's own, and what comes of it for whom: the table of tests/e2e/roles_test.py and audit_test.py.  The lint
compares its rows with proto/PROTOCOL.md and the tables of server/rpc."""

# What is done with a thing of another tenant, by who may call the method.
HIDDEN = "NOT_FOUND"  # it does not exist
DENIED = "DENIED"
ABSENT = "absent"     # it is not in the list
SPARED = "spared"     # nothing is done to it: the answer is false, or counts none
NONE = None           # the method is about no thing that belongs to a tenant

# What the method asks for.
OPEN = "open"        # nothing: also before anybody has said who he is
KNOWN = "known"      # to have said who one is
GUARDED = "guarded"  # a right of its own name
TARGET = "target"    # the right to the method that is run

# Whether it is an administrative act, which the audit log records.
NEVER = "USES"       # it reads, or is about what is the caller's own
NAMED = "SUBMITS"    # in the name of another tenant
REACHING = "STEERS"  # on tasks of another tenant
FOREIGN = "FOREIGN"  # on a worker of another principal
ALWAYS = "RULES"

# method: (access, parameters for a thing of `owner`, outcome of another's, whether it is an act).  `t`: the id of its task, `c`: the name of its
# cron, `b`: the id of its batch, `tenant`: its tenant.
ROWS = {
    "server.hello": (OPEN, lambda o: [], NONE, NEVER),
    "server.auth": (OPEN, lambda o: ["no such token"], NONE, NEVER),
    "server.ping": (OPEN, lambda o: [], NONE, NEVER),
    "server.cancel": (OPEN, lambda o: [99999], NONE, NEVER),
    "server.info": (GUARDED, lambda o: [], NONE, NEVER),
    "server.methods": (GUARDED, lambda o: [], NONE, NEVER),
    "server.describe": (GUARDED, lambda o: ["echo"], NONE, NEVER),
    "server.topology": (GUARDED, lambda o: [], NONE, NEVER),
    "server.debug_dump": (GUARDED, lambda o: [], NONE, NEVER),
    "server.whoami": (KNOWN, lambda o: [], NONE, NEVER),
    "server.times": (GUARDED, lambda o: [], NONE, NEVER),
    "server.figures": (GUARDED, lambda o: [{"seconds": 1}], NONE, NEVER),
    "server.audit": (GUARDED, lambda o: [], NONE, NEVER),
    "cluster.status": (GUARDED, lambda o: [], NONE, NEVER),
    "cluster.drain": (GUARDED, lambda o: ["none"], NONE, ALWAYS),
    "cluster.forget": (GUARDED, lambda o: ["none"], NONE, ALWAYS),
    "cluster.retry": (GUARDED, lambda o: [], NONE, ALWAYS),
    "connection.list": (GUARDED, lambda o: [], NONE, NEVER),
    "connection.kill": (GUARDED, lambda o: [{"principal": "token:none", "dry_run": True}], NONE, ALWAYS),
    "cluster.session": (OPEN, lambda o: [{}], NONE, NEVER),
    "cluster.board": (OPEN, lambda o: ["none", 1, []], NONE, NEVER),
    "worker.register": (KNOWN, lambda o: [[]], NONE, NEVER),
    "worker.quiet": (KNOWN, lambda o: [], NONE, FOREIGN),
    "worker.resume": (KNOWN, lambda o: [], NONE, FOREIGN),
    "worker.list": (GUARDED, lambda o: [], NONE, NEVER),
    "worker.progress": (KNOWN, lambda o: [1, 1], NONE, NEVER),
    "worker.partial": (KNOWN, lambda o: [1, 1], NONE, NEVER),
    "worker.checkpoint": (KNOWN, lambda o: [1, 1], NONE, NEVER),
    "worker.submit": (KNOWN, lambda o: [1, {}], NONE, NEVER),
    "task.submit": (TARGET, lambda o: ["echo", [], {"delay": "1h", "tenant": o["tenant"]}], DENIED, NAMED),
    "task.submit_many": (TARGET, lambda o: [[["echo"]], {"delay": "1h", "tenant": o["tenant"]}], DENIED, NAMED),
    "task.call": (TARGET, lambda o: ["echo", [], {"priority": 1, "tenant": o["tenant"]}], DENIED, NAMED),
    "task.get": (GUARDED, lambda o: [o["t"]], HIDDEN, NEVER),
    "task.wait": (GUARDED, lambda o: [o["t"], {"timeout": 0}], HIDDEN, NEVER),
    "task.watch": (GUARDED, lambda o: [o["t"], {"timeout": 0}], HIDDEN, NEVER),
    "task.change": (GUARDED, lambda o: [o["t"], {"priority": 1}], HIDDEN, REACHING),
    "task.explain": (GUARDED, lambda o: [o["t"]], HIDDEN, NEVER),
    "task.list": (GUARDED, lambda o: [{"tenant": o["tenant"]}], ABSENT, NEVER),
    "task.events": (GUARDED, lambda o: [{"after": "oldest", "timeout": 0, "tenant": o["tenant"]}], ABSENT, NEVER),
    "task.retry": (GUARDED, lambda o: [o["t"]], HIDDEN, REACHING),
    "task.run_now": (GUARDED, lambda o: [o["t"]], HIDDEN, REACHING),
    "task.cancel": (GUARDED, lambda o: [o["t"]], HIDDEN, REACHING),
    "task.forget": (GUARDED, lambda o: [o["t"]], HIDDEN, REACHING),
    "queue.list": (GUARDED, lambda o: [], NONE, NEVER),
    "queue.tenants": (GUARDED, lambda o: [], ABSENT, NEVER),
    "queue.explain": (GUARDED, lambda o: ["echo"], NONE, NEVER),
    "queue.pause": (GUARDED, lambda o: ["echo"], NONE, ALWAYS),
    "queue.drain": (GUARDED, lambda o: ["echo"], NONE, ALWAYS),
    "queue.resume": (GUARDED, lambda o: ["echo"], NONE, ALWAYS),
    "cron.put": (GUARDED, lambda o: [o["c"], "@yearly", "echo", [], {"durable": "none", "tenant": o["tenant"]}], DENIED, ALWAYS),
    "cron.list": (GUARDED, lambda o: [], ABSENT, NEVER),
    "sem.create": (GUARDED, lambda o: ["k-roles", 1], NONE, NEVER),
    "sem.acquire": (GUARDED, lambda o: ["k-roles", {"of": 1, "wait": 0}], NONE, NEVER),
    "sem.release": (GUARDED, lambda o: ["k-roles", "0" * 32], NONE, NEVER),
    "sem.renew": (GUARDED, lambda o: ["k-roles", "0" * 32], NONE, NEVER),
    "sem.resume": (GUARDED, lambda o: ["k-roles", "0" * 32], NONE, NEVER),
    "sem.delete": (GUARDED, lambda o: ["k-roles"], NONE, NEVER),
    "sem.list": (GUARDED, lambda o: [], NONE, NEVER),
    "sem.explain": (GUARDED, lambda o: ["k-roles"], NONE, NEVER),
    "sem.revoke": (GUARDED, lambda o: ["k-roles", 1], NONE, ALWAYS),
    "actor.call": (TARGET, lambda o: ["counter/roles", "get", [], {"tenant": o["tenant"]}], DENIED, NAMED),
    "actor.tell": (TARGET, lambda o: ["counter/roles", "add", [0], {"tenant": o["tenant"]}], DENIED, NAMED),
    "actor.get": (GUARDED, lambda o: ["counter/roles", {"tenant": o["tenant"]}], HIDDEN, NEVER),
    "actor.list": (GUARDED, lambda o: [], ABSENT, NEVER),
    "actor.watch": (GUARDED, lambda o: ["counter/roles", {"tenant": o["tenant"], "timeout": 0}], HIDDEN, NEVER),
    "actor.explain": (GUARDED, lambda o: ["counter/roles", {"tenant": o["tenant"]}], HIDDEN, NEVER),
    "actor.wake": (GUARDED, lambda o: ["counter/roles", {"tenant": o["tenant"]}], HIDDEN, REACHING),
    "actor.stop": (GUARDED, lambda o: ["counter/roles", {"tenant": o["tenant"]}], HIDDEN, REACHING),
    "actor.start": (GUARDED, lambda o: ["counter/roles", {"tenant": o["tenant"]}], HIDDEN, REACHING),
    "actor.drop": (GUARDED, lambda o: ["counter/roles", {"tenant": o["tenant"]}], HIDDEN, REACHING),
    "actor.remind": (GUARDED, lambda o: ["counter/roles", "r", "add", [0], {"in": "1h", "tenant": o["tenant"]}], DENIED, NAMED),
    "actor.forget": (GUARDED, lambda o: ["counter/roles", "r", {"tenant": o["tenant"]}], HIDDEN, REACHING),
    "actor.types": (GUARDED, lambda o: [], NONE, NEVER),
    "batch.create": (GUARDED, lambda o: [{"durable": "none", "tenant": o["tenant"]}], DENIED, NEVER),
    "batch.add": (TARGET, lambda o: ["b0000000000001", [["echo"]], {"tenant": o["tenant"]}], DENIED, NAMED),
    "batch.close": (GUARDED, lambda o: [o["b"]], HIDDEN, NEVER),
    "batch.get": (GUARDED, lambda o: [o["b"]], HIDDEN, NEVER),
    "batch.list": (GUARDED, lambda o: [{"tenant": o["tenant"]}], ABSENT, NEVER),
    "batch.cancel": (GUARDED, lambda o: [o["b"]], HIDDEN, REACHING),
    "event.set": (GUARDED, lambda o: ["k-roles"], NONE, NEVER),
    "event.wait": (GUARDED, lambda o: ["k-roles", {"timeout": 0}], NONE, NEVER),
    "cron.pause": (GUARDED, lambda o: [o["c"], {"tenant": o["tenant"]}], HIDDEN, ALWAYS),
    "cron.resume": (GUARDED, lambda o: [o["c"], {"tenant": o["tenant"]}], HIDDEN, ALWAYS),
    "cron.run": (GUARDED, lambda o: [o["c"], {"tenant": o["tenant"]}], HIDDEN, ALWAYS),
    "cron.delete": (GUARDED, lambda o: [o["c"], {"tenant": o["tenant"]}], SPARED, ALWAYS),
}

# Who may be a worker by a Unix socket: (keys of the listener, others of the configuration, may the server's own user, may another user).
OFFERS = [
    ("", "", True, False),
    ("auth: peer", "", True, False),
    ("auth: none", "", True, True),  # no rights are configured at all
    ("auth: none", "tokens_file: {tokens}", False, False),
    ("", "tokens_file: {tokens}", True, False),
    ("allow: ['*']", "", False, False),
    ("allow: ['*', 'worker.offer.*']", "", True, True),
    ("allow: [echo, 'worker.offer.other']", "", False, False),
    ("", "roles: [{{name: r, members: ['token:x'], methods: ['*']}}]", True, False),
    ("", "roles: [{{name: r, members: ['unix:*'], methods: ['*']}}]", False, False),
    ("", "roles: [{{name: r, members: ['unix:*'], methods: ['worker.offer.resize']}}]", True, True),
    ("", "roles: [{{name: r, members: ['token:x'], methods: ['worker.offer.other']}}]", False, False),
]
