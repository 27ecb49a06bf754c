import type { AgentData, AgentTools, UIMessage, UITools } from '@isoloop/core/stream';
import {
  anything,
  array,
  boolean,
  checkOptions,
  func,
  nonNegative,
  optional,
  string,
  type OptionTable,
} from '@isoloop/core/options';
import { sessionIdNames, type QueuedMessage, type RequestOptions } from '@isoloop/core/host';
import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import type { AgentChat, AgentChatOptions } from '../conversation/agent-chat.ts';
import type { AgentTimelineEvent } from '../reading/timeline-events.ts';
import type { LatestHandlers } from '../conversation/chat-components.ts';
import { initialState, shownError, type AgentChatState } from '../conversation/chat-store.ts';
import { isEndpoint, type AgentSource } from '../source/agent-source.ts';
import { approvalsIn, type AgentApproval } from '../reading/agent-approvals.ts';
import type { ChatStatus } from '../conversation/chat.ts';
import { sessionActions, type AgentSessions } from './agent-sessions.ts';
import { chatActions } from './chat-actions.ts';
import type { ChatHandlers } from '../conversation/chat-handlers.ts';
import type { MessageInput } from '../queue/message-input.ts';
import { openChat, type OpenChat } from '../conversation/open-chats.ts';
import { throttledSubscribe } from './throttled.ts';

/** Which agent a chat talks to, and how the page reacts. */
export interface UseAgentChatOptions<M extends UIMessage = UIMessage> extends ChatHandlers<M> {
  /** Id of the conversation. */
  readonly sessionId: string;
  /**
   * Id of the person who is logged in. Components of two persons never share a chat. Needed if the
   * component stays mounted when another person logs in. It does not leave the page. Default: the
   * endpoint's `authorization` header, unless a function returns its headers.
   */
  readonly user?: string | undefined;
  /**
   * Messages that the chat shows until it has loaded the history, for example in a page that a
   * server renders. Default: `[]`.
   */
  readonly initialMessages?: readonly M[] | undefined;
  /** Shortest time between two renders while an answer streams, in milliseconds. Default: 0. */
  readonly throttleMs?: number;
  /** Whether to load `sessions.list` and to keep it up to date. Default: false. */
  readonly listSessions?: boolean;
}

/**
 * What a chat does:
 *
 * - `loading`: it connects and loads the history.
 * - `submitted`, `streaming`, `ready`, `error`: as in AI SDK's `useChat`.
 * - `other-tab`: it shows an answer that another tab has asked for.
 * - `continuing`: it shows an answer that was cut off by a reload, a crash or a lost connection.
 */
export type AgentChatStatus = ChatStatus | 'loading' | 'other-tab' | 'continuing';

/** Message with the types of an agent's tools and data parts. Fits AI SDK's `UIMessage`. */
export type AgentUIMessage<Source = unknown> = UIMessage<
  unknown,
  AgentData<Source>,
  AgentTools<Source>
>;

/** What `useAgentChat` returns: what AI SDK's `useChat` returns, and more. */
export interface AgentChatHelpers<M extends UIMessage = UIMessage> {
  /** Id of the open conversation. */
  readonly id: string;
  readonly messages: M[];
  readonly status: AgentChatStatus;
  /** Whether an answer is on its way, whichever tab has asked for it. */
  readonly isBusy: boolean;
  readonly error: Error | undefined;
  /** Messages that were sent and are not in `messages` yet, in their order. */
  readonly queued: readonly QueuedMessage[];
  /** Tool calls that wait for a person. Empty while an answer is on its way. */
  readonly approvals: readonly AgentApproval[];
  /**
   * Sends a message when the answers to earlier messages have ended. With `messageId`, it replaces
   * that message and all later ones. Without a message, sends the decisions and results of the last
   * answer.
   */
  sendMessage(message?: MessageInput<M>, options?: RequestOptions): Promise<void>;
  /** Takes back a message in `queued`. Its turn must not have begun. */
  withdraw(messageId: string): Promise<void>;
  /** Asks for another answer: to the last message, or in place of the answer with the id. */
  regenerate(options?: RequestOptions & { readonly messageId?: string }): Promise<void>;
  /** After an error: asks again for the answer to the last message, or loads the chat again. */
  retry(): Promise<void>;
  /** Stops the answer where it runs, and keeps what has arrived. */
  stop(): Promise<void>;
  /** Loads the history, and reads a running or interrupted answer to its end. */
  resumeStream(): Promise<void>;
  clearError(): void;
  /** Changes the messages on this page only. Throws what the function throws. */
  setMessages(messages: M[] | ((messages: M[]) => M[])): void;
  /** Gives the result of a tool call to the agent, with the next message that is sent. */
  addToolOutput<Tool extends keyof ToolsOf<M> & string>(
    output: ToolOutputOf<ToolsOf<M>, Tool>,
  ): Promise<void>;
  /** Decides about an approval request. `id`: the id of the part's `approval`. */
  addToolApprovalResponse(decision: {
    readonly id: string;
    readonly approved: boolean;
    /** The model reads the reason of a denial. */
    readonly reason?: string | undefined;
    readonly options?: RequestOptions | undefined;
  }): Promise<void>;
  /** Stays the same object until the conversation or the list changes. */
  readonly sessions: AgentSessions;
  /** The conversation, for `useAgentEvents`. */
  readonly conversation: AgentConversation;
}

