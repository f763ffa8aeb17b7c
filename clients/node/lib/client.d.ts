/** A client of Ergon, a server of calls and tasks that last. docs/clients.md of Ergon's tree is the guide. */

import { EventEmitter } from 'events';
import {
    BatchInfo, CronInfo, FeedEvent, FeedFilter, ManyAnswer, BatchOptions,
    ManyFilter, QueueInfo, SemInfo, TaskInfo, TaskList,
} from './methods';

/** A number of milliseconds, as of setTimeout(), or a text with its unit: "500ms", "5s", "10m", "2h", "7d". Everywhere. */
export type Duration = number | string;
/** The same, or the moment at which it is over. */
export type Until = Duration | Date;
/** A moment: a Date, Unix milliseconds as of Date.now(), or RFC 3339 with an offset. */
export type Moment = Date | number | string;
/** A task, or its id. */
export type TaskId = Task | string;

/** What console has. */
export interface Log {
    info(line: any): void;
    warn(line: any): void;
    error(line: any): void;
}

export interface ClientOptions {
    /** Who we are, where the listener asks for one. */
    token?: string;
    /** File of authorities, PEM; default: those that Node trusts. */
    ca?: string;
    /** Files of a client certificate with its chain, and of its key (default: in the same), PEM. */
    cert?: string;
    key?: string;
    /** What the server's certificate must name among its subjectAltNames; default: the host of the URL. */
    serverName?: string;
    /** Of calls that give none; default: no limit. */
    timeout?: Duration | null;
    /** For connection, TLS and token together; "10s". */
    connectTimeout?: Duration | null;
    /** Least and most before a connection is tried again: doubled each time, half of it by chance; ["100ms", "10s"]. */
    backoff?: [Duration, Duration];
    /** Calls that are out at a time; further ones wait for their turn; 1000. */
    inFlight?: number;
    /** Bytes of one message from the server, which sends our worker no longer request; 32 MiB. */
    messageMax?: number;
    /** Called for what the server pushes. */
    onNotification?: (method: string, params: any[]) => void;
    /**
     * Takes a line for each event of the connection, and what handlers throw: console, or what is like it; false: nothing does.
     * Default: lines of what went wrong, and that it is right again, on standard error. What is refused for the same reason again
     * and again has a line in 30 s. The refusal with which connect() fails has none.
     */
    log?: Log | false | null;
}

export interface CallOptions {
    /** How long the caller waits. Then it fails with TIMEOUT, and the server is told to cancel it; null: without a limit. */
    timeout?: Until | null;
    /** Cancels the call, also in the server; it fails with the signal's reason. */
    signal?: AbortSignal;
}

export interface TenantOptions extends CallOptions {
    tenant?: string;
}

/** Of a submission. */
export interface SubmitOwn {
    /** How long this client waits for the answer to the submission; default: the client's timeout. */
    answerTimeout?: Until | null;
    signal?: AbortSignal;
}

/** Options of a cron's tasks, and of any. The server's own spelling, such as keep_size, is taken, too, but for its `timeout`. */
export interface CommonOptions {
    /** Ends one attempt, from the begin of its handler: it has failed then. Of the server's own options this is `timeout`. */
    attemptTimeout?: Duration;
    /** Ends the whole task, with all its attempts. */
    deadline?: Until;
    /** 0 to 9; 5. */
    priority?: number;
    /** Further attempts after a failure; 0. */
    retries?: number;
    /** Before the second attempt, doubled before each further one up to backoffMax; "1s", "1h". */
    backoff?: Duration;
    backoffMax?: Duration;
    /** Percent of it that are random; 50. */
    backoffJitter?: number;
    /** Submissions join the open run of this name. */
    coalesce?: string;
    limit?: { key: string; max: number; take?: number };
    rate?: { key: string; max: number; per: Duration };
    /** "TYPE/KEY": it is a message to this actor. */
    actor?: string;
    tenant?: string;
    /** How long it is kept after its end. */
    keep?: Duration;
    /** Bytes of the largest result that is kept, or a text such as "1m". */
    keepSize?: number | string;
    durable?: 'none' | 'async' | 'fsync' | 'replicated';
}

