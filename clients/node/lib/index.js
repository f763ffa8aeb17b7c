// What the package exports.
'use strict';

module.exports = { ...require('./client'), ...require('./app') };
