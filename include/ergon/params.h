/* Parameters and results, a line each.  <ergon/handler.h> includes this.
 *
 *     int64_t level;
 *     struct ergon_bytes data;
 *
 *     if (!ergon_params(task, "bi", &data, &level))
 *         return;
 *     ...
 *     ergon_result(task, "b", packed);
 *
 * Both take a string literal of letters, and a value for each letter, at most 8.  A value whose
 * type does not fit its letter does not compile, nor do too few or too many.
 *
 *     ergon_params(task, letters, &variable...)    false: the task is failed with BAD_PARAMS and a
 *                                                  text that names the parameter and what it must
 *                                                  be; the handler ends
 *     ergon_result(task, letters, value...)        false: as of ergon_result_int() and its like
 *
 *     letter  variable                   parameter               value of a result
 *     i       int64_t, int32_t           an integer in range     any signed integer
 *     u       uint64_t, uint32_t         the same from 0         any unsigned integer
 *     d       double                     an integer or a float   double, float
 *     B       bool                       true or false           bool, int
 *     s       struct ergon_bytes         text                    the same, or char * (NULL: nil)
 *     b       struct ergon_bytes         bytes or text           struct ergon_bytes: bytes
 *     t       uint64_t, nanoseconds      "250ms", milliseconds
 *     z       uint64_t, bytes            "64k", bytes
 *     l m     struct ergon_bytes         an array, a map
 *     a       struct ergon_bytes         any value               struct ergon_bytes: one value
 *
 * l, m and a are whole values of raw MessagePack; ergon_reader_of() reads on in one.  A text of `s`
 * and `b` is not terminated.
 *
 * Parameters: those behind a '|' may be missing or nil, and leave their variables as they are.
 * Others must be there, and there may be no more than letters.  Variables before the one that is
 * wrong have been set.
 *
 * Results: one letter is one value; "[is]" is an array of those inside, "{si}" a map of keys and
 * values, both without others inside (pack these, and pass them as `a`).  "n" is nil, "[]" and "{}"
 * are empty.
 *
 * ergon_params(task) without letters is the raw parameters.  Thread and lifetimes: as of params and
 * of the results in struct ergon_host, which has both functions since 1.4. */
#ifndef ERGON_PARAMS_H
#define ERGON_PARAMS_H

#include <ergon/module.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A reader of the value; before an array or a map, it is that which it reads first. */
static inline struct ergon_reader ergon_reader_of(struct ergon_bytes value)
{
    struct ergon_reader r = {value.at, value.at + value.len};
    return r;
}

/* --- What follows is how the two macros work, and may change. --- */

static inline union ergon_value ergon_value_i(int64_t v)
{
    union ergon_value value = {v};
    return value;
}

static inline union ergon_value ergon_value_u(uint64_t v)
{
    union ergon_value value;
    value.u = v;
    return value;
}

static inline union ergon_value ergon_value_d(double v)
{
    union ergon_value value;
    value.d = v;
    return value;
}

static inline union ergon_value ergon_value_b(struct ergon_bytes v)
{
    union ergon_value value;
    value.b = v;
    return value;
}

static inline union ergon_value ergon_value_s(const char *text)
{
    struct ergon_bytes v = {(const uint8_t *)text, text ? __builtin_strlen(text) : 0};
    return ergon_value_b(v);
}

#ifdef __cplusplus
}
#endif

#define ERGON_JOIN_(a, b)   ERGON_JOINED_(a, b)
#define ERGON_JOINED_(a, b) a##b
/* The 11th of its arguments. */
#define ERGON_11TH_(a, b, c, d, e, f, g, h, i, j, k, ...) k

/* ergon_params(task), or with letters. */
#define ergon_params(...)                                                                          \
    ERGON_JOIN_(ERGON_PARAMS_,                                                                     \
                ERGON_11TH_(__VA_ARGS__, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, RAW, RAW))   \
    (__VA_ARGS__)
#define ERGON_PARAMS_RAW(task) (ergon_params)(task)

/* How many values follow the letters. */
#define ERGON_COUNT_(...)      ERGON_11TH_(__VA_ARGS__, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define ERGON_LETTERS_(f, ...) f

#ifdef __cplusplus

