import type { Decision, JsonObject } from '@isoloop/core';
import type { UIMessage } from 'ai';
import type { RecoveryAction } from '../../../../test/recovery/recovery-cell.ts';
import { answer, callIn, first, say, textIn } from '../../../../test/recovery/recovery-talk.ts';

/** Request of a client, without the session's id. */
export interface ClientRequest {
  readonly path: '/api/chat' | '/api/run';
  readonly body: object;
}

/** What a user does, and what the conversation then has. */
export interface UserAction {
  /** Returns what the user sends before the action. Default: only the first message. */
  readonly before?: (history: readonly UIMessage[]) => ClientRequest;
  /**
   * Returns the next request of the action, as a client decides from the history that it reads.
   * Returns `undefined` if the server has all that the user did.
   */
  readonly next: (history: readonly UIMessage[]) => ClientRequest | undefined;
  /** Returns what the user sends while the agent answers the first request. */
  readonly during?: (history: readonly UIMessage[]) => ClientRequest;
  /** Tool that the model calls first. */
  readonly tool: 'step' | 'pay' | 'color';
  /** Texts of the conversation after the action. */
  readonly texts: readonly string[];
  /** The inputs with which the tool runs. A page's tool does not run in the isolate. */
  readonly runs: readonly JsonObject[];
}

const second = say('B');
const third = say('C');
const ranOnce: readonly JsonObject[] = [{ sum: 5 }];

export const userActions: Readonly<Record<RecoveryAction, UserAction>> = {
  send: {
    next: (history) => (has(history, 'B') ? undefined : chat(history, [second])),
    tool: 'step',
    texts: ['A', 'One.', 'B', answer],
    runs: ranOnce,
  },
  'edit a message': {
    next: (history) =>
      has(history, 'B') ? undefined : chat([], [{ ...second, id: first.id }], first.id),
    tool: 'step',
    texts: ['B', answer],
    runs: ranOnce,
  },
  regenerate: {
    next: (history) =>
      has(history, 'One.')
        ? { path: '/api/chat', body: { messages: [first], trigger: 'regenerate-message' } }
        : undefined,
    tool: 'step',
    texts: ['A', answer],
    runs: ranOnce,
  },
  approve: decided((toolUseId) => ({ type: 'approve', toolUseId }), ranOnce),
  'edit an approval': decided(
    (toolUseId) => ({ type: 'edit', toolUseId, input: { sum: 7 } }),
    [{ sum: 7 }],
  ),
  deny: decided((toolUseId) => ({ type: 'reject', toolUseId, reason: 'No.' }), []),
  inject: {
    next: (history) => (has(history, 'B') ? undefined : chat(history, [second])),
    during: (history) => chat(history, [second, third]),
    tool: 'step',
    texts: ['A', 'One.', 'B', answer, 'C', answer],
    runs: [...ranOnce, ...ranOnce],
  },
  'page tool': {
    next: (history) => {
      if (!has(history, 'B')) return chat(history, [second]);
      const id = callIn(history, 'input-available');
      return id ? decide({ type: 'result', toolUseId: id, output: 'red' }) : undefined;
    },
    tool: 'color',
    texts: ['A', 'One.', 'B', answer],
    runs: [],
  },
  'call without input': {
    // The model fails at first, so that the message has no answer.
    before: (history) => chat(history, [second]),
    next: (history) =>
      history.at(-1)?.role === 'user' ? { path: '/api/run', body: {} } : undefined,
    tool: 'step',
    texts: ['A', 'One.', 'B', answer],
    runs: ranOnce,
  },
};

/** Returns the request with which `useChat` sends or edits a message. */
export function chat(
  history: readonly UIMessage[],
  added: readonly UIMessage[],
  messageId?: string,
): ClientRequest {
  const messages = [...history, ...added];
  return {
    path: '/api/chat',
    body: { messages, trigger: 'submit-message', ...(messageId !== undefined && { messageId }) },
  };
}

function decided(
  decisionOn: (toolUseId: string) => Decision,
  runs: readonly JsonObject[],
): UserAction {
  return {
    before: (history) => chat(history, [second]),
    next: (history) => {
      const id = callIn(history, 'approval-requested');
      return id ? decide(decisionOn(id)) : undefined;
    },
    tool: 'pay',
    texts: ['A', 'One.', 'B', answer],
    runs,
  };
}

function decide(decision: Decision): ClientRequest {
  return { path: '/api/run', body: { decisions: [decision] } };
}

function has(history: readonly UIMessage[], text: string): boolean {
  return history.some((message) => textIn(message) === text);
}
