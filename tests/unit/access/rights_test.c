#include <stdio.h>

#include "server/access/rights.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

#define S(text) span_text(text)

static const struct rights *rights(struct role_table *roles, const char *name, const char *methods)
{
    const struct rights *r = rights_new(&(struct rights_options){
        .roles = roles, .name = name, .tenant = "own", .methods = methods});
    assert_non_null(r);
    return r;
}

static bool covers(const struct rights *r, const char *method, const char *tenant,
                   const char *queue, const char *key)
{
    return rights_cover(r, S(method), &(struct rights_object){S(tenant), S(queue), S(key)}, true);
}

TEST(a_right_over_others_is_granted_by_its_own_name_only)
{
    static const char *const vain[] = {"*", "task.*", "task.an*", "worker.*", "worker.a*"};

    for (size_t i = 0; i < sizeof vain / sizeof vain[0]; i++) {
        assert_false(patterns_fit(vain[i], S("task.any")));
        assert_false(patterns_fit(vain[i], S("worker.any")));
        assert_false(patterns_fit(vain[i], S("worker.offer.echo")));
        const struct rights *r = rights(NULL, "token:a", vain[i]);
        assert_false(covers(r, "task.get", "other", "echo", ""));
        rights_unref(r);
    }
    assert_true(patterns_seem_to_grant("echo,task.*") && patterns_seem_to_grant("*"));
    assert_false(patterns_seem_to_grant("echo") || patterns_seem_to_grant("*,task.any"));
    assert_true(patterns_fit("echo,worker.any", S("worker.any")));
    const struct rights *r = rights(NULL, "token:a", "task.get,task.any");
    assert_true(covers(r, "task.get", "other", "echo", ""));
    assert_false(covers(r, "task.cancel", "other", "echo", ""));
    /* a listener that does not name it */
    assert_false(
        rights_cover(r, S("task.get"), &(struct rights_object){.tenant = S("other")}, false));
    rights_unref(r);
}

TEST(to_offer_a_method_is_granted_by_what_speaks_of_offers_alone)
{
    static const char *const vain[] = {"*", "worker.*", "worker.offer*", "worker.offer.text.*",
                                       "img.resize"};

    for (size_t i = 0; i < sizeof vain / sizeof vain[0]; i++)
        assert_false(patterns_fit(vain[i], S("worker.offer.img.resize")));
    assert_true(patterns_fit("echo,worker.offer.img.resize", S("worker.offer.img.resize")));
    assert_true(patterns_fit("worker.offer.img.*", S("worker.offer.img.resize")));
    assert_true(patterns_fit("worker.offer.*", S("worker.offer.img.resize")));
    assert_false(patterns_fit("worker.offer.*", S("task.any")));
    const struct rights *few = rights(NULL, "token:a", "worker.offer.img.*");
    const struct rights *all = rights(NULL, "token:a", "worker.offer.*");
    const struct rights *others = rights(NULL, "token:a", "*");
    assert_true(rights_within(few, all, S(""), S("")));
    assert_false(rights_within(all, few, S(""), S("")));
    assert_false(rights_within(few, others, S(""), S("")));
    rights_unref(few);
    rights_unref(all);
    rights_unref(others);
}

TEST(patterns_grant_contents_and_a_reload_that_takes_them_is_seen)
{
    static const char *const grant[] = {"*", "task.*", "task.params"};

    for (size_t i = 0; i < sizeof grant / sizeof grant[0]; i++) {
        const struct rights *r = rights(NULL, "token:a", grant[i]);
        assert_true(covers(r, RIGHT_CONTENTS, "own", "echo", ""));
        assert_false(covers(r, RIGHT_CONTENTS, "other", "echo", ""));
        rights_unref(r);
    }
    const struct rights *looks = rights(NULL, "token:a", "task.get,task.list");
    const struct rights *sees = rights(NULL, "token:a", "task.get,task.list,task.params");
    const struct rights *calls = rights(NULL, "token:a", "task.get,echo");
    const struct rights *more = rights(NULL, "token:a", "task.get,task.params");
    assert_false(covers(looks, RIGHT_CONTENTS, "own", "echo", ""));
    const struct span get = S("task.get"), contents = S(RIGHT_CONTENTS), all = S("");
    assert_true(rights_within(sees, looks, get, get));
    assert_false(rights_within(sees, looks, get, contents));
    assert_false(rights_within(calls, looks, get, contents));
    assert_false(rights_within(calls, looks, all, all));
    assert_true(rights_within(calls, more, get, contents));
    assert_true(rights_within(looks, sees, get, contents));
    rights_unref(looks);
    rights_unref(sees);
    rights_unref(calls);
    rights_unref(more);
}

