/* ergon module: commands about the file of a module. */
#include "client/cli/cli.h"
#include "client/cli/module/check.h"

static const struct command *const PARTS[] = {&MODULE_CHECK, NULL};

const struct command MODULE = {
    .name = "module",
    .summary = "check the handlers of a module with rubbish",
    .text = "A module is a shared object with handlers, which ergond loads. ergond must be\n"
            "installed here, too; no server has to run.\n",
    .examples = "  ergon module check ./thumbs.so\n",
    .parts = PARTS,
};
