// Middleware that counts what is submitted and what handlers do, for an endpoint /metrics.
'use strict';

const counts = new Map(); // 'submitted{method}', 'done{method}', 'failed{method,code}': how often; 'seconds{method}': their sum

const add = (name, by = 1) => counts.set(name, (counts.get(name) ?? 0) + by);

const metrics = {
    async submit(order, next) {
        add(`submitted{method="${order.method}"}`);
        return next();
    },
    async handle({ method }, next) {
        const begun = performance.now();
        try {
            const result = await next();
            add(`done{method="${method}"}`);
            return result;
        } catch (error) {
            add(`failed{method="${method}",code="${error.code ?? 'FAILED'}"}`);
            throw error;
        } finally {
            add(`seconds{method="${method}"}`, (performance.now() - begun) / 1000);
        }
    },
};

/** The text of the endpoint. */
const render = () => [...counts].map(([name, value]) => `ergon_${name} ${value}\n`).join('');

module.exports = { counts, metrics, render };