/** proto/PROTOCOL.md says more of each. What there is no option of is refused with a TypeError. */
export interface TaskOptions extends CommonOptions {
    /** It does not begin before so long, or that moment. */
    delay?: Duration;
    at?: Moment;
    /** Another submission with this key is answered with the same task. */
    key?: string;
    /** These must be done, or have ended, first. */
    after?: TaskId | TaskId[];
    afterAny?: TaskId | TaskId[];
    traceparent?: string;
    tracestate?: string;
    /** The id of a batch of which it is a member. */
    batch?: string;
}

export interface CronOptions extends CommonOptions {
    /** Of its times; "UTC". */
    zone?: string;
    /** A random delay of at most this. */
    jitter?: Duration;
    overlap?: 'skip' | 'allow' | 'replace';
    catchUp?: 'none' | 'one' | 'all';
}

/** What task.get answers beside; older servers know only the first two. */
export interface GetOptions extends CallOptions {
    result?: boolean;
    history?: boolean;
    params?: boolean;
    paramsText?: boolean;
    options?: boolean;
    attempts?: boolean;
}

/** An event of a task's history. `missed` says how many before it the server has forgotten. */
export interface TaskEvent {
    seq: number;
    at: number;
    event: string;
    attempt: number;
    reason?: string;
    text?: string;
    data?: any;
    missed?: number;
}

/**
 * `code` is a name such as "BUSY", `text` is for people, `retryable` says that the same call may well succeed later. Codes that
 * do not come from the server: BROKEN (the connection broke, and the call may have run or not), TIMEOUT, UNREACHABLE (nothing was
 * sent), CLOSED, PROTOCOL; and AUTH, of a token that was refused.
 * A handler may fail with an error of the same name: `remote` tells.
 */
export class ErgonError extends Error {
    code: string;
    text: string;
    retryable: boolean;
    number: number | null;
    /** What the server said beside; of a task that ended otherwise than done, the task. */
    data: any;
    /** The server answered it, or a task ended with it; false: it is the client's own. */
    remote: boolean;
}

/** Of a handler: not now; the next attempt is to begin after this, and this one was no failure. 0 hands the task back. */
export class Again extends ErgonError {
    constructor(duration?: Duration);
}

/** Of a handler: it will never succeed, and is not to be tried again. The code is PERMANENT, or begins so. */
export class Permanent extends ErgonError {
    constructor(text: string, code?: string);
}

/** One run of a handler. */
export class Context {
    method: string;
    /** The task's id and its tenant; null for a plain call. */
    task: string | null;
    tenant: string | null;
    /** From 1 on. */
    attempt: number;
    /** What save() was last given, also by an attempt before, or null. */
    checkpoint: any;
    /** The id of the batch of which it is a member, and of the one that has submitted it at its end; null: none. */
    batch: string | null;
    callbackOf: string | null;
    /** The trace that it belongs to, as W3C Trace Context writes it, or null. */
    traceparent: string | null;
    tracestate: string | null;
    /** Of a message to an actor what the server says of it; else null. */
    turn: { call: number; actor: string; version: number; schema: number; state: any } | null;
    /** Milliseconds to the deadline, or null. */
    readonly left: number | null;
    /**
     * Null, or why nobody waits for the result any more: "cancelled", "deadline", "gone" (the caller), "draining" (the server
     * ends), "lost" (the connection), "stopping" (this worker ends).
     */
    cancelled: string | null;
    /** Is aborted then. A handler that fails with its reason, or an AbortError, ends as cancelled. */
    readonly signal: AbortSignal;
    /** Tells how far it is; whoever watches the task sees it. A total of 0 is not known. */
    progress(done: number, total?: number, text?: string): Promise<void>;
    /** Gives a part of the result to whoever watches the task. TOO_LARGE: it is larger than the server takes. */
    partial(value: any): Promise<void>;
    /**
     * Submits tasks when this attempt ends well: all that it submits, with its end, or nothing. They cannot have `after`. If the
     * server refuses one, this fails, and so does the attempt, whatever its handler returns.
     */
    submit(...orders: [string, any[]?, TaskOptions?][]): Promise<void>;
    submit(method: string, params?: any[], options?: TaskOptions): Promise<void>;
    /** Sends a message to an actor, as submit() does. */
    tell(actor: string, method: string, params?: any[], options?: TaskOptions): Promise<void>;
    /**
     * Keeps a value of at most 64 KiB with the task: the `checkpoint` of its next attempts. Null: there is none any more.
     * False: too much is on its way to the server, and the one before stays.
     */
    save(value: any): Promise<boolean>;
}

