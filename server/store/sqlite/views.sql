-- What people look at; made anew when an older file is taken over.

-- The file knows what is open, what runs, and how the others ended; that one is delayed, its time tells.
CREATE VIEW tasks AS
SELECT submissions.id AS id,
       iif(due_at > (julianday('now') - 2440587.5) * 86400e9 AND state = 'queued', 'delayed', ifnull(state, 'queued')) AS state, method, tenant, actor, key, coalesce_key, limit_key, limit_max, rate_key,
       rate_max, rate_per_ns, iif(options.id IS NULL, 5, ifnull(priority, 0)) AS priority, durable, created_at, due_at, deadline_at,
       timeout_ns, retries, iif(options.id IS NULL, 1000000000, backoff_ns) AS backoff_ns,
       iif(options.id IS NULL, 3600000000000, backoff_max_ns) AS backoff_max_ns, iif(options.id IS NULL, 50, jitter) AS jitter,
       iif(options.id IS NULL OR keep_ns = -1, 3600000000000, keep_ns) AS keep_ns, iif(options.id IS NULL, 1048576, keep_size) AS keep_size,
       after, after_any, attempt, failures, crashes, losses, lost, cancel_asked, started_at, ended_at, ran_by, error_code, error_text, params, result
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

-- The last turn of an actor, where that is not in its row of `actors` yet.
CREATE VIEW actor_states AS
SELECT type || '/' || key AS actor, nullif(tenant, '') AS tenant, version, schema,
       strftime('%Y-%m-%d %H:%M:%f', changed_at / 1e9, 'unixepoch') AS changed,
       strftime('%Y-%m-%d %H:%M:%f', stopped_at / 1e9, 'unixepoch') AS stopped, stopped AS why, length(state) AS state_size, state
FROM (SELECT type, key, tenant, version, schema, changed_at, stopped_at, stopped, state
      FROM actors WHERE (type, key, tenant) NOT IN (SELECT type, key, tenant FROM turns)
      UNION ALL
      SELECT type, key, tenant, version, schema, changed_at, stopped_at, stopped, state
      FROM (SELECT *, max(seq) FROM turns GROUP BY type, key, tenant) WHERE gone IS NULL);
