import { Agent as PlainAgent } from '@isoloop/core/kernel';
import type { KernelOptions } from '@isoloop/core/kernel';
import type { ToolSource } from '@isoloop/core';
import { withReport } from './report-events.ts';

export * from '@isoloop/core/kernel';

/** The kernel's agent of the live examples: the page shows its events. */
export class Agent<const S extends ToolSource = ToolSource> extends PlainAgent<S> {
  constructor(options: KernelOptions<S>) {
    super(withReport(options));
  }
}