#include <initializer_list>
#include <type_traits>

template <class T> constexpr const char *ergon_param_letters_()
{
    using std::is_same_v;
    if constexpr (is_same_v<T, int64_t *> || is_same_v<T, int32_t *>)
        return "i";
    else if constexpr (is_same_v<T, uint64_t *>)
        return "utz";
    else if constexpr (is_same_v<T, uint32_t *>)
        return "u";
    else if constexpr (is_same_v<T, double *>)
        return "d";
    else if constexpr (is_same_v<T, bool *>)
        return "B";
    else if constexpr (is_same_v<T, ergon_bytes *>)
        return "sbalm";
    else
        return "";
}

template <class T> constexpr const char *ergon_value_letters_()
{
    if constexpr (std::is_same_v<T, bool>)
        return "B";
    else if constexpr (std::is_integral_v<T>)
        return std::is_signed_v<T> ? "iB" : "uB";
    else if constexpr (std::is_floating_point_v<T>)
        return "d";
    else if constexpr (std::is_same_v<T, char *> || std::is_same_v<T, const char *>)
        return "s";
    else if constexpr (std::is_same_v<T, ergon_bytes>)
        return "sba";
    else
        return "";
}

constexpr bool ergon_has_letter_(const char *set, char letter)
{
    while (*set && *set != letter)
        set++;
    return *set != 0;
}

template <class... T> struct ergon_types_ {
    static constexpr bool fit(const char *f, std::initializer_list<const char *> sets)
    {
        for (const char *set : sets)
            if (!ergon_has_letter_(set, *f++))
                return false;
        return true;
    }
    static constexpr bool are_params(const char *f)
    {
        char plain[32] = {};
        int n = 0, bars = 0;
        for (; *f; f++)
            if (*f == '|')
                bars++;
            else
                plain[n++] = *f;
        return bars <= 1 && n == int(sizeof...(T)) && fit(plain, {ergon_param_letters_<T>()...});
    }
    static constexpr bool are_result(const char *f)
    {
        int n = 0, values = int(sizeof...(T));
        while (f[n])
            n++;
        if (f[0] == '[' || f[0] == '{')
            return n == values + 2 && f[n - 1] == (f[0] == '[' ? ']' : '}') &&
                   (f[0] == '[' || values % 2 == 0) && fit(f + 1, {ergon_value_letters_<T>()...});
        if (values == 0)
            return n == 1 && f[0] == 'n';
        return n == 1 && values == 1 && fit(f, {ergon_value_letters_<T>()...});
    }
};
template <class... T> ergon_types_<T...> ergon_types_of_(const char *f, T... values);

template <class... T>
inline bool ergon_take_params_(const struct ergon_host *host, struct ergon_task *task,
                               const char *f, T... to)
{
    const ergon_param list[] = {{to, sizeof *to}..., {nullptr, 0}};
    return host->take_params(task, f, list, sizeof...(T));
}

template <class T> inline ergon_value ergon_value_of_(T v)
{
    if constexpr (std::is_floating_point_v<T>)
        return ergon_value_d(v);
    else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
        return ergon_value_i(v);
    else if constexpr (std::is_integral_v<T>)
        return std::is_same_v<T, bool> ? ergon_value_i(v) : ergon_value_u(v);
    else if constexpr (std::is_same_v<T, ergon_bytes>)
        return ergon_value_b(v);
    else
        return ergon_value_s(v);
}

template <class... T>
inline bool ergon_put_result_(const struct ergon_host *host, struct ergon_task *task, const char *f,
                              T... v)
{
    const ergon_value list[] = {ergon_value_of_(v)..., ergon_value_i(0)};
    return host->result_values(task, f, list, sizeof...(T));
}

#define ERGON_PARAMS_ALL(task, ...)                                                                \
    ([&]() -> bool {                                                                               \
        static_assert(                                                                             \
            decltype(ergon_types_of_(__VA_ARGS__))::are_params(ERGON_LETTERS_(__VA_ARGS__, 0)),    \
            "ergon_params: a pointer does not fit its letter, or is one too many");                \
        return ergon_take_params_(ergon_host, (task), __VA_ARGS__);                                \
    }())
