import type { JsonObject } from '@isoloop/core';
import type { UiChunk } from '@isoloop/core/stream';
import type { RemoteAgent } from '@isoloop/web-worker';
import type { UIMessage } from 'ai';
import type { RecoveryAction } from '../../../../test/recovery/recovery-cell.ts';
import { callIn, first, say, textIn } from '../../../../test/recovery/recovery-talk.ts';

/** Something that the user does on a page. Resolves when the page has read the answer. */
export type Step = (agent: RemoteAgent) => Promise<unknown>;

/** What a user does, and what the conversation then has. */
export interface TabAction {
  /** What the user does before the action. Default: only the first message. */
  readonly before?: Step;
  /**
   * Returns what the user does, from the conversation that the page shows. Returns `undefined` if
   * the conversation has all that the user did.
   */
  readonly next: (history: readonly UIMessage[]) => Step | undefined;
  /** What the user does while the agent answers. */
  readonly during?: Step;
  /** Tool that the model calls first. */
  readonly tool: 'step' | 'pay' | 'color';
  /** Text of the user message that the model answers. */
  readonly asks: string;
  /** Texts of the user's messages after the action. */
  readonly asked: readonly string[];
  /** Input with which the worker's tool runs, if it runs. */
  readonly input?: JsonObject;
}

const second = say('B');
const asksB = { asks: 'B', asked: ['A', 'B'] } as const;

export const tabActions: Readonly<Record<RecoveryAction, TabAction>> = {
  send: {
    ...asksB,
    next: (history) => (has(history, 'B') ? undefined : send(second)),
    tool: 'step',
    input: { sum: 5 },
  },
  'edit a message': {
    next: (history) =>
      has(history, 'B') ? undefined : send({ ...second, id: first.id }, { messageId: first.id }),
    tool: 'step',
    asks: 'B',
    asked: ['B'],
    input: { sum: 5 },
  },
  regenerate: {
    next: (history) =>
      has(history, 'One.') ? send(first, { trigger: 'regenerate-message' }) : undefined,
    tool: 'step',
    asks: 'A',
    asked: ['A'],
    input: { sum: 5 },
  },
  approve: decided((_id, message) => send(answered(message, true)), { sum: 5 }),
  'edit an approval': decided(
    (toolUseId) => (agent) => agent.decide({ type: 'edit', toolUseId, input: { sum: 7 } }),
    { sum: 7 },
  ),
  deny: decided((_id, message) => send(answered(message, false))),
  inject: {
    next(history) {
      if (!has(history, 'B')) return send(second);
      return has(history, 'C') ? undefined : inject;
    },
    during: inject,
    tool: 'step',
    asks: 'C',
    asked: ['A', 'B', 'C'],
    input: { sum: 5 },
  },
  'page tool': {
    ...asksB,
    next(history) {
      if (!has(history, 'B')) return send(second);
      // The page is gone, so the user allows another page to run the tool.
      if (callIn(history, 'approval-requested') === undefined) return undefined;
      return send(answered(history.at(-1)!, true));
    },
    tool: 'color',
  },
  'call without input': {
    ...asksB,
    // The model fails at first, so that the message has no answer.
    before: (agent) => send(second)(agent).catch(() => {}),
    next: (history) => (history.at(-1)?.role === 'user' ? (agent) => agent.resume() : undefined),
    tool: 'step',
    input: { sum: 5 },
  },
};

/** Reads a stream to its end. */
export async function drain(stream: ReadableStream<UiChunk>): Promise<void> {
  const reader = stream.getReader();
  while (!(await reader.read()).done);
}

export interface SendOptions {
  readonly trigger?: 'submit-message' | 'regenerate-message';
  readonly messageId?: string;
}

/** Returns the step in which `useChat` sends a message. */
export function send(message: UIMessage, options: SendOptions = {}): Step {
  return async (agent) => {
    const transport = agent.chatTransport();
    const request = { trigger: 'submit-message', abortSignal: undefined, ...options } as const;
    await drain(await transport.sendMessages({ ...request, messages: [message] }));
  };
}

function inject(agent: RemoteAgent): Promise<unknown> {
  return agent.call('C');
}

function decided(
  stepOn: (toolUseId: string, message: UIMessage) => Step,
  input?: JsonObject,
): TabAction {
  return {
    ...asksB,
    before: send(second),
    next: (history) => {
      const id = callIn(history, 'approval-requested');
      return id === undefined ? undefined : stepOn(id, history.at(-1)!);
    },
    tool: 'pay',
    ...(input && { input }),
  };
}

/** Returns the message as `useChat` sends it after a decision about its tool call. */
function answered(message: UIMessage, approved: boolean): UIMessage {
  const parts = message.parts.map((part): UIMessage['parts'][number] =>
    part.type === 'dynamic-tool' && part.state === 'approval-requested'
      ? { ...part, state: 'approval-responded', approval: { id: part.approval.id, approved } }
      : part,
  );
  return { ...message, parts };
}

function has(history: readonly UIMessage[], text: string): boolean {
  return history.some((message) => textIn(message) === text);
}
