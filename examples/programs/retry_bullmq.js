const { setTimeout: sleep } = require('timers/promises');
const { Queue, QueueEvents, Worker } = require('bullmq');

const connection = { host: '127.0.0.1' };

async function fetch(job) {
    if (job.attemptsMade === 0) await sleep(60000);
    return `${job.data} at attempt ${job.attemptsMade + 1}`;
}

const tooLate = () => sleep(5000).then(() => { throw new Error('it took longer than 5 s'); });
new Worker('pages', (job) => Promise.race([fetch(job), tooLate()]), { connection });

async function main() {
    const job = await new Queue('pages', { connection }).add('fetch', 'index', { attempts: 4, backoff: 100 });
    console.log(await job.waitUntilFinished(new QueueEvents('pages', { connection, lastEventId: '0' })));
    process.exit();
}

main();
