const { setTimeout: sleep } = require('timers/promises');
const { App } = require('ergon-client');

const app = (module.exports = new App());

const fetch = app.task('fetch', { retries: 3, backoff: 100, attemptTimeout: '5s' }, async (context, page) => {
    if (context.attempt === 1) await sleep(60000);
    return `${page} at attempt ${context.attempt}`;
});

async function main() {
    console.log(await (await fetch.submit('index')).wait());
    await app.close();
}

if (require.main === module) main();
