const { Queue, QueueEvents, Worker } = require('bullmq');

const connection = { host: '127.0.0.1' };
new Worker('mails', async () => Date.now(), { connection, limiter: { max: 10, duration: 1000 } });

async function main() {
    const [queue, events] = [new Queue('mails', { connection }), new QueueEvents('mails', { connection, lastEventId: '0' })];
    const jobs = await queue.addBulk([...Array(30).keys()].map((data) => ({ name: 'mail', data })));
    const times = await Promise.all(jobs.map((job) => job.waitUntilFinished(events)));
    console.log(Math.max(...times) - Math.min(...times) > 1000);
    process.exit();
}

main();
