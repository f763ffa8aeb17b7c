import os

import ergon_client


def plain(context, text):
    return text


with ergon_client.Client(os.environ["ERGON_URL"]) as ergon:
    ergon.work({"python.plain": plain}, slots=16)
