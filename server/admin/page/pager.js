// Pages of a list, by the server's cursors.  Only one page is held.  A page of a narrow condition comes in many parts: the server looks at a bounded number of rows for each request.

import { h, setText } from './dom.js';
import * as f from './format.js';

const LOOKS = 200; // requests for one page

/** `size`: rows on a page; `words`: of the buttons to the pages before and behind; `one`: what a row is, `many`: what several are; `ask(limit, cursor)` brings {rows, next}, `then()` asks for the page anew,
 *  `grow(rows)` shows the part of a page that has come, `isSlow()`: a part may take long. */
export function makePager({ one, many = `${one}s`, words, size, ask, then, grow = () => {}, isSlow = () => false }) {
    let cursors = [null], next = null, looking = null;
    const progress = h('span', { class: 'muted', role: 'status' });
    const before = h('button', { type: 'button', disabled: true, onclick: () => turn(-1) }, `‹ ${words[0]}`), after = h('button', { type: 'button', disabled: true, onclick: () => turn(1) }, `${words[1]} ›`);
    const stop = h('button', { type: 'button', hidden: true, onclick: () => { if (looking) looking.enough = true; } }, 'Stop');

    /** The rows of the page; null: another is asked for meanwhile. */
    async function page() {
        if (looking) looking.enough = true;
        const mine = (looking = { enough: false }), found = [];
        let cursor = cursors.at(-1), looks = 0;
        do {
            const answer = await ask(size - found.length, cursor ? { cursor } : {});
            if (looking !== mine) return null;
            found.push(...answer.rows);
            cursor = answer.next;
            looks++;
            if (looks > 2 || (isSlow() && cursor)) {
                setText(progress, `searching …, ${f.plural(looks, 'part')} of up to 10,000 ${many} looked at, ${f.exact(found.length)} found`);
                stop.hidden = false;
                grow(found);
            }
        } while (cursor && found.length < size && looks < LOOKS && !mine.enough);
        stop.hidden = true;
        next = cursor;
        looking = null;
        return found;
    }

    /** The view has filled the table: sets the buttons and the line below it, which ends with the text `more`. */
    function shown(rows, more = '') {
        before.disabled = cursors.length === 1;
        after.disabled = !next;
        setText(progress, (rows.length ? `page ${cursors.length}, ${f.plural(rows.length, one, many)}${next ? ', and there are more' : ''}` : next ? `none so far; “${words[1]}” looks at more` : '') + more);
    }

    function turn(by) {
        if (by > 0 && next) cursors.push(next);
        else if (by < 0 && cursors.length > 1) cursors.pop();
        else return;
        then();
    }

    /** Of other conditions: the first page. */
    function first() {
        cursors = [null];
        then();
    }

    return { element: h('div', { class: 'pager' }, before, progress, stop, after), page, shown, turn, first };
}