export type Handler = (context: Context, ...params: any[]) => any;

export interface WorkOptions {
    /** How many handlers run at a time; 1. */
    slots?: number;
    /** As worker.list shows them. */
    name?: string;
    version?: string;
    /** Percent of the method's tasks that workers of this version get at most. */
    share?: number;
    /** The name of this machine, as tasks show it that ran here; os.hostname(). A server that does not know it is not told. */
    host?: string;
    /**
     * The parameters of all methods, or of these, are shown to nobody; false takes it back. Older servers refuse it: then work()
     * fails with BAD_PARAMS.
     */
    secret?: boolean | string[];
    /** Types of actors: classes by the type's name. */
    actors?: Record<string, typeof Actor>;
    /** In this time the server must hear of this process, and not of its kernel alone. */
    lease?: Duration;
    /** What handlers have in the end; "30s". */
    grace?: Duration;
    /** SIGTERM and SIGINT end it; true. */
    signals?: boolean;
    /** Told of what handlers throw, but for an ErgonError, and of registrations that failed; the error() of the client's log. */
    onTrouble?: (error: any) => void;
    /** Called once, when the server has the first registration. */
    onReady?: () => void;
}

export interface SemOptions {
    /** How many are wanted; 1. */
    permits?: number;
    /** There shall be so many in all, if there is no semaphore of that name yet. */
    of?: number;
    /** How long to wait for them; default: as long as it takes. Fails with DEADLINE then, or TIMEOUT if the server is silent. */
    wait?: Until | null;
    /** So long they stay ours when the connection is lost, or this process does not renew them; "10s". */
    grace?: Duration;
    /** After this they are taken back unless they are renewed; default: never. */
    ttl?: Duration;
    /** "none": what is held does not outlive the server; default: where the server has a store, it does. */
    durable?: string;
    /** Gives up waiting. */
    signal?: AbortSignal;
}

/** Permits that are ours until release(): renewed, and resumed on another connection, as long as that is possible in time. */
export interface Hold {
    name: string;
    /** Grows with each hold of the semaphore: whoever guards what the permits are for refuses smaller ones. */
    fence: number;
    permits: number | null;
    /** Null, or the error with which they were lost: others may have them after their grace. */
    lost: ErgonError | null;
    /** Is aborted then. */
    readonly signal: AbortSignal;
    /** Their time begins anew. */
    renew(): Promise<void>;
    /**
     * Gives them back. False: they were lost, or the server has not said yet that it has them; the client goes on with that as
     * long as it is connected, and without a connection they go back after their grace.
     */
    release(): Promise<boolean>;
}

/** A MessagePack extension. */
export class Ext {
    constructor(type: number, data: Buffer);
    type: number;
    data: Buffer;
}

/** A client that is connected; fails with what prevents the first connection: UNREACHABLE or AUTH. */
export function connect(url: string, options?: ClientOptions): Promise<Client>;

/** `reason` is null when all is well. */
export interface ConnectionEvent {
    address: string;
    reason: string | null;
}

/**
 * connect: the first connection is there; reconnect: another one. disconnect: it ended. refused: an attempt to connect, or to
 * offer methods, failed; the reason is what the system or the server said. drained: the server is stopping, as an answer told us.
 */
export type ConnectionEventName = 'connect' | 'reconnect' | 'disconnect' | 'refused' | 'drained';

/**
 * A client of one server, on one connection, which comes back by itself. While there is none calls wait for one, as long as they
 * have time. What was in flight when it broke fails as BROKEN; only what does no harm when it is asked twice is asked again.
 * While it is not closed it keeps the process alive.
 */
