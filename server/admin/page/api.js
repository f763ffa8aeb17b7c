// The gateway: a session (a cookie that scripts cannot read, and a token against forged requests), and calls of the server's methods.

/** What a call was answered with when it failed.  `code` is a name of the protocol's table, or GONE: there was no answer. */
export class CallError extends Error {
    constructor(code, text) {
        super(text);
        this.code = code;
    }
}

let csrf = null;
export let principal = null;
const listeners = { out: [] };

/** `listener` is called when the server does not know the session any more. */
export const onSignedOut = (listener) => listeners.out.push(listener);

async function ask(path, options) {
    let response, body;
    try {
        response = await fetch(path, { credentials: 'same-origin', cache: 'no-store', redirect: 'error', ...options });
        body = await response.text();
    } catch (error) {
        if (error.name === 'AbortError') throw error;
        throw new CallError('GONE', 'The server does not answer.');
    }
    return { status: response.status, body };
}

/** JSON as text: a number as it came, or parameters as they shall be sent. */
export class Raw {
    constructor(text) {
        this.text = text;
    }
}

// Numbers as they are written: 1.0 is not 1, and integers beyond 2^53 keep their digits.
const literal = (_, value, context) => (typeof value === 'number' && context?.source !== undefined ? new Raw(context.source) : value);

function parse(body, reviver) {
    try {
        return JSON.parse(body, reviver);
    } catch {
        return null;
    }
}

function failure(status, body) {
    const error = parse(body)?.error;
    return new CallError(String(error?.code ?? `HTTP ${status}`), String(error?.text ?? `The server answered with status ${status}.`));
}

function accept({ status, body }) {
    if (status !== 200) throw failure(status, body);
    const session = parse(body);
    csrf = session?.csrf ?? null;
    principal = session?.principal ?? null;
    return session;
}

const session = async () => accept(await ask('/api/session', { method: 'GET' }));

/** Signs in by a token, or without one where the server lets everybody in. */
export const signIn = async (token) => accept(await ask('/api/session', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(csrf ? { 'X-Ergon-CSRF': csrf } : {}) },
    body: JSON.stringify(token ? { token } : {}),
}));

/** The session that there is, or a new one if that needs no token, as {opened}; null if it needs one. */
export async function sessionOrOpen() {
    const is = await session();
    if (is.principal) return { opened: false };
    if (is.token) return null;
    await signIn();
    return { opened: true };
}

export async function signOut() {
    await ask('/api/session', { method: 'DELETE', headers: csrf ? { 'X-Ergon-CSRF': csrf } : {} });
    csrf = principal = null;
}

const post = (method, params, signal) => ask('/api/call', {
    method: 'POST',
    signal,
    headers: { 'Content-Type': 'application/json', 'X-Ergon-CSRF': csrf ?? '' },
    body: `{"method":${JSON.stringify(method)},"params":${params instanceof Raw ? params.text : JSON.stringify(params)}}`,
});

/** Has the stream of this number send the feed's events that `follow` (options of task.events) means; null: none.  A CallError if that is refused. */
export async function followBy(stream, follow) {
    const { status, body } = await ask('/api/live', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Ergon-CSRF': csrf ?? '' },
        body: JSON.stringify({ stream, follow }),
    });
    if (status !== 200) throw failure(status, body);
}

/** Calls a method; its result, or a CallError.  `params`: an array, or a Raw of one.  `raw`: numbers come as Raw. */
export async function call(method, params = [], { raw = false, signal } = {}) {
    let { status, body } = await post(method, params, signal);
    // Another tab of this browser has signed in since: the cookie is of its session.
    if (status === 403 && body.includes('X-Ergon-CSRF')) {
        await session();
        ({ status, body } = await post(method, params, signal));
    }
    if (status === 200) {
        const answer = parse(body, raw ? literal : undefined);
        if (answer && 'result' in answer) return answer.result;
        throw new CallError('INTERNAL', 'The answer could not be read.');
    }
    const error = failure(status, body);
    if (status === 401) for (const listener of listeners.out) listener();
    throw error;
}
