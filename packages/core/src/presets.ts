export { agentscope } from './agent/agentscope.ts';
export { arcReactor } from './agent/arc-reactor.ts';
