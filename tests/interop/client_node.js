// Plays a scenario of clients.py with the Node package.
'use strict';

const assert = require('assert');
const crypto = require('crypto');
const { EventEmitter, once } = require('events');
const readline = require('readline');
const { Again, Client, Ext, ErgonError, Permanent, connect } = require('ergon-client');

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

const scenarios = {
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
            await fails('BAD_PARAMS', ergon.call('echo', [], { prioritee: 1 }));
            await fails('DEADLINE', ergon.call('sleep', ['60s'], { deadline: 20 }));
            await fails('NOT_FOUND', ergon.task('t0000000000001').wait());
            let task = await ergon.submit('fail', ['NO_SPACE', 'the disk is full']);
            assert.strictEqual((await fails('NO_SPACE', task.wait())).data.state, 'failed');
            await ergon.call('queue.drain', ['flaky']);
            assert.ok((await fails('DRAINING', ergon.submit('flaky', [1]))).retryable);
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
        await late.close();
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
            permanent: (context, text) => Promise.reject(new Permanent(text)),
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
        await ergon.close();
        assert.deepStrictEqual(why, ['deadline', 'draining', 'lost', 'lost', 'stopping']);
        assert.deepStrictEqual(troubles.map(String), ['ErgonError: BUSY: later', 'TypeError: no luck']);
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
        const options = { permits: 2, of: 3, grace: 900 };
        const ergon = await connect(URL, { backoff: [1, 10], onNotification: (method) => told.emit(method) });
        const goOn = once(told, 'go on');
        await ergon.sem('gpu', options, async (hold) => {
            assert.deepStrictEqual([hold.fence, hold.permits], [7, 2]);
            await goOn;
        });
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
