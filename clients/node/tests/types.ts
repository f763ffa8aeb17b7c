// What tsc makes of the types: this file is compiled, and never run.
import { Actor, App, Client, RESULT, Task } from 'ergon-client';
import { immediate, server } from 'ergon-client/testing';

interface Receipt {
    id: string;
    cents: number;
}

class Cart extends Actor {
    add(sku: string, cents: number): number {
        return (this.state[sku] = cents);
    }
}

async function main(): Promise<void> {
    const { url } = await server('--loops', '1');
    const app = new App({ url, timeout: '5s' });
    const policy = { retries: 3, check: [String, Number] };
    const client: Client = app.client;
    const charge = app.task('charge', policy, async (context, customer: string, cents: number): Promise<Receipt> => {
        await context.progress(1, 2);
        await context.submit(double.order(1), ['double', [2], { delay: '5s' }]);
        await context.submit('double', [2], { delay: '5s' });
        await context.save({ done: context.checkpoint?.done ?? 0 });
        return { id: customer, cents };
    });
    const { double, plain } = app.tasks({ double: (_, number: number) => 2 * number, plain: async () => 'text' });
    const task: Task<Receipt> = await charge.with({ delay: '5s', key: 'one' }).submit('ann', 5);
    const { cents } = await task.wait();
    const sum: number = cents + (await double.call(2));
    const text: string = await plain.call();
    // @ts-expect-error: a parameter is missing
    await charge.submit('ann');
    // @ts-expect-error: a parameter of another type
    await double.submit('two');
    // @ts-expect-error: there is no such option
    await charge.with({ delai: 5 }).submit('ann', 5);
    // @ts-expect-error: of one submission, not of a policy
    app.task('other', { key: 'k' }, () => 1);
    const squares: number[] = await double.map([1, 2]);
    const done: Task<Receipt> = await app.chain(double.order(1), charge.order('ann', squares[0]));
    // @ts-expect-error: a parameter of another type
    double.order('two');
    await client.submitMany([double.order(1), charge.with({ delay: 5 }).order('ann', 2)]);
    await done.wait();
    const later: Task<number> = await double.submit((await double.submit(1)).output);
    await app.chain(double.order(1), charge.order('ann', RESULT));
    // @ts-expect-error: its result is of another type
    await charge.submit(later.output, 5);
    const cart = app.actor('cart', Cart);
    const price: number = await cart(42).call('add', ['fig', 5]);
    // @ts-expect-error: a parameter of another type
    await cart(42).call('add', ['fig', '5']);
    // @ts-expect-error: there is no such method
    await cart(42).call('subtract', []);
    app.cron('nightly', '@daily', { zone: 'Europe/Berlin', params: ['ann', 5] }, charge);
    app.cron('hourly', '@hourly', async (context) => context.task);
    app.use({
        submit: async (order, next) => ((order.options.priority = 9), next()),
        handle: ({ context, method }, next) => next(),
    });
    app.use(async (job, next) => next());
    await app.work({ slots: 4, version: `${sum} ${text} ${price}` });
    for await (const { id, state } of client.tasks({ state: ['dead', 'failed'], older: '1h' })) console.log(id, state);
    // @ts-expect-error: there is no such state
    client.tasks({ state: 'died' });
    const paused: boolean = (await client.queuePause('charge')).paused;
    const names: string[] = (await client.crons()).map(({ name }) => name);
    const { fence } = await client.acquire('gpu');
    await client.semRevoke('gpu', fence, { tenant: names[0] });
    await (await client.cronRun('nightly')).change({ priority: paused ? 9 : 1 });
    await immediate(app).close();
    await client.close();
}

main();
