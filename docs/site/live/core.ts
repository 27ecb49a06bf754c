import { ReActAgent as PlainAgent } from '@isoloop/core';
import type { AgentOptions, GivenTools } from '@isoloop/core';
import { withReport } from './report-events.ts';

export * from '@isoloop/core';

/** The agent of the live examples: the page shows its events. */
export class ReActAgent<const G extends GivenTools = GivenTools> extends PlainAgent<G> {
  constructor(options: AgentOptions<G>) {
    super(withReport(options));
  }
}
