#!/usr/bin/env node
// Hashes files on the server, all at once, each as a task that is tried again and survives a restart of the server.
//
//     ERGON_URL=unix:///run/ergon/socket ./example.js FILE...
'use strict';

const fs = require('fs/promises');
const { connect } = require('ergon-client');

async function digest(ergon, path) {
    const task = await ergon.submit('hash', ['sha256', await fs.readFile(path), 'hex'], { retries: 3 });
    for await (const { event } of task.watch()) console.error(`${task.id}: ${event}`);
    console.log(`${await task.wait()}  ${path}`);
}

async function main(paths) {
    const ergon = await connect(process.env.ERGON_URL, { timeout: 60000 });
    try {
        await Promise.all(paths.map((path) => digest(ergon, path)));
    } finally {
        await ergon.close();
    }
}

main(process.argv.slice(2)).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
});
