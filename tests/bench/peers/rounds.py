"""Ways to do one thing, each measured in each of several rounds, in turns; prints figures, and ratios of neighbours in a round."""

import statistics

SHARED_CORES = 0.1  # more than this of other processes, and a round is not to be trusted


def median(values):
    return statistics.median(values)


def ratio(a, b, key="rate"):
    """Of one figure of two ways in a round."""
    return lambda r: r[a][key] / r[b][key]


def disturbed(figures):
    """The most that others used beside one of the ways, in processors, as far as that is known."""
    return max(way.get("other_cores", 0) for way in figures.values())


class Run:
    """`options`: of the program, with `row`, a text that the titles to measure have, `rounds`, and maybe `patience`: so many more rounds
    are measured while others use the machine, and the least disturbed count."""

    def __init__(self, options):
        self.options, self.rows = options, []

    def wants(self, title):
        return self.options.row in title

    def rounds(self, title, ways, ratios, count=None):
        """Measures each of `ways` ({name: made by a function}), which have window() and stop(), in each round, in turns; `ratios` are
        (text, function of a round's {name: figures}, the least it may be, or below 0 minus the most, or None).  `count`: of rounds that
        are not repeated, instead of those of the options."""
        if not self.wants(title):
            return
        made = {}
        try:
            for name, make in ways.items():
                made[name] = make()
            for way in made.values():
                way.window()
            rounds = self.least_disturbed(list(made), made, count)
        finally:
            for way in made.values():
                way.stop()
        self.tell(title, rounds, ratios)

    def least_disturbed(self, names, made, count):
        rounds, wanted = [], count or self.options.rounds
        most = wanted + (0 if count else getattr(self.options, "patience", 0))
        while sum(disturbed(r) <= SHARED_CORES for r in rounds) < wanted and len(rounds) < most:
            first = len(rounds) % len(names)
            rounds.append({name: made[name].window() for name in names[first:] + names[:first]})
        return sorted(rounds, key=disturbed)[:wanted]

    def tell(self, title, rounds, ratios):
        print(f"\n{title}")
        for name in sorted(rounds[0], key=list(rounds[0]).index):
            figures = {key: median([r[name][key] for r in rounds]) for key in rounds[0][name]}
            more = "".join(f"   {key} {value:.1f}" for key, value in figures.items() if key != "rate")
            print(f"  {name:48}{figures['rate']:>10.0f} /s{more}")
        for text, of, bar in ratios:
            values = [of(r) for r in rounds]
            good = bar is None or (median(values) >= bar if bar > 0 else median(values) <= -bar)
            asked = "" if bar is None else f"   {'at least' if bar > 0 else 'at most'} {abs(bar):g}{'' if good else ': MISSED'}"
            print(f"  {text:48}{median(values):>10.2f} ({min(values):.2f}-{max(values):.2f}){asked}", flush=True)
            self.rows.append({"group": title, "what": text, "values": values, "median": median(values), "bar": bar, "good": good})
