export { useAgentChat } from './hooks/use-agent-chat.ts';
export type {
  AgentChatHelpers,
  AgentChatStatus,
  AgentUIMessage,
  ToolOutputOf,
  UseAgentChatOptions,
} from './hooks/use-agent-chat.ts';
export { useMovableSession } from './hooks/use-movable-session.ts';
export type { SessionMover } from './hooks/moving-page.ts';
export type { MovableSession, UseMovableSessionOptions } from './hooks/use-movable-session.ts';
export { useOperatorMessages } from './hooks/use-operator-messages.ts';
export type { UseOperatorMessagesOptions } from './hooks/use-operator-messages.ts';
export { useAgentEvents } from './hooks/use-agent-events.ts';
export type { AgentTimelineEvent } from './reading/timeline-events.ts';
export type { AgentApproval } from './reading/agent-approvals.ts';
export type { AgentSessions } from './hooks/agent-sessions.ts';
export type { AgentSessionEntry, QueuedMessage, RequestOptions } from '@isoloop/core/host';
export { agentEndpoint } from './source/endpoint-agent.ts';
export type { AgentEndpointOptions } from './source/endpoint-routes.ts';
export type { AgentEndpoint, AgentSource } from './source/agent-source.ts';
export type { FinishedAnswer } from './conversation/chat.ts';
export type { CalledToolOf, ChatHandlers } from './conversation/chat-handlers.ts';
export type { FilesInput, MessageInput } from './queue/message-input.ts';
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
