#include "client/cli/wrap.h"

#include <string.h>

enum { WIDTH = 79 /* columns */ };

/* One word behind what stands in a line up to column `at`, or in a new line; the column behind it.
 */
static int put_word(FILE *out, int indent, int at, const char *word, int len)
{
    if (at > indent && at + 1 + len > WIDTH) {
        fprintf(out, "\n%*s", indent, "");
        at = indent;
    }
    fprintf(out, "%s%.*s", at > indent ? " " : "", len, word);
    return at + (at > indent) + len;
}

void wrap_behind(FILE *out, int indent, const char *text)
{
    int at = indent;
    while (*text != 0) {
        int len = (int)strcspn(text, " ");
        at = put_word(out, indent, at, text, len);
        text += len;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

void wrap_paragraphs(FILE *out, const char *text)
{
    int at = 0;
    while (*text != 0) {
        int line = (int)strcspn(text, "\n");
        if (line == 0 || *text == ' ') {
            fprintf(out, "%s%.*s\n", at > 0 ? "\n" : "", line, text);
            at = 0;
        }
        for (int i = 0; line > 0 && *text != ' ' && i < line;) {
            int len = (int)strcspn(text + i, " \n");
            at = put_word(out, 0, at, text + i, len);
            i += len + 1;
        }
        text += line + (text[line] == '\n');
    }
    if (at > 0)
        fputc('\n', out);
}