type ToolsOf<M extends UIMessage> =
  M extends UIMessage<unknown, infer _Data, infer Tools> ? Tools : never;

/** Result of a tool call, or its error. */
export type ToolOutputOf<Tools extends UITools, Tool extends keyof Tools> = {
  readonly tool: Tool;
  readonly toolCallId: string;
  readonly options?: RequestOptions | undefined;
} & (
  | {
      readonly state?: 'output-available';
      readonly output: Tools[Tool]['output'];
      readonly errorText?: never;
    }
  | { readonly state: 'output-error'; readonly output?: never; readonly errorText: string }
);

/** Handle of a conversation, which `useAgentEvents` takes. */
export interface AgentConversation {
  readonly events: readonly AgentTimelineEvent[];
  subscribe(listener: () => void): () => void;
}

/**
 * Shows a conversation with an agent. `source` is the result of `agentEndpoint()`, or of
 * `agentWorker()` of `@isoloop/web-worker`. Returns what AI SDK's `useChat` returns, and more. The
 * chat loads the history, resumes an answer after a reload, and follows other tabs. Components with
 * the same endpoint or worker and the same session share the chat. Throws `CONFIGURATION` for an
 * unknown option.
 *
 * `Source` gives the messages the types of the agent's tools. It is the type of an agent, of a
 * function that returns one, or of the result of `exposeAgent` or `createAgentHandler`.
 * `agentWorker<typeof assistant>()` has it already.
 *
 * @example
 * const { messages, sendMessage } = useAgentChat(agentWorker(worker), { sessionId: 'notes' });
 */
export function useAgentChat<Source = unknown>(
  source: AgentSource<Source> | undefined,
  options: UseAgentChatOptions<AgentUIMessage<Source>>,
): AgentChatHelpers<AgentUIMessage<Source>> {
  const { throttleMs = 0, listSessions = false, initialMessages, user } = options;
  const handlers = handlersIn(options as UseAgentChatOptions);
  const { sessionId, isNew, open } = useOpenedSession(options.sessionId);
  const messages = sessionId === options.sessionId ? initialMessages : undefined;
  const entry = openChat(source, { sessionId, isNew, messages, user });
  const conversation = entry.chat;
  const optionsKey = isEndpoint(source) ? undefined : JSON.stringify(source?.options);
  const appliedKey = useRef(optionsKey);
  const latest = useRef<ChatHandlers>({});
  useEffect(() => {
    latest.current = handlers;
    entry.setSource(source);
    if (appliedKey.current === optionsKey) return;
    appliedKey.current = optionsKey;
    void conversation.reconnect();
  });
  const hasEntered = useEntered(entry, latest);
  useEffect(() => {
    if (listSessions) conversation.sessions.list();
  }, [conversation, listSessions]);
  const state = useAgentChatState(conversation, { hasEntered, isNew, messages, throttleMs });
  const { phase, chat, sessions: list } = state;
  const status = phase === 'idle' ? chat.status : phase;
  const isBusy = !['loading', 'ready', 'error'].includes(status);
  const actions = useMemo(() => chatActions(conversation), [conversation]);
  const { addToolApprovalResponse: decide } = actions;
  const approvals = useMemo(
    () => (isBusy ? [] : approvalsIn(chat.messages, decide)),
    [chat.messages, isBusy, decide],
  );
  const sessions = useMemo(
    () => ({ ...sessionActions(conversation, sessionId, open), current: sessionId, list, open }),
    [conversation, sessionId, list, open],
  );
  return {
    ...actions,
    id: sessionId,
    messages: chat.messages as UIMessage[],
    status,
    error: shownError(state),
    isBusy,
    approvals,
    queued: state.queued,
    conversation: hasEntered ? conversation : noConversation,
    sessions,
  } satisfies AgentChatHelpers as unknown as AgentChatHelpers<AgentUIMessage<Source>>;
}