static int make_roles(void *arg)
{
    const struct role roles[] = {
        {.name = "cancels", .members = "token:a", .methods = "task.cancel", .tenants = "x,y-*"},
        {.name = "limits", .members = "token:a", .queues = "mail", .keys = "l-*"},
    };
    struct role_table *table = role_table_new(roles, 2);

    (void)arg;
    role_table_unref(table);
    return table ? 0 : -1;
}

TEST(roles_meet_each_failure)
{
    heap_fail_each(make_roles, NULL);
}

TEST(roles_are_not_mixed)
{
    const struct role roles[] = {
        {.name = "cancels", .members = "token:a", .methods = "task.cancel", .tenants = "x,y-*"},
        {.name = "looks", .members = "token:*", .methods = "task.get", .tenants = "z"},
        {.name = "others", .members = "cert:a", .methods = "*", .tenants = "*"},
        {.name = "limits",
         .members = "token:a",
         .methods = "mail",
         .queues = "mail",
         .keys = "l-*"},
    };
    struct role_table *table = role_table_new(roles, 4);
    const struct rights *r = rights(table, "token:a", NULL);

    role_table_unref(table); /* the rights have it */
    assert_true(covers(r, "task.cancel", "x", "q", "") && covers(r, "task.cancel", "y-1", "q", ""));
    assert_true(covers(r, "task.cancel", "own", "q", "") && covers(r, "task.get", "z", "q", ""));
    assert_false(covers(r, "task.cancel", "z", "q", "") || covers(r, "task.get", "x", "q", ""));
    assert_false(covers(r, "echo", "own", "q", ""));
    assert_true(covers(r, "mail", "own", "mail", "l-1") && covers(r, "mail", "own", "mail", ""));
    assert_false(covers(r, "mail", "own", "mail", "m") || covers(r, "mail", "own", "else", ""));
    assert_true(rights_cover_queue(r, S("mail"), S("mail")));
    assert_false(rights_cover_queue(r, S("mail"), S("else")));
    rights_unref(r);
}

TEST(what_a_listener_allows_counts_unless_a_role_speaks)
{
    const struct role role = {.name = "r", .members = "unix:a", .methods = "echo", .tenant = "t"};
    struct role_table *table = role_table_new(&role, 1);
    const struct rights *a = rights_new(&(struct rights_options){
        .roles = table, .name = "unix:a", .tenant = "a", .methods = "*", .unless_role = true});
    const struct rights *b = rights_new(&(struct rights_options){
        .roles = table, .name = "unix:b", .tenant = "b", .methods = "*", .unless_role = true});

    assert_string_equal(rights_owner(a).tenant, "t");
    assert_string_equal(rights_owner(b).tenant, "b");
    assert_true(rights_may(a, S("echo")) && !rights_may(a, S("sum")) && rights_may(b, S("sum")));
    assert_true(rights_all_methods(b) && !rights_all_methods(a));
    assert_int_not_equal(rights_id(a), rights_id(b));
    rights_unref(a);
    rights_unref(b);
    role_table_unref(table);
}

static bool offers(const struct role *role, bool unless_role)
{
    struct role_table *table = role_table_new(role, role ? 1 : 0);
    const struct rights *r = rights_new(&(struct rights_options){.roles = table,
                                                                 .name = "unix:root",
                                                                 .tenant = "root",
                                                                 .methods = "*",
                                                                 .unless_role = unless_role,
                                                                 .offers = true});
    bool may = rights_may(r, S("worker.offer.echo"));

    assert_false(rights_may(r, S("task.any")) || rights_may(r, S("worker.any")));
    rights_unref(r);
    role_table_unref(table);
    return may;
}

