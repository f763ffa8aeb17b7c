#include "client/cli/top/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "client/cli/status.h"

enum {
    COLUMNS = 80,
    LINES = 24,
    COLUMNS_MOST = 1000,
    LINES_MOST = 1000,
    ESCAPE = 27,
    ESCAPE_MS = 50
};

/* The second screen, without a cursor and without wrapping; and back. */
static const char ENTER[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char LEAVE[] = "\033[0m\033[?7h\033[?25h\033[?1049l";

static struct termios before, raw;
/* For signal handlers on the same thread: relaxed. */
static _Atomic bool is_open;
static _Atomic bool resized;

static const int ENDS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGABRT, SIGBUS, SIGFPE};
enum { ENDS_COUNT = sizeof ENDS / sizeof *ENDS };

bool screen_possible(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && terminal != NULL && terminal[0] != 0 &&
           strcmp(terminal, "dumb") != 0;
}

/* Of what is known to a signal handler; a terminal that takes nothing more is not worth a word. */
static void put(const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, text, len);
        if (n < 0 && errno != EINTR)
            return;
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        }
    }
}

static void enter(void)
{
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    put(ENTER, sizeof ENTER - 1);
    atomic_store_explicit(&is_open, true, memory_order_relaxed);
    atomic_store_explicit(&resized, true, memory_order_relaxed);
}

/* Async-signal-safe. */
void screen_close(void)
{
    if (!atomic_exchange_explicit(&is_open, false, memory_order_relaxed))
        return;
    put(LEAVE, sizeof LEAVE - 1);
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void on_end(int signal_number)
{
    screen_close();
    if (signal_number == SIGINT)
        _exit(STATUS_INTERRUPTED);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void on_resize(int signal_number)
{
    (void)signal_number;
    atomic_store_explicit(&resized, true, memory_order_relaxed);
}

static void on_stop(int signal_number)
{
    int saved = errno;
    (void)signal_number;
    screen_close();
    raise(SIGSTOP);
    enter(); /* it goes on */
    errno = saved;
}

static void take_signal(int signal_number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

bool screen_open(void)
{
    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return false;
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* ISIG stays: Ctrl-C and Ctrl-Z are signals */
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    for (size_t i = 0; i < ENDS_COUNT; i++)
        take_signal(ENDS[i], on_end);
    take_signal(SIGWINCH, on_resize);
    take_signal(SIGTSTP, on_stop);
    atexit(screen_close);
    enter();
    return true;
}

void screen_size(size_t *width, size_t *height)
{
    struct winsize size = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *width = size.ws_col > 0 ? size.ws_col : COLUMNS;
    *height = size.ws_row > 0 ? size.ws_row : LINES;
    *width = *width < COLUMNS_MOST ? *width : COLUMNS_MOST;
    *height = *height < LINES_MOST ? *height : LINES_MOST;
}

static const char *paint_of(enum tone tone)
{
    switch (tone) {
    case TONE_PLAIN:
        return "";
    case TONE_TITLE:
        return "\033[1m";
    case TONE_HEAD:
        return "\033[1;36m";
    case TONE_BAD:
        return "\033[1;31m";
    case TONE_BAR:
        return "\033[7m";
    }
    return "";
}

/* All at once, and each line over the one before it: so nothing flickers. */
void screen_show(const struct frame *f, bool colour)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    if (out == NULL)
        return;
    fputs("\033[H", out);
    for (size_t i = 0; i < f->count; i++) {
        const char *paint =
            colour || f->lines[i].tone == TONE_BAR ? paint_of(f->lines[i].tone) : "";
        fprintf(out, "%s%s%s\033[K%s", paint, f->lines[i].text, paint[0] != 0 ? "\033[0m" : "",
                i + 1 < f->height ? "\r\n" : "");
    }
    if (f->count < f->height)
        fputs("\033[J", out);
    fclose(out);
    put(text, len);
    free(text);
}

/* ---- keys ---- */

/* False: nothing came within that time. */
static bool wait_for_input(uint64_t wait_ns)
{
    const uint64_t second = UINT64_C(1000000000);
    struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
    struct timespec wait = {.tv_sec = (time_t)(wait_ns / second),
                            .tv_nsec = (long)(wait_ns % second)};
    return ppoll(&fd, 1, &wait, NULL) > 0;
}

/* Of what stands behind ESC: "[A" and "OA", "[5~". */
static int key_of_sequence(const char *sequence, size_t len)
{
    static const struct {
        char last;
        int key;
    } letters[] = {{'A', KEY_UP},   {'B', KEY_DOWN}, {'C', KEY_RIGHT},
                   {'D', KEY_LEFT}, {'H', KEY_HOME}, {'F', KEY_END}};
    if (len == 0)
        return ESCAPE;
    char last = sequence[len - 1];
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (last == letters[i].last)
            return letters[i].key;
    if (last == '~' && len >= 2)
        return sequence[1] == '5' ? KEY_PAGE_UP : sequence[1] == '6' ? KEY_PAGE_DOWN : KEY_OTHER;
    return KEY_OTHER;
}

static bool ends_sequence(const char *sequence, size_t len)
{
    char last = sequence[len - 1];
    return len > 1 && last >= '@' && last <= '~';
}

static int read_sequence(void)
{
    char sequence[8];
    size_t len = 0;
    while (len < sizeof sequence && wait_for_input((uint64_t)ESCAPE_MS * 1000000) &&
           read(STDIN_FILENO, sequence + len, 1) == 1) {
        len++;
        if (ends_sequence(sequence, len) || (len == 1 && sequence[0] != '[' && sequence[0] != 'O'))
            break;
    }
    return key_of_sequence(sequence, len);
}

int screen_key(uint64_t wait_ns)
{
    unsigned char c;
    if (atomic_exchange_explicit(&resized, false, memory_order_relaxed) || !wait_for_input(wait_ns))
        return KEY_NONE;
    if (read(STDIN_FILENO, &c, 1) != 1)
        return KEY_CLOSED;
    return c == ESCAPE ? read_sequence() : c;
}
