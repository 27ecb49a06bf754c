export { exposeAgent } from './expose-agent.ts';
export type { ExposeOptions } from './expose-agent.ts';
export type { TabsOptions } from '../session/tab-options.ts';
export type { ExposedAgent, Outputs } from '../wire/exposed-agent.ts';
export type { AgentFactories, AgentFactory, WorkerAgentSetup } from '../session/local-agent.ts';
export type { PageSide } from '../session/page/session-pages.ts';
