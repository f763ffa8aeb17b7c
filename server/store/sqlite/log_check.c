#include "server/store/sqlite/log_check.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

/* The format is described in SQLite's documents, "WAL-mode File Format". */
enum {
    HEAD = 32, /* bytes, of the log */
    FRAME_HEAD = 24,
    MARK_END = 8, /* in it: the number of the page and the mark; the salt and the checksum follow */
    SECTOR = 512, /* the least that a disk writes whole */
    MAGIC = 0x377f0682, /* one more: checksums of numbers whose first byte is the highest */
    PAGE_LEAST = 512,
    PAGE_MOST = 65536,
    FILE_PAGE_AT = 16 /* in the file: two bytes, the size of its pages */
};

struct sum {
    uint32_t a, b;
};

struct log {
    sqlite3_file *file;
    uint64_t size; /* bytes */
    uint32_t page; /* bytes */
    uint32_t salt[2];
    struct sum start; /* of the head */
    bool high_first;
    uint8_t *frame;     /* the frame that was read last */
    struct sum stored;  /* that is in it */
    struct sum content; /* of what is in it, if `before` was right */
};

static uint32_t number(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t word(const struct log *l, const uint8_t *at)
{
    if (l->high_first)
        return number(at);
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static struct sum sum_of(const struct log *l, struct sum s, const uint8_t *at, size_t len)
{
    for (const uint8_t *end = at + len; at < end; at += 8) {
        s.a += word(l, at) + s.b;
        s.b += word(l, at + 4) + s.a;
    }
    return s;
}

static bool equal(struct sum a, struct sum b)
{
    return a.a == b.a && a.b == b.b;
}

static struct sum sum_at(const uint8_t *at)
{
    return (struct sum){number(at), number(at + 4)};
}

/* --- Files --- */

/* Opens what is there; NULL if nothing is, or it cannot be read: then `rc` says why. */
static sqlite3_file *open_part(sqlite3_vfs *vfs, const char *name, int flags, int *rc)
{
    int there = 0;
    *rc = vfs->xAccess(vfs, name, SQLITE_ACCESS_EXISTS, &there);
    if (*rc != SQLITE_OK || !there)
        return NULL;
    sqlite3_file *file = calloc(1, (size_t)vfs->szOsFile);
    if (!file) {
        *rc = SQLITE_NOMEM;
        return NULL;
    }
    *rc = vfs->xOpen(vfs, name, file, flags, NULL);
    if (*rc == SQLITE_OK)
        return file;
    if (file->pMethods)
        file->pMethods->xClose(file);
    free(file);
    return NULL;
}

static void close_part(sqlite3_file *file)
{
    if (file)
        file->pMethods->xClose(file);
    free(file);
}

static int size_of(sqlite3_file *file, uint64_t *size)
{
    sqlite3_int64 bytes = 0;
    int rc = file ? file->pMethods->xFileSize(file, &bytes) : SQLITE_OK;
    *size = (uint64_t)bytes;
    return rc;
}

/* --- Frames --- */

static uint64_t frame_at(const struct log *l, uint64_t n)
{
    return HEAD + n * (FRAME_HEAD + l->page);
}

static uint64_t frames(const struct log *l)
{
    return (l->size - HEAD) / (FRAME_HEAD + l->page);
}

/* Reads the frame `n` and sums it up behind `before`.  False: it cannot be read. */
static bool read_frame(struct log *l, uint64_t n, struct sum before)
{
    const sqlite3_io_methods *io = l->file->pMethods;
    int len = (int)(FRAME_HEAD + l->page);
    if (io->xRead(l->file, l->frame, len, (sqlite3_int64)frame_at(l, n)) != SQLITE_OK)
        return false;
    l->stored = sum_at(l->frame + 16);
    l->content = sum_of(l, sum_of(l, before, l->frame, 8), l->frame + FRAME_HEAD, l->page);
    return true;
}

static bool is_ours(const struct log *l)
{
    return number(l->frame + 8) == l->salt[0] && number(l->frame + 12) == l->salt[1];
}

static bool is_good(const struct log *l)
{
    return is_ours(l) && equal(l->stored, l->content) && number(l->frame) != 0;
}

static bool ends_commit(const struct log *l)
{
    return number(l->frame + 4) != 0;
}

/* --- The walk --- */

/* Does a sector of the disk end between the frame's mark of a commit and its salt?  A power cut may
 * leave the mark of an older frame, or anything, before the salt of a new one. */
static bool mark_is_apart(const struct log *l, uint64_t n)
{
    return (frame_at(l, n) + MARK_END) % SECTOR == 0;
}

/* From the frame `n` on, which is bad or not there, with the sum before it: counts the
 * seams, each of which is the end of a commit that was whole; and says whether any of the frames is
 * one of this log, and not of the one that was in the file before. */
static uint64_t seams_behind(struct log *l, uint64_t n, struct sum before, bool *any)
{
    uint64_t seams = 0, count = frames(l);
    struct sum written = before, meant = before; /* of the frame before: as it says, as it reads */
    bool ended = false;
    for (; n < count; n++) {
        if (!read_frame(l, n, meant))
            return seams;
        bool follows = is_good(l);
        struct sum content = l->content;
        if (!follows && read_frame(l, n, written))
            follows = is_good(l);
        seams += follows && ended;
        *any |= is_ours(l);
        ended = is_ours(l) && ends_commit(l) && (follows || !mark_is_apart(l, n));
        written = l->stored;
        meant = follows ? l->content : content;
    }
    return seams;
}

static void walk(struct log *l, struct log_look *out)
{
    uint64_t n = 0, count = frames(l);
    struct sum before = l->start;
    bool more = false, ours = false;
    out->end = HEAD;
    for (; n < count && read_frame(l, n, before) && is_good(l); n++) {
        before = l->stored;
        more = !ends_commit(l);
        if (more)
            continue;
        out->commits++;
        out->end = frame_at(l, n + 1);
    }
    out->bad = frame_at(l, n);
    out->lost = seams_behind(l, n, before, &ours);
    if (out->lost > 0)
        out->found = LOG_DAMAGED;
    else if (more || ours)
        out->found = LOG_TORN;
    else
        out->found = out->commits > 0 ? LOG_WHOLE : LOG_NONE;
}

/* --- A log without its head --- */

/* Is the page in the frame that was read last in the file, too? */
static bool is_in_file(const struct log *l, sqlite3_file *file, uint8_t *page)
{
    sqlite3_int64 at = (sqlite3_int64)(number(l->frame) - 1) * l->page;
    return file->pMethods->xRead(file, page, (int)l->page, at) == SQLITE_OK &&
           memcmp(page, l->frame + FRAME_HEAD, l->page) == 0;
}

/* Notes by page the last frame that has it.  The number of commits. */
static uint64_t note_pages(struct log *l, uint32_t *last, uint32_t pages)
{
    uint64_t commits = 0;
    struct sum before = l->start;
    for (uint64_t n = 0; n < frames(l) && read_frame(l, n, before); n++) {
        before = l->stored;
        if (n == 0) {
            l->salt[0] = number(l->frame + 8);
            l->salt[1] = number(l->frame + 12);
        }
        if (!is_good(l))
            continue;
        commits += ends_commit(l);
        if (number(l->frame) <= pages)
            last[number(l->frame)] = (uint32_t)n + 1;
    }
    return commits;
}

/* A head is written at once, into nothing or over another head; so whatever a power cut leaves of
 * it begins as a head does, or with nothing. */
static bool was_never_a_head(const uint8_t *head)
{
    return (number(head) & ~1u) != MAGIC && number(head) != 0;
}

/* The head of a log that is begun anew is written when the file has all of it, and may be torn by a
 * power cut.  Then each page of the log is in the file.  Where one is not, the head of a log
 * that was needed is damaged. */
static int look_without_head(struct log *l, const uint8_t *head, sqlite3_file *file,
                             struct log_look *out)
{
    uint32_t pages = (uint32_t)(out->file_size / l->page);
    uint32_t *last = calloc((size_t)pages + 1, sizeof *last);
    uint8_t *page = malloc(l->page);
    bool missing = false;
    if (last && page) {
        uint64_t commits = note_pages(l, last, pages);
        for (uint64_t n = 0; n < frames(l) && commits > 0 && !missing; n++)
            missing = read_frame(l, n, l->start) && is_ours(l) && number(l->frame) <= pages &&
                      last[number(l->frame)] == n + 1 && !is_in_file(l, file, page);
        out->lost = missing ? commits : 0;
        bool none = commits == 0 && was_never_a_head(head);
        out->found = missing || none ? LOG_DAMAGED : LOG_REST;
    }
    int rc = last && page ? SQLITE_OK : SQLITE_NOMEM;
    free(last);
    free(page);
    return rc;
}

/* --- All --- */

static bool is_page_size(uint32_t size)
{
    return size >= PAGE_LEAST && size <= PAGE_MOST && (size & (size - 1)) == 0;
}

/* Takes over what the head says; false: it is not as it was written. */
static bool read_head(struct log *l, const uint8_t *head)
{
    l->high_first = number(head) & 1;
    l->page = number(head + 8);
    l->salt[0] = number(head + 16);
    l->salt[1] = number(head + 20);
    l->start = sum_at(head + 24);
    return (number(head) & ~1u) == MAGIC && is_page_size(l->page) &&
           equal(sum_of(l, (struct sum){0, 0}, head, 24), l->start);
}

static uint32_t page_of_file(sqlite3_file *file)
{
    uint8_t at[2];
    if (file->pMethods->xRead(file, at, 2, FILE_PAGE_AT) != SQLITE_OK)
        return 0;
    uint32_t size = (uint32_t)at[0] << 8 | at[1];
    return size == 1 ? PAGE_MOST : size;
}

static bool host_is_high_first(void)
{
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 0;
}

/* The file is damaged, too, if it does not know the size of its pages: SQLite says so. */
static int look(struct log *l, sqlite3_file *file, struct log_look *out)
{
    uint8_t head[HEAD];
    int rc = l->file->pMethods->xRead(l->file, head, HEAD, 0);
    if (rc != SQLITE_OK)
        return rc;
    bool good = read_head(l, head);
    if (!good) {
        l->high_first = host_is_high_first();
        l->page = file ? page_of_file(file) : 0;
    }
    if (out->file_size == 0) {
        out->found = LOG_ALONE;
        return SQLITE_OK;
    }
    if (!is_page_size(l->page))
        return SQLITE_OK;
    l->frame = malloc(FRAME_HEAD + l->page);
    if (!l->frame)
        return SQLITE_NOMEM;
    if (good)
        walk(l, out);
    else
        rc = look_without_head(l, head, file, out);
    free(l->frame);
    return rc;
}

static int look_at_both(sqlite3_vfs *vfs, const char *name, struct log_look *out)
{
    int rc;
    struct log l = {0};
    sqlite3_file *file = open_part(vfs, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, &rc);
    /* A log is not opened as one where the file that it belongs to is missing. */
    int kind = file ? SQLITE_OPEN_WAL : SQLITE_OPEN_MAIN_DB;
    if (rc == SQLITE_OK)
        l.file = open_part(vfs, sqlite3_filename_wal(name), SQLITE_OPEN_READONLY | kind, &rc);
    if (rc == SQLITE_OK)
        rc = size_of(file, &out->file_size);
    if (rc == SQLITE_OK)
        rc = size_of(l.file, &l.size);
    out->log_size = l.size;
    if (rc == SQLITE_OK && l.size > HEAD)
        rc = look(&l, file, out);
    close_part(l.file);
    close_part(file);
    return rc;
}

/* As SQLite's file systems want it, with the name of the log; NULL without memory. */
static const char *full_name(const char *path)
{
    size_t size = strlen(path) + sizeof "-journal";
    char *journal = malloc(size), *wal = malloc(size);
    const char *name = NULL;
    if (journal && wal) {
        snprintf(journal, size, "%s-journal", path);
        snprintf(wal, size, "%s-wal", path);
        name = sqlite3_create_filename(path, journal, wal, 0, NULL);
    }
    free(journal);
    free(wal);
    return name;
}

int log_check(const char *path, const char *vfs, struct log_look *out)
{
    sqlite3_vfs *system = sqlite3_vfs_find(vfs);
    *out = (struct log_look){.found = LOG_NONE};
    if (!system)
        return SQLITE_ERROR;
    const char *name = full_name(path);
    int rc = name ? look_at_both(system, name, out) : SQLITE_NOMEM;
    sqlite3_free_filename((char *)name);
    return rc;
}

static int empty(sqlite3_vfs *vfs, const char *name)
{
    int rc;
    sqlite3_file *log =
        open_part(vfs, sqlite3_filename_wal(name), SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL, &rc);
    if (log)
        rc = log->pMethods->xTruncate(log, 0);
    if (log && rc == SQLITE_OK)
        rc = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
    close_part(log);
    return rc;
}

int log_empty(const char *path, const char *vfs)
{
    const char *name = full_name(path);
    int rc = name ? empty(sqlite3_vfs_find(vfs), name) : SQLITE_NOMEM;
    sqlite3_free_filename((char *)name);
    return rc;
}

void log_check_text(const struct log_look *look, char *text, size_t size)
{
    if (look->found == LOG_ALONE)
        snprintf(text, size,
                 "it is missing or empty, but its log (-wal, %" PRIu64 " bytes) is there, and only "
                 "the two together have all that was committed; put the file back, or both from a "
                 "copy, or move the log away to begin with an empty store",
                 look->log_size);
    else if (look->lost == 0)
        snprintf(text, size,
                 "its log (-wal, %" PRIu64
                 " bytes) is damaged: something was written over it, and its commits are unknown",
                 look->log_size);
    else
        snprintf(text, size,
                 "its log (-wal) is not as it was written from byte %" PRIu64 " on: of its commits "
                 "%" PRIu64 " can be read, and at least %" PRIu64 " behind cannot",
                 look->bad, look->commits, look->lost);
}
