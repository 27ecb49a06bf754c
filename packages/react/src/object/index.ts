export { useAgentObject } from './use-agent-object.ts';
export type { AgentObjectHelpers, UseAgentObjectOptions } from './use-agent-object.ts';
export { useChatObject } from './use-chat-object.ts';
export type { AgentObjectState } from './agent-object.ts';
