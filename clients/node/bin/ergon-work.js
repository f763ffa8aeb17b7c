#!/usr/bin/env node
'use strict';

require('../launch/command').main(process.argv.slice(2));
