/* ergon completion: scripts for shells, from the same tables that parse and print help. */
#include "client/cli/cli.h"
#include "client/cli/completion_live.h"

#include <string.h>

static void print_options(const char *format, const struct option_spec *specs)
{
    for (const struct option_spec *s = specs; s != NULL && s->name != NULL; s++)
        printf(format, s->name);
}

static void print_words(const struct command *const *commands)
{
    for (; *commands != NULL; commands++)
        printf("%s ", command_word(*commands));
}

static void bash_case(const struct command *c)
{
    printf("    '%s') words='", c->name);
    if (c->parts != NULL)
        print_words(c->parts);
    print_options("--%s ", c->options);
    print_options("--%s ", c->shared);
    puts("' ;;");
    for (const struct command *const *part = c->parts; part != NULL && *part != NULL; part++)
        bash_case(*part);
}

static bool is_group(const struct command *c)
{
    return c->parts != NULL;
}

/* "a|b" of the commands that are groups, or of those that are not. */
static void bash_pattern(bool groups)
{
    const char *bar = "        ";
    for (const struct command *const *c = COMMANDS; *c != NULL; c++)
        if (is_group(*c) == groups) {
            printf("%s%s", bar, (*c)->name);
            bar = "|";
        }
}

/* Words, and what the server knows; files come from the shell's own default.  What a server says is
 * never expanded. */
static void bash(void)
{
    puts("_ergon() {\n    local current=${COMP_WORDS[COMP_CWORD]} words command= group= word\n"
         "    COMPREPLY=()\n"
         "    if [[ $current != -* ]]; then\n"
         "        while IFS= read -r word; do\n"
         "            COMPREPLY+=(\"$(printf %q \"$word\")\")\n"
         "            [[ $word == */ ]] && type compopt &>/dev/null && compopt -o nospace "
         "2>/dev/null\n"
         "        done < <(\"${COMP_WORDS[0]}\" completion live -- "
         "\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null </dev/null)\n"
         "        [ ${#COMPREPLY[@]} -gt 0 ] && return\n"
         "    fi");
    puts("    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "        [[ $word == -* ]] && continue\n"
         "        if [ -n \"$group\" ]; then command=\"$group $word\"; break; fi\n"
         "        case $word in");
    bash_pattern(true);
    puts(") group=$word command=$word ;;");
    bash_pattern(false);
    puts(") command=$word; break ;;\n        esac\n    done\n    case $command in");
    for (const struct command *const *c = COMMANDS; *c != NULL; c++)
        bash_case(*c);
    fputs("    *) words='", stdout);
    print_words(COMMANDS);
    puts("' ;;\n    esac");
    fputs("    words+=' ", stdout);
    print_options("--%s ", GLOBAL_OPTIONS);
    puts("'\n    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\n"
         "complete -o default -F _ergon ergon");
}

static void zsh(void)
{
    puts("#compdef ergon\nautoload -U +X bashcompinit && bashcompinit");
    bash();
}

static void fish_options(const struct option_spec *specs, const char *condition)
{
    for (const struct option_spec *s = specs; s != NULL && s->name != NULL; s++) {
        printf("complete -c ergon%s -l %s%s", condition, s->name,
               s->kind == OPTION_FLAG || s->kind == OPTION_PERIOD ? "" : " -r");
        if (s->letter != 0)
            printf(" -s %c", s->letter);
        printf(" -d \"%s\"\n", s->help);
    }
}

static void fish_part(const struct command *group, const struct command *part)
{
    char condition[160];
    printf("complete -c ergon -n \"__fish_seen_subcommand_from %s\" -a %s -d \"%s\"\n", group->name,
           command_word(part), part->summary);
    snprintf(condition, sizeof condition,
             " -n \"__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from %s\"",
             group->name, command_word(part));
    fish_options(part->options, condition);
    fish_options(part->shared, condition);
}

static void fish(void)
{
    for (const struct command *const *c = COMMANDS; *c != NULL; c++) {
        char condition[96];
        printf("complete -c ergon -n __fish_use_subcommand -a %s -d \"%s\"\n", (*c)->name,
               (*c)->summary);
        snprintf(condition, sizeof condition, " -n \"__fish_seen_subcommand_from %s\"", (*c)->name);
        fish_options((*c)->options, condition);
        for (const struct command *const *p = (*c)->parts; p != NULL && *p != NULL; p++)
            fish_part(*c, *p);
    }
    fish_options(GLOBAL_OPTIONS, "");
    puts("complete -c ergon -a '(ergon completion live -- (commandline -opc)[2..-1] "
         "(commandline -ct) 2>/dev/null </dev/null)'");
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)g;
    (void)options;
    if (strcmp(argv[0], "live") == 0) {
        completion_live(argc - 1, argv + 1);
        return STATUS_OK;
    }
    if (argc > 1) {
        complain("there is an argument too many; see ergon completion --help");
        return STATUS_USAGE;
    }
    if (strcmp(argv[0], "bash") == 0)
        bash();
    else if (strcmp(argv[0], "zsh") == 0)
        zsh();
    else if (strcmp(argv[0], "fish") == 0)
        fish();
    else {
        complain("no completion for '%s'; there is one for bash, zsh and fish", argv[0]);
        return STATUS_USAGE;
    }
    return STATUS_OK;
}

const struct command COMPLETION = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "print a completion script for a shell",
    .text = "Prints the script; it is to be sourced, or put where the shell looks for it. It asks\n"
            "the server for methods, ids of tasks, queues, semaphores, crons, workers and\n"
            "connections, and says nothing where that does not answer within a moment.\n",
    .examples = "  ergon completion bash > /etc/bash_completion.d/ergon\n"
                "  ergon completion fish > ~/.config/fish/completions/ergon.fish\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .run = run,
    .offline = true,
};
