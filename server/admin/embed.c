/* For the build: turns files into a C table, plain and gzip'd, each with its type and an ETag.
 *
 * usage: embed FOLDER OUTPUT.c PATH...    each PATH is below FOLDER, sorted */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct bytes {
    unsigned char *at;
    size_t length;
};

static void die(const char *what, const char *name)
{
    fprintf(stderr, "embed: %s: %s\n", name, what);
    exit(EXIT_FAILURE);
}

static struct bytes read_file(const char *name)
{
    struct bytes b = {0};
    FILE *in = fopen(name, "rb");

    if (!in || fseek(in, 0, SEEK_END) != 0)
        die("cannot be read", name);
    b.length = (size_t)ftell(in);
    b.at = malloc(b.length + 1);
    rewind(in);
    if (!b.at || fread(b.at, 1, b.length, in) != b.length)
        die("cannot be read", name);
    fclose(in);
    return b;
}

/* The head has no time in it, so that the same file gives the same bytes. */
static struct bytes compress_file(struct bytes plain)
{
    z_stream z = {.next_in = plain.at, .avail_in = (uInt)plain.length};
    enum { GZIP_HEAD = 16 };

    if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP_HEAD, 9,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        die("no memory", "zlib");
    size_t room = deflateBound(&z, (uLong)plain.length);
    struct bytes b = {malloc(room), 0};
    z.next_out = b.at;
    z.avail_out = (uInt)room;
    if (!b.at || deflate(&z, Z_FINISH) != Z_STREAM_END)
        die("cannot be compressed", "zlib");
    b.length = z.total_out;
    deflateEnd(&z);
    return b;
}

static const char *type_of(const char *path)
{
    static const char *const types[][2] = {{".html", "text/html; charset=utf-8"},
                                           {".js", "text/javascript; charset=utf-8"},
                                           {".mjs", "text/javascript; charset=utf-8"},
                                           {".css", "text/css; charset=utf-8"},
                                           {".json", "application/json"},
                                           {".svg", "image/svg+xml"},
                                           {".png", "image/png"},
                                           {".ico", "image/x-icon"}};
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
        if (strcmp(dot, types[i][0]) == 0)
            return types[i][1];
    return "text/plain; charset=utf-8";
}

static void put_bytes(FILE *out, const char *name, size_t nth, struct bytes b)
{
    fprintf(out, "static const unsigned char %s_%zu[] = {", name, nth);
    for (size_t i = 0; i < b.length; i++)
        fprintf(out, "%s%u,", i % 24 == 0 ? "\n" : "", b.at[i]);
    fprintf(out, "0};\n"); /* an array of nothing is none */
}

static void put_etag(char *text, size_t size, struct bytes b)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned length;

    if (!EVP_Digest(b.at, b.length, hash, &length, EVP_sha256(), NULL))
        die("no digest", "openssl");
    for (size_t i = 0; i < 16 && 2 * i + 3 < size; i++)
        snprintf(text + 2 * i, 3, "%02x", hash[i]);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        die("usage: embed FOLDER OUTPUT.c PATH...", "embed");
    FILE *out = fopen(argv[2], "w");
    size_t count = (size_t)argc - 3, tables = 4096 + count * 512;
    char *rows = calloc(1, tables), *end = rows;

    if (!out || !rows)
        die("cannot be written", argv[2]);
    fprintf(out,
            "/* Made from server/admin/page by embed.c. */\n#include \"server/admin/files.h\"\n\n");
    for (size_t i = 0; i < count; i++) {
        char name[4096], etag[40] = "";
        snprintf(name, sizeof name, "%s/%s", argv[1], argv[i + 3]);
        if (strlen(argv[i + 3]) > 200 || strpbrk(argv[i + 3], "\"\\"))
            die("is no name for a file of the page", argv[i + 3]);
        struct bytes plain = read_file(name), gzip = compress_file(plain);
        put_etag(etag, sizeof etag, plain);
        put_bytes(out, "plain", i, plain);
        put_bytes(out, "gzip", i, gzip);
        end += snprintf(end, (size_t)(rows + tables - end),
                        "    {\"/%s\", \"%s\", \"\\\"%s\\\"\", plain_%zu, gzip_%zu, %zu, %zu},\n",
                        argv[i + 3], type_of(argv[i + 3]), etag, i, i, plain.length, gzip.length);
        free(plain.at);
        free(gzip.at);
    }
    fprintf(out,
            "\nconst struct embedded_file embedded_files[] = {\n%s};\n"
            "const size_t embedded_file_count = %zu;\n",
            rows, count);
    free(rows);
    if (fclose(out) != 0)
        die("cannot be written", argv[2]);
    return EXIT_SUCCESS;
}
