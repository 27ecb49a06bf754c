import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { partialOutput, type DeepPartial, type ItemOf } from '@isoloop/core/stream';
import { anything, checkOptions, optional, string, type OptionTable } from '@isoloop/core/options';
import { sessionIdNames } from '@isoloop/core/host';
import { checkedAgent, isEndpoint, type AgentSource } from '../source/agent-source.ts';
import { AgentObject, type AgentObjectState, type Objects } from './agent-object.ts';
import { endpointObjects } from './endpoint-objects.ts';

/** Options of `useAgentObject`. */
export interface UseAgentObjectOptions {
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
  readonly output?: string | undefined;
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
 * Shows an object that an agent generates, while it arrives. `source` is the result of
 * `agentEndpoint()`, or of `agentWorker()` of `@isoloop/web-worker`. `T` is the type of the
 * value of the agent's schema, such as `z.infer<typeof Trip>`. The object is validated where the
 * agent runs. If the model has to correct it, `object` is `undefined` until the new one arrives.
 * From an endpoint, the object has the JSON form of the value. A component that unmounts stops the
 * request. A page that loads again reads the object on: see `sessionId`.
 *
 * @example
 * const { object, submit, status } = useAgentObject<Trip>(agentWorker(worker), { output: 'trip' });
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
  const isAtEndpoint = isEndpoint(source);
  const where = isAtEndpoint ? 'useAgentObject() with an endpoint' : 'useAgentObject()';
  const table = isAtEndpoint ? endpointObjectTable : agentObjectTable;
  checkOptions(where, options, table, 'CONFIGURATION', { sessionId: sessionIdNames });
  const { sessionId = crypto.randomUUID(), output } = options;
  const isTemporary = options.sessionId === undefined;
  if (isAtEndpoint) {
    return endpointObjects(source, { sessionId, text, signal, isTemporary }) as Objects<T>;
  }
  const agent = checkedAgent(source, 'useAgentObject()');
  const batches = agent.run({ sessionId, output, input: text, signal, isTemporary });
  return partialOutput({ batches: () => batches }) as Objects<T>;
}

// Checked as an id when the request begins.
const endpointObjectTable: OptionTable<Pick<UseAgentObjectOptions, 'sessionId'>> = {
  sessionId: anything,
};

const agentObjectTable: OptionTable<UseAgentObjectOptions> = {
  ...endpointObjectTable,
  output: optional(string),
};

/** The last item of a list may be incomplete. */
function finishedItems<T>(
  object: DeepPartial<T> | undefined,
  isBusy: boolean,
): readonly ItemOf<T>[] {
  if (!Array.isArray(object)) return [];
  return isBusy ? object.slice(0, -1) : object;
}
