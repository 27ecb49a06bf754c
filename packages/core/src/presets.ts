export { agentscope } from './agent/agentscope.ts';
