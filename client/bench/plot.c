#include "client/bench/plot.h"

#include "client/bench/output.h"
#include "client/bench/text.h"

#include <math.h>

enum {
    WIDTH = 960,
    HEIGHT = 540,
    LEFT = 90,
    RIGHT = 130,
    TOP = 50,
    BOTTOM = 60,
    STEPS_A_HALVING = 8, /* points of a histogram each time the distance to 100 % is halved */
    RATE_TICKS = 8
};

/* Colours that are told apart by most people, on white (Okabe and Ito, 2008). */
static const char *const COLOURS[PLOT_LINES_MAX] = {"#0072b2", "#e69f00", "#009e73",
                                                    "#d55e00", "#cc79a7", "#56b4e9"};

void plot_add(struct plot_line *line, double x, uint64_t ns)
{
    if (ns > 0 && line->count < PLOT_POINTS_MAX)
        line->points[line->count++] = (struct plot_point){x, ns};
}

void plot_add_histogram(struct plot_line *line, const struct hdr_histogram *h)
{
    double left = 1; /* the share of values above */
    for (int step = 0; left * (double)h->count >= 1; left = exp2(-(double)++step / STEPS_A_HALVING))
        plot_add(line, 100 * (1 - left), hdr_percentile(h, 100 * (1 - left)));
}

/* ---- where a value stands ---- */

struct frame {
    const struct plot *plot;
    double x_from, x_to;
    int decade_from, decade_to; /* powers of ten, in ns */
};

static double stretched(const struct plot *p, double x)
{
    return p->axis == PLOT_PERCENT ? log10(100 / (100 - x)) : x;
}

static struct frame frame_of(const struct plot *p)
{
    struct frame f = {p, 0, 0, 3, 4};
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < p->count; i++)
        for (size_t k = 0; k < p->lines[i].count; k++) {
            const struct plot_point *at = &p->lines[i].points[k];
            f.x_to = fmax(f.x_to, stretched(p, at->x));
            low = fmin(low, (double)at->ns);
            high = fmax(high, (double)at->ns);
        }
    if (f.x_to <= 0)
        f.x_to = 1;
    if (high > 0) {
        f.decade_from = (int)floor(log10(low));
        f.decade_to = (int)ceil(log10(high));
    }
    if (f.decade_to <= f.decade_from)
        f.decade_to = f.decade_from + 1;
    return f;
}

static double x_of(const struct frame *f, double stretched_x)
{
    double share = (stretched_x - f->x_from) / (f->x_to - f->x_from);
    return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct frame *f, double ns)
{
    double share = (log10(ns) - f->decade_from) / (f->decade_to - f->decade_from);
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
}

/* ---- SVG ---- */

static void print_escaped(FILE *out, const char *text)
{
    for (; *text != 0; text++)
        if (*text == '<' || *text == '>' || *text == '&')
            fprintf(out, "&#%d;", *text);
        else if ((unsigned char)*text >= ' ')
            fputc(*text, out);
}

static void print_text(FILE *out, double x, double y, const char *anchor, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    print_escaped(out, text);
    fputs("</text>\n", out);
}

static void print_rule(FILE *out, double x1, double y1, double x2, double y2)
{
    fprintf(out, "<path class=\"rule\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x1, y1, x2, y2);
}

static void print_latencies(FILE *out, const struct frame *f)
{
    char text[TIME_SIZE];
    for (int decade = f->decade_from; decade <= f->decade_to; decade++) {
        double ns = pow(10, decade), y = y_of(f, ns);
        print_rule(out, LEFT, y, WIDTH - RIGHT, y);
        print_text(out, LEFT - 8, y + 4, "end", time_text((uint64_t)ns, text));
    }
}

static void print_percents(FILE *out, const struct frame *f)
{
    static const struct {
        const char *name;
        double nines;
    } ticks[] = {{"0 %", 0},     {"90 %", 1},     {"99 %", 2},      {"99.9 %", 3},
                 {"99.99 %", 4}, {"99.999 %", 5}, {"99.9999 %", 6}, {"99.99999 %", 7}};
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks && ticks[i].nines <= f->x_to; i++) {
        double x = x_of(f, ticks[i].nines);
        print_rule(out, x, TOP, x, HEIGHT - BOTTOM);
        print_text(out, x, HEIGHT - BOTTOM + 18, "middle", ticks[i].name);
    }
}

/* 1, 2 or 5 times a power of ten. */
static double round_step(double least)
{
    double power = pow(10, floor(log10(least)));
    double times = least / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

static void print_rates(FILE *out, const struct frame *f)
{
    char text[NUMBER_SIZE];
    double step = round_step(f->x_to / RATE_TICKS);
    for (double rate = 0; rate <= f->x_to; rate += step) {
        double x = x_of(f, rate);
        print_rule(out, x, TOP, x, HEIGHT - BOTTOM);
        print_text(out, x, HEIGHT - BOTTOM + 18, "middle", grouped((uint64_t)rate, text));
    }
}

static void print_line(FILE *out, const struct frame *f, const struct plot_line *line, size_t index)
{
    const char *colour = COLOURS[index % PLOT_LINES_MAX];
    fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", colour);
    for (size_t i = 0; i < line->count; i++)
        fprintf(out, "%c%.1f %.1f", i == 0 ? 'M' : 'L',
                x_of(f, stretched(f->plot, line->points[i].x)),
                y_of(f, (double)line->points[i].ns));
    fputs("\"/>\n", out);
    double y = TOP + 20 * (double)index;
    fprintf(out, "<path stroke=\"%s\" stroke-width=\"2\" d=\"M%d %.1fh20\"/>\n", colour,
            WIDTH - RIGHT + 12, y);
    print_text(out, WIDTH - RIGHT + 38, y + 4, "start", line->name);
}

static void print(FILE *out, const void *plot)
{
    const struct plot *p = plot;
    struct frame f = frame_of(p);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<style>.rule{stroke:#ccc;fill:none}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH, HEIGHT);
    print_text(out, WIDTH / 2.0, 24, "middle", p->title);
    print_latencies(out, &f);
    if (p->axis == PLOT_PERCENT)
        print_percents(out, &f);
    else
        print_rates(out, &f);
    for (size_t i = 0; i < p->count; i++)
        print_line(out, &f, &p->lines[i], i);
    print_text(out, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16, "middle",
               p->axis == PLOT_PERCENT ? "latency by percentile" : "latency by requests a second");
    fputs("</svg>\n", out);
}

bool plot_write(const char *path, const struct plot *plot, char *why, size_t why_size)
{
    return output_write(path, print, plot, why, why_size);
}
