import { ReActAgent as PlainAgent } from '@isoloop/core';
import type { AgentOptions, ToolSource } from '@isoloop/core';
import { withReport } from './report-events.ts';

export * from '@isoloop/core';

/** The agent of the live examples: the page shows its events. */
export class ReActAgent<const S extends ToolSource = ToolSource> extends PlainAgent<S> {
  constructor(options: AgentOptions<S>) {
    super(withReport(options));
  }
}
