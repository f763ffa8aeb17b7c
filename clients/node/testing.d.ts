/** For the tests of an application. */

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
