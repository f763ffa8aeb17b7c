'use strict';

const { App } = require('ergon-client');

const app = new App();
app.task('node.app', (context, text) => text);
module.exports = app;
