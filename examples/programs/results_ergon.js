const { App, RESULT } = require('ergon-client');

const app = (module.exports = new App());
const step = app.task('step', (context, page, name) => `${page}, ${name}`);

async function main() {
    const orders = [step.order('a page', 'fetched'), step.order(RESULT, 'resized'), step.order(RESULT, 'stored')];
    console.log(await (await app.chain(...orders)).wait());
    await app.close();
}

if (require.main === module) main();
