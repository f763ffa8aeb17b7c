const { FlowProducer, QueueEvents, Worker } = require('bullmq');

const connection = { host: '127.0.0.1' };

async function total(job) {
    return Object.values(await job.getChildrenValues()).reduce((sum, each) => sum + each);
}

new Worker('squares', async (job) => job.data * job.data, { connection });
new Worker('totals', total, { connection });

async function main() {
    const children = [...Array(10).keys()].map((data) => ({ name: 'square', queueName: 'squares', data }));
    const { job } = await new FlowProducer({ connection }).add({ name: 'total', queueName: 'totals', children });
    console.log(await job.waitUntilFinished(new QueueEvents('totals', { connection, lastEventId: '0' })));
    process.exit();
}

main();
