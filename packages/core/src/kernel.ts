export { Agent } from './agent/agent.ts';
export type {
  FeatureOptions,
  KernelCallOptions,
  KernelDefaults,
  KernelLimits,
  KernelOptions,
} from './agent/kernel-options.ts';
export type { NewCall, Taker } from './agent/run/inbox.ts';
export type { Interruption } from './agent/run/interruption.ts';
export type { CheckedRequest } from './event/interrupt-request.ts';
export type { Jump } from './agent/next.ts';
export type { Revisable } from './agent/run/outbox.ts';
export type { ToEvent } from './agent/step/read-reply.ts';