#define ergon_result(task, ...)                                                                    \
    ([&]() -> bool {                                                                               \
        static_assert(                                                                             \
            decltype(ergon_types_of_(__VA_ARGS__))::are_result(ERGON_LETTERS_(__VA_ARGS__, 0)),    \
            "ergon_result: a value does not fit its letter, or is one too many");                  \
        return ergon_put_result_(ergon_host, (task), __VA_ARGS__);                                 \
    }())

#else

/* M(letters, index, value) for each value. */
#define ERGON_EACH_(M, ...) ERGON_JOIN_(ERGON_EACH_, ERGON_COUNT_(__VA_ARGS__))(M, __VA_ARGS__)
#define ERGON_EACH_0(M, f)
#define ERGON_EACH_1(M, f, a)                   M(f, 0, a)
#define ERGON_EACH_2(M, f, a, b)                M(f, 0, a) M(f, 1, b)
#define ERGON_EACH_3(M, f, a, b, c)             ERGON_EACH_2(M, f, a, b) M(f, 2, c)
#define ERGON_EACH_4(M, f, a, b, c, d)          ERGON_EACH_3(M, f, a, b, c) M(f, 3, d)
#define ERGON_EACH_5(M, f, a, b, c, d, e)       ERGON_EACH_4(M, f, a, b, c, d) M(f, 4, e)
#define ERGON_EACH_6(M, f, a, b, c, d, e, g)    ERGON_EACH_5(M, f, a, b, c, d, e) M(f, 5, g)
#define ERGON_EACH_7(M, f, a, b, c, d, e, g, h) ERGON_EACH_6(M, f, a, b, c, d, e, g) M(f, 6, h)
#define ERGON_EACH_8(M, f, a, b, c, d, e, g, h, i)                                                 \
    ERGON_EACH_7(M, f, a, b, c, d, e, g, h) M(f, 7, i)

/* So that each letter that is looked at exists.  Compilers take no "ib"[0] for a constant, but what
 * memcmp and memchr find in a literal. */
#define ERGON_PADDED_(f)    (f "\0\0\0\0\0\0\0\0\0\0\0\0")
#define ERGON_IS_(f, at, c) (__builtin_memcmp(ERGON_PADDED_(f) + (at), c, 1) == 0)
/* Is the letter at `at` one of the five? */
#define ERGON_IN_(f, at, set)                                                                      \
    (ERGON_IS_(f, at, (set)) || ERGON_IS_(f, at, (set) + 1) || ERGON_IS_(f, at, (set) + 2) ||      \
     ERGON_IS_(f, at, (set) + 3) || ERGON_IS_(f, at, (set) + 4))
/* 0, if it compiles. */
#define ERGON_REQUIRE_(condition, text)                                                            \
    (0 * __extension__ sizeof(struct {                                                             \
         int ergon_unused_;                                                                        \
         _Static_assert(condition, text);                                                          \
     }))

#define ERGON_PARAM_SET_(p)                                                                        \
    _Generic((p),                                                                                  \
        int64_t *: "iiiii",                                                                        \
        int32_t *: "iiiii",                                                                        \
        uint64_t *: "utzzz",                                                                       \
        uint32_t *: "uuuuu",                                                                       \
        double *: "ddddd",                                                                         \
        _Bool *: "BBBBB",                                                                          \
        struct ergon_bytes *: "sbalm",                                                             \
        default: "\1\1\1\1\1")
