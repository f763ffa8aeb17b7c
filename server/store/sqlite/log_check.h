/* SQLite's log, looked at before SQLite does.  SQLite reads it up to the first frame that is not as
 * it was written, and forgets what is behind, without a word.  That is right for the last
 * commit, which a power cut may have torn, and wrong where a disk has damaged a commit that was
 * answered long ago.
 *
 * How to tell the two apart: each frame carries the salt of its log and a checksum over all frames
 * before it.  A commit is synced before the next one is written.  So where, behind the first bad
 * frame, a frame that begins a commit continues the checksum of the last one of another commit,
 * that other commit was whole once, and on disk.  What a torn commit, or one that failed, leaves
 * behind the end of a log never shows such a seam: it is the rest of one commit, or of several of
 * which each was written over the beginning of the one before.
 *
 * A log that was cut off at a seam, or lost its last commit alone, looks like one that ends there.
 * So does one commit behind a damaged frame that ends another, where a sector of the disk ends
 * within the head of that frame (every 64th): a torn commit may look the same.
 *
 * Thread: any; the files are read by the functions of SQLite's file system, and nothing is written
 * but by log_empty(). */
#ifndef ERGON_STORE_LOG_CHECK_H
#define ERGON_STORE_LOG_CHECK_H

#include <stddef.h>
#include <stdint.h>

enum log_finding {
    LOG_NONE,    /* no log, or one without a commit */
    LOG_REST,    /* its head is not one, and the file has everything: it was to begin anew */
    LOG_WHOLE,   /* it ends with a commit */
    LOG_TORN,    /* behind its last commit is a part of one more: as after a power cut */
    LOG_DAMAGED, /* whole commits are behind something that is not as it was written; or it has
                  * nothing of a log (`lost` is 0 then), which no power cut leaves */
    LOG_ALONE    /* it has commits, and the file that it belongs to is missing or empty */
};

struct log_look {
    enum log_finding found;
    uint64_t file_size, log_size; /* bytes; 0: there is none */
    uint64_t commits;             /* that can be read */
    uint64_t end;                 /* bytes of the log up to there */
    uint64_t bad;                 /* LOG_DAMAGED: where in the log the damage begins: byte */
    uint64_t lost; /* LOG_DAMAGED: commits behind it, as far as they can be counted */
};

/* Looks at the log of the file at `path`; `vfs` is a name of SQLite's, NULL: the default.
 * SQLITE_OK, or an SQLite code: a file cannot be read, no memory. */
int log_check(const char *path, const char *vfs, struct log_look *out);

/* Empties a log in which LOG_REST was found.  SQLite would write a new one over it that may have
 * the salt of the torn head; what stood behind its end would then look like commits of its own.
 * Returns as log_check() does. */
int log_empty(const char *path, const char *vfs);

/* Writes what LOG_DAMAGED or LOG_ALONE means, and what to do.  Thread: any. */
void log_check_text(const struct log_look *look, char *text, size_t size);

#endif
