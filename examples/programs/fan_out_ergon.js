const { App } = require('ergon-client');

const app = (module.exports = new App());
const square = app.task('square', (context, number) => number * number);

async function main() {
    const results = await square.map([...Array(10).keys()]);
    console.log(results.reduce((sum, each) => sum + each));
    await app.close();
}

if (require.main === module) main();
