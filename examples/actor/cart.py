import os
import ergon_client

class Cart(ergon_client.Actor):
    reads = {"total"}

    def add(self, sku, cents):
        self.state.setdefault("items", {})[sku] = cents
        return len(self.state["items"])

    def total(self):
        return sum(self.state.get("items", {}).values())

    def empty(self):
        self.drop()

if __name__ == "__main__":
    with ergon_client.Client(os.environ["ERGON_URL"]) as ergon:
        ergon.work(actors={"cart": Cart}, slots=16)  # until SIGTERM or control-C
