import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { partialOutput, type DeepPartial, type ItemOf } from '@isoloop/core/stream';
import { checkArguments } from '../../page/check-arguments.ts';
import { sessionClient } from '../../page/session-client.ts';
import { linkWorker } from '../../page/worker-link.ts';
import { isEndpoint, type AgentSource, type LinkOptions } from '../source/agent-source.ts';
import { AgentObject, type AgentObjectState, type Objects } from './agent-object.ts';
import { endpointObjects } from './endpoint-objects.ts';

/** Options of `useAgentObject`. Only workers use the fields besides `sessionId`. */
export interface UseAgentObjectOptions extends Omit<LinkOptions, 'sessionId'> {
  /**
   * Id of the conversation, whose earlier messages the model reads. With an id, a page that loads
   * again shows an object that an endpoint's Durable Object is still generating. Default: each
   * object has a new conversation, which is deleted at the end of the request.
   */
  readonly sessionId?: string | undefined;
  /**
   * Name of an output of the worker, from the option `outputs` of `exposeAgent()`. Default: the
   * agent itself has an output mode, such as `structured(schema)` in `use`.
   */
  readonly output?: string;
}

/** What `useAgentObject` returns. */
export interface AgentObjectHelpers<T> extends AgentObjectState<T> {
  /**
   * Items of a list that are complete. Empty if the object is not a list. The last item counts as
   * complete at the end.
   */
  readonly items: readonly ItemOf<T>[];
  /** Whether an object was asked for and is not complete. */
  readonly isBusy: boolean;
  /**
   * Asks the agent for an object, in place of the one before. A value that is not a text is sent as
   * JSON. Resolves with the object, or with `undefined` if it was stopped or has failed.
   */
  submit(input: unknown): Promise<T | undefined>;
  /** Ends the request where it runs, and keeps the object so far. */
  stop(): Promise<void>;
  /** Ends the request, and removes the object and the error. */
  clear(): Promise<void>;
}

/**
 * Shows an object that an agent generates, while it arrives. `source` is a worker, a SharedWorker
 * or the result of `agentEndpoint()`; on a server it may be `undefined`. `T` is the type of the
 * value of the agent's schema, such as `z.infer<typeof Trip>`. The object is validated where the
 * agent runs. If the model has to correct it, `object` is `undefined` until the new one arrives.
 * From an endpoint, the object has the JSON form of the value. A component that unmounts stops the
 * request. A page that loads again reads the object on: see `sessionId`.
 *
 * @example
 * const { object, submit, status } = useAgentObject<Trip>(worker, { output: 'trip' });
 */
export function useAgentObject<T = unknown>(
  source: AgentSource | undefined,
  options: UseAgentObjectOptions = {},
): AgentObjectHelpers<T> {
  const [agentObject] = useState(() => new AgentObject<T>());
  const latest = useRef({ source, options });
  useEffect(() => {
    latest.current = { source, options };
  });
  const isResumed = isEndpoint(source) && options.sessionId !== undefined;
  useEffect(
    () =>
      agentObject.enter(isResumed ? (signal) => objectsOf<T>(latest.current, signal) : undefined),
    [agentObject, isResumed],
  );
  const read = (): AgentObjectState<T> => agentObject.state;
  const state = useSyncExternalStore(agentObject.subscribe, read, read);
  const actions = useMemo(
    () => ({
      submit: (input: unknown) =>
        agentObject.request((signal) => {
          const text = typeof input === 'string' ? input : JSON.stringify(input);
          return objectsOf<T>(latest.current, signal, text);
        }),
      stop: () => agentObject.stop(),
      clear: () => agentObject.clear(),
    }),
    [agentObject],
  );
  const { object, status } = state;
  const isBusy = status === 'submitted' || status === 'streaming';
  const items = useMemo(() => finishedItems<T>(object, isBusy), [object, isBusy]);
  return { ...state, ...actions, items, isBusy };
}

interface SourceAndOptions {
  readonly source: AgentSource | undefined;
  readonly options: UseAgentObjectOptions;
}

/** `text`: message of the user. Without one, an endpoint's object that is already on its way. */
function objectsOf<T>(
  { source, options }: SourceAndOptions,
  signal: AbortSignal,
  text?: string,
): Objects<T> {
  const { sessionId = crypto.randomUUID(), ...others } = options;
  const isTemporary = options.sessionId === undefined;
  if (!isEndpoint(source))
    return workerObjects(source as Worker, {
      link: { ...others, sessionId },
      input: text,
      signal,
      isTemporary,
    }) as Objects<T>;
  const { agent: _a, options: _o, timeoutMs: _t, page: _p, ...unknown } = others;
  checkArguments('With an endpoint, useAgentObject() takes sessionId', true, unknown);
  return endpointObjects(source, { sessionId, text, signal, isTemporary }) as Objects<T>;
}

/** The last item of a list may be incomplete. */
function finishedItems<T>(
  object: DeepPartial<T> | undefined,
  isBusy: boolean,
): readonly ItemOf<T>[] {
  if (!Array.isArray(object)) return [];
  return isBusy ? object.slice(0, -1) : object;
}

interface WorkerRequest {
  readonly link: LinkOptions & { readonly output?: string };
  readonly input: string | undefined;
  readonly signal: AbortSignal;
  /** Whether to delete the conversation afterwards. */
  readonly isTemporary: boolean;
}

async function* workerObjects(
  worker: Worker | SharedWorker,
  { link: { output, ...options }, input, signal, isTemporary }: WorkerRequest,
): AsyncGenerator<unknown, unknown> {
  const client = sessionClient(linkWorker(worker, options));
  try {
    const request = { input, options: output === undefined ? {} : { output } };
    const { batches } = client.begin('stream', request, signal);
    return yield* partialOutput({ batches: () => batches });
  } finally {
    const clear = isTemporary ? client.ask<void>('clear') : Promise.resolve();
    void clear.catch(() => {}).finally(() => client.close());
  }
}
