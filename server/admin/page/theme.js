// Light, dark, or as the system has it; a choice is remembered by the browser.

const KEY = 'ergon.theme', WORDS = ['system', 'light', 'dark'];
const system = matchMedia('(prefers-color-scheme: dark)');
const watchers = new Set();

function remembered() {
    try {
        const word = localStorage.getItem(KEY);
        return WORDS.includes(word) ? word : 'system';
    } catch {
        return 'system';
    }
}

export let choice = remembered();
export const isDark = () => choice === 'dark' || (choice === 'system' && system.matches);

function apply() {
    document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
    for (const watcher of watchers) watcher();
}

export function choose(word) {
    choice = word;
    try {
        localStorage.setItem(KEY, word);
    } catch {
        // A browser that keeps nothing shows what is chosen until it leaves.
    }
    apply();
}

export const next = () => choose(isDark() ? 'light' : 'dark');

export function onTheme(watcher) {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
}

system.addEventListener('change', apply);
apply();
