#include "sim/script.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/schedule.h"

enum { LINE_SIZE = 2048 };

static const char *const ends[] = {[SIM_STOP] = "stop", [SIM_KILL] = "kill", [SIM_POWER] = "power"};
enum { ENDS = sizeof ends / sizeof *ends };

/* --- From text --- */

/* What is left of the line; a word is taken from its front. */
static bool take_word(char **at, char *word, size_t size)
{
    size_t len = strcspn(*at, " ");
    if (len == 0 || len >= size)
        return false;
    memcpy(word, *at, len);
    word[len] = '\0';
    *at += len;
    *at += strspn(*at, " ");
    return true;
}

static bool take_known(char **at, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(*at, word, len) != 0 || ((*at)[len] != ' ' && (*at)[len] != '\0'))
        return false;
    *at += len;
    *at += strspn(*at, " ");
    return true;
}

static bool take_number(char **at, uint64_t *out)
{
    char word[SIM_WORD + 8], *end;
    if (!take_word(at, word, sizeof word))
        return false;
    *out = strtoull(word, &end, 10);
    return *end == '\0';
}

static bool take_us(char **at, uint64_t *out)
{
    char word[SIM_WORD + 8], *end;
    if (!take_word(at, word, sizeof word))
        return false;
    double ms = strtod(word, &end);
    if (*end != '\0' || !(ms >= 0 && ms < 1e12))
        return false;
    *out = (uint64_t)(ms * 1000 + 0.5);
    return true;
}

static bool read_end(char **at, struct sim_line *l)
{
    l->kind = SIM_LINE_END;
    for (int n = 0; n < ENDS; n++)
        if (take_known(at, ends[n])) {
            l->how = (enum sim_end)n;
            l->quiet = take_known(at, "quiet");
            return true;
        }
    return false;
}

static bool read_stall(char **at, struct sim_line *l)
{
    l->kind = SIM_LINE_STALL;
    return take_word(at, l->fiber, sizeof l->fiber) && take_word(at, l->point, sizeof l->point) &&
           take_us(at, &l->number);
}

/* "c0 leave", "c0 METHOD PARAMS", "c0 t1 = METHOD PARAMS" */
static bool read_client(char **at, struct sim_line *l)
{
    char word[SIM_METHOD];
    if (!take_word(at, word, sizeof word) || sscanf(word, "c%" SCNu32, &l->client) != 1)
        return false;
    l->kind = take_known(at, "leave") ? SIM_LINE_LEAVE : SIM_LINE_REQUEST;
    if (l->kind == SIM_LINE_LEAVE)
        return true;
    if (!take_word(at, word, sizeof word))
        return false;
    if (take_known(at, "=") &&
        (sscanf(word, "t%" SCNu64, &l->label) != 1 || !take_word(at, word, sizeof word)))
        return false;
    strcpy(l->method, word);
    size_t len = strlen(*at);
    if (**at != '[' || len >= sizeof l->params)
        return false;
    memcpy(l->params, *at, len + 1);
    *at += len;
    return true;
}

static bool read_timed(char **at, struct sim_line *l)
{
    if (!take_us(at, &l->at))
        return false;
    if (take_known(at, "stall"))
        return read_stall(at, l);
    if (take_known(at, "end"))
        return read_end(at, l);
    l->kind = SIM_LINE_CUT;
    return take_known(at, "cut") ? take_number(at, &l->number) : read_client(at, l);
}

static bool read_line(char *at, struct sim_line *l)
{
    static const struct {
        const char *word;
        enum sim_line_kind kind;
    } untimed[] = {{"disk", SIM_LINE_DISK},
                   {"tear", SIM_LINE_TEAR},
                   {"schedule", SIM_LINE_SCHEDULE},
                   {"others", SIM_LINE_OTHERS},
                   {"start cut", SIM_LINE_START}};
    for (size_t n = 0; n < sizeof untimed / sizeof *untimed; n++)
        if (take_known(&at, untimed[n].word)) {
            l->kind = untimed[n].kind;
            return take_number(&at, &l->number) && *at == '\0';
        }
    if (take_known(&at, "flag")) {
        l->kind = SIM_LINE_FLAG;
        return take_word(&at, l->method, sizeof l->method) &&
               take_word(&at, l->params, sizeof l->params) && *at == '\0';
    }
    return read_timed(&at, l) && *at == '\0';
}

const char *sim_script_read(FILE *from, struct sim_script *out, uint32_t *number)
{
    char text[LINE_SIZE];
    *out = (struct sim_script){.lines = calloc(SIM_LINES_MAX, sizeof *out->lines)};
    require(out->lines != NULL, "no memory for a script");
    for (*number = 1; fgets(text, sizeof text, from); ++*number) {
        text[strcspn(text, "\n")] = '\0';
        char *at = text + strspn(text, " ");
        if (*at == '\0' || *at == '#')
            continue;
        if (out->count == SIM_LINES_MAX)
            return "there are too many lines";
        if (!read_line(at, &out->lines[out->count++]))
            return "this is no line of a script (see sim/script.h)";
    }
    return NULL;
}

const char *sim_fiber_word(void)
{
    static char word[SIM_WORD];
    snprintf(word, sizeof word, "%s", sim_fiber_name());
    for (char *at = word; *at; at++)
        if (*at == ' ')
            *at = '-';
    return word;
}

/* --- To text --- */

static void write_ms(FILE *to, uint64_t us)
{
    fprintf(to, "%" PRIu64, us / 1000);
    if (us % 1000)
        fprintf(to, ".%03" PRIu64, us % 1000);
    fputc(' ', to);
}

static void write_request(FILE *to, const struct sim_line *l)
{
    write_ms(to, l->at);
    fprintf(to, "c%" PRIu32 " ", l->client);
    if (l->label)
        fprintf(to, "t%" PRIu64 " = ", l->label);
    fprintf(to, "%s %s\n", l->method, l->params);
}

static void write_line(FILE *to, const struct sim_line *l)
{
    switch (l->kind) {
    case SIM_LINE_DISK:
        fprintf(to, "disk %" PRIu64 "\n", l->number);
        break;
    case SIM_LINE_TEAR:
        fprintf(to, "tear %" PRIu64 "\n", l->number);
        break;
    case SIM_LINE_SCHEDULE:
        fprintf(to, "schedule %" PRIu64 "\n", l->number);
        break;
    case SIM_LINE_OTHERS:
        fprintf(to, "others %" PRIu64 "\n", l->number);
        break;
    case SIM_LINE_FLAG:
        fprintf(to, "flag %s %s\n", l->method, l->params);
        break;
    case SIM_LINE_START:
        fprintf(to, "start cut %" PRIu64 "\n", l->number);
        break;
    case SIM_LINE_REQUEST:
        write_request(to, l);
        break;
    case SIM_LINE_LEAVE:
        write_ms(to, l->at);
        fprintf(to, "c%" PRIu32 " leave\n", l->client);
        break;
    case SIM_LINE_STALL:
        write_ms(to, l->at);
        fprintf(to, "stall %s %s ", l->fiber, l->point);
        write_ms(to, l->number);
        fputc('\n', to);
        break;
    case SIM_LINE_CUT:
        write_ms(to, l->at);
        fprintf(to, "cut %" PRIu64 "\n", l->number);
        break;
    case SIM_LINE_END:
        write_ms(to, l->at);
        fprintf(to, "end %s%s\n", ends[l->how], l->quiet ? " quiet" : "");
        break;
    }
}

void sim_script_write(FILE *to, const struct sim_script *s)
{
    for (uint32_t n = 0; n < s->count; n++)
        write_line(to, &s->lines[n]);
}
