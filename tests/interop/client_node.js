// Plays a scenario of clients.py with the Node package.
'use strict';

const assert = require('assert');
const { execFile } = require('child_process');
const crypto = require('crypto');
const { EventEmitter, once } = require('events');
const fs = require('fs');
const net = require('net');
const os = require('os');
const readline = require('readline');
const { promisify } = require('util');
const ergonClient = require('ergon-client');
const { typesOf } = require('ergon-client/lib/actors');
const { encode, Scanner } = require('ergon-client/msgpack');
const { Later } = require('ergon-client/lib/protocol');
const { KINDS } = require('ergon-client/lib/options');
const { Actor, Again, Client, Ext, ErgonError, Permanent, connect, turn } = ergonClient;

const { ERGON_URL: URL, ERGON_CA: ca, ERGON_TOKEN: token, ...env } = process.env;

async function askStage(what) {
    const lines = readline.createInterface({ input: process.stdin });
    console.log(what);
    for await (const line of lines) {
        assert.strictEqual(line, 'done');
        return;
    }
}

/** The error with which it fails. */
async function fails(code, promise) {
    const error = await promise.then((value) => assert.fail(`no error, but ${value}`), (e) => e);
    assert.ok(error instanceof ErgonError, error);
    assert.strictEqual(error.code, code, error.message);
    return error;
}

async function collect(events) {
    const all = [];
    for await (const event of events) all.push(event);
    return all;
}

async function using(options, use) {
    const ergon = await connect(URL, { ca, ...options });
    await use(ergon);
    await ergon.close();
}

