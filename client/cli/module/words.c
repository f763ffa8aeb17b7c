#include "client/cli/module/words.h"

#include <ctype.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORD_LEN_MIN = 2, FILE_MAX = 64 << 20 };

static bool is_of_word(uint8_t c)
{
    return isalnum(c) || c == '_' || c == '-' || c == '.';
}

static void add(struct words *w, struct span word)
{
    if (word.len < WORD_LEN_MIN || word.len > WORD_LEN_MAX || w->count == WORDS_MAX)
        return;
    for (uint32_t i = 0; i < w->count; i++)
        if (span_equal(w->at[i], word))
            return;
    w->at[w->count++] = word;
}

void words_take(struct words *w, struct span bytes)
{
    for (size_t i = 0, len; i < bytes.len; i += len + 1) {
        for (len = 0; i + len < bytes.len && is_of_word(bytes.at[i + len]);)
            len++;
        add(w, span_of(bytes.at + i, len));
    }
}

/* Compilers make of memcmp(how, "segv", 4) an instruction with these four bytes at its end.  A run
 * of letters there is such a text, with what precedes it of the instruction: its last four and
 * eight are taken. */
static void take_code(struct words *w, struct span code)
{
    static const size_t widths[] = {4, 8};
    for (size_t i = 0, len; i < code.len; i += len + 1) {
        for (len = 0; i + len < code.len && islower(code.at[i + len]);)
            len++;
        for (size_t k = 0; k < sizeof widths / sizeof *widths; k++)
            if (len >= widths[k] && len <= WORD_LEN_MAX)
                add(w, span_of(code.at + i + len - widths[k], widths[k]));
    }
}

static bool read_file(struct words *w, const char *path, size_t *size)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
                about.st_size > (off_t)sizeof(Elf64_Ehdr) && about.st_size <= FILE_MAX;
    if (good) {
        *size = (size_t)about.st_size;
        w->owned = malloc(*size);
        good = w->owned != NULL && read(fd, w->owned, *size) == (ssize_t)*size;
    }
    if (fd >= 0)
        close(fd);
    return good;
}

/* The bytes of section `i` of the file; empty: it has none there. */
static struct span section(struct span file, const Elf64_Ehdr *head, uint32_t i, Elf64_Shdr *out)
{
    uint64_t at = head->e_shoff + (uint64_t)i * sizeof *out;
    if (head->e_shentsize != sizeof *out || at < head->e_shoff || at + sizeof *out > file.len)
        return span_of(NULL, 0);
    memcpy(out, file.at + at, sizeof *out);
    if (out->sh_type == SHT_NOBITS || out->sh_offset > file.len ||
        out->sh_size > file.len - out->sh_offset)
        return span_of(NULL, 0);
    return span_of(file.at + out->sh_offset, out->sh_size);
}

static void take_sections(struct words *w, struct span file, const Elf64_Ehdr *head, bool code)
{
    Elf64_Shdr names, about;
    struct span texts = section(file, head, head->e_shstrndx, &names);
    for (uint32_t i = 0; i < head->e_shnum; i++) {
        static const char data[] = ".rodata";
        struct span bytes = section(file, head, i, &about);
        bool is_data = about.sh_name + sizeof data <= texts.len &&
                       memcmp(texts.at + about.sh_name, data, sizeof data - 1) == 0;
        bool is_code = (about.sh_flags & SHF_EXECINSTR) != 0;
        if (bytes.len > 0 && !code && is_data)
            words_take(w, bytes);
        else if (bytes.len > 0 && code && is_code)
            take_code(w, bytes);
    }
}

void words_read(struct words *w, const char *path)
{
    Elf64_Ehdr head;
    size_t size = 0;
    *w = (struct words){.count = 0};
    if (!read_file(w, path, &size))
        return;
    memcpy(&head, w->owned, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
        return;
    take_sections(w, span_of(w->owned, size), &head, false);
    take_sections(w, span_of(w->owned, size), &head, true);
}

void words_free(struct words *w)
{
    free(w->owned);
    *w = (struct words){.count = 0};
}
