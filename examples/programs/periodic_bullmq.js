const { Queue, Worker } = require('bullmq');

const connection = { host: '127.0.0.1' };
new Worker('reports', async (job) => console.log(`the ${job.data} report`), { connection });
new Queue('reports', { connection }).upsertJobScheduler('report', { every: 1000 }, { name: 'report', data: 'daily' });
