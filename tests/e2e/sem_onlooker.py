"""What one who looks on can know of who holds a semaphore and who waits for it, and whether that is what was promised.

Each acquire comes from a principal of its own, whose name is its number, so that `sem.explain` says which acquire holds and which
waits; that is a look, and it shows one moment.  Fences are one row of numbers for the whole server.  So the onlooker takes one of
its own, a mark, before each look: what has a lower number than the mark was granted before the look, and what has a higher one than
the next mark was granted behind it.  Where neither is so nothing is concluded.

What is promised, and held here:

- Fences grow in the order in which permits are granted, over restarts of the server, too.
- In one life of the server permits are granted in the order in which they were asked for: who was seen waiting goes before whoever
  came later, and nobody who waits is passed or forgotten, but who was killed.
- A restart loses the places of those that wait: they ask anew, and their order is that of the new life.  What was held, is; so what
  was told before a restart is lower than all that is granted behind it.
"""
from bisect import bisect_left, bisect_right

from harness import RemoteError


def name_of(number):
    return f"n{number}"


def number_of(principal):
    return int(principal.removeprefix("token:n"))


class Look:
    def __init__(self, before, shown):
        self.before, self.after = before, None  # marks
        self.holders = [(number_of(h["principal"]), h["fence"]) for h in shown["holders"]]
        self.waiters = [number_of(w["principal"]) for w in shown["waiters"]]
        self.place = {number: place for place, number in enumerate(self.waiters)}
        self.taken, self.free, self.permits = sum(h["permits"] for h in shown["holders"]), shown["free"], shown["permits"]

    def in_transit(self):
        """Permits have been taken from what is free for somebody who does not stand among the holders yet."""
        return self.taken + self.free < self.permits


class Life:
    def __init__(self):
        self.looks, self.end = [], None  # the last mark


class Onlooker:
    """`name` is a semaphore of so many permits."""

    def __init__(self, name, permits):
        self.name, self.permits = name, permits
        self.lives = []
        self.ends = {}  # of those that were killed: owner: (life, number of the next look)
        self.compared = 0
        self.client = None

    # --- What it sees ---

    def begin_life(self, client, told):
        """Of a server; `told` are the fences that somebody has been told before."""
        self.client = client
        self.lives.append(Life())
        self.is_higher(self.mark(), max(told, default=0), "a restart")

    def end_life(self):
        """The server is to be killed, or the looks are over."""
        self.lives[-1].end = self.mark()
        self.client.close()

    def mark(self):
        hold = self.client.call("sem.acquire", "mark", {"of": 1, "grace": 0})
        self.client.call("sem.release", "mark", hold["hold"])
        if self.lives[-1].looks:
            self.lives[-1].looks[-1].after = hold["fence"]
        return hold["fence"]

    def look(self):
        before = self.mark()
        try:
            shown = self.client.call("sem.explain", self.name)
        except RemoteError as error:
            assert error.code == "NOT_FOUND", error  # nobody needs it
            shown = {"holders": [], "waiters": [], "free": self.permits, "permits": self.permits}
        look = Look(before, shown)
        assert look.permits == self.permits and look.taken + look.free <= self.permits, shown
        if not look.in_transit():
            self.lives[-1].looks.append(look)

    def killed(self, owner):
        """Whoever this is has just been killed, or ended."""
        self.ends.setdefault(owner, (len(self.lives) - 1, len(self.lives[-1].looks)))

    # --- What follows from it ---

    @staticmethod
    def is_higher(fence, other, what):
        assert fence > other, f"fence {fence} comes behind {what}, and {other} before"

    def judge(self, told, owner):
        """`told` are all pairs of a number and its fence, `owner` tells by number who asked, as killed() had it."""
        self.number, self.fences = {}, {}
        seen = [pair for life in self.lives for look in life.looks for pair in look.holders]
        for number, fence in [*told, *seen]:
            assert self.number.setdefault(fence, number) == number, f"fence {fence} is that of {number} and {self.number[fence]}"
        self.order = sorted(self.number)
        for fence in self.order:
            self.fences.setdefault(self.number[fence], []).append(fence)
        self.owner = owner
        for life_number, life in enumerate(self.lives):
            self.judge_life(life_number, life)

    def granted(self, low, high):
        """Fence and number of all that is known to have been granted between two fences."""
        return [(f, self.number[f]) for f in self.order[bisect_right(self.order, low):bisect_left(self.order, high)]]

    def fence_of(self, number, low, high):
        """None: it is not known to have been granted between."""
        return next((f for f in self.fences.get(number, ()) if low < f < high), None)

    def judge_life(self, life_number, life):
        first, last = {}, {}
        for look in life.looks:
            self.judge_look(look, life.end)
            for number in look.waiters:
                first.setdefault(number, look)
                last[number] = look
        for index, (look, after) in enumerate(zip(life.looks, life.looks[1:])):
            self.judge_step(look, after, (life_number, index + 1))
        for number, look in first.items():
            for _, other in self.granted(look.after, last[number].before):
                self.goes_before(look, other, number)

    def goes_before(self, look, one, other):
        """One that has been granted before another that waited at that look, and behind the look."""
        self.compared += 1
        assert one in look.place, f"{one} came when {other} waited, and was granted before it"
        assert look.place[one] < look.place[other], f"{one} stood behind {other}, and was granted before it"

    def judge_look(self, look, end):
        fences = [fence for _, fence in look.holders]
        assert fences == sorted(set(fences)), f"held in this order: {fences}"
        assert len(look.place) == len(look.waiters), f"somebody waits twice: {look.waiters}"
        if fences:
            self.is_higher(look.after, fences[-1], "a look")
        for number in look.waiters:
            fence = self.fence_of(number, look.before, end)
            for before, other in self.granted(look.before, fence) if fence else ():
                if other in look.place or before > look.after:
                    self.goes_before(look, other, number)

    def judge_step(self, look, after, at):
        """From one look to the next."""
        for number, fence in set(after.holders) - set(look.holders):
            self.is_higher(fence, look.before, f"a look without {number}")
        stayed = [number for number in look.waiters if number in after.place]
        assert after.waiters[:len(stayed)] == stayed, f"{look.waiters} waited, and then {after.waiters}"
        for number in look.waiters:
            gone = self.ends.get(self.owner(number))
            assert (number in after.place or self.fence_of(number, look.before, after.after)
                    or (gone and gone <= at)), f"{number} waited, and then neither held nor waited"
