import type { Msg } from '../message/msg.ts';
import { asOwn } from '../message/own-message.ts';
import { abortables } from '../model/abortable.ts';
import type { Run } from './run/run.ts';
import { checkReturn } from './use/check-return.ts';

/**
 * Collects the messages that middleware recalls. They are part of each model request of this agent
 * call and are never stored.
 */
export async function recall(run: Run, asked: readonly Msg[]): Promise<void> {
  for (const part of run.setup.use) {
    if (run.cut) return;
    if (!part.recall) continue;
    const signal = run.modelSignal();
    const recalling = async (): Promise<readonly Msg[]> => part.recall?.(asked, run.context) ?? [];
    try {
      const messages = await abortables(signal)(recalling());
      checkReturn('recall', messages, 'array');
      run.recalled.push(...messages.map(asOwn));
    } catch (error) {
      if (!run.cut) throw error;
    }
  }
}
