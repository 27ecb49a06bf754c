import { Agent as PlainAgent, type KernelOptions } from '@isoloop/core/agent';
import type { ToolSource } from '@isoloop/core';
import { withReport } from './report-events.ts';

export * from '@isoloop/core/agent';

/** The kernel's agent of the live examples: the page shows its events. */
export class Agent<const S extends ToolSource = ToolSource> extends PlainAgent<S> {
  constructor(options: KernelOptions<S>) {
    super(withReport(options));
  }
}
