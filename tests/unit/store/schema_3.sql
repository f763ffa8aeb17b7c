-- What ergond keeps.  Look into it while the server runs, with `sqlite3 FILE`; change it only while it does not.
--
-- Times (…_at) are Unix nanoseconds, durations (…_ns) nanoseconds; NULL is none, or zero.  Parameters, results and
-- options are MessagePack.  The views at the end are for people: `tasks` shows the up to three rows of a task as one.

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
    keep_ns INTEGER,
    keep_size INTEGER,           -- bytes
    after BLOB                   -- ids, 8 bytes each, big endian
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
    result BLOB
);

CREATE TABLE events (
    task INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER,
    attempt INTEGER,
    what TEXT,
    text TEXT,
    data BLOB,
    PRIMARY KEY (task, seq)
) WITHOUT ROWID;

CREATE TABLE crons (
    name TEXT PRIMARY KEY NOT NULL,
    schedule TEXT,
    zone TEXT,
    method TEXT,
    tenant TEXT,
    next_at INTEGER,
    last_at INTEGER,
    last_task INTEGER,
    params BLOB,
    options BLOB
) WITHOUT ROWID;

CREATE TABLE paused_queues (
    method TEXT PRIMARY KEY NOT NULL
) WITHOUT ROWID;

-- One row: submitted = done + failed + cancelled + expired + dead + the rows of `tasks` that are open.
CREATE TABLE counters (
    submitted INTEGER NOT NULL,
    done INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    expired INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    last_id INTEGER NOT NULL,    -- the highest that `tasks` ever had
    commits INTEGER NOT NULL
);
INSERT INTO counters VALUES (0, 0, 0, 0, 0, 0, 0, 0);

-- The file knows what is open, what runs, and how the others ended; that one is delayed, its time tells.
CREATE VIEW tasks AS
SELECT submissions.id AS id,
       iif(due_at > (julianday('now') - 2440587.5) * 86400e9 AND state = 'queued', 'delayed', ifnull(state, 'queued')) AS state, method, tenant, key, coalesce_key, limit_key, limit_max, rate_key,
       rate_max, rate_per_ns, iif(options.id IS NULL, 5, ifnull(priority, 0)) AS priority, durable, created_at, due_at, deadline_at,
       timeout_ns, retries, iif(options.id IS NULL, 1000000000, backoff_ns) AS backoff_ns,
       iif(options.id IS NULL, 3600000000000, backoff_max_ns) AS backoff_max_ns, iif(options.id IS NULL, 50, jitter) AS jitter,
       iif(options.id IS NULL, 3600000000000, keep_ns) AS keep_ns, iif(options.id IS NULL, 1048576, keep_size) AS keep_size,
       after, attempt, failures, crashes, cancel_asked, started_at, ended_at, error_code, error_text, params, result
FROM submissions LEFT JOIN options ON options.id = submissions.id LEFT JOIN lives ON lives.id = submissions.id;

-- The rows under the names that `ergon task` shows: 't' and the id in Crockford's base 32.
CREATE VIEW named_tasks AS
SELECT 't' || substr(d, 1 + (id >> 60 & 15), 1) || substr(d, 1 + (id >> 55 & 31), 1) || substr(d, 1 + (id >> 50 & 31), 1)
           || substr(d, 1 + (id >> 45 & 31), 1) || substr(d, 1 + (id >> 40 & 31), 1) || substr(d, 1 + (id >> 35 & 31), 1)
           || substr(d, 1 + (id >> 30 & 31), 1) || substr(d, 1 + (id >> 25 & 31), 1) || substr(d, 1 + (id >> 20 & 31), 1)
           || substr(d, 1 + (id >> 15 & 31), 1) || substr(d, 1 + (id >> 10 & 31), 1) || substr(d, 1 + (id >> 5 & 31), 1)
           || substr(d, 1 + (id & 31), 1) AS task, tasks.*
FROM tasks, (SELECT '0123456789abcdefghjkmnpqrstvwxyz' AS d);

CREATE VIEW open_tasks AS
SELECT task, state, method, tenant, key, ifnull(priority, 0) AS priority, durable, ifnull(attempt, 0) AS attempt,
       ifnull(failures, 0) AS failures, ifnull(retries, 0) AS retries,
       strftime('%Y-%m-%d %H:%M:%f', created_at / 1e9, 'unixepoch') AS created,
       strftime('%Y-%m-%d %H:%M:%f', due_at / 1e9, 'unixepoch') AS due,
       strftime('%Y-%m-%d %H:%M:%f', started_at / 1e9, 'unixepoch') AS started,
       strftime('%Y-%m-%d %H:%M:%f', deadline_at / 1e9, 'unixepoch') AS deadline,
       error_code, error_text, length(params) AS params_size
FROM named_tasks
WHERE state NOT IN ('done', 'failed', 'cancelled', 'expired', 'dead');

CREATE VIEW task_life AS
SELECT task, method, state, ifnull(attempt, 0) AS attempt,
       strftime('%Y-%m-%d %H:%M:%f', created_at / 1e9, 'unixepoch') AS created,
       strftime('%Y-%m-%d %H:%M:%f', started_at / 1e9, 'unixepoch') AS started,
       strftime('%Y-%m-%d %H:%M:%f', ended_at / 1e9, 'unixepoch') AS ended,
       (ended_at - started_at) / 1e6 AS took_ms, error_code, error_text, length(result) AS result_size
FROM named_tasks;

CREATE VIEW task_events AS
SELECT named_tasks.task AS task, method, seq, strftime('%Y-%m-%d %H:%M:%f', at / 1e9, 'unixepoch') AS at,
       events.attempt AS attempt, what, text
FROM events JOIN named_tasks ON named_tasks.id = events.task;
