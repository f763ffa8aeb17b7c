// Node as a client, over TLS: a thousand pipelined echoes, one file hashed and compressed, an error that it can show.
'use strict';

const assert = require('assert');
const crypto = require('crypto');
const fs = require('fs');
const tls = require('tls');
const zlib = require('zlib');
const Session = require('msgpack5rpc');

const path = process.env.ERGON_FILE;
const data = fs.readFileSync(path);
const [host, port] = process.env.ERGON_ADDRESS.split(':');

async function run(socket) {
    const session = new Session();
    session.attach(socket, socket);
    const call = (method, ...args) =>
        new Promise((done, failed) =>
            session.request(method, args, (error, result) => (error ? failed(error) : done(result))));

    const numbers = Array.from({ length: 1000 }, (_, i) => i);
    assert.deepStrictEqual(await Promise.all(numbers.map((i) => call('echo', i))), numbers);
    const sum = await call('hash', 'sha256', data, 'hex');
    assert.strictEqual(sum, crypto.createHash('sha256').update(data).digest('hex'));
    assert.deepStrictEqual(zlib.gunzipSync(await call('compress', data)), data);
    const error = await call('no-such-method').catch((e) => String(e));
    assert.match(error, /^NO_METHOD/);
    console.log(`1000 pipelined echoes over TLS; ${path} hashed and compressed; an error reads "${error}"`);
    socket.destroy();
}

const socket = tls.connect({ host, port, ca: fs.readFileSync(process.env.ERGON_CA), servername: 'localhost' }, () =>
    run(socket).catch((error) => {
        console.error(error);
        process.exit(1);
    }));
