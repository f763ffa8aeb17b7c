#include "client/cli/completion_place.h"

#include "client/cli/synonyms.h"

static const struct option_spec *find_in(const struct option_spec *specs, const char *word)
{
    size_t len = strcspn(word + 2, "=");
    for (; specs != NULL && specs->name != NULL; specs++)
        if (word[1] == '-' ? strlen(specs->name) == len && strncmp(specs->name, word + 2, len) == 0
                           : specs->letter != 0 && specs->letter == word[1])
            return specs;
    return NULL;
}

static const struct option_spec *find_option(const struct command *c, const char *word,
                                             bool *global)
{
    const struct option_spec *spec = c != NULL ? find_in(c->options, word) : NULL;
    if (spec == NULL && c != NULL)
        spec = find_in(c->shared, word);
    if (spec == NULL && c != NULL && c->parameters)
        spec = find_in(PARAM_OPTIONS, word);
    if (spec == NULL && c != NULL && c->repeats)
        spec = find_in(REPEAT_OPTIONS, word);
    *global = spec == NULL;
    return spec != NULL ? spec : find_in(GLOBAL_OPTIONS, word);
}

/* The command or group that the word leads to from where the cursor stands, by whatever name. */
static const struct command *find_command(const struct completion_place *p, const char *word)
{
    char first[32];
    const struct command *const *parts = p->command == NULL ? p->commands : p->command->parts;
    if (parts == NULL)
        return NULL;
    const char *alias = p->command == NULL ? synonym_alias("", word) : NULL;
    if (alias == NULL)
        return command_called(parts, p->command, word);
    snprintf(first, sizeof first, "%.*s", (int)strcspn(alias, " "), alias);
    const struct command *c = command_called(parts, NULL, first);
    if (c == NULL || c->parts == NULL)
        return c;
    const char *second = alias + strlen(first) + 1;
    snprintf(first, sizeof first, "%.*s", (int)strcspn(second, " "), second);
    return command_called(c->parts, c, first);
}

static void add_flag(struct completion_place *p, char *word)
{
    if (p->flag_count < COMPLETION_FLAGS_MAX)
        p->flags[p->flag_count++] = word;
}

/* An option; true: the next word is its value. */
static bool pass_option(struct completion_place *p, char *word)
{
    p->option = find_option(p->command, word, &p->global);
    if (p->option == NULL)
        return false;
    if (p->global)
        add_flag(p, word);
    bool has_value = word[1] == '-' ? strchr(word, '=') != NULL : word[2] != 0;
    return p->option->kind != OPTION_FLAG && p->option->kind != OPTION_PERIOD && !has_value;
}

static void pass_word(struct completion_place *p, const char *word)
{
    const struct command *next = p->arguments == 0 ? find_command(p, word) : NULL;
    if (p->command == NULL && !p->help && p->arguments == 0 && strcmp(word, "help") == 0)
        p->help = true;
    else if (next != NULL)
        p->command = next;
    else if (p->arguments++ == 0)
        p->first = word;
}

/* Passes the words in front of the cursor. */
static void pass_words(struct completion_place *p, int count, char **words)
{
    bool value = false;
    for (int i = 0; i < count - 1; i++) {
        if (value && strcmp(words[i], "=") == 0)
            continue; /* bash makes it a word of its own */
        if (value && p->global)
            add_flag(p, words[i]);
        if (value) {
            value = false;
        } else if (!p->ended && strcmp(words[i], "--") == 0) {
            p->ended = true;
        } else if (!p->ended && words[i][0] == '-' && words[i][1] != 0) {
            value = pass_option(p, words[i]);
        } else {
            pass_word(p, words[i]);
        }
    }
    if (value && p->global)
        p->flag_count--; /* the option whose value is not there yet */
    if (!value)
        p->option = NULL;
}

/* "--state=d": the option is part of the word. */
static void split_word(struct completion_place *p)
{
    const char *equals = strchr(p->begin, '=');
    if (p->ended || equals == NULL || strncmp(p->begin, "--", 2) != 0)
        return;
    p->option = find_option(p->command, p->begin, &p->global);
    p->value = true;
    p->prefix = p->begin;
    p->prefix_len = (int)(equals + 1 - p->begin);
    p->begin = equals + 1;
}

void completion_place_find(struct completion_place *p, const struct command *const *commands,
                           int count, char **words)
{
    *p = (struct completion_place){
        .commands = commands, .begin = count > 0 ? words[count - 1] : "", .prefix = ""};
    pass_words(p, count, words);
    p->value = p->option != NULL;
    if (!p->value)
        split_word(p);
    else if (strcmp(p->begin, "=") == 0)
        p->begin = ""; /* bash's */
}

bool completion_place_is_full(const struct completion_place *p)
{
    return p->command != NULL && p->command->arguments_max >= 0 &&
           p->arguments >= p->command->arguments_max;
}
