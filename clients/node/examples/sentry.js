// Middleware that reports to Sentry, or to what has its functions: const { sentry } = …; app.use(sentry(require('@sentry/node')))
'use strict';

const { Again } = require('ergon-client');

/** Breadcrumbs of submissions; each run has a scope with the task's tags, in which what it throws is captured. */
const sentry = (Sentry) => ({
    async submit({ how, method, actor }, next) {
        Sentry.addBreadcrumb({ category: 'ergon', message: `${how} ${method}`, data: { actor } });
        return next();
    },
    handle: ({ context, method }, next) =>
        Sentry.withScope(async (scope) => {
            scope.setTags({ method, task: context.task, tenant: context.tenant, attempt: context.attempt });
            try {
                return await next();
            } catch (error) {
                if (!(error instanceof Again)) Sentry.captureException(error); // which is no failure
                throw error;
            }
        }),
});

module.exports = { sentry };
