/* The flight recorder of an activator (base/recorder.h), for who serves on its thread: that thread
 * writes there, and its rounds write the time.
 *
 * Thread: any, for the pointer, which stands while the activator is open. */
#ifndef ERGON_RUNTIME_FLIGHT_H
#define ERGON_RUNTIME_FLIGHT_H

struct activator;
struct recorder;

struct recorder *activator_recorder(const struct activator *a);

#endif
