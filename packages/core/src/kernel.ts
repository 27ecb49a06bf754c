export { Agent } from './agent/agent.ts';
export type {
  FeatureOptions,
  KernelCallOptions,
  KernelDefaults,
  KernelLimits,
  KernelOptions,
} from './agent/kernel-options.ts';
