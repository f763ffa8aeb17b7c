-- Version 3: a task in up to three rows instead of one of 34 columns, nearly all of which were nothing, or as by default.
-- Whoever only reads finds them together in the view `tasks`, which has the columns that the table had; the other views read it.

-- As it was submitted; never changed.
CREATE TABLE submissions (
    id INTEGER PRIMARY KEY,
    method TEXT NOT NULL,
    tenant TEXT,
    durable TEXT NOT NULL,
    created_at INTEGER,
    params BLOB
);

-- Of those that were submitted with options, or before version 3; all others have them by default.
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

-- Of those that have been anything but queued, or were submitted before version 3.
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

INSERT INTO submissions (id, method, tenant, durable, created_at, params)
SELECT id, method, tenant, durable, created_at, params FROM tasks ORDER BY id;
INSERT INTO options (id, key, coalesce_key, limit_key, limit_max, rate_key, rate_max, rate_per_ns, priority, deadline_at, timeout_ns,
                     retries, backoff_ns, backoff_max_ns, jitter, keep_ns, keep_size, after)
SELECT id, key, coalesce_key, limit_key, limit_max, rate_key, rate_max, rate_per_ns, priority, deadline_at, timeout_ns, retries,
       backoff_ns, backoff_max_ns, jitter, keep_ns, keep_size, after
FROM tasks ORDER BY id;
INSERT INTO lives (id, state, attempt, failures, crashes, cancel_asked, due_at, started_at, ended_at, error_code, error_text, result)
SELECT id, iif(state IN ('delayed', 'waiting'), 'queued', state), attempt, failures, crashes, cancel_asked, due_at, started_at, ended_at, error_code, error_text, result
FROM tasks ORDER BY id;

DROP TABLE tasks;

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
