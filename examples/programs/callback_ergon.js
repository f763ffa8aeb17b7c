const { App } = require('ergon-client');

const app = (module.exports = new App());
const square = app.task('square', (context, number) => number * number);
const total = app.task('total', (context, squares) => squares.reduce((sum, each) => sum + each));

async function main() {
    const squares = await Promise.all([...Array(10).keys()].map((number) => square.submit(number)));
    console.log(await (await total.submit(squares)).wait());
    await app.close();
}

if (require.main === module) main();
