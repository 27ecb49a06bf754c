export { agentTool } from './agent-tool.ts';
export type { AgentToolOptions, ChildAgent, ChildFactory } from './agent-tool.ts';
export type {
  HandOff,
  HandOffAgent,
  HandOffFilter,
  HandOffOptions,
  HandOffTarget,
} from './hand-off-options.ts';
export { handOff } from './hand-off.ts';
export { operator, operatorMessage } from './operator.ts';
export type { OperatorMessageOptions } from './operator.ts';