#define ERGON_PARAM_AT_(f, i) ((i) + (__builtin_memchr(ERGON_PADDED_(f), '|', (i) + 1) != 0))
#define ERGON_CHECK_PARAM_(f, i, p)                                                                \
    +ERGON_REQUIRE_(ERGON_IN_(f, ERGON_PARAM_AT_(f, i), ERGON_PARAM_SET_(p)),                      \
                    "ergon_params: this pointer does not fit its letter: " #p)
#define ERGON_PARAM_(f, i, p) {(p), sizeof *(p)},
/* memchr inside memcmp: clang wants a builtin that returns an integer outside. */
#define ERGON_HAS_BAR_(f)                                                                          \
    (__builtin_memcmp(&"01"[__builtin_memchr(ERGON_PADDED_(f), '|', sizeof(f)) != 0], "1", 1) == 0)
#define ERGON_CHECK_PARAMS_(f, n)                                                                  \
    ERGON_REQUIRE_(sizeof(f) - 1 - ERGON_HAS_BAR_(f) == (n),                                       \
                   "ergon_params: there are not as many pointers as letters")
#define ERGON_PARAMS_ALL(task, ...)                                                                \
    ((void)(ERGON_CHECK_PARAMS_(ERGON_LETTERS_(__VA_ARGS__, 0), ERGON_COUNT_(__VA_ARGS__))         \
                ERGON_EACH_(ERGON_CHECK_PARAM_, __VA_ARGS__)),                                     \
     ergon_host->take_params(                                                                      \
         (task), ERGON_LETTERS_(__VA_ARGS__, 0),                                                   \
         (const struct ergon_param[]){ERGON_EACH_(ERGON_PARAM_, __VA_ARGS__){0, 0}},               \
         ERGON_COUNT_(__VA_ARGS__)))

/* One of three, by the type of a value. */
#define ERGON_BY_TYPE_(v, is_signed, is_unsigned, is_bool, is_double, is_text, is_bytes, ...)      \
    _Generic((v),                                                                                  \
        _Bool: is_bool,                                                                            \
        char: is_signed,                                                                           \
        signed char: is_signed,                                                                    \
        short: is_signed,                                                                          \
        int: is_signed,                                                                            \
        long: is_signed,                                                                           \
        long long: is_signed,                                                                      \
        unsigned char: is_unsigned,                                                                \
        unsigned short: is_unsigned,                                                               \
        unsigned: is_unsigned,                                                                     \
        unsigned long: is_unsigned,                                                                \
        unsigned long long: is_unsigned,                                                           \
        float: is_double,                                                                          \
        double: is_double,                                                                         \
        char *: is_text,                                                                           \
        const char *: is_text,                                                                     \
        struct ergon_bytes: is_bytes __VA_ARGS__)
#define ERGON_VALUE_SET_(v)                                                                        \
    ERGON_BY_TYPE_(v, "iBiii", "uBuuu", "BBBBB", "ddddd", "sssss", "sbaaa", , default              \
                   : "\1\1\1\1\1")
#define ERGON_VALUE_(f, i, v)                                                                      \
    ERGON_BY_TYPE_(v, ergon_value_i, ergon_value_u, ergon_value_i, ergon_value_d, ergon_value_s,   \
                   ergon_value_b, )                                                                \
    (v),
#define ERGON_OPENS_(f) (ERGON_IS_(f, 0, "[") || ERGON_IS_(f, 0, "{"))
#define ERGON_CHECK_VALUE_(f, i, v)                                                                \
    +ERGON_REQUIRE_(ERGON_IN_(f, (i) + ERGON_OPENS_(f), ERGON_VALUE_SET_(v)),                      \
                    "ergon_result: this value does not fit its letter: " #v)
#define ERGON_CHECK_RESULT_(f, n)                                                                  \
    ERGON_REQUIRE_(                                                                                \
        ERGON_OPENS_(f) ? sizeof(f) == (n) + 3 &&                                                  \
                              (ERGON_IS_(f, 0, "[") ? ERGON_IS_(f, (n) + 1, "]")                   \
                                                    : (n) % 2 == 0 && ERGON_IS_(f, (n) + 1, "}"))  \
                        : sizeof(f) == 2 && ((n) == 1 || ((n) == 0 && ERGON_IS_(f, 0, "n"))),      \
        "ergon_result: there are not as many values as letters, or the brackets do not match")
#define ergon_result(task, ...)                                                                    \
    ((void)(ERGON_CHECK_RESULT_(ERGON_LETTERS_(__VA_ARGS__, 0), ERGON_COUNT_(__VA_ARGS__))         \
                ERGON_EACH_(ERGON_CHECK_VALUE_, __VA_ARGS__)),                                     \
     ergon_host->result_values(                                                                    \
         (task), ERGON_LETTERS_(__VA_ARGS__, 0),                                                   \
         (const union ergon_value[]){ERGON_EACH_(ERGON_VALUE_, __VA_ARGS__){0}},                   \
         ERGON_COUNT_(__VA_ARGS__)))

#endif

#endif
