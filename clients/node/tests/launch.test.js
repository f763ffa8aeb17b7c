'use strict';

const assert = require('node:assert');
const { spawn } = require('node:child_process');
const { EventEmitter, once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, before, test: plain } = require('node:test');
const { Client } = require('ergon-client');
const { server } = require('ergon-client/testing');

const PROGRAM = path.join(__dirname, '..', 'bin', 'ergon-work.js');
const APP = `
'use strict';
const { App } = require(${JSON.stringify(path.join(__dirname, '..'))});
const app = new App();
const kept = [];
app.tasks({
    pid: () => process.pid,
    version: () => 1,
    end: () => process.exit(3),
    grow: (_, megabytes) => (kept.push(Buffer.alloc(megabytes * 2 ** 20, 1)), process.pid),
    hold: async (context) => {
        await context.progress(1);
        await new Promise((resolve, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason)));
    },
    pause: async (context) => {
        await context.progress(1);
        while (!require('fs').existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 10));
        return 'done';
    },
});
module.exports = { app };
`;

let place, client, folder;
before(async () => {
    place = await server('--loops', '1');
    client = new Client(place.url);
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ergon-work-'));
});
after(async () => {
    for (const child of children) child.kill('SIGKILL'); // those that a test left
    await client.close();
    await place.close();
    fs.rmSync(folder, { recursive: true });
});

const children = [];

function begin(words) {
    const env = { ...process.env, ERGON_URL: undefined };
    const child = spawn(process.execPath, [PROGRAM, ...words], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
    children.push(child);
    return child;
}

/** A test that hangs fails, and leaves nothing that keeps the process alive. */
const test = (name, use) => plain(name, { timeout: 60000 }, use);


/** Runs ergon-work, whose lines are heard one after the other, and use(it); it ends in good order. */
async function launched(flags, use, text = APP) {
    fs.writeFileSync(path.join(folder, 'app.js'), text);
    const child = begin(['app.js', '--url', place.url, ...flags]);
    const over = once(child, 'close');
    const news = new EventEmitter();
    const lines = [];
    let [all, next] = ['', 0];
    child.stderr.on('data', (data) => {
        all += data;
        lines.splice(0, lines.length, ...all.split('\n').slice(0, -1));
        news.emit('more');
    });
    const it = {
        child, over, kill: (signal) => child.kill(signal), all: () => all,
        /** The groups of the next line that matches. */
        async heard(pattern) {
            for (;;) {
                while (next < lines.length) {
                    const match = pattern.exec(lines[next++]);
                    if (match) return match;
                }
                const [more] = await Promise.race([once(news, 'more'), over]);
                if (more !== undefined) assert.fail(`ergon-work has ended, and did not say ${pattern}: ${all}`);
            }
        },
        /** The process has ended in good order, whatever was said meanwhile. */
        async ended(pid) {
            while (!all.includes(`(${pid}) ended with status 0`)) await once(news, 'more');
        },
    };
    try {
        await use(it);
    } finally {
        if (child.exitCode === null) child.kill('SIGTERM');
        const [status] = await over;
        assert.strictEqual(status, 0, all);
    }
}

const READY = /^ergon-work: process (\d) \((\d+)\) is ready$/;

/** Returns when the task has said that it runs. */
async function runs(task) {
    for await (const { event } of task.watch()) if (event === 'progress') return;
}

test('processes are started, replaced when they end, and end in good order', async () => {
    await launched(['--processes', '2', '--slots', '2'], async (it) => {
        const first = await it.heard(READY);
        const second = await it.heard(READY);
        assert.notStrictEqual(first[1], second[1]);
        process.kill(Number(first[2]), 'SIGKILL');
        await it.heard(/\(\d+\) ended by SIGKILL; another one starts in (0|0\.1) s$/);
        assert.strictEqual((await it.heard(READY))[1], first[1]);
        const task = await client.submit('pause');
        await runs(task);
        it.kill('SIGTERM');
        await it.heard(/^ergon-work: SIGTERM: all end in good order$/);
        fs.writeFileSync(path.join(folder, 'go'), '');
        assert.strictEqual(await task.wait(), 'done');
        await it.heard(/ended with status 0$/);
    });
    fs.rmSync(path.join(folder, 'go'));
});

test('a second signal cancels the handlers, and hands their tasks back', async () => {
    let task;
    await launched([], async (it) => {
        await it.heard(READY);
        task = await client.submit('hold');
        await runs(task);
        it.kill('SIGINT');
        await it.heard(/SIGINT: all end/);
        it.kill('SIGINT');
        await it.heard(/SIGINT: handlers are cancelled/);
    });
    assert.strictEqual((await task.get()).state, 'queued');
    await task.cancel();
});

test('a process that leaves already is not hurried by the first signal, nor by another SIGTERM', async () => {
    await launched([], async (it) => {
        const [, , old] = await it.heard(READY);
        const task = await client.submit('pause');
        await runs(task);
        it.kill('SIGHUP');
        await it.heard(READY);
        it.kill('SIGTERM');
        await it.heard(/^ergon-work: SIGTERM: all end/);
        for (let i = 0; i < 2; i++) process.kill(Number(old), 'SIGTERM'); // as systemd does
        await it.heard(/ended with status 0$/);
        fs.writeFileSync(path.join(folder, 'go'), '');
        assert.strictEqual(await task.wait(), 'done');
        assert.strictEqual((await task.get()).attempt, 1);
    });
    fs.rmSync(path.join(folder, 'go'));
});

test('pauses grow while a process ends at once', async () => {
    await launched([], async (it) => {
        for (const seconds of ['0.1', '0.2', '0.4'])
            await it.heard(new RegExp(`ended with status 1; another one starts in ${seconds} s$`));
    }, "throw new Error('no luck')");
});

test('a process is replaced after so many tasks, and after so much memory', async () => {
    await launched(['--max-tasks', '3', '--max-memory', '200m'], async (it) => {
        const [, , first] = await it.heard(READY);
        for (let i = 0; i < 3; i++) assert.strictEqual(await client.call('pid'), Number(first));
        await it.heard(/is replaced: it has done 3 tasks$/);
        const [, , second] = await it.heard(READY);
        await it.heard(new RegExp(`\\(${first}\\) ended with status 0$`));
        assert.strictEqual(await client.call('grow', [200]), Number(second));
        await it.heard(/is replaced: it has \d+ MiB of memory$/);
        await it.heard(READY);
    });
});

test('SIGHUP replaces all, one by one, and no call fails', async () => {
    await launched(['--processes', '2'], async (it) => {
        const before = [(await it.heard(READY))[2], (await it.heard(READY))[2]];
        let isOver = false;
        const calls = (async () => {
            while (!isOver) await client.call('pid');
        })();
        it.kill('SIGHUP');
        for (const number of ['1', '2']) {
            await it.heard(new RegExp(`^ergon-work: process ${number} \\(\\d+\\) is replaced: SIGHUP$`));
            assert.strictEqual((await it.heard(READY))[1], number);
        }
        for (const pid of before) await it.ended(pid);
        isOver = true;
        await calls;
        assert.ok(!before.includes(String(await client.call('pid'))));
    });
});

test('--dev replaces all when a file changes, and keeps them when that does not start', async () => {
    await launched(['--dev'], async (it) => {
        await it.heard(READY);
        fs.writeFileSync(path.join(folder, 'app.js'), 'this is no JavaScript');
        await it.heard(/is replaced: app\.js has changed$/);
        await it.heard(/stays: the next one did not start$/);
        const hang = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)';
        fs.writeFileSync(path.join(folder, 'app.js'), `process.stderr.write('hangs\\n');\n${hang}`);
        await it.heard(/^hangs$/);
        assert.strictEqual(await client.call('version'), 1);
        fs.writeFileSync(path.join(folder, 'app.js'), APP.replace('version: () => 1', 'version: () => 2'));
        await it.heard(READY);
        await it.heard(/ended with status 0$/);
        assert.strictEqual(await client.call('version'), 2);
    });
});

