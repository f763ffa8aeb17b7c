// A table that is brought up to date in place: rows are known by their key, and only cells that changed are written, so that the mark, the focus
// and what somebody selects stay where they are.

import { fill, h, setText, setTitle } from './dom.js';
import { picks } from './picks.js';

const LONG = 20; // characters: what may be cut off, at most
// A name that may not fit; ids of tasks, of which a cell may have several, do.
const isName = (column) => /\bid\b/.test(column.kind ?? '') && !/\bwide\b/.test(column.kind);

/** `columns`: {title, text(row) or draw(row), changes(row), hint(row), kind}.  `draw` makes nodes, anew when `changes(row)` is another.
 *  `kind` is a class: 'number', 'id', 'wide', 'late' and 'later' (hidden where there is little room, 'later' first), 'actions'.
 *  `pick`: rows can be selected; {name(row), changed()}, as in picks.js, whose functions the table then has as `picked`. */
export function makeTable({ label, columns: shown, key, open = null, empty = 'Nothing here.', shade = () => '', pick = null }) {
    const picked = pick && picks({ ...pick, order: () => [...body.children].map((tr) => tr.dataset.key) });
    const columns = pick ? [picked.column, ...shown] : shown;
    const head = h('tr', { role: 'row' }, columns.map((c) => h('th', { role: 'columnheader', scope: 'col', class: c.kind }, c.title || h('span', { class: 'unseen' }, c.kind?.includes('actions') ? 'actions' : 'selected'))));
    const body = h('tbody', { role: 'rowgroup' });
    const nothing = h('p', { class: 'empty', hidden: true }, empty);
    const table = h('table', { class: open ? 'list opens' : 'list', role: 'grid', 'aria-label': label, 'aria-multiselectable': pick ? 'true' : null }, h('thead', { role: 'rowgroup' }, head), body);
    const element = h('div', { class: 'table' }, table, nothing);
    const known = new Map();
    let marked = null;

    function makeRow(id) {
        const cells = columns.map((c) => h('td', { role: 'gridcell', class: c.kind, 'data-title': c.title }));
        const tr = h('tr', { role: 'row', tabindex: '-1', 'data-key': id }, cells);
        const line = { tr, cells, seen: columns.map(() => null), row: null };
        tr.addEventListener('focusin', () => mark(id));
        if (open) {
            tr.addEventListener('click', (event) => {
                if (!event.target.closest('button, a, summary, .pick') && !String(getSelection())) open(line.row);
            });
        }
        tr.addEventListener('keydown', (event) => {
            if (event.target !== tr) return;
            if (event.key === 'Enter' && open) open(line.row);
            else if (event.key === 'Home') move(-known.size);
            else if (event.key === 'End') move(known.size);
            else if (!picked?.key(event, id, move)) return;
            event.preventDefault();
        });
        return line;
    }

    function write(line, row) {
        line.row = row;
        picked?.wrote(line.tr, String(key(row)), row);
        const tone = shade(row);
        if (line.tr.className !== tone) line.tr.className = tone;
        columns.forEach((c, i) => {
            const cell = line.cells[i];
            if (c.text) {
                setText(cell, c.text(row));
            } else {
                const sign = JSON.stringify(c.changes ? c.changes(row) : row);
                if (line.seen[i] !== sign) fill(cell, c.draw(row));
                line.seen[i] = sign;
            }
            if (c.hint) setTitle(cell, c.hint(row));
            else if (isName(c)) setTitle(cell, cell.textContent.length > LONG ? cell.textContent : '');
        });
    }

    function mark(id) {
        if (marked !== null && known.has(marked)) known.get(marked).tr.tabIndex = -1;
        marked = id;
        if (known.has(id)) known.get(id).tr.tabIndex = 0;
    }

    function move(by) {
        const rows = [...body.children];
        if (!rows.length) return;
        const at = rows.indexOf(known.get(marked)?.tr);
        const focused = body.contains(document.activeElement);
        const to = focused ? Math.max(0, Math.min(rows.length - 1, at + by)) : Math.max(0, at);
        rows[to].focus();
        rows[to].scrollIntoView({ block: 'nearest' });
    }

    /** Shows these rows, in this order. */
    function rows(list) {
        const stay = new Set();
        let before = null;
        for (const row of list) {
            const id = String(key(row));
            if (stay.has(id)) continue;
            stay.add(id);
            let line = known.get(id);
            if (!line) known.set(id, (line = makeRow(id)));
            write(line, row);
            const next = before ? before.nextSibling : body.firstChild;
            if (next !== line.tr) body.insertBefore(line.tr, next);
            before = line.tr;
        }
        for (const [id, line] of known) {
            if (stay.has(id)) continue;
            line.tr.remove();
            known.delete(id);
        }
        if (marked === null || !known.has(marked)) mark(body.firstElementChild?.dataset.key ?? null);
        table.hidden = stay.size === 0;
        nothing.hidden = stay.size !== 0;
        picked?.drawn();
    }

    /** Shows a sentence in place of rows. */
    function say(text) {
        rows([]);
        setText(nothing, text);
    }

    return { element, rows, say, move, picked, size: () => known.size };
}
