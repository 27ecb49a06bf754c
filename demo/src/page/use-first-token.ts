import type { AgentChatStatus } from '@isoloop/react';
import { useEffect, useRef, useState } from 'react';

/** Measures the time from the last question to the first delta of its answer, in milliseconds. */
export function useFirstToken(status: AgentChatStatus): number | undefined {
  const [firstMs, setFirstMs] = useState<number>();
  const asked = useRef<number>(undefined);
  useEffect(() => {
    if (status === 'submitted') asked.current = performance.now();
    if (status !== 'streaming' || asked.current === undefined) return;
    setFirstMs(Math.round(performance.now() - asked.current));
    asked.current = undefined;
  }, [status]);
  return firstMs;
}
