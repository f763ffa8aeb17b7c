// The parent of ergon-work: starts processes, replaces and ends them.
'use strict';

const { fork } = require('child_process');
const fs = require('fs');
const path = require('path');

const USAGE = 2; // exit status; also of a process without an App, or without the URL of a server
const PAUSE = [100, 30000]; // ms before another process is started in place of one that ended at once; doubled up to the second
const QUICK = 2000; // ms of a life that is no more than a start
const POLL = 300; // ms between looks at the source files
const LEAVE = 6000; // ms that a process has after the second signal
const SOURCES = /\.(js|cjs|mjs|ts|json|node)$/;

/** One of the processes, over all its lives. */
class Place {
    child = null; // the process that works, or starts
    next = null; // the one that takes its place when it is ready
    failures = 0; // of starts, one after another
    timer = null; // before another start

    constructor(number) {
        this.number = number;
    }

    /** Milliseconds before another start, after one that failed. */
    pause() {
        const [least, most] = PAUSE;
        return Math.min(most, least * 2 ** this.failures++);
    }
}

/** The times of the last changes of all source files of a folder: a text for each. */
function sources(folder, found = new Map()) {
    let entries;
    try {
        entries = fs.readdirSync(folder, { withFileTypes: true });
    } catch {
        return found; // the folder has gone meanwhile
    }
    for (const entry of entries) {
        const at = path.join(folder, entry.name);
        if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
        if (entry.isDirectory()) sources(at, found);
        else if (SOURCES.test(entry.name)) found.set(at, fs.statSync(at, { throwIfNoEntry: false })?.mtimeMs);
    }
    return found;
}

class Parent {
    #wanted;
    #places;
    #children = new Set(); // all that live
    #stops = 0; // signals to end
    #wasReady = false; // any process, ever
    #replacing = Promise.resolve(); // one at a time

    constructor(wanted) {
        this.#wanted = wanted;
        this.#places = Array.from({ length: wanted.processes }, (_, at) => new Place(at + 1));
    }

    run() {
        for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => this.#stop(signal));
        process.on('SIGHUP', () => this.#replaceAll('SIGHUP'));
        for (const place of this.#places) place.child = this.#start(place);
        if (this.#wanted.dev) this.#watch();
    }

    #say(place, child, what) {
        console.error(`ergon-work: process ${place.number} (${child.pid}) ${what}`);
    }

    // ---- lives of processes ----

    #start(place) {
        const child = fork(path.join(__dirname, 'child.js'), [JSON.stringify(this.#wanted)]);
        const life = { begun: performance.now(), isReady: false, isAsked: false };
        this.#children.add(child);
        child.life = life;
        life.settled = new Promise((resolve) => (life.settle = resolve)); // true: it is ready; false: it has ended before
        child.on('message', ({ isReady, spent }) => {
            if (isReady) this.#ready(place, child);
            else if (spent !== undefined) this.#replace(place, child, (life.spent = spent));
        });
        child.on('error', (error) => this.#say(place, child, `failed: ${error.message}`));
        child.on('exit', (status, signal) => this.#ended(place, child, status, signal));
        this.#say(place, child, 'started');
        return child;
    }

    #ready(place, child) {
        this.#wasReady = child.life.isReady = true;
        this.#say(place, child, 'is ready');
        child.life.settle(true);
    }

    #ended(place, child, status, signal) {
        const { life } = child;
        this.#children.delete(child);
        life.settle(false);
        const how = `ended ${signal === null ? `with status ${status}` : `by ${signal}`}`;
        const { next } = place;
        if (next === child) place.next = null;
        if (place.child === child && next !== null) [place.child, place.next] = [next, null];
        if (this.#stops > 0 || life.isAsked || place.child !== child) this.#say(place, child, how);
        else if (status === USAGE && !this.#wasReady && !this.#wanted.dev) {
            this.#say(place, child, how);
            process.exitCode = USAGE;
            this.#stop();
        } else this.#again(place, child, how);
        if (this.#stops > 0 && this.#children.size === 0) process.exit();
    }

    /** Another one, after a pause that grows while they end at once. */
    #again(place, child, how) {
        place.child = null;
        const isStart = !child.life.isReady || performance.now() - child.life.begun < QUICK;
        if (!isStart) place.failures = 0;
        const ms = isStart ? place.pause() : 0;
        this.#say(place, child, `${how}; another one starts in ${ms / 1000} s`);
        place.timer = setTimeout(() => this.#revive(place), ms);
    }

    #revive(place) {
        clearTimeout(place.timer);
        if (this.#stops === 0 && place.child === null) place.child = this.#start(place);
    }

    // ---- replacements ----

    #replace(place, child, why) {
        this.#replacing = this.#replacing.then(() => this.#replaceOne(place, child, why));
    }

    #replaceAll(why) {
        for (const place of this.#places)
            this.#replacing = this.#replacing.then(() => this.#replaceOne(place, place.child, why));
    }

    /** The process goes on until the next one is ready. If that does not start it stays; one that is spent is replaced later. */
    async #replaceOne(place, child, why) {
        if (this.#stops > 0) return;
        if (place.child === null) return this.#revive(place);
        if (place.child !== child) return; // it has ended meanwhile
        this.#say(place, child, `is replaced: ${why}`);
        const next = (place.next = this.#start(place));
        const isReady = await next.life.settled;
        if (this.#stops > 0) return;
        if (isReady) {
            [place.child, place.next, place.failures] = [next, null, 0];
            if (!child.life.isReady) child.kill('SIGKILL'); // it has no work, and may hang
            else if (child.connected) this.#ask(child);
        } else if (place.child === child) {
            this.#say(place, child, 'stays: the next one did not start');
            const { spent } = child.life;
            if (spent !== undefined) place.timer = setTimeout(() => this.#replace(place, child, spent), place.pause());
        }
    }

    #ask(child, what = 'stop') {
        child.life.isAsked = true;
        child.send(what, () => {}); // it may have gone
    }

    /** Replaces all when a source file changes. */
    #watch() {
        const folder = path.dirname(this.#wanted.file);
        let before = sources(folder);
        setInterval(() => {
            const now = sources(folder);
            const changed = [...now.keys(), ...before.keys()].find((file) => now.get(file) !== before.get(file));
            before = now;
            if (changed === undefined) return;
            for (const { next } of this.#places) next?.kill('SIGKILL'); // it is out of date, and may hang
            this.#replaceAll(`${path.relative(folder, changed)} has changed`);
        }, POLL);
    }

    // ---- the end ----

    /** In good order; the second time handlers are cancelled. */
    #stop(signal) {
        this.#stops++;
        const what = this.#stops > 1 ? 'handlers are cancelled' : 'all end in good order';
        if (signal !== undefined) console.error(`ergon-work: ${signal}: ${what}`);
        for (const { timer } of this.#places) clearTimeout(timer);
        for (const child of this.#children) this.#ask(child, this.#stops > 1 ? 'hurry' : 'stop');
        if (this.#stops === 2) setTimeout(() => this.#children.forEach((child) => child.kill('SIGKILL')), LEAVE);
        if (this.#children.size === 0) process.exit();
    }
}

module.exports = { Parent, USAGE };
