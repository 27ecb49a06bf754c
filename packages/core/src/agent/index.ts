export { Agent } from './agent.ts';
export type {
  AgentDefaults,
  FeatureOptions,
  KernelCallOptions,
  KernelDefaults,
  KernelLimits,
  KernelOptions,
} from './kernel-options.ts';
export type {
  AgentHook,
  InnerStep,
  Middleware,
  OpenCall,
  OuterStep,
  Reply,
  RequestDraft,
  Round,
  UseList,
  Wrap,
} from './middleware.ts';
export { nestedHooks, nestedWraps } from './nested.ts';
export type { NestedHooks, WrapControl } from './nested.ts';
export { isEnding, isNewAnswer, isNext } from './next.ts';
export type {
  AnswerEnd,
  CustomEnd,
  CustomReason,
  EndBase,
  Ending,
  LimitEnd,
  Next,
  StoredEnd,
  UnansweredEnd,
} from './next.ts';
export { perRun } from './per-run.ts';
export type { LimitReason } from './request-draft.ts';
export type { RunContext } from './run-context.ts';
export type { InboxHandler, JoiningCall } from './run/inbox.ts';
export type { LogEdit } from './run/run-log.ts';
export type { RevisedEvent } from './step/jump.ts';
export type { AskResult, ToEvent } from './step/read-reply.ts';
export type { Steps } from './steps.ts';
export { definePreset } from './use-list.ts';
