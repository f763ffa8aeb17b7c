"""What clients and workers of a cluster saw, and what of it breaks the promise of docs/cluster.md.

A History is written by threads of one process, so one clock orders it.  violations() reads it when all is over,
together with `tasks`: what task.list says then of each id.
"""
import collections
import threading
import time

ENDED = ("done", "failed", "cancelled", "expired", "dead")
LATE = 5.0  # seconds after a process that stood still goes on, in which it may send an attempt that it had looked at before
DURABLE = ("fsync", "replicated")  # an attempt of such a task begins with a number that outlives the owner
DELAYED = 60.0  # seconds by which the begin of a handler may lag behind the start that a rate counts
ACCEPTED = ("done", "failed")  # outcomes of attempts that ended before their owner was lost

# `at` is when the answer came, `asked` when the request was sent; of Page: `full`, there may be more events by then.
Acknowledged = collections.namedtuple("Acknowledged", "at id key durable asked limit rate", defaults=(0.0, None, None))
Page = collections.namedtuple("Page", "at reader asked gap full events")
Hold = collections.namedtuple("Hold", "at name begun until of")


class History:
    def __init__(self):
        self.lock = threading.Lock()
        self.acknowledged, self.begun, self.finished, self.ended, self.granted = [], [], [], [], []
        self.held, self.pages, self.stood_still, self.leapt, self.missed = [], [], [], [], []

    def add(self, where, *what, kind=None):
        with self.lock:
            entry = (time.monotonic(), *what)
            where.append(kind(*entry) if kind else entry)

    def acknowledge(self, id, key, durable, asked, limit=None, rate=None):
        """A submission that was sent at `asked` was answered.  `limit`: (key, most), `rate`: (key, most, seconds)."""
        self.add(self.acknowledged, id, key, durable, asked, limit, rate, kind=Acknowledged)

    def begin(self, id, attempt, node):
        """A handler begins, of a worker at this node: the first thing that it does."""
        self.add(self.begun, id, attempt, node)

    def finish(self, id, attempt):
        """The last thing that a handler does."""
        self.add(self.finished, id, attempt)

    def go_on(self, node):
        """The node's process goes on after SIGSTOP."""
        self.add(self.stood_still, node)

    def leap(self, node):
        """The clock of a node or of the engine leaps."""
        self.add(self.leapt, node)

    def end(self, id, state):
        """A client was told that the task has ended."""
        self.add(self.ended, id, state)

    def miss(self, id):
        """A client was told that there is no such task."""
        self.add(self.missed, id)

    def grant(self, asked, semaphore, fence):
        """A permit was granted, which was asked for at `asked`."""
        self.add(self.granted, asked, semaphore, fence)

    def release(self, semaphore, begun, until, of):
        """A permit out of `of` was held from `begun` until it was given back at `until`, as the server says, too."""
        self.add(self.held, semaphore, begun, until, of, kind=Hold)

    def read(self, reader, asked, gap, full, events):
        """A page of the feed: [(seq, event, id)]; `gap` as it says."""
        self.add(self.pages, reader, asked, gap, full, events, kind=Page)


def of_submissions(history, tasks):
    ids = collections.defaultdict(set)
    keys = collections.defaultdict(set)
    for task in history.acknowledged:
        ids[task.key].add(task.id)
        keys[task.id].add(task.key)
        if task.durable != "replicated":
            continue
        if task.id not in tasks:
            yield f"lost: {task.id} ({task.key}) was acknowledged, and is unknown"
        elif tasks[task.id]["state"] not in ENDED:
            yield f"open: {task.id} ({task.key}) is {tasks[task.id]['state']} long after the last fault"
    for id, task in tasks.items():
        if task.get("key") in ids:
            ids[task["key"]].add(id)
    for key, several in ids.items():
        if len(several) > 1:
            yield f"key {key} has {len(several)} tasks: {sorted(several)}"
    for id, several in keys.items():
        if len(several) > 1:
            yield f"id {id} was given twice: to {sorted(several)}"


def of_reads(history):
    level = levels(history)
    for id in sorted({id for _, id in history.missed if level.get(id) == "replicated"}):
        yield f"missed: {id} was acknowledged, and then a client was told that there is no such task"


def is_late(history, at, node):
    """Nothing can exclude a stop between a node's look at its lease and the begin of the handler; the attempt's number protects
    there, since the end of such an attempt is refused."""
    return any(name == node and 0 <= at - went_on <= LATE for went_on, name in history.stood_still)


def levels(history):
    return {task.id: task.durable for task in history.acknowledged}


def of_attempts(history):
    level = levels(history)
    ended = {}
    for at, id, _ in history.ended:
        ended.setdefault(id, at)
    last, numbers = {}, set()
    for at, id, attempt, node in history.begun:
        if level.get(id) not in DURABLE:
            continue
        if (id, attempt) in numbers:
            yield f"attempt {attempt} of {id} began twice"
        numbers.add((id, attempt))
        if is_late(history, at, node):
            continue
        if attempt < last.get(id, 0):
            yield f"attempt {attempt} of {id} began after attempt {last[id]}"
        last[id] = max(attempt, last.get(id, 0))
        if at > ended.get(id, at):
            yield f"attempt {attempt} of {id} began {at - ended[id]:.3f} s after its end was told"


