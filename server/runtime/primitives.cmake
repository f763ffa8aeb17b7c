# Sequences and the cooperative primitives.
list(APPEND ERGON_RUNTIME_SOURCES
    event.c
    group.c
    mailbox.c
    mailbox_remote.c
    port.c
    remote_wait.c
    rendezvous.c
    select.c
    sem.c
    sem_remote.c
    seq.c
    wait.c
    wait_queue.c)
