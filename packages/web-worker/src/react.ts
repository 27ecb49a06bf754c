export { useAgentChat } from './react/use-agent-chat.ts';
export type {
  AgentChatHelpers,
  AgentChatOptionsFor,
  AgentChatStatus,
  AgentUIMessage,
  ToolOutput,
  UseAgentChatOptions,
} from './react/use-agent-chat.ts';
export { useMovableSession } from './react/use-movable-session.ts';
export type { MovableSession, UseMovableSessionOptions } from './react/use-movable-session.ts';
export { useOperatorMessages } from './react/use-operator-messages.ts';
export type { UseOperatorMessagesOptions } from './react/use-operator-messages.ts';
export { useAgentEvents } from './react/use-agent-events.ts';
export type { AgentTimelineEvent } from './react/agent-events.ts';
export type { AgentApproval } from './react/approvals.ts';
export type { AgentSessionEntry, AgentSessions } from './react/agent-sessions.ts';
export { agentEndpoint } from './react/endpoint-agent.ts';
export type { AgentEndpointOptions } from './react/endpoint-agent.ts';
export type { AgentEndpoint, AgentSource } from './react/agent-source.ts';
export type { FinishedAnswer, RequestOptions } from './react/chat.ts';
export type { CalledToolOf, ChatHandlers } from './react/chat-handlers.ts';
export type { FilesInput, MessageInput } from './react/message-input.ts';
export { getToolName, isToolUIPart } from './react/ui-message.ts';
export type {
  DataUIPart,
  DynamicToolUIPart,
  FileUIPart,
  TextUIPart,
  ToolUIPart,
  UIMessage,
  UIMessagePart,
  UITools,
} from './react/ui-message.ts';
