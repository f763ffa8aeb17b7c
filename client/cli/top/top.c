/* ergon top: a server at work, on a screen, or as text or JSON a period. */
#include "client/cli/top/screen.h"
#include "client/cli/top/watcher.h"

#include "client/cli/output.h"

#include "base/clock.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

enum { PLAIN_WIDTH = 200, PLAIN_LINES = 60, PLAIN_ROWS = 10, DELAY_LEAST_MS = 100 };

struct top_options {
    uint64_t delay_ns;
    uint64_t count; /* 0: without end */
    bool plain;
};

static const struct option_spec TOP_OPTIONS[] = {
    {'d', "delay", "TIME", "between two looks; 2s", OPTION_DURATION,
     offsetof(struct top_options, delay_ns)},
    {'n', "count", "N", "end after N pictures", OPTION_NUMBER, offsetof(struct top_options, count)},
    {0, "plain", NULL, "text, a block a look, also on a terminal", OPTION_FLAG,
     offsetof(struct top_options, plain)},
    {0},
};

static const struct top_options TOP_DEFAULTS = {.delay_ns = 2 * SECOND};

static void pause_for(uint64_t ns)
{
    const struct timespec pause = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
    nanosleep(&pause, NULL);
}

/* ---- for logs, pipes and programs ---- */

static enum status print_model(const struct watcher *w)
{
    json_t *line = json_deep_copy(w->model);
    json_object_set_new(line, "trouble",
                        w->trouble[0] != 0 ? json_string(w->trouble) : json_null());
    return print_json(line);
}

/* The rows that matter most of each part, as the screen has them. */
static void print_block(const struct watcher *w)
{
    struct frame f;
    struct view_state state;
    char when[40];
    time_t now = (time_t)(clock_wall() / SECOND);
    struct tm utc;
    static const enum view_id parts[] = {VIEW_HANDLERS, VIEW_QUEUES, VIEW_EXECUTORS};
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    view_state_init(&state);
    frame_init(&f, PLAIN_WIDTH, PLAIN_LINES);
    frame_say(&f, TONE_PLAIN, "%s", when);
    view_header(&f, w->model, w->globals.server);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        state.view = parts[i];
        f.height = f.count + 1 + PLAIN_ROWS;
        view_rows(&f, w->model, &state);
    }
    for (size_t i = 0; i < f.count; i++)
        puts(f.lines[i].text);
    putchar('\n');
    frame_fini(&f);
}

static enum status print_once(const struct watcher *w, bool json)
{
    if (json)
        return print_model(w);
    print_block(w);
    return STATUS_OK;
}

/* A connection that is lost is said once. */
static void tell_trouble(const struct globals *g, const struct watcher *w, char *told, size_t size)
{
    if (!g->quiet && strcmp(told, w->trouble) != 0)
        complain("%s", w->trouble[0] != 0 ? w->trouble : "there is a connection again");
    snprintf(told, size, "%s", w->trouble);
}

/* The first look is what the rates of the next one begin at. */
static enum status run_plain(const struct globals *g, struct watcher *w,
                             const struct top_options *o)
{
    enum status status = STATUS_OK;
    char told[sizeof w->trouble] = "";
    watcher_look(w, VIEW_ALL);
    if (w->model == NULL) {
        if (!g->quiet)
            complain("%s", w->trouble);
        return w->status;
    }
    for (uint64_t printed = 0; status == STATUS_OK && (o->count == 0 || printed < o->count);) {
        pause_for(o->delay_ns);
        watcher_look(w, VIEW_ALL);
        tell_trouble(g, w, told, sizeof told);
        if (!w->connected)
            continue;
        status = print_once(w, g->json);
        if (fflush(stdout) != 0 || ferror(stdout))
            break; /* main() says it */
        printed++;
    }
    return status;
}

/* ---- on a screen ---- */

struct screen_state {
    struct watcher *watcher;
    struct view_state view;
    uint64_t delay_ns;
    bool paused, help, typing, colour;
};

