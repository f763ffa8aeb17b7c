#!/usr/bin/python3
"""Charges orders in a simulated world: with `once` the bank is told a key, and charges none twice."""
import sys
import time

from ergon_client.testing import effect, simulate


class Bank:
    """Stands in for the bank, and says to the simulation what it did."""

    def __init__(self):
        self.known = set()

    def charge(self, order, key=None):
        time.sleep(0.02)
        if key is None or key not in self.known:
            effect("charge", order)
        self.known.add(key)
        time.sleep(0.02)


def app(bank):
    """The handlers of a worker."""
    def charge(context, order):
        bank.charge(order, key=order if "once" in sys.argv else None)
    return {"orders.charge": charge}


simulate(app, "orders.yaml", seeds=20, outside=Bank, workers=2, slots=2)
print("nothing was found")
