// Elements.  Text gets into the page as text nodes only, and no attribute takes a script or a style:
// names, results and errors come from strangers.

const ATTRIBUTES = new Set(['id', 'role', 'title', 'type', 'name', 'for', 'tabindex', 'scope', 'value', 'max', 'min', 'list', 'autocomplete',
    'spellcheck', 'colspan', 'disabled', 'hidden', 'open', 'datetime', 'checked', 'selected', 'maxlength']);

/** An element; `attributes` may have `class`, listeners (`onclick`), `data-…`, `aria-…` and the few names above.  Children are nodes, texts, or
 *  arrays of them; null, undefined and false are left out. */
export function h(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (value === null || value === undefined || value === false) continue;
        if (name === 'class') element.className = value;
        else if (typeof value === 'function' && name.startsWith('on')) element.addEventListener(name.slice(2), value);
        else if (name === 'href') setHref(element, value);
        else if (ATTRIBUTES.has(name) || /^(data|aria)-[a-z-]+$/.test(name)) element.setAttribute(name, value === true ? '' : String(value));
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
        else element.append(child instanceof Node ? child : document.createTextNode(String(child)));
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
    if (element.textContent !== text) element.textContent = text;
}

export function setTitle(element, text) {
    if (element.title !== text) element.title = text;
}
