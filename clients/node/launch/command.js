// ergon-work: the words of its command line.
'use strict';

const fs = require('fs');
const path = require('path');
const { parseArgs } = require('util');
const { msOf } = require('../lib/options');
const { Parent, USAGE } = require('./parent');

const HELP = `Usage: ergon-work FILE[:EXPORT] [FLAG]...

Runs the tasks, actors and crons of an App that FILE exports as EXPORT (app, or the default export).

  --processes N      processes (1)
  --slots N          handlers that each runs at a time (1)
  --max-tasks N      replace a process after so many tasks
  --max-memory SIZE  replace a process of more memory, as 512m
  --grace TIME       time that handlers have in the end (30s)
  --dev              replace all when a file of FILE's folder changes
  --url URL          server (the App's, ERGON_URL)
  --help             this text

SIGTERM, SIGINT: end in good order; twice: cancel the handlers. SIGHUP: replace all processes, one by one.
`;

const UNITS = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };
const text = { type: 'string' };
const FLAGS = {
    processes: text, slots: text, 'max-tasks': text, 'max-memory': text, grace: text, url: text,
    dev: { type: 'boolean' }, help: { type: 'boolean' },
};

/** A whole number from 1, or of bytes. Error: what is wrong. */
function numberOf(flag, value, units = { '': 1 }) {
    if (value === undefined) return undefined;
    const [, digits, unit] = /^([1-9]\d*)([kmg]?)$/.exec(value.toLowerCase()) ?? [];
    if (units[unit] === undefined) throw new Error(`--${flag} ${value}: use a number from 1${units.m ? ', or as 512m' : ''}`);
    return digits * units[unit];
}

/** What the words say; null: the help was wanted. Error: what is wrong. */
function read(words) {
    const { values, positionals } = parseArgs({ args: words, options: FLAGS, allowPositionals: true });
    if (values.help) return null;
    if (positionals.length !== 1) throw new Error('name one FILE[:EXPORT]');
    const [, given, name = ''] = /^(.*?)(?::([\w$]+))?$/.exec(positionals[0]);
    const file = path.resolve(given);
    if (!fs.existsSync(file)) throw new Error(`there is no file ${given}`);
    if (values.grace !== undefined) msOf(values.grace, '--grace');
    return {
        file, name, dev: values.dev ?? false, url: values.url, grace: values.grace,
        processes: numberOf('processes', values.processes) ?? 1,
        slots: numberOf('slots', values.slots) ?? 1,
        maxTasks: numberOf('max-tasks', values['max-tasks']),
        maxMemory: numberOf('max-memory', values['max-memory'], UNITS),
    };
}

function main(words) {
    let wanted;
    try {
        wanted = read(words);
    } catch (error) {
        console.error(`ergon-work: ${error.message} (see ergon-work --help)`);
        process.exit(USAGE);
    }
    if (wanted === null) process.stdout.write(HELP);
    else new Parent(wanted).run();
}

module.exports = { main };
