/* Processor time, as the kernel counts it. */
#ifndef ERGON_PEERS_PROCESSOR_H
#define ERGON_PEERS_PROCESSOR_H

#include <stdint.h>
#include <sys/types.h>

/* Since boot, without discontinuity. */
uint64_t processor_clock_ns(void);

/* User and system seconds of a process with all its threads; 0 once it is gone. */
double processor_of(pid_t pid);
double processor_own(void);

/* Seconds that the machine was busy, or stolen from it, all processors together. */
double processor_machine(void);

#endif
