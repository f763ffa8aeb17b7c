'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const { test } = require('node:test');
const { connect } = require('ergon-client');
const { server } = require('ergon-client/testing');

test('a server serves until it is closed, and leaves nothing', async () => {
    const place = await server('--loops', '1');
    const ergon = await connect(place.url);
    assert.strictEqual(await ergon.call('echo', ['it']), 'it');
    await ergon.close();
    await place.close();
    assert.throws(() => process.kill(place.pid, 0), { code: 'ESRCH' });
    assert.ok(!fs.existsSync(new URL(place.url).pathname));
    await place.close(); // again
});

test('one that does not serve says why', async () => {
    await assert.rejects(server('--there-is-no-such-flag'), /does not serve: it ended with 2\n.*there-is-no-such-flag/s);
    const { ERGOND, PATH } = process.env;
    try {
        process.env.ERGOND = '/there/is/no/ergond';
        await assert.rejects(server(), /ENOENT/);
        delete process.env.ERGOND;
        process.env.PATH = '/there/is/no/folder';
        await assert.rejects(server(), /there is no ergond: install it on the PATH, or set ERGOND/);
    } finally {
        process.env.PATH = PATH;
        if (ERGOND !== undefined) process.env.ERGOND = ERGOND;
    }
});
