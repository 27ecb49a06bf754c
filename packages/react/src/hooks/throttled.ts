import type { AgentChat } from '../conversation/agent-chat.ts';

/**
 * Returns a function that subscribes to a chat. While an answer grows, its listener is called at
 * most once in each period of `ms` milliseconds. It is called at once for every other change.
 */
export function throttledSubscribe(
  chat: AgentChat,
  ms: number,
): (listener: () => void) => () => void {
  if (!ms) return chat.subscribe;
  return (listener) => {
    let lastState = chat.state;
    let lastTime = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tell = (): void => {
      clearTimeout(timer);
      timer = undefined;
      lastState = chat.state;
      lastTime = performance.now();
      listener();
    };
    const stop = chat.subscribe(() => {
      const { state } = chat;
      if (state === lastState) return;
      const { phase, chat: lastChat } = lastState;
      const isGrowing =
        chat.chat.isBusy && state.phase === phase && state.chat.status === lastChat.status;
      const waitMs = isGrowing ? lastTime + ms - performance.now() : 0;
      if (waitMs <= 0) tell();
      else timer ??= setTimeout(tell, waitMs);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  };
}
