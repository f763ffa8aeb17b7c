"""Methods of the server about what there is: tasks by conditions, queues, crons, batches, semaphores, workers, actors, and what
happens.
Answers are maps of PROTOCOL.md; moments in them are datetimes, durations seconds."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine, Iterable, Sequence
from typing import Any, TypedDict, Unpack

from .errors import ErgonError
from .options import shown
from .times import Duration, Until, ms_of

PAGE = 1000  # of a list
POLL = 30_000  # ms that the server waits for something to tell
Found = dict[str, Any]
DURATIONS = ("older", "newer", "keep", "wait")
Events = AsyncGenerator[Found, None]


class Filter(TypedDict, total=False):
    """Conditions, all of which hold: `older` and `newer` are ages, `contains` a text in the parameters (of lists alone)."""
    state: str
    method: str
    tenant: str
    key: str
    actor: str
    older: Duration
    newer: Duration
    contains: str


class ActorFilter(TypedDict, total=False):
    type: str
    prefix: str
    stage: str
    tenant: str


class EventFilter(TypedDict, total=False):
    """`after`: the `seq` of the last event that was seen, or "oldest"."""
    after: int | str
    event: str | list[str]
    state: str | list[str]
    id: str | list[str]
    method: str
    tenant: str
    key: str


class BatchOptions(TypedDict, total=False):
    """`parent`: the id of a batch of which it is a member; `keep`: how long it is kept after its end."""
    parent: str
    durable: str
    tenant: str
    keep: Duration


def part(answer: Any, name: str, kind: type) -> Any:
    """A part of a map that the server answered."""
    value = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(value, kind):
        raise ErgonError("PROTOCOL", f"the server's answer has no {name}")
    return value


def wire(conditions: Any, **more: Any) -> dict[str, Any]:
    given = {name: ms_of(value, name) if name in DURATIONS else value for name, value in conditions.items()}
    return {**given, **{name: value for name, value in more.items() if value}}


class Methods:
    """Those of aio.Client."""

    async def request(self, method: str, params: Iterable[Any] = (), *, timeout: Any = None, again: bool = False) -> Any:
        raise NotImplementedError

    async def _poll(self, method: str, params: Any) -> Any:
        raise NotImplementedError

    async def _within(self, timeout: Any, work: Coroutine[Any, Any, Any], what: str) -> Any:
        raise NotImplementedError

    async def _map(self, method: str, *params: Any) -> Found:
        found: Found = shown(await self.request(method, params))
        return found

    async def _list(self, method: str) -> list[Found]:
        return [shown(each) for each in await self.request(method, [], again=True)]

    async def _pages(self, method: str, name: str, conditions: dict[str, Any]) -> Events:
        cursor = None
        while True:
            page = await self.request(method, [wire(conditions, limit=PAGE, cursor=cursor)], again=True)
            for each in part(page, name, list):
                yield shown(each)
            cursor = page.get("next")
            if cursor is None:
                return

    def task_list(self, **conditions: Unpack[Filter]) -> Events:
        """All tasks that meet the conditions, the newest first, page after page."""
        return self._pages("task.list", "tasks", {**conditions})

    async def task_cancel(self, *, all: bool = False, dry_run: bool = False, **conditions: Unpack[Filter]) -> Found:
        """Cancels these tasks: {"matched", "cancelled", "dry_run"}. Without conditions `all` is needed; `dry_run` only counts."""
        return await self._map("task.cancel", wire(conditions, all=all, dry_run=dry_run))

    async def task_retry(self, *, all: bool = False, dry_run: bool = False, **conditions: Unpack[Filter]) -> Found:
        """Queues those of these tasks again that have ended, but not as done: {"matched", "retried", "dry_run"}."""
        return await self._map("task.retry", wire(conditions, all=all, dry_run=dry_run))

    async def task_forget(self, *, all: bool = False, dry_run: bool = False, **conditions: Unpack[Filter]) -> Found:
        """Deletes these tasks that have ended: {"matched", "forgotten", "dry_run"}."""
        return await self._map("task.forget", wire(conditions, all=all, dry_run=dry_run))

    async def task_events(self, **conditions: Unpack[EventFilter]) -> Events:
        """What happens to tasks, queues, crons and actors, from now on, or from `after` on, without an end. A map with `gap`
        alone says that events before the next one are missing."""
        asked: dict[str, Any] = {**conditions}
        while True:
            page = await self._poll("task.events", [{**asked, "timeout": POLL, "max": PAGE}])
            if page.get("gap"):
                yield {"gap": page["gap"], "missed": page.get("missed")}
            for each in part(page, "events", list):
                yield shown(each)
            asked["after"] = page["next"]

    async def queue_list(self) -> list[Found]:
        """A map for each method that has a queue."""
        return await self._list("queue.list")

    async def queue_explain(self, method: str) -> Found:
        """The same of one, with `reason` and `text`: why its tasks do not run."""
        return await self._map("queue.explain", method)

    async def queue_pause(self, method: str) -> Found:
        """Its tasks wait until queue_resume()."""
        return await self._map("queue.pause", method)

    async def queue_drain(self, method: str) -> Found:
        """Refuses further submissions until queue_resume()."""
        return await self._map("queue.drain", method)

    async def queue_resume(self, method: str) -> Found:
        """Ends both."""
        return await self._map("queue.resume", method)

    async def cron_list(self) -> list[Found]:
        """All crons."""
        return await self._list("cron.list")

    async def cron_pause(self, name: str, *, tenant: str | None = None) -> Found:
        """Stops a cron: {"name", "tenant", "paused", "next"}."""
        return await self._map("cron.pause", name, wire({}, tenant=tenant))

    async def cron_resume(self, name: str, *, tenant: str | None = None) -> Found:
        """Starts it again, at its next time."""
        return await self._map("cron.resume", name, wire({}, tenant=tenant))

    async def cron_run(self, name: str, *, tenant: str | None = None) -> str:
        """Submits a task of the cron now: its id, for task()."""
        return str(part(await self.request("cron.run", [name, wire({}, tenant=tenant)]), "id", str))

    async def cron_delete(self, name: str, *, tenant: str | None = None) -> bool:
        """Was there one?"""
        return bool(await self.request("cron.delete", [name, wire({}, tenant=tenant)]))

    async def batch_create(self, *, on_success: Sequence[Any] = (), on_failure: Sequence[Any] = (), on_end: Sequence[Any] = (),
                           **options: Unpack[BatchOptions]) -> str:
        """Makes a batch: its id, for the option `batch` of submit() and submit_many(). Each of the first three is a task that the
        server submits once: (method, params) or (method, params, options), with options as PROTOCOL.md names them."""
        told = wire({**options}, on_success=list(on_success), on_failure=list(on_failure), on_end=list(on_end))
        return str(part(await self.request("batch.create", [told]), "id", str))

    async def batch_close(self, id: str) -> Found:
        """The batch ends with its last member. The batch."""
        return await self._map("batch.close", id)

    async def batch_get(self, id: str, *, wait: Duration | None = None) -> Found:
        """State and counts of a batch; with `wait` when it has ended, or the time is over."""
        return await self._map("batch.get", id, wire({} if wait is None else {"wait": wait}))

    async def batch_wait(self, id: str, *, timeout: Until | None = None) -> Found:
        """The batch, when it has ended, across broken connections and restarts of the server. TimedOut after `timeout`."""
        found: Found = shown(await self._within(timeout, self._batch_ended(id), "batch.get"))
        return found

    async def _batch_ended(self, id: str) -> Found:
        while True:
            found: Found = await self._poll("batch.get", [id, {"wait": POLL}])
            if part(found, "state", str) == "ended":
                return found

    async def batch_cancel(self, id: str) -> Found:
        """Cancels it and its open members, without a wait for them."""
        return await self._map("batch.cancel", id)

    def batch_list(self, *, state: str | None = None, tenant: str | None = None, parent: str | None = None) -> Events:
        """All batches, newest first."""
        return self._pages("batch.list", "batches", wire({}, state=state, tenant=tenant, parent=parent))

    async def sem_list(self) -> list[Found]:
        """All semaphores."""
        return await self._list("sem.list")

    async def sem_create(self, name: str, permits: int, *, durable: str | None = None) -> Found:
        """Makes a semaphore that stays, or changes its permits."""
        return await self._map("sem.create", name, permits, wire({}, durable=durable))

    async def sem_delete(self, name: str) -> bool:
        """Was there one?"""
        return bool(await self.request("sem.delete", [name]))

    async def sem_explain(self, name: str, *, tenant: str | None = None) -> Found:
        """One semaphore, or limit, with its `holders` and `waiters`."""
        return await self._map("sem.explain", name, wire({}, tenant=tenant))

    async def sem_revoke(self, name: str, fence: int, *, tenant: str | None = None) -> Found:
        """Takes back what a client holds."""
        return await self._map("sem.revoke", name, fence, wire({}, tenant=tenant))

    def worker_list(self, method: str | None = None) -> Events:
        """All workers, or those of a method."""
        return self._pages("worker.list", "workers", wire({}, method=method))

    def actor_list(self, **conditions: Unpack[ActorFilter]) -> Events:
        """All actors that meet the conditions."""
        return self._pages("actor.list", "actors", {**conditions})

    async def actor_types(self) -> list[Found]:
        """The types of actors, with numbers of each."""
        return await self._list("actor.types")

    async def info(self) -> Found:
        """The server's figures, as of server.info."""
        return await self._map("server.info")

    async def whoami(self) -> Found:
        """The principal, and what it may do."""
        return await self._map("server.whoami")
