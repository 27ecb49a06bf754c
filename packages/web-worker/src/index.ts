export { agentWorker } from './page/agent-worker.ts';
export type { AgentWorkerOptions, AgentWorkerOptionsFor } from './page/agent-worker.ts';
export { browserModel } from './page/browser-model.ts';
export type { BrowserModelOptions } from './page/browser-model.ts';
export { connectAgent } from './page/connect-agent.ts';
export { followAgent } from './page/follow-agent.ts';
export type { FollowingChat } from './page/follow-agent.ts';
export type { ExposedAgent, Outputs, OutputsOf } from './wire/exposed-agent.ts';
export { pageApprovals } from './page/parts/page-approvals.ts';
export { pageHooks } from './page/parts/page-hooks.ts';
export type { PageHooksOptions } from './page/parts/page-hooks.ts';
export { pageModel } from './page/parts/page-model.ts';
export type { PagePart } from './page/parts/page-part.ts';
export { pageTools } from './page/parts/page-tools.ts';
export type { PageToolsOptions } from './page/parts/page-tools.ts';
export type { ConnectOptions, ConnectOptionsFor } from './page/connect-agent.ts';
export type { RemoteAgent, RemoteCallOptions, RemoteStream } from './page/remote-agent.ts';
export type { WorkerChatTransport, WorkerChatTransportOptions } from './page/chat-transport.ts';
export { IndexedDbSessions } from './store/indexed-db-sessions.ts';
export type {
  ImportOptions,
  IndexedDbSessionsOptions,
  SessionExport,
  StorageState,
} from './store/indexed-db-sessions.ts';
export { IndexedDbStore } from './store/indexed-db-store.ts';
export type { IndexedDbStoreOptions } from './store/indexed-db-store.ts';
