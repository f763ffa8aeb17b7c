#include "server/runtime/open_list.h"

#include <pthread.h>

static LIST_HEAD(, activator) activators = LIST_HEAD_INITIALIZER(activators);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void open_note(struct activator *a)
{
    pthread_mutex_lock(&mutex);
    LIST_INSERT_HEAD(&activators, a, open_link);
    pthread_mutex_unlock(&mutex);
}

bool open_forget(const struct activator *a)
{
    struct activator *at;
    pthread_mutex_lock(&mutex);
    LIST_FOREACH(at, &activators, open_link)
    if (at == a)
        break;
    if (at)
        LIST_REMOVE(at, open_link);
    pthread_mutex_unlock(&mutex);
    return at != NULL;
}