test('what cannot be run ends with 2', async () => {
    fs.writeFileSync(path.join(folder, 'none.js'), 'module.exports = {}');
    fs.writeFileSync(path.join(folder, 'app.js'), APP);
    const cases = [
        [[], /name one FILE/],
        [['--processes', '0', 'none.js'], /--processes 0: use a number from 1/],
        [['--max-memory', '5x', 'none.js'], /or as 512m/],
        [['--prozesses', '1', 'none.js'], /Unknown option '--prozesses'/],
        [['there-is-none.js'], /there is no file/],
        [['--grace', '5x', 'app.js'], /--grace: '5x' is no duration/],
        [['--url', 'nonsense', 'app.js'], /Invalid URL \(the server's URL: of --url/],
        [['app.js'], /an App needs a url/],
        [['none.js'], /exports no App/],
        [['none.js:other'], /exports no App as other/],
    ];
    await Promise.all(cases.map(async ([words, text]) => {
        const child = begin(words);
        let said = '';
        child.stderr.on('data', (data) => (said += data));
        assert.deepStrictEqual((await once(child, 'close'))[0], 2, said);
        assert.match(said, text);
    }));
});

test('processes end when their parent is killed', async () => {
    fs.writeFileSync(path.join(folder, 'app.js'), APP);
    const child = begin(['app.js', '--url', place.url]);
    const over = once(child, 'close'); // of standard error, too, which its process has
    for await (const data of child.stderr) if (/is ready/.test(data)) child.kill('SIGKILL');
    await over;
});
