-- What ergond keeps, as of version 9 of the file; schema.c has the steps to later versions.  Look into it while the
-- server runs, with `sqlite3 FILE`; change it only while it does not.
--
-- Times (…_at) are Unix nanoseconds, durations (…_ns) nanoseconds; NULL is none, or zero.  Parameters, results and
-- options are MessagePack.  The views of views.sql are for people: `tasks` shows the up to three rows of a task as one.

-- As it was submitted; `durable` rises when a later submission that joins the task wants more.
CREATE TABLE submissions (
    id INTEGER PRIMARY KEY,
    method TEXT NOT NULL,
    tenant TEXT,
    durable TEXT NOT NULL,
    created_at INTEGER,
    params BLOB
);

-- Of those that were submitted with options; all others have them by default.
CREATE TABLE options (
    id INTEGER PRIMARY KEY,
    key TEXT,
    coalesce_key TEXT,
    limit_key TEXT,
    limit_max INTEGER,
    rate_key TEXT,
    rate_max INTEGER,
    rate_per_ns INTEGER,
    priority INTEGER,
    deadline_at INTEGER,
    timeout_ns INTEGER,
    retries INTEGER,
    backoff_ns INTEGER,
    backoff_max_ns INTEGER,
    jitter INTEGER,              -- per cent of the back-off
    keep_ns INTEGER,             -- -1: none was said
    keep_size INTEGER,           -- bytes
    after BLOB,                  -- ids of those that must be done first, 8 bytes each, big endian
    after_any BLOB,              -- of those that must have ended, likewise
    limit_take INTEGER,          -- how many permits of its limit it takes; NULL: one
    traceparent TEXT,            -- the trace that it belongs to, as W3C Trace Context writes it
    tracestate TEXT
);

-- Of those that have been anything but queued.
CREATE TABLE lives (
    id INTEGER PRIMARY KEY,
    state TEXT,                  -- NOT NULL would make SQLite save the pages of each change
    attempt INTEGER,             -- the last that was begun
    failures INTEGER,            -- attempts that failed
    crashes INTEGER,             -- of the server, while the task ran
    cancel_asked INTEGER,        -- 1: to be cancelled as soon as the attempt that runs has returned
    due_at INTEGER,
    started_at INTEGER,
    ended_at INTEGER,
    error_code TEXT,
    error_text TEXT,
    result BLOB,
    losses INTEGER,              -- of workers that had it, since one of them answered: counted as for `tasks.losses`
    lost INTEGER                 -- how many workers they were
);

CREATE TABLE events (
    task INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER,
    attempt INTEGER,
    what TEXT,
    text TEXT,                   -- of "waiting" and "delayed": the reason; of "submitted": how many submissions share the run
    data BLOB,
    PRIMARY KEY (task, seq)
) WITHOUT ROWID;

CREATE TABLE crons (
    id INTEGER PRIMARY KEY,
    tenant TEXT,
    name TEXT NOT NULL,          -- each tenant's once
    schedule TEXT,
    zone TEXT,
    method TEXT,
    made_by TEXT,                -- the principal that put it
    next_at INTEGER,
    last_at INTEGER,
    last_task INTEGER,
    params BLOB,
    options BLOB,
    paused INTEGER               -- 1: it submits nothing
);
CREATE UNIQUE INDEX cron_names ON crons (ifnull(tenant, ''), name);

-- Of those that are not open, and of methods that workers have offered.
CREATE TABLE queues (
    method TEXT PRIMARY KEY NOT NULL,
    paused INTEGER,              -- 1: it starts nothing
    draining INTEGER,            -- 1: it takes no new tasks
    offered_at INTEGER           -- when workers last began or ceased to offer the method, to the hour
) WITHOUT ROWID;

-- The last starts of each rate that is in use, so that it holds across a restart; and limits whose size was changed.
CREATE TABLE rates (
    id INTEGER PRIMARY KEY,
    tenant TEXT,
    key TEXT NOT NULL,
    rate_max INTEGER,
    per_ns INTEGER,              -- -1: it is a limit, of which at most rate_max tasks run at a time
    noted_at INTEGER,            -- when this was written
    promised INTEGER,            -- so many more may have started since then
    starts BLOB                  -- how long before noted_at (ns, 8 bytes), and how many then (8 bytes), the oldest first
);

-- Semaphores that stay, though nobody needs them.
CREATE TABLE semaphores (
    id INTEGER PRIMARY KEY,
    tenant TEXT,
    name TEXT NOT NULL,
    permits INTEGER
);

-- What clients hold of durable semaphores; the number is the fence.
CREATE TABLE holds (
    id INTEGER PRIMARY KEY,
    tenant TEXT,
    name TEXT NOT NULL,
    secret BLOB,
    principal TEXT,
    permits INTEGER,
    of_permits INTEGER,          -- how many the semaphore has
    since_at INTEGER,
    ends_at INTEGER,             -- when it is taken back in any case
    ttl_ns INTEGER,
    grace_ns INTEGER             -- how long it stays without a connection
);

-- One row: submitted = done + failed + cancelled + expired + dead + the rows of `tasks` that are open.
CREATE TABLE counters (
    submitted INTEGER NOT NULL,
    done INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    expired INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    last_id INTEGER NOT NULL,    -- the highest that `tasks` ever had
    commits INTEGER NOT NULL,
    committed_at INTEGER,        -- the time of the last commit, by the clock of then
    last_fence INTEGER           -- the highest that a row of `holds` ever had
);
INSERT INTO counters VALUES (0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL);
