const { Queue, QueueEvents, Worker } = require('bullmq');

const connection = { host: '127.0.0.1' };
new Worker('squares', async (job) => job.data * job.data, { connection });

async function main() {
    const [queue, events] = [new Queue('squares', { connection }), new QueueEvents('squares', { connection, lastEventId: '0' })];
    const jobs = await queue.addBulk([...Array(10).keys()].map((data) => ({ name: 'square', data })));
    const results = await Promise.all(jobs.map((job) => job.waitUntilFinished(events)));
    console.log(results.reduce((sum, each) => sum + each));
    process.exit();
}

main();
