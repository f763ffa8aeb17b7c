// What is written into the search field of tasks, read as conditions.  Pure.

const KEYS = ['state', 'method', 'tenant', 'key', 'actor', 'batch', 'contains', 'older', 'newer'];
const ID = /^t[0-9a-hjkmnp-tv-z]{13}$/; // as the server makes them

/** `method:echo state:failed key:"two words" newer:1h`, and a bare word: a method, or a task's id.  Within quotes a backslash takes the next character as it is.
 *  {filter, id, error}. */
export function readQuery(text) {
    const filter = {};
    for (const match of text.matchAll(/(?:(\w+):)?(?:"((?:[^"\\]|\\.)*)"|(\S+))/g)) {
        const [, key, quoted, plain] = match, value = quoted?.replace(/\\(.)/g, '$1') ?? plain;
        if (key === undefined && ID.test(value)) return { id: value, filter: {} };
        const name = key ?? 'method';
        if (!KEYS.includes(name)) return { error: `There is no "${name}:". Use ${KEYS.map((k) => `${k}:`).join(' ')} or a task's id.`, filter: {} };
        filter[name] = value;
    }
    return { filter };
}

export const writeQuery = (filter) => KEYS.filter((key) => filter[key]).map((key) => `${key}:${/[\s"]/.test(filter[key]) ? `"${filter[key].replace(/["\\]/g, '\\$&')}"` : filter[key]}`).join(' ');

export const filterOf = (parameters) => Object.fromEntries(KEYS.filter((key) => parameters.get(key)).map((key) => [key, parameters.get(key)]));
