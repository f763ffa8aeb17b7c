// "Submit again, edited": a task's method, parameters and options in a form, and a new task of what they have become.

import { call, Raw } from './api.js';
import { tell } from './ask.js';
import { whyHidden } from './contents.js';
import { fill, h, setText } from './dom.js';
import * as f from './format.js';
import { jsonError, jsonText } from './json.js';
import { knownMethods } from './live.js';
import { taskLink } from './parts.js';
import { learn, sentence } from './rights.js';
import { go, link } from './router.js';

let made = 0; // fields, for their ids

/** A field with its help and its error; `control` is an input or a textarea. */
function field(title, help, control, wrong) {
    const id = `again-${++made}`, error = h('p', { class: 'wrong', id: `${id}-error`, role: 'alert' });
    control.id = id;
    control.setAttribute('aria-describedby', `${id}-help ${id}-error`);
    return {
        control, element: h('div', { class: 'form-row' }, h('label', { for: id }, title), control, h('p', { class: 'muted', id: `${id}-help` }, help), error),
        /** Says what is wrong; whether it is right. */
        check() {
            const why = wrong(control.value);
            setText(error, why ?? '');
            control.setAttribute('aria-invalid', String(why !== null));
            return why === null;
        },
    };
}

const area = (rows, value) => {
    const element = h('textarea', { spellcheck: 'false', autocomplete: 'off', rows });
    element.value = value;
    element.setSelectionRange(0, 0);
    return element;
};

/** Asks for the task's parameters and options, and shows the form. */
export async function submitAgain(id) {
    let task;
    try {
        task = await call('task.get', [id, { result: false, params: true, options: true }], { raw: true });
    } catch (error) {
        learn('task.get', error);
        return tell(error.code === 'TOO_LARGE' ? 'Its parameters are too large for this page.' : sentence(error), 'bad');
    }
    show(task);
}

function show(task) {
    const { key, ...options } = task.options ?? {}, why = whyHidden(task);
    const methods = h('datalist', { id: 'again-methods' }, knownMethods().map((name) => h('option', { value: name })));
    const method = field('Method', '', h('input', { type: 'text', list: 'again-methods', autocomplete: 'off', spellcheck: 'false', value: f.name(task.method) }), (text) => (text.trim() ? null : 'A method is needed.'));
    const params = field('Parameters', why !== null ? `Those of the task are hidden. ${why}` : ['A JSON array. Bytes are ', h('code', {}, '{"$bin": "BASE64"}'), '. Keys that are no text, and integers above 2^63-1, become text.'], area(10, why !== null ? '[]' : jsonText(task.params)), (text) => jsonError(text, 'array'));
    const more = field('Options', ['As ', h('code', {}, 'task.submit'), ' takes them; numbers are milliseconds, and "30s" is a duration, too.', key !== undefined && key !== null && ` The key ${f.name(key)} is left out: this task has it.`],
        area(4, jsonText(options)), (text) => jsonError(text, 'object'));
    const fields = [method, params, more], failed = h('p', { class: 'wrong', role: 'alert' });
    const submit = h('button', { type: 'submit', class: 'primary', 'data-yes': true }, 'Submit');
    const box = h('dialog', { class: 'again', 'aria-label': 'Submit again, edited' }, h('form', { onsubmit: send }, h('h2', {}, 'Submit again, edited'), fields.map(({ element }) => element), methods, failed,
        h('div', { class: 'buttons' }, h('button', { type: 'button', onclick: () => box.close() }, 'Close'), submit)));

    async function send(event) {
        event.preventDefault();
        fill(failed);
        const wrong = fields.filter((one) => !one.check());
        if (wrong.length) return wrong[0].control.focus();
        submit.disabled = true;
        try {
            // As text: what JSON numbers are stays as it was written.
            const answer = await call('task.submit', new Raw(`[${JSON.stringify(method.control.value.trim())},${params.control.value},${more.control.value}]`));
            if (answer.duplicate) return void fill(failed, 'Nothing was submitted: the task ', taskLink(answer.id), ' has this key.');
            box.close();
            tell(`Submitted as ${answer.id}.`);
            go(link('task', answer.id));
        } catch (error) {
            learn('task.submit', error);
            fill(failed, sentence(error));
        } finally {
            submit.disabled = false;
        }
    }

    box.addEventListener('close', () => box.remove());
    // A link within leads away from here.
    box.addEventListener('click', (event) => { if (event.target.closest('a')) box.close(); });
    document.body.append(box);
    box.showModal();
    params.control.focus();
}
