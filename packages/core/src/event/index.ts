export type { AgentEvent, EventBatch, EventOf, EventType } from './agent-event.ts';
export { checkNewIds } from './agent-input.ts';
export type { AgentInput, ParsedInput, PlainMessage, SettleInput } from './agent-input.ts';
export { friendlyText, isAnswerReason } from './agent-result.ts';
export type { AgentResult, FriendlyText, StopReason } from './agent-result.ts';
export type { CallState } from './agent-status.ts';
export type { ControlCall } from './hook-controls.ts';
export type {
  Awaitable,
  EventControls,
  Hook,
  HookControls,
  HookEvent,
  HookHandler,
} from './hook.ts';
export type { InterruptRequest } from './interrupt-request.ts';
export type { Decision, PendingCall } from './pending-call.ts';
export { AgentStream } from './readers/agent-stream.ts';
export { attach } from './readers/attach.ts';
export type { AttachOptions } from './readers/attach.ts';
