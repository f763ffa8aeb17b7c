/** What the server answers to the methods of a client; PROTOCOL.md says more. Servers may add members. */

import { CallOptions, Duration, TaskEvent, TaskId } from './client';

/** Unix milliseconds. */
type Time = number;
export type TaskState =
    'queued' | 'delayed' | 'waiting' | 'assigned' | 'running' | 'parked' | 'done' | 'failed' | 'dead' | 'cancelled' | 'expired';

export interface TaskInfo {
    id: string;
    method: string;
    state: TaskState;
    reason?: string | null;
    attempt: number;
    failures: number;
    retries: number;
    crashes: number;
    losses: number;
    priority: number;
    tenant: string;
    key: string | null;
    actor?: string;
    traceparent: string | null;
    durable: string;
    created: Time;
    due: Time | null;
    started: Time | null;
    ended: Time | null;
    deadline: Time | null;
    progress: { done: number; total: number; text: string } | null;
    error: string | null;
    after_failed?: string | null;
    result?: any;
    cut?: boolean;
    history?: TaskEvent[];
    attempts?: any[];
    options?: Record<string, any>;
    params?: any[] | null;
    params_text?: string | null;
    params_size?: number;
    params_hidden?: 'denied' | 'secret' | null;
}

/** Conditions, all of which hold; `older` and `newer` are ages. */
export interface TaskFilter extends CallOptions {
    state?: TaskState | TaskState[];
    method?: string;
    tenant?: string;
    key?: string;
    actor?: string;
    older?: Duration;
    newer?: Duration;
}

export interface TaskList extends TaskFilter {
    /** Only tasks with this text in their parameters. */
    contains?: string;
    paramsText?: boolean;
    /** Tasks of a page. */
    limit?: number;
}

/** Without conditions `all` is needed; with `dryRun` they are only counted. */
export interface ManyFilter extends TaskFilter {
    all?: boolean;
    dryRun?: boolean;
}

export interface ManyAnswer {
    matched: number;
    dry_run?: boolean;
    cancelled?: number;
    retried?: number;
    forgotten?: number;
}

export interface FeedFilter {
    /** The `next` of an event before, or "oldest"; default: from now on. */
    after?: any;
    event?: string | string[];
    state?: TaskState | TaskState[];
    id?: TaskId | TaskId[];
    method?: string;
    tenant?: string;
    key?: string;
    signal?: AbortSignal;
}

/** `gap` says that events before it are missing, `missed` how many, if that is known. */
export interface FeedEvent extends Omit<TaskEvent, 'missed'> {
    id: string | null;
    method?: string;
    tenant: string;
    key?: string | null;
    gap?: 'overrun' | 'restart';
    missed?: number | null;
}

export interface QueueInfo {
    method: string;
    paused: boolean;
    draining: boolean;
    secret: boolean;
    queued: number;
    delayed: number;
    waiting: number;
    assigned: number;
    running: number;
    parked: number;
    submitted: number;
    done: number;
    failed: number;
    oldest: Time | null;
    [more: string]: any;
}

export interface CronInfo {
    name: string;
    tenant: string;
    schedule: string;
    zone: string;
    method: string;
    params: any[] | null;
    options: Record<string, any> | null;
    paused: boolean;
    next: Time | null;
    last: Time | null;
    last_task: string | null;
    fired: number;
    skipped: number;
    error: string | null;
    [more: string]: any;
}

export interface BatchOptions {
    onSuccess?: any[];
    onFailure?: any[];
    onEnd?: any[];
    parent?: string;
    durable?: string;
    tenant?: string;
    keep?: number | string;
}

export interface BatchInfo {
    id: string;
    state: 'open' | 'closed' | 'cancelling' | 'ending' | 'ended';
    outcome: 'done' | 'failed' | 'cancelled' | null;
    total: number;
    open: number;
    done: number;
    failed: number;
    cancelled: number;
    expired: number;
    dead: number;
    [name: string]: any;
}

export interface SemInfo {
    name: string;
    tenant: string;
    permits: number;
    free: number;
    held: number;
    waiting: number;
    durable: boolean | string;
    [more: string]: any;
}
