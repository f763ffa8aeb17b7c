/* ergon completion: scripts for shells, from the same tables that parse and print help. */
#include "client/cli/cli.h"

#include <string.h>

static void print_options(const char *format, const struct option_spec *specs)
{
    for (const struct option_spec *s = specs; s != NULL && s->name != NULL; s++)
        printf(format, s->name);
}

static void print_commands(const char *format)
{
    for (const struct command *const *c = COMMANDS; *c != NULL; c++)
        printf(format, (*c)->name);
}

/* Words only: files come from the shell's own default. */
static void bash(void)
{
    puts("_ergon() {\n    local current=${COMP_WORDS[COMP_CWORD]} words command= word\n"
         "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "        case $word in");
    print_commands("        %s) command=$word; break ;;\n");
    puts("        esac\n    done\n    case $command in");
    for (const struct command *const *c = COMMANDS; *c != NULL; c++) {
        printf("    %s) words='", (*c)->name);
        print_options("--%s ", (*c)->options);
        puts("' ;;");
    }
    fputs("    *) words='", stdout);
    print_commands("%s ");
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
               s->kind == OPTION_FLAG ? "" : " -r");
        if (s->letter != 0)
            printf(" -s %c", s->letter);
        printf(" -d \"%s\"\n", s->help);
    }
}

static void fish(void)
{
    for (const struct command *const *c = COMMANDS; *c != NULL; c++) {
        char condition[96];
        printf("complete -c ergon -n __fish_use_subcommand -a %s -d \"%s\"\n", (*c)->name,
               (*c)->summary);
        snprintf(condition, sizeof condition, " -n \"__fish_seen_subcommand_from %s\"", (*c)->name);
        fish_options((*c)->options, condition);
    }
    fish_options(GLOBAL_OPTIONS, "");
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)g;
    (void)options;
    (void)argc;
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
    .text = "Prints the script; it is to be sourced, or put where the shell looks for it.\n",
    .examples = "  ergon completion bash > /etc/bash_completion.d/ergon\n"
                "  ergon completion fish > ~/.config/fish/completions/ergon.fish\n",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
