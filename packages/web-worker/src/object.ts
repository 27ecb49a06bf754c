export { useAgentObject } from './react/object/use-agent-object.ts';
export type { AgentObjectHelpers, UseAgentObjectOptions } from './react/object/use-agent-object.ts';
export { useChatObject } from './react/object/use-chat-object.ts';
export type { AgentObjectState } from './react/object/agent-object.ts';
