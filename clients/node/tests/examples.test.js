'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { Again } = require('ergon-client');
const { counts, metrics, render } = require('../examples/metrics');
const { sentry } = require('../examples/sentry');
const { trace } = require('../examples/trace');

const job = (method, more = {}) => ({ method, params: [], context: { task: 't1', tenant: 'a', attempt: 2, ...more } });
const order = (method) => ({ how: 'submit', method, params: [], options: {} });
const throws = (error) => async () => {
    throw error;
};

test('metrics count submissions, results and failures', async () => {
    await metrics.submit(order('charge'), async () => null);
    assert.strictEqual(await metrics.handle(job('charge'), async () => 7), 7);
    await assert.rejects(metrics.handle(job('charge'), throws(Object.assign(new Error('x'), { code: 'BUSY' }))), /x/);
    for (const name of ['submitted{method="charge"}', 'done{method="charge"}', 'failed{method="charge",code="BUSY"}'])
        assert.strictEqual(counts.get(name), 1);
    assert.match(render(), /^ergon_done\{method="charge"\} 1$/m);
});

test('Sentry gets breadcrumbs, and exceptions with the tags of the task', async () => {
    const [crumbs, tags, captured] = [[], [], []];
    const middleware = sentry({
        addBreadcrumb: (crumb) => crumbs.push(crumb.message),
        withScope: (use) => use({ setTags: (some) => tags.push(some) }),
        captureException: (error) => captured.push(error.message),
    });
    await middleware.submit(order('charge'), async () => null);
    await assert.rejects(middleware.handle(job('charge'), throws(new Error('no luck'))), /no luck/);
    await assert.rejects(middleware.handle(job('charge'), throws(new Again(5))), /AGAIN/);
    assert.deepStrictEqual([crumbs, captured], [['submit charge'], ['no luck']]);
    assert.deepStrictEqual(tags[0], { method: 'charge', task: 't1', tenant: 'a', attempt: 2 });
});

test('what a handler submits belongs to its trace', async () => {
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    const submitted = order('next');
    await trace.handle(job('first', { traceparent, tracestate: null }), () => trace.submit(submitted, async () => null));
    assert.deepStrictEqual(submitted.options, { traceparent, tracestate: undefined });
    const outside = order('next');
    await trace.submit(outside, async () => null);
    assert.strictEqual(outside.options.traceparent, undefined);
});
