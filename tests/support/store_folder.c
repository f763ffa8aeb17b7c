#include "tests/support/store_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void store_folder_make(char folder[STORE_FOLDER], char path[STORE_PATH])
{
    strcpy(folder, "/tmp/ergon-store-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, STORE_PATH, "%s/tasks.db", folder);
}

void store_folder_remove(const char *folder)
{
    char command[STORE_FOLDER + 16];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}
