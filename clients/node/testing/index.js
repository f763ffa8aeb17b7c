// For the tests of an application: require('ergon-client/testing').
'use strict';

module.exports = { ...require('./immediate'), ...require('./server') };
