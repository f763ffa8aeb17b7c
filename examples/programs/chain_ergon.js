const { App } = require('ergon-client');

const app = (module.exports = new App());
const step = app.task('step', (context, name) => name.toUpperCase());

async function main() {
    console.log(await (await app.chain(step.order('fetch'), step.order('resize'), step.order('store'))).wait());
    await app.close();
}

if (require.main === module) main();
