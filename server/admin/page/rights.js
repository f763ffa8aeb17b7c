// What this principal may not do.  The server tells no list of rights, so a method is known to be denied once it was answered so;
// from then on its buttons are off, and say why.

let denied = new Map();

// Only the refusal of the method itself counts: another task, tenant or key may well be allowed.
const isOf = (method, error) => error.code === 'DENIED' && error.message.includes(`may not call "${method}"`);

export function learn(method, error) {
    if (denied.has(method) || !isOf(method, error)) return;
    denied.set(method, error.message);
    for (const button of document.querySelectorAll('button[data-method]')) mark(button);
}

/** Switches a button off if its method is denied. */
export function mark(button) {
    const why = denied.get(button.dataset.method);
    if (why === undefined) return;
    button.disabled = true;
    button.title = `Not allowed: ${why}`;
}

export const forgetAll = () => { denied = new Map(); };

/** A sentence for people. */
export function sentence(error) {
    switch (error.code) {
    case 'DENIED': return `You are not allowed to do this: ${error.message}.`;
    case 'NOT_FOUND': return `Not found: ${error.message}.`;
    case 'AUTH': return 'The session has ended. Please sign in again.';
    case 'BUSY': return `The server is busy: ${error.message}.`;
    case 'GONE': return 'The server does not answer.';
    default: return `${error.code}: ${error.message}`;
    }
}
