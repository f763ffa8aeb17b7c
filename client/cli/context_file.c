#include "client/cli/context_file.h"

#include "client/cli/cli.h"
#include "client/cli/contexts.h"
#include "client/cli/files.h"
#include "client/cli/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONTEXT_FILE_MAX = 1024 * 1024, OTHERS = 077 /* all rights but the owner's */ };

static const char *const HEAD =
    "# Contexts of ergon(1). \"ergon context set\" and its like write this file anew.\n";

bool context_file_path(char path[static PATH_MAX])
{
    const char *home = environment("HOME");
    const char *folder = environment("XDG_CONFIG_HOME");
    int len = -1;
    if (folder != NULL && folder[0] == '/') /* a relative one is to be ignored, says the standard */
        len = snprintf(path, PATH_MAX, "%s/ergon/config.yaml", folder);
    else if (home != NULL)
        len = snprintf(path, PATH_MAX, "%s/.config/ergon/config.yaml", home);
    return len >= 0 && len < PATH_MAX;
}

static bool holds_token(const json_t *contexts)
{
    const char *name;
    json_t *context;
    json_object_foreach(json_object_get(contexts, "contexts"), name, context)
    {
        if (json_object_get(context, "token") != NULL)
            return true;
    }
    return false;
}

static json_t *parse(const char *path, const struct file_bytes *file, mode_t mode)
{
    char why[512];
    json_t *all = contexts_parse((const char *)file->at, file->len, why, sizeof why);
    if (all == NULL) {
        complain("%s:%s", path, why);
    } else if (holds_token(all) && (mode & OTHERS) != 0) {
        complain("%s holds a token, and others may read it; chmod 600 %s", path, path);
        json_decref(all);
        all = NULL;
    }
    return all;
}

static json_t *read_from(const char *path)
{
    struct file_bytes file;
    struct stat about;
    json_t *all = NULL;
    if (stat(path, &about) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return contexts_new();
    if (!file_read(path, CONTEXT_FILE_MAX, &file))
        return NULL;
    all = parse(path, &file, about.st_mode);
    explicit_bzero(file.at, file.len);
    file_bytes_fini(&file);
    return all;
}

json_t *context_file_read(void)
{
    char path[PATH_MAX];
    return context_file_path(path) ? read_from(path) : contexts_new();
}

/* ---- writing ---- */

static bool refuse(const char *path)
{
    char text[96];
    complain("cannot write %s: %s", path, strerror_r(errno, text, sizeof text));
    return false;
}

/* All folders of it, which nobody else may look into where they are new. */
static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        bool good = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!good)
            return refuse(path);
    }
    return true;
}

/* Beside it, on the disk, and then in its place: whoever reads sees the old one or the new one. */
static bool replace(const char *path, const char *text)
{
    char beside[PATH_MAX + 16];
    snprintf(beside, sizeof beside, "%s.XXXXXX", path);
    int fd = mkostemp(beside, O_CLOEXEC); /* of mode 0600 */
    if (fd < 0)
        return refuse(path);
    bool good = file_write(fd, HEAD) && file_write(fd, text) && fsync(fd) == 0;
    good = close(fd) == 0 && good && rename(beside, path) == 0;
    if (good)
        return true;
    refuse(path);
    unlink(beside);
    return false;
}

static bool write_to(const char *path, const json_t *contexts)
{
    char *text = yaml_text(contexts, false);
    bool good = text != NULL && replace(path, text);
    if (text == NULL)
        complain_as("MEMORY", NULL, "out of memory");
    else
        explicit_bzero(text, strlen(text));
    free(text);
    return good;
}

/* The folder is what writers lock: the file is another one each time. */
static int lock_folder(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0)
        if (errno != EINTR) {
            close(fd);
            return -1;
        }
    return fd;
}

static enum status change_at(const char *path, context_change_fn *change, void *arg)
{
    enum status status = STATUS_USAGE;
    int lock = lock_folder(path);
    if (lock < 0) {
        refuse(path);
        return status;
    }
    json_t *all = read_from(path);
    if (all != NULL) {
        status = change(all, arg);
        if (status == STATUS_OK && !write_to(path, all))
            status = STATUS_USAGE;
    }
    json_decref(all);
    close(lock);
    return status;
}

enum status context_file_change(context_change_fn *change, void *arg)
{
    char path[PATH_MAX], real[PATH_MAX];
    if (!context_file_path(path)) {
        complain("there is no home to keep contexts in; set HOME or XDG_CONFIG_HOME");
        return STATUS_USAGE;
    }
    if (!make_folders(path))
        return STATUS_USAGE;
    /* Where it is a link, what it leads to is written, and the link stays. */
    return change_at(realpath(path, real) != NULL ? real : path, change, arg);
}
