// The rows of a table that somebody has selected, by their keys.  They stay selected when they leave the page, until clear() or drop().

import { h } from './dom.js';

/** `name(row)` names a row for its checkbox, `changed(chosen)` is called after each change, `chosen`: by somebody, not by the table's rows; `order()` are the
 *  keys that the table shows. */
export function picks({ name, changed, order }) {
    const rows = new Map(), boxes = new Map(); // by key: selected rows as last seen, and what the table shows: {tr, box}
    let anchor = null;

    const shown = () => order().filter((key) => boxes.has(key));

    function draw(key) {
        const { tr, box } = boxes.get(key), on = rows.has(key);
        box.checked = on;
        tr.setAttribute('aria-selected', String(on));
    }

    function set(keys, on) {
        for (const key of keys) {
            if (on) rows.set(key, boxes.get(key)?.row ?? rows.get(key));
            else rows.delete(key);
            if (boxes.has(key)) draw(key);
        }
        changed(true);
    }

    /** As a click, or with shift, which means all from the last one clicked. */
    function toggle(key, range, on = !rows.has(key)) {
        const keys = shown(), from = range ? keys.indexOf(anchor) : -1, to = keys.indexOf(key);
        anchor = key;
        set(from < 0 ? [key] : keys.slice(Math.min(from, to), Math.max(from, to) + 1), on);
    }

    const column = {
        title: '', kind: 'pick', changes: () => null,
        draw: (row) => h('label', {}, h('input', { type: 'checkbox', 'aria-label': `Select ${name(row)}` })),
    };

    /** The table has written a row. */
    function wrote(tr, key, row) {
        if (!boxes.has(key)) {
            boxes.set(key, { tr, row, box: null });
            tr.addEventListener('click', (event) => {
                if (event.target.type === 'checkbox') toggle(key, event.shiftKey, event.target.checked);
            });
            // A range is meant, not a selection of text.
            tr.addEventListener('mousedown', (event) => { if (event.shiftKey && event.target.closest('.pick')) event.preventDefault(); });
        }
        boxes.get(key).row = row;
        if (rows.has(key)) rows.set(key, row);
    }

    /** The table shows all its rows. */
    function drawn() {
        const there = new Set(order());
        for (const key of [...boxes.keys()]) {
            if (!there.has(key)) { boxes.delete(key); continue; }
            boxes.get(key).box ??= boxes.get(key).tr.querySelector('.pick input');
            draw(key);
        }
        changed(false);
    }

    /** A key that was pressed on the row: space and x select, with shift up to here; shift and an arrow go on.  Whether it was one of these. */
    function key(event, at, move) {
        if (event.key === ' ' || event.key === 'x' || event.key === 'X') {
            toggle(at, event.shiftKey);
            return true;
        }
        if (!event.shiftKey || !['ArrowDown', 'ArrowUp'].includes(event.key)) return false;
        if (!rows.has(at)) toggle(at, false, true);
        move(event.key === 'ArrowDown' ? 1 : -1);
        const to = document.activeElement.dataset.key;
        if (to !== undefined) toggle(to, false, true);
        return true;
    }

    return {
        column, wrote, drawn, key, rows: () => rows, shown,
        all: (on) => set(shown(), on), drop: (keys) => set(keys, false), clear: () => set([...rows.keys()], false),
    };
}
