import { toolMessage } from '../message/create-message.ts';
import { inRequestOrder, openCalls } from '../message/tool-pairs.ts';
import { interruptedResult } from '../tool/tool-result.ts';
import type { Run } from './run.ts';

/** Law 3: gives each open tool call an `interrupted` result and puts all results where the model wants them. */
export async function closeCalls(run: Run): Promise<void> {
  await run.append(openCalls(run.view).map((toolUse) => toolMessage(interruptedResult(toolUse), run.setup)));
  run.view = [...inRequestOrder(run.view)];
}
