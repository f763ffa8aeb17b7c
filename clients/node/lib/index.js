// The package exports this.
'use strict';

module.exports = { ...require('./client'), ...require('../app/app') };
