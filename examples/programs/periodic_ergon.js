const { App } = require('ergon-client');

const app = (module.exports = new App());
app.cron('report', 'every 1s', { params: ['daily'] }, (context, kind) => console.log(`the ${kind} report`));
