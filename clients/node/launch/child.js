// A process of ergon-work: loads the app, and works until its parent says stop, or ends.
'use strict';

const { pathToFileURL } = require('url');

const { file, name, url, slots, grace, maxTasks, maxMemory } = JSON.parse(process.argv[2]);
const USAGE = 2; // exit status: another start would not help

const tell = (what) => process.connected && process.send(what);
const isApp = (value) => typeof value?.work === 'function' && typeof value?.use === 'function';

/** The App that the module exports, or undefined. */
async function load() {
    const made = await import(pathToFileURL(file));
    const names = name === '' ? ['app', 'default'] : [name];
    return [made, made.default].flatMap((place) => names.map((one) => place?.[one])).find(isApp);
}

/** Tells the parent, once, when this process has done what it may. */
function measured() {
    let [done, isSpent] = [0, false];
    return async (job, next) => {
        try {
            return await next();
        } finally {
            const megabytes = Math.round(process.memoryUsage.rss() / 2 ** 20);
            const isLarge = megabytes * 2 ** 20 > (maxMemory ?? Infinity);
            if (!isSpent && (++done >= (maxTasks ?? Infinity) || isLarge)) {
                isSpent = true;
                tell({ spent: isLarge ? `it has ${megabytes} MiB of memory` : `it has done ${done} tasks` });
            }
        }
    };
}

async function main() {
    let isStopped = false;
    let app;
    // In good order, however often it is asked: systemd sends SIGTERM to all processes, and the parent asks, too.
    const stop = () => isStopped || ((isStopped = true), app?.stop());
    const hurry = () => (stop(), app?.stop());
    for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {}); // of the terminal; the parent hears them, too
    process.on('SIGTERM', stop);
    process.on('message', (what) => (what === 'hurry' ? hurry() : stop()));
    process.on('disconnect', stop);
    if (url !== undefined) process.env.ERGON_URL = url;
    app = await load();
    if (app === undefined) {
        console.error(`ergon-work: ${file} exports no App${name && ` as ${name}`}: module.exports = { app }`);
        process.exit(USAGE);
    }
    if (url !== undefined) app.url = url;
    try {
        app.client.unref(); // it does not connect yet
    } catch (error) {
        console.error(`ergon-work: ${error.message} (the server's URL: of --url, of the App, or ERGON_URL)`);
        process.exit(USAGE);
    }
    app.client.ref();
    if (maxTasks !== undefined || maxMemory !== undefined) app.use(measured());
    if (!isStopped) await app.work({ slots, grace, signals: false, onReady: () => tell({ isReady: true }) });
    await app.close();
}

main().then(
    () => process.exit(0), // whatever the app left open
    (error) => {
        console.error(error);
        process.exit(1);
    },
);
