/* ergon completion: scripts for shells.  All that they know of ergon they ask it for: each time
 * that the key is pressed, by `ergon completion live` (completion_live.h). */
#include "client/cli/cli.h"
#include "client/cli/completion_live.h"

#include <string.h>

/* Files come from the shell's own default.  What a server says is never expanded. */
static const char BASH[] =
    "_ergon() {\n"
    "    local word\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r word; do\n"
    "        word=${word%%$'\\t'*}\n"
    "        COMPREPLY+=(\"$(printf %q \"$word\")\")\n"
    "        [[ $word == */ ]] && type compopt &>/dev/null && compopt -o nospace 2>/dev/null\n"
    "    done < <(\"${COMP_WORDS[0]}\" completion live -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
    "2>/dev/null </dev/null)\n"
    "}\n"
    "complete -o default -F _ergon ergon\n";

/* Read by compinit from a folder of $fpath, where its first call defines it and is the first to
 * need it; or by eval. */
static const char ZSH[] =
    "#compdef ergon\n"
    "_ergon() {\n"
    "    local line word found=1\n"
    "    local -a described plain open\n"
    "    while IFS= read -r line; do\n"
    "        word=${line%%$'\\t'*}\n"
    "        if [[ $word == */ ]]; then\n"
    "            open+=(\"$word\")\n"
    "        elif [[ $line == *$'\\t'* ]]; then\n"
    "            described+=(\"${word//:/\\\\:}:${line#*$'\\t'}\")\n"
    "        else\n"
    "            plain+=(\"$word\")\n"
    "        fi\n"
    "    done < <(\"${(Q)words[1]}\" completion live -- \"${(@Q)words[2,CURRENT]}\" "
    "2>/dev/null </dev/null)\n"
    "    (( $#described )) && _describe -t ergon ergon described && found=0\n"
    "    (( $#plain )) && compadd -- \"${plain[@]}\" && found=0\n"
    "    (( $#open )) && compadd -S '' -- \"${open[@]}\" && found=0\n"
    "    (( $#described + $#plain + $#open )) || { _files && found=0 }\n"
    "    return found\n"
    "}\n"
    "if [[ $funcstack[1] == _ergon ]]; then\n"
    "    _ergon \"$@\"\n"
    "else\n"
    "    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
    "    compdef _ergon ergon\n"
    "fi\n";

static const char FISH[] =
    "function __ergon_complete\n"
    "    set -l words (commandline -opc)\n"
    "    set -l current (string unescape -- (commandline -ct))\n"
    "    set -l before\n"
    "    test (count $words) -gt 1; and set before $words[2..-1]\n"
    "    set -l found (command $words[1] completion live -- $before \"$current\" 2>/dev/null "
    "</dev/null)\n"
    "    if test (count $found) -gt 0\n"
    "        printf '%s\\n' $found\n"
    "    else\n"
    "        __fish_complete_path \"$current\"\n"
    "    end\n"
    "end\n"
    "complete -c ergon -f -a '(__ergon_complete)'\n";

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)options;
    if (strcmp(argv[0], "live") == 0) {
        completion_live(g->commands, argc - 1, argv + 1);
        return STATUS_OK;
    }
    if (argc > 1) {
        complain("there is an argument too many; see ergon completion --help");
        return STATUS_USAGE;
    }
    if (strcmp(argv[0], "bash") == 0)
        fputs(BASH, stdout);
    else if (strcmp(argv[0], "zsh") == 0)
        fputs(ZSH, stdout);
    else if (strcmp(argv[0], "fish") == 0)
        fputs(FISH, stdout);
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
    .text =
        "Prints the script; it is to be sourced, or put where the shell looks for it. It knows\n"
        "all commands and options, and asks the server for methods, ids of tasks, queues,\n"
        "semaphores, crons, workers and connections, and says nothing where that does not\n"
        "answer within a moment.\n",
    .examples = "  eval \"$(ergon completion bash)\"\n"
                "  eval \"$(ergon completion zsh)\"\n"
                "  ergon completion fish | source\n"
                "  ergon completion bash > /etc/bash_completion.d/ergon\n"
                "  ergon completion zsh > /usr/local/share/zsh/site-functions/_ergon\n"
                "  ergon completion fish > ~/.config/fish/completions/ergon.fish\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .run = run,
    .offline = true,
};
