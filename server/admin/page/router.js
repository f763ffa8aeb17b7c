// Where the page is: '#/tasks?state=failed' is the view `tasks` with a parameter, '#/task/ID' the view `task` of one.

let show = () => {};

function decode(part) {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}

export function current() {
    const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
    const [view = '', ...rest] = path.split('/');
    return { view: view || 'overview', what: decode(rest.join('/')), parameters: new URLSearchParams(query) };
}

export function link(view, what, parameters) {
    const set = Object.entries(parameters ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== '');
    return `#/${view}${what ? `/${encodeURIComponent(what)}` : ''}${set.length ? `?${new URLSearchParams(set)}` : ''}`;
}

export function go(to) {
    if (location.hash === to) show(current());
    else location.hash = to;
}

/** Notes parameters in the address without leaving the view. */
export const note = (to) => history.replaceState(null, '', to);

export function start(onShow) {
    show = onShow;
    addEventListener('hashchange', () => show(current()));
}
