import { array } from '../error/options/kinds.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { perRun } from '../agent/per-run.ts';
import type { Middleware, UseList, RunView } from '../agent/middleware.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { ChatModel, ModelRequest, RunInfo } from '../model/chat-model.ts';
import type { ToolCall } from '../tool/tool-call.ts';
import { withStream } from '../model/wrap-model.ts';
import { flatList } from '../agent/use-list.ts';

/** A change that a middleware made to a run. */
export interface EventChange {
  /** Name of the middleware, or its position in the list if it has none. */
  readonly middleware: string;
  /** Where it made the change: a type of event, or a wrapper such as `wrapRequest`. */
  readonly at: string;
  /**
   * Names of the fields that it changed, such as `messages`. Empty if it answered itself, without
   * the steps inside it.
   */
  readonly fields: readonly string[];
  /** Id of the tool call, for a change in `wrapTool`. */
  readonly toolUseId?: string;
}

/** An event with the changes that led to it. */
export type TracedAgentEvent = AgentEvent & { readonly changes?: readonly EventChange[] };

/** Notes a change if the values differ. `id`: id of the tool call that it is about. */
type Compare = (
  run: RunInfo,
  at: string,
  oldValue: unknown,
  newValue: unknown,
  id?: string,
) => void;
type Handle = (...args: readonly unknown[]) => unknown;

/** Wrappers that get a value and return one. */
const wrappers = [
  'wrapRun',
  'wrapInput',
  'wrapSettle',
  'wrapRequest',
  'wrapReply',
  'wrapRound',
  'wrapTool',
] as const;

/** Events that the inspector shows with their changes. */
const shownAt = /^(post-call|pre-reasoning|post-reasoning|pre-acting|post-acting|run-end)$/;

/**
 * Wraps the middleware of an agent, and notes which one changed what. Readers get the changes in
 * the field `changes` of the next event. Use it while you look for a cause:
 * `use: traceChanges([fitContext(), piiGuard()])`. The agent itself does not compare anything, so
 * without `traceChanges()` this costs nothing. Changes of a reply's stream in `wrapModel` are not
 * seen. Throws `CONFIGURATION` for two middleware of one name.
 */
export function traceChanges(use: UseList): readonly Middleware[] {
  checkFields('traceChanges()', { use }, { use: array });
  const changesOf = perRun((): EventChange[] => []);
  const reporter: Middleware = {
    mapEvent(event, run) {
      const allChanges = changesOf(run);
      if (!allChanges.length || !shownAt.test(event.type)) return event;
      const isShown = ({ toolUseId }: EventChange): boolean => isAbout(event, toolUseId);
      const changes = allChanges.filter(isShown);
      if (!changes.length) return event;
      allChanges.splice(0, allChanges.length, ...allChanges.filter((change) => !isShown(change)));
      return { ...event, changes } satisfies TracedAgentEvent;
    },
  };
  const watched = flatList(use).map((one, index) => {
    const middleware = one.name ?? `middleware ${index + 1} of use`;
    return watchMiddleware(one, (context, at, oldValue, newValue, toolUseId) => {
      const fields = changedFields(oldValue, newValue);
      const change = fields && { middleware, at, fields, ...(toolUseId && { toolUseId }) };
      if (change) changesOf(context).push(change);
    });
  });
  return [reporter, ...watched];
}

/** Tool calls run at the same time, so their changes wait for an event of their own. */
function isAbout(event: AgentEvent, toolUseId: string | undefined): boolean {
  if (toolUseId === undefined || event.type === 'run-end') return true;
  return 'toolUse' in event && event.toolUse.id === toolUseId;
}

function watchMiddleware(one: Middleware, compare: Compare): Middleware {
  /** Compares the event that a handler gets with the one that it returns. */
  const watchedHandler = (handler: Handle): Handle => {
    return async (event, run) => {
      const result = await handler.call(one, event, run);
      compare(run as RunInfo, (event as AgentEvent).type, event, result ?? event);
      return result;
    };
  };
  const changedMembers: { readonly [K in keyof Middleware]?: unknown } = {
    ...(one.on && { on: watchedHooks(one.on, watchedHandler) }),
    ...(one.mapEvent && {
      mapEvent(event: AgentEvent, run: RunView) {
        const mappedEvent = one.mapEvent!(event, run);
        compare(run, event.type, event, mappedEvent);
        return mappedEvent;
      },
    }),
    ...(one.wrapModel && { wrapModel: (next: ChatModel) => watchedModel(one, next, compare) }),
    ...Object.fromEntries(
      wrappers.flatMap((key) => (one[key] ? [[key, watchedStep(one, key, compare)]] : [])),
    ),
  };
  // The methods of a class are on its prototype. Getters there do not allow an assignment.
  const prototype = Object.getPrototypeOf(one) as object;
  const members = Object.getOwnPropertyDescriptors({ ...one, ...changedMembers });
  return Object.create(prototype, members) as Middleware;
}

function watchedHooks(
  hooks: NonNullable<Middleware['on']>,
  watchedHandler: (handler: Handle) => Handle,
): unknown {
  return Object.fromEntries(
    Object.entries(hooks).map(([type, entry]) => {
      const handler = typeof entry === 'function' ? { handle: entry } : entry;
      return [type, { ...handler, handle: watchedHandler(handler.handle as Handle) }];
    }),
  );
}

/** Compares what a wrapper gets with what it passes on, and what it gets back with its result. */
function watchedStep(one: Middleware, key: (typeof wrappers)[number], compare: Compare): unknown {
  const wrap = one[key] as unknown as Handle;
  return async (input: unknown, next: Handle, run: RunInfo) => {
    const toolUseId = key === 'wrapTool' ? (input as ToolCall).toolUse.id : undefined;
    let outcome: unknown;
    const watchedNext: Handle = async (nextInput) => {
      compare(run, key, input, nextInput, toolUseId);
      outcome = await next(nextInput);
      return outcome;
    };
    const result = await wrap.call(one, input, watchedNext, run);
    compare(run, key, outcome, result, toolUseId);
    return result;
  };
}

/** Compares the request that a wrapper of the model gets with the one that it sends. */
function watchedModel(one: Middleware, next: ChatModel, compare: Compare): ChatModel {
  const requests: WeakMap<RunInfo, ModelRequest> = new WeakMap();
  const watchedNext = withStream(next, (request, context) => {
    const outerRequest = context.run && requests.get(context.run);
    if (context.run && outerRequest) compare(context.run, 'wrapModel', outerRequest, request);
    return next.stream(request, context);
  });
  const model = one.wrapModel!(watchedNext);
  return withStream(model, (request, context) => {
    if (context.run) requests.set(context.run, request);
    return model.stream(request, context);
  });
}

/**
 * Returns the names of the fields that differ. Returns `undefined` if the values are the same or
 * have the same fields, and an empty list if there was no value before.
 */
function changedFields(oldValue: unknown, newValue: unknown): readonly string[] | undefined {
  if (oldValue === newValue) return undefined;
  if (oldValue === undefined) return [];
  const oldFields = oldValue as Readonly<Record<string, unknown>>;
  const newFields = newValue as Readonly<Record<string, unknown>>;
  const keys = [...new Set([...Object.keys(oldFields), ...Object.keys(newFields)])];
  const changedKeys = keys.filter((key) => oldFields[key] !== newFields[key]);
  return changedKeys.length ? changedKeys : undefined;
}