/** A server that plays as answer(method, params) says: [error, result], or null to close after `last`. */
async function playing(answer, use, last = null) {
    const server = net.createServer((socket) => {
        const scanner = new Scanner(1 << 20);
        socket.on('error', () => {});
        if (last !== null) socket.end(encode(last));
        else socket.on('data', (bytes) => {
            for (const [, id, method, params] of scanner.feed(bytes)) socket.write(encode([1, id, ...answer(method, params)]));
        });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    await use(`ergon://127.0.0.1:${server.address().port}`);
    server.close();
}

/** What a client tells from now on: [event, reason], and next(event) waits for one of that name. */
function listenTo(client) {
    const [heard, waiting] = [[], new Map()];
    for (const name of ['connect', 'disconnect', 'reconnect', 'refused', 'drained'])
        client.on(name, ({ address, reason }) => {
            assert.ok(address.includes('://'));
            heard.push([name, reason]);
            waiting.get(name)?.(reason);
        });
    return { heard, next: (name) => new Promise((resolve) => waiting.set(name, resolve)) };
}

const memory = (lines = []) => ({
    lines,
    ...Object.fromEntries(['info', 'warn', 'error'].map((level) => [level, (line) => lines.push(`${level} ${line}`)])),
});

const scenarios = {
    times: () =>
        using({}, async (ergon) => {
            // An attempt's timeout ends it, and no other time does.
            for (const attemptTimeout of [20, '20ms']) {
                const task = await ergon.submit('sleep', ['60s'], { attemptTimeout });
                const error = await fails('DEADLINE', task.wait({ timeout: '30s' }));
                assert.deepStrictEqual([error.remote, error.data.state], [true, 'failed']);
            }
            await fails('DEADLINE', ergon.call('sleep', ['60s'], { attemptTimeout: '20ms', timeout: '30s' }));
            // The client's own, in each way.
            for (const timeout of [20, '20ms', '0.02s', new Date(Date.now() + 20)])
                assert.strictEqual((await fails('TIMEOUT', ergon.call('sleep', ['60s'], { timeout }))).remote, false);
            // Durations and moments of a task.
            const at = new Date(Date.now() + 3600000);
            for (const when of [at, at.getTime(), at.toISOString()])
                assert.strictEqual((await (await ergon.submit('echo', [1], { at: when })).get()).due, at.getTime());
            for (const delay of [3600000, '1h', '60m']) {
                const { due, created } = await (await ergon.submit('echo', [1], { delay })).get();
                assert.ok(Math.abs(due - created - 3600000) < 1000);
            }
            for (const deadline of [3600000, '1h', at]) {
                const task = await ergon.submit('echo', [1], { delay: '2h', deadline });
                assert.ok(Math.abs((await task.get()).deadline - at.getTime()) < 60000);
            }
            await ergon.submit('echo', [1], { keep: '1m', keepSize: 10, backoff: '2s', backoffMax: 5000, rate: { key: 'r', max: 9, per: '1s' } });
            // Tasks.
            const first = await ergon.submit('echo', ['first']);
            const second = await ergon.submit('echo', ['second'], { after: [first], afterAny: first });
            const third = await ergon.submit('echo', ['third'], { after: first.id });
            assert.deepStrictEqual((await ergon.wait([first, second.id, third])).ended.map((t) => t.result), ['first', 'second', 'third']);
            assert.strictEqual((await ergon.wait(second)).ended[0].result, 'second');
            assert.strictEqual((await collect(ergon.watch(first))).at(-1).event, 'done');
            assert.strictEqual(ergon.task(first).id, first.id);
            // Permits, events, crons.
            const hold = await ergon.acquire('times', { of: 1, wait: '1s', grace: '2s', ttl: '1m' });
            await fails('DEADLINE', ergon.acquire('times', { wait: '10ms' }));
            await fails('DEADLINE', ergon.acquire('times', { wait: new Date(Date.now() + 10) }));
            await hold.release();
            await fails('TIMEOUT', ergon.eventWait('times', { timeout: '10ms' }));
            for (const schedule of [3600000, 'every 1h', '@hourly'])
                await ergon.cronPut('times', schedule, 'echo', [1], { attemptTimeout: '5s', jitter: 1000, catchUp: 'one' });
            const [cron] = (await ergon.call('cron.list')).filter(({ name }) => name === 'times');
            assert.strictEqual(cron.schedule, '@hourly');
            await ergon.call('cron.delete', ['times']);
            assert.strictEqual(new Again('5s').message, 'AGAIN: 5000ms');
            // What is wrong says what to use.
            const wrong = async (promise, text, kind = TypeError) => {
                const error = await promise.then(() => assert.fail(`no error: ${text}`), (e) => e);
                assert.ok(error instanceof kind, error);
                assert.match(error.message, text);
            };
            await wrong(ergon.submit('echo', [1], { timeout: 5 }), /attemptTimeout ends an attempt.*answerTimeout/);
            await wrong(ergon.submitMany([['echo', [1], { timeout: 5 }]]), /attemptTimeout/);
            await wrong(ergon.call('echo', [1], { prioritee: 5 }), /no option 'prioritee'; did you mean 'priority'/);
            await wrong(ergon.submit('echo', [1], { attempt_timeout_ms: 5 }), /no option 'attempt_timeout_ms'/);
            await wrong(ergon.call('echo', [1], { answerTimeout: 5 }), /use timeout/);
            await wrong(ergon.wait([first], { anny: true }), /did you mean 'any'/);
            await wrong(ergon.submit('echo', [1], { delay: '5' }), /delay: '5' is no duration; write '500ms', '5s'/);
            await wrong(ergon.submit('echo', [1], { delay: at }), /delay is a duration, not a Date/);
            await wrong(ergon.submit('echo', [1], { delay: -1 }), /delay must be from 0/, RangeError);
            await wrong(ergon.submit('echo', [1], { delay: NaN }), /delay must be from 0/, RangeError);
            await wrong(ergon.submit('echo', [1], { at: Date.now() / 1000 }), /Unix milliseconds, as of Date.now/, RangeError);
            await wrong(ergon.submit('echo', [1], { after: [7] }), /a Task or its id/);
            await wrong(ergon.acquire('times', { permitz: 1 }), /did you mean 'permits'/);
            await wrong(ergon.work({}, { slot: 1 }), /did you mean 'slots'/);
            assert.throws(() => new Client(URL, { tocken: 'x' }), /did you mean 'token'/);
            assert.throws(() => new Client(URL, { backoff: 100 }), /backoff is the least and the most/);
            assert.throws(() => new Client(URL, { log: {} }), /log has no info/);
        }),

    thousands: () =>
        using({}, async (ergon) => {
            const tasks = await ergon.submitMany(Array.from({ length: 3000 }, (_, i) => ['echo', [i]]));
            const { ended, open } = await ergon.wait(tasks);
            assert.deepStrictEqual([ended.map(({ result }) => result).sort((a, b) => a - b), open], [[...Array(3000).keys()], []]);
            const never = await ergon.submitMany(Array.from({ length: 2500 }, () => ['echo', [0]]), { delay: '1h' });
            const last = await ergon.submit('echo', ['last']);
            const answer = await ergon.wait([...never, last], { any: true });
            assert.deepStrictEqual(answer.ended.map(({ result }) => result), ['last']);
            assert.deepStrictEqual(answer.open, never.map(({ id }) => id));
            await fails('TIMEOUT', ergon.wait(never, { timeout: 50 }));
            await fails('NOT_FOUND', ergon.wait([...never, 't0000000000001']));
            assert.deepStrictEqual(await ergon.wait([]), { ended: [], open: [] });
            // Together their results are larger than one answer of the server.
            const large = await ergon.submitMany(Array.from({ length: 12 }, () => ['echo', [Buffer.alloc(1000000)]]));
            assert.deepStrictEqual((await ergon.wait(large)).ended.map(({ result }) => result?.length), Array(12).fill(1000000));
            await Promise.all(never.map((task) => task.cancel()));
        }),

    news: async () => {
        const log = memory();
        const ergon = await connect(URL, { backoff: [1, 10], log });
        const plain = new Client(URL, { backoff: [1, 10] }); // its lines go to standard error
        const { heard, next } = listenTo(ergon);
        await Promise.all([ergon.call('echo', [1]), plain.call('echo', [1])]);
        assert.deepStrictEqual(heard, [['connect', null]]);
        const [refused, otherRefused] = [next('refused'), once(plain, 'refused')];
        await askStage('kill');
        assert.match(await refused, /^connect (ECONNREFUSED|ENOENT) /);
        await otherRefused;
        const [back, otherBack] = [next('reconnect'), once(plain, 'reconnect')];
        await askStage('restart');
        await Promise.all([back, otherBack]);
        await plain.close();
        const { length } = heard;
        assert.deepStrictEqual(heard[1], ['disconnect', 'the server closed it']);
        assert.ok(heard.slice(2, length - 1).every(([name]) => name === 'refused'));
        assert.deepStrictEqual(heard[length - 1], ['reconnect', null]);
        // A server that stops.
        const drained = next('drained');
        const gone = next('disconnect');
        const begun = new EventEmitter();
        const working = ergon.work({ hold: () => (begun.emit('it'), drained) }, { signals: false });
        const held = once(begun, 'it');
        while (await ergon.submit('hold').then(() => false, ({ code }) => code === 'NO_METHOD')); // until it is registered
        await held;
        const idle = await connect(URL, { log: false }); // it asks for nothing, and is told
        const idleDrained = once(idle, 'drained');
        await askStage('stop');
        assert.match((await idleDrained)[0].reason, /^DRAINING: /);
        await idle.close();
        let isDrained = false;
        drained.then(() => (isDrained = true));
        while (!isDrained) await ergon.call('echo').catch(() => {}); // a worker's requests are answered until it is done
        assert.match(await drained, /^DRAINING: /);
        await gone;
        ergon.stop();
        await working;
        await ergon.close();
        const lines = log.lines.map((line) => line.replaceAll(URL, 'URL'));
        assert.strictEqual(lines[0], 'info ergon: connected to URL');
        assert.strictEqual(lines[1], 'warn ergon: lost the connection to URL: the server closed it; connecting again');
        assert.match(lines[2], /^warn ergon: no connection to URL: connect .*; trying again$/);
        assert.ok(lines.some((line) => /^warn ergon: connected to URL again, after \d+\.\d s$/.test(line)));
        assert.ok(lines.some((line) => /^warn ergon: URL is stopping: DRAINING: /.test(line)));
        // What a refusal says: of a token, and of a server that is full.
        const wrong = new Client(env.ERGON_GUARDED, { token: 'wrong', log: false });
        const denied = listenTo(wrong).next('refused');
        await fails('AUTH', wrong.connect());
        assert.match(await denied, /^AUTH: the server refused the token: AUTH: /);
        await playing(null, async (url) => {
            const late = new Client(url, { log: memory() });
            const full = listenTo(late).next('refused');
            assert.match((await fails('UNREACHABLE', late.connect())).text, /BUSY: too many connections/);
            assert.strictEqual(await full, 'BUSY: too many connections');
        }, [2, 'server.closing', ['BUSY', 'too many connections']]);
    },

    /** Programs that do not close their client. */
    silent: async () => {
        const run = async (code) => {
            const program = `const { connect, Client } = require('ergon-client'); ${code}`;
            const { stdout, stderr } = await promisify(execFile)(process.execPath, ['-e', program], { timeout: 30000 });
            assert.strictEqual(stderr, '');
            return stdout;
        };
        const url = JSON.stringify(URL);
        assert.strictEqual(await run(`connect(${url}).then(async (c) => { console.log(await c.call('echo', [7])); c.unref(); })`), '7\n');
        assert.strictEqual(await run(`connect(${url}).then(async (c) => {
            c.call('sleep', ['60s']); c.submit('sleep', ['1ms']).then((t) => t.wait()); await c.call('echo', [1]); process.exit(0); })`), '');
        assert.strictEqual(await run(`new Client(${url}).unref()`), '');
        // An open connection keeps the process alive: else the timer, which does not, would never fire.
        const kept = await run(`connect(${url}).then(() => setTimeout(() => { console.log('kept'); process.exit(0); }, 20).unref())`);
        assert.strictEqual(kept, 'kept\n');
        const nobody = JSON.stringify(`unix://${os.tmpdir()}/there-is-no-ergon`);
        assert.strictEqual(await run(`const c = new Client(${nobody}, { log: false }).unref(); c.call('echo').catch(() => {});`), '');
    },

    /** Classes have the methods that client.d.ts names, and no others; options are those that are taken. */
    types: async () => {
        const text = fs.readFileSync(env.ERGON_TYPES, 'utf8').replace(/\/\*\*[^]*?\*\//g, '');
        const bodies = (kind) => new Map([...text.matchAll(new RegExp(`^(?:export )?${kind} (\\w+)(.*?) \\{\\n([^]*?)^\\}`, 'gm'))].map(
            ([, name, base, body]) => [name, { base, members: [...body.matchAll(/^    (?:readonly )?(\w+)/gm)].map(([, member]) => member) }]));
        const [classes, interfaces] = [bodies('class'), bodies('interface')];
        const exported = [...classes.keys(), ...[...text.matchAll(/^export (?:function|const) (\w+)/gm)].map(([, name]) => name)];
        assert.deepStrictEqual(exported.filter((name) => name !== 'Context').sort(), Object.keys(require('ergon-client/lib/client')).sort());
        for (const [name, { members }] of classes) {
            const made = ergonClient[name]?.prototype;
            if (!['Client', 'Task'].includes(name)) continue;
            const methods = Object.getOwnPropertyNames(made).filter((one) => one !== 'constructor');
            const named = [...new Set(members)].filter((one) => !['constructor', 'on', 'once', 'off', 'id', 'said'].includes(one));
            assert.deepStrictEqual(named.sort(), methods.sort(), name);
        }
        const options = (name) => {
            const { base, members } = interfaces.get(name);
            const more = [...base.matchAll(/\w+/g)].map(([word]) => word).filter((word) => interfaces.has(word));
            return [...new Set([...members, ...more.flatMap(options)])].sort();
        };
        assert.deepStrictEqual(options('TaskOptions'), Object.keys(KINDS.task).sort());
        assert.deepStrictEqual(options('MessageOptions'), Object.keys(KINDS.message).sort());
        assert.deepStrictEqual(options('CronOptions'), Object.keys(KINDS.cron).sort());
        assert.deepStrictEqual(options('GetOptions'), [...Object.keys(KINDS.get), 'timeout', 'signal'].sort());
        const { OPTIONS } = Client;
        assert.deepStrictEqual(options('ClientOptions'), [...OPTIONS.client].sort());
        assert.deepStrictEqual(options('CallOptions'), [...OPTIONS.call].sort());
        assert.deepStrictEqual(options('WorkOptions'), [...OPTIONS.work].sort());
        assert.deepStrictEqual(options('SemOptions'), [...OPTIONS.sem].sort());
    },

    /** A class is a type of actors. */
    actors: async () => {
        class Cart extends Actor {
            static type = { schema: 2, reads: ['total'], stateMax: '1k', idle: '1m', durable: 'none' };
            add(sku, cents) {
                (this.state.items ??= {})[sku] = cents;
                return Object.keys(this.state.items).length;
            }
            async total() { return Object.values(this.state.items ?? {}).reduce((sum, cents) => sum + cents, 0); }
            back() { this.state = this.state.items; }
            spoil() { this.state.items = null; throw new Permanent('spoiled'); }
            empty() { this.drop(); }
            move(to, sku) {
                this.tell(to, 'add', [sku, this.state.items[sku]], { key: sku });
                this.task('echo', [sku], { priority: 9 });
                delete this.state.items[sku];
            }
            async upgrade(state) { return { items: state }; }
            async buy(sku) {
                const count = await this.call('cart/node', 'add', [sku, 1]);
                if (this.context.task && this.context.attempt === 1) throw new Error('once more');
                return count;
            }
            both() { return Promise.all([1, 2].map(() => this.call('cart/node', 'total', [], { priority: 7 }))); }
        }
        class Twin extends Actor {
            report(value) { this.state.value = value; this.wake(); }
            async step() {
                this.state.steps = (this.state.steps ?? 0) + 1;
                this.state.counted = await this.call('counter/node', 'add', [1]);
                this.sleep();
            }
        }
        assert.deepStrictEqual(await turn(Cart, { items: { a: 1 } }, 'add', ['b', 2]), { result: 2, state: { items: { a: 1, b: 2 } }, changes: {} });
        assert.deepStrictEqual((await turn(Cart, { a: 1 }, 'add', ['b', 2], { schema: 1 })).state, { items: { a: 1, b: 2 } });
        assert.deepStrictEqual(await turn(Cart, { items: {} }, 'empty'), { result: null, state: null, changes: { drop: true } });
        await fails('AGAIN', turn(Cart, {}, 'total', [], { schema: 3 }));
        // An upgraded state is sent, with its schema, also where it is what it was before.
        const { handlers } = typesOf({ cart: Cart });
        const told = (schema, state) => ({ turn: { actor: 'cart/1', version: 1, schema, state } });
        assert.deepStrictEqual(await handlers['cart.back'](told(1, { a: 1 })), [null, { state: { a: 1 } }]);
        assert.deepStrictEqual(await handlers['cart.total'](told(1, { a: 1 })), [1, null]);
        assert.deepStrictEqual(await handlers['cart.empty'](told(1, { a: 1 })), [null, { drop: true }]);
        assert.deepStrictEqual(await handlers['cart.add'](told(2, { items: { a: 1 } }), 'a', 1), [1, null]);
        assert.deepStrictEqual((await turn(Cart, { items: { a: 1 } }, 'move', ['cart/2', 'a'])).changes,
            { tell: [['cart/2', 'add', ['a', 1], { key: 'a' }]], task: [['echo', ['a'], { priority: 9 }]] });
        for (const answer of [7, () => 7])
            assert.strictEqual((await turn(Cart, {}, 'buy', ['fig'], { calls: { 'cart/node add': answer } })).result, 7);
        await assert.rejects(turn(Cart, {}, 'buy', ['fig'], { calls: { 'cart/node add': new Error('gone') } }), /gone/);
        await assert.rejects(turn(Cart, {}, 'buy', ['fig']), /cart\/node add/);
        const [host, ergon] = [await connect(URL), await connect(URL)];
        await assert.rejects(host.work({}, { actors: { cart: class extends Actor { static type = { reads: ['gone'] }; } } }), /'gone'/);
        await assert.rejects(host.work({}, { actors: { cart: class extends Actor { static type = { state: 1 }; } } }), /stateMax/);
        const working = host.work({}, { actors: { cart: Cart, twin: Twin }, slots: 2, signals: false });
        while (!(await ergon.call('actor.types')).some(({ type }) => type === 'cart')) await ergon.call('echo');
        const cart = ergon.actor('cart/7');
        assert.strictEqual(await cart.call('add', ['apple', 120]), 1);
        assert.strictEqual(await cart.call('add', ['pear', 80], { key: 'line-2' }), 2);
        assert.strictEqual(await cart.call('add', ['pear', 1000], { key: 'line-2' }), 2);
        assert.strictEqual(await cart.call('total'), 200);
        assert.strictEqual(await (await cart.tell('add', ['plum', 1], { keep: '1m' })).wait(), 3);
        await fails('PERMANENT', cart.call('spoil'));
        await fails('BAD_CHANGES', cart.call('add', ['x'.repeat(2000), 1]));
        const { state, version, schema } = await cart.get();
        assert.deepStrictEqual([state, version, schema], [{ items: { apple: 120, pear: 80, plum: 1 } }, 3, 2]);
        const versions = cart.watch();
        assert.strictEqual((await versions.next()).value.version, 3);
        await cart.call('move', ['cart/8', 'plum']);
        assert.deepStrictEqual((await versions.next()).value.state.items, { apple: 120, pear: 80 });
        await versions.return();
        for (let total = 0; total !== 1;) total = await ergon.actor('cart/8').call('total');
        const bought = await ergon.actor('cart/9').tell('buy', ['fig'], { keep: '1m', retries: 1, backoff: '1ms' });
        assert.deepStrictEqual([await bought.wait(), (await ergon.actor('cart/node').get()).version], [1, 1]);
        await fails('DEADLOCK', ergon.actor('cart/node').call('buy', ['fig']));
        await fails('BUSY', cart.call('both'));
        await fails('BAD_PARAMS', cart.call('total', [], { turn: 7 }));
        assert.strictEqual(await cart.stop({ reason: 'closed' }), 'stopped');
        await fails('STOPPED', cart.call('total'));
        assert.deepStrictEqual([await cart.start(), await cart.wake(), await cart.drop()], ['sleeping', 'sleeping', 'sleeping']);
        await fails('NOT_FOUND', cart.explain());
        const twin = ergon.actor('twin/7');
        await twin.call('report', [5]);
        for (const steps of [1, 2]) { // each calls anew
            let found = {};
            while (found.stage !== 'sleeping' || found.state.steps !== steps) found = await twin.get();
            assert.strictEqual(found.state.counted, steps);
            await twin.wake();
        }
        host.stop();
        await working;
        await Promise.all([host.close(), ergon.close()]);
    },

    /** A server that knows no `host` is asked without; what the caller asks for is not left out. */
    older: async () => {
        const registered = [];
        const answer = (method, [, options]) => {
            if (method !== 'worker.register') return [null, {}];
            registered.push(Object.keys(options));
            const strange = ['host', 'secret'].find((name) => name in options);
            return strange ? [`BAD_PARAMS: unknown option "${strange}"`, null] : [null, { worker: 'w1' }];
        };
        await playing(answer, async (url) => {
            const ergon = await connect(url, { log: false });
            const working = ergon.work({ echo: () => 1 }, { signals: false });
            while (registered.length < 2) await ergon.call('echo');
            ergon.stop();
            await working;
            assert.ok(registered[0].includes('host') && !registered[1].includes('host'));
            const refused = listenTo(ergon).next('refused');
            const error = await fails('BAD_PARAMS', ergon.work({ echo: () => 1 }, { secret: true, lease: '5s', grace: '1s', signals: false }));
            assert.match(error.text, /secret/);
            assert.match(await refused, /^BAD_PARAMS: .*secret/);
            await ergon.close();
        });
    },

    values: () =>
        using({}, async (ergon) => {
            const numbers = [0, 1, 31, 32, 33, 127, 128, 129, 255, 256, 32768, 32769, 65535, 65536, 2 ** 31, 2 ** 31 + 1, 2 ** 32 - 1,
                2 ** 32, 2 ** 53 - 1];
            const texts = [0, 31, 32, 255, 256, 65535, 65536].map((n) => 'x'.repeat(n)).concat('käse');
            const lists = [[], [1, [2, [3]]], Array(15).fill(0), Array(16).fill(0), Array(70000).fill(7)];
            const maps = [{}, { a: { b: null } }, new Map([[1, 2]]), JSON.parse('{"__proto__": 1}'),
                Object.fromEntries(numbers.map((n) => [n, n])), new Map(lists[4].map((_, i) => [i, 1]))];
            const others = [null, true, false, 1.5, -0, 1e300, 2n ** 64n - 1n, -(2n ** 63n), new Date(1234567890123), new Date(-1),
                new Ext(5, Buffer.from('x')), new Ext(6, Buffer.alloc(300))];
            const raws = texts.map((text) => Buffer.from(text));
            for (const value of [...numbers, ...numbers.map((n) => -n || 0), ...texts, ...raws, ...lists, ...maps, ...others])
                assert.deepStrictEqual(await ergon.call('echo', [value]), value);
            assert.deepStrictEqual(await ergon.call('echo', [1, 'two']), [1, 'two']);
            assert.strictEqual(await ergon.call('echo'), null);
            assert.strictEqual(await ergon.call('sum', [1, 2.5]), 3.5);
            assert.strictEqual(await ergon.call('echo', [7], { deadline: '5s', priority: 9 }), 7);
            const tasks = await ergon.submitMany([['echo', [1]], ['echo', [2], { priority: 9 }]]);
            assert.deepStrictEqual(await Promise.all(tasks.map((task) => task.wait())), [1, 2]);
            await ergon.notify('echo', [1]);
            await assert.rejects(ergon.call('echo', [() => 1]), TypeError);
        }),

    errors: () =>
        using({}, async (ergon) => {
            let error = await fails('NO_METHOD', ergon.call('no.such.method'));
            assert.deepStrictEqual([error.number, error.retryable, error.data], [-32601, false, null]);
            assert.match(error.text, /no\.such\.method/);
            error = await fails('NO_SPACE', ergon.call('fail', ['NO_SPACE', 'the disk is full']));
            assert.deepStrictEqual([error.text, error.message], ['the disk is full', 'NO_SPACE: the disk is full']);
            // It is the handler's, and not asked again.
            error = await fails('BROKEN', ergon.request('fail', ['BROKEN', 'a leg'], { again: true }));
            assert.deepStrictEqual([error.text, error.remote], ['a leg', true]);
            for (const code of ['AUTH', 'CLOSED', 'TIMEOUT', 'UNREACHABLE'])
                assert.ok((await fails(code, ergon.call('fail', [code, 'its own']))).remote);
            for (const timeout of [2 ** 31, Infinity])
                assert.strictEqual(await ergon.call('sleep', ['50ms'], { timeout }).then(() => 'slept'), 'slept');
            await fails('BAD_PARAMS', ergon.call('sum', ['three']));
            await fails('BAD_PARAMS', ergon.call('echo', [], { priority: 11 }));
            await fails('DEADLINE', ergon.call('sleep', ['60s'], { deadline: 20 }));
            await fails('NOT_FOUND', ergon.task('t0000000000001').wait());
            let task = await ergon.submit('fail', ['NO_SPACE', 'the disk is full']);
            assert.strictEqual((await fails('NO_SPACE', task.wait())).data.state, 'failed');
            await ergon.call('queue.drain', ['flaky']);
            assert.ok((await fails('DRAINING', ergon.submit('flaky', [1]))).retryable);
            assert.deepStrictEqual((await ergon.submitMany([['flaky', [1]]])).map((e) => [e.code, e.retryable]), [['DRAINING', true]]);
            await ergon.call('queue.resume', ['flaky']);
            task = await ergon.submit('echo', ['x'.repeat(100)], { keep_size: 10 });
            await fails('TOO_LARGE', task.wait());
            await task.forget();
            await fails('NOT_FOUND', task.get());
            assert.throws(() => new Client('http://localhost'), /neither/);
        }),

    large: () =>
        using({}, async (ergon) => {
            const data = crypto.randomBytes(8 << 20);
            const stop = new AbortController();
            let open = true;
            const waiting = ergon.call('sleep', ['60s'], { signal: stop.signal }).catch(() => (open = false));
            const back = await Promise.all([1, 2, 3, 4].map(() => ergon.call('echo', [data])));
            assert.ok(back.every((one) => one.equals(data)));
            await fails('TOO_LARGE', ergon.call('echo', [Buffer.alloc(17 << 20)]));
            assert.strictEqual(await ergon.call('echo', [1]), 1);
            assert.ok(open); // the same connection
            stop.abort();
            await waiting;
        }),

    tls: async () => {
        await using({}, async (ergon) => assert.strictEqual(await ergon.call('echo', [1]), 1));
        process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; // switches nothing off
        assert.match((await fails('UNREACHABLE', connect(URL))).text, /certificate/);
        delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
        assert.match((await fails('UNREACHABLE', connect(URL))).text, /certificate/);
        assert.match((await fails('UNREACHABLE', connect(URL, { ca, serverName: 'elsewhere.example' }))).text, /certificate/);
        await fails('UNREACHABLE', connect(env.ERGON_UNNAMED, { ca: env.ERGON_UNNAMED_CA }));
        const ergon = await connect(env.ERGON_MUTUAL, { ca, cert: env.ERGON_CERT, key: env.ERGON_KEY });
        assert.strictEqual((await ergon.call('server.hello')).principal, 'cert:ops.example');
        await ergon.close();
        await fails('UNREACHABLE', connect(env.ERGON_MUTUAL, { ca }));
    },

    token: async () => {
        await using({ token }, async (ergon) => assert.strictEqual((await ergon.call('server.hello')).principal, 'token:alice'));
        await fails('AUTH', connect(URL, { token: 'wrong' }));
        const late = new Client(URL, { token: 'wrong' });
        await fails('AUTH', late.call('echo', [1]));
        await late.close();
        await using({}, (ergon) => fails('AUTH', ergon.call('echo', [1])));
    },

    cancel: () =>
        using({}, async (ergon) => {
            const count = async () => (await ergon.call('server.info')).tasks.cancelled;
            const reached = async (least) => {
                while ((await count()) < least) await new Promise((resolve) => setTimeout(resolve, 10));
            };
            const before = await count();
            await fails('TIMEOUT', ergon.call('sleep', ['60s'], { timeout: 50 }));
            await reached(before + 1);
            const stop = new AbortController();
            const calls = Array.from({ length: 20 }, () => ergon.call('sleep', ['60s'], { signal: stop.signal }));
            await ergon.call('echo', [1]);
            stop.abort();
            for (const { reason } of await Promise.allSettled(calls)) assert.strictEqual(reason.name, 'AbortError');
            await assert.rejects(ergon.call('echo', [1], { signal: stop.signal }), { name: 'AbortError' });
            await reached(before + 21);
            const task = await ergon.submit('sleep', ['60s']);
            await fails('TIMEOUT', task.wait({ timeout: 50 }));
            assert.ok((await task.cancel()).cancelled);
            await fails('CANCELLED', task.wait());
            assert.strictEqual((await task.get()).state, 'cancelled');
        }),

    many: () =>
        using({ inFlight: 500 }, async (ergon) => { // ten times what the server takes
            const calls = Array.from({ length: 5000 }, (_, i) => (i % 2 ? ergon.call('echo', [i]) : ergon.call('fail', ['ODD', `${i}`])));
            (await Promise.allSettled(calls)).forEach(({ value, reason }, i) =>
                assert.strictEqual(i % 2 ? value : reason.text, i % 2 ? i : `${i}`));
        }),

    watch: async () => {
        await using({}, async (ergon) => {
            const task = await ergon.submit('progress', [5]);
            const events = await collect(task.watch());
            assert.deepStrictEqual(events.map((e) => e.seq), [...new Set(events.map((e) => e.seq))].sort((a, b) => a - b));
            assert.deepStrictEqual(events.filter((e) => e.event === 'partial').map((e) => e.data), [1, 2, 3, 4, 5]);
            assert.strictEqual(events.filter((e) => e.event === 'progress').length, 5);
            assert.strictEqual(events.at(-1).event, 'done');
            assert.strictEqual(await task.wait(), 5);
            assert.strictEqual((await collect(ergon.watch(task.id, { from: 3 }))).at(-1).event, 'done');
            const slow = await ergon.submit('sleep', ['60s']);
            const answer = await ergon.wait([task.id, slow.id], { any: true });
            assert.deepStrictEqual([answer.ended.map((t) => t.id), answer.open], [[task.id], [slow.id]]);
            assert.strictEqual((await slow.explain()).id, slow.id);
            for await (const _ of slow.watch()) break; // nobody waits for the rest
            const stop = new AbortController();
            const watching = collect(slow.watch({ signal: stop.signal }));
            stop.abort();
            await assert.rejects(watching, { name: 'AbortError' });
            await slow.cancel();
        });
        let told;
        const pushed = new Promise((resolve) => (told = resolve));
        await using({ onNotification: told }, async (ergon) => {
            const task = await ergon.submit('progress', [5]);
            await ergon.call('task.watch', [task.id, { push: true }]);
            assert.strictEqual(await pushed, 'task.event');
        });
    },

    closed: async () => {
        const ergon = new Client(URL);
        const calls = [1, 2, 3].map(() => fails('CLOSED', ergon.call('sleep', ['60s'])));
        await ergon.call('echo', [1]);
        await ergon.close();
        await ergon.close();
        await Promise.all(calls);
        await fails('CLOSED', (async () => ergon.call('echo', [1]))());
        assert.ok((await fails('UNREACHABLE', connect(env.ERGON_NOBODY))).retryable);
        const late = new Client(env.ERGON_NOBODY);
        await fails('TIMEOUT', late.call('echo', [1], { timeout: 200 }));
        await fails('TIMEOUT', late.acquire('s', { wait: 50 }));
        await late.close();
        const never = new Later();
        await assert.rejects(never.wait(AbortSignal.timeout(1)), { name: 'TimeoutError' });
        assert.strictEqual(never.waiting.size, 0); // so an outage costs no memory
    },

    rubbish: async () => {
        const ergon = new Client(URL, { backoff: [1, 10] });
        let broken = 0;
        for (;;) {
            const answer = await ergon.call('echo', ['hi']).catch((error) => error);
            if (answer === 'hi') break;
            assert.deepStrictEqual([answer.code, answer.retryable, answer.remote], ['BROKEN', false, false], answer);
            broken++;
        }
        assert.ok(broken >= 5);
        assert.strictEqual(await ergon.call('echo', ['still']), 'still');
        await fails('BROKEN', ergon.submit('echo', [1]));
        await fails('BROKEN', ergon.actor('a/1').remind('r', 'm', [], { in: 1000 }));
        await fails('BROKEN', ergon.cronPut('c', '@daily', 'm'));
        assert.strictEqual((await ergon.submit('echo', [1], { key: 'k' })).id, 't1'); // asked again
        await ergon.close();
    },

    /** A server asks, and the connection is lost under two requests, and once more; at last one is open when the work ends. */
    serve: async () => {
        const [held, why] = [[], []];
        let ergon;
        const hold = (context) =>
            new Promise((resolve, reject) => {
                held.push(() => resolve('held'));
                context.signal.addEventListener('abort', () => {
                    why.push(context.cancelled);
                    reject(context.signal.reason);
                });
                context.progress(0);
            });
        const handlers = {
            hold,
            echo: async (context, ...params) => params,
            fail: async (context, code, text) => {
                throw new ErgonError(code, text);
            },
            raise: () => {
                throw new TypeError('no luck');
            },
            odd: () => Symbol('odd'),
            again: async (context, ms) => {
                throw new Again(ms);
            },
            permanent: (context, text) => Promise.reject(new Permanent({ toString: () => text })),
            mute: () => {
                throw Object.create(null);
            },
            told: ({ method, task, attempt, tenant, left }) => [method, task, attempt, tenant, left > 0 && left < 60000],
            steps: async (context) => {
                await context.progress(1, 2, 'half');
                await context.partial([7]);
                return 'whole';
            },
            why: () => why,
            quit: () => ergon.stop(),
        };
        const onNotification = (method, params) => {
            assert.deepStrictEqual([method, params], ['release', []]);
            for (const go of held.splice(0)) go();
        };
        const troubles = [];
        ergon = await connect(URL, { backoff: [1, 10], messageMax: 12 << 20, onNotification });
        await assert.rejects(ergon.work({ hold: 7 }), /hold/);
        const options = { slots: 2, name: 'hand', version: '1.2', grace: 200, onTrouble: (error) => troubles.push(error) };
        const working = ergon.work(handlers, options);
        await assert.rejects(ergon.work(handlers), /works already/);
        await working;
        await ergon.call('worked');
        await ergon.close();
        assert.deepStrictEqual(why, ['deadline', 'draining', 'lost', 'lost', 'stopping']);
        const told = troubles.map((error) => (error instanceof Error ? String(error) : typeof error));
        assert.deepStrictEqual(told, ['ErgonError: BUSY: later', 'TypeError: no luck', ...Array(3).fill('object')]);
    },

    /** A client works three times, one after the other, and calls in the end. */
    again: () =>
        using({}, (ergon) => using({}, async (caller) => {
            const leave = (context) => {
                ergon.stop();
                return context.method;
            };
            const list = async () => (await caller.call('worker.list', [{ method: 'node.leave' }])).workers;
            const there = async () => (await list()).some(({ state }) => state === 'open');
            for (let i = 0; i < 3; i++) {
                const working = ergon.work({ 'node.leave': leave });
                while (!(await there())) await caller.call('sleep', ['10ms']);
                assert.strictEqual(await caller.call('node.leave'), 'node.leave');
                await working;
                await fails('NO_WORKER', caller.call('node.leave'));
            }
            assert.strictEqual(await ergon.call('echo', [1]), 1);
        })),

    share: () =>
        using({}, (one) => using({}, async (other) => {
            await fails('NOT_FOUND', one.acquire('node'));
            const first = await one.acquire('node', { permits: 2, of: 3 });
            await fails('DEADLINE', other.acquire('node', { permits: 2, wait: 0 }));
            await fails('BAD_PARAMS', other.acquire('node', { permits: 4 }));
            const stop = new AbortController();
            const givenUp = assert.rejects(other.acquire('node', { permits: 3, signal: stop.signal }), { name: 'AbortError' });
            const waiting = other.acquire('node', { permits: 2 });
            const waiters = async (count) => {
                while ((await one.call('sem.explain', ['node'])).waiters.length !== count) await one.call('sleep', ['10ms']);
            };
            await waiters(2);
            stop.abort();
            await givenUp;
            await waiters(1);
            assert.deepStrictEqual([await first.release(), await first.release()], [true, false]);
            const second = await waiting;
            assert.ok(second.fence > first.fence);
            await second.renew();
            assert.ok(await second.release());
            let heard;
            const news = other.eventWait('node').then((event) => (heard = event));
            const seqs = [];
            while (heard === undefined) seqs.push(await one.eventSet('node', { n: seqs.length })); // it may not wait yet
            const { seq, value } = await news;
            assert.deepStrictEqual(value, { n: seqs.indexOf(seq) });
            assert.strictEqual((await other.eventWait('node', { from: seqs.at(-1) })).seq, seqs.at(-1));
            await fails('TIMEOUT', other.eventWait('node', { timeout: 50 }));
        })),

    hold: async () => {
        const told = new EventEmitter();
        const options = { permits: 2, of: 3, grace: 3000 };
        const ergon = await connect(URL, { backoff: [1, 10], inFlight: 1, onNotification: (method) => told.emit(method) });
        const goOn = once(told, 'go on');
        let stuck;
        await ergon.sem('gpu', options, async (hold) => {
            assert.deepStrictEqual([hold.fence, hold.permits], [7, 2]);
            stuck = ergon.request('stuck', [], { again: true });
            await goOn;
        });
        await stuck;
        let lost;
        const losing = ergon.sem('gpu', options, async (hold) => {
            lost = hold;
            await once(hold.signal, 'abort');
        });
        assert.ok((await fails('FENCED', losing)).remote);
        assert.deepStrictEqual([lost.lost.code, lost.fence], ['FENCED', 8]);
        const stop = new AbortController();
        told.once('give up', () => stop.abort());
        await assert.rejects(ergon.acquire('gpu', { ...options, signal: stop.signal }), { name: 'AbortError' });
        assert.strictEqual(await ergon.eventSet('e', 5), 41);
        assert.deepStrictEqual(await ergon.eventWait('e'), { seq: 43, value: 'v' });
        await ergon.close();
    },

    restart: () =>
        using({ backoff: [10, 100] }, async (ergon) => {
            const task = await ergon.submit('sleep', ['300ms'], { durable: 'fsync' });
            const later = await ergon.submit('echo', ['kept'], { delay: '100ms' });
            let call = fails('BROKEN', ergon.call('sleep', ['60s']));
            const watching = collect(task.watch());
            const waiting = [task, later].map((t) => t.wait());
            await ergon.call('echo', [1]); // all of that has gone out
            await askStage('restart');
            await call;
            assert.strictEqual(await ergon.call('echo', ['again']), 'again');
            const [slept, kept] = await Promise.all(waiting);
            assert.ok(slept >= 300);
            assert.strictEqual(kept, 'kept');
            const events = await watching;
            assert.deepStrictEqual(events.map((e) => e.seq), [...new Set(events.map((e) => e.seq))].sort((a, b) => a - b));
            assert.deepStrictEqual([events[0].event, events.at(-1).event], ['submitted', 'done']);
            const [one, two] = [await ergon.submit('echo', [1], { key: 'k' }), await ergon.submit('echo', [1], { key: 'k' })];
            assert.deepStrictEqual([one.id, two.said.duplicate], [two.id, true]);
            await fails('STORE', ergon.submit('echo', [1], { durable: 'replicated' }));
            call = fails('BROKEN', ergon.call('sleep', ['60s']));
            await ergon.call('echo', [1]);
            await askStage('kill');
            await call;
            await fails('TIMEOUT', ergon.call('echo', [1], { timeout: 200 })); // it waits for a connection
        }),
};

scenarios[process.argv[2]]().then(() => process.exit(0), (error) => {
    console.error(error);
    process.exit(1);
});