static const char *const HELP[] = {
    "1-7, Tab      overview, handlers, queues, executors, loops, connections, workers",
    "<  >          sort by another column (v marks it; ^ turned round)",
    "r             turn the order round",
    "/             show only rows with a text in them; Esc or an empty text: all",
    "up down PgUp PgDn Home   scroll",
    "p, Space      pause, and go on",
    "+  -          look less often, more often",
    "?             this help, and back",
    "q, Ctrl-C     end",
    "",
    "busy%: of one thread; above 100 where several run at once.",
    "A red row is stuck, late, or not read.",
    NULL};

static void say_bar(struct frame *f, const struct screen_state *s)
{
    char every[40];
    f->height++;
    if (s->typing)
        frame_say(f, TONE_BAR, "/%s_", s->view.filter);
    else
        frame_say(f, TONE_BAR, "%s  every %s%s%s%s  ?: help  q: end", view_name(s->view.view),
                  units_duration_text(s->delay_ns, every, sizeof every),
                  s->paused ? "  PAUSED" : "", s->view.filter[0] != 0 ? "  /" : "", s->view.filter);
}

/* The last line is the bar's. */
static void draw(const struct screen_state *s)
{
    struct frame f;
    size_t width, height;
    screen_size(&width, &height);
    frame_init(&f, width, height - 1);
    if (s->watcher->trouble[0] != 0)
        frame_say(&f, TONE_BAD, "%s", s->watcher->trouble);
    if (s->help) {
        for (const char *const *line = HELP; *line != NULL; line++)
            frame_say(&f, TONE_PLAIN, "%s", *line);
    } else if (s->watcher->model != NULL) {
        view_header(&f, s->watcher->model, s->watcher->globals.server);
        frame_say(&f, TONE_PLAIN, "%s", "");
        view_rows(&f, s->watcher->model, &s->view);
    }
    while (frame_has_room(&f))
        frame_say(&f, TONE_PLAIN, "%s", "");
    say_bar(&f, s);
    screen_show(&f, s->colour);
    frame_fini(&f);
}

static void type(struct screen_state *s, int key)
{
    size_t len = strlen(s->view.filter);
    s->view.scroll = 0;
    if (key == '\n' || key == '\r') {
        s->typing = false;
    } else if (key == 27) {
        s->typing = false;
        s->view.filter[0] = 0;
    } else if ((key == 127 || key == '\b') && len > 0) {
        s->view.filter[len - 1] = 0;
    } else if (key >= ' ' && key < 127 && len + 1 < sizeof s->view.filter) {
        s->view.filter[len] = (char)key;
        s->view.filter[len + 1] = 0;
    }
}

static void scroll(struct screen_state *s, int by)
{
    size_t back = by < 0 ? (size_t)-by : 0;
    if (by < 0)
        s->view.scroll -= back < s->view.scroll ? back : s->view.scroll;
    else
        s->view.scroll += (size_t)by;
}

static void show_view(struct screen_state *s, enum view_id view)
{
    s->view.view = view;
    s->view.scroll = 0;
}

static bool move(struct screen_state *s, int key)
{
    enum { PAGE = 10, ALL = 1 << 30 };
    static const struct {
        int key, by;
    } moves[] = {
        {KEY_UP, -1}, {KEY_DOWN, 1}, {KEY_PAGE_UP, -PAGE}, {KEY_PAGE_DOWN, PAGE}, {KEY_HOME, -ALL}};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (moves[i].key == key) {
            scroll(s, moves[i].by);
            return true;
        }
    return false;
}

static void change_delay(struct screen_state *s, bool longer)
{
    const uint64_t least = (uint64_t)DELAY_LEAST_MS * 1000000, most = 60 * SECOND;
    s->delay_ns = longer ? s->delay_ns * 2 : s->delay_ns / 2;
    s->delay_ns = s->delay_ns < least ? least : s->delay_ns > most ? most : s->delay_ns;
}

