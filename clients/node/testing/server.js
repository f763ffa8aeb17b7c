// A server of its own for a test suite.
'use strict';

const { spawn } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { Client } = require('../lib/client');

const LIMIT = 30000; // ms until it answers
const SAID = 4000; // characters of what it said that an error shows

/** The path of ergond. Error: there is none. */
function ergond() {
    if (process.env.ERGOND) return process.env.ERGOND;
    const paths = (process.env.PATH ?? '').split(path.delimiter).map((folder) => path.join(folder, 'ergond'));
    const found = paths.find((one) => fs.existsSync(one));
    if (found === undefined) throw new Error('there is no ergond: install it on the PATH, or set ERGOND to its path');
    return found;
}

/** Starts a server with these flags, at a Unix socket in a folder of its own. index.d.ts says more. */
async function server(...flags) {
    const program = ergond();
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ergon-'));
    const url = `unix://${folder}/socket`;
    const child = spawn(program, ['--listen', url, ...flags], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said = (said + text).slice(-SAID)));
    let isOver = false;
    const over = new Promise((resolve) => {
        const end = (why) => ((isOver = true), resolve(why));
        child.once('error', (error) => end(error.message));
        child.once('close', (code, signal) => end(`it ended with ${signal ?? code}`));
    });
    const clear = () => fs.rmSync(folder, { recursive: true, force: true });
    const kill = () => (child.kill('SIGKILL'), clear()); // a test that ends the process leaves no server
    process.once('exit', kill);
    const hold = (how) => [child, child.stdout, child.stderr].forEach((one) => one[how]());
    const close = async () => {
        hold('ref');
        if (!isOver) child.kill('SIGTERM');
        await over;
        process.off('exit', kill);
        clear();
    };
    const client = new Client(url, { backoff: [5, 50], log: false });
    try {
        const dead = over.then((why) => Promise.reject(new Error(`${program} does not serve: ${why}\n${said}`)));
        await Promise.race([client.request('server.ping', [], { timeout: LIMIT }), dead]);
    } catch (error) {
        await close();
        throw error;
    } finally {
        await client.close();
    }
    hold('unref'); // a test that forgets close() ends all the same
    return { url, pid: child.pid, close, [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]: close };
}

module.exports = { server };