export class Client extends EventEmitter {
    on(name: ConnectionEventName, listener: (event: ConnectionEvent) => void): this;
    once(name: ConnectionEventName, listener: (event: ConnectionEvent) => void): this;
    off(name: ConnectionEventName, listener: (event: ConnectionEvent) => void): this;
    /** `url`: ergon://host[:7466], ergons://host[:7467] (TLS), unix:///path. TypeError: it is none. */
    constructor(url: string, options?: ClientOptions);
    /** Connects now. Without it the first call connects, and waits. After a failure the client is closed. */
    connect(): Promise<this>;
    /** Ends the connection; calls that are under way fail as CLOSED. */
    close(): Promise<void>;
    /** The process may end while the client is open, as of net.Socket; ref() takes that back. */
    unref(): this;
    ref(): this;
    /** The result of a method. Options beside timeout and signal make it a task.call. */
    call(method: string, params?: any[], options?: TaskOptions & CallOptions): Promise<any>;
    /** The same, without options for the server; `again`: it does no harm to ask twice. */
    request(method: string, params?: any[], options?: CallOptions & { again?: boolean }): Promise<any>;
    /** Calls a method and wants no answer: whether it arrives is not known. */
    notify(method: string, params?: any[], options?: CallOptions): Promise<void>;
    /**
     * Offers the server methods, and runs them, until stop() is called, or SIGTERM or SIGINT comes; each connection is told
     * first what we offer. A client does so once at a time. What a handler returns is the result; an ErgonError is a failure of
     * its code, anything else that it throws one of the code FAILED; both go with their stack. Again hands the task back for so
     * long, Permanent is not tried again. In the end nothing more is taken, and handlers have the grace; what still runs then
     * is cancelled, and its task handed back for another worker. A second signal or stop() ends the grace. Fails if the server
     * does not want what is offered (DENIED: who may offer what), or the token; whatever is wrong later it goes on.
     */
    work(handlers: Record<string, Handler>, options?: WorkOptions): Promise<void>;
    /** An actor, by its name, "TYPE/KEY". */
    actor(name: string): ActorRef;
    /** Ends work(). */
    stop(): void;
    /** Permits of a semaphore. NOT_FOUND: there is no such semaphore; BAD_PARAMS: there are not so many permits. */
    acquire(name: string, options?: SemOptions): Promise<Hold>;
    /** Runs use() under them, and gives them back. If they are lost hold.signal is aborted, and it fails with FENCED. */
    sem<T>(name: string, options: SemOptions, use: (hold: Hold) => Promise<T>): Promise<T>;
    /** Says that something has happened: the event's number, which is higher each time. */
    eventSet(name: string, value?: any, options?: CallOptions): Promise<number>;
    /** Waits until the event's number is `from` or more, by default the next one. Whoever goes on from seq + 1 misses none. */
    eventWait(name: string, options?: CallOptions & { from?: number }): Promise<{ seq: number; value: any }>;
    /** Leaves a task with the server. With a `key` it is repeated after a broken connection: it makes no second task. */
    submit(method: string, params?: any[], options?: TaskOptions & SubmitOwn): Promise<Task>;
    /** Leaves many, with these options if an order has none of that name. */
    submitMany(
        orders: Iterable<[string] | [string, any[]] | [string, any[], TaskOptions]>,
        options?: TaskOptions & SubmitOwn,
    ): Promise<(Task | ErgonError)[]>;
    /** Submits a task by calendar: "MINUTE HOUR DAY MONTH WEEKDAY", "@daily", "every 10m", or how often, in milliseconds. */
    cronPut(
        name: string,
        schedule: string | number,
        method: string,
        params?: any[],
        options?: CronOptions & SubmitOwn,
    ): Promise<{ name: string; next: number | null }>;
    /** Submits a task of the cron now. */
    cronRun(name: string, options?: TenantOptions): Promise<Task>;
    cronPause(name: string, options?: TenantOptions): Promise<CronInfo>;
    cronResume(name: string, options?: TenantOptions): Promise<CronInfo>;
    /** False: there was none. */
    cronDelete(name: string, options?: TenantOptions): Promise<boolean>;
    crons(options?: CallOptions): Promise<CronInfo[]>;
    queues(options?: CallOptions): Promise<QueueInfo[]>;
    queueExplain(method: string, options?: CallOptions): Promise<QueueInfo & { reason: string; text: string }>;
    queuePause(method: string, options?: CallOptions): Promise<QueueInfo>;
    /** While it drains submissions are refused. */
    queueDrain(method: string, options?: CallOptions): Promise<QueueInfo>;
    queueResume(method: string, options?: CallOptions): Promise<QueueInfo>;
    /** Makes a batch: tasks are its members by their option `batch`. What follows: [method, [params], {options}]. */
    batchCreate(options?: CallOptions & BatchOptions): Promise<BatchInfo>;
    /** It ends with its last member. */
    batchClose(id: string, options?: CallOptions): Promise<BatchInfo>;
    /** With `wait` (ms) when it has ended, or the time is over. */
    batchGet(id: string, options?: CallOptions & { wait?: number }): Promise<BatchInfo>;
    /** When it has ended, across broken connections and restarts of the server. */
    batchWait(id: string, options?: CallOptions): Promise<BatchInfo>;
    batchCancel(id: string, options?: CallOptions): Promise<BatchInfo>;
    batches(filter?: CallOptions & { state?: string; tenant?: string; parent?: string }): AsyncIterable<BatchInfo>;
    sems(options?: CallOptions): Promise<SemInfo[]>;
    /** A semaphore that stays, or other permits for it. */
    semCreate(name: string, permits: number, options?: CallOptions & { durable?: string }): Promise<{ permits: number }>;
    semDelete(name: string, options?: CallOptions): Promise<boolean>;
    semExplain(name: string, options?: TenantOptions): Promise<SemInfo & { holders: any[]; waiters: any[] }>;
    /** Takes back what a client holds with this fence. */
    semRevoke(name: string, fence: number, options?: TenantOptions): Promise<any>;
    /** Tasks, the newest first; workers; actors: page by page. */
    tasks(filter?: TaskList): AsyncGenerator<TaskInfo, void>;
    workers(filter?: CallOptions & { method?: string; limit?: number }): AsyncGenerator<any, void>;
    actors(
        filter?: CallOptions & { type?: string; prefix?: string; stage?: string; tenant?: string; limit?: number },
    ): AsyncGenerator<any, void>;
    actorTypes(options?: CallOptions): Promise<any[]>;
    /** What happens to all tasks, queues, crons and actors from now on, until the signal is aborted. */
    events(filter?: FeedFilter): AsyncGenerator<FeedEvent, void>;
    cancelMany(filter?: ManyFilter): Promise<ManyAnswer>;
    retryMany(filter?: ManyFilter): Promise<ManyAnswer>;
    forgetMany(filter?: ManyFilter): Promise<ManyAnswer>;
    /** What the server says of itself: server.info. */
    info(options?: CallOptions): Promise<any>;
    /** A task that was submitted before. */
    task(id: TaskId): Task;
    /**
     * Waits until these tasks, however many, or with `any` one of them, have ended, whatever connection and server do meanwhile.
     * `open` are the ids of the others.
     */
    wait(
        tasks: TaskId | Iterable<TaskId>,
        options?: CallOptions & { any?: boolean; result?: boolean },
    ): Promise<{ ended: any[]; open: string[] }>;
    /** The events of a task from number `from` (1) on, as they happen, until it has ended; none is missed or told twice. */
    watch(task: TaskId, options?: { from?: number; signal?: AbortSignal }): AsyncGenerator<TaskEvent, void>;
}

