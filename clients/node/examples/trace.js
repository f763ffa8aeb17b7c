// Middleware that hands the trace on: what a handler submits belongs to the trace of the task that it runs.
'use strict';

const { AsyncLocalStorage } = require('async_hooks');

const running = new AsyncLocalStorage(); // the context of the handler that runs

const trace = {
    async submit({ options }, next) {
        const { traceparent, tracestate } = running.getStore() ?? {};
        options.traceparent ??= traceparent ?? undefined;
        options.tracestate ??= tracestate ?? undefined;
        return next();
    },
    handle: ({ context }, next) => running.run(context, next),
};

module.exports = { trace };
