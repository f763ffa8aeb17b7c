const { FlowProducer, QueueEvents, Worker } = require('bullmq');

const connection = { host: '127.0.0.1' };
new Worker('steps', async (job) => job.name.toUpperCase(), { connection });

async function main() {
    const step = (name, ...children) => ({ name, queueName: 'steps', children });
    const { job } = await new FlowProducer({ connection }).add(step('store', step('resize', step('fetch'))));
    console.log(await job.waitUntilFinished(new QueueEvents('steps', { connection, lastEventId: '0' })));
    process.exit();
}

main();
