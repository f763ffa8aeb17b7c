// Figures for people.  Each has a short form to show and, where that is rounded, the exact one for a title.

const group = new Intl.NumberFormat('en', { maximumFractionDigits: 3 });
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' });
const DASH = '–';

const known = (n) => typeof n === 'number' && Number.isFinite(n);

/** 7, 950, 12.3 k, 4.56 M. */
export function count(n) {
    if (!known(n)) return DASH;
    if (Math.abs(n) < 10000) return group.format(Math.round(n));
    for (const [unit, size] of [['G', 1e9], ['M', 1e6], ['k', 1e3]])
        if (Math.abs(n) >= size) return `${digits(n / size)} ${unit}`;
    return String(n);
}

/** A rate: below 10 with a decimal. */
export const rate = (n) => (known(n) && n > 0 && n < 10 ? n.toFixed(1).replace(/\.0$/, '') : count(n));

export function bytes(n) {
    if (!known(n)) return DASH;
    if (n < 1024) return `${Math.round(n)} B`;
    let size = n, unit = -1;
    while (size >= 1024 && unit < 4) { size /= 1024; unit++; }
    return `${digits(size)} ${['KiB', 'MiB', 'GiB', 'TiB', 'PiB'][unit]}`;
}

/** A duration in milliseconds. */
export function duration(ms) {
    if (!known(ms)) return DASH;
    if (ms < 0) return `-${duration(-ms)}`;
    if (ms < 1) return ms === 0 ? '0 ms' : `${digits(ms * 1000)} µs`;
    if (ms < 1000) return `${digits(ms)} ms`;
    const s = ms / 1000;
    if (s < 60) return `${digits(s)} s`;
    if (s < 3600) return two(s, 60, 'm', 1, 's');
    if (s < 86400) return two(s, 3600, 'h', 60, 'm');
    return two(s, 86400, 'd', 3600, 'h');
}

function two(s, big, bigUnit, small, smallUnit) {
    const rest = Math.floor((s % big) / small);
    return `${Math.floor(s / big)} ${bigUnit}${rest ? ` ${rest} ${smallUnit}` : ''}`;
}

const digits = (n) => (n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2)).replace(/\.0+$|(\.\d*[1-9])0+$/, '$1');

/** Between two moments, which are told to the millisecond. */
export const between = (begin, end) => (end === begin ? '< 1 ms' : duration(end - begin));

// Moments are of the server's clock, from which this machine's may differ; less than this is the way of the figures.
const DIFFERS = 2000;
let ahead = 0;

/** The server's clock shows this, in Unix ms. */
export function serverTime(at) {
    const by = at - Date.now();
    ahead = Math.abs(by) > DIFFERS ? by : 0;
}

/** Now, as the server has it. */
export const now = () => Date.now() + ahead;

/** How long ago a moment was, or until it is, in Unix ms. */
export function ago(at) {
    if (!known(at)) return DASH;
    const away = now() - at;
    if (Math.abs(away) < 1000) return 'now';
    return away > 0 ? `${duration(Math.floor(away / 1000) * 1000)} ago` : `in ${duration(Math.ceil(-away / 1000) * 1000)}`;
}

export const time = (at) => (known(at) ? clock.format(at) : DASH);

export function date(at) {
    if (!known(at)) return DASH;
    return day.format(at);
}

/** The whole moment, for a title. */
export const moment = (at) => (known(at) && Math.abs(at) < 8.64e15 ? new Date(at).toISOString() : '');
export const exact = (n, unit = '') => (known(n) ? `${group.format(n)}${unit ? ` ${unit}` : ''}` : '');
export const percent = (part, whole) => (whole > 0 ? Math.max(0, Math.min(100, (100 * part) / whole)) : 0);
/** "1 task", "2 tasks". */
export const plural = (n, one, many = `${one}s`) => `${exact(n)} ${n === 1 ? one : many}`;

/** A name of somebody's: what is no text (bytes that are no UTF-8) is shown as hexadecimal digits. */
export function name(value) {
    if (value === null || value === undefined) return DASH;
    if (typeof value === 'object' && typeof value.$bin === 'string') return `0x${hex(value.$bin, 32)}`;
    return typeof value === 'string' ? value : JSON.stringify(value);
}

export function hex(base64, most) {
    let text;
    try {
        text = atob(base64);
    } catch {
        return '';
    }
    const shown = [...text.slice(0, most)].map((c) => c.charCodeAt(0).toString(16).padStart(2, '0')).join('');
    return text.length > most ? `${shown}…` : shown;
}
