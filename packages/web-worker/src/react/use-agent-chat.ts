import { useChat, type UseChatHelpers } from '@ai-sdk/react';
import type { AgentData, AgentTools } from '@isoloop/core/ai-sdk';
import type { GivenOptions, NamedAgent } from '../wire/exposed-agent.ts';
import type { UIMessage } from 'ai';
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import type { AgentChat, AgentChatState } from './agent-chat.ts';
import type { AgentSessions } from './agent-sessions.ts';
import type { AgentSource, LinkOptions } from './agent-source.ts';
import { approvalsIn, type AgentApproval } from './approvals.ts';
import { openChat } from './open-chats.ts';

export interface UseAgentChatOptions extends LinkOptions {
  /**
   * Shortest time between two renders while an answer streams, in milliseconds.
   * @default 0
   */
  readonly throttle?: number;
  /**
   * Whether to load `sessions.list` and to keep it up to date.
   * @default false
   */
  readonly listSessions?: boolean;
}

/**
 * What a chat does:
 *
 * - `loading`: it connects and loads the history.
 * - `submitted`, `streaming`, `ready`, `error`: as in `useChat`.
 * - `other-tab`: it shows an answer that another tab has asked for.
 * - `continuing`: it shows an answer that was cut off by a reload, a crash or a lost connection.
 */
export type AgentChatStatus =
  | UseChatHelpers<UIMessage>['status']
  | 'loading'
  | 'other-tab'
  | 'continuing';

/**
 * Options whose types depend on `Source`: the name of the agent and its options, if `Source` is the
 * result of `exposeAgent`.
 */
export type AgentChatOptionsFor<Source> = UseAgentChatOptions &
  (Source extends { readonly of?: infer Mark }
    ? NonNullable<Mark> extends () => {
        readonly name: infer Name extends string;
        readonly options: infer Options;
      }
      ? NamedAgent<Name> & GivenOptions<Options>
      : unknown
    : unknown);

/** AI SDK's message with the types of an agent's tools and data parts. */
export type AgentUIMessage<Source = unknown> = UIMessage<
  unknown,
  AgentData<Source>,
  AgentTools<Source>
>;

/** What `useAgentChat` returns: the fields of `useChat`, and more. */
export interface AgentChatHelpers<M extends UIMessage = UIMessage> extends Omit<
  UseChatHelpers<M>,
  'status'
> {
  readonly status: AgentChatStatus;
  /** Whether an answer is on its way, whichever tab has asked for it. */
  readonly isBusy: boolean;
  /** Tool calls that wait for a person. Empty while an answer is on its way. */
  readonly approvals: readonly AgentApproval[];
  readonly sessions: AgentSessions;
  /** The conversation, for `useAgentEvents`. */
  readonly conversation: AgentConversation;
}

/** Handle of a conversation, which `useAgentEvents` takes. */
export interface AgentConversation {
  readonly state: Pick<AgentChatState, 'events'>;
  subscribe(listener: () => void): () => void;
}

/**
 * Shows a conversation with an agent. `source` is a worker, a SharedWorker or an endpoint. Returns
 * what `useChat` returns, and more. Create the worker outside of the component. The chat loads the
 * history, resumes an answer after a reload, and follows other tabs. Components with the same
 * source and session share the chat.
 *
 * `Source` gives the messages the types of the agent's tools. It is the type of an agent, of a
 * function that returns one, or of the result of `exposeAgent` or `createAgentHandler`.
 *
 * @example
 * const { messages, sendMessage } = useAgentChat<typeof assistant>(worker, { sessionId: 'notes' });
 */
export function useAgentChat<Source = unknown>(
  source: AgentSource,
  options: AgentChatOptionsFor<Source>,
): AgentChatHelpers<AgentUIMessage<Source>> {
  const { throttle = 0, listSessions = false, ...link }: UseAgentChatOptions = options;
  const [opened, setOpened] = useState<Opened>();
  // Another `sessionId` in the options replaces a session that was opened by `sessions.open`.
  const isOpened = opened !== undefined && opened.instead === options.sessionId;
  const sessionId = isOpened ? opened.sessionId : options.sessionId;
  const entry = openChat(source, { ...link, sessionId }, isOpened && opened.isNew);
  const conversation = entry.chat;
  const asked = JSON.stringify(link.options);
  const applied = useRef(asked);
  useEffect(() => {
    Object.assign(entry, { source, options: { ...link, sessionId } });
    if (applied.current === asked) return;
    applied.current = asked;
    void conversation.reconnect();
  });
  useEffect(() => conversation.enter(), [conversation]);
  useEffect(() => {
    if (listSessions) conversation.wantSessions();
  }, [conversation, listSessions]);
  const { phase, sessions: list, error } = useAgentChatState(conversation);
  const helpers = useChat({ chat: conversation.chat, throttle });
  const { messages, status: own } = helpers;
  const status = phase === 'idle' ? own : phase;
  const isBusy = !['loading', 'ready', 'error'].includes(status);

  const methods = useMemo(() => methodsOf(conversation), [conversation]);
  const approvals = useMemo(
    () => (isBusy ? [] : approvalsIn(messages, conversation)),
    [messages, isBusy, conversation],
  );
  const open = (other?: string): void =>
    setOpened({
      sessionId: other ?? crypto.randomUUID(),
      isNew: other === undefined,
      instead: options.sessionId,
    });
  return {
    ...helpers,
    ...methods,
    id: sessionId,
    status,
    error: phase === 'idle' ? (helpers.error ?? error) : undefined,
    isBusy,
    approvals,
    conversation,
    sessions: {
      current: sessionId,
      list,
      open,
      rename: (other, title) => conversation.withStore((store) => store.rename(other, title)),
      delete: async (deleted) => {
        await conversation.withStore((store) => store.delete(deleted));
        if (deleted === sessionId) open();
      },
      export: (other) => conversation.withStore((store) => store.export(other)),
    },
  } satisfies AgentChatHelpers as unknown as AgentChatHelpers<AgentUIMessage<Source>>;
}

/** Session that `sessions.open` has opened instead of the one in the options. */
interface Opened {
  readonly sessionId: string;
  readonly isNew: boolean;
  readonly instead: string;
}

function useAgentChatState(conversation: AgentChat): AgentChatState {
  const read = (): AgentChatState => conversation.state;
  return useSyncExternalStore(conversation.subscribe, read, read);
}

type Methods = Pick<
  UseChatHelpers<UIMessage>,
  | 'sendMessage'
  | 'regenerate'
  | 'stop'
  | 'clearError'
  | 'resumeStream'
  | 'addToolOutput'
  | 'addToolApprovalResponse'
>;

/** Returns the chat's methods. Those that send wait until no answer is being read. */
function methodsOf(conversation: AgentChat): Methods {
  const { chat } = conversation;
  return {
    sendMessage: (...given) => conversation.send(() => chat.sendMessage(...given)),
    regenerate: (...given) => conversation.send(() => chat.regenerate(...given)),
    addToolOutput: (...given) => conversation.whenResumed(async () => chat.addToolOutput(...given)),
    addToolApprovalResponse: (...given) =>
      conversation.whenResumed(async () => chat.addToolApprovalResponse(...given)),
    clearError: () => void conversation.attempt(async () => chat.clearError()),
    stop: () => conversation.stop(),
    resumeStream: () => conversation.resume(),
  };
}
