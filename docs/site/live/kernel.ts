import { Agent as PlainAgent } from '@isoloop/core/kernel';
import type { KernelOptions } from '@isoloop/core/kernel';
import type { GivenTools } from '@isoloop/core';
import { withReport } from './report-events.ts';

export * from '@isoloop/core/kernel';

/** The kernel's agent of the live examples: the page shows its events. */
export class Agent<const G extends GivenTools = GivenTools> extends PlainAgent<G> {
  constructor(options: KernelOptions<G>) {
    super(withReport(options));
  }
}
