#!/usr/bin/node
// An order and the task that mails its receipt, in one transaction: both, or neither.
//
//     psql -c "CREATE TABLE orders (id serial PRIMARY KEY, item text, mail text)"
//     npm install pg
//     node order.js postgresql://shop@db1/shop "a book" alice@example.org
"use strict";
const { Client } = require("pg");

// Resolves to the key by which clients of Ergon find the task.
async function place(client, item, mail) {
    await client.query("BEGIN");
    try {
        const order = await client.query("INSERT INTO orders (item, mail) VALUES ($1, $2) RETURNING id", [item, mail]);
        const task = await client.query("SELECT ergon.submit('mail.receipt', $1, $2) AS key",
            [JSON.stringify([order.rows[0].id, mail]), { retries: 5, delay: "2s" }]);
        await client.query("COMMIT");
        return task.rows[0].key;
    } catch (error) {
        await client.query("ROLLBACK");
        throw error;
    }
}

async function main([url, item, mail]) {
    const client = new Client(url);
    await client.connect();
    try {
        console.log(await place(client, item, mail));
    } finally {
        await client.end();
    }
}

main(process.argv.slice(2));