/** The policy of a type of actors; what is not set is as docs/actors.md says. */
export interface ActorType {
    /** The number of the form of its states. */
    schema?: number;
    /** Methods that change nothing and wait for no other message. */
    reads?: Iterable<string>;
    durable?: 'none' | 'fsync';
    idle?: Duration;
    retries?: number;
    callRetries?: number;
    backoff?: Duration;
    backoffMax?: Duration;
    timeout?: Duration;
    messages?: number;
    mailbox?: number | string;
    stateMax?: number | string;
    onFailure?: 'skip' | 'stop' | 'reset';
    intensity?: number;
    window?: Duration;
    supervisor?: string;
    pipeline?: boolean;
}

/**
 * A type of actors is a class that extends this; its methods are those of the actors, an object is one turn. What a method leaves
 * in `state` is the new state when it returns. `step` is called by nobody: the server calls it again and again, unless it sleeps.
 */
export class Actor {
    static type: ActorType;
    name: string;
    version: number;
    /** {} if the actor has none. */
    state: any;
    context: Context;
    /** The state in the form of `schema`, made of one with an older number; called before the method, and may be async. */
    upgrade(state: any, schema: number): any;
    /** The next step comes after so long; without a duration when the actor is woken. */
    sleep(duration?: Duration): void;
    /** The next step comes now, if the actor sleeps. */
    wake(): void;
    /** The actor runs no message until it is started. */
    stop(why: string): void;
    /** The actor has no state any more. */
    drop(): void;
    /**
     * The result of a message to another actor. One call of a turn is out at a time, and one that would wait for this turn fails
     * with DEADLOCK. A turn that is tried again gets the first answers.
     */
    call(to: string, method: string, params?: any[], options?: TaskOptions): Promise<any>;
    /** Sends a message to an actor, which may be this one, when the method returns. */
    tell(to: string, method: string, params?: any[], options?: TaskOptions): void;
    /** Puts a reminder of this actor when the method returns, in place of the one of its name; or forgets it. */
    remind(name: string, method: string, params?: any[], when?: When): void;
    forget(name: string): void;
    /** Submits a task when the method returns. */
    task(method: string, params?: any[], options?: TaskOptions): void;
}

