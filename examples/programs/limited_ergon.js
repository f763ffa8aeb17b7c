const { App } = require('ergon-client');

const app = (module.exports = new App());
const mail = app.task('mail', { rate: { key: 'mail', max: 10, per: '1s' } }, () => Date.now());

async function main() {
    const times = await mail.map([...Array(30).keys()]);
    console.log(Math.max(...times) - Math.min(...times) > 1000);
    await app.close();
}

if (require.main === module) main();
