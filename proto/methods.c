#include "proto/methods.h"

#define X(id, name, ...) const char method_##id[] = name;
ERGON_METHODS(X)
#undef X
