/** For the tests of an application. */

import { App, Client } from '../lib/index';

/**
 * The app runs what it submits at once, in this process, until close(): a submission is answered when the task has ended, with
 * its middleware, checks and retries, which wait for nothing; results are kept. Keys, `after`, actors, events and crons are there
 * (`cron.run` fires one, also before work()); what is not, as reminders and filters, fails with NO_METHOD. Messages to an actor
 * that has stopped fail with STOPPED at once.
 */
export function immediate(app: App): { client: Client; close(): Promise<void> };

/** A server that runs until close(). */
export interface Server {
    /** Of its Unix socket. */
    url: string;
    pid: number;
    /** Ends it, and removes its folder. */
    close(): Promise<void>;
}

/**
 * Starts an ergond with these flags, which is found by ERGOND, else on the PATH, at a Unix socket in a folder of its own. Error:
 * there is none, or it does not serve; the text has what it said.
 */
export function server(...flags: string[]): Promise<Server>;
