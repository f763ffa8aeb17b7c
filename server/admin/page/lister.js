// What views of lists share: they ask, show rows or why there are none, and ask again.

import { learn, sentence } from './rights.js';
import { poll } from './poll.js';
import { h, setText } from './dom.js';

/** `ask()` brings rows (a promise), `table` shows them; `shown(rows)` is told.  `said` is a line for news. */
export function lister({ method, ask, table, every, shown = () => {} }) {
    const said = h('p', { class: 'said', hidden: true, role: 'alert' });
    let asked = 0;

    const polling = poll(async () => {
        const mine = ++asked;
        try {
            const rows = await ask();
            if (mine !== asked || rows === null) return;
            said.hidden = true;
            table.rows(rows);
            shown(rows);
        } catch (error) {
            if (error.name === 'AbortError') return;
            learn(method, error);
            if (error.code === 'GONE') return;
            if (error.code === 'DENIED') table.say('');
            setText(said, sentence(error));
            said.hidden = false;
        }
    }, every);
    return { said, now: polling.now, soon: polling.soon, stop: polling.stop };
}
