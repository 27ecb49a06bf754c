import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { AgentError } from '@isoloop/core';
import { partialOutput, type DeepPartial, type ItemOf } from '@isoloop/core/output';
import { connectAgent } from '../../page/connect-agent.ts';
import {
  isEndpoint,
  type AgentEndpoint,
  type AgentSource,
  type LinkOptions,
} from '../source/agent-source.ts';
import { AgentObject, type AgentObjectState, type Objects } from './agent-object.ts';
import { answerObjects } from './answer-objects.ts';

/** Options of `useAgentObject`. Only workers use the fields besides `sessionId`. */
export interface UseAgentObjectOptions extends Omit<LinkOptions, 'sessionId'> {
  /**
   * Id of the conversation, whose earlier messages the model reads. Default: a new conversation for
   * each object.
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
 * Shows an object that an agent generates, while it arrives. `source` is a worker, a SharedWorker or
 * the result of `agentEndpoint()`; on a server it may be `undefined`. `T` is the type of the value
 * of the agent's schema, such as `z.infer<typeof Trip>`. The object is validated where the agent
 * runs. If the model has to correct it, `object` is `undefined` until the new one arrives. From an
 * endpoint, the object has the JSON form of the value. A component that unmounts stops the request.
 *
 * @example
 * const { object, submit, status } = useAgentObject<Trip>(worker, { output: 'trip' });
 */
export function useAgentObject<T = unknown>(
  source: AgentSource | undefined,
  options: UseAgentObjectOptions = {},
): AgentObjectHelpers<T> {
  const [shown] = useState(() => new AgentObject<T>());
  const latest = useRef({ source, options });
  useEffect(() => {
    latest.current = { source, options };
  });
  useEffect(() => () => void shown.stop(), [shown]);
  const read = (): AgentObjectState<T> => shown.state;
  const state = useSyncExternalStore(shown.subscribe, read, read);
  const actions = useMemo(
    () => ({
      submit: (input: unknown) =>
        shown.request((signal) => {
          const { source: agent, options: given } = latest.current;
          const text = typeof input === 'string' ? input : JSON.stringify(input);
          const { sessionId = crypto.randomUUID(), ...others } = given;
          const link = { ...others, sessionId };
          return (
            isEndpoint(agent)
              ? endpointObjects(agent, link, text, signal)
              : workerObjects(agent as Worker, link, text, signal)
          ) as Objects<T>;
        }),
      stop: () => shown.stop(),
      clear: () => shown.clear(),
    }),
    [shown],
  );
  const { object, status } = state;
  const isBusy = status === 'submitted' || status === 'streaming';
  const items = useMemo(() => finishedItems<T>(object, isBusy), [object, isBusy]);
  return { ...state, ...actions, items, isBusy };
}

/** The last item of a list may be incomplete. */
function finishedItems<T>(
  object: DeepPartial<T> | undefined,
  isBusy: boolean,
): readonly ItemOf<T>[] {
  if (!Array.isArray(object)) return [];
  return isBusy ? object.slice(0, -1) : object;
}

interface ObjectLink extends LinkOptions {
  readonly output?: string;
}

async function* workerObjects(
  worker: Worker | SharedWorker,
  { output, ...options }: ObjectLink,
  input: string,
  signal: AbortSignal,
): AsyncGenerator<unknown, unknown> {
  const agent = connectAgent(worker, options);
  try {
    const given = output === undefined ? { signal } : { signal, output };
    return yield* partialOutput(agent.stream(input, given));
  } finally {
    agent.close();
  }
}

async function* endpointObjects(
  endpoint: AgentEndpoint,
  { output, ...options }: ObjectLink,
  text: string,
  signal: AbortSignal,
): AsyncGenerator<unknown, unknown> {
  if (output !== undefined)
    throw new AgentError(
      'CONFIGURATION',
      'An endpoint has no output. Use structured(schema) there.',
    );
  const link = endpoint.link(options, () => endpoint);
  const id = crypto.randomUUID();
  const messages = [{ id, role: 'user' as const, parts: [{ type: 'text' as const, text }] }];
  // The events of the agent would be more bytes than the object.
  const request = { trigger: 'submit-message', messages, body: { events: false } } as const;
  try {
    return yield* answerObjects(await link.send(request, signal));
  } finally {
    if (signal.aborted) await link.stop();
    link.close();
  }
}
