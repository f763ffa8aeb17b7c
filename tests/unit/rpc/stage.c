#include "tests/unit/rpc/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/net/auth/principal.h"

/* sha256 of the tokens in stage.h */
static const char tokens[] =
    "sha256:19c28a50b1a09097592e7ceddb7e0771ff4d469747541a7536579eef857e05ce alice *\n"
    "sha256:800480042268218663feef3ea54d81ed3f976c98c38d5fd7afbe22810ec16334 bob echo,server.*\n"
    "sha256:7efa3d541f0c00bd394d267ad3e2b99c0870ce0bd7dcadb9f89a82aa8de48941 carol "
    "echo,server.*,task.get,task.wait,task.watch,task.cancel,task.retry,task.explain,task.list\n";

struct stage stage;

int stage_open(void **state)
{
    (void)state;
    rpc_world_init(&stage.w);
    rpc_world_open(&stage.w);
    stage.conn = rpc_world_connect(&stage.w, &stage.peer);
    return 0;
}

static struct token_table *load_tokens(void)
{
    char path[] = "/tmp/ergon-tokens-XXXXXX", error[256] = "";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, tokens, sizeof tokens - 1), sizeof tokens - 1);
    close(fd);
    struct token_table *table = token_table_load(path, error, sizeof error);
    unlink(path);
    if (table == NULL)
        fail_msg("%s", error);
    return table;
}

int stage_open_guarded(void **state)
{
    (void)state;
    rpc_world_init(&stage.w);
    stage.w.rules.auth = LISTENER_AUTH_TOKEN;
    principal_unref(stage.w.rules.anybody);
    stage.w.rules.anybody = NULL;
    rpc_world_open(&stage.w);
    stage.w.net->tokens = load_tokens();
    stage.conn = rpc_world_connect(&stage.w, &stage.peer);
    return 0;
}

int stage_close(void **state)
{
    (void)state;
    rpc_world_fini(&stage.w);
    script_fini(&stage.peer);
    return 0;
}

const char *stage_said(void)
{
    rpc_world_run(&stage.w);
    return rpc_world_said(&stage.w, &stage.peer);
}

const char *stage_answer(const char *method, const char *params)
{
    rpc_world_ask(&stage.peer, 1, method, params);
    return stage_said();
}
