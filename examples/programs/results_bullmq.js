const { FlowProducer, QueueEvents, Worker } = require('bullmq');

const connection = { host: '127.0.0.1' };

async function run(job) {
    const [page = 'a page'] = Object.values(await job.getChildrenValues());
    return `${page}, ${job.name}`;
}

new Worker('steps', run, { connection });

async function main() {
    const step = (name, ...children) => ({ name, queueName: 'steps', children });
    const { job } = await new FlowProducer({ connection }).add(step('stored', step('resized', step('fetched'))));
    console.log(await job.waitUntilFinished(new QueueEvents('steps', { connection, lastEventId: '0' })));
    process.exit();
}

main();
