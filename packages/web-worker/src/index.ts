export { connectAgent } from './connect-agent.ts';
export type { ConnectOptions } from './connect-agent.ts';
export type { RemoteAgent, RemoteCallOptions, RemoteStream } from './remote-agent.ts';
export type { WorkerChatTransport, WorkerChatTransportOptions } from './chat-transport.ts';