/** When a reminder comes: `in` so long or `at` a time, and with `every` again and again. */
export interface When {
    in?: number | string;
    at?: Date | number | string;
    every?: number | string;
}

/**
 * Runs one message without a server, for tests. `schema`: that of the state; the class's. `calls`: what the actors answer that
 * the turn calls, as { 'order/7 total': 200 }; an Error is thrown, a function called with the parameters.
 */
export function turn(
    kind: typeof Actor,
    state: any,
    method: string,
    params?: any[],
    options?: { schema?: number; name?: string; calls?: Record<string, any> },
): Promise<{ result: any; state: any; changes: Record<string, any> }>;

/** Options of a message to an actor. */
export interface MessageOptions extends TaskOptions {
    /** The `call` of a context whose turn sends it, by this client. */
    turn?: number;
}

/** An actor of the server. */
export interface ActorVersion {
    version: number;
    stage: string;
    state: any;
    /** The caller may not see it. */
    state_hidden: boolean;
}

export class ActorRef {
    name: string;
    /** The result of a message. One with a `key` is sent again after a broken connection. */
    call(method: string, params?: any[], options?: MessageOptions & CallOptions): Promise<any>;
    /** Leaves a message. */
    tell(method: string, params?: any[], options?: MessageOptions & SubmitOwn): Promise<Task>;
    /** Puts a reminder, in place of the one of its name. */
    remind(name: string, method: string, params?: any[], options?: When & CallOptions): Promise<Task>;
    /** False: there is none whose turn has not begun. */
    forget(name: string, options?: CallOptions): Promise<boolean>;
    get(options?: CallOptions & { state?: boolean }): Promise<any>;
    /** The same with `reason` and `text`. */
    explain(options?: CallOptions): Promise<any>;
    /** Now and at each change, from version `from` (1) on; 0: it was dropped. It misses only versions in between. */
    watch(options?: { from?: number; signal?: AbortSignal }): AsyncGenerator<ActorVersion, void>;
    /** These four return the stage. */
    start(options?: CallOptions & { reset?: boolean }): Promise<string>;
    stop(options?: CallOptions & { reason?: string }): Promise<string>;
    wake(options?: CallOptions): Promise<string>;
    drop(options?: CallOptions): Promise<string>;
}

type Changed = Pick<TaskInfo, 'id' | 'state' | 'priority' | 'due'>;

/** In the orders of App.chain(): the result of the one before. */
export const RESULT: any;

/** A task that the server keeps. */
export class Task<R = any> {
    id: string;
    /** What the server answered to its submission: state, durable, duplicate, coalesced. */
    said: Record<string, any>;
    /**
     * The task, for tsc its result: a parameter of a task that comes after it. Among the parameters of a submission, at any
     * depth, a task is its result, and `after`.
     */
    readonly output: R;
    /** Its result, when it has ended; fails with its error if it ended otherwise than done. */
    wait(options?: CallOptions): Promise<R>;
    watch(options?: { from?: number; signal?: AbortSignal }): AsyncGenerator<TaskEvent, void>;
    /** All that the server knows of it. */
    get(options?: GetOptions): Promise<TaskInfo>;
    /** Why it is where it is. */
    explain(options?: CallOptions): Promise<any>;
    cancel(options?: CallOptions): Promise<any>;
    retry(options?: CallOptions): Promise<any>;
    forget(options?: CallOptions): Promise<any>;
    /** Its priority and time, before it has begun. */
    change(options: CallOptions & { priority?: number; delay?: Duration; at?: Moment }): Promise<Changed>;
    /** Ends its wait for a time. */
    runNow(options?: CallOptions): Promise<Changed>;
}
