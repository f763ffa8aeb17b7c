// A sample application: orders, which are charged and shipped. tests/shop.test.js is its suite; run it by: ergon-work shop.js
'use strict';

const { Actor, App, Permanent } = require('ergon-client');
const { metrics } = require('./metrics');
const { trace } = require('./trace');

const app = new App();
app.use(metrics).use(trace);

const bank = { isDown: 0 }; // how many attempts fail

const policy = { retries: 3, backoff: '10ms', check: [String, Number] };
const charge = app.task('shop.charge', policy, async (context, customer, cents) => {
    if (cents < 0) throw new Permanent('nobody is charged less than nothing');
    if (bank.isDown-- > 0) throw new Error('the bank is down');
    await context.progress(1, 1, 'charged');
    return { customer, cents, attempt: context.attempt };
});

const ship = app.task('shop.ship', async (context, id) => `${id} is on its way`);

/** Charges, and ships when that is done. */
const order = app.task('shop.order', { keep: '5m' }, async (context, id, customer, cents) => {
    const charged = await charge.with({ key: `charge/${id}` }).submit(customer, cents);
    const shipped = await ship.with({ key: `ship/${id}`, after: charged }).submit(id);
    return [charged.id, shipped.id];
});

class Cart extends Actor {
    static type = { reads: ['total'], durable: 'none' };
    add(sku, cents) {
        (this.state.items ??= {})[sku] = cents;
        return Object.keys(this.state.items).length;
    }
    total() {
        return Object.values(this.state.items ?? {}).reduce((sum, cents) => sum + cents, 0);
    }
    async check_out(id, customer) {
        this.task('shop.order', [id, customer, this.total()], { key: `order/${id}`, keep: '5m' });
        this.drop();
    }
}
const cart = app.actor('cart', Cart);

const report = app.cron('shop.report', '@daily', { params: ['daily'] }, async (context, kind) => `the ${kind} report`);

module.exports = { app, bank, cart, charge, order, report, ship };
