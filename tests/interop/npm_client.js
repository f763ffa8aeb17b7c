// An npm client as it is, named by the first argument: a thousand pipelined calls, values of every kind, errors.  What it
// saw goes to standard output as JSON.
'use strict';

const assert = require('assert');
const crypto = require('crypto');
const net = require('net');
const tls = require('tls');
const zlib = require('zlib');

const mute = { level: 'error', debug() {}, info() {}, warn() {}, error() {} };

// Each gives call(method, ...params), a promise, and notify(method, ...params).
const clients = {
    msgpack5rpc(socket) {
        const Session = require('msgpack5rpc');
        const session = new Session();
        session.attach(socket, socket);
        return {
            call: (method, ...params) =>
                new Promise((done, failed) =>
                    session.request(method, params, (error, result) => (error ? failed(error) : done(result)))),
            notify: (method, ...params) => session.notify(method, params),
        };
    },
    async neovim(socket) {
        const { attach } = require('neovim');
        const client = attach({ reader: socket, writer: socket, options: { logger: mute } });
        // It shows the second half of an error: [code, text] is the shape for it.
        await client.request('server.hello', [{ errors: 'pair' }]);
        return {
            call: (method, ...params) => client.request(method, params),
            notify: (method, ...params) => client.transport.notify(method, params),
        };
    },
};

const errorOf = (promise) => promise.then(() => 'no error', (error) => String(error.message || error));

async function run(socket) {
    const { call, notify } = await clients[process.argv[2]](socket);
    const numbers = Array.from({ length: 1000 }, (_, i) => i);
    assert.deepStrictEqual(await Promise.all(numbers.map((i) => call('echo', i))), numbers);

    const mixed = numbers.map((i) => (i % 2 ? call('sum', i, 1) : errorOf(call('fail', 'ODD', `not ${i}`))));
    (await Promise.all(mixed)).forEach((seen, i) => (i % 2 ? assert.strictEqual(seen, i + 1) : assert.match(seen, new RegExp(`ODD: not ${i}$`))));

    for (const value of [true, false, null, 1.5, -7, 2 ** 40, 'käse', 'x'.repeat(300), 'y'.repeat(70000), [], [1, [2, 3]], { a: { b: 'c' } }])
        assert.deepStrictEqual(await call('echo', value), value);
    assert.deepStrictEqual(await call('echo', 1, 'two'), [1, 'two']);

    const data = crypto.randomBytes(1 << 20);
    assert.ok(data.equals(await call('echo', data)));
    assert.strictEqual(await call('hash', 'sha256', data, 'hex'), crypto.createHash('sha256').update(data).digest('hex'));
    assert.ok(data.equals(zlib.gunzipSync(await call('compress', data))));
    assert.ok(data.equals(Buffer.from(await call('decompress', zlib.gzipSync(data)))));

    notify('echo', 1);
    notify('no.such.method');
    const errors = [await errorOf(call('no.such.method')), await errorOf(call('fail', 'NO_SPACE', 'the disk is full')),
        await errorOf(call('sum', 'three'))];
    assert.strictEqual(await call('echo', 'still here'), 'still here');
    console.log(JSON.stringify({ errors }));
}

const address = process.env.ERGON_ADDRESS;
const [host, port] = address.split(':');
const socket = process.env.ERGON_MODE === 'pipe' ? net.connect(address)
    : process.env.ERGON_MODE === 'tls' ? tls.connect({ host, port, servername: 'localhost', ca: require('fs').readFileSync(process.env.ERGON_CA) })
        : net.connect({ host, port });
socket.once(process.env.ERGON_MODE === 'tls' ? 'secureConnect' : 'connect', () =>
    run(socket).then(() => process.exit(0), (error) => {
        console.error(error);
        process.exit(1);
    }));
