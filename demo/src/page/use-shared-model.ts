import { useCallback, useEffect, useRef, useState } from 'react';
import * as z from 'zod/mini';
import { modelChoice, type ModelChoice } from './settings.ts';

const note = z.discriminatedUnion('type', [
  z.object({ type: z.literal('chosen'), model: modelChoice }),
  /** Asks the other tabs for the model, because a new tab does not know its key. */
  z.object({ type: z.literal('which') }),
]);

type Note = z.infer<typeof note>;

/**
 * Shares the chosen model between the tabs of a conversation. The worker of one tab answers for all
 * tabs, so all tabs must use the same model. The pages send the key to each other and never store
 * it. `stored`: the model before the page was loaded.
 */
export function useSharedModel(
  sessionId: string,
  stored: ModelChoice,
): readonly [ModelChoice, (model: ModelChoice) => void] {
  const [model, setModel] = useState(stored);
  const current = useRef<ModelChoice>(model);
  const tabs = useRef<BroadcastChannel>(undefined);

  useEffect(() => {
    const channel = new BroadcastChannel(`isoloop-demo:model:${sessionId}`);
    const post = (told: Note): void => channel.postMessage(told);
    channel.addEventListener('message', ({ data }) => {
      const told = note.safeParse(data);
      if (!told.success) return;
      if (told.data.type === 'chosen') setModel((current.current = told.data.model));
      else if (current.current.kind === 'endpoint')
        post({ type: 'chosen', model: current.current });
    });
    tabs.current = channel;
    post({ type: 'which' });
    return () => channel.close();
  }, [sessionId]);

  const choose = useCallback((chosen: ModelChoice) => {
    setModel((current.current = chosen));
    tabs.current?.postMessage({ type: 'chosen', model: chosen } satisfies Note);
  }, []);
  return [model, choose];
}
