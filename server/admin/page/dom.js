// Elements.  Text gets into the page as text nodes only, and no attribute takes a script or a style:
// names, results and errors come from strangers.

// Characters that cannot be seen, and those that turn the direction of what follows: with them one name could look like another.
const UNSEEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** The text with such characters written out, as \u202e. */
export const seen = (text) => String(text).replace(UNSEEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

const ATTRIBUTES = new Set(['id', 'role', 'title', 'type', 'name', 'for', 'tabindex', 'scope', 'value', 'max', 'min', 'list', 'autocomplete',
    'spellcheck', 'colspan', 'disabled', 'hidden', 'open', 'datetime', 'checked', 'selected', 'maxlength', 'rows']);

/** An element; `attributes` may have `class`, listeners (`onclick`), `data-…`, `aria-…` and the few names above.  Children are nodes, texts, or
 *  arrays of them; null, undefined and false are left out. */
export function h(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (value === null || value === undefined || value === false) continue;
        if (name === 'class') element.className = value;
        else if (typeof value === 'function' && name.startsWith('on')) element.addEventListener(name.slice(2), value);
        else if (name === 'href') setHref(element, value);
        else if (ATTRIBUTES.has(name) || /^(data|aria)-[a-z-]+$/.test(name)) element.setAttribute(name, value === true ? '' : name === 'title' || name === 'aria-label' ? seen(value) : String(value));
        else throw new Error(`h() takes no attribute ${name}`);
    }
    add(element, children);
    return element;
}

// Links stay within the page.
function setHref(element, value) {
    if (!value.startsWith('#')) throw new Error('links lead to views');
    element.setAttribute('href', value);
}

function add(element, children) {
    for (const child of children) {
        if (child === null || child === undefined || child === false) continue;
        if (Array.isArray(child)) add(element, child);
        else element.append(child instanceof Node ? child : document.createTextNode(seen(child)));
    }
}

/** The element has these children from now on. */
export function fill(element, ...children) {
    element.replaceChildren();
    add(element, children);
    return element;
}

const signs = new WeakMap(); // what an element was filled for

/** As fill(), but only if `sign` (any value) differs from the last: what is clicked at meanwhile stays. */
export function fillNew(element, sign, ...children) {
    const text = JSON.stringify(sign) ?? '';
    if (signs.get(element) === text) return element;
    signs.set(element, text);
    return fill(element, children.map((child) => (typeof child === 'function' ? child() : child)));
}

/** Writes a text only if it is another: nothing is laid out anew, and no selection is lost, while a figure stays. */
export function setText(element, text) {
    const shown = seen(text);
    if (element.textContent !== shown) element.textContent = shown;
}

export function setTitle(element, text) {
    const shown = seen(text);
    if (element.title !== shown) element.title = shown;
}
