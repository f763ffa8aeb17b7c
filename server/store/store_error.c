#include "server/store/store.h"

const char *store_error_text(enum store_error e)
{
    switch (e) {
    case STORE_OK:
        return "the store works";
    case STORE_FULL:
        return "the disk of the store is full; make room, and it goes on by itself";
    case STORE_READ_ONLY:
        return "the store's file cannot be written; give the server the right to write it";
    case STORE_CORRUPT:
        return "the store's file is damaged; stop the server and repair or replace it";
    case STORE_IO:
        return "the device of the store fails; the system's log says more";
    case STORE_MEMORY:
        return "no memory for the store";
    case STORE_CLOSED:
        return "the store is closed: the server is shutting down";
    }
    return "unknown";
}
