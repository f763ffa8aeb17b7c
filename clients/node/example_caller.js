#!/usr/bin/env node
// Asks workers for the words of files: a task each, which survives a restart of the server, and of its worker.
//
//     ERGON_URL=unix:///run/ergon/socket ./example_caller.js FILE...
'use strict';

const fs = require('fs/promises');
const { connect } = require('ergon-client');

async function main(paths) {
    const ergon = await connect(process.env.ERGON_URL, { token: process.env.ERGON_TOKEN, timeout: 60000 });
    const submit = async (path) => ergon.submit('words', [await fs.readFile(path, 'utf8')], { retries: 3 });
    const tasks = await Promise.all(paths.map(submit));
    for (const [i, task] of tasks.entries()) console.log(paths[i], Object.keys(await task.wait()).length);
    await ergon.close();
}

main(process.argv.slice(2)).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
});