def of_fences(history):
    """A fence is higher than each that was granted before it was asked for."""
    by_name = collections.defaultdict(list)
    for at, asked, name, fence in history.granted:
        by_name[name].append((at, asked, fence))
    for name, grants in by_name.items():
        seen, highest, before = set(), 0, collections.deque(sorted((at, fence) for at, _, fence in grants))
        for _, asked, fence in sorted(grants, key=lambda grant: grant[1]):
            while before and before[0][0] < asked:
                highest = max(highest, before.popleft()[1])
            if highest and fence <= highest:
                yield f"fence {fence} of {name} was granted after {highest}"
            if fence in seen:
                yield f"fence {fence} of {name} was granted twice"
            seen.add(fence)


def of_crons(tasks):
    firings = collections.Counter(task["key"] for task in tasks.values() if (task.get("key") or "").startswith("cron "))
    for key, count in firings.items():
        if count > 1:
            yield f"{count} tasks for one firing: {key}"


def most_at_once(intervals):
    """Of [(begin, end)]: how many overlap at most."""
    steps = sorted([(begin, 1) for begin, _ in intervals] + [(end, -1) for _, end in intervals])
    most = now = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most


def runs(history):
    """{(id, attempt): (begin, end)} of handlers that ended."""
    begun = {(id, attempt): at for at, id, attempt, _ in history.begun}
    return {(id, attempt): (begun[id, attempt], at) for at, id, attempt in history.finished if (id, attempt) in begun}


def of_limits(history, tasks):
    """Attempts that were given up with their owner run on beside the next ones, and do not count: their ends were refused."""
    limited = {task.id: task.limit for task in history.acknowledged if task.limit}
    by_limit = collections.defaultdict(list)
    for (id, attempt), interval in runs(history).items():
        if id in limited and attempt in tasks.get(id, {}).get("accepted", ()):
            by_limit[limited[id]].append(interval)
    for (key, most), intervals in by_limit.items():
        found = most_at_once(intervals)
        if found > most:
            yield f"limit {key}: {found} ran at once, and {most} may"


def of_holds(history):
    by_name = collections.defaultdict(list)
    for hold in history.held:
        by_name[hold.name, hold.of].append((hold.begun, hold.until))
    for (name, of), intervals in by_name.items():
        found = most_at_once(intervals)
        if found > of:
            yield f"semaphore {name}: {found} were held at once, and there are {of}"


def of_rates(history):
    """More starts than in the time since the first one.  The clock of the machines counts over a take-over, so each leap may give
    as many as a rate has once more."""
    rated = {task.id: task.rate for task in history.acknowledged if task.rate}
    by_rate = collections.defaultdict(list)
    for at, id, _, _ in history.begun:
        if id in rated:
            by_rate[rated[id]].append(at)
    for (key, most, seconds), begins in by_rate.items():
        begins.sort()
        for count, at in enumerate(begins, 1):
            if count > most * ((at - begins[0] + DELAYED) / seconds + 1 + len(history.leapt)):
                yield f"rate {key}: {count} began in {at - begins[0]:.1f} s, and {most} may in {seconds} s"
                break


def stretches(history):
    """Lists of pages that follow each other without a gap, each of one reader."""
    by_reader = collections.defaultdict(list)
    for page in history.pages:
        of_reader = by_reader[page.reader]
        if page.gap is not None or not of_reader:
            of_reader.append([])
        of_reader[-1].append(page)
    return by_reader


def of_feed(history, tasks):
    """Within a stretch no event is left out, and no task ends twice, or otherwise than task.list says."""
    level, told = levels(history), {}
    for at, id, _ in history.ended:
        told.setdefault(id, at)
    for reader, found in stretches(history).items():
        ends = {}
        for pages in found:
            yield from of_stretch(reader, pages, [task for task in history.acknowledged if task.durable in DURABLE], told)
            for _, event, id in (event for page in pages for event in page.events):
                if event not in ENDED or level.get(id) not in DURABLE:
                    continue
                if id in ends:
                    yield f"feed of {reader}: {id} is {event}, and was {ends[id]}"
                ends[id] = event
                if id in tasks and tasks[id]["state"] != event:
                    yield f"feed of {reader}: {id} is {event}, and is {tasks[id]['state']} in the end"


def of_stretch(reader, pages, acknowledged, told):
    events = [event for page in pages for event in page.events]
    for (before, _, _), (seq, _, _) in zip(events, events[1:]):
        if seq != before + 1:
            yield f"feed of {reader}: event {seq} follows {before}"
    begin, end = pages[0].at, max((page.asked for page in pages if not page.full), default=0)
    ended = {id for _, event, id in events if event in ENDED}
    for task in acknowledged:
        if begin < task.asked and told.get(task.id, end) < end and task.id not in ended:
            yield f"feed of {reader}: {task.id} ended, and no event says so"


def violations(history, tasks):
    """Texts; `tasks` is {id: {"state", "key", "accepted": numbers of the attempts that count, …}}."""
    yield from of_submissions(history, tasks)
    yield from of_reads(history)
    yield from of_attempts(history)
    yield from of_fences(history)
    yield from of_crons(tasks)
    yield from of_limits(history, tasks)
    yield from of_rates(history)
    yield from of_holds(history)
    yield from of_feed(history, tasks)