TEST(the_servers_own_user_offers_unless_a_role_limits_it)
{
    struct role role = {.name = "r", .members = "unix:a", .methods = "echo"};

    assert_true(offers(NULL, true) && offers(&role, true));
    role.members = "unix:*"; /* a role of its own decides, */
    assert_false(offers(&role, true));
    assert_true(offers(&role, false));
    role.members = "token:images"; /* and so does one that says who may offer */
    role.methods = "echo,worker.offer.img.*";
    assert_false(offers(&role, true));
}

static bool reaches(const struct role *role, const char *method, bool others)
{
    struct role_table *roles = role_table_new(role, 1);
    const struct rights_options options = {.roles = roles, .name = "token:a", .tenant = "own"};
    const struct rights *r = rights_new(&options);
    bool answer = rights_reach_others(r, span_text(method), others);

    rights_unref(r);
    role_table_unref(roles);
    return answer;
}

TEST(who_reaches_others_does_by_any_grant)
{
    struct role role = {.name = "r", .members = "token:*", .methods = "task.cancel"};

    assert_false(reaches(&role, "task.cancel", true));
    role.tenants = "own";
    assert_false(reaches(&role, "task.cancel", true));
    role.tenants = "own,mail";
    assert_true(reaches(&role, "task.cancel", false));
    assert_false(reaches(&role, "task.retry", true));
    role.tenants = "ow*"; /* in doubt */
    assert_true(reaches(&role, "task.cancel", false));
    role.tenants = NULL;
    role.methods = "task.cancel,task.any";
    assert_true(reaches(&role, "task.cancel", true));
    assert_false(reaches(&role, "task.cancel", false));
}

static void note(void *arg, const struct role *role, const char *how)
{
    char *told = arg;
    size_t len = strlen(told);

    snprintf(told + len, 200 - len, "%s %s;", role->name, how);
}

TEST(tables_of_roles_are_compared)
{
    const struct role before[] = {{.name = "a", .members = "token:a", .methods = "echo"},
                                  {.name = "b", .members = "token:b", .methods = "echo"},
                                  {.name = "c", .members = "token:c", .methods = "echo"}};
    const struct role after[] = {
        {.name = "d", .members = "token:d", .methods = "echo"},
        {.name = "c", .members = "token:c", .methods = "echo"},
        {.name = "b", .members = "token:b", .methods = "echo", .keys = "k"}};
    struct role_table *one = role_table_new(before, 3), *other = role_table_new(after, 3);
    char told[200] = "";

    role_table_compare(one, other, note, told);
    role_table_compare(NULL, one, note, told + strlen(told));
    role_table_compare(one, one, note, told);
    assert_string_equal(told, "a removed;d added;b changed;a added;b added;c added;");
    role_table_unref(one);
    role_table_unref(other);
}

