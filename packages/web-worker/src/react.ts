export { useAgentChat } from './react/use-agent-chat.ts';
export type {
  AgentChatHelpers,
  AgentChatStatus,
  AgentUIMessage,
  ToolOutputOf,
  UseAgentChatOptions,
} from './react/use-agent-chat.ts';
export { useMovableSession } from './react/use-movable-session.ts';
export type { MovableSessions } from './react/moving-page.ts';
export type { MovableSession, UseMovableSessionOptions } from './react/use-movable-session.ts';
export { useOperatorMessages } from './react/use-operator-messages.ts';
export type { UseOperatorMessagesOptions } from './react/use-operator-messages.ts';
export { useAgentEvents } from './react/use-agent-events.ts';
export type { AgentTimelineEvent } from './react/agent-events.ts';
export type { AgentApproval } from './react/chat/approvals.ts';
export type { AgentSessions } from './react/source/agent-sessions.ts';
export type { AgentSessionEntry, QueuedMessage, RequestOptions } from '@isoloop/core/host';
export { agentEndpoint } from './react/source/endpoint-agent.ts';
export type { AgentEndpointOptions } from './react/source/endpoint-routes.ts';
export type { AgentEndpoint, AgentSource } from './react/source/agent-source.ts';
export type { FinishedAnswer } from './react/chat/chat.ts';
export type { CalledToolOf, ChatHandlers } from './react/chat/chat-handlers.ts';
export type { FilesInput, MessageInput } from './react/chat/message-input.ts';
export { getToolName, isToolUIPart } from '@isoloop/core/stream';
export type {
  DataUIPart,
  DynamicToolUIPart,
  FileUIPart,
  TextUIPart,
  ToolUIPart,
  UIMessage,
  UIMessagePart,
  UITools,
} from '@isoloop/core/stream';
