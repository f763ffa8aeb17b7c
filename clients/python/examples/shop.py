"""A sample application: orders are charged and shipped, and a cart is an actor. tests/test_shop.py is its suite.

    ERGON_URL=unix:///run/ergon/socket python3 -m ergon_client work shop:app --slots 8
"""
import dataclasses
import enum
from datetime import UTC, datetime, timedelta

import ergon_client
from ergon_client import Context

app = ergon_client.App()


class Method(enum.Enum):
    CARD = "card"
    INVOICE = "invoice"


@dataclasses.dataclass
class Line:
    sku: str
    cents: int
    count: int = 1


@dataclasses.dataclass
class Order:
    number: int
    lines: list[Line]
    method: Method = Method.CARD
    until: datetime | None = None


@dataclasses.dataclass
class Receipt:
    order: int
    cents: int
    at: datetime


@app.task(retries=3, backoff="10ms")
def charge(context: Context, order: Order) -> Receipt:
    """The bank is away at first."""
    if order.method is Method.CARD and context.attempt < 2:
        raise ConnectionError("the bank does not answer")
    cents = sum(line.cents * line.count for line in order.lines)
    if cents <= 0:
        raise ergon_client.Permanent("there is nothing to pay")
    return Receipt(order.number, cents, order.until or datetime(2031, 5, 1, tzinfo=UTC))


@app.task
def ship(number: int, within: timedelta = timedelta(days=2)) -> str:
    return f"order {number} within {within.total_seconds():g} s"


@app.task("letters.write")
async def write(receipt: Receipt) -> str:
    return f"order {receipt.order}: {receipt.cents / 100:.2f}"


@app.task(retries=1, backoff="10ms")
def place(context: Context, order: Order) -> list[str]:
    """Charges an order, and ships it."""
    receipt = charge.submit(order).wait()
    context.progress(1, 2, "paid")
    return [ship.submit(order.number).wait(), str(receipt.cents)]


@app.actor
class Cart(ergon_client.Actor):
    reads = frozenset({"total"})

    def add(self, line: Line) -> int:
        lines = self.state.setdefault("lines", [])
        lines.append(dataclasses.asdict(line))
        return len(lines)

    def total(self) -> int:
        return sum(line["cents"] * line["count"] for line in self.state.get("lines", []))


@app.cron("tidy", "@daily")
@app.task
def tidy() -> None:
    """Every day at midnight, as long as there is a worker."""