TEST(less_is_within_more)
{
    static const struct {
        const char *was, *is;
        bool within;
    } cases[] = {
        {"echo", "*", true},
        {"*", "echo", false},
        {"echo,sum", "sum,echo", true},
        {"task.*", "task.*,x", true},
        {"task.*", "task.get", false},
        {"task.any", "*", false},
        {"task.any", "task.any,echo", true},
        {"", "", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct rights *was = rights(NULL, "token:a", cases[i].was);
        const struct rights *is = rights(NULL, "token:a", cases[i].is);
        assert_int_equal(rights_within(was, is, S(""), S("")), cases[i].within);
        rights_unref(was);
        rights_unref(is);
    }
}

TEST(a_pattern_fits_what_begins_as_it_does)
{
    assert_true(patterns_fit("task.*", S("task.get")) && patterns_fit("task.*", S("task.")));
    assert_false(patterns_fit("task.*", S("cron.list")) || patterns_fit("task.*", S("task")));
    assert_true(patterns_fit("*", S("echo")) && patterns_fit("*", S("")));
    assert_true(patterns_fit("sum,echo", S("echo")));
    assert_false(patterns_fit("echo", S("echo.more")) || patterns_fit("echo", S("ech")));
}

TEST(who_may_do_everything_reaches_all_tenants)
{
    const struct rights *all = rights_new(
        &(struct rights_options){.name = "unix:root", .tenant = "own", .everything = true});

    assert_true(covers(all, "task.cancel", "other", "echo", ""));
    rights_unref(all);
}

static bool role_within(const struct role *is, const struct role *wider)
{
    struct role_table *less = role_table_new(is, 1), *more = role_table_new(wider, 1);
    const struct rights *a = rights(less, "token:a", NULL), *b = rights(more, "token:a", NULL);
    bool within = rights_within(a, b, S(""), S(""));

    rights_unref(a);
    rights_unref(b);
    role_table_unref(less);
    role_table_unref(more);
    return within;
}

static struct role role_of(const char *tenants, const char *queues, const char *keys)
{
    return (struct role){.name = "r",
                         .members = "token:*",
                         .methods = "echo",
                         .tenants = tenants,
                         .queues = queues,
                         .keys = keys};
}

TEST(less_of_each_kind_is_within_more)
{
    const struct role all = role_of(NULL, NULL, NULL);
    const struct role tenant = role_of("x", NULL, NULL), tenants = role_of("x,y", NULL, NULL);
    const struct role queue = role_of(NULL, "x", NULL), queues = role_of(NULL, "x,y", NULL);
    const struct role key = role_of(NULL, NULL, "x"), keys = role_of(NULL, NULL, "x,y");

    assert_true(role_within(&tenant, &tenants) && !role_within(&tenants, &tenant));
    assert_true(role_within(&queue, &queues) && !role_within(&queues, &queue));
    assert_true(role_within(&key, &keys) && !role_within(&keys, &key));
    assert_true(role_within(&queue, &all) && role_within(&key, &all));
    assert_false(role_within(&all, &queue) || role_within(&all, &key));
    assert_true(role_within(&all, &tenant) && !role_within(&tenant, &all));
}

TEST(the_first_role_that_names_a_tenant_says_which)
{
    struct role roles[3] = {role_of(NULL, NULL, NULL), role_of(NULL, NULL, NULL),
                            role_of(NULL, NULL, NULL)};
    roles[1].tenant = "first";
    roles[2].tenant = "second";
    struct role_table *both = role_table_new(roles, 3), *none = role_table_new(roles, 1);
    const struct rights *a = rights(both, "token:a", NULL), *b = rights(none, "token:a", NULL);

    assert_string_equal(rights_owner(a).tenant, "first");
    assert_string_equal(rights_owner(b).tenant, "own");
    assert_false(rights_within(a, b, S(""), S("")) ||
                 rights_within(b, a, S(""), S(""))); /* of another tenant */
    rights_unref(a);
    rights_unref(b);
    role_table_unref(both);
    role_table_unref(none);
}

static bool method_keeps(const struct role *was, const struct role *is)
{
    struct role_table *before = role_table_new(was, 1), *after = role_table_new(is, 1);
    const struct rights *a = rights(before, "token:a", NULL), *b = rights(after, "token:a", NULL);
    bool keeps = rights_within(a, b, S("task.wait"), S("task.wait"));

    rights_unref(a);
    rights_unref(b);
    role_table_unref(before);
    role_table_unref(after);
    return keeps;
}

#define ROLE(its_methods, ...)                                                                     \
    (&(struct role){.name = "r", .members = "token:a", .methods = (its_methods), __VA_ARGS__})

TEST(a_method_keeps_what_it_reaches_whatever_becomes_of_others)
{
    assert_true(method_keeps(ROLE("task.*,echo"), ROLE("task.wait")));
    assert_false(method_keeps(ROLE("task.*"), ROLE("task.get")));
    assert_true(method_keeps(ROLE("task.*", .keys = "k-1"), ROLE("task.*", .keys = "k-*")));
    assert_false(method_keeps(ROLE("task.*", .keys = "k-*"), ROLE("task.*", .keys = "k-1")));
    assert_false(method_keeps(ROLE("task.*"), ROLE("task.*", .queues = "echo")));
    assert_false(method_keeps(ROLE("task.*", .tenants = "b"), ROLE("task.*")));
    assert_false(method_keeps(ROLE("task.*,task.any"), ROLE("task.*")));
    assert_true(method_keeps(ROLE("task.*", .tenants = "b"), ROLE("task.*,task.any")));
    assert_false(method_keeps(ROLE("task.*", .tenant = "b"), ROLE("task.*", .tenant = "c")));
}
