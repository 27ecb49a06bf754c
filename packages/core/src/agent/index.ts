export { Agent } from './agent.ts';
export type {
  AgentDefaults,
  KernelCallOptions,
  KernelLimits,
  KernelOptions,
} from './kernel-options.ts';
export type {
  AgentHook,
  Hooks,
  InnerStep,
  Middleware,
  OpenCall,
  Reply,
  RequestDraft,
  Round,
  UseList,
  Wrap,
} from './middleware.ts';
export { nestedHooks, nestedWraps } from './nested.ts';
export type { NestedHooks, WrapControl } from './nested.ts';
export { isEnding, isNewAnswer, isNext } from './next.ts';
export type { AnswerEnd, CustomReason, Ending, Next } from './next.ts';
export { perAgent, perRun } from './per-run.ts';
export type { LimitReason } from './request-draft.ts';
export type { InboxHandler, JoiningCall } from './run/inbox.ts';
export type { LogEdit } from './run/logged-conversation.ts';
export type { EarlyRun } from './seam/early-run.ts';
export type { NewMessageOptions, RunView } from './seam/run-view.ts';
export type { Run } from './seam/run.ts';
export type { RevisedEvent } from './step/jump.ts';
export type { AskResult, ToEvent } from './step/read-reply.ts';
export { definePreset } from './use-list.ts';