/** What a component shows of a chat that it has not entered. */
const noConversation: AgentConversation = { events: [], subscribe: () => () => {} };

/** Returns the handlers. Throws `CONFIGURATION` for an unknown option, or one of a wrong kind. */
export function handlersIn(options: UseAgentChatOptions): ChatHandlers {
  checkOptions('useAgentChat()', options, agentChatTable, 'CONFIGURATION', {
    sessionId: sessionIdNames,
  });
  const { onToolCall, onData, onFinish, onError, sendAutomaticallyWhen } = options;
  return { onToolCall, onData, onFinish, onError, sendAutomaticallyWhen } as ChatHandlers;
}

const agentChatTable: OptionTable<UseAgentChatOptions> = {
  // Checked as an id when the chat opens.
  sessionId: anything,
  user: optional(string),
  initialMessages: optional(array),
  throttleMs: optional(nonNegative),
  listSessions: optional(boolean),
  onToolCall: optional(func),
  onData: optional(func),
  onFinish: optional(func),
  onError: optional(func),
  sendAutomaticallyWhen: optional(func),
};

/** Session that `sessions.open` has opened instead of the one in the options. */
interface OpenedSession {
  readonly sessionId: string;
  readonly isNew: boolean;
  readonly defaultId: string;
}

/** Returns the session to show. Another id in the options replaces an opened session. */
function useOpenedSession(defaultId: string) {
  const [openedSession, setOpened] = useState<OpenedSession>();
  const { sessionId, isNew } =
    openedSession && openedSession.defaultId === defaultId
      ? openedSession
      : { sessionId: defaultId, isNew: false };
  const openSession = useCallback(
    (newSessionId?: string): void =>
      setOpened({
        sessionId: newSessionId ?? crypto.randomUUID(),
        isNew: newSessionId === undefined,
        defaultId,
      }),
    [defaultId],
  );
  return { sessionId, isNew, open: openSession };
}

/**
 * Enters the chat. Returns whether this component has done so. If the chat was that of components
 * which have left, renders again with a new chat.
 */
function useEntered(entry: OpenChat, reader: LatestHandlers): boolean {
  const [enteredChat, setEntered] = useState<AgentChat>();
  const [, renderAgain] = useState<object>();
  // Runs before the browser paints, so that components that share a chat show the same.
  // oxlint-disable-next-line react/hooks -- React 18 warns of a layout effect on a server
  const useEffectBeforePaint = typeof document === 'undefined' ? useEffect : useLayoutEffect;
  // oxlint-disable-next-line react/hooks -- the same hook at each render of a place
  useEffectBeforePaint(() => {
    const hide = entry.show(reader);
    if (hide) setEntered(entry.chat);
    else renderAgain({});
    return hide;
  }, [entry, reader]);
  useEffect(() => entry.enter(reader), [entry, reader]);
  return enteredChat === entry.chat;
}

interface ShownChatOptions extends Pick<AgentChatOptions, 'isNew' | 'messages'> {
  readonly hasEntered: boolean;
  readonly throttleMs: number;
}

/**
 * Returns what the component shows. Before it has entered the chat, it shows nothing of it: other
 * components may show the chat to a person who is logging out.
 */
function useAgentChatState(
  conversation: AgentChat,
  { hasEntered, isNew, messages, throttleMs }: ShownChatOptions,
): AgentChatState {
  const subscribe = useMemo(
    () => throttledSubscribe(conversation, throttleMs),
    [conversation, throttleMs],
  );
  // `initialMessages` may be another array at each render.
  const [initialMessages] = useState(messages);
  const initial = useMemo(() => initialState(isNew, initialMessages), [isNew, initialMessages]);
  return useSyncExternalStore(
    subscribe,
    () => (hasEntered ? conversation.state : initial),
    () => initial,
  );
}
