export { Agent } from './agent/agent.ts';
export type {
  KernelCallOptions,
  KernelDefaults,
  KernelLimits,
  KernelOptions,
} from './agent/kernel-options.ts';
