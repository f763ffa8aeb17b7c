"""A server within the process, for tests: an app's tasks run at once, in the thread that submits them, by the code of workers."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

import msgpack  # type: ignore
from ergon_app.registry import App
from ergon_client import aio, blocking, serving, threads
from ergon_client.actors import Actor, policies
from ergon_client.errors import RemoteError, remote_error, split
from ergon_client.failure import error_text
from ergon_client.news import log
from ergon_client.protocol import as_dict, pack

PERMANENT = ("BAD_PARAMS", "NO_METHOD", "NO_EXECUTOR", "DENIED", "TOO_LARGE", "TOO_DEEP")  # and what begins with PERMANENT
IN_COROUTINE = contextvars.ContextVar("in_coroutine", default=False)  # a coroutine function runs: it must not block
FILTERS, PAGES = {"state", "method", "key"}, {"limit", "cursor"}  # of task.list
RANGES = {"priority": 9, "retries": 1000000}
NOT_KEPT = ("sleep", "wake")  # changes of a turn
AGAINS = 1000  # times that a task may put itself off


def copied(value: Any) -> Any:
    """A value as the other side gets it."""
    return msgpack.unpackb(pack(value), raw=False, strict_map_key=False, unicode_errors="surrogateescape",
                           object_pairs_hook=as_dict)


def driven(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise RuntimeError("a coroutine function waits, and nothing runs its event loop: submit it by await")


def with_results(value: Any, result: Callable[[str], Any]) -> Any:
    """The value, with result(id) in place of each {"$result": id} in it."""
    match value:
        case {"$result": str() as id} if len(value) == 1:
            return result(id)
        case dict():
            return {key: with_results(each, result) for key, each in value.items()}
        case list():
            return [with_results(each, result) for each in value]
    return value


def named(params: list[Any]) -> list[str]:
    """The ids of the tasks whose results they are."""
    ids: list[str] = []
    with_results(params, ids.append)
    return ids


class Context(threads.Context):
    """That of a function that blocks; there is no loop which it could wait for."""

    def __init__(self, context: serving.Context) -> None:
        super().__init__(context, None)  # type: ignore[arg-type]

    def _wait(self, work: Coroutine[Any, Any, None]) -> None:
        driven(work)

    def _ask(self, work: Coroutine[Any, Any, Any]) -> Any:
        return driven(work)


class Wire:
    """What a Context has of its session."""

    def __init__(self, server: Server, task: dict[str, Any]) -> None:
        self._server, self._task = server, task
        self.sends: dict[str, list[Any]] = {"task": [], "tell": []}  # what the attempt submits with its end
        self.refused: RemoteError | None = None

    async def notify(self, method: str, params: list[Any]) -> None:
        if method == "worker.progress":
            self._task["progress"] = dict(zip(("done", "total", "text"), params[1:]))
            self._server.happens(self._task, "progress", text=params[3])
        else:
            self._server.happens(self._task, "partial", data=copied(params[1]))

    async def request(self, method: str, params: list[Any]) -> Any:
        if method == "worker.submit":
            self._add(copied(params[1]))
        elif method == "worker.checkpoint":
            self._task["checkpoint"] = copied(params[1])
        else:
            return await self._server.answer(method, params)
        return True

    def _add(self, sends: dict[str, list[Any]]) -> None:
        for kind, orders in sends.items():
            if any(each[-1].keys() & {"after", "after_any"} for each in orders):
                self.refused = RemoteError("BAD_CHANGES", "what an attempt submits comes after no task, and gets no results")
                raise self.refused
            self.sends[kind] += orders

    def ended(self) -> dict[str, list[Any]]:
        """What it has submitted, all of which is possible. RemoteError: the attempt has failed."""
        if self.refused is not None:
            raise self.refused
        for each in self.sends["task"]:
            self._server._task(*each)
        for to, *_ in self.sends["tell"]:
            self._server._policy(to)
        return self.sends


class Server(aio.Client):
    """A client whose server is the app itself. What it does not know fails with NO_METHOD, and says so."""

    def __init__(self, app: App) -> None:
        super().__init__("unix:///immediate")
        self._handlers, self._types = app.handlers(), policies(app.actors)
        self._kinds: dict[str, type[Actor]] = app.actors
        self._kept: dict[str, dict[str, Any]] = {}  # id: the task as task.get shows it, and its `events`
        self._keys: dict[str, str] = {}
        self._actors: dict[str, dict[str, Any]] = {}

    async def connect(self) -> Server:
        return self

    async def _within(self, timeout: Any, work: Coroutine[Any, Any, Any], what: str) -> Any:
        return await work

    async def _once(self, method: str, params: Any, turns: Any, again: Any) -> Any:
        return copied(await self.answer(method, copied(params)))

    async def _poll(self, method: str, params: Any) -> Any:
        return await self._once(method, params, None, None)

    async def answer(self, method: str, params: list[Any]) -> Any:
        """A request's result, or RemoteError."""
        match method, params:
            case "task.submit", [str() as name, list() as given, dict() as options]:
                return await self._submit(name, given, options)
            case "task.submit_many", [orders, options]:
                return [await self._answer(name, given, {**options, **(own[0] if own else {})}) for name, given, *own in orders]
            case "task.call", [str() as name, list() as given, dict() as options]:
                task = self._task(name, given, options)
                return self._result(task if self._is_refused(task) else await self._run(task))
            case "task.get" | "task.explain", [id, *_]:
                return self._found(id)
            case "task.wait", [ids, *_]:
                return {"ended": [self._found(id) for id in ids], "open": []}
            case "task.watch", [id, dict() as options]:
                return {"events": self._found(id)["events"][options.get("from", 1) - 1:], "ended": True}
            case "task.list", [*given]:
                asked = {name: value for name, value in (given[0] if given else {}).items() if name not in PAGES}
                if strange := sorted(asked.keys() - FILTERS):
                    raise RemoteError("BAD_PARAMS", f"testing.immediate() has no condition {strange[0]!r}: use testing.server()")
                tasks = [task for task in reversed(self._kept.values()) if asked.items() <= {n: task[n] for n in asked}.items()]
                return {"tasks": tasks, "next": None}
            case "actor.call", [str() as actor, str() as name, list() as given, dict() as options]:
                return self._result(await self._turn(actor, name, given, options, "call_retries", 0))
            case "actor.tell", [str() as actor, str() as name, list() as given, dict() as options]:
                return self._said(await self._turn(actor, name, given, options, "retries", 3))
            case "actor.get", [str() as actor, *_] if actor in self._actors:
                return {"actor": actor, "stage": "active", **self._actors[actor]}
        if method in self._handlers and not self._is_turn(method):
            return self._result(await self._run(self._task(method, params, {})))
        raise RemoteError("NO_METHOD", f"testing.immediate() has no {method}: register it with the app, or use testing.server()")

    def _is_turn(self, method: str) -> bool:
        return method.partition(".")[0] in self._types

    def _found(self, id: str) -> dict[str, Any]:
        if id not in self._kept:
            raise RemoteError("NOT_FOUND", f"no task {id}: it never existed, or was forgotten")
        return self._kept[id]

    def _result(self, task: dict[str, Any]) -> Any:
        if task["state"] != "done":
            raise remote_error(task["error"])
        return task["result"]

    def _said(self, task: dict[str, Any], duplicate: bool = False) -> dict[str, Any]:
        return {"id": task["id"], "state": task["state"], "durable": "none", "duplicate": duplicate, "coalesced": False}

    def happens(self, task: dict[str, Any], event: str, **more: Any) -> None:
        task["events"].append({"seq": len(task["events"]) + 1, "event": event, "attempt": task["attempt"], **more})

    # ---- tasks ----

    def _task(self, method: str, params: list[Any], options: dict[str, Any]) -> dict[str, Any]:
        for name, most in RANGES.items():
            if name in options and not (type(options[name]) is int and 0 <= options[name] <= most):
                raise RemoteError("BAD_PARAMS", f"{name} must be a number from 0 to {most}, not {options[name]!r}")
        if method not in self._handlers:
            raise RemoteError("NO_METHOD", f"unknown method {method!r}: the app has {', '.join(self._handlers) or 'none'}")
        for id in named(params):
            if id not in self._listed(options.get("after")):
                raise RemoteError("BAD_PARAMS", f"the parameters name the result of {id}, and `after` does not name that task")
        return {"id": f"i{len(self._kept) + 1}", "method": method, "params": params, "options": options, "state": "queued",
                "attempt": 0, "failures": 0, "error": None, "progress": None, "key": options.get("key"),
                "tenant": options.get("tenant"), "traceparent": options.get("traceparent"), "result": None, "events": []}

    async def _submit(self, method: str, params: list[Any], options: dict[str, Any]) -> dict[str, Any]:
        key = options.get("key")
        if key in self._keys:
            return self._said(self._kept[self._keys[key]], True)
        task = self._task(method, params, options)
        refused = self._is_refused(task)
        self._kept[task["id"]] = task
        if key is not None:
            self._keys[key] = task["id"]
        return self._said(task if refused else await self._run(task))

    async def _answer(self, method: str, params: list[Any], options: dict[str, Any]) -> dict[str, Any]:
        """That to one order of many."""
        try:
            return await self._submit(method, params, options)
        except RemoteError as error:
            return {"error": str(error)}

    def _is_refused(self, task: dict[str, Any]) -> bool:
        """It has failed, for one that it comes after is not done. RemoteError NOT_FOUND: there is no such task."""
        before = {name: self._listed(task["options"].get(name)) for name in ("after", "after_any")}
        undone = [id for id in before["after"] if self._found(id)["state"] != "done"]
        if undone:
            task.update(state="failed", error=f"AFTER: task {undone[0]} is not done", after_failed=undone[0])
            self.happens(task, "failed", text=task["error"])
        return bool(undone)

    def _listed(self, ids: Any) -> list[str]:
        listed: list[str] = [ids] if isinstance(ids, str) else ids or []
        for id in listed:
            self._found(id)
        return listed

    async def _run(self, task: dict[str, Any], turn: Callable[[], dict[str, Any]] | None = None) -> dict[str, Any]:
        """The task when it has ended: its attempts follow each other at once."""
        retries, agains = task["options"].get("retries", 0), 0
        while task["state"] in ("queued", "running"):
            task.update(state="running", attempt=task["attempt"] + 1)
            self.happens(task, "started")
            try:
                result, sends = await self._attempt(task, turn() if turn else {})
                task.update(result=copied(result), state="done", error=None)
                await self._send(sends)
            except Exception as raised:  # noqa: BLE001  # whatever it is fails the task
                task["error"] = error_text(raised)
                code, text = split(task["error"])
                if code == "AGAIN" and agains < AGAINS:
                    agains += 1
                    continue
                log.warning("%s of %s failed: %s", task["method"], task["id"], text, exc_info=raised)
                task["failures"] += 1
                self.happens(task, "attempt_failed", text=task["error"])
                if code in PERMANENT or code.startswith("PERMANENT") or not retries:
                    task["state"] = "failed"
                elif task["failures"] > retries:
                    task["state"] = "dead"
        self.happens(task, task["state"])
        return task

    async def _attempt(self, task: dict[str, Any], turn: dict[str, Any]) -> tuple[Any, dict[str, list[Any]]]:
        options, handler, wire = task["options"], self._handlers[task["method"]], Wire(self, task)
        told = {"task": task["id"], "attempt": task["attempt"], "tenant": task["tenant"], **turn,
                **{name: options[name] for name in ("traceparent", "tracestate", "batch") if name in options},
                **{name: task[name] for name in ("checkpoint",) if name in task}}
        context, params = serving.Context(wire, 0, task["method"], told), copied(task["params"])  # type: ignore[arg-type]
        params = with_results(params, lambda id: self._found(id)["result"])
        is_coroutine = inspect.iscoroutinefunction(handler)
        before = IN_COROUTINE.set(is_coroutine)
        try:
            if not is_coroutine:
                result = handler(Context(context), *params)
            elif asyncio._get_running_loop() is not None:
                result = await handler(context, *params)
            else:
                result = asyncio.run(handler(context, *params))
            return result, wire.ended()
        finally:
            IN_COROUTINE.reset(before)

    # ---- actors ----

    def _policy(self, actor: str) -> dict[str, Any]:
        kind = actor.partition("/")[0]
        if kind not in self._types:
            raise RemoteError("NO_METHOD", f"unknown type of actors {kind!r}: the app has {', '.join(self._types) or 'none'}")
        return self._types[kind]

    async def _turn(self, actor: str, method: str, params: list[Any], options: dict[str, Any], named: str, retries: int,
                    ) -> dict[str, Any]:
        """A message that has ended, with what its turn has sent."""
        kind, retries = actor.partition("/")[0], self._policy(actor).get(named, retries)
        key = options.get("key")
        if key in self._keys:
            return self._kept[self._keys[key]]
        was = self._actors.get(actor, {"state": None, "version": 0, "schema": 0, "reminders": []})
        if "stopped" in was:
            raise RemoteError("STOPPED", f"{actor} is stopped: {was['stopped']}")
        task = self._task(f"{kind}.{method}", params, {"retries": retries, **options, "actor": actor})
        self._kept[task["id"]] = task
        if key is not None:
            self._keys[key] = task["id"]
        await self._run(task, lambda: {"actor": actor, **copied({name: was[name] for name in ("state", "version", "schema")})})
        if task["state"] == "done":
            task["result"], changes = task["result"]
            await self._change(actor, was, changes or {})
        return task

    async def _change(self, actor: str, was: dict[str, Any], changes: dict[str, Any]) -> None:
        if "state" in changes:
            schema = self._kinds[actor.partition("/")[0]].schema
            was = {**was, "state": changes["state"], "version": was["version"] + 1, "schema": schema}
        if strange := [name for name in NOT_KEPT if name in changes]:
            raise RemoteError("NO_METHOD", f"testing.immediate() does not keep {strange[0]}() of a turn: use testing.server()")
        gone = {*changes.get("forget", []), *(each[0] for each in changes.get("remind", []))}
        reminders = [each for each in was["reminders"] if each[0] not in gone] + changes.get("remind", [])
        self._actors[actor] = was = {**was, "reminders": reminders}
        if "stop" in changes:
            was["stopped"] = changes["stop"]
        if changes.get("drop"):
            del self._actors[actor]
        await self._send(changes)

    async def _send(self, changes: dict[str, Any]) -> None:
        for to, method, params, options in changes.get("tell", []):
            await self._turn(to, method, params, options, "retries", 3)
        for method, params, options in changes.get("task", []):
            await self._submit(method, params, options)


class Engine(blocking.Engine):
    """Runs what waits for nothing, in the thread that asks for it."""

    def __init__(self, client: Server) -> None:
        self.client = client

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        if IN_COROUTINE.get():
            raise blocking.blocked(work)
        return driven(work)

    def is_loop(self, loop: asyncio.AbstractEventLoop) -> bool:
        return False

    def soon(self, function: Callable[[], Any]) -> None:
        function()

    def close(self) -> None:
        pass


class Client(blocking.Client):
    """The blocking client of a Server."""

    def __init__(self, server: Server) -> None:
        blocking.Blocks.__init__(self, Engine(server), server)
