#!/usr/bin/python3
"""An order and the task that mails its receipt, in one transaction: both, or neither.

    psql -c "CREATE TABLE orders (id serial PRIMARY KEY, item text, mail text)"
    ./order.py postgresql://shop@db1/shop "a book" alice@example.org
"""
import json
import sys

import psycopg2  # Debian: python3-psycopg2


def place(connection, item, mail):
    """Returns the key by which clients of Ergon find the task."""
    with connection, connection.cursor() as cursor:  # commits, or rolls back at an exception
        cursor.execute("INSERT INTO orders (item, mail) VALUES (%s, %s) RETURNING id", (item, mail))
        number = cursor.fetchone()[0]
        cursor.execute("SELECT ergon.submit('mail.receipt', %s, %s)",
                       (json.dumps([number, mail]), json.dumps({"retries": 5, "delay": "2s"})))
        return cursor.fetchone()[0]


if __name__ == "__main__":
    print(place(psycopg2.connect(sys.argv[1]), sys.argv[2], sys.argv[3]))
