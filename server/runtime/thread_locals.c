#include "server/runtime/thread_locals.h"

_Thread_local struct thread_locals thread_locals;
