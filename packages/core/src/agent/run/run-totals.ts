import type { AgentErrorData } from '../../error/agent-error.ts';
import type { Msg } from '../../message/msg.ts';
import { addUsage, noUsage, type Usage } from '../../model/chat-model.ts';
import type { Tool } from '../../tool/tool.ts';

/** What the result of a run says beside its ending. */
export class RunTotals {
  /** Number of model requests of the loop. */
  iteration = 0;
  usage: Usage = noUsage;
  /** Names of the tools that started, in this order. */
  readonly toolsUsed: Set<string> = new Set();
  /** Errors after which the run continued. */
  readonly warnings: AgentErrorData[] = [];
  /** Message of the result if the agent call fails. */
  failureMessage: Msg | undefined;

  addUsage(usage: Usage | undefined): void {
    if (usage) this.usage = addUsage(this.usage, usage);
  }

  /** Notes that a tool started, or that its result is given. */
  noteUse({ name, givesAnswer }: Tool): void {
    if (!givesAnswer) this.toolsUsed.add(name);
  }
}
