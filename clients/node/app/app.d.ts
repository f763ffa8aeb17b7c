/** A registry of tasks, actors and crons. README.md of the package is the guide. */

import {
    Actor, ActorRef, CallOptions, Client, ClientOptions, Context, CronOptions, SubmitOwn, Task, TaskOptions, WorkOptions,
} from '../lib/client';

/**
 * Of one parameter: String, Number, Boolean, Buffer, Date, Array, Object (a map); a function, which returns the value for the
 * handler, or true: the same, or false: it is refused; what has parse(), as of zod. None may be async.
 */
export type Check = ((value: any) => any) | { parse(value: any): any };

/**
 * Options of all submissions of a task. `check` is called before the handler, which gets what it returns; what it throws refuses
 * the parameters for good, with BAD_PARAMS: one Check for each parameter; or a function of all, which may return an array of
 * others, or false; or an object whose parse() takes and returns the array of all.
 */
export interface Policy extends Omit<TaskOptions, 'delay' | 'at' | 'key' | 'after' | 'afterAny'> {
    check?: Check[] | ((...params: any[]) => any) | { parse(params: any): any };
}

/** A handler whose parameters are P and whose result is R. */
export type TaskHandler<P extends any[], R> = (context: Context, ...params: P) => R;

export interface AppTask<P extends any[] = any[], R = any> {
    readonly name: string;
    readonly options: Readonly<TaskOptions>;
    /** Leaves a task with the server, with the policy. */
    submit(...params: P): Promise<Task<R>>;
    /** Its result: a call, or a task.call if there is a policy. */
    call(...params: P): Promise<R>;
    /** A task that is not submitted yet, for App.chain() and Client.submitMany(). */
    order(...params: P): TaskOrder<R>;
    /** Submits one for each member, its only parameter: their results, in order, when all have ended; or the first error. */
    map(list: Iterable<P[0]>, options?: CallOptions): Promise<R[]>;
    /** The same task with other options: those of one submission, too, such as delay, key, after. */
    with(options: TaskOptions & CallOptions & SubmitOwn): AppTask<P, R>;
}

/** Method, parameters, options. */
export type TaskOrder<R = any> = [string, any[], TaskOptions] & { result?: R };

type TaskOf<H> = H extends (context: Context, ...params: infer P) => infer R ? AppTask<P, Awaited<R>> : never;

/** What goes to the server: middleware may change it. */
export interface Order {
    how: 'submit' | 'call' | 'tell';
    /** Of a message the actor's name. */
    actor?: string;
    method: string;
    params: any[];
    options: TaskOptions & CallOptions & SubmitOwn;
}

/** A run of a handler: middleware may change `params`. Of an actor's turn `method` is "TYPE.METHOD". */
export interface Job {
    readonly context: Context;
    readonly method: string;
    params: any[];
}

/** next() does what is within, and returns its result: what the middleware returns is the result. */
export interface Middleware {
    submit?(order: Order, next: () => Promise<any>): any;
    handle?(job: Job, next: () => Promise<any>): any;
}

/** An actor with the methods of T. */
export type AppActor<T> = Omit<ActorRef, 'call' | 'tell'> & {
    call<M extends keyof T & string>(
        method: M, params?: T[M] extends (...params: infer P) => any ? P : never, options?: TaskOptions & CallOptions,
    ): Promise<T[M] extends (...params: any[]) => infer R ? Awaited<R> : never>;
    tell<M extends keyof T & string>(
        method: M, params?: T[M] extends (...params: infer P) => any ? P : never, options?: TaskOptions & SubmitOwn,
    ): Promise<Task>;
};

export class App {
    /** `url` is ERGON_URL by default; the others are those of its client. */
    constructor(options?: ClientOptions & { url?: string });
    url: string | undefined;
    /** Made at the first use, and after close() at the next. */
    readonly client: Client;
    /** Registers a task; TypeError: there is one of that name, or no such option. */
    task<P extends any[], R>(name: string, handler: TaskHandler<P, R>): AppTask<P, Awaited<R>>;
    task<P extends any[], R>(name: string, policy: Policy, handler: TaskHandler<P, R>): AppTask<P, Awaited<R>>;
    /** Registers several, by their names, with the same policy. */
    tasks<H extends Record<string, TaskHandler<any[], any>>>(handlers: H): { [N in keyof H]: TaskOf<H[N]> };
    tasks<H extends Record<string, TaskHandler<any[], any>>>(policy: Policy, handlers: H): { [N in keyof H]: TaskOf<H[N]> };
    /** Submits each to run after the one before it is done, whose result is RESULT among its parameters; the last one. */
    chain<R>(...orders: [...TaskOrder[], TaskOrder<R>]): Promise<Task<R>>;
    /** Registers a type of actors; the function gives the actor of a key. */
    actor<T extends Actor>(type: string, kind: { new (...told: any[]): T }): (key: string | number) => AppActor<T>;
    /** A worker of this app puts the cron when it starts. A function is registered as a task of the cron's name. */
    cron<P extends any[], R>(
        name: string, schedule: string | number, task: AppTask<P, R> | TaskHandler<P, R>,
    ): AppTask<P, Awaited<R>>;
    cron<P extends any[], R>(
        name: string, schedule: string | number, options: CronOptions & { params?: P }, task: AppTask<P, R> | TaskHandler<P, R>,
    ): AppTask<P, Awaited<R>>;
    /** The first is outermost. A function is one round the handlers. Handlers see what is there when work() begins. */
    use(middleware: Middleware | Middleware['handle']): this;
    /** Runs all that is registered until stop(), SIGTERM or SIGINT, as Client.work(). */
    work(options?: Omit<WorkOptions, 'actors'>): Promise<void>;
    stop(): void;
    /** Closes the client. */
    close(): Promise<void>;
}
