const { App } = require('ergon-client');

const app = (module.exports = new App());

function perform(action, what) {
    if (what === 'car') throw new RangeError('there is no car');
    return `${action} ${what}`;
}

const travel = app.task('travel', { retries: 3 }, async (context, ...trip) => {
    let [plan, done] = context.checkpoint ?? [trip.map((what) => ['book', what]), []];
    while (plan.length > 0) {
        try {
            done.push(perform(...plan.shift()));
        } catch (error) {
            if (!(error instanceof RangeError)) throw error;
            plan = done.map((each) => ['cancel', each.split(' ')[1]]).reverse();
        }
        await context.save([plan, done]);
    }
    return done.join(', ');
});

async function main() {
    console.log(await (await travel.submit('flight', 'hotel', 'car')).wait());
    await app.close();
}

if (require.main === module) main();
