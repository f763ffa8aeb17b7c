// The keyboard: one place knows all keys, and the help shows them.

import { dialog, dialogIsOpen } from './ask.js';
import { h } from './dom.js';
import { go } from './router.js';
import { next as nextTheme } from './theme.js';
import { showWhoami } from './whoami.js';

export const PLACES = [['o', 'overview', 'Overview'], ['r', 'charts', 'Charts'], ['m', 'methods', 'Methods'], ['q', 'queues', 'Queues'], ['t', 'tasks', 'Tasks'], ['e', 'events', 'Events'],
    ['b', 'batches', 'Batches'], ['a', 'actors', 'Actors'], ['w', 'workers', 'Workers'], ['c', 'crons', 'Crons'], ['s', 'semaphores', 'Semaphores'], ['n', 'connections', 'Connections']];

const PREFIX_LASTS = 1500; // ms in which the key after `g` has to come

const isWriting = (target) => target instanceof HTMLElement && (target.matches('input:not([type=checkbox]), select, textarea') || target.isContentEditable);

function help() {
    const row = (keys, what) => h('tr', {}, h('th', { scope: 'row' }, keys.map((key) => h('kbd', {}, key))), h('td', {}, what));
    dialog('Keys', h('div', { class: 'columns' },
        h('table', {}, h('tbody', {}, PLACES.map(([key, , title]) => row(['g', key], title)))),
        h('table', {}, h('tbody', {}, row(['/'], 'search'), row(['↑', '↓'], 'move in a list (also k, j)'), row(['Enter'], 'open what is marked'), row(['x'], 'select what is marked (also space; with shift: up to here)'), row(['Shift ↓'], 'select on'),
            row(['['], 'page before'), row([']'], 'next page'), row(['.'], 'bring up to date'), row(['p'], 'hold events, and let them go on'), row(['d'], 'dark or light'),
            row(['i'], 'who you are, and your rights'), row(['Esc'], 'leave a field, go back'), row(['?'], 'this help')))));
}

/** `view()` is the view that is shown; each of its `search`, `refresh`, `back`, `previous`, `next` and `table` may be missing. */
export function listen(view) {
    let prefixed = 0;

    const table = () => view()?.table;
    const actions = {
        '/': () => (view()?.search ? view().search() : go('#/tasks?search=1')),
        '?': help,
        '.': () => view()?.refresh?.(),
        p: () => view()?.hold?.(),
        i: showWhoami,
        d: nextTheme,
        '[': () => view()?.previous?.(),
        ']': () => view()?.next?.(),
        j: () => table()?.move(1),
        k: () => table()?.move(-1),
        ArrowDown: () => table()?.move(1),
        ArrowUp: () => table()?.move(-1),
        Escape: () => view()?.back?.(),
    };

    addEventListener('keydown', (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || dialogIsOpen()) return;
        if (isWriting(event.target)) {
            if (event.key === 'Escape') event.target.blur();
            return;
        }
        const now = event.timeStamp;
        if (prefixed && now - prefixed < PREFIX_LASTS) {
            prefixed = 0;
            const place = PLACES.find(([key]) => key === event.key);
            if (place) {
                event.preventDefault();
                go(`#/${place[1]}`);
            }
            return;
        }
        prefixed = event.key === 'g' ? now : 0;
        const action = actions[event.key];
        if (!action || (event.key.startsWith('Arrow') && !table())) return;
        event.preventDefault();
        action();
    });
    return { help };
}
