const { Queue, QueueEvents, Worker } = require('bullmq');

const connection = { host: '127.0.0.1' };

function perform(action, what) {
    if (what === 'car') throw new RangeError('there is no car');
    return `${action} ${what}`;
}

async function travel(job) {
    let [plan, done] = job.data;
    while (plan.length > 0) {
        try {
            done.push(perform(...plan.shift()));
        } catch (error) {
            if (!(error instanceof RangeError)) throw error;
            plan = done.map((each) => ['cancel', each.split(' ')[1]]).reverse();
        }
        await job.updateData([plan, done]);
    }
    return done.join(', ');
}

new Worker('trips', travel, { connection });

async function main() {
    const trip = ['flight', 'hotel', 'car'].map((what) => ['book', what]);
    const job = await new Queue('trips', { connection }).add('travel', [trip, []], { attempts: 4 });
    console.log(await job.waitUntilFinished(new QueueEvents('trips', { connection, lastEventId: '0' })));
    process.exit();
}

main();
