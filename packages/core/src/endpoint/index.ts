export { changesWaitMs, keepAliveHeader, requestEndpoint } from './endpoint-request.ts';
export type { EndpointLimits, EndpointRequest } from './endpoint-request.ts';
export { valueFor } from './per-request.ts';
export type { PerRequest, RequestHeaders } from './per-request.ts';
