'use strict';

const { connect } = require('ergon-client');

connect(process.env.ERGON_URL).then((ergon) => ergon.work({ 'node.plain': (context, text) => text }, { slots: 16 }));
