import os
import cart
import ergon_client

class Cart(cart.Cart):
    schema = 1

    def upgrade(self, state, schema):
        return {**state, "currency": "EUR"}

if __name__ == "__main__":
    with ergon_client.Client(os.environ["ERGON_URL"]) as ergon:
        ergon.work(actors={"cart": Cart}, slots=16)
