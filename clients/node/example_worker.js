#!/usr/bin/env node
// Offers the method `words`: how often which word stands in a text. Start as many as you like, anywhere.
//
//     ERGON_URL=unix:///run/ergon/socket ./example_worker.js
'use strict';

const { connect, Permanent } = require('ergon-client');

/** A map from words to how often; whoever watches the task sees how far it is. */
async function words(context, text) {
    if (text.includes('\0')) throw new Permanent('this is no text');
    const [counts, lines] = [new Map(), text.split('\n')];
    for (const [number, line] of lines.entries()) {
        if (number % 1000 === 0) {
            await context.progress(number, lines.length);
            context.signal.throwIfAborted(); // somebody may have cancelled it
        }
        for (const word of line.toLowerCase().match(/\S+/g) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    return counts;
}

async function main() {
    const ergon = await connect(process.env.ERGON_URL, { token: process.env.ERGON_TOKEN });
    await ergon.work({ words }, { slots: 2, version: '1' }); // until SIGTERM or control-C
    await ergon.close();
}

main().catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
});