/* False: it is to end.  *look: what is shown now has to be asked for. */
static bool press(struct screen_state *s, int key, bool *look)
{
    *look = false;
    if (s->typing && key < 256) {
        type(s, key);
        return true;
    }
    if (move(s, key))
        return true;
    if (key >= '1' && key < '1' + VIEW_COUNT) {
        show_view(s, (enum view_id)(key - '1'));
        *look = true;
    } else if (key == '\t') {
        show_view(s, (s->view.view + 1) % VIEW_COUNT);
        *look = true;
    } else if (key == '<' || key == KEY_LEFT || key == '>' || key == KEY_RIGHT) {
        view_sort_by(&s->view, key == '<' || key == KEY_LEFT ? -1 : 1);
    } else if (key == 'r') {
        s->view.reversed[s->view.view] = !s->view.reversed[s->view.view];
    } else if (key == '/') {
        s->typing = true;
        s->view.filter[0] = 0;
    } else if (key == 'p' || key == ' ') {
        s->paused = !s->paused;
    } else if (key == '+' || key == '-') {
        change_delay(s, key == '+');
    } else if (key == '?') {
        s->help = !s->help;
    }
    return key != 'q' && key != KEY_CLOSED;
}

/* Draws, and obeys keys, until the next look is due.  False: it is to end. */
static bool show_until(struct screen_state *s, uint64_t due)
{
    for (;;) {
        bool look = false;
        draw(s);
        uint64_t now = clock_monotonic();
        if (!s->paused && now >= due)
            return true;
        uint64_t began = now;
        int key = screen_key(s->paused ? 60 * SECOND : due - now);
        if (key != KEY_NONE && !press(s, key, &look))
            return false;
        if (key == '+' || key == '-')
            due = began + s->delay_ns;
        if (look)
            watcher_look(s->watcher, s->view.view);
    }
}

static enum status run_screen(const struct globals *g, struct watcher *w,
                              const struct top_options *o)
{
    struct screen_state s = {.watcher = w, .delay_ns = o->delay_ns};
    s.colour = colour_wanted(g, stdout);
    view_state_init(&s.view);
    watcher_look(w, s.view.view);
    if (w->model == NULL) {
        complain("%s", w->trouble);
        return w->status;
    }
    if (!screen_open()) {
        complain("the terminal cannot be used; see --plain");
        return STATUS_REMOTE;
    }
    for (uint64_t looked = 0; o->count == 0 || looked < o->count; looked++) {
        if (!show_until(&s, clock_monotonic() + s.delay_ns))
            break;
        watcher_look(w, s.view.view);
    }
    screen_close();
    return STATUS_OK;
}

static enum status top(const struct globals *g, const void *options, int argc, char **argv)
{
    struct top_options o = *(const struct top_options *)options;
    struct watcher w;
    (void)argc;
    (void)argv;
    if (o.delay_ns == 0) {
        complain("option --delay: it is longer than 0");
        return STATUS_USAGE;
    }
    enum status status = watcher_open(&w, g);
    if (status != STATUS_OK)
        return status;
    status =
        o.plain || g->json || !screen_possible() ? run_plain(g, &w, &o) : run_screen(g, &w, &o);
    watcher_close(&w);
    return status;
}

const struct command TOP = {
    .name = "top",
    .arguments = "",
    .summary = "watch a server at work",
    .text =
        "Shows what the server does, again and again: rates, the handlers that take most time,\n"
        "queues, executors and loops (red: stuck), connections, workers and memory. Rates are\n"
        "those since the look before, by the server's clock. ? shows the keys, q ends. A\n"
        "connection that is lost is made again.\n\n"
        "Where standard output is no terminal, or with --plain, a block of text a look; with\n"
        "--json a line. -n ends after so many.\n",
    .examples = "  ergon top\n"
                "  ergon top -d 500ms\n"
                "  ergon top --plain -d 1m >> ergon.log\n"
                "  ergon top --json -n 1 | jq '.handlers[0]'\n",
    .options = TOP_OPTIONS,
    .options_size = sizeof(struct top_options),
    .defaults = &TOP_DEFAULTS,
    .run = top,
};
