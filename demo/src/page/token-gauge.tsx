import { estimateTokens } from '@isoloop/core/tokens';
import { isToolUIPart, type UIMessage } from '@isoloop/web-worker/react';
import { useMemo } from 'react';

export interface TokenGaugeProps {
  readonly messages: readonly UIMessage[];
  /** Context window of the model, in tokens. */
  readonly window: number;
}

/** Shows an estimate of the part of the model's context window that the conversation needs. */
export function TokenGauge({ messages, window }: TokenGaugeProps) {
  const tokens = useMemo(
    () => messages.reduce((sum, message) => sum + tokensOf(message), 0),
    [messages],
  );
  const share = tokens / window;
  return (
    <span className="gauge" title="Estimated, without a tokenizer">
      <meter min={0} max={window} value={tokens} aria-label="Context used" />
      {tokens.toLocaleString('en')} of {window.toLocaleString('en')} tokens
      <span className="long">
        ({(share * 100).toFixed(share < 0.1 ? 1 : 0)} %{share > 1 && ', the oldest are left out'})
      </span>
    </span>
  );
}

function tokensOf(message: UIMessage): number {
  return message.parts.reduce((sum, part) => {
    if (part.type === 'text' || part.type === 'reasoning') return sum + estimateTokens(part.text);
    if (!isToolUIPart(part)) return sum;
    return (
      sum +
      estimateTokens(JSON.stringify(part.input ?? '')) +
      estimateTokens(part.state === 'output-available' ? JSON.stringify(part.output) : '')
    );
  }, 0);
}
