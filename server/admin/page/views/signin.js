// Where the server asks who somebody is: by a token, which is exchanged for a cookie and kept nowhere.

import { signIn } from '../api.js';
import { h, setText } from '../dom.js';
import { sentence } from '../rights.js';

export function signInView(onDone) {
    const field = h('input', { type: 'password', id: 'token', name: 'token', autocomplete: 'current-password', spellcheck: 'false', 'aria-describedby': 'token-error' });
    // A keeper of passwords wants a name beside each, and the browser says so where there is none.
    const name = h('input', { type: 'text', name: 'username', value: 'token', autocomplete: 'username', hidden: true });
    const error = h('p', { class: 'error', id: 'token-error', role: 'alert' });
    const button = h('button', { type: 'submit', class: 'primary' }, 'Sign in');

    async function submit(event) {
        event.preventDefault();
        setText(error, '');
        button.disabled = true;
        try {
            await signIn(field.value.trim());
            onDone();
        } catch (refused) {
            setText(error, refused.code === 'AUTH' ? 'This token is not known.' : sentence(refused));
            field.select();
        } finally {
            button.disabled = false;
        }
    }
    const element = h('main', { id: 'main', class: 'signin' }, h('form', { class: 'card', onsubmit: submit }, h('h1', {}, 'Ergon'), h('label', { for: 'token' }, 'Token'), name, field, error, button,
        h('p', { class: 'muted' }, 'As ', h('code', {}, 'ergon token'), ' printed it. You can do here what its principal may do.')));
    return { element, focus: () => field.focus() };
}
